"""A golden call with a trace, beside the model called alone.

The public calls repeat the model two to four times around it, so the call that they share is timed: the walk
through the model, hooks put on and taken off, the call, and the summaries that are found after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from benchmarks.row import Row, Work

WHY: Final = "two hooks a layer, with a copy of what they see, and digests and numbers after the call"

Called = tuple[Any, np.ndarray]
"""A model, and the array that it is called with."""


def rows() -> list[Row]:
    """List three models, each with what was measured before."""
    models: dict[str, tuple[Callable[[], Called], float]] = {
        "4 layers of 1,024 of kellet, batch of 256": (_layers, 1.6),
        "an encoder of 6 layers of 384 of PyTorch, 2 x 128 tokens": (_encoder, 1.6),
        "6 convolutions of 64 channels of PyTorch, 64 x 64": (_convolutions, 1.6),
    }
    return [
        Row(
            f"check with a trace, {title}",
            partial(_traced, make),
            goal,
            "forward",
            partial(_forward, make),
            holds=True,
            why=WHY,
        )
        for title, (make, goal) in models.items()
    ]


def _traced(make: Callable[[], Called]) -> Work:
    from packager._calls import Recorder, call_in_mode, tracing

    net, x = make()

    def run() -> Any:
        recorder = Recorder()
        answer = call_in_mode(net, {"arg0": x}, around=partial(tracing, recorder=recorder))
        recorder.trace()
        return answer

    return Work(run, result=lambda: [np.asarray(part) for part in run().values()])


def _forward(make: Callable[[], Called]) -> Work:
    from packager._tensors import library_of, tensor_of

    net, array = make()
    x = tensor_of(library_of(net), array)
    return Work(lambda: net(x), result=lambda: [net(x).detach().numpy()])


def _input(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@cache
def _layers() -> Called:
    from kellet import nn

    layers = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024), nn.ReLU())]
    return nn.Sequential(*layers).eval(), _input(256, 1024)


@cache
def _encoder() -> Called:
    import torch

    torch.set_num_threads(1)
    layer = torch.nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    # Nested tensors would leave the hooks out of the path that both sides take.
    return torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval(), _input(2, 128, 384)


@cache
def _convolutions() -> Called:
    import torch

    torch.set_num_threads(1)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()) for _ in range(6)]
    return nn.Sequential(*blocks).eval(), _input(2, 64, 64, 64)
