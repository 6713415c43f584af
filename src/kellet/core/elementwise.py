"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.variable import Variable
from ..errors import DTypeError
from ..rules import RULES
from .dispatch import NONE, apply

if TYPE_CHECKING:
    from .tensor import Tensor


class Elementwise(Variable):
    """Functions of each element; integers count as the default floating dtype where results are not whole."""

    __slots__ = ()

    def exp(self) -> Tensor:
        """Return e to the power of each element."""
        return apply(RULES["exp"], (self,), NONE)

    def exp2(self) -> Tensor:
        """Return 2 to the power of each element."""
        return apply(RULES["exp2"], (self,), NONE)

    def expm1(self) -> Tensor:
        """Return `exp(x) - 1`, exact near 0."""
        return apply(RULES["expm1"], (self,), NONE)

    def log(self) -> Tensor:
        """Return the natural logarithm."""
        return apply(RULES["log"], (self,), NONE)

    def log1p(self) -> Tensor:
        """Return `log(1 + x)`, exact near 0."""
        return apply(RULES["log1p"], (self,), NONE)

    def log2(self) -> Tensor:
        """Return the logarithm to base 2."""
        return apply(RULES["log2"], (self,), NONE)

    def log10(self) -> Tensor:
        """Return the logarithm to base 10."""
        return apply(RULES["log10"], (self,), NONE)

    def sqrt(self) -> Tensor:
        """Return the square root."""
        return apply(RULES["sqrt"], (self,), NONE)

    def rsqrt(self) -> Tensor:
        """Return one over the square root."""
        return apply(RULES["rsqrt"], (self,), NONE)

    def square(self) -> Tensor:
        """Return the square."""
        return apply(RULES["square"], (self,), NONE)

    def reciprocal(self) -> Tensor:
        """Return one over each element."""
        return apply(RULES["reciprocal"], (self,), NONE)

    def abs(self) -> Tensor:
        """Return the absolute value; of complex numbers the magnitude."""
        return apply(RULES["abs"], (self,), NONE)

    def sin(self) -> Tensor:
        """Return the sine."""
        return apply(RULES["sin"], (self,), NONE)

    def cos(self) -> Tensor:
        """Return the cosine."""
        return apply(RULES["cos"], (self,), NONE)

    def tan(self) -> Tensor:
        """Return the tangent."""
        return apply(RULES["tan"], (self,), NONE)

    def asin(self) -> Tensor:
        """Return the inverse sine."""
        return apply(RULES["asin"], (self,), NONE)

    def acos(self) -> Tensor:
        """Return the inverse cosine."""
        return apply(RULES["acos"], (self,), NONE)

    def atan(self) -> Tensor:
        """Return the inverse tangent."""
        return apply(RULES["atan"], (self,), NONE)

    def sinh(self) -> Tensor:
        """Return the hyperbolic sine."""
        return apply(RULES["sinh"], (self,), NONE)

    def cosh(self) -> Tensor:
        """Return the hyperbolic cosine."""
        return apply(RULES["cosh"], (self,), NONE)

    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent."""
        return apply(RULES["tanh"], (self,), NONE)

    def asinh(self) -> Tensor:
        """Return the inverse hyperbolic sine."""
        return apply(RULES["asinh"], (self,), NONE)

    def acosh(self) -> Tensor:
        """Return the inverse hyperbolic cosine."""
        return apply(RULES["acosh"], (self,), NONE)

    def atanh(self) -> Tensor:
        """Return the inverse hyperbolic tangent."""
        return apply(RULES["atanh"], (self,), NONE)

    def sigmoid(self) -> Tensor:
        """Return `1 / (1 + exp(-x))`."""
        return apply(RULES["sigmoid"], (self,), NONE)

    def relu(self) -> Tensor:
        """Return the larger of each element and 0."""
        return apply(RULES["relu"], (self,), NONE)

    def erf(self) -> Tensor:
        """Return the error function of each element."""
        return apply(RULES["erf"], (self,), NONE)

    def erfc(self) -> Tensor:
        """Return one minus the error function."""
        return apply(RULES["erfc"], (self,), NONE)

    def sign(self) -> Tensor:
        """Return -1, 0 or 1, as each element is negative, zero or positive."""
        return apply(RULES["sign"], (self,), NONE)

    def sgn(self) -> Tensor:
        """Return `x / abs(x)`, 0 at 0; the sign for complex numbers."""
        return apply(RULES["sgn"], (self,), NONE)

    def floor(self) -> Tensor:
        """Round each element downwards."""
        return apply(RULES["floor"], (self,), NONE)

    def ceil(self) -> Tensor:
        """Round each element upwards."""
        return apply(RULES["ceil"], (self,), NONE)

    def trunc(self) -> Tensor:
        """Round each element towards zero."""
        return apply(RULES["trunc"], (self,), NONE)

    def frac(self) -> Tensor:
        """Return the part behind the point, with its sign: what `trunc` takes away."""
        return apply(RULES["frac"], (self,), NONE)

    def conj(self) -> Tensor:
        """Return the complex conjugate; a real tensor is returned as it is."""
        if self._array.dtype.kind != "c":
            return self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["conj"], (self,), NONE)

    def isnan(self) -> Tensor:
        """Tell where an element is not a number."""
        return apply(RULES["isnan"], (self,), NONE)

    def isinf(self) -> Tensor:
        """Tell where an element is infinite."""
        return apply(RULES["isinf"], (self,), NONE)

    def isfinite(self) -> Tensor:
        """Tell where an element is neither infinite nor NaN."""
        return apply(RULES["isfinite"], (self,), NONE)

    def signbit(self) -> Tensor:
        """Tell where the sign bit is set."""
        return apply(RULES["signbit"], (self,), NONE)

    def logical_not(self) -> Tensor:
        """Tell where an element is zero."""
        return apply(RULES["logical_not"], (self,), NONE)

    def bitwise_not(self) -> Tensor:
        """Turn all bits of each element."""
        return apply(RULES["bitwise_not"], (self,), NONE)

    def round(self, *, decimals: int = 0) -> Tensor:
        """Round each element, halves to the even neighbour."""
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
        """
        if min is None and max is None:
            raise ValueError("clamp needs a lower or an upper bound; pass min=, max=, or both")
        return apply(RULES["clamp"], (self, min, max), NONE)

    clip = clamp

    def lerp(self, end: Tensor, weight: Any) -> Tensor:
        """Return `self + weight * (end - self)`."""
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
bitwise_not = Elementwise.bitwise_not
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
isfinite = Elementwise.isfinite
isinf = Elementwise.isinf
isnan = Elementwise.isnan
lerp = Elementwise.lerp
log = Elementwise.log
log10 = Elementwise.log10
log1p = Elementwise.log1p
log2 = Elementwise.log2
logical_not = Elementwise.logical_not
reciprocal = Elementwise.reciprocal
relu = Elementwise.relu
round = Elementwise.round
rsqrt = Elementwise.rsqrt
sgn = Elementwise.sgn
sigmoid = Elementwise.sigmoid
sign = Elementwise.sign
signbit = Elementwise.signbit
sin = Elementwise.sin
sinh = Elementwise.sinh
sqrt = Elementwise.sqrt
square = Elementwise.square
tan = Elementwise.tan
tanh = Elementwise.tanh
trunc = Elementwise.trunc
