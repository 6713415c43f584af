"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd import Variable
from ..errors import DTypeError
from ..rules import RULES
from .dispatch import NONE, apply

if TYPE_CHECKING:
    from .tensor import Tensor


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
        """Return the complex conjugate; a real tensor is returned as it is.

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
        """The real part, a view; a real tensor is returned as it is."""
        if self._array.dtype.kind != "c":
            return self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["real"], (self,), NONE)

    @property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor, a view.

        Raises DTypeError for a real tensor.
        """
        if self._array.dtype.kind != "c":
            raise DTypeError("imag is only there for complex tensors; a real tensor has none")
        return apply(RULES["imag"], (self,), NONE)

    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
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
