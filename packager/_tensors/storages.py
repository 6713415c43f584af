"""The storages that hold tensors on their way into a file: ties and views are stored once.

Tensors whose memory overlaps share a storage, whichever library they belong to and whatever they call their
base: the range of bytes from the first to the last element is what counts, and nothing outside of it is
stored. A tensor that is alone and has gaps is stored without them.

A `Shard` is the slice of a tensor that lies on one of several processes. `MappedPages` says whether two views
show the same pages of a file, so that their bytes are the same, and need not be read: tensors that were
loaded are maps of the archive, copied page by page where they are written to. On Linux `/proc/self/maps` says
what is mapped where, and `/proc/self/pagemap` which pages are still the file's; elsewhere nothing is known.
"""

from __future__ import annotations

import math
import mmap
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from packager._quick_dataclasses import dataclass, field
from packager.errors import ArgumentError

from .dtypes import ITEMSIZE
from .layouts import Box, contiguous_strides, is_contiguous, reach

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import ctypes
    from typing import Any, Final


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


@dataclass(frozen=True, eq=False)
class Shard:
    """A slice of a tensor, as a value of a state dict that several processes save together.

    `tensor` is an array of NumPy or a tensor of kellet or PyTorch; `shape` that of the whole tensor, and
    `offsets` says where the slice starts along each axis. The slices of all processes fill the whole.

    Raises ArgumentError unless the slice is inside that shape.

    >>> import numpy
    >>> Shard(numpy.zeros((2, 3)), shape=(4, 3), offsets=(2, 0)).box
    ((2, 4), (0, 3))

    Source: torch.distributed.checkpoint.metadata.ChunkStorageMetadata, which has offsets and sizes.
    """

    tensor: Any = field(repr=False)
    shape: tuple[int, ...]
    offsets: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = getattr(self.tensor, "shape", None)
        if sizes is None or isinstance(self.tensor, Shard):
            raise ArgumentError(f"Shard: expected a tensor or an array, found {type(self.tensor).__name__}")
        for name in ("shape", "offsets"):
            object.__setattr__(self, name, tuple(int(n) for n in getattr(self, name)))
        found = tuple(int(n) for n in sizes)
        fits = len(found) == len(self.shape) == len(self.offsets) and all(
            start >= 0 and start + size <= extent
            for start, size, extent in zip(self.offsets, found, self.shape, strict=True)
        )
        if not fits:
            raise ArgumentError(
                f"Shard: a slice of shape {found} at {self.offsets} does not lie in a tensor of shape "
                f"{self.shape}; give the shape of the whole, and where the slice starts along each axis"
            )

    @property
    def box(self) -> Box:
        """The start and stop of the slice along each axis."""
        sizes = (int(n) for n in self.tensor.shape)
        return tuple((start, start + size) for start, size in zip(self.offsets, sizes, strict=True))

    @classmethod
    def cut(cls, tensor: Any, rank: int, size: int, axis: int = 0) -> Shard:
        """Return the slice of a whole tensor for one of `size` ranks; see `rank_range`.

        >>> import numpy
        >>> Shard.cut(numpy.arange(10).reshape(2, 5), rank=1, size=2, axis=1).tensor.tolist()
        [[3, 4], [8, 9]]
        """
        shape = tuple(int(n) for n in tensor.shape)
        at = require_axis(axis, shape)
        start, stop = rank_range(shape[at], rank, size)
        index = (*[slice(None)] * at, slice(start, stop))
        return cls(tensor[index], shape, tuple(start if n == at else 0 for n in range(len(shape))))


def rank_range(extent: int, rank: int, size: int) -> tuple[int, int]:
    """Return from where to where an axis of so many elements falls to one of `size` ranks.

    All have the same number of elements, but for the last of them, which have fewer, or none. Raises
    ArgumentError for a rank that there is not.

    >>> [rank_range(5, rank, 4) for rank in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]

    Source: torch.chunk, by which the shards of PyTorch's DTensor are cut.
    """
    if not 0 <= rank < size:
        raise ArgumentError(f"rank={rank}: expected a number from 0 to before size={size}")
    each = -(-extent // size)
    return min(rank * each, extent), min((rank + 1) * each, extent)


def require_axis(axis: int, shape: Sequence[int]) -> int:
    """Return an axis as a number from 0. Raises ArgumentError for one that a shape does not have.

    >>> require_axis(-1, (2, 3))
    1
    """
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(f"axis={axis}: a tensor of shape {tuple(shape)} has no such axis")
    return axis % len(shape)


@lru_cache(maxsize=4096)  # tensors share few shapes, and are cut alike
def cover_problem(shape: tuple[int, ...], parts: tuple[Box, ...]) -> str | None:
    """Say why boxes do not fill a shape, each element once; None where they do.

    >>> cover_problem((4, 2), (((0, 2), (0, 2)), ((2, 4), (0, 2))))
    >>> cover_problem((4, 2), (((0, 2), (0, 2)), ((3, 4), (0, 2))))
    'its slices hold 6 of 8 elements; there is a hole'
    >>> cover_problem((4,), (((0, 3),), ((2, 4),)))
    'the slices [0:3] and [2:4] overlap'
    """
    import numpy as np

    full = [box for box in parts if all(start < stop for start, stop in box)]
    if shape and len(full) > 1:
        ends = np.asarray(full, np.int64)
        for number in range(len(full) - 1):
            later = ends[number + 1 :]
            crosses = (ends[number, :, 0] < later[:, :, 1]) & (later[:, :, 0] < ends[number, :, 1])
            if (found := np.flatnonzero(crosses.all(axis=1))).size:
                other = full[number + 1 + int(found[0])]
                return f"the slices {box_text(full[number])} and {box_text(other)} overlap"
    held = sum(math.prod(stop - start for start, stop in box) for box in full)
    whole = math.prod(shape)
    return None if held == whole else f"its slices hold {held} of {whole} elements; there is a hole"


def box_text(box: Box) -> str:
    """Return a box as an index is written.

    >>> box_text(((0, 2), (1, 3)))
    '[0:2, 1:3]'
    """
    return f"[{', '.join(f'{start}:{stop}' for start, stop in box)}]"


_MAPS: Final = "/proc/self/maps"
_PAGES: Final = "/proc/self/pagemap"
_OF_ENTRY: Final = 8
"""Bytes that say what a page is, as a number in the order of this machine."""
_TOP: Final = _OF_ENTRY - 1 if sys.byteorder == "little" else 0
_ABSENT, _PRESENT, _OF_FILE, _EXCLUSIVE = 0, 1 << 7, 1 << 5, 1
"""In the highest byte. An absent page was not written to: one that was has a bit."""
_UNWRITTEN: Final = bytes((_ABSENT, _PRESENT | _OF_FILE, _PRESENT | _OF_FILE | _EXCLUSIVE))


@dataclass(frozen=True)
class _Mapping:
    """A range of addresses that shows a file from byte `offset` on; `file` is its device, inode and path."""

    start: int
    stop: int
    offset: int
    file: tuple[bytes, ...]


class MappedPages:
    """The files that are mapped into this process now; maps that are made later are not known.

    >>> import os, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(bytes(4 * mmap.PAGESIZE))
    ...     file.flush()
    ...     shared = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    ...     private = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    >>> pages = MappedPages()
    >>> pages.are_same(shared, private) in (True, not os.path.exists("/proc/self/pagemap"))
    True
    >>> private[5] = 5
    >>> pages.are_same(shared, private)
    False
    """

    def __init__(self) -> None:
        try:
            with open(_MAPS, "rb") as maps:
                self._mappings = list(_mappings(maps))
        except OSError:  # another system
            self._mappings = []
        self._starts = [one.start for one in self._mappings]

    def are_same(self, one: memoryview, other: memoryview) -> bool:
        """Say whether two contiguous views are known to show the same bytes of one file, unchanged.

        False says nothing: the bytes may be equal.
        """
        if one.nbytes != other.nbytes or not one.nbytes:
            return False
        first, second = self._place(one), self._place(other)
        return first is not None and first == second

    def _place(self, view: memoryview) -> tuple[tuple[bytes, ...], int] | None:
        """Return the file that a view shows, and from which byte on; None where that is not known."""
        import numpy  # where there are tensors, it is there

        start = numpy.frombuffer(view.cast("B"), numpy.uint8).ctypes.data
        stop = start + view.nbytes
        at = bisect_right(self._starts, start) - 1
        if at < 0 or self._mappings[at].stop < stop or not _are_unwritten(start, stop):
            return None
        mapping = self._mappings[at]
        return mapping.file, mapping.offset + start - mapping.start


def _mappings(lines: Iterator[bytes]) -> Iterator[_Mapping]:
    for line in lines:
        addresses, _, offset, *file = line.split(None, 5)
        if len(file) == 3 and file[1] != b"0":
            start, _, stop = addresses.partition(b"-")
            yield _Mapping(int(start, 16), int(stop, 16), int(offset, 16), tuple(file))


def _are_unwritten(start: int, stop: int) -> bool:
    """Say whether all pages of a range are those of the file that is mapped there, as far as is known."""
    first, last = start // mmap.PAGESIZE, (stop - 1) // mmap.PAGESIZE
    size = (last - first + 1) * _OF_ENTRY
    try:
        with open(_PAGES, "rb", buffering=0) as pages:
            pages.seek(first * _OF_ENTRY)
            entries = pages.read(size)
    except (OSError, OverflowError):  # a process that may not ask, or another system
        return False
    return len(entries) == size and not entries[_TOP::_OF_ENTRY].translate(None, _UNWRITTEN)
