"""Images, sequences and volumes in another size, their values taken between those that are there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import Tensor, from_numpy
from ...errors import ShapeError
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .sizes import refuse_empty

Taps = list[tuple[Any, Any]]
"""Where the values of an axis are taken from: for each tap the places, and their weights."""

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_MODES = ("nearest", "nearest-exact", "area", *_RANKS)
_CUBIC = -0.75  # the slope of the curve, as PyTorch and OpenCV choose it


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Return (N, C, *) with its last dimensions in another size: `size`, or theirs times `scale_factor`.

    `mode` is "nearest", "nearest-exact", "area" (means, as adaptive_avg_pool), "linear" (N, C, L), "bilinear"
    and "bicubic" (N, C, H, W) or "trilinear" (N, C, D, H, W). With `align_corners` the first and the last
    value stay where they are, without, the borders do. Positions follow from the scale factor that was given;
    with `recompute_scale_factor` from the sizes.

    Raises ValueError for other modes and for options that do not go together, ShapeError (also ValueError)
    for an input of another number of dimensions, NotImplementedError for `antialias`.

    Source: torch.nn.functional.interpolate; there is no antialiasing here.

    >>> interpolate(kellet.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    _check(input, mode, align_corners, antialias)
    given = input.shape[2:]
    sizes, scales = _sizes(given, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        pools: tuple[Any, ...] = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
        pooled: Tensor = pools[len(given) - 1](input, sizes if len(given) > 1 else sizes[0])
        return pooled
    for place, (length, wanted, scale) in enumerate(zip(given, sizes, scales, strict=True)):
        if mode == "nearest" and input.dim() == 4 and wanted in (length, 2 * length):
            scale = None  # of images alone, PyTorch copies or doubles whatever the factor was
        ratio = _ratio(length, wanted, scale, bool(align_corners))
        taps = _taps(mode, length, wanted, ratio, bool(align_corners))
        input = _resampled(input, place + 2, taps)
    return input


def _check(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode {mode!r} is unknown; choose one of {', '.join(_MODES)}")
    if antialias:
        raise NotImplementedError("interpolate: antialias does not exist here; leave it out")
    if align_corners is not None and mode not in _RANKS:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
            "| trilinear"
        )
    if input.dim() not in (3, 4, 5) or _RANKS.get(mode, input.dim()) != input.dim():
        wanted = f"{_RANKS[mode]}D" if mode in _RANKS else "3D, 4D or 5D"
        raise ShapeError(f"interpolate: got {input.dim()}D input, but {mode} mode needs {wanted} input")
    refuse_empty("interpolate", input.shape, 1)


def _sizes(
    given: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """Return the sizes of the output, and the scales that positions follow from, where any were given."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: only one of size or scale_factor should be defined; pass one of them")
    count = len(given)
    chosen = size if size is not None else scale_factor
    values = tuple(chosen) if isinstance(chosen, list | tuple) else (chosen,) * count
    if len(values) != count:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with {count} "
            f"and {'size' if size is not None else 'scale_factor'} of {len(values)}: {values}"
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size")
        return tuple(int(value) for value in values), (None,) * count
    sizes = tuple(math.floor(length * factor) for length, factor in zip(given, values, strict=True))
    if min(sizes) < 1:
        raise ShapeError(
            f"interpolate: lengths {given} times scale_factor {values} leave sizes {sizes}; all of "
            "them must be greater than 0"
        )
    return sizes, (None,) * count if recompute else tuple(float(value) for value in values)


def _ratio(length: int, wanted: int, scale: float | None, align_corners: bool) -> float:
    """Return how far one step of the output goes in the input."""
    if align_corners:
        return (length - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else length / wanted


def _taps(mode: str, length: int, wanted: int, ratio: float, align_corners: bool) -> Taps:
    steps = np.arange(wanted)
    if mode.startswith("nearest"):
        middle = 0.5 if mode == "nearest-exact" else 0.0
        # In float32 whatever the input is, as in PyTorch: where a place falls on a border, rounding decides.
        at = (steps.astype(np.float32) + np.float32(middle)) * np.float32(ratio)
        places = np.floor(at).astype(np.int64)
        return [(np.minimum(places, length - 1), np.ones(wanted))]
    at = steps * ratio if align_corners else (steps + 0.5) * ratio - 0.5
    if mode != "bicubic":
        at = np.maximum(at, 0.0)
    low = np.floor(at).astype(np.int64)
    part = at - low
    if mode != "bicubic":
        low = np.minimum(low, length - 1)
        return [(low, 1.0 - part), (np.minimum(low + 1, length - 1), part)]
    weights = [_far(part + 1), _near(part), _near(1 - part), _far(2 - part)]
    return [(np.clip(low + n - 1, 0, length - 1), weight) for n, weight in enumerate(weights)]


def _near(x: Any) -> Any:
    """Return the weight of a value at most one step away."""
    return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1


def _far(x: Any) -> Any:
    """Return the weight of a value between one step and two away."""
    return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC


def _resampled(input: Tensor, axis: int, taps: Taps) -> Tensor:
    shape = [1] * input.dim()
    shape[axis] = -1
    parts = []
    for places, weights in taps:
        taken = input.index_select(axis, from_numpy(places))
        if len(taps) > 1:
            taken = taken * from_numpy(weights.astype(input._array.dtype)).reshape(shape)
        parts.append(taken)
    made: Tensor = sum(parts[1:], parts[0])
    return made
