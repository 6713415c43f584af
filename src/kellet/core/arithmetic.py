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
from ..rules import RULES, Rule
from ..rules.quiet import thread
from .dispatch import NONE, WEAK_NUMBERS, apply, binary, named
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

    def add(self, other: Any, *, alpha: complex | Tensor = 1) -> Tensor:
        """Return `self + alpha * other`.

        >>> kellet.add(kellet.tensor([1, 2]), kellet.tensor([3, 4]), alpha=10)
        tensor([31, 42])
        """
        return named(ADD, self, times(alpha, other, self, ADD))

    def sub(self, other: Any, *, alpha: complex | Tensor = 1) -> Tensor:
        """Return `self - alpha * other`.

        >>> kellet.sub(kellet.tensor([5, 7]), kellet.tensor([1, 2]), alpha=2)
        tensor([3, 3])
        """
        return named(SUB, self, times(alpha, other, self, SUB))

    def mul(self, other: Any) -> Tensor:
        """Return `self * other`, element by element.

        >>> kellet.mul(kellet.tensor([1, 2]), kellet.tensor([3, 4]))
        tensor([3, 8])
        """
        return named(MUL, self, other)

    def div(self, other: Any, *, rounding_mode: str | None = None) -> Tensor:
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

    def floor_divide(self, other: Any) -> Tensor:
        """Return the quotient rounded downwards.

        >>> kellet.floor_divide(kellet.tensor([7, -7]), 2)
        tensor([ 3, -4])
        """
        return named(RULES["floor_divide"], self, other)

    def remainder(self, other: Any) -> Tensor:
        """Return the remainder of division, with the sign of the divisor.

        >>> kellet.remainder(kellet.tensor([7, -7]), 4)
        tensor([3, 1])
        """
        return named(RULES["remainder"], self, other)

    def fmod(self, other: Any) -> Tensor:
        """Return the remainder of division, with the sign of the dividend.

        >>> kellet.fmod(kellet.tensor([7, -7]), 4)
        tensor([ 3, -3])
        """
        return named(RULES["fmod"], self, other)

    def pow(self, other: Any) -> Tensor:
        """Return `self ** other`, element by element.

        >>> kellet.pow(kellet.tensor([2.0, 3.0]), 2)
        tensor([4., 9.])
        """
        return named(RULES["pow"], self, other)

    def matmul(self, other: Any) -> Tensor:
        """Return the matrix product; vectors count as one row or column, leading axes broadcast.

        >>> kellet.matmul(kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([1, 1]))
        tensor([3, 7])
        """
        return named(RULES["matmul"], self, other)

    def maximum(self, other: Any) -> Tensor:
        """Return the larger of two values, element by element; NaN wins.

        >>> kellet.maximum(kellet.tensor([1, 5]), kellet.tensor([3, 2]))
        tensor([3, 5])
        """
        return named(RULES["maximum"], self, other)

    def minimum(self, other: Any) -> Tensor:
        """Return the smaller of two values, element by element; NaN wins.

        >>> kellet.minimum(kellet.tensor([1, 5]), kellet.tensor([3, 2]))
        tensor([1, 2])
        """
        return named(RULES["minimum"], self, other)

    def atan2(self, other: Any) -> Tensor:
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
