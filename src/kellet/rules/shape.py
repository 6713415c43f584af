"""Shapes: views with other axes, parts taken and joined, diagonals and sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import SAME, rule

# --- axes -----------------------------------------------------------------------------------------


def _reshape_forward(a: Any, *, shape: tuple[int, ...]) -> Any:
    return a.reshape(shape)


def _reshape(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.reshape(g, shape=ctx.shapes[0]),)


def _expand_forward(a: Any, *, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(a, shape)


def _expand(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.sum_to(g, shape=ctx.shapes[0]),)


def _transpose_forward(a: Any, *, axes: tuple[int, ...]) -> Any:
    return a.transpose(axes)


def _transpose(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axes = ctx.options["axes"]
    back = [0] * len(axes)
    for to, source in enumerate(axes):
        back[source] = to
    return (xp.permute(g, axes=tuple(back)),)


reshape = rule("reshape", _reshape_forward, _reshape, shapes=True, view=True, label="ViewBackward0")
expand = rule("expand", _expand_forward, _expand, shapes=True, view=True)
permute = rule("permute", _transpose_forward, _transpose, view=True)


Widths = tuple[tuple[int, int], ...]


# --- together -------------------------------------------------------------------------------------


def _cat_forward(*arrays: Any, axis: int) -> Any:
    return np.concatenate(arrays, axis=axis)


def _cat(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axis, start, pieces = ctx.options["axis"], 0, []
    for shape, need in zip(ctx.shapes, ctx.needs, strict=True):
        length = shape[axis]
        pieces.append(xp.narrow(g, axis=axis, start=start, length=length) if need else None)
        start += length
    return tuple(pieces)


def _stack_forward(*arrays: Any, axis: int) -> Any:
    return np.stack(arrays, axis=axis)


def _stack(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axis = ctx.options["axis"]
    return tuple(xp.select(g, axis=axis, index=i) if need else None for i, need in enumerate(ctx.needs))


# --- apart ----------------------------------------------------------------------------------------


def _split_forward(a: Any, *, sizes: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(_narrow_forward(a, axis=axis, start=start, length=size))
        start += size
    return tuple(pieces)


def _split(xp: Any, ctx: Any, *grads: Any) -> tuple[Any, ...]:
    return (xp.cat(*grads, axis=ctx.options["axis"]),)


def _unbind_forward(a: Any, *, axis: int) -> tuple[Any, ...]:
    return tuple(np.moveaxis(a, axis, 0)[i, ...] for i in range(a.shape[axis]))


def _unbind(xp: Any, ctx: Any, *grads: Any) -> tuple[Any, ...]:
    return (xp.stack(*grads, axis=ctx.options["axis"]),)


def _narrow_forward(a: Any, *, axis: int, start: int, length: int) -> Any:
    return a[(slice(None),) * axis + (slice(start, start + length),)]


def _narrow(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    axis, start = ctx.options["axis"], ctx.options["start"]
    behind = ctx.shapes[0][axis] - start - ctx.options["length"]
    widths = tuple((start, behind) if i == axis else (0, 0) for i in range(g.ndim))
    return (xp.pad(g, widths=widths),)


def _select_forward(a: Any, *, axis: int, index: int) -> Any:
    return a[(slice(None),) * axis + (index, ...)]


def _select(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    shape, axis, index = ctx.shapes[0], ctx.options["axis"], ctx.options["index"]
    g = xp.reshape(g, shape=(*shape[:axis], 1, *shape[axis + 1 :]))
    widths = tuple((index, shape[axis] - index - 1) if i == axis else (0, 0) for i in range(len(shape)))
    return (xp.pad(g, widths=widths),)


# --- at the edges ---------------------------------------------------------------------------------


def _pad_forward(a: Any, *, widths: Widths, value: float = 0.0) -> Any:
    """Put `value` around `a`: a pair of widths per axis; a negative width cuts off instead."""
    inner = tuple(
        slice(max(0, -before), length - max(0, -after))
        for length, (before, after) in zip(a.shape, widths, strict=True)
    )
    a = a[inner]
    shape = tuple(
        length + max(0, before) + max(0, after)
        for length, (before, after) in zip(a.shape, widths, strict=True)
    )
    out = np.zeros(shape, dtype=a.dtype) if value == 0 else np.full(shape, value, dtype=a.dtype)
    out[
        tuple(
            slice(max(0, before), max(0, before) + length)
            for length, (before, _) in zip(a.shape, widths, strict=True)
        )
    ] = a
    return out


def _pad(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    """What was put around is cut off, what was cut off comes back as zeros."""
    return (xp.pad(g, widths=tuple((-before, -after) for before, after in ctx.options["widths"])),)


# --- turned ---------------------------------------------------------------------------------------


def _flip_forward(a: Any, *, axis: tuple[int, ...]) -> Any:
    return np.ascontiguousarray(np.flip(a, axis))


def _flip(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.flip(g, axis=ctx.options["axis"]),)


def _roll_forward(a: Any, *, shifts: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    return np.roll(a, shifts, axis)


def _roll(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    back = tuple(-shift for shift in ctx.options["shifts"])
    return (xp.roll(g, shifts=back, axis=ctx.options["axis"]),)


cat = rule("cat", _cat_forward, _cat, shapes=True, promote=SAME)
stack = rule("stack", _stack_forward, _stack, promote=SAME)
split = rule("split", _split_forward, _split, outputs=None, view=True, fresh=True)
unbind = rule("unbind", _unbind_forward, _unbind, outputs=None, view=True, fresh=True)
narrow = rule("narrow", _narrow_forward, _narrow, shapes=True, view=True, fresh=True)
select = rule("select", _select_forward, _select, shapes=True, view=True, fresh=True)
pad = rule("pad", _pad_forward, _pad, fresh=True, label="ConstantPadNdBackward0")
flip = rule("flip", _flip_forward, _flip, fresh=True)
roll = rule("roll", _roll_forward, _roll, fresh=True)


# --- diagonals ------------------------------------------------------------------------------------


def _diagonal_forward(a: Any, *, offset: int, axes: tuple[int, int]) -> Any:
    """The diagonal over two axes, as a new last axis."""
    view = np.diagonal(a, offset, *axes)
    view.flags.writeable = a.flags.writeable
    return view


def _diagonal(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.spread_diagonal(g, shape=ctx.shapes[0], **ctx.options),)


def _spread_diagonal_forward(a: Any, *, shape: tuple[int, ...], offset: int, axes: tuple[int, int]) -> Any:
    """Zeros of `shape` with `a` on the diagonal."""
    out = np.zeros(shape, dtype=a.dtype)
    _diagonal_forward(out, offset=offset, axes=axes)[...] = a
    return out


def _spread_diagonal(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.diagonal(g, offset=ctx.options["offset"], axes=ctx.options["axes"]),)


# --- windows --------------------------------------------------------------------------------------


def _windows_forward(a: Any, *, axis: int, size: int, step: int) -> Any:
    """Windows of `size` elements, `step` apart, along the axis; their elements are a new last axis."""
    view = np.lib.stride_tricks.sliding_window_view(a, size, axis, writeable=bool(a.flags.writeable))
    return view[(slice(None),) * axis + (slice(None, None, step),)]


def _windows(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    length = ctx.shapes[0][ctx.options["axis"]]
    return (xp.spread_windows(g, length=length, **ctx.options),)


def _spread_windows_forward(a: Any, *, length: int, axis: int, size: int, step: int) -> Any:
    """Add windows up in an axis of `length`, where they overlap."""
    count = a.shape[axis]
    out = np.zeros((*a.shape[:axis], length, *a.shape[axis + 1 : -1]), dtype=a.dtype)
    for k in range(size):
        places = (slice(None),) * axis + (slice(k, k + step * (count - 1) + 1, step),)
        out[places] += a[..., k]
    return out


def _spread_windows(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.windows(g, **{name: ctx.options[name] for name in ("axis", "size", "step")}),)


diagonal = rule("diagonal", _diagonal_forward, _diagonal, shapes=True, view=True, fresh=True)
spread_diagonal = rule("spread_diagonal", _spread_diagonal_forward, _spread_diagonal)
windows = rule(
    "windows", _windows_forward, _windows, shapes=True, view=True, fresh=True, label="UnfoldBackward0"
)
spread_windows = rule("spread_windows", _spread_windows_forward, _spread_windows)
