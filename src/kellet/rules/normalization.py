"""Layer normalization and batch normalization.

Both subtract a mean, divide by a deviation, then scale and shift. Both derivatives are the same three
terms: the gradient, minus its mean, minus its share along the normalized values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import as_rows, column_sums, row_dots, row_sums
from .rule import rule

# --- layer normalization: over the last axes ------------------------------------------------------


def _layer_norm_forward(
    kept: dict[str, Any] | None, a: Any, weight: Any, bias: Any, *, axes: int, eps: float
) -> Any:
    """Normalize over the last `axes` axes, which `weight` and `bias` have the shape of."""
    rows = as_rows(a, axes)
    length = a.dtype.type(rows.shape[1])
    normed = rows - row_sums(rows) / length
    scale = 1 / np.sqrt(row_dots(normed, normed) / length + a.dtype.type(eps))
    normed *= scale
    out = normed if kept is None else np.empty_like(normed)
    if kept is not None:
        kept["normed"], kept["scale"] = normed, scale
    np.multiply(normed, 1 if weight is None else weight.reshape(-1), out=out)
    if bias is not None:
        out += bias.reshape(-1)
    return out.reshape(a.shape)


def _layer_norm(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    if xp.raw:
        return _layer_norm_of_arrays(ctx, g)
    axes = ctx.options["axes"]
    first, last = tuple(range(g.ndim - axes)), tuple(range(g.ndim - axes, g.ndim))
    grad_bias = xp.sum(g, axis=first) if ctx.needs[2] else None
    if not (ctx.needs[0] or ctx.needs[1]):
        return (None, None, grad_bias)
    a, weight, _ = ctx.inputs
    centred = a - xp.mean(a, axis=last, keepdims=True)
    scale = xp.rsqrt(xp.mean(centred * centred, axis=last, keepdims=True) + ctx.options["eps"])
    normed = centred * scale
    weighted = g if weight is None else g * weight
    return (
        _normalized(xp, weighted, normed, scale, last) if ctx.needs[0] else None,
        xp.sum(g * normed, axis=first) if ctx.needs[1] else None,
        grad_bias,
    )


def _layer_norm_of_arrays(ctx: Any, g: Any) -> tuple[Any, ...]:
    """The same on arrays, with sums through BLAS and what forward kept."""
    normed, scale = ctx.kept["normed"], ctx.kept["scale"]
    rows = as_rows(g, ctx.options["axes"])
    inner = g.shape[g.ndim - ctx.options["axes"] :]
    grad = grad_weight = None
    along = rows * normed if ctx.needs[1] else np.empty_like(normed)
    if ctx.needs[1]:
        grad_weight = column_sums(along).reshape(inner)
    if ctx.needs[0]:
        weight = ctx.inputs[1]
        length = g.dtype.type(rows.shape[1])
        grad = rows.copy() if weight is None else rows * weight.reshape(-1)
        mean, share = row_sums(grad) / length, row_dots(grad, normed) / length
        grad -= np.multiply(normed, share, out=along)
        grad -= mean
        grad *= scale
        grad = grad.reshape(g.shape)
    return (grad, grad_weight, column_sums(rows).reshape(inner) if ctx.needs[2] else None)


# --- batch normalization: over all axes but the channels ------------------------------------------


def _batch_norm_forward(
    a: Any, weight: Any, bias: Any, *, mean: Any, var: Any, eps: float, of_batch: bool
) -> Any:
    """Normalize each channel (axis 1) by the mean and variance given.

    `of_batch` says that they were taken from `a` itself, so that they move with it.
    """
    shape = _of_channels(a)
    scale = 1 / np.sqrt(var + a.dtype.type(eps))
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    out = a * scale.reshape(shape)
    out += shift.reshape(shape)
    return out


def _batch_norm(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    options, shape = ctx.options, _of_channels(g)
    others = (0, *range(2, g.ndim))
    grad_bias = xp.sum(g, axis=others) if ctx.needs[2] else None
    if not (ctx.needs[0] or ctx.needs[1]):
        return (None, None, grad_bias)
    a, weight, _ = ctx.inputs
    mean, scale = _statistics(xp, a, options, others, shape)
    normed = (a - mean) * scale
    if xp.raw:
        return (*_batch_norm_of_arrays(ctx, g, normed, scale), grad_bias)
    grad = None
    if ctx.needs[0]:
        weighted = g if weight is None else g * xp.reshape(weight, shape=shape)
        grad = _normalized(xp, weighted, normed, scale, others) if options["of_batch"] else weighted * scale
    return (
        grad,
        xp.sum(g * normed, axis=others) if ctx.needs[1] else None,
        grad_bias,
    )


def _batch_norm_of_arrays(ctx: Any, g: Any, normed: Any, scale: Any) -> tuple[Any, Any]:
    """The same on arrays: three numbers per channel, and as few new arrays as can be."""
    weight, shape = ctx.inputs[1], _of_channels(g)
    others = (0, *range(2, g.ndim))
    along = (g * normed).sum(axis=others)
    grad = None
    if ctx.needs[0]:
        factor = scale if weight is None else scale * weight.reshape(shape)
        grad = g * factor
        if ctx.options["of_batch"]:
            count = g.dtype.type(g.size // g.shape[1])
            normed *= factor * along.reshape(shape) / count
            grad -= normed
            grad -= factor * g.sum(axis=others).reshape(shape) / count
    return (grad, along if ctx.needs[1] else None)


def _statistics(
    xp: Any, a: Any, options: dict[str, Any], others: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """Mean and reciprocal deviation per channel: computed anew only where a graph has to run through them."""
    if xp.raw or not options["of_batch"]:
        mean, var = (xp.constant(options[name].reshape(shape)) for name in ("mean", "var"))
    else:
        mean = xp.mean(a, axis=others, keepdims=True)
        var = xp.var(a, axis=others, correction=0, keepdims=True)
    return mean, xp.rsqrt(var + options["eps"])


def _of_channels(a: Any) -> tuple[int, ...]:
    return (1, -1, *(1,) * (a.ndim - 2))


def _normalized(xp: Any, g: Any, normed: Any, scale: Any, axis: tuple[int, ...]) -> Any:
    """The gradient of `(a - mean) * scale` where mean and scale belong to `a`."""
    mean = xp.mean(g, axis=axis, keepdims=True)
    share = xp.mean(g * normed, axis=axis, keepdims=True)
    return (g - mean - normed * share) * scale


layer_norm = rule(
    "layer_norm",
    _layer_norm_forward,
    _layer_norm,
    saves=((0, 1), (0,)),
    keeps=True,
    fresh=True,
    label="NativeLayerNormBackward0",
)
batch_norm = rule(
    "batch_norm",
    _batch_norm_forward,
    _batch_norm,
    saves=((0, 1), (0,)),
    label="NativeBatchNormBackward0",
)
