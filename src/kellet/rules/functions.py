"""Exponentials, logarithms, circular and hyperbolic functions, rounding: one argument, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .levels import zeros_like
from .rule import FLOAT, OUT, Rule, rule

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)


# --- exponentials and logarithms ------------------------------------------------------------------


def _exp2(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(ctx.output) * LOG_2,)


def _expm1(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(ctx.output + 1),)


def _log1p(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g / xp.conj(ctx.inputs[0] + 1),)


def _log2(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g / xp.conj(ctx.inputs[0] * LOG_2),)


def _log10(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g / xp.conj(ctx.inputs[0] * LOG_10),)


def _logit_forward(a: Any) -> Any:
    return np.log(a / (1 - a))


def _logit(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """NaN outside of [0, 1], where the function is."""
    a = ctx.inputs[0]
    inside = (a >= 0) & (a <= 1)
    return (xp.where(inside, g / (a * (1 - a)), math.nan),)


# --- circular functions ---------------------------------------------------------------------------


def _sin(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(xp.cos(ctx.inputs[0])),)


def _cos(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (-g * xp.conj(xp.sin(ctx.inputs[0])),)


def _tan(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out = ctx.output
    return (g * xp.conj(out * out + 1),)


def _asin(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g * xp.conj(xp.rsqrt(1 - a * a)),)


def _acos(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (-g * xp.conj(xp.rsqrt(1 - a * a)),)


def _atan(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g / xp.conj(a * a + 1),)


def _atan2(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Zero at the origin, as in PyTorch."""
    y, x = ctx.inputs
    square = x * x + y * y
    share = g / (square + (square == 0))
    return (share * x if ctx.needs[0] else None, -share * y if ctx.needs[1] else None)


# --- hyperbolic functions -------------------------------------------------------------------------


def _sinh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(xp.cosh(ctx.inputs[0])),)


def _cosh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.conj(xp.sinh(ctx.inputs[0])),)


def _tanh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out = ctx.output
    return (g * xp.conj(1 - out * out),)


def _asinh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g * xp.conj(xp.rsqrt(a * a + 1)),)


def _acosh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Two roots, not the root of a product: for complex numbers they lie on different branches."""
    a = ctx.inputs[0]
    return (g * xp.conj(xp.rsqrt(a - 1) * xp.rsqrt(a + 1)),)


def _atanh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g / xp.conj(1 - a * a),)


# --- rounding -------------------------------------------------------------------------------------


def _flat(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """The derivative of a step function: zero, for the steps are never asked about."""
    return (zeros_like(xp, g),)


def _round_forward(a: Any, *, decimals: int = 0) -> Any:
    return np.round(a, decimals)


def _frac_forward(a: Any) -> Any:
    return a - np.trunc(a)


def _pass(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g,)


# --- the table ------------------------------------------------------------------------------------


def _smooth(name: str, forward: Any, backward: Any, reads: int) -> Rule:
    return rule(name, forward, backward, saves=((reads,),), promote=FLOAT, fresh=True)


exp2 = _smooth("exp2", np.exp2, _exp2, OUT)
expm1 = _smooth("expm1", np.expm1, _expm1, OUT)
log1p = _smooth("log1p", np.log1p, _log1p, 0)
log2 = _smooth("log2", np.log2, _log2, 0)
log10 = _smooth("log10", np.log10, _log10, 0)

logit = rule("logit", _logit_forward, _logit, saves=((0,),), promote=FLOAT, fresh=True, refuses="c")

sin = _smooth("sin", np.sin, _sin, 0)
cos = _smooth("cos", np.cos, _cos, 0)
tan = _smooth("tan", np.tan, _tan, OUT)
asin = _smooth("asin", np.arcsin, _asin, 0)
acos = _smooth("acos", np.arccos, _acos, 0)
atan = _smooth("atan", np.arctan, _atan, 0)
atan2 = rule("atan2", np.arctan2, _atan2, saves=((0, 1), (0, 1)), promote=FLOAT, fresh=True, last_first=True)

sinh = _smooth("sinh", np.sinh, _sinh, 0)
cosh = _smooth("cosh", np.cosh, _cosh, 0)
tanh = _smooth("tanh", np.tanh, _tanh, OUT)
asinh = _smooth("asinh", np.arcsinh, _asinh, 0)
acosh = _smooth("acosh", np.arccosh, _acosh, 0)
atanh = _smooth("atanh", np.arctanh, _atanh, 0)

round = rule("round", _round_forward, _flat)
floor = rule("floor", np.floor, _flat)
ceil = rule("ceil", np.ceil, _flat)
trunc = rule("trunc", np.trunc, _flat)
frac = rule("frac", _frac_forward, _pass)
