"""Numbers that are given once for all spatial dimensions or once for each: as they come, and as a tuple."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ...errors import ShapeError

Size = int | Sequence[int]


def lengths(where: str, name: str, value: Size, axes: int, *, least: int = 0) -> tuple[int, ...]:
    """Return `value` as one number per dimension, each at least `least`.

    Raises ShapeError, naming the argument, when the count or a number is wrong.

    >>> lengths("conv2d", "stride", 2, 2)
    (2, 2)
    """
    found = tuple(map(operator.index, value)) if isinstance(value, Sequence) else (operator.index(value),)
    if len(found) == 1:
        found *= axes
    if len(found) != axes:
        raise ShapeError(f"{where}: {name} must be one number or {axes}, got {tuple(found)}")
    if min(found) < least:
        raise ShapeError(f"{where}: {name} must be {'positive' if least else 'not negative'}, got {found}")
    return found


def refuse_empty(where: str, shape: tuple[int, ...], first: int) -> None:
    """Raise ShapeError where a dimension from `first` on is empty: there is no value to take from.

    >>> refuse_empty("max_pool1d", (0, 3, 5), 1)
    >>> refuse_empty("max_pool1d", (2, 3, 0), 1)
    Traceback (most recent call last):
    kellet.errors.ShapeError: max_pool1d: expected an input with values, only its batch may be empty, got ...
    """
    if 0 in shape[max(0, first) :]:
        raise ShapeError(
            f"{where}: expected an input with values, only its batch may be empty, got shape {shape}"
        )


def tuple_of(size: Size, n: int) -> tuple[int, ...]:
    """Return `size` as a tuple of `n` numbers.

    Raises ValueError for another count.

    >>> tuple_of(3, 2), tuple_of([1, 2], 2)
    ((3, 3), (1, 2))
    """
    if isinstance(size, int):
        return (size,) * n
    sizes = tuple(int(length) for length in size)
    if len(sizes) != n:
        raise ValueError(f"expected one number or {n}, got {sizes}")
    return sizes
