"""Putting values around a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...autograd.bridge import wrap
from ...core import Tensor
from ...core.dispatch import apply
from ...errors import ShapeError
from ...rules import RULES
from .sizes import refuse_empty

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's modes and what `numpy.pad` calls them."""


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad dimensions from the last one forwards: `pad` is (left, right, top, bottom, ...).

    `mode` "constant" puts `value` (0) there, "reflect" mirrors the values without repeating the
    edge, "replicate" repeats the edge, "circular" goes on from the other side. A negative number
    cuts off that many values instead.

    Raises ShapeError when `pad` has no pair for a dimension, too many pairs, or does not fit, and where there
    is no value to mirror or repeat.

    Raises ValueError for a `value` in another mode than "constant".

    Source: torch.nn.functional.pad. Modes other than "constant" take any dimension here, not only
    the last one to three.

    >>> import kellet
    >>> pad(kellet.tensor([1, 2, 3]), (2, 1), mode="reflect")
    tensor([3, 2, 1, 2, 3, 2])
    """
    widths = _widths(pad, input.ndim)
    _check_cuts(input.shape, widths, 0 if mode == "constant" else 1)
    if mode == "constant":
        fill = 0.0 if value is None else value
        return apply(RULES["pad"], (input,), {"widths": widths, "value": fill})
    if mode not in MODES:
        raise NotImplementedError(
            f"pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got {mode!r}"
        )
    if value:
        raise ValueError(f"pad: value is for mode='constant' only, got {value!r} with mode={mode!r}")
    if mode != "circular":
        refuse_empty("pad", input.shape, input.ndim - len(pad) // 2 - 1)
    for axis, width in enumerate(widths):
        if width != (0, 0):
            places = wrap(_places(input.shape, axis, width, mode))
            input = apply(RULES["index_select"], (input, places), {"axis": axis})
    return input


def _widths(pad: Sequence[int], ndim: int) -> tuple[tuple[int, int], ...]:
    """`pad` as a pair for every dimension, in their order."""
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise ShapeError(
            f"pad: expected a pair of numbers for each of the last dimensions, at most {2 * ndim}, "
            f"got {tuple(pad)}"
        )
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return ((0, 0),) * (ndim - len(pairs)) + tuple(reversed(pairs))


def _check_cuts(shape: tuple[int, ...], widths: tuple[tuple[int, int], ...], least: int) -> None:
    for axis, (length, (before, after)) in enumerate(zip(shape, widths, strict=True)):
        if min(before, after) < 0 and length + before + after < least:
            raise ShapeError(
                f"pad: {(before, after)} cuts more off dimension {axis} of shape {shape} than it has; "
                f"at least {least} must be left"
            )


def _places(shape: tuple[int, ...], axis: int, width: tuple[int, int], mode: str) -> np.ndarray:
    """Which value of the dimension stands at each place after padding."""
    length = shape[axis]
    most = {"reflect": length - 1, "replicate": max(width) if length else 0, "circular": length}[mode]
    if max(width) > most:
        raise ShapeError(
            f"pad: {width} does not fit dimension {axis} of shape {shape}: mode={mode!r} can put at most "
            f"{most} values on a side"
        )
    before, after = width
    places = np.arange(length)[max(0, -before) : length - max(0, -after)]
    widths = (max(0, before), max(0, after))
    return np.pad(places, widths, mode=MODES[mode])  # type: ignore[no-any-return,call-overload]  # a name
