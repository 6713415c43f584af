"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import Array, as_rows, row_sums
from .levels import move_axis
from .rule import OUT, rule

# Exponentials of values no further than this below the largest one keep all their digits.
WIDEST = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 600.0}


def softmax_rows(rows: Array, out: Array | None = None, top: Array | None = None) -> Any:
    """Return the softmax of each row of a matrix, in a new array or in `out` (which may be `rows` itself).

    One maximum for all rows does where no value lies far below it: looking for the maximum of each
    short row takes longer than all the rest. `top` is one that `shared_top` found before some values
    became -inf. One new array at most is made, because memory that is touched for the first time
    costs more than the arithmetic.
    """
    if top is None:
        top = shared_top(rows)
    if top is None:
        top = rows.max(axis=1, keepdims=True, initial=-np.inf)
    out = np.subtract(rows, top, out=out)
    np.exp(out, out=out)
    out /= row_sums(out)
    return out


def shared_top(rows: Array) -> Any:
    """Return the largest value of all rows if it does as the maximum of each of them, else None."""
    top = rows.max(initial=-np.inf)
    return top if top - rows.min(initial=np.inf) < WIDEST.get(rows.dtype, 0.0) else None


def log_softmax_rows(rows: Array) -> Any:
    """Return the logarithm of the softmax of each row of a matrix."""
    shifted = rows - rows.max(axis=1, keepdims=True, initial=-np.inf)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def _softmax_forward(a: Any, *, axis: int) -> Any:
    last = np.moveaxis(a, axis, -1)
    return np.moveaxis(softmax_rows(as_rows(last)).reshape(last.shape), -1, axis)


def _softmax(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out, axis = ctx.output, ctx.options["axis"]
    weighted = g * out
    total = _sum_along(xp, weighted, axis)
    if not xp.raw:
        return (weighted - out * total,)
    return (np.subtract(weighted, out * total, out=weighted),)


def _log_softmax_forward(a: Any, *, axis: int) -> Any:
    last = np.moveaxis(a, axis, -1)
    return np.moveaxis(log_softmax_rows(as_rows(last)).reshape(last.shape), -1, axis)


def _log_softmax(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g - xp.exp(ctx.output) * _sum_along(xp, g, ctx.options["axis"]),)


def _sum_along(xp: Any, value: Any, axis: int) -> Any:
    """The sum along one axis, kept with length 1; by BLAS where the values are at hand."""
    if not xp.raw:
        return xp.sum(value, axis=(axis,), keepdims=True)
    last = move_axis(xp, value, axis, -1)
    return move_axis(xp, row_sums(as_rows(last)).reshape(*last.shape[:-1], 1), -1, axis)


softmax = rule("softmax", _softmax_forward, _softmax, saves=((OUT,),), fresh=True)
log_softmax = rule("log_softmax", _log_softmax_forward, _log_softmax, saves=((OUT,),), fresh=True)
