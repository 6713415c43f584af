"""Views that step through memory in a way of their own: diagonals and sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rule import rule

__all__: list[str] = []


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
