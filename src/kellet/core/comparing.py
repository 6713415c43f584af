"""Comparisons, logic and bits: where values are equal, finite, not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd import Variable
from ..rules import RULES
from .dispatch import NONE, apply, named

if TYPE_CHECKING:
    from .tensor import Tensor


class Comparing(Variable):
    """Questions asked of each element, and operations on bits. No gradient flows through them."""

    __slots__ = ()

    def eq(self, other: Any) -> Tensor:
        """Tell where two values are equal.

        >>> kellet.eq(kellet.tensor([1, 2]), kellet.tensor([1, 3]))
        tensor([ True, False])
        """
        return named(RULES["eq"], self, other)

    def ne(self, other: Any) -> Tensor:
        """Tell where two values differ.

        >>> kellet.ne(kellet.tensor([1, 2]), kellet.tensor([1, 3]))
        tensor([False,  True])
        """
        return named(RULES["ne"], self, other)

    def lt(self, other: Any) -> Tensor:
        """Tell where `self < other`.

        >>> kellet.lt(kellet.tensor([1, 2]), 2)
        tensor([ True, False])
        """
        return named(RULES["lt"], self, other)

    def le(self, other: Any) -> Tensor:
        """Tell where `self <= other`.

        >>> kellet.le(kellet.tensor([1, 2]), 1)
        tensor([ True, False])
        """
        return named(RULES["le"], self, other)

    def gt(self, other: Any) -> Tensor:
        """Tell where `self > other`.

        >>> kellet.gt(kellet.tensor([1, 2]), 1)
        tensor([False,  True])
        """
        return named(RULES["gt"], self, other)

    def ge(self, other: Any) -> Tensor:
        """Tell where `self >= other`.

        >>> kellet.ge(kellet.tensor([1, 2]), 2)
        tensor([False,  True])
        """
        return named(RULES["ge"], self, other)

    def isnan(self) -> Tensor:
        """Tell where an element is not a number.

        >>> kellet.isnan(kellet.tensor([1.0, float("nan")]))
        tensor([False,  True])
        """
        return apply(RULES["isnan"], (self,), NONE)

    def isinf(self) -> Tensor:
        """Tell where an element is infinite.

        >>> kellet.isinf(kellet.tensor([1.0, float("inf")]))
        tensor([False,  True])
        """
        return apply(RULES["isinf"], (self,), NONE)

    def isfinite(self) -> Tensor:
        """Tell where an element is neither infinite nor NaN.

        >>> kellet.isfinite(kellet.tensor([1.0, float("inf")]))
        tensor([ True, False])
        """
        return apply(RULES["isfinite"], (self,), NONE)

    def signbit(self) -> Tensor:
        """Tell where the sign bit is set.

        >>> kellet.signbit(kellet.tensor([-2.0, 3.0]))
        tensor([ True, False])
        """
        return apply(RULES["signbit"], (self,), NONE)

    def logical_and(self, other: Any) -> Tensor:
        """Tell where both are not zero.

        >>> kellet.logical_and(kellet.tensor([0, 2]), kellet.tensor([1, 1]))
        tensor([False,  True])
        """
        return named(RULES["logical_and"], self, other)

    def logical_or(self, other: Any) -> Tensor:
        """Tell where one of both is not zero.

        >>> kellet.logical_or(kellet.tensor([0, 2]), kellet.tensor([0, 0]))
        tensor([False,  True])
        """
        return named(RULES["logical_or"], self, other)

    def logical_xor(self, other: Any) -> Tensor:
        """Tell where exactly one is not zero.

        >>> kellet.logical_xor(kellet.tensor([0, 2]), kellet.tensor([1, 1]))
        tensor([ True, False])
        """
        return named(RULES["logical_xor"], self, other)

    def logical_not(self) -> Tensor:
        """Tell where an element is zero.

        >>> kellet.logical_not(kellet.tensor([0, 2]))
        tensor([ True, False])
        """
        return apply(RULES["logical_not"], (self,), NONE)

    def bitwise_and(self, other: Any) -> Tensor:
        """Return the bits that both have.

        >>> kellet.bitwise_and(kellet.tensor([5, 3]), 1)
        tensor([1, 1])
        """
        return named(RULES["bitwise_and"], self, other)

    def bitwise_or(self, other: Any) -> Tensor:
        """Return the bits that one of both has.

        >>> kellet.bitwise_or(kellet.tensor([4, 3]), 1)
        tensor([5, 3])
        """
        return named(RULES["bitwise_or"], self, other)

    def bitwise_xor(self, other: Any) -> Tensor:
        """Return the bits that exactly one has.

        >>> kellet.bitwise_xor(kellet.tensor([5, 3]), 1)
        tensor([4, 2])
        """
        return named(RULES["bitwise_xor"], self, other)

    def bitwise_not(self) -> Tensor:
        """Turn all bits of each element.

        >>> kellet.bitwise_not(kellet.tensor([0, 5]))
        tensor([-1, -6])
        """
        return apply(RULES["bitwise_not"], (self,), NONE)

    # --- PyTorch's second names -------------------------------------------------------------------

    greater = gt
    greater_equal = ge
    less = lt
    less_equal = le
    not_equal = ne


# --- the methods as functions: the first argument is the tensor ------------------------------------

bitwise_and = Comparing.bitwise_and
bitwise_not = Comparing.bitwise_not
bitwise_or = Comparing.bitwise_or
bitwise_xor = Comparing.bitwise_xor
eq = Comparing.eq
ge = Comparing.ge
greater = Comparing.gt
greater_equal = Comparing.ge
gt = Comparing.gt
isfinite = Comparing.isfinite
isinf = Comparing.isinf
isnan = Comparing.isnan
le = Comparing.le
less = Comparing.lt
less_equal = Comparing.le
logical_and = Comparing.logical_and
logical_not = Comparing.logical_not
logical_or = Comparing.logical_or
logical_xor = Comparing.logical_xor
lt = Comparing.lt
ne = Comparing.ne
not_equal = Comparing.ne
signbit = Comparing.signbit
