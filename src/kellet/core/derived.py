"""Functions of values that are made of others: no derivative of their own is needed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import INTEGER, category, dtype_name
from ..errors import DTypeError
from ..rules import RULES
from .axes import Axes
from .dispatch import NONE, apply, floating, refuse_whole_quotients, scaled
from .indexing import where
from .meeting import meeting

if TYPE_CHECKING:
    from .tensor import Tensor


class Bounds(NamedTuple):
    """The smallest and the largest values."""

    min: Tensor
    max: Tensor


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Tensor:
    """Return `input + value * tensor1 * tensor2`.

    >>> kellet.addcmul(kellet.tensor([1, 1]), kellet.tensor([2, 3]), kellet.tensor([4, 5]), value=10)
    tensor([ 81, 151])
    """
    product: Tensor = scaled(tensor1 * tensor2, value)
    return input + product


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Tensor:
    """Return `input + value * tensor1 / tensor2`.

    >>> kellet.addcdiv(kellet.tensor([1.0]), kellet.tensor([2.0]), kellet.tensor([4.0]))
    tensor([1.5000])
    """
    refuse_whole_quotients(tensor1, tensor2)
    quotient: Tensor = scaled(tensor1 / tensor2, value)
    return input + quotient


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Return `log(exp(input) + exp(other))`, without leaving the range of the dtype.

    >>> kellet.logaddexp(kellet.tensor([0.0]), kellet.tensor([0.0]))
    tensor([0.6931])
    """
    if "c" in (input._array.dtype.kind, other._array.dtype.kind):
        first = input.real >= other.real
        high, low = where(first, input, other), where(first, other, input)
        return high + (low - high).exp().log1p()  # type: ignore[no-any-return]  # a Tensor
    input, other = meeting("logaddexp", input, other)
    # Equal infinities have no difference, but their sum is known.
    same = _tensor(np.isinf(input._array) & (input._array == other._array))
    apart = input.masked_fill(same, 0.0) - other.masked_fill(same, 0.0)
    rest = (-apart.abs()).exp().log1p().masked_fill(same, 0.0)
    return input.maximum(other) + rest


def hypot(input: Tensor, other: Tensor) -> Tensor:
    """Return `sqrt(input**2 + other**2)`, without leaving the range of the dtype.

    >>> kellet.hypot(kellet.tensor([3.0]), kellet.tensor([4.0]))
    tensor([5.])
    """
    return apply(RULES["hypot"], (input, other), NONE)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Return the inverse of sigmoid; with `eps`, values are clamped to [eps, 1 - eps] first.

    >>> kellet.logit(kellet.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    value: Tensor = floating(input)
    return apply(RULES["logit"], (value if eps is None else value.clamp(eps, 1 - eps),), NONE)


def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace NaN and the infinities; by 0 and the dtype's largest and smallest numbers unless told.

    >>> kellet.nan_to_num(kellet.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    array = input._array
    if array.dtype.kind == "c":
        parts = [nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag)]
        return parts[0] + parts[1] * 1j
    if array.dtype.kind not in "fV":
        return input.clone()
    limits = np.finfo(array.dtype)
    value = input.masked_fill(_tensor(np.isnan(array)), nan or 0.0)
    value = value.masked_fill(_tensor(np.isposinf(array)), float(limits.max) if posinf is None else posinf)
    return value.masked_fill(_tensor(np.isneginf(array)), float(limits.min) if neginf is None else neginf)


def deg2rad(input: Tensor) -> Tensor:
    """Convert angles from degrees to radians.

    >>> kellet.deg2rad(kellet.tensor([180.0]))
    tensor([3.1416])
    """
    return input * (math.pi / 180)


def rad2deg(input: Tensor) -> Tensor:
    """Convert angles from radians to degrees.

    >>> kellet.rad2deg(kellet.tensor([1.0]))
    tensor([57.2958])
    """
    return input * (180 / math.pi)


def real(input: Tensor) -> Tensor:
    """Return the real part, a view; a real tensor as it is.

    >>> kellet.real(kellet.tensor([1 + 2j]))
    tensor([1.])
    """
    return input.real


def imag(input: Tensor) -> Tensor:
    """Return the imaginary part of a complex tensor, a view. Raises DTypeError for a real tensor.

    >>> kellet.imag(kellet.tensor([1 + 2j]))
    tensor([2.])
    """
    return input.imag


def rsub(input: Tensor, other: Any, *, alpha: complex | Tensor = 1) -> Tensor:
    """Return `other - alpha * input`.

    >>> kellet.rsub(kellet.tensor([1, 2]), 10)
    tensor([9, 8])
    """
    taken: Tensor = scaled(input, alpha)
    return taken.neg().add(other)


def angle(input: Tensor) -> Tensor:
    """Return the angle of complex numbers with the positive axis; 0 or pi for real ones.

    >>> kellet.angle(kellet.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
    if input._array.dtype.kind == "c":
        return apply(RULES["atan2"], (input.imag, input.real), NONE)
    none: Tensor = floating(input).sign() * 0
    return none.masked_fill(input < 0, math.pi)


def positive(input: Tensor) -> Tensor:
    """Return the tensor itself. Raises DTypeError for bools.

    >>> kellet.positive(kellet.tensor([1, -2]))
    tensor([ 1, -2])
    """
    if input._array.dtype.kind == "b":
        raise DTypeError(
            "positive: the `+` operator on a bool tensor is not supported; convert it with .int()"
        )
    return input


def var_mean(input: Tensor, dim: Axes = None, **options: Any) -> tuple[Tensor, Tensor]:
    """Return `var` and `mean` over `dim`; the options are those of `var`.

    >>> kellet.var_mean(kellet.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    return input.var(dim, **options), input.mean(dim, options.get("keepdim", False))


def std_mean(input: Tensor, dim: Axes = None, **options: Any) -> tuple[Tensor, Tensor]:
    """Return `std` and `mean` over `dim`; the options are those of `std`.

    >>> kellet.std_mean(kellet.tensor([1.0, 1.0]))
    (tensor(0.), tensor(1.))
    """
    return input.std(dim, **options), input.mean(dim, options.get("keepdim", False))


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Bounds:
    """Return `amin` and `amax` over `dim`.

    >>> kellet.aminmax(kellet.tensor([3, 1, 2])).max
    tensor(3)
    """
    return Bounds(input.amin(dim, keepdim), input.amax(dim, keepdim))


# --- counting: no gradients -------------------------------------------------------------------


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each of 0, 1, 2, ... occurs, or the sum of its weights.

    Raises DTypeError for what is no vector of integers, none negative.

    >>> kellet.bincount(kellet.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input._array.ndim != 1 or category(input._array.dtype) != INTEGER or (input._array < 0).any():
        raise DTypeError(
            "bincount: expected a vector of integers, none negative, got shape "
            f"{input._array.shape} of {dtype_name(input._array.dtype)}"
        )
    values = None if weights is None else weights._array
    return _tensor(np.bincount(input._array, values, minlength))


def isin(
    elements: float | Tensor,
    test_elements: float | Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Tell where a value is among `test_elements`; with `invert`, where it is not.

    One of both may be a number. `assume_unique` promises that each has no value twice.

    >>> kellet.isin(kellet.tensor([1, 2, 3]), kellet.tensor([2]))
    tensor([False,  True, False])
    """
    values, wanted = (one._array if isinstance(one, Variable) else one for one in (elements, test_elements))
    return _tensor(np.asarray(np.isin(values, wanted, assume_unique=assume_unique, invert=invert)))


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
    values, inverse, counts = _tensor(found[0]), _tensor(found[1].reshape(shape)), _tensor(found[2])
    extra = [one for one, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *extra) if extra else values


def _tensor(array: Any) -> Tensor:
    return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors


class Derived(Variable):
    """The functions of this file as methods."""

    __slots__ = ()

    addcmul = addcmul
    addcdiv = addcdiv
    logaddexp = logaddexp
    hypot = hypot
    logit = logit
    nan_to_num = nan_to_num
    deg2rad = deg2rad
    rad2deg = rad2deg
    angle = angle
    positive = positive
    var_mean = var_mean
    std_mean = std_mean
    aminmax = aminmax
    bincount = bincount
    isin = isin
    unique = unique
