"""State dicts in an archive: one safetensors member, and a msgpack index beside it.

The member is readable by every safetensors library once it is taken out. The index says the same
and more (views, ties, the order of keys), in a form that opens in the same time for ten tensors
and for twenty thousand. Section 7 of the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from threading import Lock
from typing import Any, Final

from packager.tensors import DTYPE_BITS, is_contiguous, span

from .errors import MissingEntryError, damaged
from .listing import ALIGNMENT
from .output import flat_view
from .reader import ArchiveReader, PrivateEntry
from .sources import anonymous
from .tensor_index import TensorIndex, TensorSpec
from .tensor_plan import plan_member
from .writer import ArchiveWriter

_LOOKUPS_WITHOUT_TABLE: Final = 8


def index_name(member: str) -> str:
    """The name of the index that belongs to a safetensors member.

    >>> index_name("net/weights.safetensors")
    '.data/index/net/weights.safetensors'
    """
    return f".data/index/{member}"


def add_tensors(
    writer: ArchiveWriter,
    member: str,
    tensors: Sequence[TensorSpec],
    storages: Sequence[Any],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Add a safetensors member and its index to an archive being made.

    `storages` are C-contiguous buffers, little-endian, not copied; each is written once, however
    many tensors lie in it. In the safetensors header a storage has the key of the first tensor that
    fills it in C order; a storage that no tensor fills so has the key of the first tensor in it with
    `#storage` behind, and is flat. The other tensors are in our index alone.

    Raises ArchiveError, for all tensors together, for keys given twice or holding NUL, unknown
    dtypes, tensors that do not lie inside their storage, and storages without a tensor.

    >>> import io
    >>> from packager.archive import ArchiveReader, ArchiveWriter, Manifest
    >>> file, weight = io.BytesIO(), bytes(range(6))
    >>> with ArchiveWriter(file) as writer:
    ...     rows = TensorSpec("w", "U8", (2, 3), (3, 1), 0, 0)
    ...     columns = TensorSpec("w.T", "U8", (3, 2), (1, 3), 0, 0)
    ...     add_tensors(writer, "net/weights", [rows, columns], [weight])
    ...     identity = writer.seal(Manifest())
    >>> with ArchiveReader(file) as reader:
    ...     stored = TensorReader(reader, "net/weights")
    ...     list(stored), bytes(stored.data("w.T"))
    (['w', 'w.T'], b'\\x00\\x01\\x02\\x03\\x04\\x05')
    """
    views = [flat_view(storage) for storage in storages]
    plan = plan_member(tensors, [len(view) for view in views], metadata or {})
    content = [memoryview(plan.header), *(views[number] for number in plan.order)]
    writer.add(member, content, kind="tensors", align=ALIGNMENT)
    writer.add(index_name(member), plan.index, kind="index")


class TensorReader(Mapping[str, TensorSpec]):
    """The tensors of a member, by key and in the order they were given; values are their specs.

    Nothing but the index is read until bytes are asked for. Bytes are checked as the archive's
    reader says; views stay valid after the reader is closed.

    Raises MissingEntryError when the archive has no such member, and ArchiveError for an index that
    is not as the format demands; the same for a single tensor when it is asked for.
    """

    metadata: Mapping[str, str]
    """What stands under `__metadata__` in the safetensors header."""

    def __init__(self, reader: ArchiveReader, member: str) -> None:
        entry = reader.entry(member)
        for name, kind in ((member, "tensors"), (index_name(member), "index")):
            if reader.entry(name).kind != kind:
                raise MissingEntryError(
                    f"entry {name!r} is of kind {reader.entry(name).kind}; expected {kind}"
                )
        self._reader = reader
        self._member = member
        self._index = TensorIndex.load(reader.read(index_name(member)), what=f"index of {member!r}")
        self._data_start = entry.size - self._index.data_size
        if self._data_start < 8:
            raise damaged(
                f"index of {member!r}", f"{self._index.data_size} bytes of data", f"less than {entry.size}"
            )
        self.metadata = self._index.metadata
        self._lookups = 0
        self._lock = Lock()
        self._private: PrivateEntry | None = None
        # Copies of storages that do not lie at a multiple of 64 in the file. Memory of the whole section's
        # size is reserved, and taken page by page where a copy is written.
        self._arena: memoryview | None = None
        self._copied: set[int] = set()

    def __getitem__(self, key: str) -> TensorSpec:
        return self._index.spec(self._number_of(key), key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return self._index.count

    def storage(self, number: int, *, private: bool = False) -> memoryview:
        """The checked bytes of a storage, without a copy.

        With `private=True` they may be written to, copy on write; all such views from one
        TensorReader show the same memory, and nobody else sees it. They start at a multiple of 64
        bytes, as freshly allocated arrays do: a storage that does not lie so in the file is copied.
        """
        start, stop = self._index.storage_range(number)
        return self._part(number, 0, stop - start, private)

    def private_storage(self, key: str) -> memoryview:
        """Return the checked bytes of the storage that `key` lies in, to be written to, copy on write."""
        return self.storage(self[key].storage, private=True)

    def storage_size(self, number: int) -> int:
        """How many bytes a storage has."""
        start, stop = self._index.storage_range(number)
        return stop - start

    def part(self, number: int, low: int, high: int) -> memoryview:
        """The checked bytes `low` to `high` of a storage. Raises ValueError where it has no such bytes."""
        if not 0 <= low <= high <= self.storage_size(number):
            raise ValueError(f"bytes {low} to {high} of a storage of {self.storage_size(number)}")
        return self._part(number, low, high, False)

    def data(self, key: str, *, private: bool = False) -> memoryview:
        """The checked bytes that a tensor spans in its storage, from its lowest element to its highest.

        For a C-contiguous tensor these are its bytes, no more and no less.
        """
        return self.data_of(self[key], private=private)

    def data_of(self, tensor: TensorSpec, *, private: bool = False) -> memoryview:
        """The same for a tensor whose spec is there already."""
        low, high = span(tensor.shape, tensor.strides, tensor.offset)
        bits = DTYPE_BITS[tensor.dtype]
        return self._part(tensor.storage, low * bits // 8, high * bits // 8, private)

    def rows(self, key: str, start: int, stop: int, *, private: bool = False) -> memoryview:
        """The checked bytes of rows `start` to `stop` of a tensor that lies in C order, and of no others.

        Raises ValueError for a tensor that does not, and for rows that it does not have.
        """
        tensor = self[key]
        if not tensor.shape or not is_contiguous(tensor.shape, tensor.strides):
            raise ValueError(f"tensor {key!r} has no rows side by side; ask for the whole of it")
        if not 0 <= start <= stop <= tensor.shape[0]:
            raise ValueError(f"tensor {key!r} has {tensor.shape[0]} rows, asked for {start} to {stop}")
        bits, row = DTYPE_BITS[tensor.dtype], prod(tensor.shape[1:])
        places = [(tensor.offset + at * row) * bits // 8 for at in (start, stop)]
        return self._part(tensor.storage, places[0], places[1], private)

    def section(self) -> memoryview:
        """The checked bytes of the whole data section, all storages one after another."""
        return self._bytes(0, self._index.data_size, False)

    def contiguous(self) -> Iterator[tuple[str, str, tuple[int, ...], int]]:
        """Key, dtype, shape and place in `section()` of every tensor that starts its storage in C order.

        The way to many tensors at once; the others are those of `strided()`. Raises ArchiveError
        when a tensor does not lie inside its storage.
        """
        return self._index.contiguous(self._numbers)

    def strided(self) -> Iterator[TensorSpec]:
        """Every tensor that `contiguous()` does not give."""
        keys = list(self._numbers)
        return (self._index.spec(number, keys[number]) for number in self._index.views)

    def _part(self, number: int, low: int, high: int, private: bool) -> memoryview:
        """Bytes `low` to `high` of a storage; private ones in memory that starts at a multiple of 64."""
        start, stop = self._index.storage_range(number)
        if not private or (self._data_start + start) % ALIGNMENT == 0:
            return self._bytes(start + low, start + high, private)
        place = -(-start // ALIGNMENT) * ALIGNMENT + number * ALIGNMENT  # far enough from the one before
        with self._lock:
            if self._arena is None:
                self._arena = anonymous(self._index.data_size + (len(self._index.ends) + 2) * ALIGNMENT)
            if number not in self._copied:
                self._arena[place : place + stop - start] = self._bytes(start, stop, False)
                self._copied.add(number)
            return self._arena[place + low : place + high]

    def _bytes(self, start: int, stop: int, private: bool) -> memoryview:
        start, stop = self._data_start + start, self._data_start + stop
        if not private:
            return self._reader.view(self._member, start, stop)
        with self._lock:
            if self._private is None:
                self._private = self._reader.private(self._member)
            memory = self._private
        return memory.view(start, stop)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Every key with its number, in order. Made once, when many keys are asked for."""
        numbers = dict(zip(self._index.names.split("\0"), range(len(self)), strict=False))
        if len(numbers) != len(self):
            raise damaged(f"index of {self._member!r}", "a key twice", "each key once")
        return numbers

    def _number_of(self, key: str) -> int:
        number: int | None
        if self._lookups < _LOOKUPS_WITHOUT_TABLE and "_numbers" not in self.__dict__:
            # For a few keys among twenty thousand, searching the text is faster than splitting it.
            self._lookups += 1
            names = f"\0{self._index.names}\0"
            place = names.find(f"\0{key}\0") if "\0" not in key and len(self) else -1
            number = names.count("\0", 0, place) if place >= 0 else None
        else:
            number = self._numbers.get(key)
        if number is None:
            raise MissingEntryError(f"{self._member!r} has no tensor {key!r}; it has {len(self)}, see keys()")
        return number
