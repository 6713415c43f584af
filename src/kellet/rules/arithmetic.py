"""Arithmetic element by element: sums, products, exp and log, and division that rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from .levels import zeros_like
from .rule import EQUAL, FLOAT, OUT, SAME, rule


def _conj_forward(a: Any) -> Any:
    """The conjugate; real arrays and numbers come back as they are, without a copy."""
    return a.conjugate()


def _add(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g, g)


def _sub(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g, -g if ctx.needs[1] else None)


def _mul(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    return (
        g * xp.conj(b) if ctx.needs[0] else None,
        g * xp.conj(a) if ctx.needs[1] else None,
    )


def _div(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    quotient = g / xp.conj(b)
    return (
        quotient if ctx.needs[0] else None,
        -quotient * xp.conj(a / b) if ctx.needs[1] else None,
    )


def _neg(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (-g,)


def _exp(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(ctx.output),)


def _log(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g / xp.conj(ctx.inputs[0]),)


def _conj(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.conj(g),)


add = rule("add", np.add, _add, promote=SAME)
sub = rule("sub", np.subtract, _sub, promote=SAME, refuses="b")
mul = rule("mul", np.multiply, _mul, saves=((1,), (0,)), promote=SAME, fresh=True, last_first=True)
div = rule("div", np.true_divide, _div, saves=((1,), (0, 1)), promote=FLOAT, last_first=True)
neg = rule("neg", np.negative, _neg, fresh=True)
exp = rule("exp", np.exp, _exp, saves=((OUT,),), promote=FLOAT, fresh=True)
log = rule("log", np.log, _log, saves=((0,),), promote=FLOAT, fresh=True)
conj = rule("conj", _conj_forward, _conj)


# --- division that rounds -------------------------------------------------------------------------


def _whole(a: Any, b: Any) -> bool:
    """Whether both are integers. They have no infinity: raises ZeroDivisionError where `b` is zero."""
    if np.result_type(a, b).kind not in "iu":
        return False
    if not np.all(b):
        raise ZeroDivisionError("integer division or modulo by zero; use floating tensors, or mask zeros out")
    return True


def _floor_divide_forward(a: Any, b: Any) -> Any:
    _whole(a, b)
    return np.floor_divide(a, b)


def _remainder_forward(a: Any, b: Any) -> Any:
    _whole(a, b)
    return np.remainder(a, b)


def _fmod_forward(a: Any, b: Any) -> Any:
    _whole(a, b)
    return np.fmod(a, b)


def _div_trunc_forward(a: Any, b: Any) -> Any:
    """Division rounded towards zero; exact for integers of any size."""
    if _whole(a, b):
        quotient = np.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a))
    return np.trunc(np.true_divide(a, b))


def _flat(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """The derivative of a step function."""
    return (zeros_like(xp, g), zeros_like(xp, g))


def _remainder(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g, -g * xp.floor(_quotient(ctx)) if ctx.needs[1] else None)


def _fmod(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g, -g * xp.trunc(_quotient(ctx)) if ctx.needs[1] else None)


def _quotient(ctx: Any) -> Any:
    a, b = ctx.inputs
    return a / b


def _lerp_forward(start: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, so that weights 0 and 1 give `start` and `end` exactly."""
    span = end - start
    return np.where(np.abs(weight) < 0.5, start + weight * span, end - span * (1 - weight))


def _lerp(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    start, end, weight = ctx.inputs
    return (
        g * xp.conj(1 - weight) if ctx.needs[0] else None,
        g * xp.conj(weight) if ctx.needs[1] else None,
        g * xp.conj(end - start) if ctx.needs[2] else None,
    )


div_floor = rule("div_floor", _floor_divide_forward, _flat, promote=SAME)
div_trunc = rule("div_trunc", _div_trunc_forward, _flat, promote=SAME)
floor_divide = rule("floor_divide", _floor_divide_forward, promote=SAME)
remainder = rule(
    "remainder", _remainder_forward, _remainder, saves=((), (0, 1)), promote=SAME, last_first=True
)
fmod = rule("fmod", _fmod_forward, _fmod, saves=((), (0, 1)), promote=SAME, last_first=True)
lerp = rule("lerp", _lerp_forward, _lerp, saves=((2,), (2,), (0, 1)), promote=EQUAL, fresh=True)
