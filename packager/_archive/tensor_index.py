"""The one form of a set of tensors, on its way out and in: columns, and records of those that are asked for.

It is the index of a safetensors member, too. That says the same as the header of safetensors and more (views,
ties, the order of keys), in packed columns that open at the same cost for ten tensors and for twenty
thousand. In a file storages are numbered in the order of their bytes. Section 7.2 of the format.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from math import prod

from packager._quick_dataclasses import dataclass
from packager._tensors import DTYPE_BITS, contiguous_strides, fits, is_contiguous, span
from packager.errors import ArchiveError

from .archive_errors import damaged
from .bounds import MAX_RANK, MAX_STRIDE, MAX_TENSORS, can_be_strides
from .entries import Place, little_endian, numbers_in
from .packed import pack, unpack

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from .entries import Numbers


METADATA: Final = "__metadata__"
"""The one key of a header that is not that of a tensor."""

ELSEWHERE: Final = "kellet.elsewhere"
"""The metadata of a header that names the members in which some of its tensors lie, one a line."""

DTYPES: Final = tuple(DTYPE_BITS)
"""The dtypes by their numbers in an index."""

_NUMBERS: Final = {dtype: number for number, dtype in enumerate(DTYPES)}

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
    """A set of tensors, each with a key, in storages that they may share.

    `names` holds all keys with NUL between them, `ranks` the number of dimensions of each tensor,
    `dims` all dimensions one after another, `storages` the number of each tensor's storage, `ends`
    where each storage ends if they lie one behind another, `views` the offset and strides of those tensors
    that do not start their storage in C order (strides None where only the offset differs). `elsewhere`
    are the places of storages in other members, whose numbers follow.

    >>> index = TensorIndex.of_columns(["w", "b"], ["F32", "F32"], [(2, 3), (2,)], [24, 8])
    >>> index[1]
    TensorSpec(key='b', dtype='F32', shape=(2,), strides=(1,), offset=0, storage=1)
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
    def of(
        cls, tensors: Sequence[TensorSpec], sizes: Sequence[int], metadata: Mapping[str, str] | None = None
    ) -> TensorIndex:
        """Put records together, which lie in storages of these sizes. Raises as `of_columns` does."""
        views: dict[int, tuple[int, tuple[int, ...] | None]] = {}
        for number, tensor in enumerate(tensors):
            in_order = is_contiguous(tensor.shape, tensor.strides)
            if tensor.offset or not in_order:
                views[number] = tensor.offset, None if in_order else tensor.strides
        return cls.of_columns(
            [tensor.key for tensor in tensors],
            [tensor.dtype for tensor in tensors],
            [tensor.shape for tensor in tensors],
            sizes,
            storages=[tensor.storage for tensor in tensors],
            views=views,
            metadata=metadata,
        )

    @classmethod
    def of_columns(
        cls,
        keys: Sequence[str],
        dtypes: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
        sizes: Sequence[int],
        *,
        storages: Sequence[int] | None = None,
        views: Views | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> TensorIndex:
        """Put columns together; without `storages` each tensor has the storage of its number.

        Raises ArchiveError, for all tensors together, for keys given twice or holding NUL, unknown
        dtypes, tensors that do not lie inside their storage, and storages without a tensor.
        """
        storages = range(len(keys)) if storages is None else storages
        require_sound(keys, dtypes, shapes, storages, views or {}, sizes)
        return cls(
            len(keys),
            "\0".join(keys),
            bytes(map(_NUMBERS.__getitem__, dtypes)),
            bytes(map(len, shapes)),
            array("Q", chain.from_iterable(shapes)),
            array("I", storages),
            array("Q", accumulate(sizes)),
            views or {},
            metadata or {},
        )

    @classmethod
    def load(cls, data: bytes, *, what: str) -> TensorIndex:
        """Read an index.

        Raises ArchiveError for columns that do not fit each other. What a column says of one tensor
        is checked when that tensor is asked for, and of all by verification.
        """
        columns: Any = unpack(data, what=what)
        if type(columns) is not list or tuple(map(type, columns)) != _COLUMNS:
            raise damaged(what, "other columns", "the ten columns of the format")
        count, names, dtypes, ranks, dims, storages, ends, views, metadata, elsewhere = columns
        keys = names.count("\0") + 1 if names or count else 0
        lengths = (keys, len(dtypes), len(ranks), len(storages) / 4, count + sum(ranks) - len(dims) / 8)
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
    def keys(self) -> list[str]:
        """All keys, in order."""
        return self.names.split("\0") if self.count else []

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """All shapes, in order."""
        dims = self.dims.tolist()
        return [tuple(dims[start:stop]) for start, stop in pairwise(self._firsts)]

    @cached_property
    def sizes(self) -> list[int]:
        """How many bytes each storage has."""
        own = [stop - start for start, stop in pairwise([0, *self.ends])]
        return [*own, *(place.nbytes for place in self.elsewhere)]

    @cached_property
    def _firsts(self) -> list[int]:
        """At which of all dimensions those of each tensor begin."""
        return list(accumulate(self.ranks, initial=0))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[TensorSpec]:
        return map(self.spec, range(self.count), self.keys)

    def __getitem__(self, number: int) -> TensorSpec:
        return self.spec(number, self.keys[number])

    def dump(self) -> bytes:
        """Return the index of a member, whose storages are numbered in the order of their bytes."""
        members = {place.member: b"" for place in self.elsewhere}
        for place in self.elsewhere:
            members[place.member] += little_endian(array("Q", [place.start, place.stop])).tobytes()
        return pack(
            [
                self.count,
                self.names,
                self.dtypes,
                self.ranks,
                *(
                    little_endian(array(code, column)).tobytes()
                    for code, column in (("Q", self.dims), ("I", self.storages), ("Q", self.ends))
                ),
                [[number, offset, strides] for number, (offset, strides) in self.views.items()],
                dict(self.metadata),
                [[member, places] for member, places in members.items()],
            ]
        )

    def place_elsewhere(self, number: int) -> Place:
        """Return where a storage lies that is in another member. Raises ArchiveError when it lies nowhere."""
        own = len(self.ends)
        if not own <= number < own + len(self.elsewhere):
            raise damaged(f"storage {number}", f"{own + len(self.elsewhere)} storages", "a lower number")
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
            raise damaged(f"storage {number}", f"{len(self.ends)} storages", "a lower number")
        start, stop = self.ends[number - 1] if number else 0, self.ends[number]
        if not start <= stop <= self.data_size:
            raise damaged(f"storage {number}", f"bytes {start} to {stop} of {self.data_size}", "rising ends")
        return start, stop

    def spec(self, number: int, key: str) -> TensorSpec:
        """Return one tensor, by number and key. Raises ArchiveError when it does not lie in its storage."""
        first = self._firsts[number]
        shape = tuple(self.dims[first : first + self.ranks[number]])
        code = self.dtypes[number]
        if code >= len(DTYPES) or shape_problem(shape, DTYPE_BITS[DTYPES[code]]):
            raise damaged(f"tensor {key!r}", f"dtype number {code}, shape {shape}", "a valid dtype and shape")
        offset, strides = self.views.get(number, (0, None))
        if strides is None:
            strides = contiguous_strides(shape)
        elif not can_be_strides(strides, len(shape), DTYPE_BITS[DTYPES[code]]):
            expected = f"one for each dimension of {shape}, of less than {MAX_STRIDE} bytes"
            raise damaged(f"tensor {key!r}", f"strides {strides}", expected)
        spec = TensorSpec(key, DTYPES[code], shape, strides, offset, self.storages[number])
        size = self.storage_size(spec.storage)
        if not fits(shape, strides, offset, DTYPE_BITS[spec.dtype], size):
            low, high = span(shape, strides, offset)
            raise damaged(
                f"tensor {key!r}",
                f"elements {low} to {high}",
                f"elements within the {size} bytes of its storage",
            )
        return spec

    def filling(self) -> list[bool]:
        """Say of each tensor whether it is its storage: in C order, from the first byte to the last."""
        sizes, views = self.sizes, self.views
        return [
            number not in views and layout_bits(DTYPES[code], shape) == 8 * sizes[storage]
            for number, (code, shape, storage) in enumerate(
                zip(self.dtypes, self.shapes, self.storages, strict=True)
            )
        ]

    def usual(self, first: int) -> list[tuple[tuple[str, tuple[int, ...]], int, int] | None]:
        """Return of every tensor dtype and shape, and from where to where it lies.

        The places are those of bytes of the member, whose data section starts at `first`.
        None stands for a tensor that does not start a storage of this member in C order, that has no
        elements, and for one that `spec` refuses. Checks the same as `spec`, for all at once.
        """
        ends = self.ends.tolist()
        if not ends or ends != sorted(ends):
            return [None] * self.count
        bounds = [(first + start, first + stop) for start, stop in pairwise([0, *ends])]
        bounds.append((0, -1))  # nothing lies in what is no storage of this member
        storages = [min(storage, len(ends)) for storage in self.storages]
        layouts = list(zip(self.dtypes, self.shapes, strict=True))
        known = {one: _usual_layout(*one) for one in {*layouts}}  # tensors share few
        rows = [
            (layout, start, start + size) if size and start + size <= stop else None
            for (layout, size), (start, stop) in zip(
                map(known.__getitem__, layouts), map(bounds.__getitem__, storages), strict=True
            )
        ]
        for number in self.views:
            rows[number] = None
        return rows


def _usual_layout(code: int, shape: tuple[int, ...]) -> tuple[tuple[str, tuple[int, ...]], int]:
    """Return the dtype, and the shape, of tensors with their bytes; no bytes where there are none."""
    dtype = DTYPES[code] if code < len(DTYPES) else ""
    bits = layout_bits(dtype, shape)
    return (dtype, shape), 0 if bits is None or bits % 8 else bits // 8


def require_sound(
    keys: Sequence[str],
    dtypes: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    storages: Sequence[int],
    views: Views,
    sizes: Sequence[int],
) -> None:
    """Raise ArchiveError, for all tensors together, unless each can be stored where it is said to lie."""
    problems = [*_key_problems(keys)]
    if len(keys) > MAX_TENSORS:
        problems.append(f"{len(keys)} tensors are more than the {MAX_TENSORS} of one member; use several")
    bits = {one: layout_bits(*one) for one in {*zip(dtypes, shapes, strict=True)}}  # tensors share few
    for number, (dtype, shape, storage) in enumerate(zip(dtypes, shapes, storages, strict=True)):
        is_there = 0 <= storage < len(sizes)
        if is_there and number not in views and bits[dtype, shape] == 8 * sizes[storage]:
            continue  # it fills its storage
        size = sizes[storage] if is_there else None
        if problem := _problem(dtype, shape, storage, views.get(number, (0, None)), size):
            problems.append(f"tensor {keys[number]!r}: {problem}")
    unused = {*range(len(sizes))}.difference(storages)
    problems += [f"storage {number}: no tensor lies in it" for number in sorted(unused)]
    if problems:
        raise ArchiveError.listing("the tensors cannot be stored:", problems)


def _problem(
    dtype: str,
    shape: tuple[int, ...],
    storage: int,
    view: tuple[int, tuple[int, ...] | None],
    size: int | None,
) -> str | None:
    """Return why a tensor that does not fill its storage cannot be stored; None when it can."""
    if dtype not in DTYPE_BITS:
        return f"dtype {dtype!r} is not one of {', '.join(DTYPE_BITS)}; view or convert it first"
    if problem := shape_problem(shape, DTYPE_BITS[dtype]):
        return problem
    (offset, strides), bits = view, DTYPE_BITS[dtype]
    if size is None or (strides is not None and not can_be_strides(strides, len(shape), bits)):
        return f"strides {strides} or storage {storage} do not fit"
    strides = contiguous_strides(shape) if strides is None else strides
    if not fits(shape, strides, offset, bits, size):
        low, high = span(shape, strides, offset)
        return f"elements {low} to {high} of {dtype} do not lie in its storage of {size} bytes"
    return f"packed elements of {dtype} must fill their storage in C order" if bits % 8 else None


def _key_problems(keys: Sequence[str]) -> Iterator[str]:
    joined = "\0".join(keys)
    counts = Counter(keys)
    as_usual = len(counts) == len(keys) and METADATA not in counts and _can_be(joined)
    if as_usual and joined.count("\0") == max(len(keys) - 1, 0):
        return
    for key, count in counts.items():
        if count > 1:
            yield f"tensor {key!r}: found {count} times; expected once"
        if "\0" in key or key == METADATA or not _can_be(key):
            yield f"tensor {key!r}: a key may not be __metadata__, or contain NUL or an unpaired surrogate"


def _can_be(text: str) -> bool:
    """Return whether UTF-8 can encode a text; it cannot encode an unpaired surrogate."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


@lru_cache(maxsize=4096)  # tensors share few layouts
def layout_bits(dtype: str, shape: tuple[int, ...]) -> int | None:
    """Return how many bits a tensor in C order takes; None for one that cannot be.

    >>> layout_bits("F4", (3,)), layout_bits("F32", (-1,)), layout_bits("F33", ())
    (12, None, None)
    """
    bits = DTYPE_BITS.get(dtype)
    return None if bits is None or shape_problem(shape, bits) else bits * prod(shape)


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
        return f"the shape {shape} is too large: expected fewer than 2**63 bytes (an axis of 0 counts as 1)"
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
