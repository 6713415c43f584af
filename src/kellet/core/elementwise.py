"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..dtypes import FLOATING, category, result_dtype
from ..errors import DTypeError
from ..rules import RULES
from .dispatch import NONE, apply, floating, operand, refuse_whole_quotients, scaled, tensor_of
from .indexing import where
from .indexing import where as chosen
from .meeting import meeting

if TYPE_CHECKING:
    from .tensor import Tensor


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
    same = tensor_of(np.isinf(input._array) & (input._array == other._array))
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
    value = input.masked_fill(tensor_of(np.isnan(array)), nan or 0.0)
    value = value.masked_fill(tensor_of(np.isposinf(array)), float(limits.max) if posinf is None else posinf)
    return value.masked_fill(tensor_of(np.isneginf(array)), float(limits.min) if neginf is None else neginf)


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
    """Return the real part, a view; a real tensor is returned unchanged.

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


def clamp_min(input: Tensor, min: object) -> Tensor:
    """Set elements below `min` to it.

    >>> kellet.clamp_min(kellet.tensor([1, 5]), 2)
    tensor([2, 5])
    """
    return input.clamp(min=min)


def clamp_max(input: Tensor, max: object) -> Tensor:
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
    return value.abs() * tensor_of(turn)  # type: ignore[no-any-return]  # a Tensor


def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative, 1 for positive elements, and `values` where they are 0.

    >>> kellet.heaviside(kellet.tensor([-1.0, 0.0, 2.0]), kellet.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return tensor_of(np.heaviside(input._array, values._array).astype(input._array.dtype))


def float_power(input: Tensor, exponent: object) -> Tensor:
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
        value = tensor_of(np.asarray(value, result_dtype([input._array, value])))
    input, value = meeting("xlogy", input, value)
    # Elsewhere 0 * log(other) is 0 by itself, and its derivative is the logarithm.
    zero = tensor_of((input._array == 0) & ((value._array <= 0) | (value._array == math.inf)))
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


class Elementwise(Variable):
    """Functions of each element; integers count as the default floating dtype where results are not whole."""

    __slots__ = ()

    def exp(self) -> Tensor:
        """Return e to the power of each element.

        >>> kellet.exp(kellet.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
        return apply(RULES["exp"], (self,), NONE)

    def exp2(self) -> Tensor:
        """Return 2 to the power of each element.

        >>> kellet.exp2(kellet.tensor([0.0, 3.0]))
        tensor([1., 8.])
        """
        return apply(RULES["exp2"], (self,), NONE)

    def expm1(self) -> Tensor:
        """Return `exp(x) - 1`, exact near 0.

        >>> kellet.expm1(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
        return apply(RULES["expm1"], (self,), NONE)

    def log(self) -> Tensor:
        """Return the natural logarithm.

        >>> kellet.log(kellet.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
        return apply(RULES["log"], (self,), NONE)

    def log1p(self) -> Tensor:
        """Return `log(1 + x)`, exact near 0.

        >>> kellet.log1p(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
        """
        return apply(RULES["log1p"], (self,), NONE)

    def log2(self) -> Tensor:
        """Return the logarithm to base 2.

        >>> kellet.log2(kellet.tensor([1.0, 8.0]))
        tensor([0., 3.])
        """
        return apply(RULES["log2"], (self,), NONE)

    def log10(self) -> Tensor:
        """Return the logarithm to base 10.

        >>> kellet.log10(kellet.tensor([1.0, 50.0]))
        tensor([0.0000, 1.6990])
        """
        return apply(RULES["log10"], (self,), NONE)

    def sqrt(self) -> Tensor:
        """Return the square root.

        >>> kellet.sqrt(kellet.tensor([4.0, 2.0]))
        tensor([2.0000, 1.4142])
        """
        return apply(RULES["sqrt"], (self,), NONE)

    def rsqrt(self) -> Tensor:
        """Return one over the square root.

        >>> kellet.rsqrt(kellet.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
        """
        return apply(RULES["rsqrt"], (self,), NONE)

    def square(self) -> Tensor:
        """Return the square.

        >>> kellet.square(kellet.tensor([3, -2]))
        tensor([9, 4])
        """
        return apply(RULES["square"], (self,), NONE)

    def reciprocal(self) -> Tensor:
        """Return one over each element.

        >>> kellet.reciprocal(kellet.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
        """
        return apply(RULES["reciprocal"], (self,), NONE)

    def abs(self) -> Tensor:
        """Return the absolute value; of complex numbers the magnitude.

        >>> kellet.abs(kellet.tensor([-1.5, 2.0]))
        tensor([1.5000, 2.0000])
        """
        return apply(RULES["abs"], (self,), NONE)

    def sin(self) -> Tensor:
        """Return the sine.

        >>> kellet.sin(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
        """
        return apply(RULES["sin"], (self,), NONE)

    def cos(self) -> Tensor:
        """Return the cosine.

        >>> kellet.cos(kellet.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
        """
        return apply(RULES["cos"], (self,), NONE)

    def tan(self) -> Tensor:
        """Return the tangent.

        >>> kellet.tan(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
        return apply(RULES["tan"], (self,), NONE)

    def asin(self) -> Tensor:
        """Return the inverse sine.

        >>> kellet.asin(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
        return apply(RULES["asin"], (self,), NONE)

    def acos(self) -> Tensor:
        """Return the inverse cosine.

        >>> kellet.acos(kellet.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
        return apply(RULES["acos"], (self,), NONE)

    def atan(self) -> Tensor:
        """Return the inverse tangent.

        >>> kellet.atan(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
        return apply(RULES["atan"], (self,), NONE)

    def sinh(self) -> Tensor:
        """Return the hyperbolic sine.

        >>> kellet.sinh(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
        return apply(RULES["sinh"], (self,), NONE)

    def cosh(self) -> Tensor:
        """Return the hyperbolic cosine.

        >>> kellet.cosh(kellet.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
        return apply(RULES["cosh"], (self,), NONE)

    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent.

        >>> kellet.tanh(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
        """
        return apply(RULES["tanh"], (self,), NONE)

    def asinh(self) -> Tensor:
        """Return the inverse hyperbolic sine.

        >>> kellet.asinh(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
        return apply(RULES["asinh"], (self,), NONE)

    def acosh(self) -> Tensor:
        """Return the inverse hyperbolic cosine.

        >>> kellet.acosh(kellet.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
        """
        return apply(RULES["acosh"], (self,), NONE)

    def atanh(self) -> Tensor:
        """Return the inverse hyperbolic tangent.

        >>> kellet.atanh(kellet.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
        return apply(RULES["atanh"], (self,), NONE)

    def sigmoid(self) -> Tensor:
        """Return `1 / (1 + exp(-x))`.

        >>> kellet.sigmoid(kellet.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
        """
        return apply(RULES["sigmoid"], (self,), NONE)

    def relu(self) -> Tensor:
        """Return the larger of each element and 0.

        >>> kellet.relu(kellet.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
        return apply(RULES["relu"], (self,), NONE)

    def erf(self) -> Tensor:
        """Return the error function of each element.

        >>> kellet.erf(kellet.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
        """
        return apply(RULES["erf"], (self,), NONE)

    def erfc(self) -> Tensor:
        """Return one minus the error function.

        >>> kellet.erfc(kellet.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
        """
        return apply(RULES["erfc"], (self,), NONE)

    def sign(self) -> Tensor:
        """Return -1, 0 or 1, as each element is negative, zero or positive.

        >>> kellet.sign(kellet.tensor([-2, 0, 3]))
        tensor([-1,  0,  1])
        """
        return apply(RULES["sign"], (self,), NONE)

    def sgn(self) -> Tensor:
        """Return `x / abs(x)`, 0 at 0; the sign for complex numbers.

        >>> kellet.sgn(kellet.tensor([-2.0, 0.0]))
        tensor([-1.,  0.])
        """
        return apply(RULES["sgn"], (self,), NONE)

    def floor(self) -> Tensor:
        """Round each element downwards.

        >>> kellet.floor(kellet.tensor([0.2, -0.2]))
        tensor([ 0., -1.])
        """
        return apply(RULES["floor"], (self,), NONE)

    def ceil(self) -> Tensor:
        """Round each element upwards.

        >>> kellet.ceil(kellet.tensor([0.2, -0.2]))
        tensor([ 1., -0.])
        """
        return apply(RULES["ceil"], (self,), NONE)

    def trunc(self) -> Tensor:
        """Round each element towards zero.

        >>> kellet.trunc(kellet.tensor([1.7, -1.7]))
        tensor([ 1., -1.])
        """
        return apply(RULES["trunc"], (self,), NONE)

    def frac(self) -> Tensor:
        """Return the part behind the point, with its sign: what `trunc` takes away.

        >>> kellet.frac(kellet.tensor([1.5, -1.5]))
        tensor([ 0.5000, -0.5000])
        """
        return apply(RULES["frac"], (self,), NONE)

    def conj(self) -> Tensor:
        """Return the complex conjugate; a real tensor is returned unchanged.

        >>> kellet.conj(kellet.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
        if self._array.dtype.kind != "c":
            return self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["conj"], (self,), NONE)

    def round(self, *, decimals: int = 0) -> Tensor:
        """Round each element, halves to the even neighbour.

        >>> kellet.round(kellet.tensor([0.5, 1.5]))
        tensor([0., 2.])
        """
        return apply(RULES["round"], (self,), {"decimals": decimals})

    @property
    def real(self) -> Tensor:
        """The real part, a view; a real tensor is returned unchanged."""
        if self._array.dtype.kind != "c":
            return self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["real"], (self,), NONE)

    @property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor, a view.

        Raises DTypeError for a real tensor.
        """
        if self._array.dtype.kind != "c":
            raise DTypeError("imag needs a complex tensor, got a real one")
        return apply(RULES["imag"], (self,), NONE)

    def clamp(self, min: object = None, max: object = None) -> Tensor:
        """Bring each element between `min` and `max` (numbers, tensors, or None).

        Raises ValueError without a bound.

        >>> kellet.clamp(kellet.tensor([-2, 0, 2]), min=-1, max=1)
        tensor([-1,  0,  1])
        """
        if min is None and max is None:
            raise ValueError("clamp needs a lower or an upper bound; pass min=, max=, or both")
        return apply(RULES["clamp"], (self, min, max), NONE)

    clip = clamp

    def lerp(self, end: Tensor, weight: float | Tensor) -> Tensor:
        """Return `self + weight * (end - self)`.

        >>> kellet.lerp(kellet.tensor([0.0, 10.0]), kellet.tensor([4.0, 20.0]), 0.5)
        tensor([ 2., 15.])
        """
        return apply(RULES["lerp"], (self, end, weight), NONE)

    # --- PyTorch's second names -------------------------------------------------------------------

    absolute = abs
    arccos = acos
    arccosh = acosh
    arcsin = asin
    arcsinh = asinh
    arctan = atan
    arctanh = atanh

    logaddexp = logaddexp
    hypot = hypot
    logit = logit
    nan_to_num = nan_to_num
    deg2rad = deg2rad
    rad2deg = rad2deg
    angle = angle
    positive = positive

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

    addcmul = addcmul
    addcdiv = addcdiv


# --- the methods as functions: the first argument is the tensor ------------------------------------

abs = Elementwise.abs
absolute = Elementwise.abs
acos = Elementwise.acos
acosh = Elementwise.acosh
arccos = Elementwise.acos
arccosh = Elementwise.acosh
arcsin = Elementwise.asin
arcsinh = Elementwise.asinh
arctan = Elementwise.atan
arctanh = Elementwise.atanh
asin = Elementwise.asin
asinh = Elementwise.asinh
atan = Elementwise.atan
atanh = Elementwise.atanh
ceil = Elementwise.ceil
clamp = Elementwise.clamp
clip = Elementwise.clamp
conj = Elementwise.conj
cos = Elementwise.cos
cosh = Elementwise.cosh
erf = Elementwise.erf
erfc = Elementwise.erfc
exp = Elementwise.exp
exp2 = Elementwise.exp2
expm1 = Elementwise.expm1
floor = Elementwise.floor
frac = Elementwise.frac
lerp = Elementwise.lerp
log = Elementwise.log
log10 = Elementwise.log10
log1p = Elementwise.log1p
log2 = Elementwise.log2
reciprocal = Elementwise.reciprocal
relu = Elementwise.relu
round = Elementwise.round
rsqrt = Elementwise.rsqrt
sgn = Elementwise.sgn
sigmoid = Elementwise.sigmoid
sign = Elementwise.sign
sin = Elementwise.sin
sinh = Elementwise.sinh
sqrt = Elementwise.sqrt
square = Elementwise.square
tan = Elementwise.tan
tanh = Elementwise.tanh
trunc = Elementwise.trunc
