"""Reductions that weigh what they fold: mean, variance, norms, logsumexp; and the running sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .levels import count_of, restore_axes, zeros_like
from .reductions import total
from .rule import OUT, rule

__all__: list[str] = []

Axis = tuple[int, ...] | None


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


# --- logsumexp, cumsum ----------------------------------------------------------------------------


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


mean = rule("mean", _mean_forward, _mean, shapes=True)
var = rule("var", _var_forward, _var, saves=((0,),), fresh=True)
std = rule("std", _std_forward, _std, saves=((0, OUT),), fresh=True)
norm = rule("norm", _norm_forward, _norm, saves=((0, OUT),), label="LinalgVectorNormBackward0")
logsumexp = rule("logsumexp", _logsumexp_forward, _logsumexp, saves=((0, OUT),), fresh=True)
cumsum = rule("cumsum", _cumsum_forward, _cumsum, fresh=True)
