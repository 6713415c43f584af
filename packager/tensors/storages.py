"""Which memory is stored, and where each tensor lies in it: ties and views are stored once.

Tensors whose memory overlaps share a storage, whichever library they belong to and whatever they
call their base: the range of bytes from the first to the last element is what counts, and nothing
outside of it is stored. A tensor that is alone and has gaps is stored without them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .dtypes import ITEMSIZE
from .layouts import contiguous_strides, span


@dataclass(frozen=True, slots=True, eq=False)
class TensorData:
    """A strided view of memory, on its way into an archive.

    `dtype` is a dtype of safetensors ("F32", "I64", "U8", ...), `strides` count elements, `address`
    is that of the element at index (0, 0, ...), and `owner` keeps the memory alive. Views that
    overlap are stored once, with everything that ties them, whichever library they come from.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    owner: object = field(repr=False)


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


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a tensor lies: the number of its storage, `offset` in bytes, `strides` in elements."""

    storage: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StorageBytes:
    """The memory of a storage as a C-contiguous tensor.

    `owner` is the index of the tensor that covers it alone and gives it its name, None when no
    single one does; `first` is the index of the first tensor that lies in it.
    """

    dtype: str
    shape: tuple[int, ...]
    buffer: memoryview
    owner: int | None
    first: int


def lay_out(views: Sequence[TensorData]) -> tuple[list[Placed], list[StorageBytes]]:
    """Lay out all tensors, in storages that are numbered in the order in which they are first used."""
    placed: list[Placed] = [None] * len(views)  # type: ignore[list-item]  # each is set below
    storages: list[StorageBytes] = []
    for number, members in enumerate(overlapping([span_of(v) if 0 not in v.shape else None for v in views])):
        storage, places = _store(views, members, number)
        storages.append(storage)
        for member, place in places.items():
            placed[member] = place
    return placed, storages


def in_c_order(view: TensorData) -> TensorData:
    """Return a copy whose elements lie in the order of its axes, without gaps."""
    import numpy

    size = ITEMSIZE[view.dtype]
    start, stop = span_of(view)
    array = numpy.ndarray(
        view.shape,
        f"V{size}",
        _memory(start, stop, [view.owner]),
        view.address - start,
        tuple(stride * size for stride in view.strides),
    )
    copied = numpy.ascontiguousarray(array)
    address = copied.__array_interface__["data"][0]
    return TensorData(view.dtype, view.shape, contiguous_strides(view.shape), address, (copied, view.owner))


def span_of(view: TensorData) -> tuple[int, int]:
    """Return the range of addresses from the first to the last byte of a tensor that is not empty."""
    size = ITEMSIZE[view.dtype]
    low, high = span(view.shape, view.strides, 0)
    return view.address + low * size, view.address + high * size


def overlapping(spans: Sequence[tuple[int, int] | None]) -> list[list[int]]:
    """Group things, by their numbers, whose spans overlap; what has no span is alone.

    Groups, and numbers within a group, stand in their order.

    >>> overlapping([(8, 12), None, (0, 5), (4, 9), (12, 13)])
    [[0, 2, 3], [1], [4]]
    """
    groups, end = [[number] for number, found in enumerate(spans) if found is None], -1
    for start, stop, number in sorted((*found, number) for number, found in enumerate(spans) if found):
        if start < end:
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, stop)
    return sorted(map(sorted, groups))


def _store(
    views: Sequence[TensorData], members: list[int], number: int
) -> tuple[StorageBytes, dict[int, Placed]]:
    first = views[members[0]]
    if 0 in first.shape:
        place = Placed(number, 0, contiguous_strides(first.shape))
        return StorageBytes(first.dtype, first.shape, memoryview(b""), members[0], members[0]), {
            members[0]: place
        }
    if len(members) == 1:
        return _store_alone(first, members[0], number)
    start = min(span_of(views[member])[0] for member in members)
    stop = max(span_of(views[member])[1] for member in members)
    places = {
        member: Placed(number, views[member].address - start, views[member].strides) for member in members
    }
    dtypes = {views[member].dtype for member in members}
    dtype = first.dtype if len(dtypes) == 1 else "U8"
    if any(place.offset % ITEMSIZE[dtype] for place in places.values()):
        dtype = "U8"
    owner = next((m for m in members if _covers(views[m], start, stop)), None)
    if owner is not None:
        dtype, shape = views[owner].dtype, views[owner].shape
    else:
        shape = ((stop - start) // ITEMSIZE[dtype],)
    buffer = _memory(start, stop, [views[member].owner for member in members])
    return StorageBytes(dtype, shape, buffer, owner, members[0]), places


def _store_alone(view: TensorData, index: int, number: int) -> tuple[StorageBytes, dict[int, Placed]]:
    """Store a tensor that shares memory with no other: as it lies when it is dense, else without gaps."""
    start, stop = span_of(view)
    size = ITEMSIZE[view.dtype]
    # The axes that matter, from the slowest to the fastest.
    real = [axis for axis, extent in enumerate(view.shape) if extent > 1]
    order = sorted(real, key=lambda axis: -abs(view.strides[axis]))
    shape = tuple(view.shape[axis] for axis in order)
    if not _is_nested(shape, [abs(view.strides[axis]) for axis in order]):
        # Some elements share memory (a broadcast array, say): keep that.
        buffer = _memory(start, stop, [view.owner])
        place = Placed(number, view.address - start, view.strides)
        return StorageBytes(view.dtype, ((stop - start) // size,), buffer, index, index), {index: place}
    if math.prod(shape) * size == stop - start:
        buffer = _memory(start, stop, [view.owner])
        place = Placed(number, view.address - start, view.strides)
    else:
        buffer = _without_gaps(view, order, start, stop)
        place = _placed_without_gaps(view, order, number)
    in_c_order = order == real and not any(view.strides[axis] < 0 for axis in order)
    entry = StorageBytes(view.dtype, view.shape if in_c_order else shape, buffer, index, index)
    return entry, {index: place}


def _placed_without_gaps(view: TensorData, order: list[int], number: int) -> Placed:
    """Return where a tensor lies when its gaps are taken out: the same order of axes, the same directions."""
    strides, offset = [1] * len(view.shape), 0
    for axis, step in zip(order, contiguous_strides([view.shape[axis] for axis in order]), strict=True):
        strides[axis] = -step if view.strides[axis] < 0 else step
        offset += (view.shape[axis] - 1) * step if view.strides[axis] < 0 else 0
    if order == sorted(order) and offset == 0:
        strides = list(contiguous_strides(view.shape))
    return Placed(number, offset * ITEMSIZE[view.dtype], tuple(strides))


def _is_nested(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Check whether each axis steps over all that faster ones span, so that no elements share memory."""
    spans = [extent * step for extent, step in zip(shape, steps, strict=True)]
    return all(steps) and all(slow >= fast for slow, fast in zip(steps, spans[1:], strict=False))


def _covers(view: TensorData, start: int, stop: int) -> bool:
    return span_of(view) == (start, stop) and view.strides == contiguous_strides(view.shape)


def _memory(start: int, stop: int, owners: list[object]) -> memoryview:
    """Return the bytes at these addresses, read-only; the owners live as long as the view does."""
    array = (ctypes.c_ubyte * (stop - start)).from_address(start)
    array.owners = owners  # type: ignore[attr-defined]  # ctypes arrays take attributes
    return memoryview(array).cast("B").toreadonly()


def _without_gaps(view: TensorData, order: list[int], start: int, stop: int) -> memoryview:
    """Return the elements alone, slowest axis first, in the direction in which they lie in memory."""
    import numpy

    size = ITEMSIZE[view.dtype]
    memory = _memory(start, stop, [view.owner])
    array = numpy.ndarray(
        tuple(view.shape[axis] for axis in order),
        numpy.dtype(f"V{size}"),
        memory,
        0,
        tuple(abs(view.strides[axis]) * size for axis in order),
    )
    dense = numpy.ascontiguousarray(array).view(numpy.uint8).reshape(-1)
    return dense.data.cast("B").toreadonly()
