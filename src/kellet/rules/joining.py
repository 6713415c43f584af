"""Putting arrays together and taking them apart: cat, stack, split, unbind, narrow, pad, flip, roll."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import SAME, rule

__all__: list[str] = []

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
