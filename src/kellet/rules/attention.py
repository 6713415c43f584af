"""Scaled dot-product attention in one step: scores, softmax and the weighted sum of the values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .kernels import as_rows, row_dots
from .levels import move_axis
from .rule import rule
from .softmax import shared_top, softmax_rows

MOST = 2**18
"""Scores worked on at a time: a megabyte in single precision, which stays in the cache."""


def _attention_forward(
    kept: dict[str, Any] | None,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    *,
    scale: float,
    allowed: Any = None,
    dropped: Any = None,
) -> Any:
    """`softmax(query @ key.T * scale + bias) @ value` over the last two axes.

    `allowed` is a bool array that broadcasts to the scores, False where a query must not look; a
    query that may attend to nothing gets zeros. `dropped` multiplies the weights after the softmax.

    A few heads at a time, so that their scores stay in the cache from the first step to the last; all
    of them at once are made only where the derivative will want them.
    """
    given = [a for a in (query, key, value, bias, allowed) if a is not None]
    lead = np.broadcast_shapes(*[a.shape[:-2] for a in given])
    square = (query.shape[-2], key.shape[-2])
    dtype = np.result_type(query, key) if bias is None else np.result_type(query, key, bias)
    refused = None if allowed is None else ~allowed
    query_parts, key_parts, value_parts = (_spread(a, (*lead, *a.shape[-2:])) for a in (query, key, value))
    bias_parts, refused_parts, nowhere_parts, dropped_parts = (
        None if mask is None else _spread(mask, (*lead, *square))
        for mask in (bias, refused, _nowhere(bias, allowed), dropped)
    )
    masks = (bias_parts, refused_parts, nowhere_parts)
    out = _empty_like(query, (*lead, square[0], value.shape[-1]), np.result_type(dtype, value))
    blocks = list(_blocks(lead, MOST // max(1, math.prod(square))))
    # For all weights where the derivative will want them, else of the first block, the largest.
    room = np.empty((*(query_parts[blocks[0]] if kept is None else query_parts).shape[:-1], square[1]), dtype)
    for block in blocks:
        part = query_parts[block] * scale
        weights = room[: len(part)] if kept is None else room[block]
        np.matmul(part, key_parts[block].swapaxes(-1, -2), out=weights)
        _to_weights(weights, *[None if mask is None else mask[block] for mask in masks])
        used = weights if dropped_parts is None else weights * dropped_parts[block]
        np.matmul(used, value_parts[block], out=out[block])
    if kept is not None:
        kept["weights"] = room
    return out


def _to_weights(scores: Any, bias: Any, refused: Any, nowhere: Any) -> None:
    """Bias, masks and softmax, in place."""
    if bias is not None:
        scores += bias
    rows = as_rows(scores)
    top = shared_top(rows)
    if refused is not None:
        np.copyto(scores, -np.inf, where=refused)
    softmax_rows(rows, out=rows, top=top)
    if nowhere is not None:
        np.copyto(scores, 0, where=nowhere)


def _blocks(lead: tuple[int, ...], most: int) -> Iterator[tuple[Any, ...]]:
    """Indexes that cut the leading axes into blocks of at most `most` matrices, or of one."""
    most, inner, axes = max(1, most), math.prod(lead), 0
    while inner > most:
        inner //= lead[axes]
        axes += 1
    if not axes:
        yield ()
        return
    for outer in np.ndindex(*lead[: axes - 1]):
        for start in range(0, lead[axes - 1], most // inner):
            yield (*outer, slice(start, start + most // inner))


def _spread(a: Any, shape: tuple[int, ...]) -> Any:
    return a if a.shape == shape else np.broadcast_to(a, shape)


def _nowhere(bias: Any, allowed: Any) -> Any:
    """Which queries may attend to nothing: a bool array `(..., queries, 1)`, or None when there is none."""
    nowhere = np.zeros((1, 1), dtype=bool)
    if bias is not None:
        nowhere = nowhere | (np.isneginf(bias).all(axis=-1, keepdims=True))
    if allowed is not None:
        nowhere = nowhere | ~allowed.any(axis=-1, keepdims=True)
    return nowhere if nowhere.any() else None


def _attention(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    query, key, value, bias = ctx.inputs
    scale, dropped = ctx.options["scale"], ctx.options.get("dropped")
    weights = ctx.kept["weights"] if xp.raw else _weights(xp, query, key, bias, ctx.options)
    used = weights if dropped is None else weights * xp.constant(dropped)
    grad_value = _times(xp, _turned(xp, used), g, key) if ctx.needs[2] else None
    if not any(ctx.needs[i] for i in (0, 1, 3)):
        return (None, None, grad_value, None)
    slope = g @ _turned(xp, value)
    if dropped is not None:
        slope = slope * xp.constant(dropped)
    slope = _through_softmax(xp, slope, weights)
    scaled = slope * scale if ctx.needs[3] or not xp.raw else np.multiply(slope, scale, out=slope)
    return (
        _times(xp, scaled, key, query) if ctx.needs[0] else None,
        _times(xp, _turned(xp, scaled), query, key) if ctx.needs[1] else None,
        grad_value,
        slope if ctx.needs[3] else None,
    )


def _weights(xp: Any, query: Any, key: Any, bias: Any, options: dict[str, Any]) -> Any:
    """The weights once more, for a graph to run through them."""
    scores = (query * options["scale"]) @ _turned(xp, key)
    allowed = options.get("allowed")
    nowhere = _nowhere(None if bias is None else xp.array(bias), allowed)
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = xp.where(xp.constant(allowed), scores, -np.inf)
    if nowhere is None:
        return xp.softmax(scores, axis=scores.ndim - 1)
    softmax = xp.softmax(xp.where(xp.constant(nowhere), 0.0, scores), axis=scores.ndim - 1)
    return xp.keep(softmax, xp.constant(np.broadcast_to(~nowhere, scores.shape)))


def _times(xp: Any, a: Any, b: Any, like: Any) -> Any:
    return _product(a, b, like) if xp.raw else a @ b


def _product(a: Any, b: Any, like: Any) -> Any:
    """The matrix product, laid out like `like`."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    return np.matmul(a, b, out=_empty_like(like, shape, np.result_type(a, b)))


def _empty_like(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A new array whose axes lie in memory in the order of those of `like`, where there are as many.

    Heads are usually a view of `(batch, length, heads, width)`: laid out the same way, results go back
    to that shape without a copy.
    """
    return np.empty(shape, dtype) if len(shape) != like.ndim else np.empty_like(like, dtype, shape=shape)


def _through_softmax(xp: Any, slope: Any, weights: Any) -> Any:
    """The gradient of the scores from that of the weights; on arrays written into `slope`."""
    if not xp.raw:
        return weights * (slope - xp.sum(slope * weights, axis=(slope.ndim - 1,), keepdims=True))
    slope -= row_dots(as_rows(slope), as_rows(weights)).reshape(*slope.shape[:-1], 1)
    slope *= weights
    return slope


def _turned(xp: Any, a: Any) -> Any:
    return move_axis(xp, a, -1, -2)


attention = rule(
    "attention",
    _attention_forward,
    _attention,
    saves=((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 3), (0, 1, 2, 3)),
    keeps=True,
    fresh=True,
    label="ScaledDotProductAttentionBackward0",
)
