"""Reading and writing by index tensors: gather, scatter, index_select, embedding, masks.

Indexes are int64 arrays, checked and not negative. Each way of reading has its mirror image here,
`spread...`, which puts values back to where they were read from, into zeros, and adds up those that
meet: each is the derivative of the other. `a + spread(values, ...)` is scatter_add and index_add.

Where PyTorch's gather and scatter differ from NumPy's `take_along_axis`: the index array may be
shorter than the values along the other axes too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .rule import OUT, rule

BLOCK = 1 << 18  # elements added at a time: the flat index of each takes eight bytes


# --- one index per element: gather and scatter ----------------------------------------------------


def _gather_forward(a: Any, index: Any, *, axis: int) -> Any:
    return np.take_along_axis(_cut(a, index.shape, axis), index, axis=axis)


def _gather(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.spread(g, ctx.inputs[1], axis=ctx.options["axis"], shape=ctx.shapes[0]), None)


def _spread_forward(
    values: Any, index: Any, *, axis: int, shape: tuple[int, ...], unique: bool = False
) -> Any:
    """Add each value to its place in zeros of `shape`; `unique` promises that no two meet."""
    out = np.zeros(shape, dtype=values.dtype)
    values = _cut(values, index.shape, None)
    if unique:
        np.put_along_axis(_cut(out, index.shape, axis), index, values, axis=axis)
        return out
    steps = [stride // out.itemsize for stride in out.strides]
    places = index * steps[axis]
    for i, length in enumerate(index.shape):
        if i != axis:
            places += (np.arange(length) * steps[i]).reshape((-1,) + (1,) * (index.ndim - i - 1))
    np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    return out


def _spread(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (_read_back(xp, g, ctx.inputs[1], ctx.options["axis"], ctx.shapes[0]), None)


def _scatter_forward(a: Any, index: Any, values: Any, *, axis: int) -> Any:
    out = np.array(a, order="C")
    put = values if isinstance(values, int | float | complex) else _cut(values, index.shape, None)
    np.put_along_axis(_cut(out, index.shape, axis), index, put, axis=axis)
    return out


def _scatter(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """What was overwritten passes no gradient."""
    index, axis = ctx.inputs[1], ctx.options["axis"]
    return (
        xp.scatter(g, index, 0, axis=axis) if ctx.needs[0] else None,
        None,
        _read_back(xp, g, index, axis, ctx.shapes[2]) if ctx.needs[2] else None,
    )


def _read_back(xp: Any, g: Any, index: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """The gradient of values of `shape` that were written: zero for those that the index did not reach."""
    taken = xp.gather(g, index, axis=axis)
    widths = tuple((0, n - m) for n, m in zip(shape, taken.shape, strict=True))
    return xp.pad(taken, widths=widths) if any(after for _, after in widths) else taken


# --- extremes folded in at an index ---------------------------------------------------------------


def _scatter_extreme_forward(
    a: Any, index: Any, values: Any, *, axis: int, largest: bool = True, include_self: bool = True
) -> Any:
    out, values = np.array(a, order="C"), _cut(values, index.shape, None)
    part = _cut(out, index.shape, axis)
    if not include_self:
        np.put_along_axis(part, index, values, axis=axis)  # of several, one; the others are folded in below
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[axis] = index
    (np.maximum if largest else np.minimum).at(part, tuple(places), values)
    return out


def _scatter_extreme(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Equal extremes share the gradient; what stood at the index counts with `include_self` alone."""
    (a, index, values), axis = ctx.inputs, ctx.options["axis"]
    places, out = xp.array(index), xp.array(ctx.output)
    reached = xp.array(a) == out
    if not ctx.options.get("include_self", True):
        np.put_along_axis(_cut(reached, places.shape, axis), places, False, axis=axis)
    best = np.zeros(xp.array(values).shape, bool)
    taken = _cut(xp.array(values), places.shape, None)
    _cut(best, places.shape, None)[...] = taken == _gather_forward(out, places, axis=axis)
    number = reached + _spread_forward(best.astype(out.dtype), places, axis=axis, shape=out.shape)
    share = g / xp.constant(np.maximum(number, 1).astype(out.dtype))
    return (
        xp.keep(share, xp.constant(reached)) if ctx.needs[0] else None,
        None,
        xp.keep(_read_back(xp, share, index, axis, best.shape), xp.constant(best)) if ctx.needs[2] else None,
    )


# --- one index per slice: index_select, embedding -------------------------------------------------


def _index_select_forward(a: Any, index: Any, *, axis: int) -> Any:
    return np.take(a, index, axis=axis)


def _index_select(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axis = ctx.options["axis"]
    return (xp.spread_slices(g, ctx.inputs[1], axis=axis, length=ctx.shapes[0][axis]), None)


def _spread_slices_forward(values: Any, index: Any, *, axis: int, length: int) -> Any:
    rows = np.moveaxis(values, axis, 0)
    out = np.zeros((length, *rows.shape[1:]), dtype=values.dtype)
    _add_rows(out, index, rows)
    return np.moveaxis(out, 0, axis)


def _spread_slices(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.index_select(g, ctx.inputs[1], axis=ctx.options["axis"]), None)


def _embedding_forward(weight: Any, index: Any, *, padding_idx: int | None = None) -> Any:
    return weight[index]


def _embedding(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Rows are summed for each index; the row of `padding_idx` gets nothing."""
    count, width = ctx.shapes[0]
    index = xp.array(ctx.inputs[1]).reshape(-1)
    rows = xp.reshape(g, shape=(index.size, width))
    padding = ctx.options.get("padding_idx")
    if padding is not None:
        used = np.flatnonzero(index != padding)
        rows, index = xp.index_select(rows, xp.constant(used), axis=0), index[used]
    return (xp.spread_slices(rows, xp.constant(index), axis=0, length=count), None)


def _add_rows(out: Any, index: Any, rows: Any) -> None:
    """Add each of `rows` to the row of the C-contiguous `out` that `index` names, in place.

    One-dimensional `np.add.at` is many times as fast as that on rows.
    """
    width = math.prod(out.shape[1:])
    flat, columns = out.reshape(-1), np.arange(width)
    step = max(1, BLOCK // max(1, width))
    for start in range(0, len(index), step):
        places = index[start : start + step, None] * width + columns
        np.add.at(flat, places.reshape(-1), rows[start : start + step].reshape(-1))


# --- masks ----------------------------------------------------------------------------------------


def _masked_select_forward(a: Any, mask: Any) -> Any:
    return a[mask]


def _masked_select(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.spread_mask(g, ctx.inputs[1]), None)


def _spread_mask_forward(values: Any, mask: Any) -> Any:
    out = np.zeros(mask.shape, dtype=values.dtype)
    out[mask] = values
    return out


def _spread_mask(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.masked_select(g, ctx.inputs[1]), None)


# --- helpers --------------------------------------------------------------------------------------


def _cut(a: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    """A view of `a` no longer than `shape` along every axis but `axis`."""
    return a[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(shape))]


INDEXED: dict[str, Any] = {"saves": ((1,),), "shapes": True, "fresh": True}
gather = rule("gather", _gather_forward, _gather, **INDEXED)
spread = rule("spread", _spread_forward, _spread, **INDEXED)
scatter = rule("scatter", _scatter_forward, _scatter, saves=((1,), (), (1,)), shapes=True, fresh=True)
scatter_extreme = rule(
    "scatter_extreme",
    _scatter_extreme_forward,
    _scatter_extreme,
    saves=((0, 1, 2, OUT),) * 3,
    fresh=True,
    label="ScatterReduceBackward0",
)
index_select = rule("index_select", _index_select_forward, _index_select, **INDEXED)
spread_slices = rule("spread_slices", _spread_slices_forward, _spread_slices, **INDEXED)
embedding = rule("embedding", _embedding_forward, _embedding, **INDEXED)
masked_select = rule("masked_select", _masked_select_forward, _masked_select, **INDEXED)
spread_mask = rule("spread_mask", _spread_mask_forward, _spread_mask, **INDEXED)
