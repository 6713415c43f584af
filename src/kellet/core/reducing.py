"""Methods that work along axes: sums, means, extremes, norms, softmax, running sums, orders.

`dim` is one axis, a sequence of axes, or None for all; with `keepdim` the folded axes stay, of
length 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from ..autograd import Variable
from ..dtypes import INTEGER, DTypeLike, as_dtype, category, dtype_name
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from .axes import Axes, axes_of, axis_of
from .dispatch import apply, apply_all, floating

if TYPE_CHECKING:
    from .tensor import Tensor


class Extremes(NamedTuple):
    """Values along an axis and where they stood."""

    values: Tensor
    indices: Tensor


class Bounds(NamedTuple):
    """The smallest and the largest values."""

    min: Tensor
    max: Tensor


def _spread_and_mean(
    name: str,
    input: Tensor,
    dim: Axes | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    options = input._spread(name, dim, unbiased, keepdim, correction)
    spread, mean = apply_all(RULES[name], (_smooth(name, input),), options)
    return spread, mean


def var_mean(input: Tensor, dim: Axes = None, **options: Any) -> tuple[Tensor, Tensor]:
    """Return `var` and `mean` over `dim`; the options are those of `var`.

    >>> kellet.var_mean(kellet.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    return _spread_and_mean("var_mean", input, dim, **options)


def std_mean(input: Tensor, dim: Axes = None, **options: Any) -> tuple[Tensor, Tensor]:
    """Return `std` and `mean` over `dim`; the options are those of `std`.

    >>> kellet.std_mean(kellet.tensor([1.0, 1.0]))
    (tensor(0.), tensor(1.))
    """
    return _spread_and_mean("std_mean", input, dim, **options)


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Bounds:
    """Return `amin` and `amax` over `dim`.

    >>> kellet.aminmax(kellet.tensor([3, 1, 2])).max
    tensor(3)
    """
    return Bounds(input.amin(dim, keepdim), input.amax(dim, keepdim))


def nansum(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Return the sum of the values that are not NaN.

    >>> kellet.nansum(kellet.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    return input.masked_fill(input.isnan(), 0.0).sum(dim, keepdim, dtype=dtype)


def nanmean(
    input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Return the mean of the values that are not NaN.

    >>> kellet.nanmean(kellet.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    total = nansum(input, dim, keepdim, dtype=dtype)
    count = (~input.isnan()).sum(dim, keepdim)
    return total / count.to(total.dtype)


class Reducing(Variable):
    """Reductions."""

    __slots__ = ()

    def sum(self, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
        """Return the sum over `dim`; bools and integers are summed as int64.

        >>> import kellet
        >>> kellet.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=0)
        tensor([4., 6.])
        """
        return apply(RULES["sum"], (_summed(self, dtype),), self._folding(dim, keepdim))

    def mean(self, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
        """Return the mean over `dim`; the tensor must be floating or complex, or `dtype` be given.

        >>> kellet.mean(kellet.tensor([[1.0, 2.0], [3.0, 6.0]]), dim=1)
        tensor([1.5000, 4.5000])
        """
        value = self if dtype is None else _cast(self, dtype)
        return apply(RULES["mean"], (_smooth("mean", value),), self._folding(dim, keepdim))

    def prod(
        self, dim: int | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Return the product over one axis, or over all.

        >>> kellet.prod(kellet.tensor([2, 3, 4]))
        tensor(24)
        """
        return apply(RULES["prod"], (_summed(self, dtype),), self._along(dim, keepdim))

    def var(
        self,
        dim: Axes | bool = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        """Return the variance over `dim`: squares summed and divided by their number less `correction`.

        That is 1 unless given; `unbiased=False` is an older way to say 0.

        >>> kellet.var(kellet.tensor([1.0, 3.0]))
        tensor(2.)
        """
        options = self._spread("var", dim, unbiased, keepdim, correction)
        return apply(RULES["var"], (_smooth("var", self),), options)

    def std(
        self,
        dim: Axes | bool = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        """Return the square root of `var`.

        >>> kellet.std(kellet.tensor([1.0, 3.0]), correction=0)
        tensor(1.)
        """
        options = self._spread("std", dim, unbiased, keepdim, correction)
        return apply(RULES["std"], (_smooth("std", self),), options)

    def norm(
        self,
        p: float | str | None = "fro",
        dim: Axes = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Return the `p`-norm over `dim` of the values in a row; "fro" and None stand for 2.

        Raises ValueError for another word as `p`, ShapeError for one below zero of no value.

        >>> kellet.norm(kellet.tensor([3.0, 4.0]))
        tensor(5.)
        """
        value = self if dtype is None else _cast(self, dtype)
        if isinstance(p, str) and p != "fro":
            raise ValueError(f"norm: p must be a number or 'fro', got {p!r}")
        order = 2.0 if p is None or isinstance(p, str) else p
        options = self._folding(dim, keepdim)
        shape, axes = self._array.shape, options["axis"]
        if order < 0 and 0 in (shape if axes is None else [shape[axis] for axis in axes]):
            raise ShapeError(f"norm: a tensor of shape {shape} has no value for the norm of order {order}")
        return apply(RULES["norm"], (_smooth("norm", value),), {**options, "ord": order})

    def logsumexp(self, dim: Axes, keepdim: bool = False) -> Tensor:
        """Return the logarithm of the sum of exponentials, without leaving the range of the dtype.

        >>> kellet.logsumexp(kellet.tensor([0.0, 0.0]), dim=0)
        tensor(0.6931)
        """
        return apply(RULES["logsumexp"], (floating(self),), self._folding(dim, keepdim))

    def cumsum(self, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
        """Replace each element by the sum up to it along `dim`.

        >>> kellet.cumsum(kellet.tensor([1, 2, 3]), dim=0)
        tensor([1, 3, 6])
        """
        return self._running("cumsum", dim, dtype)

    def cumprod(self, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
        """Replace each element by the product up to it along `dim`.

        >>> kellet.cumprod(kellet.tensor([1, 2, 3]), dim=0)
        tensor([1, 2, 6])
        """
        return self._running("cumprod", dim, dtype)

    def softmax(self, dim: int, dtype: DTypeLike | None = None) -> Tensor:
        """Return exponentials divided by their sum along `dim`; with `dtype`, computed in that.

        >>> kellet.softmax(kellet.tensor([0.0, 1.0]), dim=0)
        tensor([0.2689, 0.7311])
        """
        return self._normalized("softmax", dim, dtype)

    def log_softmax(self, dim: int, dtype: DTypeLike | None = None) -> Tensor:
        """Return the logarithm of `softmax`, computed without leaving the range of the dtype.

        >>> kellet.log_softmax(kellet.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
        """
        return self._normalized("log_softmax", dim, dtype)

    # --- extremes ---------------------------------------------------------------------------------

    @overload
    def max(self, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def max(self, dim: int, keepdim: bool = False) -> Extremes: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    def max(self, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | Extremes:
        """Return the largest value of all; with `dim`, the largest along it and their positions.

        With a tensor in the place of `dim` this is `maximum`.

        >>> import kellet
        >>> kellet.tensor([[1.0, 5.0], [7.0, 2.0]]).max(dim=1).indices
        tensor([1, 0])
        """
        return self._extreme("max", "amax", dim, keepdim)

    @overload
    def min(self, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def min(self, dim: int, keepdim: bool = False) -> Extremes: ...
    @overload
    def min(self, dim: Tensor) -> Tensor: ...
    def min(self, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | Extremes:
        """Return the smallest value of all; with `dim`, the smallest along it and their positions.

        With a tensor in the place of `dim` this is `minimum`.

        >>> kellet.min(kellet.tensor([3, 1, 2]))
        tensor(1)
        """
        return self._extreme("min", "amin", dim, keepdim)

    def amax(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Return the largest value over `dim`; equal ones share the gradient.

        >>> kellet.amax(kellet.tensor([[1, 5], [7, 2]]), dim=1)
        tensor([5, 7])
        """
        return apply(RULES["amax"], (self,), self._folding(dim, keepdim))

    def amin(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Return the smallest value over `dim`; equal ones share the gradient.

        >>> kellet.amin(kellet.tensor([[1, 5], [7, 2]]), dim=1)
        tensor([1, 2])
        """
        return apply(RULES["amin"], (self,), self._folding(dim, keepdim))

    def argmax(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Return the position of the first largest value along `dim`, or in the flat order of all.

        >>> kellet.argmax(kellet.tensor([1, 7, 2]))
        tensor(1)
        """
        return apply(RULES["argmax"], (self,), self._along(dim, keepdim))

    def argmin(self, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """Return the position of the first smallest value along `dim`, or in the flat order of all.

        >>> kellet.argmin(kellet.tensor([3, 1, 2]))
        tensor(1)
        """
        return apply(RULES["argmin"], (self,), self._along(dim, keepdim))

    def sort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Extremes:
        """Sort the values along `dim`, and say where they stood; equal ones keep their order, always.

        >>> kellet.sort(kellet.tensor([3, 1, 2])).values
        tensor([1, 2, 3])
        """
        return self._ordered("sort", {"axis": axis_of(dim, self._array.ndim), "descending": descending})

    def argsort(self, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
        """Return the positions that put the values in order along `dim`.

        >>> kellet.argsort(kellet.tensor([3, 1, 2]))
        tensor([1, 2, 0])
        """
        return self.sort(dim, descending).indices

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Extremes:
        """Return the `k` largest (or smallest) values along `dim`, the best first, and where they stood.

        Raises ShapeError for a `k` that is negative, or more than there are.

        >>> kellet.topk(kellet.tensor([3, 1, 2]), k=2).values
        tensor([3, 2])
        """
        axis = axis_of(dim, self._array.ndim)
        length = self._array.shape[axis] if self._array.ndim else 1
        if not 0 <= k <= length:
            raise ShapeError(f"topk: k is {k}, but axis {axis} has {length} values; pass a smaller k")
        return self._ordered("topk", {"k": k, "axis": axis, "largest": largest})

    # --- truth ------------------------------------------------------------------------------------

    def any(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Say whether at least one element is not zero.

        >>> kellet.any(kellet.tensor([1, 0]))
        tensor(True)
        """
        return apply(RULES["any"], (self,), self._folding(dim, keepdim))

    def all(self, dim: Axes = None, keepdim: bool = False) -> Tensor:
        """Say whether all elements are nonzero.

        >>> kellet.all(kellet.tensor([1, 0]))
        tensor(False)
        """
        return apply(RULES["all"], (self,), self._folding(dim, keepdim))

    def count_nonzero(self, dim: Axes = None) -> Tensor:
        """Count the elements that are not zero.

        >>> kellet.count_nonzero(kellet.tensor([0, 3, 4]))
        tensor(2)
        """
        return apply(RULES["count_nonzero"], (self,), {"axis": axes_of(dim, self._array.ndim)})

    # --- arguments --------------------------------------------------------------------------------

    def _folding(self, dim: Axes, keepdim: bool) -> dict[str, Any]:
        return {"axis": axes_of(dim, self._array.ndim), "keepdims": keepdim}

    def _along(self, dim: int | None, keepdim: bool) -> dict[str, Any]:
        return {"axis": None if dim is None else axis_of(dim, self._array.ndim), "keepdims": keepdim}

    def _spread(
        self, name: str, dim: Axes | bool, unbiased: bool | None, keepdim: bool, correction: float | None
    ) -> dict[str, Any]:
        if isinstance(dim, bool):  # x.var(False): PyTorch's oldest form
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        elif unbiased is not None:
            raise TypeError(f"{name}: unbiased and correction say the same; pass one of them")
        return {**self._folding(dim, keepdim), "correction": correction}

    def _normalized(self, name: str, dim: int, dtype: Any) -> Tensor:
        axis = axis_of(dim, self._array.ndim)
        value = floating(self) if dtype is None else self.to(dtype)  # type: ignore[attr-defined]  # a Tensor
        if self._array.ndim:
            return apply(RULES[name], (value,), {"axis": axis})
        return apply(RULES[name], (value.reshape(1),), {"axis": 0}).reshape(())

    def _running(self, name: str, dim: int, dtype: Any) -> Tensor:
        axis = axis_of(dim, self._array.ndim)
        value = _summed(self, dtype)
        return apply(RULES[name], (value,), {"axis": axis}) if self._array.ndim else value

    def _extreme(self, along: str, whole: str, dim: Any, keepdim: bool) -> Tensor | Extremes:
        if isinstance(dim, Variable):
            return apply(RULES[along + "imum"], (self, dim), {})
        options = self._along(dim, keepdim)
        shape = self._array.shape
        if not (self._array.size if dim is None or not shape else shape[options["axis"]]):
            raise ShapeError(
                f"{along}: expected something to compare in a tensor of shape {shape}, found no value"
            )
        if dim is None:
            return apply(RULES[whole], (self,), options)
        return self._ordered(along, options)

    def _ordered(self, name: str, options: dict[str, Any]) -> Extremes:
        """Values and indexes along an axis; a tensor of shape () counts as one value."""
        if self._array.ndim:
            return Extremes(*apply_all(RULES[name], (self,), options))
        row = apply(RULES["reshape"], (self,), {"shape": (1,)})
        values, indexes = apply_all(RULES[name], (row,), {**options, "axis": 0})
        shape = () if values.shape == (1,) or not values.ndim else values.shape
        return Extremes(values.reshape(shape), indexes.reshape(shape))

    var_mean = var_mean
    std_mean = std_mean
    aminmax = aminmax

    nansum = nansum
    nanmean = nanmean


def _smooth(where: str, value: Any) -> Any:
    """`value`, where its dtype has fractions; DTypeError otherwise, as in PyTorch."""
    if category(value._array.dtype) <= INTEGER:
        raise DTypeError(
            f"{where}(): expected a floating point or complex dtype, got {dtype_name(value._array.dtype)}; "
            "convert it first, e.g. with .float()"
        )
    return value


def _summed(value: Any, dtype: Any) -> Any:
    """A tensor in the dtype in which it is summed."""
    if dtype is not None:
        return _cast(value, dtype)
    return _cast(value, np.int64) if category(value._array.dtype) <= INTEGER else value


def _cast(value: Any, dtype: Any) -> Any:
    found = as_dtype(dtype)
    return value if value._array.dtype == found else apply(RULES["cast"], (value,), {"dtype": found})


# --- the methods as functions: the first argument is the tensor ------------------------------------

all = Reducing.all
amax = Reducing.amax
amin = Reducing.amin
any = Reducing.any
argmax = Reducing.argmax
argmin = Reducing.argmin
argsort = Reducing.argsort
count_nonzero = Reducing.count_nonzero
cumprod = Reducing.cumprod
cumsum = Reducing.cumsum
log_softmax = Reducing.log_softmax
logsumexp = Reducing.logsumexp
max = Reducing.max
mean = Reducing.mean
min = Reducing.min
norm = Reducing.norm
prod = Reducing.prod
softmax = Reducing.softmax
sort = Reducing.sort
std = Reducing.std
sum = Reducing.sum
topk = Reducing.topk
var = Reducing.var
