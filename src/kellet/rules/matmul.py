"""Matrix products.

Vectors are matrices with one row or one column. Leading axes broadcast; where only the left side has
some, they are folded into its rows: one product instead of many, and a gradient of the right side
that needs no summing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .levels import move_axis
from .rule import SAME, rule

__all__: list[str] = []

Shape = tuple[int, ...]


def _matmul_forward(a: Any, b: Any) -> Any:
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return np.matmul(rows, b).reshape(*a.shape[:-1], b.shape[-1])
    return np.matmul(a, b)


def _matmul(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    left, right = ctx.shapes
    if len(left) > 1 and len(right) < 3:
        return _folded(xp, ctx, g, left, right)
    return _batched(xp, ctx, g, left, right)


def _folded(xp: Any, ctx: Any, g: Any, left: Shape, right: Shape) -> tuple[Any, ...]:
    """Matrices of any number times one matrix (or vector)."""
    inner, columns = right[0], right[1] if len(right) == 2 else 1
    rows = math.prod(left[:-1])
    g = xp.reshape(g, shape=(rows, columns))
    grad_a = grad_b = None
    if ctx.needs[0]:
        b = xp.reshape(ctx.inputs[1], shape=(inner, columns))
        grad_a = xp.reshape(g @ _turned(xp, b), shape=left)
    if ctx.needs[1]:
        a = xp.reshape(ctx.inputs[0], shape=(rows, inner))
        grad_b = xp.reshape(_turned(xp, a) @ g, shape=right)
    return (grad_a, grad_b)


def _batched(xp: Any, ctx: Any, g: Any, left: Shape, right: Shape) -> tuple[Any, ...]:
    """Batch axes that broadcasting made are summed by the caller, but not past a vector's missing axis."""
    as_row, as_column = len(left) == 1, len(right) == 1
    lead = g.shape[: g.ndim - 2 + as_row + as_column]
    g = xp.reshape(g, shape=(*lead, 1 if as_row else left[-2], 1 if as_column else right[-1]))
    grad_a = grad_b = None
    if ctx.needs[0]:
        b = xp.reshape(ctx.inputs[1], shape=(*right, 1)) if as_column else ctx.inputs[1]
        grad_a = g @ _turned(xp, b)
        if as_row:
            grad_a = xp.reshape(xp.sum_to(grad_a, shape=(1, *left)), shape=left)
    if ctx.needs[1]:
        a = xp.reshape(ctx.inputs[0], shape=(1, *left)) if as_row else ctx.inputs[0]
        grad_b = _turned(xp, a) @ g
        if as_column:
            grad_b = xp.reshape(xp.sum_to(grad_b, shape=(*right, 1)), shape=right)
    return (grad_a, grad_b)


def _turned(xp: Any, a: Any) -> Any:
    """The conjugate transpose over the last two axes."""
    return xp.conj(move_axis(xp, a, -1, -2))


matmul = rule("matmul", _matmul_forward, _matmul, saves=((1,), (0,)), shapes=True, promote=SAME, fresh=True)
