"""Methods that write into the tensor: their names end in an underscore, as in PyTorch.

Each raises GradientError on a leaf that requires a gradient (write inside `no_grad`), ShapeError
and DTypeError when the result does not fit; then nothing has been written. The history of the
tensor, and of the tensor it is a view of, is that of the new values afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..errors import ShapeError
from ..rules import RULES
from .dispatch import NONE, apply_in_place, operand, refuse_whole_quotients
from .indexing import _mask
from .meeting import times

if TYPE_CHECKING:
    from typing import Self

    from .tensor import Tensor


class InPlace(Variable):
    """Writing operations. All return the tensor itself."""

    __slots__ = ()

    # --- all values -------------------------------------------------------------------------------

    def copy_(self, src: complex | Variable | np.ndarray) -> Self:
        """Take the values of `src`, a tensor or array that broadcasts to this shape, in this dtype."""
        new = src if isinstance(src, Variable) else wrap(np.asarray(src))
        self._overwrite(new)
        return self

    def fill_(self, value: Any) -> Self:
        """Set every element to `value`, a number or a tensor of shape ().

        Raises ShapeError for a tensor with axes.
        """
        new = value if isinstance(value, Variable) else wrap(np.asarray(value).astype(self._array.dtype))
        if new._array.ndim:
            raise ShapeError(
                f"fill_ takes a number or a tensor of shape (), got shape {new._array.shape}; use copy_"
            )
        self._overwrite(new)
        return self

    def zero_(self) -> Self:
        """Set every element to 0."""
        return self.fill_(0)

    def _overwrite(self, new: Variable) -> None:
        array = self._array
        try:
            np.broadcast_shapes(array.shape, new._array.shape)
        except ValueError as error:
            raise ShapeError(
                f"copy_: values of shape {new._array.shape} do not fit into {array.shape}"
            ) from error
        apply_in_place(RULES["replace"], self, (new,), NONE)

    # --- arithmetic -------------------------------------------------------------------------------

    def add_(self, other: Any, *, alpha: complex | Tensor = 1) -> Self:
        """Compute `self += alpha * other`."""
        return self._with("add", times(alpha, other, self, RULES["add"]))

    def sub_(self, other: Any, *, alpha: complex | Tensor = 1) -> Self:
        """Compute `self -= alpha * other`."""
        return self._with("sub", times(alpha, other, self, RULES["sub"]))

    def mul_(self, other: Any) -> Self:
        """Compute `self *= other`."""
        return self._with("mul", other)

    def div_(self, other: Any) -> Self:
        """Compute `self /= other`."""
        return self._with("div", other)

    def pow_(self, exponent: Any) -> Self:
        """Compute `self **= exponent`."""
        return self._with("pow", exponent)

    def remainder_(self, other: Any) -> Self:
        """Compute `self %= other`."""
        return self._with("remainder", other)

    def floor_divide_(self, other: Any) -> Self:
        """Compute `self //= other`."""
        return self._with("floor_divide", other)

    def bitwise_and_(self, other: Any) -> Self:
        """Compute `self &= other`."""
        return self._with("bitwise_and", other)

    def bitwise_or_(self, other: Any) -> Self:
        """Compute `self |= other`."""
        return self._with("bitwise_or", other)

    def bitwise_xor_(self, other: Any) -> Self:
        """Compute `self ^= other`."""
        return self._with("bitwise_xor", other)

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Self:
        """Compute `self += value * tensor1 * tensor2`."""
        return self.add_(tensor1 * tensor2, alpha=value)

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex | Tensor = 1) -> Self:
        """Compute `self += value * tensor1 / tensor2`."""
        refuse_whole_quotients(tensor1, tensor2)
        return self.add_(tensor1 / tensor2, alpha=value)

    def lerp_(self, end: Tensor, weight: float | Tensor) -> Self:
        """Compute `self += weight * (end - self)`."""
        return apply_in_place(RULES["lerp"], self, (end, weight), NONE)  # type: ignore[no-any-return]  # self

    def _with(self, name: str, other: Any) -> Self:
        value = operand(other)
        if value is NotImplemented:
            raise TypeError(f"{name}_: expected a tensor or a number, got {type(other).__name__}: {other!r}")
        return apply_in_place(RULES[name], self, (value,), NONE)  # type: ignore[no-any-return]  # self

    __iadd__ = add_
    __isub__ = sub_
    __imul__ = mul_
    __itruediv__ = div_
    __ipow__ = pow_
    __ifloordiv__ = floor_divide_
    __imod__ = remainder_
    __iand__ = bitwise_and_
    __ior__ = bitwise_or_
    __ixor__ = bitwise_xor_

    # --- functions --------------------------------------------------------------------------------

    def neg_(self) -> Self:
        """Compute `-self`, in place."""
        return self._by("neg")

    def abs_(self) -> Self:
        """Take the absolute values, in place."""
        return self._by("abs")

    def exp_(self) -> Self:
        """Compute e to the power of each element, in place."""
        return self._by("exp")

    def log_(self) -> Self:
        """Take the natural logarithms, in place."""
        return self._by("log")

    def sqrt_(self) -> Self:
        """Take the square roots, in place."""
        return self._by("sqrt")

    def rsqrt_(self) -> Self:
        """Compute one over the square roots, in place."""
        return self._by("rsqrt")

    def reciprocal_(self) -> Self:
        """Compute one over each element, in place."""
        return self._by("reciprocal")

    def sin_(self) -> Self:
        """Take the sines, in place."""
        return self._by("sin")

    def cos_(self) -> Self:
        """Take the cosines, in place."""
        return self._by("cos")

    def tanh_(self) -> Self:
        """Take the hyperbolic tangents, in place."""
        return self._by("tanh")

    def sigmoid_(self) -> Self:
        """Compute `1 / (1 + exp(-x))`, in place."""
        return self._by("sigmoid")

    def relu_(self) -> Self:
        """Set negative elements to 0."""
        return self._by("relu")

    def floor_(self) -> Self:
        """Round each element downwards, in place."""
        return self._by("floor")

    def ceil_(self) -> Self:
        """Round each element upwards, in place."""
        return self._by("ceil")

    def clamp_(self, min: Any = None, max: Any = None) -> Self:
        """Set elements below `min` or above `max` to that bound. Raises ValueError without a bound."""
        if min is None and max is None:
            raise ValueError("clamp_ needs a lower or an upper bound; pass min=, max=, or both")
        return apply_in_place(RULES["clamp"], self, (min, max), NONE)  # type: ignore[no-any-return]  # self

    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """Set the elements where `mask` is True to `value`."""
        return apply_in_place(RULES["masked_fill"], self, (_mask(mask), value), NONE)  # type: ignore[no-any-return]  # self

    def _by(self, name: str) -> Self:
        return apply_in_place(RULES[name], self, (), NONE)  # type: ignore[no-any-return]  # self
