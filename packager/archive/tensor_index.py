"""The index of a safetensors member: what its header says and more, in a form that opens at once.

Keys, dtypes, shapes and places are packed columns, so that reading them costs the same few values
for ten tensors and for twenty thousand; keys are split when the first one is asked for. Storages
are numbered in the order of their bytes. Section 7.2 of the format.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from math import prod
from typing import Any, Final

from packager.tensors import DTYPE_BITS, contiguous_strides, fits, span

from .bounds import MAX_RANK, MAX_TENSORS
from .errors import damaged
from .packed import pack, unpack
from .safetensors import tensor_bytes

_DTYPES: Final = tuple(DTYPE_BITS)
_DTYPE_NUMBERS: Final = {dtype: number for number, dtype in enumerate(_DTYPES)}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One tensor: a key, a safetensors dtype, and how it lies in a storage.

    `strides` and `offset` count elements of the dtype, as in PyTorch; strides may be zero or
    negative. `storage` is the number of the storage. Tensors with the same storage share memory.
    """

    key: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int


@lru_cache(maxsize=4096)
def _is_possible(shape: tuple[int, ...]) -> bool:
    return len(shape) <= MAX_RANK and not prod(map(_at_least_1, shape)) >> 63


@dataclass(frozen=True)
class TensorIndex:
    """The columns of an index.

    `names` holds all keys with NUL between them, `ranks` the number of dimensions of each tensor,
    `dims` all dimensions one after another, `storages` the number of each tensor's storage, `ends`
    where each storage ends in the data section, `views` the offset and strides of those tensors
    that do not start their storage in C order (strides None where only the offset differs).
    """

    count: int
    names: str
    dtypes: bytes
    ranks: bytes
    dims: array[int]
    storages: array[int]
    ends: array[int]
    views: Mapping[int, tuple[int, tuple[int, ...] | None]]
    metadata: Mapping[str, str]

    @classmethod
    def of(
        cls,
        tensors: Sequence[TensorSpec],
        places: Sequence[int],
        sizes: Sequence[int],
        views: Mapping[int, tuple[int, tuple[int, ...] | None]],
        metadata: Mapping[str, str],
    ) -> TensorIndex:
        """Make the columns for tensors, each in the storage `places` says, of storages of the given sizes."""
        return cls(
            len(tensors),
            "\0".join([tensor.key for tensor in tensors]),
            bytes([_DTYPE_NUMBERS[tensor.dtype] for tensor in tensors]),
            bytes([len(tensor.shape) for tensor in tensors]),
            array("Q", [n for tensor in tensors for n in tensor.shape]),
            array("I", places),
            array("Q", accumulate(sizes)),
            views,
            dict(metadata),
        )

    def dump(self) -> bytes:
        """The index as canonical msgpack."""
        views = [[i, offset, strides] for i, (offset, strides) in self.views.items()]
        packed = [_little(column).tobytes() for column in (self.dims, self.storages, self.ends)]
        return pack([self.count, self.names, self.dtypes, self.ranks, *packed, views, dict(self.metadata)])

    @classmethod
    def load(cls, data: bytes, *, what: str) -> TensorIndex:
        """Read an index.

        Raises ArchiveError for columns that do not fit each other. What a column says of one tensor
        is checked when that tensor is asked for, and of all by verification.
        """
        columns = unpack(data, what=what)
        if type(columns) is not list or tuple(map(type, columns)) != _COLUMNS:
            raise damaged(what, "other columns", "the nine of the format")
        count, names, dtypes, ranks, dims, storages, ends, views, metadata = columns
        keys = names.count("\0") + 1 if names or count else 0
        lengths = (keys, len(dtypes), len(ranks), len(storages) / 4, count + sum(ranks) - len(dims) / 8)
        if count > MAX_TENSORS or any(length != count for length in lengths) or len(ends) % 8:
            raise damaged(what, f"columns for {lengths} tensors", f"each for {count}, at most {MAX_TENSORS}")
        if not all(type(value) is str for value in metadata.values()):
            raise damaged(f"{what}, metadata", "other values", "strings")
        packed = (("Q", dims), ("I", storages), ("Q", ends))
        numbers = [_little(array(code, column)) for code, column in packed]
        checked_views = _checked_views(views, count, what)
        return cls(count, names, dtypes, ranks, numbers[0], numbers[1], numbers[2], checked_views, metadata)

    @property
    def data_size(self) -> int:
        """The bytes of the data section."""
        return self.ends[-1] if self.ends else 0

    @cached_property
    def _first_dims(self) -> list[int]:
        return list(accumulate(self.ranks, initial=0))

    def storage_range(self, number: int) -> tuple[int, int]:
        """Where a storage lies in the data section. Raises ArchiveError when it lies nowhere."""
        if number >= len(self.ends):
            raise damaged(f"storage {number}", f"{len(self.ends)} storages", "one of this number")
        start, stop = self.ends[number - 1] if number else 0, self.ends[number]
        if not start <= stop <= self.data_size:
            raise damaged(f"storage {number}", f"bytes {start} to {stop} of {self.data_size}", "rising ends")
        return start, stop

    def spec(self, number: int, key: str) -> TensorSpec:
        """One tensor, by its number and key. Raises ArchiveError when it does not lie in its storage."""
        first = self._first_dims[number]
        shape = tuple(self.dims[first : first + self.ranks[number]])
        code = self.dtypes[number]
        if code >= len(_DTYPES) or not _is_possible(shape):
            raise damaged(
                f"tensor {key!r}", f"dtype number {code}, shape {shape}", "a dtype and a shape that can be"
            )
        offset, strides = self.views.get(number, (0, None))
        strides = contiguous_strides(shape) if strides is None else strides
        if len(strides) != len(shape):
            raise damaged(f"tensor {key!r}", f"strides {strides}", f"one for each dimension of {shape}")
        spec = TensorSpec(key, _DTYPES[code], shape, strides, offset, self.storages[number])
        start, stop = self.storage_range(spec.storage)
        if not fits(shape, strides, offset, DTYPE_BITS[spec.dtype], stop - start):
            low, high = span(shape, strides, offset)
            raise damaged(
                f"tensor {key!r}",
                f"elements {low} to {high}",
                f"them inside the {stop - start} bytes of its storage",
            )
        return spec

    def contiguous(self, keys: Iterable[str]) -> Iterator[tuple[str, str, tuple[int, ...], int]]:
        """Key, dtype, shape and place in the data section of every tensor that starts its storage in C order.

        Checks the same as `spec`, for many tensors at once.
        """
        ends, dims = self.ends.tolist(), self.dims.tolist()
        if ends != sorted(ends) or max(self.storages, default=0) >= max(len(ends), 1):
            raise damaged("tensor index", "ends that do not rise, or a storage beyond them", "rising ends")
        starts = [0, *ends]
        sizes: dict[tuple[int, tuple[int, ...]], int] = {}  # tensors share few dtypes and shapes
        first = 0
        for number, key, code, rank, storage in zip(
            range(self.count), keys, self.dtypes, self.ranks, self.storages, strict=True
        ):
            shape = tuple(dims[first : first + rank])
            first += rank
            if number in self.views:
                continue
            size = sizes.get((code, shape))
            if size is None:
                spec = self.spec(number, key)
                size = sizes[code, shape] = tensor_bytes(spec.dtype, shape)
            if starts[storage] + size > ends[storage]:
                raise damaged(f"tensor {key!r}", f"{size} bytes", "them inside its storage")
            yield key, _DTYPES[code], shape, starts[storage]


# Count, names, dtypes, ranks, dims, storages, ends, views, metadata.
_COLUMNS: Final = (int, str, bytes, bytes, bytes, bytes, bytes, list, dict)


def _checked_views(rows: list[Any], count: int, what: str) -> dict[int, tuple[int, tuple[int, ...] | None]]:
    views: dict[int, tuple[int, tuple[int, ...] | None]] = {}
    for row in rows:
        if not _is_view(row):
            raise damaged(f"{what}, views", repr(row)[:80], "a number, an offset, and strides or None")
        number, offset, strides = row
        views[number] = offset, None if strides is None else tuple(strides)
    if list(views) != sorted(views) or len(views) != len(rows) or any(not 0 <= i < count for i in views):
        raise damaged(f"{what}, views", "numbers that do not rise", f"numbers below {count}, each once")
    return views


def _is_view(row: Any) -> bool:
    if type(row) is not list or len(row) != 3 or type(row[2]) not in (list, type(None)):
        return False
    return all(type(n) is int for n in [*row[:2], *(row[2] or [])])


def _at_least_1(size: int) -> int:
    return max(size, 1)


def _little(column: array[int]) -> array[int]:
    """Turn between this machine's byte order and the little-endian one of the format."""
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column
