"""Products: `prod` and `cumprod`, with derivatives that are right where factors are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from .levels import move_axis, restore_axes
from .rule import OUT, rule

__all__: list[str] = []


# --- prod -----------------------------------------------------------------------------------------


def _prod_forward(a: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return a.prod(axis=axis, keepdims=keepdims, dtype=a.dtype)


def _prod(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, axis = ctx.inputs[0], ctx.options.get("axis")
    g = restore_axes(xp, g, axis, a.shape)
    if xp.array(a).all():
        others = restore_axes(xp, ctx.output, axis, a.shape) / a
    elif axis is None:
        others = xp.reshape(xp.product_of_others(xp.reshape(a, shape=(-1,)), axis=0), shape=a.shape)
    else:
        others = xp.product_of_others(a, axis=axis)
    return (g * xp.conj(others),)


def _product_of_others_forward(a: Any, *, axis: int) -> Any:
    """For each element the product of all others along the axis, without a division."""
    a = np.moveaxis(a, axis, -1)
    before = np.ones_like(a)
    after = np.ones_like(a)
    np.cumprod(a[..., :-1], axis=-1, out=before[..., 1:])
    np.cumprod(a[..., :0:-1], axis=-1, out=after[..., -2::-1])
    return np.moveaxis(before * after, -1, axis)


def _product_of_others(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Row i of a square of factors has its own element replaced by 1; each row is then a product.

    Quadratic in the length, but right at every order of derivative whatever is zero.
    """
    axis = ctx.options["axis"]
    a, g = move_axis(xp, ctx.inputs[0], axis, -1), move_axis(xp, g, axis, -1)
    own = xp.constant(np.eye(a.shape[-1], dtype=bool))
    rows = xp.where(own, 1, xp.reshape(a, shape=(*a.shape[:-1], 1, a.shape[-1])))
    slopes = xp.conj(xp.product_of_others(rows, axis=a.ndim)) * xp.reshape(g, shape=(*g.shape, 1))
    total = xp.sum(xp.keep(slopes, xp.logical_not(own)), axis=(a.ndim - 1,))
    return (move_axis(xp, total, -1, axis),)


# --- cumprod --------------------------------------------------------------------------------------


def _cumprod_forward(a: Any, *, axis: int) -> Any:
    return np.cumprod(a, axis=axis, dtype=a.dtype)


def _cumprod(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, axis = ctx.inputs[0], ctx.options["axis"]
    if xp.array(a).all():
        terms = xp.flip(g * xp.conj(ctx.output), axis=(axis,))
        return (xp.flip(xp.cumsum(terms, axis=axis), axis=(axis,)) / xp.conj(a),)
    return (_cumprod_with_zeros(xp, a, g, axis),)


def _cumprod_with_zeros(xp: Any, a: Any, g: Any, axis: int) -> Any:
    """Row i of a square holds the factors up to i and ones behind them; each row is then a product."""
    a, g = move_axis(xp, a, axis, -1), move_axis(xp, g, axis, -1)
    reached = xp.constant(np.tri(a.shape[-1], dtype=bool))
    rows = xp.where(reached, xp.reshape(a, shape=(*a.shape[:-1], 1, a.shape[-1])), 1)
    slopes = xp.conj(xp.product_of_others(rows, axis=a.ndim)) * xp.reshape(g, shape=(*g.shape, 1))
    total = xp.sum(xp.keep(slopes, reached), axis=(a.ndim - 1,))
    return move_axis(xp, total, -1, axis)


prod = rule("prod", _prod_forward, _prod, saves=((0, OUT),), fresh=True)
product_of_others = rule(
    "product_of_others", _product_of_others_forward, _product_of_others, saves=((0,),), fresh=True
)
cumprod = rule("cumprod", _cumprod_forward, _cumprod, saves=((0, OUT),), fresh=True)
