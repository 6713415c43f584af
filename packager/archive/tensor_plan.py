"""The one way to write a set of tensors: order of storages, safetensors header and index.

The same plan serves writing and verifying: a member is right when planning what its index says
gives its very bytes again. Section 7 of the format. With twenty thousand tensors planning costs as
much as a third of writing them, so what is usual (keys that may be, tensors that fill their
storage) is settled for all at once, and only the rest one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from packager.errors import ArchiveError
from packager.tensors import DTYPE_BITS, fits, is_contiguous, span

from .bounds import MAX_RANK, MAX_TENSORS
from .listing import ALIGNMENT
from .safetensors import spell_header
from .tensor_index import TensorIndex, TensorSpec


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """How a member is written: header and index, and the numbers of the given storages in their order."""

    header: bytes
    index: bytes
    order: list[int]


# A storage as the header names it, in the order of their bytes. Those of whole cache lines come first,
# so that most arrays lie as a fresh allocation would: kernels round otherwise where they do not. Then
# wide elements, so that every storage starts at a multiple of its element's size; one whose size is no
# such multiple would shift those behind it, and comes last. No two have the same key.
# (shifts elements, shifts cache lines, -bits of the widest element, key, dtype, shape, size, number)
_Named = tuple[bool, bool, int, str, str, tuple[int, ...], int, int]


def plan_member(
    tensors: Sequence[TensorSpec], sizes: Sequence[int], metadata: Mapping[str, str]
) -> MemberPlan:
    """Plan a member for tensors in storages of the given sizes in bytes.

    Raises ArchiveError for everything that cannot be stored, gathered.
    """
    filling = [_fills(tensor, sizes) for tensor in tensors]
    _check(tensors, sizes, filling)
    named = sorted(_named_storages(tensors, sizes, filling))
    header = spell_header([storage[3:7] for storage in named], metadata)
    order = [storage[7] for storage in named]
    place = dict(zip(order, range(len(order)), strict=True))
    places = [place[tensor.storage] for tensor in tensors]
    views = _views(tensors, filling)
    index = TensorIndex.of(tensors, places, [sizes[number] for number in order], views, metadata)
    return MemberPlan(header, index.dump(), order)


def _fills(tensor: TensorSpec, sizes: Sequence[int]) -> bool:
    """Whether a tensor is its storage: in C order, from the first byte to the last."""
    if tensor.offset or not 0 <= tensor.storage < len(sizes):
        return False
    elements = _elements(tensor.shape)
    if elements < 0 or elements * DTYPE_BITS.get(tensor.dtype, 0) != 8 * sizes[tensor.storage]:
        return False
    return tensor.dtype in DTYPE_BITS and is_contiguous(tensor.shape, tensor.strides)


@lru_cache(maxsize=4096)
def _elements(shape: tuple[int, ...]) -> int:
    """The number of elements; negative for a shape that cannot be."""
    possible = len(shape) <= MAX_RANK and min(shape, default=0) >= 0
    return prod(shape) if possible else -1


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
        raise ArchiveError(
            "the tensors cannot be stored:" + "".join(f"\n  {problem}" for problem in problems)
        )


def _key_problems(keys: list[str]) -> Iterator[str]:
    joined = "\0".join(keys)
    counts = Counter(keys)
    as_usual = len(counts) == len(keys) and "__metadata__" not in counts and _can_be(joined)
    if as_usual and joined.count("\0") == max(len(keys) - 1, 0):
        return
    for key, count in counts.items():
        if count > 1:
            yield f"tensor {key!r}: it is there {count} times"
        if "\0" in key or key == "__metadata__" or not _can_be(key):
            yield f"tensor {key!r}: a key may not be __metadata__ or hold NUL or half of a surrogate pair"


def _can_be(text: str) -> bool:
    """Whether a text has a UTF-8 form; half of a surrogate pair has none."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _problem(tensor: TensorSpec, sizes: Sequence[int]) -> str | None:
    """Why a tensor that does not fill its storage cannot be stored; None when it can."""
    shape = tensor.shape
    if _elements(shape) < 0:
        return f"shape {shape} has a negative size or more than {MAX_RANK} dimensions"
    if tensor.dtype not in DTYPE_BITS:
        return f"dtype {tensor.dtype!r} is not one of {', '.join(DTYPE_BITS)}; view or convert it first"
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
    """Each storage with the name, dtype and shape that the header gives it."""
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
    """The name of a storage that no tensor fills, after the first tensor in it."""
    key = f"{first.key}#storage"
    while key in keys:
        key += "#"
    dtype = "U8" if size * 8 % DTYPE_BITS[first.dtype] else first.dtype
    return key, dtype, (size * 8 // DTYPE_BITS[dtype],)


def _views(
    tensors: Sequence[TensorSpec], filling: Sequence[bool]
) -> dict[int, tuple[int, tuple[int, ...] | None]]:
    """Offset and strides of the tensors that do not start their storage in C order."""
    views: dict[int, tuple[int, tuple[int, ...] | None]] = {}
    for i, (tensor, fills) in enumerate(zip(tensors, filling, strict=True)):
        plain = fills or is_contiguous(tensor.shape, tensor.strides)
        if tensor.offset or not plain:
            views[i] = tensor.offset, None if plain else tensor.strides
    return views
