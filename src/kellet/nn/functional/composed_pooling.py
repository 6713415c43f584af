"""Pooling that is made of other functions: the largest value of adaptive windows, and power means.

Inputs are (N, C, *lengths), or (C, *lengths) without a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import Tensor, stack
from ...errors import ShapeError
from .pooling import avg_pool1d, avg_pool2d, avg_pool3d
from .sizes import Size, lengths, refuse_empty

AVERAGES = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}


def adaptive_max_pool1d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Tensor:
    """Return the largest value of each window, laid so that the result has the lengths `output_size`.

    Windows are those of `adaptive_avg_pool1d`. Equal values: the first one gets the gradient.

    Source: torch.nn.functional.adaptive_max_pool1d; `return_indices` raises NotImplementedError.

    >>> adaptive_max_pool1d(kellet.ones(1, 4), 2).shape
    (1, 2)
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Tensor:
    """Return the largest value of each window, laid so that the result has the lengths `output_size`.

    Windows are those of `adaptive_avg_pool2d`. Equal values: the first one gets the gradient.

    Source: torch.nn.functional.adaptive_max_pool2d; `return_indices` raises NotImplementedError.

    >>> adaptive_max_pool2d(kellet.ones(1, 4, 4), 2).shape
    (1, 2, 2)
    """
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Tensor:
    """Return the largest value of each window, laid so that the result has the lengths `output_size`.

    Windows are those of `adaptive_avg_pool3d`. Equal values: the first one gets the gradient.

    Source: torch.nn.functional.adaptive_max_pool3d; `return_indices` raises NotImplementedError.

    >>> adaptive_max_pool3d(kellet.ones(1, 4, 4, 4), 2).shape
    (1, 2, 2, 2)
    """
    return _adaptive_max_pool(3, input, output_size, return_indices)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the `norm_type`-norm of each window.

    Source: torch.nn.functional.lp_pool1d.

    >>> lp_pool1d(kellet.ones(1, 4), 2, 2).shape
    (1, 2)
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the `norm_type`-norm of each window.

    Source: torch.nn.functional.lp_pool2d.

    >>> lp_pool2d(kellet.ones(1, 4, 4), 2, 2).shape
    (1, 2, 2)
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False
) -> Tensor:
    """Return the `norm_type`-norm of each window.

    Source: torch.nn.functional.lp_pool3d.

    >>> lp_pool3d(kellet.ones(1, 4, 4, 4), 2, 2).shape
    (1, 2, 2, 2)
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _adaptive_max_pool(axes: int, input: Tensor, output_size: Any, return_indices: bool) -> Tensor:
    where = f"adaptive_max_pool{axes}d"
    if return_indices:
        raise NotImplementedError(f"{where}: return_indices does not exist here")
    if input.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{where}: expected {axes + 1} or {axes + 2} dimensions, got shape {input.shape}")
    refuse_empty(where, input.shape, 1)
    wanted = output_size if isinstance(output_size, Sequence) else (output_size,) * axes
    if len(wanted) != axes:
        raise ValueError(f"{where}: output_size must be one number or {axes}, got {tuple(wanted)}")
    # The last dimension first: of equal values the first one in order wins, as in one look at the window.
    for dim, count in reversed([*zip(range(-axes, 0), wanted, strict=True)]):
        if count is not None and count != input.shape[dim]:
            input = stack([part.max(dim).values for part in _windows(input, dim, count)], dim)
    return input


def _windows(input: Tensor, dim: int, count: int) -> list[Tensor]:
    length = input.shape[dim]
    ends = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
    return [input.narrow(dim, start, end - start) for start, end in ends]


def _lp_pool(
    axes: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    size = lengths(f"lp_pool{axes}d", "kernel_size", kernel_size, axes, least=1)
    mean = AVERAGES[axes](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    total: Tensor = mean.sign() * mean.abs().relu() * math.prod(size)
    return total.pow(1.0 / norm_type)
