"""Safetensors members: the one way to write a set of tensors. Section 7.1 of the format.

One plan serves writing and verifying: a member is right when planning what its index says gives its very
bytes again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat

from packager._quick_dataclasses import dataclass, instances, replace
from packager._tensors import DTYPE_BITS
from packager.errors import ArchiveError

from .bounds import MAX_HEADER, MAX_METADATA, most_sizes
from .entries import ALIGNMENT, Place
from .tensor_index import DTYPES, ELSEWHERE, METADATA, TensorIndex

try:
    from _json import encode_basestring as _quoted  # `json` compiles patterns
except ImportError:  # a Python without it
    from json.encoder import encode_basestring as _quoted


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
            sizes = ",".join(map(str, shape))
            middle = middles[dtype, shape] = f':{{"dtype":"{dtype}","shape":[{sizes}],"data_offsets":['
        parts.append(f"{_quoted(key)}{middle}{start},{stop}]}}")
    texts = ",".join(f"{_quoted(key)}:{_quoted(text)}" for key, text in sorted(metadata.items()))
    told = [f'"{METADATA}":{{{texts}}}'] if metadata else []
    text = f"{{{','.join([*told, *parts])}}}".encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


_BITS = [DTYPE_BITS[dtype] for dtype in DTYPES]


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """How a member is written: header and index, and the numbers of the given storages in their order."""

    header: bytes
    index: bytes
    order: list[int]

    def places(self, member: str, sizes: Sequence[int], elsewhere: Mapping[int, Place]) -> list[Place]:
        """Return where each storage lies, by its number."""
        ends = list(accumulate((sizes[number] for number in self.order), initial=len(self.header)))
        placed = instances(Place, len(self.order), repeat(member), ends, ends[1:])
        found = {**elsewhere, **dict(zip(self.order, placed, strict=True))}
        return [found[number] for number in range(len(sizes))]


# A storage as the header names it, in the order of their bytes. Those of whole cache lines come first,
# so that most arrays lie as a fresh allocation would: kernels round otherwise where they do not. Then
# wide elements, so that every storage starts at a multiple of its element's size; one whose size is no
# such multiple would shift those behind it, and comes last. No two have the same key.
# (shifts elements, shifts cache lines, -bits of the widest element, key, dtype, shape, size, number)
_Named = tuple[bool, bool, int, str, str, tuple[int, ...], int, int]


def plan_member(index: TensorIndex, elsewhere: Mapping[int, Place] | None = None) -> MemberPlan:
    """Plan a member for tensors, in the order of the format.

    `elsewhere` says of some storages, by number, in which other member they lie already. Those that the index
    itself has elsewhere stay there.

    Raises ArchiveError for a header that would be refused when it is read.
    """
    own = len(index.ends)
    away = {**dict(enumerate(index.elsewhere, start=own)), **(elsewhere or {})}
    _check_metadata(index.metadata)
    named = sorted(one for one in _named_storages(index) if one[7] not in away)
    places = tuple(sorted(away.values()))
    told = dict(index.metadata)
    if away:
        told[ELSEWHERE] = "\n".join(dict.fromkeys(place.member for place in places))
    header = spell_header([storage[3:7] for storage in named], told)
    _check_header(header, sum(len(storage[5]) for storage in named), told)
    order = [storage[7] for storage in named]
    numbers = {number: at for at, number in enumerate([*order, *sorted(away, key=away.__getitem__)])}
    planned = replace(
        index,
        storages=array("I", map(numbers.__getitem__, index.storages)),
        ends=array("Q", accumulate(index.sizes[number] for number in order)),
        elsewhere=places,
    )
    return MemberPlan(header, planned.dump(), order)


def _check_metadata(metadata: Mapping[str, str]) -> None:
    if ELSEWHERE in metadata:
        raise ArchiveError(
            f"the tensors cannot be stored: their metadata has the key {ELSEWHERE!r}, which is reserved for "
            "tensors that lie in other members of an archive; take these from there, or leave the key out"
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


def _named_storages(index: TensorIndex) -> Iterator[_Named]:
    """Yield each storage with the name, dtype and shape that the header gives it.

    They are those of the first tensor that fills it, or else of the first one in it.
    """
    keys, shapes, sizes, filling = index.keys, index.shapes, index.sizes, index.filling()
    taken = set() if all(filling) else set(keys)
    owners: dict[int, int] = {}
    elements = [0] * len(sizes)
    for number, (code, storage, fills) in enumerate(zip(index.dtypes, index.storages, filling, strict=True)):
        if _BITS[code] > elements[storage]:
            elements[storage] = _BITS[code]
        owner = owners.setdefault(storage, number)
        if fills and not filling[owner]:
            owners[storage] = number
    for storage, owner in owners.items():
        size, element = sizes[storage], elements[storage]
        key, dtype, shape = keys[owner], DTYPES[index.dtypes[owner]], shapes[owner]
        if not filling[owner]:
            key, dtype, shape = _flat_name(key, dtype, size, taken)
        yield size * 8 % element != 0, size % ALIGNMENT != 0, -element, key, dtype, shape, size, storage


def _flat_name(key: str, dtype: str, size: int, taken: set[str]) -> tuple[str, str, tuple[int, ...]]:
    """Return the name of a storage that no tensor fills, after the first tensor in it."""
    key += "#storage"
    while key in taken:
        key += "#"
    dtype = "U8" if size * 8 % DTYPE_BITS[dtype] else dtype
    return key, dtype, (size * 8 // DTYPE_BITS[dtype],)
