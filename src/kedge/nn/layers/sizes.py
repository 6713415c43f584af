"""Sizes given as one number for all dimensions, or as one for each."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Size", "tuple_of"]

Size = int | Sequence[int]


def tuple_of(size: Size, n: int) -> tuple[int, ...]:
    """Return `size` as a tuple of `n` numbers.

    >>> tuple_of(3, 2), tuple_of([1, 2], 2)
    ((3, 3), (1, 2))
    """
    if isinstance(size, int):
        return (size,) * n
    sizes = tuple(int(length) for length in size)
    if len(sizes) != n:
        raise ValueError(f"expected one number or {n}, got {sizes}")
    return sizes
