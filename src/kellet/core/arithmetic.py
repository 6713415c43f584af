"""Operators between tensors: arithmetic, comparisons, logic.

The four commonest take a short way where nothing is to be converted: both operands plain tensors of
one dtype, or a floating tensor and a Python number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.bridge import bridge
from ..autograd.modes import modes, state
from ..autograd.node import sequence_numbers
from ..autograd.rule_node import RuleNode
from ..autograd.variable import Variable
from ..rules import RULES, Rule
from ..rules.quiet import thread
from .dispatch import NONE, WEAK_NUMBERS, apply, binary, scaled

if TYPE_CHECKING:
    from .tensor import Tensor

_new = object.__new__
_ndarray = np.ndarray

ADD, SUB, MUL, DIV, NEG = (RULES[name] for name in ("add", "sub", "mul", "div", "neg"))


def _named(rule: Rule, a: Any, b: Any) -> Tensor:
    """`binary` for a call by name."""
    result = binary(rule, a, b)
    if result is NotImplemented:
        raise TypeError(f"{rule.name}: expected a tensor or a number, got {type(b).__name__}: {b!r}")
    return result  # type: ignore[no-any-return]  # apply made it


def _short(rule: Rule, compute: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operator in the short way where that is right, else by `binary`."""
    if isinstance(b, Variable):
        if (a._view is None or _current(a)) and (b._view is None or _current(b)):
            x = a._array
            y = b._array
            if x.dtype is y.dtype:
                try:
                    out = thread.run(compute, x, y)
                except (TypeError, ValueError, RuntimeError):
                    return binary(rule, a, b)  # fails again, and says why, or was within a call
                return _result(rule, a, b, out, b._needs)
    elif WEAK_NUMBERS and (type(b) is float or type(b) is int) and (a._view is None or _current(a)):
        x = a._array
        if x.dtype.kind == "f":
            try:
                out = thread.run(compute, x, b)
            except (OverflowError, RuntimeError):
                return binary(rule, a, b)
            return _result(rule, a, b, out, False)
    return binary(rule, a, b)


def _current(tensor: Any) -> bool:
    """Whether the history of a view is that of its data: nothing was written since it was found."""
    return bool(tensor._view.version == tensor._counter.value)


def _result(rule: Rule, a: Any, b: Any, out: Any, b_needs: bool) -> Any:
    """The tensor over `out` with its node: what `record` does, for two plain operands."""
    tensor = _new(bridge.tensor)
    tensor._array = out = out if type(out) is _ndarray else np.asarray(out)
    tensor._edge = tensor._grad = tensor._counter = tensor._view = tensor._hooks = None
    a_needs = a._needs
    if not (a_needs or b_needs) or (modes.odd and not state.grad):
        tensor._needs = False
        return tensor
    if modes.odd and state.packing:
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


class Arithmetic(Variable):
    """Binary operators, and the methods of the same names."""

    __slots__ = ()

    def __add__(self, other: Any) -> Tensor:
        return _short(ADD, operator.add, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __sub__(self, other: Any) -> Tensor:
        return _short(SUB, operator.sub, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __mul__(self, other: Any) -> Tensor:
        return _short(MUL, operator.mul, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __truediv__(self, other: Any) -> Tensor:
        return binary(DIV, self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __floordiv__(self, other: Any) -> Tensor:
        return binary(RULES["floor_divide"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __mod__(self, other: Any) -> Tensor:
        return binary(RULES["remainder"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __pow__(self, other: Any) -> Tensor:
        return binary(RULES["pow"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __matmul__(self, other: Any) -> Tensor:
        return binary(RULES["matmul"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __and__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_and"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __or__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_or"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __xor__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_xor"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __lshift__(self, other: Any) -> Tensor:
        return binary(RULES["left_shift"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __rshift__(self, other: Any) -> Tensor:
        return binary(RULES["right_shift"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __radd__(self, other: Any) -> Tensor:
        return binary(ADD, other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rsub__(self, other: Any) -> Tensor:
        return binary(SUB, other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rmul__(self, other: Any) -> Tensor:
        return binary(MUL, other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rtruediv__(self, other: Any) -> Tensor:
        return binary(DIV, other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rfloordiv__(self, other: Any) -> Tensor:
        return binary(RULES["floor_divide"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rmod__(self, other: Any) -> Tensor:
        return binary(RULES["remainder"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rpow__(self, other: Any) -> Tensor:
        return binary(RULES["pow"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        return binary(RULES["matmul"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rand__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_and"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __ror__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_or"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rxor__(self, other: Any) -> Tensor:
        return binary(RULES["bitwise_xor"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rlshift__(self, other: Any) -> Tensor:
        return binary(RULES["left_shift"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __rrshift__(self, other: Any) -> Tensor:
        return binary(RULES["right_shift"], other, self)  # type: ignore[no-any-return]  # or NotImplemented

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]  # elementwise, as everywhere in NumPy
        return binary(RULES["eq"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]  # elementwise, as everywhere in NumPy
        return binary(RULES["ne"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __lt__(self, other: Any) -> Tensor:
        return binary(RULES["lt"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __le__(self, other: Any) -> Tensor:
        return binary(RULES["le"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __gt__(self, other: Any) -> Tensor:
        return binary(RULES["gt"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

    def __ge__(self, other: Any) -> Tensor:
        return binary(RULES["ge"], self, other)  # type: ignore[no-any-return]  # or NotImplemented

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

    def add(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """Return `self + alpha * other`."""
        return _named(ADD, self, scaled(other, alpha))

    def sub(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """Return `self - alpha * other`."""
        return _named(SUB, self, scaled(other, alpha))

    def mul(self, other: Any) -> Tensor:
        """Return `self * other`, element by element."""
        return _named(MUL, self, other)

    def div(self, other: Any, *, rounding_mode: str | None = None) -> Tensor:
        """Return `self / other`; integers give the default floating dtype.

        `rounding_mode` "trunc" rounds the quotient towards zero, "floor" downwards.

        Raises ValueError for another `rounding_mode`.
        """
        names = {None: "div", "trunc": "div_trunc", "floor": "div_floor"}
        if rounding_mode not in names:
            raise ValueError(f"rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
        return _named(RULES[names[rounding_mode]], self, other)

    def neg(self) -> Tensor:
        """Return `-self`."""
        return apply(NEG, (self,), NONE)

    def floor_divide(self, other: Any) -> Tensor:
        """Return the quotient rounded downwards."""
        return _named(RULES["floor_divide"], self, other)

    def remainder(self, other: Any) -> Tensor:
        """Return the remainder of division, with the sign of the divisor."""
        return _named(RULES["remainder"], self, other)

    def fmod(self, other: Any) -> Tensor:
        """Return the remainder of division, with the sign of the dividend."""
        return _named(RULES["fmod"], self, other)

    def pow(self, other: Any) -> Tensor:
        """Return `self ** other`, element by element."""
        return _named(RULES["pow"], self, other)

    def matmul(self, other: Any) -> Tensor:
        """Return the matrix product; vectors count as one row or column, leading axes broadcast."""
        return _named(RULES["matmul"], self, other)

    def maximum(self, other: Any) -> Tensor:
        """Return the larger of two values, element by element; NaN wins."""
        return _named(RULES["maximum"], self, other)

    def minimum(self, other: Any) -> Tensor:
        """Return the smaller of two values, element by element; NaN wins."""
        return _named(RULES["minimum"], self, other)

    def atan2(self, other: Any) -> Tensor:
        """Return the angle of the point (other, self), in radians."""
        return _named(RULES["atan2"], self, other)

    def eq(self, other: Any) -> Tensor:
        """Tell where two values are equal."""
        return _named(RULES["eq"], self, other)

    def ne(self, other: Any) -> Tensor:
        """Tell where two values differ."""
        return _named(RULES["ne"], self, other)

    def lt(self, other: Any) -> Tensor:
        """Tell where `self < other`."""
        return _named(RULES["lt"], self, other)

    def le(self, other: Any) -> Tensor:
        """Tell where `self <= other`."""
        return _named(RULES["le"], self, other)

    def gt(self, other: Any) -> Tensor:
        """Tell where `self > other`."""
        return _named(RULES["gt"], self, other)

    def ge(self, other: Any) -> Tensor:
        """Tell where `self >= other`."""
        return _named(RULES["ge"], self, other)

    def logical_and(self, other: Any) -> Tensor:
        """Tell where both are not zero."""
        return _named(RULES["logical_and"], self, other)

    def logical_or(self, other: Any) -> Tensor:
        """Tell where one of both is not zero."""
        return _named(RULES["logical_or"], self, other)

    def logical_xor(self, other: Any) -> Tensor:
        """Tell where exactly one is not zero."""
        return _named(RULES["logical_xor"], self, other)

    def bitwise_and(self, other: Any) -> Tensor:
        """Return the bits that both have."""
        return _named(RULES["bitwise_and"], self, other)

    def bitwise_or(self, other: Any) -> Tensor:
        """Return the bits that one of both has."""
        return _named(RULES["bitwise_or"], self, other)

    def bitwise_xor(self, other: Any) -> Tensor:
        """Return the bits that exactly one has."""
        return _named(RULES["bitwise_xor"], self, other)

    # --- PyTorch's second names -------------------------------------------------------------------

    arctan2 = atan2
    divide = div
    greater = gt
    greater_equal = ge
    less = lt
    less_equal = le
    multiply = mul
    not_equal = ne
    subtract = sub
    true_divide = div
    negative = neg


# --- the methods as functions: the first argument is the tensor ------------------------------------

add = Arithmetic.add
arctan2 = Arithmetic.atan2
atan2 = Arithmetic.atan2
bitwise_and = Arithmetic.bitwise_and
bitwise_or = Arithmetic.bitwise_or
bitwise_xor = Arithmetic.bitwise_xor
div = Arithmetic.div
divide = Arithmetic.div
eq = Arithmetic.eq
floor_divide = Arithmetic.floor_divide
fmod = Arithmetic.fmod
ge = Arithmetic.ge
greater = Arithmetic.gt
greater_equal = Arithmetic.ge
gt = Arithmetic.gt
le = Arithmetic.le
less = Arithmetic.lt
less_equal = Arithmetic.le
logical_and = Arithmetic.logical_and
logical_or = Arithmetic.logical_or
logical_xor = Arithmetic.logical_xor
lt = Arithmetic.lt
matmul = Arithmetic.matmul
maximum = Arithmetic.maximum
minimum = Arithmetic.minimum
mul = Arithmetic.mul
multiply = Arithmetic.mul
ne = Arithmetic.ne
neg = Arithmetic.neg
negative = Arithmetic.neg
not_equal = Arithmetic.ne
pow = Arithmetic.pow
remainder = Arithmetic.remainder
sub = Arithmetic.sub
subtract = Arithmetic.sub
true_divide = Arithmetic.div
