"""Arithmetic and functions that work element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import FLOAT, OUT, SAME, rule

__all__: list[str] = []


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
sub = rule("sub", np.subtract, _sub, promote=SAME)
mul = rule("mul", np.multiply, _mul, saves=((1,), (0,)), promote=SAME, fresh=True)
div = rule("div", np.true_divide, _div, saves=((1,), (0, 1)), promote=FLOAT)
neg = rule("neg", np.negative, _neg, fresh=True)
exp = rule("exp", np.exp, _exp, saves=((OUT,),), promote=FLOAT, fresh=True)
log = rule("log", np.log, _log, saves=((0,),), promote=FLOAT, fresh=True)
conj = rule("conj", _conj_forward, _conj)
