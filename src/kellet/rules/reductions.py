"""Reductions that add or multiply: sum, mean, variance, norms, logsumexp, prod; and the running ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .kernels import Array
from .levels import count_of, move_axis, restore_axes, zeros_like
from .rule import OUT, rule

Axis = tuple[int, ...] | None


# --- sums -----------------------------------------------------------------------------------------


def total(a: Array, axis: Axis, keepdims: bool = False) -> Any:
    """Return the sum over `axis` in the dtype of `a`; half precision is added up in single."""
    if a.dtype == np.float16:
        return a.sum(axis=axis, keepdims=keepdims, dtype=np.float32).astype(np.float16)
    return a.sum(axis=axis, keepdims=keepdims, dtype=a.dtype)


def _sum_forward(a: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
    return total(a, axis, keepdims)


def _sum(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    shape = ctx.shapes[0]
    return (xp.expand(restore_axes(xp, g, ctx.options.get("axis"), shape), shape=shape),)


def _sum_to_forward(a: Any, *, shape: tuple[int, ...]) -> Any:
    """Undo broadcasting: sum `a` until it has `shape`."""
    lead = a.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(shape) if n == 1 and a.shape[lead + i] != 1
    )
    return np.asarray(total(a, axes)).reshape(shape) if axes else a


def _sum_to(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.expand(g, shape=ctx.shapes[0]),)


sum = rule("sum", _sum_forward, _sum, shapes=True)
sum_to = rule("sum_to", _sum_to_forward, _sum_to, shapes=True)


# --- mean, variance, standard deviation -----------------------------------------------------------


def _mean_forward(a: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
    # A half-precision sum may overflow where the mean does not.
    kind = np.float32 if a.dtype == np.float16 else a.dtype.type
    found = a.sum(axis=axis, keepdims=keepdims, dtype=kind) / kind(count_of(a.shape, axis))
    return found.astype(a.dtype, copy=False)


def _mean(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    shape, axis = ctx.shapes[0], ctx.options.get("axis")
    share = restore_axes(xp, g, axis, shape) / count_of(shape, axis)
    return (xp.expand(share, shape=shape),)


def _var_forward(a: Any, *, axis: Axis = None, correction: float = 1, keepdims: bool = False) -> Any:
    centred = a - _mean_forward(a, axis=axis, keepdims=True)
    squares = np.square(centred) if a.dtype.kind != "c" else (centred * centred.conj()).real
    degrees = max(0, count_of(a.shape, axis) - correction)
    return total(squares, axis, keepdims) / squares.dtype.type(degrees)


def _var(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, axis = ctx.inputs[0], ctx.options.get("axis")
    degrees = max(0, count_of(a.shape, axis) - ctx.options.get("correction", 1))
    slope = restore_axes(xp, g, axis, a.shape) * (2 / degrees if degrees else math.inf)
    return (slope * (a - xp.mean(a, axis=axis, keepdims=True)),)


def _std_forward(a: Any, *, axis: Axis = None, correction: float = 1, keepdims: bool = False) -> Any:
    return np.sqrt(_var_forward(a, axis=axis, correction=correction, keepdims=keepdims))


def _std(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """Zero where the deviation is zero, as in PyTorch."""
    shape, axis = ctx.inputs[0].shape, ctx.options.get("axis")
    out = restore_axes(xp, ctx.output, axis, shape)
    flat = out == 0
    slope = restore_axes(xp, g, axis, shape) / (out * 2 + flat)
    return _var(xp, ctx, xp.keep(slope, xp.logical_not(flat)))


def _var_mean_forward(a: Any, **options: Any) -> tuple[Any, Any]:
    folded = {name: value for name, value in options.items() if name != "correction"}
    return _var_forward(a, **options), _mean_forward(a, **folded)


def _var_mean(xp: Any, ctx: Any, g_var: Any, g_mean: Any) -> tuple[Any, ...]:
    return (_var(xp, ctx, g_var)[0] + _mean(xp, ctx, g_mean)[0],)


def _std_mean_forward(a: Any, **options: Any) -> tuple[Any, Any]:
    variance, mean = _var_mean_forward(a, **options)
    return np.sqrt(variance), mean


def _std_mean(xp: Any, ctx: Any, g_std: Any, g_mean: Any) -> tuple[Any, ...]:
    return (_std(xp, ctx, g_std)[0] + _mean(xp, ctx, g_mean)[0],)


# --- norms ----------------------------------------------------------------------------------------


def _norm_forward(a: Any, *, ord: float = 2, axis: Axis = None, keepdims: bool = False) -> Any:
    """The vector norm of order `ord` over the axes: `sum(|a| ** ord) ** (1 / ord)` and its limits."""
    size = np.abs(a)
    fold: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return size.max(**fold)
    if ord == -math.inf:
        return size.min(**fold)
    if ord == 0:
        return (size != 0).sum(**fold).astype(size.dtype)
    if ord == 1:
        return total(size, **fold)
    if ord == 2:
        return np.sqrt(total(np.square(size), **fold))
    found = total(size**ord, **fold) ** (1 / ord)
    return found.astype(size.dtype, copy=False)


def _norm(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """At zero, where a norm has a corner, the gradient is zero, as in PyTorch."""
    a, ord, axis = ctx.inputs[0], ctx.options.get("ord", 2), ctx.options.get("axis")
    if ord == 0:
        return (zeros_like(xp, a),)
    if ord == 1:
        return (restore_axes(xp, g, axis, a.shape) * xp.sgn(a),)
    out = restore_axes(xp, ctx.output, axis, a.shape)
    g = restore_axes(xp, g, axis, a.shape)
    if abs(ord) == math.inf:
        reached = xp.abs(a) == out
        count = xp.constant(xp.array(reached).sum(axis=axis, keepdims=True, dtype=xp.array(out).dtype))
        return (xp.keep(xp.sgn(a) * (g / count), reached),)
    zero = out == 0
    if ord == 2:
        return (a * xp.keep(g / (out + zero), xp.logical_not(zero)),)
    size = xp.abs(a)
    corner = size == 0
    steep = xp.keep((size + corner) ** (ord - 1), xp.logical_not(corner))
    return (xp.sgn(a) * steep * xp.keep(g / (out + zero) ** (ord - 1), xp.logical_not(zero)),)


# --- logsumexp, cumsum, logcumsumexp --------------------------------------------------------------


def _logsumexp_forward(a: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
    top = a.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, a.dtype.type(0))
    summed = total(np.exp(a - top), axis, keepdims)
    return np.log(summed) + top.reshape(summed.shape)


def _logsumexp(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a, axis = ctx.inputs[0], ctx.options.get("axis")
    out = restore_axes(xp, ctx.output, axis, a.shape)
    return (restore_axes(xp, g, axis, a.shape) * xp.exp(a - out),)


def _cumsum_forward(a: Any, *, axis: int) -> Any:
    return np.cumsum(a, axis=axis, dtype=a.dtype)


def _cumsum(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axis = ctx.options["axis"]
    return (xp.flip(xp.cumsum(xp.flip(g, axis=(axis,)), axis=axis), axis=(axis,)),)


def _logcumsumexp_forward(a: Any, *, axis: int) -> Any:
    return np.logaddexp.accumulate(a, axis=axis).astype(a.dtype, copy=False)


def _logcumsumexp(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """On arrays by logarithms, which do not overflow; recorded, as a square of the exponentials."""
    a, out, axis = ctx.inputs[0], ctx.output, ctx.options["axis"]
    if xp.raw:
        return (_log_sum_behind(a, out, g, axis) - _log_sum_behind(a, out, -g, axis),)
    a, out, g = (move_axis(xp, value, axis, -1) for value in (a, out, g))
    lower = xp.constant(np.tri(a.shape[-1], dtype=bool))
    columns, rows = (*a.shape[:-1], 1, a.shape[-1]), (*a.shape, 1)
    share = xp.exp(xp.where(lower, xp.reshape(a, shape=columns) - xp.reshape(out, shape=rows), -math.inf))
    return (move_axis(xp, xp.sum(share * xp.reshape(g, shape=rows), axis=(a.ndim - 1,)), -1, axis),)


def _log_sum_behind(a: Any, out: Any, g: Any, axis: int) -> Any:
    """The sum over all later i of `g[i] * exp(a - out[i])`, of the positive gradients alone."""
    logs = np.flip(np.where(g > 0, np.log(np.abs(g)), -np.inf) - out, axis)
    return np.exp(np.flip(np.logaddexp.accumulate(logs, axis=axis), axis) + a).astype(a.dtype, copy=False)


mean = rule("mean", _mean_forward, _mean, shapes=True)
var = rule("var", _var_forward, _var, saves=((0,),), fresh=True)
std = rule("std", _std_forward, _std, saves=((0, OUT),), fresh=True)
var_mean = rule("var_mean", _var_mean_forward, _var_mean, saves=((0,),), outputs=2, shapes=True, fresh=True)
std_mean = rule(
    "std_mean", _std_mean_forward, _std_mean, saves=((0, OUT),), outputs=2, shapes=True, fresh=True
)
norm = rule("norm", _norm_forward, _norm, saves=((0, OUT),), label="LinalgVectorNormBackward0")
logsumexp = rule("logsumexp", _logsumexp_forward, _logsumexp, saves=((0, OUT),), fresh=True)
cumsum = rule("cumsum", _cumsum_forward, _cumsum, fresh=True)
logcumsumexp = rule("logcumsumexp", _logcumsumexp_forward, _logcumsumexp, saves=((0, OUT),), fresh=True)


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
