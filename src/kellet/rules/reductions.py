"""Sums: over axes, and back over what broadcasting made."""

from __future__ import annotations

from typing import Any

import numpy as np

from .levels import restore_axes
from .rule import rule

__all__ = ["total"]

Axis = tuple[int, ...] | None


def total(a: Any, axis: Axis, keepdims: bool = False) -> Any:
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
