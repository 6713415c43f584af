"""Axes and shapes as callers write them, brought to the one form that rules take."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeAlias

from ..errors import ShapeError

Axes: TypeAlias = "int | Sequence[int] | None"
"""One axis, several, or None for all."""


def axis_of(dim: SupportsIndex, ndim: int) -> int:
    """Return `dim` as a number from 0 to `ndim - 1`; negative ones count from the end.

    A tensor of shape () takes 0 and -1, as if it had one axis. Raises IndexError beyond the range,
    TypeError for a value that is not an integer.
    """
    try:
        axis = operator.index(dim)
    except TypeError:
        raise TypeError(f"a dimension must be an integer, got {type(dim).__name__}: {dim!r}") from None
    limit = ndim or 1
    if not -limit <= axis < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {axis}); "
            f"the tensor has {ndim} axes"
        )
    return axis % limit


def axes_of(dim: Axes, ndim: int) -> tuple[int, ...] | None:
    """Return several axes, each one once, or None for all of them.

    Raises ShapeError for an axis that is named twice.
    """
    if dim is None:
        return None
    if not isinstance(dim, Sequence):
        return (axis_of(dim, ndim),) if ndim else (axis_of(dim, ndim),) * 0
    axes = tuple([axis_of(one, ndim) for one in dim])
    if len(set(axes)) != len(axes):
        raise ShapeError(f"an axis appears twice in {tuple(dim)}; name each axis once")
    if not axes:
        return None
    return axes if ndim else ()


def shape_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape in `f(2, 3)`, `f((2, 3))` and `f([2, 3])`.

    Raises TypeError for a size that is not an integer.
    """
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = sizes[0]
    try:
        return tuple([operator.index(n) for n in sizes])
    except TypeError:
        wrong = next(n for n in sizes if not hasattr(n, "__index__"))
        raise TypeError(f"expected a shape, integers, got {type(wrong).__name__} {wrong!r}") from None


def require_vectors(where: str, tensors: Iterable[Any]) -> None:
    """Raise ShapeError for a tensor of more than one axis."""
    for tensor in tensors:
        if tensor._array.ndim > 1:
            raise ShapeError(f"{where}: expected vectors or single values, got shape {tensor._array.shape}")


def whole_shape(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return `shape` with its one -1 replaced so that it holds `count` elements.

    Raises ShapeError when that cannot be.
    """
    unknown = [i for i, n in enumerate(shape) if n == -1]
    rest = math.prod(n for n in shape if n != -1)
    if len(unknown) == 1 and rest > 0 and count % rest == 0:
        return tuple([count // rest if i == unknown[0] else n for i, n in enumerate(shape)])
    if unknown or rest != count or any(n < 0 for n in shape):
        raise ShapeError(
            f"shape '{list(shape)}' is invalid for input of size {count}; the product of the sizes must be "
            f"{count}, and one size may be -1"
        )
    return shape
