"""Largest and smallest values, their positions, and orders: max, amax, argmax, sort, topk.

Indexes are outputs like values, of dtype int64; they carry no gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .levels import restore_axes
from .rule import OUT, rule

INDEXES = -2  # the second output, in `saves`


# --- one axis, with positions: max, min, sort, topk -----------------------------------------------


def _max_forward(a: Any, *, axis: int, keepdims: bool = False) -> tuple[Any, Any]:
    return _at(a, a.argmax(axis=axis, keepdims=True), axis, keepdims)


def _min_forward(a: Any, *, axis: int, keepdims: bool = False) -> tuple[Any, Any]:
    return _at(a, a.argmin(axis=axis, keepdims=True), axis, keepdims)


def _at(a: Any, indexes: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
    values = np.take_along_axis(a, indexes, axis=axis)
    if keepdims:
        return values, indexes
    return values.squeeze(axis), indexes.squeeze(axis)


def _sort_forward(a: Any, *, axis: int, descending: bool = False) -> tuple[Any, Any]:
    """Equal values keep their order, in both directions; NaN counts as the largest."""
    indexes = np.argsort(np.flip(a, axis) if descending else a, axis=axis, kind="stable")
    if descending:
        indexes = np.flip(a.shape[axis] - 1 - indexes, axis).copy()
    return np.take_along_axis(a, indexes, axis=axis), indexes


def _topk_forward(a: Any, *, k: int, axis: int, largest: bool = True) -> tuple[Any, Any]:
    """The `k` largest (or smallest), the best first: a partition, then a sort of the few."""
    length = a.shape[axis]
    if 0 < k < length:
        cut = length - k if largest else k - 1
        parted = np.argpartition(a, cut, axis=axis)
        chosen = np.take(parted, range(cut, length) if largest else range(k), axis=axis)
    else:
        chosen = np.broadcast_to(_along(np.arange(k), axis, a.ndim), _resized(a.shape, axis, k))
    _, order = _sort_forward(np.take_along_axis(a, chosen, axis=axis), axis=axis, descending=largest)
    indexes = np.take_along_axis(chosen, order, axis=axis)
    return np.take_along_axis(a, indexes, axis=axis), indexes


def _along(values: Any, axis: int, ndim: int) -> Any:
    return values.reshape(tuple(-1 if i == axis else 1 for i in range(ndim)))


def _resized(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _chosen(xp: Any, ctx: Any, g: Any, _: Any) -> tuple[Any, ...]:
    """Each gradient goes back to the position its value came from; a position was chosen once at most."""
    axis, shape = ctx.options["axis"], ctx.shapes[0]
    indexes = restore_axes(xp, ctx.outputs[1], axis, shape)
    g = restore_axes(xp, g, axis, shape)
    return (xp.spread(g, indexes, axis=axis, shape=shape, unique=True),)


# --- all axes, without positions: amax, amin ------------------------------------------------------


def _amax_forward(a: Any, *, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    return a.max(axis=axis, keepdims=keepdims)


def _amin_forward(a: Any, *, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    return a.min(axis=axis, keepdims=keepdims)


def _shared(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """The gradient is shared evenly among all elements that reach the extreme."""
    a, axis = ctx.inputs[0], ctx.options.get("axis")
    reached = a == restore_axes(xp, ctx.output, axis, a.shape)
    count = xp.array(reached).sum(axis=axis, keepdims=True).astype(xp.array(g).dtype)
    g = restore_axes(xp, g, axis, a.shape)
    return (xp.keep(g / xp.constant(count), reached),)


# --- positions alone ------------------------------------------------------------------------------


def _argmax_forward(a: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return a.argmax(axis=axis, keepdims=keepdims)


def _argmin_forward(a: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    return a.argmin(axis=axis, keepdims=keepdims)


def _any_forward(a: Any, *, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    return a.any(axis=axis, keepdims=keepdims)


def _all_forward(a: Any, *, axis: tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    return a.all(axis=axis, keepdims=keepdims)


def _count_nonzero_forward(a: Any, *, axis: tuple[int, ...] | None = None) -> Any:
    return np.asarray((a != 0).sum(axis=axis))


ORDERED: dict[str, Any] = {"refuses": "c"}
"""Complex numbers have no order."""

WITH_INDEXES: dict[str, Any] = {
    **ORDERED,
    "saves": ((INDEXES,),),
    "shapes": True,
    "outputs": 2,
    "fresh": True,
}
max = rule("max", _max_forward, _chosen, **WITH_INDEXES)
min = rule("min", _min_forward, _chosen, **WITH_INDEXES)
sort = rule("sort", _sort_forward, _chosen, **WITH_INDEXES)
topk = rule("topk", _topk_forward, _chosen, **WITH_INDEXES)
amax = rule("amax", _amax_forward, _shared, saves=((0, OUT),), fresh=True, **ORDERED)
amin = rule("amin", _amin_forward, _shared, saves=((0, OUT),), fresh=True, **ORDERED)
argmax = rule("argmax", _argmax_forward, **ORDERED)
argmin = rule("argmin", _argmin_forward, **ORDERED)
any = rule("any", _any_forward)
all = rule("all", _all_forward)
count_nonzero = rule("count_nonzero", _count_nonzero_forward)
