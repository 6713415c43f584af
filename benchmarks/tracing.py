"""What a trace of a golden call costs: the call with hooks that digest and summarise, beside the call alone.

A trace is recorded once, at an export, and once more by a check that found an answer off. The goal is for
models of a usual size; where a layer takes less than a tenth of a millisecond, the hooks take longer than it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SECTION = "Golden calls, with and without a trace"
WHY = "each value is read three times, for its digest, its ends and its means, at some 9 GB/s."


def rows() -> list[Row]:
    models: dict[str, Callable[[], tuple[Any, Any]]] = {
        "kellet, 4 layers of 1,024, batch of 256": _layers,
        "PyTorch, encoder of 6 layers of 384, 2 x 128 tokens": _encoder,
        "PyTorch, 6 convolutions of 64 channels, 64 x 64": _convolutions,
    }
    return [
        Row(
            SECTION,
            title,
            "ms",
            {
                "traced": lambda make=make: _call(make, traced=True),
                "call": lambda make=make: _call(make, traced=False),
            },
            goals=(Goal(2, "call"),),
            subject="traced",
            why=WHY,
            most_rounds=15,
        )
        for title, make in models.items()
    ]


def _call(make: Callable[[], tuple[Any, Any]], *, traced: bool) -> Contender:
    from packager.calls import call_in_mode, tracing

    net, x = make()

    def run() -> dict[str, Any]:
        if not traced:
            return call_in_mode(net, {"arg0": x})
        with tracing(net):
            return call_in_mode(net, {"arg0": x})

    return Contender(run, result=lambda: [np.asarray(run()["output"])])


@cache
def _layers() -> tuple[Any, Any]:
    import kellet
    from kellet import nn

    kellet.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024), nn.ReLU())]
    return nn.Sequential(*layers), np.random.default_rng(0).normal(size=(256, 1024)).astype("float32")


@cache
def _encoder() -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    # Nested tensors would leave the hooks out of the path that both contenders take.
    net = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    return net, np.random.default_rng(0).normal(size=(2, 128, 384)).astype("float32")


@cache
def _convolutions() -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()) for _ in range(6)]
    return nn.Sequential(*blocks), np.random.default_rng(0).normal(size=(2, 64, 64, 64)).astype("float32")
