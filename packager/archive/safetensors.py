"""Safetensors members: the one way to write a set of tensors. Section 7.1 of the format.

One plan serves writing and verifying: a member is right when planning what its index says gives its very
bytes again. With twenty thousand tensors planning costs as much as a third of writing them, so what is
usual (keys that may be, tensors that fill their storage) is settled for all at once, and only the rest one
by one. Tensors that come as columns are planned as columns, to the same bytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from math import prod

from packager.errors import ArchiveError
from packager.quick_dataclasses import dataclass
from packager.tensors import DTYPE_BITS, contiguous_strides, fits, is_contiguous, span

from .bounds import MAX_HEADER, MAX_METADATA, MAX_TENSORS, most_sizes
from .entries import ALIGNMENT, Place, little_endian
from .packed import pack
from .tensor_index import DTYPES, ELSEWHERE, METADATA, TensorSpec, shape_problem

try:
    from _json import encode_basestring as _quoted  # `json` compiles patterns
except ImportError:  # a Python without it
    from json.encoder import encode_basestring as _quoted

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeGuard

    from .tensor_columns import TensorColumns


_DTYPE_NUMBERS: Final = {dtype: number for number, dtype in enumerate(DTYPES)}


def spell_header(
    tensors: Iterable[tuple[str, str, tuple[int, ...], int]], metadata: Mapping[str, str]
) -> bytes:
    """Write a header, length included, for tensors (key, dtype, shape, bytes) that lie one after another.

    Spaces fill it up to a multiple of 64 bytes, so that in an aligned entry the data section is
    aligned as well.
    """
    stop = 0
    parts = []
    middles: dict[tuple[str, tuple[int, ...]], str] = {}  # tensors share few dtypes and shapes
    for key, dtype, shape, size in tensors:
        start, stop = stop, stop + size
        middle = middles.get((dtype, shape))
        if middle is None:
            middle = middles[dtype, shape] = _middle(dtype, shape)
        parts.append(f"{_quoted(key)}{middle}{start},{stop}]}}")
    return _header_of(parts, metadata)


def _middle(dtype: str, shape: tuple[int, ...]) -> str:
    """Return what stands in a header between a key and where its bytes lie."""
    return f':{{"dtype":"{dtype}","shape":[{",".join(map(str, shape))}],"data_offsets":['


def _header_of(parts: Iterable[str], metadata: Mapping[str, str]) -> bytes:
    """Return a header, length included, of what it says of each tensor."""
    texts = ",".join(f"{_quoted(key)}:{_quoted(text)}" for key, text in sorted(metadata.items()))
    told = [f'"{METADATA}":{{{texts}}}'] if metadata else []
    text = f"{{{','.join([*told, *parts])}}}".encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """How a member is written: header and index, and the numbers of the given storages in their order."""

    header: bytes
    index: bytes
    order: list[int]

    def places(self, member: str, sizes: Sequence[int], elsewhere: Mapping[int, Place]) -> Sequence[Place]:
        """Return where each storage lies, by its number."""
        if not elsewhere:
            starts = [0] * len(sizes)
            ends = accumulate((sizes[number] for number in self.order), initial=len(self.header))
            for number, start in zip(self.order, ends, strict=False):  # behind the last one nothing starts
                starts[number] = start
            from .tensor_columns import PlaceColumn

            return PlaceColumn(member, starts, sizes)
        found = dict(elsewhere)
        ends = accumulate((sizes[number] for number in self.order), initial=len(self.header))
        for number, (start, stop) in zip(self.order, pairwise(ends), strict=True):
            found[number] = Place(member, start, stop)
        return tuple(found[number] for number in range(len(sizes)))


# A storage as the header names it, in the order of their bytes. Those of whole cache lines come first,
# so that most arrays lie as a fresh allocation would: kernels round otherwise where they do not. Then
# wide elements, so that every storage starts at a multiple of its element's size; one whose size is no
# such multiple would shift those behind it, and comes last. No two have the same key.
# (shifts elements, shifts cache lines, -bits of the widest element, key, dtype, shape, size, number)
_Named = tuple[bool, bool, int, str, str, tuple[int, ...], int, int]


def plan_member(
    tensors: Sequence[TensorSpec],
    sizes: Sequence[int],
    metadata: Mapping[str, str],
    elsewhere: Mapping[int, Place] | None = None,
) -> MemberPlan:
    """Plan a member for tensors in storages of the given sizes in bytes.

    `elsewhere` says of some storages, by number, in which other member they lie already.

    Raises ArchiveError for everything that cannot be stored, gathered.
    """
    if not elsewhere and _are_columns(tensors):
        return _plan_columns(tensors, sizes, metadata)
    away = elsewhere or {}
    filling = [_fills(tensor, sizes) for tensor in tensors]
    _check(tensors, sizes, filling)
    _check_metadata(metadata)
    named = sorted(one for one in _named_storages(tensors, sizes, filling) if one[7] not in away)
    members = {place.member: b"" for place in sorted(away.values())}
    told = {**metadata, ELSEWHERE: "\n".join(members)} if away else metadata
    header = spell_header([storage[3:7] for storage in named], told)
    _check_header(header, sum(len(storage[5]) for storage in named), told)
    order = [storage[7] for storage in named]
    numbers = {number: at for at, number in enumerate([*order, *sorted(away, key=away.__getitem__)])}
    places = [numbers[tensor.storage] for tensor in tensors]
    for place in sorted(away.values()):
        members[place.member] += little_endian(array("Q", [place.start, place.stop])).tobytes()
    columns = [
        array("Q", [n for tensor in tensors for n in tensor.shape]),
        array("I", places),
        array("Q", accumulate(sizes[number] for number in order)),
    ]
    index = pack(
        [
            len(tensors),
            "\0".join([tensor.key for tensor in tensors]),
            bytes([_DTYPE_NUMBERS[tensor.dtype] for tensor in tensors]),
            bytes([len(tensor.shape) for tensor in tensors]),
            *(little_endian(column).tobytes() for column in columns),
            _views(tensors, filling),
            dict(metadata),
            [[member, places] for member, places in members.items()],
        ]
    )
    return MemberPlan(header, index, order)


def _are_columns(tensors: Sequence[TensorSpec]) -> TypeGuard[TensorColumns]:
    """Whether tensors come as columns, as where they are written; a check has a list of them."""
    if type(tensors) is list:
        return False
    from .tensor_columns import TensorColumns

    return isinstance(tensors, TensorColumns)


def _plan_columns(tensors: TensorColumns, sizes: Sequence[int], metadata: Mapping[str, str]) -> MemberPlan:
    """Plan a member for tensors that fill their storages: the same, a column at a time."""
    keys, shapes = tensors.keys, tensors.shapes
    if not _may_be(tensors, sizes):
        return plan_member(tuple(tensors), sizes, metadata)  # and says why
    _check_metadata(metadata)
    order = _in_order(tensors, sizes)
    middles = {one: _middle(*one) for one in {*zip(tensors.dtypes, shapes, strict=True)}}
    ends = list(accumulate([sizes[number] for number in order]))
    offsets = ["0", *map(str, ends)]
    parts = [
        f"{key}{middles[one]}{start},{stop}]}}"
        for key, one, start, stop in zip(
            [_quoted(keys[number]) for number in order],
            [(tensors.dtypes[number], shapes[number]) for number in order],
            offsets[:-1],
            offsets[1:],
            strict=True,
        )
    ]
    header = _header_of(parts, metadata)
    _check_header(header, sum(map(len, shapes)), metadata)
    places = array("I", bytes(4 * len(order)))
    for place, number in enumerate(order):
        places[number] = place
    columns = [array("Q", chain.from_iterable(shapes)), places, array("Q", ends)]
    index = pack(
        [
            len(keys),
            "\0".join(keys),
            bytes(map(_DTYPE_NUMBERS.__getitem__, tensors.dtypes)),
            bytes(map(len, shapes)),
            *(little_endian(column).tobytes() for column in columns),
            [],
            dict(metadata),
            [],
        ]
    )
    return MemberPlan(header, index, order)


def _may_be(tensors: TensorColumns, sizes: Sequence[int]) -> bool:
    """Return whether all of these can be stored, each in a storage of the bytes that it has."""
    layouts = {*zip(tensors.dtypes, tensors.shapes, sizes, strict=True)}
    return (
        len(tensors) <= MAX_TENSORS
        and not any(_key_problems(list(tensors.keys)))
        and all(
            _bits_without_gaps(dtype, shape, contiguous_strides(shape)) == 8 * size
            for dtype, shape, size in layouts
        )
    )


def _in_order(tensors: TensorColumns, sizes: Sequence[int]) -> list[int]:
    """Return the numbers of storages that tensors fill, in the order of their bytes: see `_Named`."""
    order = sorted(range(len(tensors)), key=tensors.keys.__getitem__)
    ranks = {
        (dtype, size): (size * 8 % DTYPE_BITS[dtype] != 0, size % ALIGNMENT != 0, -DTYPE_BITS[dtype])
        for dtype, size in {*zip(tensors.dtypes, sizes, strict=True)}
    }
    if len({*ranks.values()}) > 1:
        by_number = [ranks[one] for one in zip(tensors.dtypes, sizes, strict=True)]
        order.sort(key=by_number.__getitem__)
    return order


def _fills(tensor: TensorSpec, sizes: Sequence[int]) -> bool:
    """Return whether a tensor is its storage: in C order, from the first byte to the last."""
    if tensor.offset or not 0 <= tensor.storage < len(sizes):
        return False
    return _bits_without_gaps(tensor.dtype, tensor.shape, tensor.strides) == 8 * sizes[tensor.storage]


@lru_cache(maxsize=4096)  # tensors share few layouts
def _bits_without_gaps(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """Return how many bits a tensor in C order takes; None for one that does not lie so, or cannot be."""
    bits = DTYPE_BITS.get(dtype)
    if bits is None or shape_problem(shape, bits) or not is_contiguous(shape, strides):
        return None
    return bits * prod(shape)


def _check(tensors: Sequence[TensorSpec], sizes: Sequence[int], filling: Sequence[bool]) -> None:
    problems = [*_key_problems([tensor.key for tensor in tensors])]
    if len(tensors) > MAX_TENSORS:
        problems.append(f"{len(tensors)} tensors are more than the {MAX_TENSORS} of one member; use several")
    for tensor, fills in zip(tensors, filling, strict=True):
        problem = None if fills else _problem(tensor, sizes)
        if problem:
            problems.append(f"tensor {tensor.key!r}: {problem}")
    unused = set(range(len(sizes))) - {tensor.storage for tensor in tensors}
    problems += [f"storage {number}: no tensor lies in it" for number in sorted(unused)]
    if problems:
        raise ArchiveError.listing("the tensors cannot be stored:", problems)


def _check_metadata(metadata: Mapping[str, str]) -> None:
    if ELSEWHERE in metadata:
        raise ArchiveError(
            f"the tensors cannot be stored: their metadata has the key {ELSEWHERE!r}, which is for tensors "
            "that lie in other members of an archive; take these from there, or leave the key out"
        )


def _check_header(header: bytes, sizes: int, metadata: Mapping[str, str]) -> None:
    """Raise ArchiveError for a header that would be refused when it is read."""
    for what, count, most in (
        ("bytes of their safetensors header", len(header) - 8, MAX_HEADER),
        ("sizes in their shapes", sizes, most_sizes(len(header) - 8)),
        (f"texts in their {METADATA}", len(metadata), MAX_METADATA),
    ):
        if count > most:
            raise ArchiveError(
                f"the tensors cannot be stored: {count} {what} are more than the {most} of one member; "
                "use several"
            )


def _key_problems(keys: list[str]) -> Iterator[str]:
    joined = "\0".join(keys)
    counts = Counter(keys)
    as_usual = len(counts) == len(keys) and METADATA not in counts and _can_be(joined)
    if as_usual and joined.count("\0") == max(len(keys) - 1, 0):
        return
    for key, count in counts.items():
        if count > 1:
            yield f"tensor {key!r}: it is there {count} times"
        if "\0" in key or key == METADATA or not _can_be(key):
            yield f"tensor {key!r}: a key may not be __metadata__ or hold NUL or half of a surrogate pair"


def _can_be(text: str) -> bool:
    """Return whether a text has a UTF-8 form; half of a surrogate pair has none."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _problem(tensor: TensorSpec, sizes: Sequence[int]) -> str | None:
    """Return why a tensor that does not fill its storage cannot be stored; None when it can."""
    shape = tensor.shape
    if tensor.dtype not in DTYPE_BITS:
        return f"dtype {tensor.dtype!r} is not one of {', '.join(DTYPE_BITS)}; view or convert it first"
    if problem := shape_problem(shape, DTYPE_BITS[tensor.dtype]):
        return problem
    if len(tensor.strides) != len(shape) or not 0 <= tensor.storage < len(sizes):
        return f"strides {tensor.strides} or storage {tensor.storage} do not fit"
    bits, size = DTYPE_BITS[tensor.dtype], sizes[tensor.storage]
    if not fits(shape, tensor.strides, tensor.offset, bits, size):
        low, high = span(shape, tensor.strides, tensor.offset)
        return f"elements {low} to {high} of {tensor.dtype} do not lie in its storage of {size} bytes"
    return f"packed elements of {tensor.dtype} must fill their storage in C order" if bits % 8 else None


def _named_storages(
    tensors: Sequence[TensorSpec], sizes: Sequence[int], filling: Sequence[bool]
) -> Iterator[_Named]:
    """Yield each storage with the name, dtype and shape that the header gives it."""
    if all(filling) and len(tensors) == len(sizes):  # none shares its storage, as each has a tensor
        for tensor in tensors:
            number, element = tensor.storage, DTYPE_BITS[tensor.dtype]
            size = sizes[number]
            key, dtype, shape = tensor.key, tensor.dtype, tensor.shape
            yield size * 8 % element != 0, size % ALIGNMENT != 0, -element, key, dtype, shape, size, number
        return
    keys = {tensor.key for tensor in tensors} if not all(filling) else set()
    owners: list[int | None] = [None] * len(sizes)
    elements = [0] * len(sizes)
    for i, (tensor, fills) in enumerate(zip(tensors, filling, strict=True)):
        number = tensor.storage
        elements[number] = max(elements[number], DTYPE_BITS[tensor.dtype])
        owner = owners[number]
        if owner is None or (fills and not filling[owner]):
            owners[number] = i
    for number, (owner, element, size) in enumerate(zip(owners, elements, sizes, strict=True)):
        assert owner is not None  # a storage without a tensor has been refused
        tensor = tensors[owner]
        key, dtype, shape = tensor.key, tensor.dtype, tensor.shape
        if not filling[owner]:
            key, dtype, shape = _flat_name(tensor, size, keys)
        yield size * 8 % element != 0, size % ALIGNMENT != 0, -element, key, dtype, shape, size, number


def _flat_name(first: TensorSpec, size: int, keys: set[str]) -> tuple[str, str, tuple[int, ...]]:
    """Return the name of a storage that no tensor fills, after the first tensor in it."""
    key = f"{first.key}#storage"
    while key in keys:
        key += "#"
    dtype = "U8" if size * 8 % DTYPE_BITS[first.dtype] else first.dtype
    return key, dtype, (size * 8 // DTYPE_BITS[dtype],)


def _views(tensors: Sequence[TensorSpec], filling: Sequence[bool]) -> list[list[Any]]:
    """List number, offset and strides of the tensors that do not start their storage in C order."""
    views: list[list[Any]] = []
    for i, (tensor, fills) in enumerate(zip(tensors, filling, strict=True)):
        plain = fills or is_contiguous(tensor.shape, tensor.strides)
        if tensor.offset or not plain:
            views.append([i, tensor.offset, None if plain else tensor.strides])
    return views
