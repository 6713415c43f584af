"""Operators between tensors, and arithmetic by name.

The four commonest take a short way where nothing is to be converted: both operands plain tensors of
one dtype, or a floating tensor and a Python number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import bridge
from ..autograd.modes import modes, state
from ..autograd.node import sequence_numbers
from ..autograd.rule_node import RuleNode
from ..errors import ShapeError
from ..rules import RULES, Rule
from ..rules.quiet import thread
from .dispatch import NONE, WEAK_NUMBERS, apply, binary, named, scaled, tensor_of
from .meeting import times

if TYPE_CHECKING:
    from .tensor import Tensor

_new = object.__new__
_ndarray = np.ndarray

ADD, SUB, MUL, NEG = (RULES[name] for name in ("add", "sub", "mul", "neg"))


def _short(rule: Rule, compute: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operator in the short way where that is right, else by `binary`.

    The short way does what `apply` and `record` do for two plain operands, in one function: the graph of
    an addition takes 0.7 of what torch takes, and each call that is not made is a twentieth of that.
    """
    y: Any
    if isinstance(b, Variable):
        x, y, b_needs = a._array, b._array, b._needs
        if x.dtype is not y.dtype or not (
            (a._view is None or _current(a)) and (b._view is None or _current(b))
        ):
            return binary(rule, a, b)
    elif WEAK_NUMBERS and (type(b) is float or type(b) is int) and (a._view is None or _current(a)):
        x, y, b_needs = a._array, b, False
        if x.dtype.kind != "f":
            return binary(rule, a, b)
    else:
        return binary(rule, a, b)
    try:
        out = thread.run(compute, x, y)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return binary(rule, a, b)  # fails again, and says why, or was within a call
    tensor = _new(bridge.tensor)
    tensor._array = out = out if type(out) is _ndarray else np.asarray(out)
    tensor._edge = tensor._grad = tensor._counter = tensor._view = tensor._hooks = None
    a_needs = a._needs
    if not (a_needs or b_needs) or (modes.odd and not state.grad):
        tensor._needs = False
        return tensor
    if modes.odd and (state.packing or modes.anomaly):
        return binary(rule, a, b)
    needs = (a_needs, b_needs)
    node = _new(RuleNode)
    node.rule = rule
    node.hooks = node.others = node.outputs = None
    node.needs = needs
    node.options = node.kept = NONE
    node.shapes = ()
    node.shape = out.shape
    node.dtype = out.dtype
    node.sequence = next(sequence_numbers)
    node.edges = (
        (a if a._edge is None else a._edge) if a_needs else None,
        (b if b._edge is None else b._edge) if b_needs else None,
    )
    if rule.saves:
        kept_a = a if b_needs else None
        kept_b = b if a_needs else None
        node.inputs = (kept_a, kept_b)
        node.versions = (
            kept_a._counter.value if kept_a is not None and kept_a._counter is not None else 0,
            kept_b._version if isinstance(kept_b, Variable) else 0,
        )
    else:
        node.inputs = None
        node.versions = ()
    tensor._edge = node
    tensor._needs = True
    return tensor


def _current(tensor: Any) -> bool:
    """Whether the history of a view is that of its data: nothing was written since it was found."""
    return bool(tensor._view.version == tensor._counter.value)


def _operator(name: str) -> tuple[Callable[[Any, Any], Tensor], Callable[[Any, Any], Tensor]]:
    """The method of an operator by the name of its rule, and that of the operand on the right."""

    def left(self: Any, other: Any) -> Any:
        return binary(RULES[name], self, other)

    def right(self: Any, other: Any) -> Any:
        return binary(RULES[name], other, self)

    return left, right


def rsub(input: Tensor, other: object, *, alpha: complex | Tensor = 1) -> Tensor:
    """Return `other - alpha * input`.

    >>> kellet.rsub(kellet.tensor([1, 2]), 10)
    tensor([9, 8])
    """
    taken: Tensor = scaled(input, alpha)
    return taken.neg().add(other)


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
    return tensor_of(np.asarray(np.isin(values, wanted, assume_unique=assume_unique, invert=invert)))


def isreal(input: Tensor) -> Tensor:
    """Tell which elements have no imaginary part.

    >>> kellet.isreal(kellet.tensor([1.0, 2.0]))
    tensor([True, True])
    """
    return tensor_of(np.isreal(input._array))


def isposinf(input: Tensor) -> Tensor:
    """Tell which elements are positive infinity.

    >>> kellet.isposinf(kellet.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
    return tensor_of(np.isposinf(input._array))


def isneginf(input: Tensor) -> Tensor:
    """Tell which elements are negative infinity.

    >>> kellet.isneginf(kellet.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """
    return tensor_of(np.isneginf(input._array))


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


class Arithmetic(Variable):
    """Binary operators, and the methods of the same names."""

    __slots__ = ()

    def __add__(self, other: Any) -> Tensor:
        return _short(ADD, operator.add, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __sub__(self, other: Any) -> Tensor:
        return _short(SUB, operator.sub, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __mul__(self, other: Any) -> Tensor:
        return _short(MUL, operator.mul, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    __truediv__, __rtruediv__ = _operator("div")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("remainder")
    __pow__, __rpow__ = _operator("pow")
    __matmul__, __rmatmul__ = _operator("matmul")
    __and__, __rand__ = _operator("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor")
    __lshift__, __rlshift__ = _operator("left_shift")
    __rshift__, __rrshift__ = _operator("right_shift")
    __radd__ = _operator("add")[1]
    __rsub__ = _operator("sub")[1]
    __rmul__ = _operator("mul")[1]

    # Elementwise, as everywhere in NumPy. Python asks the other operand for the mirrored comparison.
    __eq__ = _operator("eq")[0]  # type: ignore[assignment]  # object's gives a bool
    __ne__ = _operator("ne")[0]  # type: ignore[assignment]  # object's gives a bool
    __lt__ = _operator("lt")[0]
    __le__ = _operator("le")[0]
    __gt__ = _operator("gt")[0]
    __ge__ = _operator("ge")[0]

    __hash__ = object.__hash__  # tensors are looked up by identity

    def __neg__(self) -> Tensor:
        return apply(NEG, (self,), NONE)

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]  # self is a Tensor

    def __abs__(self) -> Tensor:
        return apply(RULES["abs"], (self,), NONE)

    def __invert__(self) -> Tensor:
        return apply(RULES["bitwise_not"], (self,), NONE)

    # --- by name ----------------------------------------------------------------------------------

    def add(self, other: object, *, alpha: complex | Tensor = 1) -> Tensor:
        """Return `self + alpha * other`.

        >>> kellet.add(kellet.tensor([1, 2]), kellet.tensor([3, 4]), alpha=10)
        tensor([31, 42])
        """
        return named(ADD, self, times(alpha, other, self, ADD))

    def sub(self, other: object, *, alpha: complex | Tensor = 1) -> Tensor:
        """Return `self - alpha * other`.

        >>> kellet.sub(kellet.tensor([5, 7]), kellet.tensor([1, 2]), alpha=2)
        tensor([3, 3])
        """
        return named(SUB, self, times(alpha, other, self, SUB))

    def mul(self, other: object) -> Tensor:
        """Return `self * other`, element by element.

        >>> kellet.mul(kellet.tensor([1, 2]), kellet.tensor([3, 4]))
        tensor([3, 8])
        """
        return named(MUL, self, other)

    def div(self, other: object, *, rounding_mode: str | None = None) -> Tensor:
        """Return `self / other`; integers give the default floating dtype.

        `rounding_mode` "trunc" rounds the quotient towards zero, "floor" downwards.

        Raises ValueError for another `rounding_mode`.

        >>> kellet.div(kellet.tensor([7, -7]), 2, rounding_mode="floor")
        tensor([ 3, -4])
        """
        names = {None: "div", "trunc": "div_trunc", "floor": "div_floor"}
        if rounding_mode not in names:
            raise ValueError(f"rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
        return named(RULES[names[rounding_mode]], self, other)

    def neg(self) -> Tensor:
        """Return `-self`.

        >>> kellet.neg(kellet.tensor([1, -2]))
        tensor([-1,  2])
        """
        return apply(NEG, (self,), NONE)

    def floor_divide(self, other: object) -> Tensor:
        """Return the quotient rounded downwards.

        >>> kellet.floor_divide(kellet.tensor([7, -7]), 2)
        tensor([ 3, -4])
        """
        return named(RULES["floor_divide"], self, other)

    def remainder(self, other: object) -> Tensor:
        """Return the remainder of division, with the sign of the divisor.

        >>> kellet.remainder(kellet.tensor([7, -7]), 4)
        tensor([3, 1])
        """
        return named(RULES["remainder"], self, other)

    def fmod(self, other: object) -> Tensor:
        """Return the remainder of division, with the sign of the dividend.

        >>> kellet.fmod(kellet.tensor([7, -7]), 4)
        tensor([ 3, -3])
        """
        return named(RULES["fmod"], self, other)

    def pow(self, other: object) -> Tensor:
        """Return `self ** other`, element by element.

        >>> kellet.pow(kellet.tensor([2.0, 3.0]), 2)
        tensor([4., 9.])
        """
        return named(RULES["pow"], self, other)

    def matmul(self, other: object) -> Tensor:
        """Return the matrix product; vectors count as one row or column, leading axes broadcast.

        >>> kellet.matmul(kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([1, 1]))
        tensor([3, 7])
        """
        return named(RULES["matmul"], self, other)

    def maximum(self, other: object) -> Tensor:
        """Return the larger of two values, element by element; NaN wins.

        >>> kellet.maximum(kellet.tensor([1, 5]), kellet.tensor([3, 2]))
        tensor([3, 5])
        """
        return named(RULES["maximum"], self, other)

    def minimum(self, other: object) -> Tensor:
        """Return the smaller of two values, element by element; NaN wins.

        >>> kellet.minimum(kellet.tensor([1, 5]), kellet.tensor([3, 2]))
        tensor([1, 2])
        """
        return named(RULES["minimum"], self, other)

    def atan2(self, other: object) -> Tensor:
        """Return the angle of the point (other, self), in radians.

        >>> kellet.atan2(kellet.tensor([1.0, -1.0]), kellet.tensor([1.0, 1.0]))
        tensor([ 0.7854, -0.7854])
        """
        return named(RULES["atan2"], self, other)

    # --- PyTorch's second names -------------------------------------------------------------------

    arctan2 = atan2
    divide = div
    multiply = mul
    subtract = sub
    true_divide = div
    negative = neg

    # --- comparisons, logic and bits: no gradient flows through them ------------------------------

    def eq(self, other: object) -> Tensor:
        """Tell where two values are equal.

        >>> kellet.eq(kellet.tensor([1, 2]), kellet.tensor([1, 3]))
        tensor([ True, False])
        """
        return named(RULES["eq"], self, other)

    def ne(self, other: object) -> Tensor:
        """Tell where two values differ.

        >>> kellet.ne(kellet.tensor([1, 2]), kellet.tensor([1, 3]))
        tensor([False,  True])
        """
        return named(RULES["ne"], self, other)

    def lt(self, other: object) -> Tensor:
        """Tell where `self < other`.

        >>> kellet.lt(kellet.tensor([1, 2]), 2)
        tensor([ True, False])
        """
        return named(RULES["lt"], self, other)

    def le(self, other: object) -> Tensor:
        """Tell where `self <= other`.

        >>> kellet.le(kellet.tensor([1, 2]), 1)
        tensor([ True, False])
        """
        return named(RULES["le"], self, other)

    def gt(self, other: object) -> Tensor:
        """Tell where `self > other`.

        >>> kellet.gt(kellet.tensor([1, 2]), 1)
        tensor([False,  True])
        """
        return named(RULES["gt"], self, other)

    def ge(self, other: object) -> Tensor:
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
        """Tell where an element is finite.

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

    def logical_and(self, other: object) -> Tensor:
        """Tell where both are not zero.

        >>> kellet.logical_and(kellet.tensor([0, 2]), kellet.tensor([1, 1]))
        tensor([False,  True])
        """
        return named(RULES["logical_and"], self, other)

    def logical_or(self, other: object) -> Tensor:
        """Tell where one of both is not zero.

        >>> kellet.logical_or(kellet.tensor([0, 2]), kellet.tensor([0, 0]))
        tensor([False,  True])
        """
        return named(RULES["logical_or"], self, other)

    def logical_xor(self, other: object) -> Tensor:
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

    def bitwise_and(self, other: object) -> Tensor:
        """Return the bits that both have.

        >>> kellet.bitwise_and(kellet.tensor([5, 3]), 1)
        tensor([1, 1])
        """
        return named(RULES["bitwise_and"], self, other)

    def bitwise_or(self, other: object) -> Tensor:
        """Return the bits that one of both has.

        >>> kellet.bitwise_or(kellet.tensor([4, 3]), 1)
        tensor([5, 3])
        """
        return named(RULES["bitwise_or"], self, other)

    def bitwise_xor(self, other: object) -> Tensor:
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

    isin = isin

    isreal = isreal
    isposinf = isposinf
    isneginf = isneginf
    is_nonzero = is_nonzero


# --- the methods as functions: the first argument is the tensor ------------------------------------

add = Arithmetic.add
arctan2 = Arithmetic.atan2
atan2 = Arithmetic.atan2
div = Arithmetic.div
divide = Arithmetic.div
floor_divide = Arithmetic.floor_divide
fmod = Arithmetic.fmod
matmul = Arithmetic.matmul
maximum = Arithmetic.maximum
minimum = Arithmetic.minimum
mul = Arithmetic.mul
multiply = Arithmetic.mul
neg = Arithmetic.neg
negative = Arithmetic.neg
pow = Arithmetic.pow
remainder = Arithmetic.remainder
sub = Arithmetic.sub
subtract = Arithmetic.sub
true_divide = Arithmetic.div
bitwise_and = Arithmetic.bitwise_and
bitwise_not = Arithmetic.bitwise_not
bitwise_or = Arithmetic.bitwise_or
bitwise_xor = Arithmetic.bitwise_xor
eq = Arithmetic.eq
ge = Arithmetic.ge
greater = Arithmetic.gt
greater_equal = Arithmetic.ge
gt = Arithmetic.gt
isfinite = Arithmetic.isfinite
isinf = Arithmetic.isinf
isnan = Arithmetic.isnan
le = Arithmetic.le
less = Arithmetic.lt
less_equal = Arithmetic.le
logical_and = Arithmetic.logical_and
logical_not = Arithmetic.logical_not
logical_or = Arithmetic.logical_or
logical_xor = Arithmetic.logical_xor
lt = Arithmetic.lt
ne = Arithmetic.ne
not_equal = Arithmetic.ne
signbit = Arithmetic.signbit
