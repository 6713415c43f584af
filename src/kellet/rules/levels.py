"""Small steps that derivatives of several families share; each works at both levels.

`xp` is the namespace of a level, as described in `rule.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def zeros_like(xp: Any, value: object) -> Any:
    """Return zeros of the shape and dtype of `value`, without a history."""
    array = xp.array(value)
    return xp.constant(np.zeros(array.shape, dtype=array.dtype))


def restore_axes(xp: Any, value: Any, axis: tuple[int, ...] | int | None, shape: tuple[int, ...]) -> Any:
    """Return a reduction's result or gradient with the folded axes back, each of length 1.

    `shape` is the shape before the reduction; `axis` None stands for all axes. What has them
    already (`keepdims`) comes back as it is.
    """
    if value.ndim == len(shape):
        return value
    if axis is None:
        return xp.reshape(value, shape=(1,) * len(shape))
    folded = (axis,) if isinstance(axis, int) else axis
    return xp.reshape(value, shape=tuple(1 if i in folded else n for i, n in enumerate(shape)))


def move_axis(xp: Any, value: Any, source: int, target: int) -> Any:
    """Return `value` with the axis `source` at position `target`; negative positions count from the end."""
    axes = list(range(value.ndim))
    moved = axes.pop(source)
    axes.insert(target % value.ndim, moved)
    return xp.permute(value, axes=tuple(axes))


def count_of(shape: tuple[int, ...], axis: tuple[int, ...] | int | None) -> int:
    """Return how many elements a reduction over `axis` folds into one."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[i] for i in ((axis,) if isinstance(axis, int) else axis))
