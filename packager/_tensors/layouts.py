"""How tensors lie in memory: their strides, and which elements an index leads to.

Strides and offsets count elements, as in PyTorch; strides may be zero or negative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import mul

from packager._quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any

Box = tuple[tuple[int, int], ...]
"""A part of a shape: from where to where along each axis."""


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a tensor in C order, in elements.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 3)), contiguous_strides(())
    ((12, 4, 1), (3, 3, 1), ())
    """
    return (1,) if len(shape) == 1 else _contiguous_strides(tuple(shape))


@lru_cache(maxsize=4096)  # tensors share few shapes
def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    products = accumulate((max(n, 1) for n in reversed(shape[1:])), mul, initial=1)
    return tuple(products)[::-1][: len(shape)]


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Check whether elements lie in C order without gaps; strides of dimensions of size 1 do not matter."""
    expected = contiguous_strides(shape)
    if len(strides) != len(shape):
        return False
    return (
        strides == expected
        or 0 in shape
        or all(n == 1 or s == e for n, s, e in zip(shape, strides, expected, strict=True))
    )


def span(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int]:
    """Return the lowest element that a tensor touches in its storage, and one past the highest.

    >>> span((2, 3), (3, 1), 4), span((3,), (-1,), 5), span((0, 2), (1, 1), 7)
    ((4, 10), (3, 6), (7, 7))
    """
    low, high = reach(tuple(shape), tuple(strides))
    return offset + low, offset + high


@lru_cache(maxsize=4096)
def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """Return the lowest element that a tensor at offset 0 touches, and one past the highest.

    >>> reach((3,), (-1,))
    (-2, 1)
    """
    if 0 in shape:
        return 0, 0
    reaches = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches) + 1


def fits(shape: Sequence[int], strides: Sequence[int], offset: int, bits: int, nbytes: int) -> bool:
    """Check whether all elements, of so many bits each, lie inside a storage of `nbytes` bytes.

    >>> fits((2, 3), (3, 1), 1, 32, 28), fits((2, 3), (3, 1), 2, 32, 28), fits((2,), (-1,), 0, 8, 28)
    (True, False, False)
    """
    low, high = span(shape, strides, offset)
    return low >= 0 and high * bits <= 8 * nbytes


def boxes(shape: tuple[int, ...], elements: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Cut a shape into boxes of at most so many elements, in C order; each runs through whole inner axes.

    >>> list(boxes((2, 3), 4))
    [((0, 1), (0, 3)), ((1, 2), (0, 3))]
    >>> list(boxes((5,), 4))
    [((0, 4),), ((4, 5),)]
    """
    if 0 in shape:
        return
    axis, inner = len(shape), 1
    while axis and inner * shape[axis - 1] <= max(elements, 1):
        axis -= 1
        inner *= shape[axis]
    whole = tuple((0, extent) for extent in shape[axis:])
    if not axis:
        yield whole
        return
    rows = max(elements // inner, 1)
    for outer in itertools.product(*(range(extent) for extent in shape[: axis - 1])):
        fixed = tuple((at, at + 1) for at in outer)
        for start in range(0, shape[axis - 1], rows):
            yield (*fixed, (start, min(start + rows, shape[axis - 1])), *whole)


def part_of(
    shape: Sequence[int], strides: Sequence[int], offset: int, index: object
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return shape, strides and offset of a part: `index` holds ints, slices with any step, and `...`.

    Raises IndexError for other indices, for too many of them, and for ints outside of their axis.

    >>> part_of((4, 6), (6, 1), 0, (slice(None), slice(1, None, 2))), part_of((4, 6), (6, 1), 0, (-1, ...))
    (((4, 3), (6, 2), 1), ((6,), (1,), 18))
    """
    parts = per_axis(index, len(shape))
    if parts is None:
        raise IndexError(f"found the index {index!r}; expected ints, slices and ...")
    made_shape, made_strides = [], []
    for extent, stride, part in zip(shape, strides, parts, strict=True):
        if isinstance(part, slice):
            places = range(*part.indices(extent))
            offset += places.start * stride if places else 0
            made_shape.append(len(places))
            made_strides.append(stride * places.step)
            continue
        if not -extent <= part < extent:
            raise IndexError(f"found the index {part} of an axis with {extent} elements")
        offset += int(part) % extent * stride
    return tuple(made_shape), tuple(made_strides), offset


def per_axis(index: object, rank: int) -> list[Any] | None:
    """Return an int or a slice for each axis; None for other indices, as masks and lists.

    Raises IndexError for more indices than there are axes.

    >>> per_axis((..., 2), 3), per_axis([0, 2], 3)
    ([slice(None, None, None), slice(None, None, None), 2], None)
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if not all(part is ... or isinstance(part, slice) or _is_number(part) for part in parts):
        return None
    gaps = [at for at, part in enumerate(parts) if part is ...]
    if len(gaps) > 1 or len(parts) - len(gaps) > rank:
        raise IndexError(f"found {len(parts)} indices; expected at most {rank}, one for each axis")
    at = gaps[0] if gaps else len(parts)
    return [*parts[:at], *[slice(None)] * (rank - len(parts) + len(gaps)), *parts[at + 1 :]]


def _is_number(part: object) -> bool:
    """Return whether an index is an int, of Python or of an array library; a mask is none."""
    return type(part) is int or (hasattr(type(part), "__index__") and getattr(part, "ndim", None) == 0)


def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: Sequence[int]
) -> tuple[int, ...] | None:
    """Return the strides that show the same elements, in C order, in another shape; None where no strides do.

    Raises ValueError for a shape with another number of elements.

    >>> reshaped_strides((2, 6), (6, 1), (2, 2, 3)), reshaped_strides((3, 2), (1, 3), (6,))
    ((6, 3, 1), None)
    """
    if math.prod(shape) != math.prod(wanted) or any(n < 0 for n in wanted):
        raise ValueError(f"a tensor of shape {list(shape)} has no shape {list(wanted)}")
    if 0 in shape:
        return contiguous_strides(tuple(wanted))
    # Axes of one element do not matter; runs of axes that lie as one are joined.
    runs: list[list[int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = [runs[-1][0] * extent, stride]
        else:
            runs.append([extent, stride])
    found: list[int] = []
    left, step = runs.pop() if runs else (1, 1)
    for extent in reversed(wanted):
        if left == 1 and extent > 1:
            left, step = runs.pop()
        if left % extent:
            return None
        found.append(step)
        left //= extent
        step *= extent
    return tuple(reversed(found))


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A strided view of an entry of an archive, on its way out: `buffer` holds the whole entry.

    `offset` counts bytes, `strides` elements. The audit has checked that every element lies inside.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    buffer: memoryview
