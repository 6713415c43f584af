"""Order statistics and running extremes: medians, quantiles, the k-th value, the most frequent, searches.

They are made of sorting and gathering, whose derivatives they have: a gradient goes to where its value stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..dtypes import INTEGER, category, dtype_name, is_differentiable
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from .axes import axis_of
from .dispatch import apply, floating, tensor_of
from .reducing import Extremes

if TYPE_CHECKING:
    from .tensor import Tensor

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the middle value of all, the lower one of two; with `dim`, those along it and their positions.

    NaN counts as the middle where there is one.

    Source: torch.median.

    >>> kellet.median(kellet.tensor([3.0, 1.0, 2.0, 9.0]))
    tensor(2.)
    """
    return _middle(input, dim, keepdim, skip_nan=False)


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return `median` of the values that are not NaN.

    >>> kellet.nanmedian(kellet.tensor([3.0, float("nan"), 2.0]))
    tensor(2.)
    """
    return _middle(input, dim, keepdim, skip_nan=True)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Extremes:
    """Return the `k`-th smallest value along `dim`, counted from 1, and where it stood.

    Raises ShapeError for a `k` that is not among 1 to the length.

    >>> kellet.kthvalue(kellet.tensor([30, 10, 20]), 2).values
    tensor(20)
    """
    row, axis = _row_and_axis(input, dim)
    length = row._array.shape[axis]
    if not 1 <= k <= length:
        raise ShapeError(f"kthvalue: k is {k}, but axis {axis} has {length} values; count from 1")
    order = np.argsort(row._array, axis=axis, kind="stable")
    return _chosen(input, row, np.take(order, [k - 1], axis=axis), axis, keepdim)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Extremes:
    """Return the most frequent value along `dim`, the smallest of those, and the last place where it stood.

    Raises ShapeError where `dim` has no values.

    >>> kellet.mode(kellet.tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    row, axis = _row_and_axis(input, dim)
    if not row._array.shape[axis]:
        raise ShapeError(f"mode: axis {axis} of a tensor of shape {input._array.shape} has no value")
    lines = np.moveaxis(row._array, axis, -1)
    places = np.empty(lines.shape[:-1], np.int64)
    for at in np.ndindex(*places.shape):
        values, counts = np.unique(lines[at], return_counts=True)
        places[at] = np.flatnonzero(lines[at] == values[counts.argmax()])[-1]
    return _chosen(input, row, np.expand_dims(places, axis), axis, keepdim)


def msort(input: Tensor) -> Tensor:
    """Sort along the first axis.

    >>> kellet.msort(kellet.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return input.sort(0).values


def quantile(
    input: Tensor,
    q: float | Sequence[float] | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return the values below which the share `q` lies, of all or along it; several `q` are the first axis.

    Between two values `interpolation` decides: "linear", "lower", "higher", "midpoint" or "nearest".
    A row with NaN gives NaN.

    Raises ValueError for another word, or a `q` outside of 0 to 1; DTypeError for integers.

    Source: torch.quantile.

    >>> kellet.quantile(kellet.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skip_nan=False)


def nanquantile(
    input: Tensor,
    q: float | Sequence[float] | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Return `quantile` of the values that are not NaN.

    >>> kellet.nanquantile(kellet.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skip_nan=True)


def cummax(input: Tensor, dim: int) -> Extremes:
    """Replace each element by the largest up to it along `dim`; and say where the last such one stands.

    >>> kellet.cummax(kellet.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return _running_extreme(input, dim, np.maximum, np.greater_equal)


def cummin(input: Tensor, dim: int) -> Extremes:
    """Replace each element by the smallest up to it along `dim`; and say where the last such one stands.

    >>> kellet.cummin(kellet.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return _running_extreme(input, dim, np.minimum, np.less_equal)


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return the logarithm of `cumsum` of exponentials, without leaving the range of the dtype.

    >>> kellet.logcumsumexp(kellet.tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    value, axis = _row_and_axis(floating(input), dim)
    return _as_input(input, apply(RULES["logcumsumexp"], (value,), {"axis": axis}))


def searchsorted(
    sorted_sequence: Tensor,
    input: object,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
) -> Tensor:
    """Return where each value would go into the sorted last axis: before its equals, or (`right`) behind.

    Raises ShapeError where the leading axes differ, ValueError for a `side` that is neither word.

    Source: torch.searchsorted.

    >>> kellet.searchsorted(kellet.tensor([1, 3, 5]), kellet.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    where: Any = "right" if right or side == "right" else "left"
    values = input._array if isinstance(input, Variable) else np.asarray(input)
    rows = sorted_sequence._array
    kind = np.int32 if out_int32 else np.int64
    if rows.ndim == 1:
        return tensor_of(np.searchsorted(rows, values, where).astype(kind))
    if rows.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"searchsorted: rows of shape {rows.shape} do not fit values of shape {values.shape}; all axes "
            "but the last must be equal"
        )
    found = np.empty(values.shape, kind)
    for at in np.ndindex(*rows.shape[:-1]):
        found[at] = np.searchsorted(rows[at], values[at], where)
    return tensor_of(found)


def bucketize(input: object, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return the number of the interval between `boundaries` in which each value lies.

    >>> kellet.bucketize(kellet.tensor([0.5, 2.5]), kellet.tensor([1.0, 2.0]))
    tensor([0, 2])
    """
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the values with repetitions in a row left out; where asked for, as `unique`, more.

    >>> kellet.unique_consecutive(kellet.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    array = input._array.reshape(-1) if dim is None else input._array
    axis = 0 if dim is None else axis_of(dim, array.ndim)
    lines = np.moveaxis(array, axis, 0)
    changed = (lines[1:] != lines[:-1]).any(axis=tuple(range(1, lines.ndim)))
    starts = np.flatnonzero(np.concatenate([[True], changed]))[: len(lines)]
    inverse = np.searchsorted(starts, np.arange(len(lines)), "right") - 1
    inverse = inverse.reshape(input._array.shape) if dim is None else inverse
    counts = np.diff(np.append(starts, len(lines)))
    found = [tensor_of(np.take(array, starts, axis=axis))]
    found += [tensor_of(inverse)] if return_inverse else []
    found += [tensor_of(counts)] if return_counts else []
    return found[0] if len(found) == 1 else tuple(found)


# --- helpers --------------------------------------------------------------------------------------


def _middle(input: Tensor, dim: int | None, keepdim: bool, skip_nan: bool) -> Any:
    if dim is None:
        return _middle_of_all(input, skip_nan)
    row, axis = _row_and_axis(input, dim)
    if not row._array.shape[axis]:
        raise ShapeError(f"median: axis {axis} of a tensor of shape {input._array.shape} has no value")
    return _chosen(input, row, _middle_places(row._array, axis, skip_nan), axis, keepdim)


def _middle_of_all(input: Tensor, skip_nan: bool) -> Tensor:
    """Equal values share the gradient, as in PyTorch."""
    array = input._array.reshape(-1)
    if not array.size:
        return input.sum() + np.nan if array.dtype.kind == "f" else _empty(input)
    value = array[_middle_places(array, 0, skip_nan)[0]]
    if not (input.requires_grad and is_differentiable(array.dtype)):
        return tensor_of(np.asarray(value))
    away = np.not_equal(array, value) if value == value else ~np.isnan(array)
    return input.reshape(-1).masked_fill(tensor_of(away), float("-inf")).amax()


def _empty(input: Tensor) -> Tensor:
    raise ShapeError(f"median: a tensor of shape {input._array.shape} has no values")


def _middle_places(array: Any, axis: int, skip_nan: bool) -> Any:
    """The position of the lower middle along an axis, kept with length 1; NaN sorts last."""
    order = np.argsort(array, axis=axis, kind="stable")
    missing = np.isnan(array).sum(axis=axis, keepdims=True) if array.dtype.kind == "f" else 0
    length = array.shape[axis]
    if skip_nan:
        at = np.maximum(length - missing - 1, 0) // 2
    else:
        at = np.where(np.asarray(missing) > 0, length - missing, (length - 1) // 2)
    shape = [1 if i == axis else n for i, n in enumerate(array.shape)]
    return np.take_along_axis(order, np.broadcast_to(at, shape).astype(np.int64), axis=axis)


def _quantile(
    name: str,
    input: Tensor,
    q: float | Sequence[float] | Tensor,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    skip_nan: bool,
) -> Tensor:
    shares = np.asarray(q._array if isinstance(q, Variable) else q, input._array.dtype)
    _check_quantile(name, input, shares, interpolation)
    line = input.reshape(-1) if dim is None else input.reshape(1) if not input._array.ndim else input
    line = line.movedim(0 if dim is None else axis_of(dim, line._array.ndim), -1)
    ordered = line.sort(-1).values
    missing = np.isnan(ordered._array).sum(axis=-1, keepdims=True)
    last = ordered._array.shape[-1] - 1 - missing if skip_nan else np.full_like(missing, line.shape[-1] - 1)
    places = shares.reshape(-1) * np.maximum(last, 0).astype(shares.dtype)
    if not skip_nan:
        places = np.where(missing > 0, shares.dtype.type(line.shape[-1] - 1), places)
    found = _between(ordered, places, interpolation).movedim(-1, 0)
    found = found[0] if not shares.ndim else found
    if not keepdim:
        return found
    if dim is None:
        return found.reshape((*shares.shape, *[1] * input._array.ndim))
    return (
        found.unsqueeze(axis_of(dim, max(input._array.ndim, 1)) + shares.ndim) if input._array.ndim else found
    )


def _check_quantile(name: str, input: Tensor, shares: Any, interpolation: str) -> None:
    """Raise DTypeError, ValueError or ShapeError for values that have no quantiles."""
    if input._array.dtype.kind != "f":
        raise DTypeError(f"{name}() input tensor must be either float or double dtype; use .float()")
    if interpolation not in INTERPOLATIONS:
        raise ValueError(
            f"{name}() interpolation must be one of {', '.join(INTERPOLATIONS)}, got {interpolation!r}"
        )
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(
            f"{name}() q must be a number or a vector of numbers in the range [0, 1], got {shares}"
        )
    if not input._array.size:
        raise ShapeError(f"{name}() input tensor must be non-empty, got shape {input._array.shape}")


def _between(ordered: Tensor, places: Any, interpolation: str) -> Tensor:
    """The values of sorted rows at fractional places."""
    if interpolation == "nearest":
        places = np.round(places)
    elif interpolation == "lower":
        places = np.floor(places)
    elif interpolation == "higher":
        places = np.ceil(places)
    low = np.floor(places)
    below = ordered.gather(-1, tensor_of(low.astype(np.int64)))
    if interpolation not in ("linear", "midpoint"):
        return below
    above = ordered.gather(-1, tensor_of(np.ceil(places).astype(np.int64)))
    weight = np.full_like(places, 0.5) if interpolation == "midpoint" else places - low
    return below.lerp(above, tensor_of(weight))


def _running_extreme(input: Tensor, dim: int, better: Any, reaches: Any) -> Extremes:
    row, axis = _row_and_axis(input, dim)
    array = row._array
    best = better.accumulate(array, axis=axis)
    reached = reaches(array, best) | (array != array)
    steps = np.arange(array.shape[axis]).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    places = np.maximum.accumulate(np.where(reached, steps, 0), axis=axis)
    values = row.gather(axis, tensor_of(places))
    return Extremes(_as_input(input, values), _as_input(input, tensor_of(places)))


def _chosen(input: Tensor, row: Tensor, places: Any, axis: int, keepdim: bool) -> Extremes:
    """The values at `places`, one along `axis`, and the places."""
    found = Extremes(row.gather(axis, tensor_of(places)), tensor_of(places))
    if not input._array.ndim:
        return Extremes(found.values.reshape(()), found.indices.reshape(()))
    return found if keepdim else Extremes(found.values.squeeze(axis), found.indices.squeeze(axis))


def _row_and_axis(input: Tensor, dim: int) -> tuple[Tensor, int]:
    """The tensor, a row of one value for a tensor of shape (), and the axis."""
    axis = axis_of(dim, input._array.ndim)
    return (input if input._array.ndim else input.reshape(1)), axis


def _as_input(input: Tensor, found: Tensor) -> Tensor:
    return found if input._array.ndim else found.reshape(())


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each of 0, 1, 2, ... occurs, or the sum of its weights.

    Raises DTypeError unless the values are a vector of non-negative integers.

    >>> kellet.bincount(kellet.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input._array.ndim != 1 or category(input._array.dtype) != INTEGER or (input._array < 0).any():
        raise DTypeError(
            "bincount: expected a vector of integers, none negative, got shape "
            f"{input._array.shape} of {dtype_name(input._array.dtype)}"
        )
    values = None if weights is None else weights._array
    return tensor_of(np.bincount(input._array, values, minlength))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the values that occur, each once, in order.

    Where asked for, also which of them each value is, and how often each occurs.

    Source: torch.unique.

    >>> kellet.unique(kellet.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    found = np.unique(input._array, return_inverse=True, return_counts=True, axis=dim)
    shape = input._array.shape if dim is None else (input._array.shape[dim],)
    values, inverse, counts = tensor_of(found[0]), tensor_of(found[1].reshape(shape)), tensor_of(found[2])
    extra = [one for one, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *extra) if extra else values


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Return how many values lie in each of `bins` equal intervals from `min` to `max`; of all where equal.

    >>> kellet.histc(kellet.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = input._array.reshape(-1)
    low, high = (min, max) if min != max or not array.size else (float(array.min()), float(array.max()))
    low, high = (low - 1, high + 1) if low == high else (low, high)
    counts, _ = np.histogram(array, bins, (low, high))
    return tensor_of(counts.astype(input._array.dtype))


class Ranking(Variable):
    """The functions of this file as methods."""

    __slots__ = ()

    median = median
    nanmedian = nanmedian
    kthvalue = kthvalue
    mode = mode
    msort = msort
    quantile = quantile
    nanquantile = nanquantile
    cummax = cummax
    cummin = cummin
    logcumsumexp = logcumsumexp
    unique_consecutive = unique_consecutive

    bincount = bincount
    unique = unique

    histc = histc
