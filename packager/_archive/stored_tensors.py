"""Tensors as they lie in an archive, read by the index of their member: see `tensor_index`.

A member is readable by every safetensors library once it is taken out.
"""

from __future__ import annotations

from _thread import allocate_lock
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice
from math import prod

from packager._quick_dataclasses import dataclass
from packager._tensors import DTYPE_BITS, is_contiguous, span
from packager.errors import ArgumentError

from .archive_errors import MissingEntryError, damaged
from .bounds import CHUNK
from .byte_sources import anonymous
from .entries import ALIGNMENT, Place
from .entry_names import index_name
from .reader import ArchiveReader, PrivateEntry
from .tensor_index import TensorIndex, TensorSpec, tensor_bytes

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    Row = tuple[tuple[str, tuple[int, ...]], int, int] | None
    UsualPlace = tuple[Any, int, int, int]


_AHEAD: Final = 64  # chunks that are checked at most before they are used
_IN_ORDER: Final = 4  # keys, one after another, that look like a loop
_PART_OF_ALL: Final = 16
_FEW: Final = 64
_RUN: Final = 64 << 20  # bytes that are read at once, unless a storage is larger


class TensorReader(Mapping[str, TensorSpec]):
    """The tensors of a member, by key and in the order they were given; values are their specs.

    Nothing but the index is read until bytes are asked for. Bytes are checked as the archive's
    reader says; views stay valid after the reader is closed.

    Raises MissingEntryError when the archive has no such member, and ArchiveError for an index that
    is not as the format demands; the same for a single tensor when it is asked for.
    """

    metadata: Mapping[str, str]
    """What stands under `__metadata__` in the safetensors header."""

    index: TensorIndex
    """The columns that say where each tensor lies."""

    def __init__(self, reader: ArchiveReader, member: str) -> None:
        entry = reader.entry(member)
        for name, kind in ((member, "tensors"), (index_name(member), "index")):
            if reader.entry(name).kind != kind:
                raise MissingEntryError(
                    f"entry {name!r} is of kind {reader.entry(name).kind}; expected {kind}"
                )
        self._reader = reader
        self._member = member
        self.index = TensorIndex.load(reader.read(index_name(member)), what=f"index of {member!r}")
        self._data_start = entry.size - self.index.data_size
        if self._data_start < 8:
            raise damaged(
                f"index of {member!r}", f"{self.index.data_size} bytes of data", f"less than {entry.size}"
            )
        self.metadata = self.index.metadata
        self._lookups = 0
        self._in_order = 0
        self._last = -1
        self._lock = allocate_lock()
        # Of members, and copies of storages that do not start at a multiple of 64: no other reader sees what
        # is written to them.
        self._members: dict[str, PrivateEntry] = {}
        self._copies: dict[int, memoryview] = {}
        self._free = memoryview(b"")

    def __getitem__(self, key: str) -> TensorSpec:
        return self.index.spec(self._number_of(key), key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return self.index.count

    def storage(self, number: int, *, private: bool = False) -> memoryview:
        """Return the checked bytes of a storage, without a copy.

        With `private=True` they may be written to, copy on write; all such views from one
        TensorReader show the same memory, which no other reader sees. They start at a multiple of 64
        bytes, as freshly allocated arrays do: a storage that does not lie so in the file is copied.
        """
        return self._part(number, 0, self.storage_size(number), private)

    def private_storage(self, key: str) -> memoryview:
        """Return the checked bytes of the storage that `key` lies in, to be written to, copy on write."""
        return self.storage(self.index.storages[self._number_of(key)], private=True)

    def storage_size(self, number: int) -> int:
        """Return how many bytes a storage has."""
        return self.index.storage_size(number)

    def part(self, number: int, low: int, high: int) -> memoryview:
        """Return the checked bytes `low` to `high` of a storage. Raises ValueError where it has none."""
        if not 0 <= low <= high <= self.storage_size(number):
            raise ValueError(f"bytes {low} to {high} of a storage of {self.storage_size(number)}")
        return self._part(number, low, high, False)

    def parts(self, parts: Sequence[tuple[int, int, int]]) -> list[memoryview]:
        """Return the checked bytes of many parts of storages, each its number, first byte and end.

        The same as one call of `part` for each, but that what lies in neighbouring chunks is read at once,
        up to 64 MiB, and its digests are checked in one pass. A part of a file that is read, not mapped,
        keeps what was read with it.
        """
        found = [memoryview(b"")] * len(parts)
        places = [(self._place(number), low, high) for number, low, high in parts]
        runs = _runs((place.member, place.start + low, place.start + high) for place, low, high in places)
        self._will_use(runs)
        for run in runs:
            whole = self._reader.view(run.member, run.start, run.stop)
            for start, stop, at in run.parts:
                found[at] = whole[start - run.start : stop - run.start]
        return found

    def private_storages(self, numbers: Sequence[int]) -> list[memoryview]:
        """Return what `storage(number, private=True)` does for each number, neighbours read as in `parts`."""
        runs = _runs((place.member, place.start, place.stop) for place in map(self._place, numbers))
        self._will_use(runs)
        for run in runs:
            self._private(run.member).view(run.start, run.stop)
        return [self.storage(number, private=True) for number in numbers]

    def _will_use(self, runs: Iterable[_Run]) -> None:
        for member in dict.fromkeys(run.member for run in runs):
            self._reader.will_use(member, [(run.start, run.stop) for run in runs if run.member == member])

    def will_use_all(self) -> None:
        """Note that all tensors are about to be used."""
        self._reader.will_use(self._member, [(self._data_start, self._data_start + self.own_bytes)])

    def data(self, key: str, *, private: bool = False) -> memoryview:
        """Return the checked bytes that a tensor spans, from its lowest element to its highest.

        For a C-contiguous tensor these are its bytes, no more and no less.
        """
        return self.data_of(self[key], private=private)

    def data_of(self, tensor: TensorSpec, *, private: bool = False) -> memoryview:
        """Return the same for a tensor whose spec is there already."""
        return self._part(*self.part_of(tensor), private)

    def part_of(self, tensor: TensorSpec) -> tuple[int, int, int]:
        """Return which part of which storage a tensor spans: the number, the first byte and the end."""
        low, high = span(tensor.shape, tensor.strides, tensor.offset)
        bits = DTYPE_BITS[tensor.dtype]
        return tensor.storage, low * bits // 8, high * bits // 8

    def rows(self, key: str, start: int, stop: int, *, private: bool = False) -> memoryview:
        """Return the checked bytes of some rows of a tensor that lies in C order, and of no others.

        Raises ArgumentError for a tensor that does not, and for rows that it does not have.
        """
        tensor = self[key]
        if not tensor.shape or not is_contiguous(tensor.shape, tensor.strides):
            raise ArgumentError(f"tensor {key!r}: its rows are not contiguous; read the whole tensor")
        if not 0 <= start <= stop <= tensor.shape[0]:
            raise ArgumentError(f"tensor {key!r} has {tensor.shape[0]} rows, asked for {start} to {stop}")
        bits, row = DTYPE_BITS[tensor.dtype], prod(tensor.shape[1:])
        places = [(tensor.offset + at * row) * bits // 8 for at in (start, stop)]
        return self._part(tensor.storage, places[0], places[1], private)

    def section(self) -> memoryview:
        """Return the checked bytes of the whole data section, all storages one after another."""
        return self._reader.view(self._member, self._data_start)

    def contiguous(self) -> Iterator[tuple[str, str, tuple[int, ...], int]]:
        """Give key, dtype, shape and place in `section()` of every tensor that starts its storage in C order.

        The others are those of `strided()`. Raises ArchiveError for a tensor that lies nowhere.
        """
        for number, spec in enumerate(self.values()):
            if self._starts_its_storage(number):
                yield spec.key, spec.dtype, spec.shape, self.index.storage_range(spec.storage)[0]

    def strided(self) -> Iterator[TensorSpec]:
        """Return every tensor that `contiguous()` does not give."""
        return (spec for number, spec in enumerate(self.values()) if not self._starts_its_storage(number))

    def _starts_its_storage(self, number: int) -> bool:
        return number not in self.index.views and self._is_own(self.index.storages[number])

    @property
    def are_checked(self) -> bool:
        """Whether digests are computed before bytes are handed out."""
        return self._reader.tensor_digests != "none"

    @property
    def many_are_asked(self) -> bool:
        """Whether a table of all is worth making: some keys were asked for in their order, or a good part."""
        return self._in_order >= _IN_ORDER or self.is_many(self._lookups)

    def is_many(self, keys: int) -> bool:
        """Return whether so many keys are worth a table of all, which takes as long as looking up a tenth."""
        return keys * _PART_OF_ALL > max(len(self), _FEW)

    def usual(
        self, kept: Callable[[str, tuple[int, ...]], Any], without: Set[str], prefix: str
    ) -> UsualTensors | None:
        """Return where the usual tensors lie, for who asks for many; see there. None where nothing is mapped.

        Those of `without`, and those whose keys begin with `prefix`, are left out.
        """
        memory = self._reader.steady_memory(self._member)
        if memory is None:
            return None
        if self.count_keys(prefix):
            without = without | {key for key in self._numbers if key.startswith(prefix)}
        rows = zip(self._numbers, self.index.usual(self._data_start), strict=True)
        return UsualTensors(self._reader, self._member, memory, rows, kept, without)

    def count_keys(self, prefix: str) -> int:
        """Return how many keys begin with a prefix, without splitting them."""
        names = self.index.names
        return names.startswith(prefix) + names.count(f"\0{prefix}")

    def storage_place(self, number: int) -> Place:
        """Return in which entry a storage lies, and at which of its bytes. Raises ArchiveError for none."""
        if number >= len(self.index.ends):
            return self.index.place_elsewhere(number)
        start, stop = self.index.storage_range(number)
        return Place(self._member, self._data_start + start, self._data_start + stop)

    def storages_in(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number of each storage that lies in bytes `low` to `high` of the member, and which part.

        The part is from one byte of the member to another. Storages in other members are left out.
        """
        ends, first = self.index.ends, self._data_start
        # From the first storage that ends behind `low` to the last that starts before `high`.
        for number in range(bisect_right(ends, low - first), len(ends)):
            start = first + (ends[number - 1] if number else 0)
            if start >= high:
                return
            yield number, max(start, low), min(first + ends[number], high)

    def keys_in(self, storages: Collection[int]) -> list[str]:
        """Return the keys, in order, of the tensors that lie in some storages."""
        if not storages:
            return []
        keys = self.index.keys
        return [keys[number] for number, storage in enumerate(self.index.storages) if storage in storages]

    @property
    def elsewhere(self) -> tuple[Place, ...]:
        """Where the storages lie that are not in this member; their numbers follow those that are."""
        return self.index.elsewhere

    @property
    def own_bytes(self) -> int:
        """The bytes of the storages that lie in this member."""
        return self.index.data_size

    def place_elsewhere(self, number: int) -> Place | None:
        """Return where a storage lies that is in another member; None for one that lies in this one."""
        return self.index.place_elsewhere(number) if number >= len(self.index.ends) else None

    def _is_own(self, number: int) -> bool:
        """Whether a storage lies in this member."""
        return number < len(self.index.ends)

    def _place(self, number: int) -> Place:
        """Return where a storage lies. Raises ArchiveError unless that is inside a member with tensors."""
        place = self.storage_place(number)
        if not self._is_own(number):
            entry = self._reader.entry(place.member) if place.member in self._reader else None
            if entry is None or entry.kind != "tensors" or place.stop > entry.size:
                raise damaged(
                    f"index of {self._member!r}",
                    f"a storage in {place}",
                    "a storage within another member with tensors",
                )
        return place

    def _part(self, number: int, low: int, high: int, private: bool) -> memoryview:
        """Return bytes of a storage; private ones in memory that starts at a multiple of 64."""
        place = self._place(number)
        if not private:
            return self._reader.view(place.member, place.start + low, place.start + high)
        memory = self._private(place.member)
        if place.start % ALIGNMENT:
            return self._copy(number, memory.view(place.start, place.stop))[low:high]
        return memory.view(place.start + low, place.start + high)

    def _private(self, member: str) -> PrivateEntry:
        with self._lock:
            if member not in self._members:
                self._members[member] = self._reader.private(member)
            return self._members[member]

    def _copy(self, number: int, data: memoryview) -> memoryview:
        """Return a storage that was copied, once, to memory that starts at a multiple of 64."""
        with self._lock:
            if number not in self._copies:
                room = -(-len(data) // ALIGNMENT) * ALIGNMENT
                if room > len(self._free):  # a map of its own for each would be too many for the system
                    self._free = anonymous(max(room, CHUNK))
                self._copies[number], self._free = self._free[: len(data)], self._free[room:]
                self._copies[number][:] = data
            return self._copies[number]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Every key with its number, in order. Made once, when many keys are asked for."""
        numbers = {key: number for number, key in enumerate(self.index.keys)}
        if len(numbers) != len(self):
            raise damaged(f"index of {self._member!r}", "a key twice", "each key once")
        return numbers

    def _number_of(self, key: str) -> int:
        number = self._numbers.get(key)
        self._lookups += 1
        if number is None:
            raise MissingEntryError(f"{self._member!r} has no tensor {key!r}; keys() lists its {len(self)}")
        self._in_order = self._in_order + 1 if number == self._last + 1 else 0
        self._last = number
        return number


class UsualTensors:
    """Where the usual tensors of a member lie in a map, by key.

    `kept(dtype, shape)` says what is to be kept of a layout, or None where its tensors are not usual after
    all; those of `without` are left out. What is left out may be damaged: it is read one by one.
    """

    memory: memoryview
    """The bytes of the member, of which none are checked before `use`."""

    places: dict[str, UsualPlace]
    """By key: what is kept of a layout, where a tensor starts and ends in `memory`, and its number here."""

    def __init__(
        self,
        reader: ArchiveReader,
        member: str,
        memory: memoryview,
        rows: Iterable[tuple[str, Row]],
        kept: Callable[[str, tuple[int, ...]], Any],
        without: Set[str],
    ) -> None:
        self.memory = memory
        places: dict[str, UsualPlace] = {}
        self.places = places
        self._reader = reader
        self._member = member
        self._is_right = reader.right_in(member)
        self._last = -1
        self._paid = 0
        known: dict[Any, Any] = {}  # tensors share few layouts
        for key, row in rows:
            if row is None or key in without:
                continue
            layout, start, stop = row
            if layout not in known:
                known[layout] = kept(*layout)
            if known[layout] is not None:
                places[key] = known[layout], start, stop, len(places)
        self._ranges = [(start, stop) for _, start, stop, _ in places.values()]

    def use(self, start: int, stop: int, number: int) -> None:
        """Check the bytes of a tensor, unless that has been done. Raises what `ArchiveReader.view` raises."""
        if not self._is_right(start, stop):
            self._check(start, stop, number)
        self._last = number

    def _check(self, start: int, stop: int, number: int) -> None:
        """Check a tensor, and in a loop those that follow, no more chunks than it has checked until now."""
        if number != self._last + 1:
            self._paid = 0
        following = islice(self._ranges, number + 1, None) if self._paid else ()
        self._paid += self._reader.require(self._member, start, stop, following, min(self._paid, _AHEAD))

    def use_many(self, places: Iterable[UsualPlace]) -> None:
        """Check the bytes of many tensors as `use` does, neighbours in one pass."""
        runs = _runs((self._member, start, stop) for _, start, stop, _ in places)
        self._reader.will_use(self._member, [(run.start, run.stop) for run in runs])
        for run in runs:
            self._reader.require(self._member, run.start, run.stop)


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbours in one entry, to be read at once: of each where it starts and ends, and its number."""

    member: str
    start: int
    stop: int
    parts: list[tuple[int, int, int]]


def _runs(places: Iterable[tuple[str, int, int]]) -> list[_Run]:
    """Put together what lies in the same chunks or in neighbouring ones, up to `_RUN` bytes.

    >>> [len(run.parts) for run in _runs([("a", 0, 8), ("a", 8, 9), ("b", 0, 8), ("a", 1 << 30, 1 << 31)])]
    [2, 1, 1]
    """
    runs: list[_Run] = []
    for member, start, stop, at in sorted((*place, at) for at, place in enumerate(places)):
        last = runs[-1] if runs else None
        if (
            last is None
            or last.member != member
            or start // CHUNK > -(-last.stop // CHUNK)
            or max(stop, last.stop) - last.start > _RUN
        ):
            runs.append(_Run(member, start, stop, [(start, stop, at)]))
        else:
            runs[-1] = _Run(member, last.start, max(stop, last.stop), last.parts)
            last.parts.append((start, stop, at))
    return runs


def storages_of(tensors: TensorReader | None, prefix: str = "") -> dict[str, tuple[str, int]]:
    """Return the dtype and the bytes of each tensor by its key: what an audit asks of storages.

    With a prefix, those of the keys that begin with it, which are named without it. None has no tensors.
    Raises ArchiveError for a tensor that is damaged.
    """
    if tensors is None:
        return {}
    return {
        key.removeprefix(prefix): (tensors[key].dtype, tensor_bytes(tensors[key].dtype, tensors[key].shape))
        for key in tensors
        if key.startswith(prefix)
    }
