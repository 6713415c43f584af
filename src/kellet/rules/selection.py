"""Comparisons, logic and bits; and choosing between values: where, maximum and minimum, clamp, masks.

Comparisons have no derivatives: their results are steps.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import kernels
from .rule import SAME, rule

# --- comparisons, logic and bits ------------------------------------------------------------------


eq = rule("eq", np.equal, promote=SAME)
ne = rule("ne", np.not_equal, promote=SAME)
lt = rule("lt", np.less, promote=SAME, refuses="c")
le = rule("le", np.less_equal, promote=SAME, refuses="c")
gt = rule("gt", np.greater, promote=SAME, refuses="c")
ge = rule("ge", np.greater_equal, promote=SAME, refuses="c")

isnan = rule("isnan", np.isnan)
isinf = rule("isinf", np.isinf)
isfinite = rule("isfinite", np.isfinite)
signbit = rule("signbit", np.signbit)

logical_not = rule("logical_not", np.logical_not)
logical_and = rule("logical_and", np.logical_and)
logical_or = rule("logical_or", np.logical_or)
logical_xor = rule("logical_xor", np.logical_xor)

bitwise_not = rule("bitwise_not", operator.invert)
bitwise_and = rule("bitwise_and", np.bitwise_and, promote=SAME)
bitwise_or = rule("bitwise_or", np.bitwise_or, promote=SAME)
bitwise_xor = rule("bitwise_xor", np.bitwise_xor, promote=SAME)
left_shift = rule("left_shift", np.left_shift, promote=SAME)
right_shift = rule("right_shift", np.right_shift, promote=SAME)


# --- keep: the values under a mask, zero elsewhere ------------------------------------------------


def _keep(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.keep(g, ctx.inputs[1]), None)


keep = rule("keep", kernels.keep, _keep, saves=((1,),), fresh=True)


# --- where and masked_fill ------------------------------------------------------------------------


def _where(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    condition = ctx.inputs[0]
    return (
        None,
        xp.keep(g, condition) if ctx.needs[1] else None,
        xp.keep(g, xp.logical_not(condition)) if ctx.needs[2] else None,
    )


def _masked_fill_forward(a: Any, mask: Any, value: Any) -> Any:
    out = np.array(np.broadcast_to(a, np.broadcast_shapes(a.shape, mask.shape)), order="K")
    np.copyto(out, value, where=mask, casting="unsafe")
    return out


def _masked_fill(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    mask = ctx.inputs[1]
    return (
        xp.keep(g, xp.logical_not(mask)) if ctx.needs[0] else None,
        None,
        xp.keep(g, mask) if ctx.needs[2] else None,
    )


where = rule("where", kernels.choose, _where, saves=((), (0,), (0,)), fresh=True)
masked_fill = rule("masked_fill", _masked_fill_forward, _masked_fill, saves=((1,), (), (1,)), fresh=True)


# --- maximum, minimum, clamp ----------------------------------------------------------------------


def _maximum(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    return _to_the_winner(xp, ctx, g, a > b, b > a, a == b)


def _minimum(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, b = ctx.inputs
    return _to_the_winner(xp, ctx, g, a < b, b < a, a == b)


def _to_the_winner(xp: Any, ctx: Any, g: Any, first: Any, second: Any, equal: Any) -> tuple[Any, ...]:
    """The gradient goes to the side that won; where both are equal each gets half of it."""
    half = xp.keep(g * 0.5, equal)
    return (
        xp.keep(g, first) + half if ctx.needs[0] else None,
        xp.keep(g, second) + half if ctx.needs[1] else None,
    )


def _clamp_forward(a: Any, low: Any, high: Any) -> Any:
    out = a
    if low is not None:
        out = np.maximum(out, low)
    if high is not None:
        out = np.minimum(out, high)
    return out


def _clamp(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """At a bound the gradient passes to the value, as in PyTorch; with crossed bounds `high` wins."""
    a, low, high = ctx.inputs
    grad_low = grad_high = None
    if ctx.needs[1]:
        below = a < low
        grad_low = xp.keep(g, below if high is None else below & (low < high))
    if ctx.needs[2]:
        above = a > high
        grad_high = xp.keep(g, above if low is None else above | (low > high))
    if not ctx.needs[0]:
        return (None, grad_low, grad_high)
    if low is None or high is None:
        inside = a <= high if low is None else a >= low
    else:
        inside = (a >= low) & (a <= high)
    return (xp.keep(g, inside), grad_low, grad_high)


BOTH: dict[str, Any] = {
    "saves": ((0, 1), (0, 1)),
    "promote": SAME,
    "refuses": "c",
    "fresh": True,
    "last_first": True,
}
maximum = rule("maximum", np.maximum, _maximum, **BOTH)
minimum = rule("minimum", np.minimum, _minimum, **BOTH)
clamp = rule("clamp", _clamp_forward, _clamp, saves=((0, 1, 2),) * 3, promote=SAME, refuses="c", fresh=True)
