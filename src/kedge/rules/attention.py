"""Scaled dot-product attention in one step: scores, softmax and the weighted sum of the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .levels import move_axis
from .rows import as_rows, row_dots
from .rule import rule
from .softmax import softmax_rows

__all__: list[str] = []


def _attention_forward(
    kept: dict[str, Any],
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
    query that may look nowhere gets zeros. `dropped` multiplies the weights after the softmax.
    """
    scores = np.matmul(query, key.swapaxes(-1, -2))
    scores *= scale
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = np.where(allowed, scores, scores.dtype.type(-np.inf))
    rows = as_rows(np.ascontiguousarray(scores))
    weights = softmax_rows(rows, out=rows)
    weights = weights.reshape(scores.shape)
    nowhere = _nowhere(bias, allowed)
    if nowhere is not None:
        np.copyto(weights, 0, where=nowhere)
    kept["weights"] = weights
    return _product(weights if dropped is None else weights * dropped, value, query)


def _nowhere(bias: Any, allowed: Any) -> Any:
    """Which queries may look nowhere: a bool array `(..., queries, 1)`, or None when there is none."""
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
    """The matrix product, its axes in memory in the order of those of `like`.

    Heads are usually a view of `(batch, length, heads, width)`: laid out the same way, results go back
    to that shape without a copy.
    """
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if len(shape) != like.ndim:
        return np.matmul(a, b)
    return np.matmul(a, b, out=np.empty_like(like, dtype=np.result_type(a, b), shape=shape))


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
