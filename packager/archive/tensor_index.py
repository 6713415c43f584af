"""The index of a safetensors member: what says of each tensor its dtype, shape, strides and place.

It says the same as the header of safetensors and more (views, ties, the order of keys), in packed columns
that open at the same cost for ten tensors and for twenty thousand; keys are split when the first one is asked
for. Storages are numbered in the order of their bytes. Section 7.2 of the format.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate, islice, pairwise
from math import prod

from packager.errors import ArchiveError
from packager.quick_dataclasses import dataclass
from packager.tensors import DTYPE_BITS, contiguous_strides, fits, span

from .archive_errors import damaged
from .bounds import MAX_RANK, MAX_TENSORS
from .entries import Place, little_endian, numbers_in
from .packed import unpack

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from .entries import Numbers


METADATA: Final = "__metadata__"
"""The one key of a header that is not that of a tensor."""

ELSEWHERE: Final = "kellet.elsewhere"
"""The metadata of a header that names the members in which some of its tensors lie, one a line."""

DTYPES: Final = tuple(DTYPE_BITS)
"""The dtypes by their numbers in an index."""

_BLOCK: Final = 256  # tensors whose ranks are added up together

# Count, names, dtypes, ranks, dims, storages, ends, views, metadata, elsewhere.
_COLUMNS: Final = (int, str, bytes, bytes, bytes, bytes, bytes, list, dict, list)

Views = Mapping[int, tuple[int, tuple[int, ...] | None]]
"""Offset and strides of tensors by number; strides are None where the elements lie in C order."""


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


@dataclass(frozen=True)
class TensorIndex:
    """The columns of an index.

    `names` holds all keys with NUL between them, `ranks` the number of dimensions of each tensor,
    `dims` all dimensions one after another, `storages` the number of each tensor's storage, `ends`
    where each storage ends in the data section, `views` the offset and strides of those tensors
    that do not start their storage in C order (strides None where only the offset differs). `elsewhere`
    are the places of storages in other members, whose numbers follow.
    """

    count: int
    names: str
    dtypes: bytes
    ranks: bytes
    dims: Numbers
    storages: Numbers
    ends: Numbers
    views: Views
    metadata: Mapping[str, str]
    elsewhere: tuple[Place, ...] = ()

    @classmethod
    def load(cls, data: bytes, *, what: str) -> TensorIndex:
        """Read an index.

        Raises ArchiveError for columns that do not fit each other. What a column says of one tensor
        is checked when that tensor is asked for, and of all by verification.
        """
        columns = unpack(data, what=what)
        if type(columns) is not list or tuple(map(type, columns)) != _COLUMNS:
            raise damaged(what, "other columns", "the ten of the format")
        count, names, dtypes, ranks, dims, storages, ends, views, metadata, elsewhere = columns
        keys = names.count("\0") + 1 if names or count else 0
        lengths = (keys, len(dtypes), len(ranks), len(storages) / 4, count + _sum(ranks) - len(dims) / 8)
        if count > MAX_TENSORS or any(length != count for length in lengths) or len(ends) % 8:
            raise damaged(what, f"columns for {lengths} tensors", f"each for {count}, at most {MAX_TENSORS}")
        if not all(type(value) is str for value in metadata.values()):
            raise damaged(f"{what}, metadata", "other values", "strings")
        return cls(
            count,
            names,
            dtypes,
            ranks,
            numbers_in(dims, "Q"),
            numbers_in(storages, "I"),
            numbers_in(ends, "Q"),
            _checked_views(views, count, what),
            metadata,
            _checked_places(elsewhere, count, what),
        )

    @property
    def data_size(self) -> int:
        """The bytes of the data section."""
        return self.ends[-1] if self.ends else 0

    @cached_property
    def _dims_before(self) -> list[int]:
        """How many dimensions stand before each block of tensors."""
        blocks = (self.ranks[at : at + _BLOCK] for at in range(0, self.count, _BLOCK))
        return list(accumulate(map(_sum, blocks), initial=0))

    @cached_property
    def others(self) -> list[int]:
        """The numbers of the tensors that do not start a storage of this member in C order, rising."""
        if not self.elsewhere:
            return list(self.views)
        own = len(self.ends)
        away = [number for number, storage in enumerate(self.storages) if storage >= own]
        return sorted({*self.views, *away})

    def place_elsewhere(self, number: int) -> Place:
        """Return where a storage lies that is in another member. Raises ArchiveError when it lies nowhere."""
        own = len(self.ends)
        if not own <= number < own + len(self.elsewhere):
            raise damaged(f"storage {number}", f"{own + len(self.elsewhere)} storages", "one of this number")
        return self.elsewhere[number - own]

    def storage_size(self, number: int) -> int:
        """Return how many bytes a storage has. Raises ArchiveError when it lies nowhere."""
        if number >= len(self.ends):
            return self.place_elsewhere(number).nbytes
        start, stop = self.storage_range(number)
        return stop - start

    def storage_range(self, number: int) -> tuple[int, int]:
        """Return where a storage lies in the data section. Raises ArchiveError when it is not there."""
        if number >= len(self.ends):
            raise damaged(f"storage {number}", f"{len(self.ends)} storages", "one of this number")
        start, stop = self.ends[number - 1] if number else 0, self.ends[number]
        if not start <= stop <= self.data_size:
            raise damaged(f"storage {number}", f"bytes {start} to {stop} of {self.data_size}", "rising ends")
        return start, stop

    def spec(self, number: int, key: str) -> TensorSpec:
        """Return one tensor, by number and key. Raises ArchiveError when it does not lie in its storage."""
        block = number // _BLOCK
        first = self._dims_before[block] + _sum(self.ranks[block * _BLOCK : number])
        shape = tuple(self.dims[first : first + self.ranks[number]])
        code = self.dtypes[number]
        if code >= len(DTYPES) or shape_problem(shape, DTYPE_BITS[DTYPES[code]]):
            raise damaged(
                f"tensor {key!r}", f"dtype number {code}, shape {shape}", "a dtype and a shape that can be"
            )
        offset, strides = self.views.get(number, (0, None))
        strides = contiguous_strides(shape) if strides is None else strides
        if len(strides) != len(shape):
            raise damaged(f"tensor {key!r}", f"strides {strides}", f"one for each dimension of {shape}")
        spec = TensorSpec(key, DTYPES[code], shape, strides, offset, self.storages[number])
        size = self.storage_size(spec.storage)
        if not fits(shape, strides, offset, DTYPE_BITS[spec.dtype], size):
            low, high = span(shape, strides, offset)
            raise damaged(
                f"tensor {key!r}",
                f"elements {low} to {high}",
                f"them inside the {size} bytes of its storage",
            )
        return spec

    def contiguous(self, keys: Iterable[str]) -> Iterator[tuple[str, str, tuple[int, ...], int]]:
        """Yield key, dtype, shape and place of every tensor that starts its storage in C order.

        Checks the same as `spec`, for many tensors at once.
        """
        ends, dims = self.ends.tolist(), self.dims.tolist()
        known = len(ends) + len(self.elsewhere)
        if ends != sorted(ends) or (self.storages and max(self.storages) >= known):
            raise damaged("tensor index", "ends that do not rise, or a storage beyond them", "rising ends")
        starts = [0, *ends]
        sizes: dict[tuple[int, tuple[int, ...]], int] = {}  # tensors share few dtypes and shapes
        first = 0
        for number, key, code, rank, storage in zip(
            range(self.count), keys, self.dtypes, self.ranks, self.storages, strict=True
        ):
            shape = tuple(dims[first : first + rank])
            first += rank
            if number in self.views or storage >= len(ends):
                continue
            size = sizes.get((code, shape))
            if size is None:
                spec = self.spec(number, key)
                size = sizes[code, shape] = tensor_bytes(spec.dtype, shape)
            if starts[storage] + size > ends[storage]:
                raise damaged(f"tensor {key!r}", f"{size} bytes", "them inside its storage")
            yield key, DTYPES[code], shape, starts[storage]

    def usual(self, first: int) -> list[tuple[tuple[str, tuple[int, ...]], int, int] | None]:
        """Return of every tensor dtype and shape, and from where to where it lies.

        The places are those of bytes of the member, whose data section starts at `first`.
        None stands for a tensor that does not start a storage of this member in C order, that has no
        elements, and for one that `spec` refuses. Checks the same as `spec`, for all at once.
        """
        ends, storages = self.ends.tolist(), self.storages.tolist()
        if not ends or ends != sorted(ends):
            return [None] * self.count
        own = len(ends)
        if max(storages, default=0) >= own:
            storages = [storage if storage < own else own for storage in storages]
        starts = [first, *(first + end for end in ends)]
        ends = [*starts[1:], -1]  # nothing lies in what is no storage
        layouts = list(zip(self.dtypes, self._shapes(), strict=True))
        known = {layout: self._usual_layout(*layout) for layout in set(layouts)}  # tensors share few
        rows = [
            (layout, start, start + size) if size and start + size <= end else None
            for (layout, size), start, end in zip(
                map(known.__getitem__, layouts),
                map(starts.__getitem__, storages),
                map(ends.__getitem__, storages),
                strict=True,
            )
        ]
        for number in self.views:
            rows[number] = None
        return rows

    def _shapes(self) -> list[tuple[int, ...]]:
        sizes = iter(self.dims)
        ranks = set(self.ranks)
        if len(ranks) == 1 and 0 not in ranks:
            return list(zip(*[sizes] * ranks.pop(), strict=True))
        return [tuple(islice(sizes, rank)) for rank in self.ranks]

    def _usual_layout(self, code: int, shape: tuple[int, ...]) -> tuple[tuple[str, tuple[int, ...]], int]:
        """Return the dtype, and the shape, of tensors with their bytes; no bytes where there are none."""
        if code >= len(DTYPES) or shape_problem(shape, DTYPE_BITS[DTYPES[code]]):
            return ("", shape), 0
        bits = DTYPE_BITS[DTYPES[code]] * prod(shape)
        return (DTYPES[code], shape), 0 if bits % 8 else bits // 8


@lru_cache(maxsize=4096)  # tensors share few shapes
def shape_problem(shape: tuple[int, ...], bits: int) -> str | None:
    """Return why no array has a shape, with elements of so many bits; None where one can.

    Arrays of NumPy have fewer than 2**63 bytes, where an axis without elements counts as one.

    >>> shape_problem((0, 2**60 - 1, 2), 32), shape_problem((2, -1), 8)
    (None, 'the shape (2, -1) has a negative size')
    """
    if len(shape) > MAX_RANK:
        return f"the shape has {len(shape)} dimensions; expected at most {MAX_RANK}"
    if any(size < 0 for size in shape):
        return f"the shape {shape} has a negative size"
    if prod(map(_at_least_1, shape)) * max(bits, 8) >> 66:
        return f"the shape {shape} is too large: expected fewer than 2**63 bytes, an axis of 0 counted as 1"
    return None


def tensor_bytes(dtype: str, shape: Iterable[int]) -> int:
    """Return how many bytes the elements of a tensor take.

    Raises ArchiveError for an unknown dtype, and where packed elements do not fill whole bytes.

    >>> tensor_bytes("BF16", (2, 3)), tensor_bytes("F4", (6,)), tensor_bytes("F32", ())
    (12, 3, 4)
    """
    if dtype not in DTYPE_BITS:
        raise ArchiveError(f"dtype {dtype!r} is unknown; safetensors has {', '.join(DTYPE_BITS)}")
    bits = DTYPE_BITS[dtype] * prod(shape)
    if bits % 8:
        raise ArchiveError(f"dtype {dtype} with shape {tuple(shape)} takes {bits} bits; expected whole bytes")
    return bits // 8


def _sum(ranks: bytes) -> int:
    """Return the sum of some ranks, which are often all the same."""
    first = ranks[:1]
    return first[0] * len(ranks) if first and ranks == first * len(ranks) else sum(ranks)


def _checked_views(rows: list[Any], count: int, what: str) -> Views:
    views: dict[int, tuple[int, tuple[int, ...] | None]] = {}
    for row in rows:
        if not _is_view(row):
            raise damaged(f"{what}, views", repr(row)[:80], "a number, an offset, and strides or None")
        number, offset, strides = row
        views[number] = offset, None if strides is None else tuple(strides)
    if list(views) != sorted(views) or len(views) != len(rows) or any(not 0 <= i < count for i in views):
        raise damaged(f"{what}, views", "numbers that do not rise", f"numbers below {count}, each once")
    return views


def _checked_places(rows: list[Any], count: int, what: str) -> tuple[Place, ...]:
    """Check where storages lie in other members: one row for each of those, with the places in it."""
    for row in rows:
        if type(row) is not list or tuple(map(type, row)) != (str, bytes) or not row[1] or len(row[1]) % 16:
            raise damaged(f"{what}, elsewhere", repr(row)[:80], "a member, and sixteen bytes for each place")
    found = sum(len(packed) // 16 for _, packed in rows)
    if found > count:
        raise damaged(f"{what}, elsewhere", f"{found} places", f"at most one for each of {count} tensors")
    places: list[Place] = []
    for member, packed in rows:
        bounds = little_endian(array("Q", packed)).tolist()
        places += map(Place, [member] * (len(bounds) // 2), bounds[::2], bounds[1::2])
    if any(place.start > place.stop for place in places):
        raise damaged(f"{what}, elsewhere", "a place that stops before it starts", "its start, then its stop")
    if any(before >= after for before, after in pairwise(places)):
        raise damaged(f"{what}, elsewhere", "places that do not rise", "each once, by member and byte")
    return tuple(places)


def _is_view(row: Any) -> bool:
    if type(row) is not list or len(row) != 3 or type(row[2]) not in (list, type(None)):
        return False
    return all(type(n) is int for n in [*row[:2], *(row[2] or [])])


def _at_least_1(size: int) -> int:
    return max(size, 1)
