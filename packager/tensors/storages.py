"""The storages that hold tensors on their way into a file: ties and views are stored once.

Tensors whose memory overlaps share a storage, whichever library they belong to and whatever they call their
base: the range of bytes from the first to the last element is what counts, and nothing outside of it is
stored. A tensor that is alone and has gaps is stored without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

from packager.quick_dataclasses import dataclass, field

from .dtypes import ITEMSIZE
from .layouts import contiguous_strides, is_contiguous, reach

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import ctypes
    from typing import Final

_WORTH_COLUMNS: Final = 64  # fewer are looked at one by one in the time that NumPy takes for its calls
_PIECE: Final = 1 << 20  # bytes that are compared at once


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


def lay_out(views: Sequence[TensorData], *, by_axes: bool = False) -> tuple[list[Placed], list[StorageBytes]]:
    """Lay out all tensors, in storages that are numbered in the order in which they are first used.

    With `by_axes` a tensor that shares memory with no other is stored in the order of its axes, from a copy
    where it does not lie so.
    """
    placed: list[Placed] = [None] * len(views)  # type: ignore[list-item]  # each is set below
    storages: list[StorageBytes] = []
    for number, members in enumerate(overlapping([span_of(v) if 0 not in v.shape else None for v in views])):
        first = members[0]
        if len(members) == 1 and (usual := _store_usual(views[first], first, number)):
            storage, placed[first] = usual
            storages.append(storage)
            continue
        storage, places = _store(views, members, number, by_axes)
        storages.append(storage)
        for member, place in places.items():
            placed[member] = place
    return placed, storages


def bytes_in_order(view: TensorData) -> memoryview:
    """Return the elements in the order of their axes, without gaps: as they lie, else from a copy."""
    if 0 in view.shape:
        return memoryview(b"")
    dense = view if is_contiguous(view.shape, view.strides) else _in_c_order(view)
    return _memory(*span_of(dense), [dense.owner])


def _in_c_order(view: TensorData) -> TensorData:
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
    low, high = reach(view.shape, view.strides)
    size = ITEMSIZE[view.dtype]
    return view.address + low * size, view.address + high * size


def overlapping(spans: Sequence[tuple[int, int] | None]) -> list[list[int]]:
    """Group things, by their numbers, whose spans overlap; what has no span is alone.

    Groups, and numbers within a group, stand in their order.

    >>> overlapping([(8, 12), None, (0, 5), (4, 9), (12, 13)])
    [[0, 2, 3], [1], [4]]
    """
    if not _any_overlap(spans):
        return [[number] for number in range(len(spans))]
    groups, end = [[number] for number, found in enumerate(spans) if found is None], -1
    for start, stop, number in sorted((*found, number) for number, found in enumerate(spans) if found):
        if start < end:
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, stop)
    return sorted(map(sorted, groups))


def _any_overlap(spans: Sequence[tuple[int, int] | None]) -> bool:
    """Say whether any two spans overlap, which in most state dicts none do."""
    if len(spans) < _WORTH_COLUMNS:
        return True  # so it is looked for one by one
    import numpy

    ends = numpy.array([found for found in spans if found is not None], numpy.uint64).reshape(-1, 2)
    starts, stops = ends[numpy.argsort(ends[:, 0], kind="stable")].T
    return bool((starts[1:] < stops[:-1]).any())


def same_bytes(one: memoryview, other: memoryview) -> bool:
    """Say whether two C-contiguous buffers hold the same bytes, without a copy of the whole.

    >>> same_bytes(memoryview(b"ab"), memoryview(b"ab")), same_bytes(memoryview(b"ab"), memoryview(b"ac"))
    (True, False)
    """
    if one.nbytes != other.nbytes:
        return False
    first, second = one.cast("B"), other.cast("B")
    starts = range(0, one.nbytes, _PIECE)  # bytes are compared far faster than views, and need a copy
    return all(bytes(first[at : at + _PIECE]) == bytes(second[at : at + _PIECE]) for at in starts)


def _store_usual(view: TensorData, index: int, number: int) -> tuple[StorageBytes, Placed] | None:
    """Store a tensor that is alone and lies in C order, as nearly all do; None for another one.

    The straight path of tens of thousands of tensors: a storage of it says nothing that the tensor does not.
    """
    shape, strides = view.shape, view.strides
    size = _usual_elements(shape, strides) * ITEMSIZE[view.dtype]
    if not size:
        return None
    start = view.address
    buffer = _buffer_of(view.owner, size) or _memory(start, start + size, [view.owner])
    return StorageBytes(view.dtype, shape, buffer, index, index), Placed(number, 0, strides)


@lru_cache(maxsize=4096)  # tensors share few layouts
def _usual_elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return how many elements a tensor in C order has; 0 for one that is empty or lies in another way."""
    return math.prod(shape) if strides == contiguous_strides(shape) else 0


def _buffer_of(owner: object, size: int) -> memoryview | None:
    """Return the bytes of an array of NumPy that is a tensor of `size` bytes itself; None where it is not."""
    import numpy

    if type(owner) is not numpy.ndarray or owner.nbytes != size or not owner.flags.c_contiguous:
        return None
    dtype = owner.dtype  # a memoryview knows no complex numbers, no times, and no numbers of more bytes
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or dtype.isbuiltin != 1:
        return None
    return owner.data.cast("B").toreadonly()


def _store(
    views: Sequence[TensorData], members: list[int], number: int, by_axes: bool
) -> tuple[StorageBytes, dict[int, Placed]]:
    first = views[members[0]]
    if 0 in first.shape:
        place = Placed(number, 0, contiguous_strides(first.shape))
        return StorageBytes(first.dtype, first.shape, memoryview(b""), members[0], members[0]), {
            members[0]: place
        }
    if len(members) == 1:
        storage, places = _store_alone(first, members[0], number)
        if by_axes and not is_contiguous(first.shape, places[members[0]].strides):
            return _store_alone(_in_c_order(first), members[0], number)
        return storage, places
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
    size = stop - start
    # ctypes makes a type for each length, which takes longer than all the rest: one for each power of two.
    array = _bytes_type(size.bit_length()).from_address(start)
    array.owners = owners  # type: ignore[attr-defined]  # ctypes arrays take attributes
    return memoryview(array).cast("B")[:size].toreadonly()


@cache  # at most one for each bit of an address
def _bytes_type(bits: int) -> type[ctypes.Array[ctypes.c_ubyte]]:
    import ctypes  # reading files needs none of it

    return ctypes.c_ubyte * ((1 << bits) - 1)


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
