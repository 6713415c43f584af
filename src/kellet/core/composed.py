"""More functions that are made of others: bounds, signs, logarithms, and sums that leave NaN out.

As in derived.py no derivative of their own is needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..dtypes import BOOL, FLOATING, category, result_dtype
from ..errors import DTypeError, ShapeError
from .axes import Axes
from .dispatch import floating, operand
from .indexing import where as chosen
from .meeting import meeting

if TYPE_CHECKING:
    from .tensor import Tensor


# --- bounds and signs -----------------------------------------------------------------------------


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Set elements below `min` to it.

    >>> kellet.clamp_min(kellet.tensor([1, 5]), 2)
    tensor([2, 5])
    """
    return input.clamp(min=min)


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Set elements above `max` to it.

    >>> kellet.clamp_max(kellet.tensor([1, 5]), 2)
    tensor([1, 2])
    """
    return input.clamp(max=max)


def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of two values; the one that is not NaN, if one is.

    >>> kellet.fmax(kellet.tensor([1.0, 5.0]), kellet.tensor([2.0, float("nan")]))
    tensor([2., 5.])
    """
    return chosen((input >= other) | other.isnan(), input, other)  # type: ignore[no-any-return]  # a Tensor


def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of two values; the one that is not NaN, if one is.

    >>> kellet.fmin(kellet.tensor([1.0, 5.0]), kellet.tensor([2.0, float("nan")]))
    tensor([1., 5.])
    """
    return chosen((input <= other) | other.isnan(), input, other)  # type: ignore[no-any-return]  # a Tensor


def copysign(input: Tensor, other: float | Tensor) -> Tensor:
    """Return the size of `input` with the sign of `other`.

    Raises DTypeError for complex numbers.

    >>> kellet.copysign(kellet.tensor([1.0, -2.0]), -1.0)
    tensor([-1., -2.])
    """
    value: Any = floating(input)
    sign = other._array if isinstance(other, Variable) else np.asarray(other)
    if "c" in (sign.dtype.kind, value._array.dtype.kind):
        raise DTypeError("copysign: complex numbers have no sign; take .real")
    if isinstance(other, Variable) and category(sign.dtype) >= FLOATING:
        value = value.to(result_dtype([input._array, sign]))
    turn = np.where(np.signbit(sign.astype(value._array.dtype)), -1, 1).astype(value._array.dtype)
    return value.abs() * _tensor(turn)  # type: ignore[no-any-return]  # a Tensor


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative, 1 for positive elements, and `values` where they are 0.

    >>> kellet.heaviside(kellet.tensor([-1.0, 0.0, 2.0]), kellet.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _tensor(np.heaviside(input._array, values._array).astype(input._array.dtype))


def float_power(input: Tensor, exponent: Any) -> Tensor:
    """Return `input ** exponent`, computed in float64 (complex128).

    >>> kellet.float_power(kellet.tensor([2]), 3)
    tensor([8.], dtype=float64)
    """
    kinds = [one._array.dtype.kind for one in (input, exponent) if isinstance(one, Variable)]
    wide = np.complex128 if "c" in kinds or isinstance(exponent, complex) else np.float64
    power = exponent.to(wide) if isinstance(exponent, Variable) else exponent  # type: ignore[attr-defined]  # a Tensor
    return input.to(wide).pow(power)


def xlogy(input: Tensor, other: float | Tensor) -> Tensor:
    """Return `input * log(other)`, and 0 where `input` is 0, whatever the logarithm.

    >>> kellet.xlogy(kellet.tensor([0.0, 2.0]), kellet.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    value = operand(other)
    if not isinstance(value, Variable):
        value = _tensor(np.asarray(value, result_dtype([input._array, value])))
    input, value = meeting("xlogy", input, value)
    # Elsewhere 0 * log(other) is 0 by itself, and its derivative is the logarithm.
    zero = _tensor((input._array == 0) & ((value._array <= 0) | (value._array == math.inf)))
    return (input * value.log().masked_fill(zero, 0.0)).masked_fill(zero, 0.0)  # type: ignore[no-any-return]  # a Tensor


def sinc(input: Tensor) -> Tensor:
    """Return `sin(pi x) / (pi x)`, and 1 at 0.

    >>> kellet.sinc(kellet.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """
    turned = floating(input) * math.pi
    zero = turned == 0
    return (turned.sin() / turned.masked_fill(zero, 1.0)).masked_fill(zero, 1.0)  # type: ignore[no-any-return]  # a Tensor


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Return `log2(2**input + 2**other)`, without leaving the range of the dtype.

    >>> kellet.logaddexp2(kellet.tensor([1.0]), kellet.tensor([1.0]))
    tensor([2.])
    """
    scale = math.log(2.0)
    input, other = meeting("logaddexp2", input, other)
    return (input * scale).logaddexp(other * scale) / scale


def isreal(input: Tensor) -> Tensor:
    """Tell which elements have no imaginary part.

    >>> kellet.isreal(kellet.tensor([1.0, 2.0]))
    tensor([True, True])
    """
    return _tensor(np.isreal(input._array))


def isposinf(input: Tensor) -> Tensor:
    """Tell which elements are positive infinity.

    >>> kellet.isposinf(kellet.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
    return _tensor(np.isposinf(input._array))


def isneginf(input: Tensor) -> Tensor:
    """Tell which elements are negative infinity.

    >>> kellet.isneginf(kellet.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """
    return _tensor(np.isneginf(input._array))


def is_nonzero(input: Tensor) -> bool:
    """Say whether a tensor of one element is not zero. Raises ShapeError for more of them.

    >>> kellet.is_nonzero(kellet.tensor([0.0]))
    False
    """
    if input._array.size != 1:
        raise ShapeError(
            f"is_nonzero: the truth of {input._array.size} elements is ambiguous; use .any() or .all()"
        )
    return bool(input._array.any())


# --- sums that leave NaN out ----------------------------------------------------------------------


def nansum(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the sum of what is not NaN.

    >>> kellet.nansum(kellet.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    return input.masked_fill(input.isnan(), 0.0).sum(dim, keepdim, dtype=dtype)


def nanmean(input: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the mean of what is not NaN.

    >>> kellet.nanmean(kellet.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    total = nansum(input, dim, keepdim, dtype=dtype)
    count = (~input.isnan()).sum(dim, keepdim)
    return total / count.to(total.dtype)


# --- what a tensor is -----------------------------------------------------------------------------


def is_signed(input: Tensor) -> bool:
    """Say whether the dtype has negative numbers. Raises DTypeError for what is no tensor.

    >>> kellet.tensor([1]).is_signed()
    True
    """
    if not isinstance(input, Variable):
        raise DTypeError(f"is_signed takes a tensor, got {type(input).__name__}")
    return input._array.dtype.kind != "u" and category(input._array.dtype) != BOOL


def _tensor(array: Any) -> Tensor:
    return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors


class Composed(Variable):
    """The functions of this file as methods."""

    __slots__ = ()

    clamp_min = clamp_min
    clamp_max = clamp_max
    fmax = fmax
    fmin = fmin
    copysign = copysign
    heaviside = heaviside
    float_power = float_power
    xlogy = xlogy
    sinc = sinc
    logaddexp2 = logaddexp2
    isreal = isreal
    isposinf = isposinf
    isneginf = isneginf
    is_nonzero = is_nonzero
    nansum = nansum
    nanmean = nanmean
    is_signed = is_signed

    @property
    def is_cuda(self) -> bool:
        """Whether the data lies on a GPU: never."""
        return False

    def get_device(self) -> int:
        """Return -1, the number of the CPU among the devices."""
        return -1
