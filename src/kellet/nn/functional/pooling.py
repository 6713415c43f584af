"""Pooling: the largest value or the average of each window, over one, two or three dimensions.

Inputs are (N, C, *lengths), or (C, *lengths) without a batch. `stride` is the window unless given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.bridge import wrap
from ...core import Tensor, stack
from ...core.dispatch import apply
from ...errors import ShapeError
from ...rules import RULES
from ...rules.pooling import Pooling
from .sizes import Size, lengths, refuse_empty

# --- the largest value ----------------------------------------------------------------------------


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window along the last dimension; see `max_pool2d`.

    Source: torch.nn.functional.max_pool1d.

    >>> max_pool1d(kellet.tensor([[1.0, 2.0, 4.0, 3.0]]), 2)
    tensor([[2., 4.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window. Padding counts as minus infinity.

    With `ceil_mode` windows may hang over the far edge. With `return_indices` a pair is returned, the
    second one the flat position of each value within its channel. The gradient goes to the first of
    equal values.

    Raises ShapeError where the window does not fit, for padding of more than half of it, and for an input
    without values, but that of an empty batch.

    Source: torch.nn.functional.max_pool2d.

    >>> import kellet
    >>> max_pool2d(kellet.tensor([[[1.0, 2.0], [4.0, 3.0]]]), 2)
    tensor([[[4.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest value of each window over the last three dimensions; see `max_pool2d`.

    Source: torch.nn.functional.max_pool3d.

    >>> max_pool3d(kellet.ones(1, 2, 4, 4, 4), 2).shape
    (1, 2, 2, 2, 2)
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


# --- the average ----------------------------------------------------------------------------------


def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the average of each window along the last dimension; see `avg_pool2d`.

    Source: torch.nn.functional.avg_pool1d.

    >>> avg_pool1d(kellet.tensor([[1.0, 2.0, 4.0, 3.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the average of each window.

    Padding counts as zeros, or, with `count_include_pad=False`, not at all. `divisor_override`
    replaces the number that sums are divided by.

    Source: torch.nn.functional.avg_pool2d.

    >>> import kellet
    >>> avg_pool2d(kellet.tensor([[[1.0, 2.0], [4.0, 3.0]]]), 2)
    tensor([[[2.5000]]])
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the average of each window over the last three dimensions; see `avg_pool2d`.

    Source: torch.nn.functional.avg_pool3d.

    >>> avg_pool3d(kellet.ones(1, 2, 4, 4, 4), 2).shape
    (1, 2, 2, 2, 2)
    """
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """Return the average over windows laid so that the result has length `output_size`.

    Source: torch.nn.functional.adaptive_avg_pool1d.

    >>> adaptive_avg_pool1d(kellet.tensor([[1.0, 2.0, 4.0, 3.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return the average over windows laid so that the result has the lengths `output_size`.

    Window i of n over length L reaches from `floor(i * L / n)` to `ceil((i + 1) * L / n)`. None keeps a
    length.

    Source: torch.nn.functional.adaptive_avg_pool2d.

    >>> import kellet
    >>> adaptive_avg_pool2d(kellet.ones(2, 5, 7), (1, 3)).shape
    (2, 1, 3)
    """
    return _adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Return the average over windows laid so that the result has the lengths `output_size`.

    Source: torch.nn.functional.adaptive_avg_pool3d.

    >>> adaptive_avg_pool3d(kellet.ones(1, 2, 4, 4, 4), 1).shape
    (1, 2, 1, 1, 1)
    """
    return _adaptive_avg_pool(3, input, output_size)


# --- over any number of dimensions ----------------------------------------------------------------


def _max_pool(
    axes: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    where = f"max_pool{axes}d"
    pooling = _pooling(where, axes, input, kernel_size, stride, padding, dilation, ceil_mode)
    batch = input if input.ndim == axes + 2 else input.unsqueeze(0)
    options: dict[str, Any] = {"pooling": pooling}
    out = apply(RULES["max_pool"], (batch,), options)
    out = out if batch is input else out.squeeze(0)
    if not return_indices:
        return out
    indexes = apply(RULES["pool_indexes"], (batch,), options)
    return out, indexes if batch is input else indexes.squeeze(0)


def _avg_pool(
    axes: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    where = f"avg_pool{axes}d"
    pooling = _pooling(where, axes, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override == 0:
        raise ValueError(f"{where}: divisor_override must not be zero; leave it out to divide by the window")
    batch = input if input.ndim == axes + 2 else input.unsqueeze(0)
    options = {"pooling": pooling, "include_pad": count_include_pad, "divisor": divisor_override}
    out = apply(RULES["avg_pool"], (batch,), options)
    return out if batch is input else out.squeeze(0)


def _adaptive_avg_pool(axes: int, input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """One dimension after the other: each is a product with a matrix of shares."""
    if input.ndim not in (axes + 1, axes + 2):
        raise _wrong_dimensions(f"adaptive_avg_pool{axes}d", axes, input)
    wanted = output_size if isinstance(output_size, Sequence) else (output_size,) * axes
    if len(wanted) != axes:
        raise ValueError(
            f"adaptive_avg_pool{axes}d: output_size must be one number or {axes}, got {tuple(wanted)}"
        )
    if any(length != 1 for length in wanted):  # one average of nothing is not a number
        refuse_empty(f"adaptive_avg_pool{axes}d", input.shape, 1)
    for dim, length in zip(range(-axes, 0), wanted, strict=True):
        if length == 1:
            input = input.mean(dim, keepdim=True)
        elif length is not None and length != input.shape[dim]:
            shares = wrap(_shares(input.shape[dim], length).astype(input.dtype))
            input = (input.transpose(dim, -1) @ shares).transpose(dim, -1)
    return input


def _shares(length: int, count: int) -> np.ndarray:
    """What part each value (row) has in each average (column)."""
    starts = np.arange(count) * length // count
    ends = -(-(np.arange(1, count + 1) * length) // count)
    places = np.arange(length)[:, None]
    return ((places >= starts) & (places < ends)) / (ends - starts)


def _pooling(
    where: str,
    axes: int,
    input: Tensor,
    kernel_size: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
) -> Pooling:
    if input.ndim not in (axes + 1, axes + 2):
        raise _wrong_dimensions(where, axes, input)
    refuse_empty(where, input.shape, input.ndim - axes - 1)
    size = lengths(where, "kernel_size", kernel_size, axes, least=1)
    # An empty list stands for the window itself, as in PyTorch.
    steps = size if stride is None or stride == [] else lengths(where, "stride", stride, axes, least=1)
    border = lengths(where, "padding", padding, axes)
    wide = lengths(where, "dilation", dilation, axes, least=1)
    if any(p > k // 2 for p, k in zip(border, size, strict=True)):
        raise ShapeError(
            f"{where}: padding must be at most half of kernel_size, got padding {border} with kernel_size "
            f"{size}"
        )
    pooling = Pooling(size, steps, border, wide, ceil_mode)
    if min(pooling.places(input.shape[-axes:])) < 1:
        raise ShapeError(
            f"{where}: a window of {size} (dilation {wide}, padding {border}) does not fit input of shape "
            f"{input.shape}; use a smaller window, or pad"
        )
    return pooling


def _wrong_dimensions(where: str, axes: int, input: Tensor) -> ShapeError:
    return ShapeError(
        f"{where}: expected an input of {axes + 1} (unbatched) or {axes + 2} dimensions, "
        f"got shape {input.shape}"
    )


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
