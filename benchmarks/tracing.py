"""What a trace of a golden call costs: the call with all that a trace takes, beside the call alone.

Timed is everything: the walk through the model, hooks put on and taken off, the call, and the summaries that
are found after it. `forward` is the model called by itself, in evaluation mode, with a tensor that is there:
what a call takes more is that it finds the modules and sets their mode. A trace is recorded once, at an
export, and once more by a check that found an answer off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row

SECTION = "Golden calls, with and without a trace"
WHY = (
    "a layer of these models takes some microseconds; its two hooks, with a copy of what they see, take ten, "
    "and so do the digest and the numbers that are found after the call."
)

Called = tuple[Any, Any]
"""A model, and the array that it is called with."""


def rows() -> list[Row]:
    models: list[tuple[str, Callable[[], list[Called]], int]] = [
        ("kellet, 4 layers of 1,024, batch of 256", lambda: [_layers(4, 1024, 256)], 0),
        ("PyTorch, encoder of 6 layers of 384, 2 x 128 tokens", lambda: [_encoder()], 0),
        ("PyTorch, 6 convolutions of 64 channels, 64 x 64", lambda: [_convolutions()], 0),
        ("PyTorch, 2 convolutions of 16 and 32 channels, 32 x 32, 1 thread", _small_convolutions, 1),
        ("PyTorch, 2 convolutions of 16 and 32 channels, 32 x 32, 2 threads", _small_convolutions, 2),
        ("kellet, 3 layers of 256, batch of 128", lambda: [_layers(3, 256, 128)], 0),
        (
            "kellet, 25 seeded drifts, width 256, 4 x 64 tokens",
            lambda: _drifts("kellet", range(25), 256, 64),
            1,
        ),
        (
            "PyTorch, 25 seeded drifts, width 256, 4 x 64 tokens",
            lambda: _drifts("torch", range(25, 50), 256, 64),
            1,
        ),
        ("kellet, the same drifts, width 16, 4 x 6 tokens", lambda: _drifts("kellet", range(25), 16, 6), 1),
        (
            "PyTorch, the same drifts, width 16, 4 x 6 tokens",
            lambda: _drifts("torch", range(25, 50), 16, 6),
            1,
        ),
    ]
    return [
        Row(
            SECTION,
            title,
            "ms",
            {how: partial(_contender, how, make, threads) for how in ("traced", "call", "forward")},
            goals=(Goal(2, "forward"),),
            subject="traced",
            why=WHY,
            most_rounds=15,
        )
        for title, make, threads in models
    ]


def _contender(how: str, make: Callable[[], list[Called]], threads: int) -> Contender:
    from packager.calls import Recorder, call_in_mode, tracing
    from packager.tensors import library_of, tensor_of

    models = make()
    tensors = [(net.eval(), tensor_of(library_of(net), x)) for net, x in models]

    def traced(net: Any, x: Any) -> Any:
        recorder = Recorder()
        answer = call_in_mode(net, {"arg0": x}, around=partial(tracing, recorder=recorder))
        recorder.trace()
        return answer

    def called(net: Any, x: Any) -> Any:
        return call_in_mode(net, {"arg0": x})

    def run() -> list[Any]:
        with _threads(threads):
            if how == "forward":
                return [net(x) for net, x in tensors]
            one = traced if how == "traced" else called
            return [one(net, x) for net, x in models]

    if how == "forward" or len(models) > 1:  # among the drifts is a dropout that is left on
        return Contender(run)
    return Contender(run, result=lambda: [np.asarray(part) for one in run() for part in one.values()])


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let PyTorch have so many threads; 0 for as many as it has."""
    if not count:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _layers(count: int, width: int, batch: int) -> Called:
    import kellet
    from kellet import nn

    kellet.manual_seed(0)
    layers = [layer for _ in range(count) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers), np.random.default_rng(0).normal(size=(batch, width)).astype("float32")


@cache
def _small_convolutions() -> list[Called]:
    import torch

    torch.manual_seed(0)
    nn = torch.nn
    layers = [
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
    ]
    return [(nn.Sequential(*layers), np.random.default_rng(0).normal(size=(8, 3, 32, 32)).astype("float32"))]


@cache
def _drifts(library: str, seeds: range, width: int, length: int) -> list[Called]:
    """Return the models of tests/calls/drifting_models.py as they are after their faults."""
    from tests.calls.drifting_models import drift_of

    drawn = [drift_of(seed, library, width=width, length=length) for seed in seeds]
    return [(one.after, one.inputs[0].numpy()) for one in drawn]


@cache
def _encoder() -> Called:
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    # Nested tensors would leave the hooks out of the path that both contenders take.
    net = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    return net, np.random.default_rng(0).normal(size=(2, 128, 384)).astype("float32")


@cache
def _convolutions() -> Called:
    import torch

    torch.manual_seed(0)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()) for _ in range(6)]
    return nn.Sequential(*blocks), np.random.default_rng(0).normal(size=(2, 64, 64, 64)).astype("float32")
