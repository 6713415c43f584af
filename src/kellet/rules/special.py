"""The error function and GELU, which is built on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import error_function
from .rule import FLOAT, rule

TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_ZERO = 1.0 / math.sqrt(2.0 * math.pi)
ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715
BLOCK = error_function.BLOCK


def _erf(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g * TWO_OVER_ROOT_PI * xp.exp(-(a * a)),)


def _erfc(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (g * -TWO_OVER_ROOT_PI * xp.exp(-(a * a)),)


# --- GELU: a * P(X <= a) for a standard normal X --------------------------------------------------


def _gelu_forward(kept: dict[str, Any] | None, a: Any) -> Any:
    """A block at a time, which stays in the cache from the first step to the last."""
    flat = np.ascontiguousarray(a).reshape(-1)
    out = np.empty_like(flat)
    share = None if kept is None else np.empty_like(flat)
    for start in range(0, flat.size, BLOCK):
        block = slice(start, start + BLOCK)
        part = error_function.erf(flat[block] * ROOT_HALF)
        part += 1
        part *= 0.5
        np.multiply(flat[block], part, out=out[block])
        if share is not None:
            share[block] = part
    if kept is not None and share is not None:
        kept["share"] = share.reshape(a.shape)
    return out.reshape(a.shape)


def _gelu(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    if xp.raw:
        return (_gelu_of_arrays(a, ctx.kept["share"], g),)
    share = (xp.erf(a * ROOT_HALF) + 1) * 0.5
    density = xp.exp(a * a * -0.5) * DENSITY_AT_ZERO
    return (g * (share + a * density),)


def _gelu_of_arrays(a: Any, share: Any, g: Any) -> Any:
    """The same in one new array."""
    slope = np.empty_like(a)
    np.multiply(a, a, out=slope)
    slope *= -0.5
    np.exp(slope, out=slope)
    slope *= DENSITY_AT_ZERO
    slope *= a
    slope += share
    return np.multiply(slope, g, out=slope)


def _gelu_tanh_forward(kept: dict[str, Any] | None, a: Any) -> Any:
    bend = np.tanh((a + a * a * a * CUBIC) * ROOT_TWO_OVER_PI)
    if kept is not None:
        kept["bend"] = bend
    return a * (bend + 1) * 0.5


def _gelu_tanh(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    bend = ctx.kept["bend"] if xp.raw else xp.tanh((a + a * a * a * CUBIC) * ROOT_TWO_OVER_PI)
    slope = (a * a * (3 * CUBIC) + 1) * ROOT_TWO_OVER_PI
    return (g * ((bend + 1) * 0.5 + a * (1 - bend * bend) * slope * 0.5),)


SMOOTH: dict[str, Any] = {"saves": ((0,),), "promote": FLOAT, "fresh": True}
erf = rule("erf", error_function.erf, _erf, **SMOOTH)
erfc = rule("erfc", error_function.erfc, _erfc, **SMOOTH)
gelu = rule("gelu", _gelu_forward, _gelu, keeps=True, **SMOOTH)
gelu_tanh = rule("gelu_tanh", _gelu_tanh_forward, _gelu_tanh, keeps=True, **SMOOTH)
