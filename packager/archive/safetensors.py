"""Safetensors members: a strict reader of their headers, and the one way to write a set of tensors.

The reader takes what the safetensors library takes, and refuses what is ambiguous or could hurt: duplicate
keys, fields it does not know, holes, overlaps, sizes that do not follow from dtype and shape. Section 7.1
of the format.

One plan serves writing and verifying: a member is right when planning what its index says gives its very
bytes again. With twenty thousand tensors planning costs as much as a third of writing them, so what is
usual (keys that may be, tensors that fill their storage) is settled for all at once, and only the rest one
by one.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import Any, Final

from packager.errors import ArchiveError
from packager.tensors import DTYPE_BITS, fits, is_contiguous, span

from .archive_errors import damaged
from .bounds import BYTES_PER_CONTAINER, FREE_HEADER, MAX_HEADER, MAX_HEADER_RANK, MAX_RANK, MAX_TENSORS
from .entries import ALIGNMENT, little_endian
from .entry_names import index_name
from .output_files import flat_view
from .packed import Packed, pack
from .stored_tensors import DTYPES, TensorSpec, tensor_bytes
from .writer import ArchiveWriter

_DTYPE_NUMBERS: Final = {dtype: number for number, dtype in enumerate(DTYPES)}
_METADATA: Final = "__metadata__"
_COMPACT: Final[Mapping[str, Any]] = {"ensure_ascii": False, "separators": (",", ":")}
_quoted = json.JSONEncoder(ensure_ascii=False).encode


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
    >>> from packager.archive import ArchiveReader, ArchiveWriter, Manifest, TensorReader
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


@dataclass(frozen=True, slots=True)
class HeaderTensor:
    """One tensor of a header; its bytes lie between `start` and `stop` of the data section."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """A header: the tensors in the order of their bytes, and where the data section starts."""

    tensors: Mapping[str, HeaderTensor]
    metadata: Mapping[str, str]
    data_start: int


def parse_header(data: Packed, size: int, *, what: str) -> SafetensorsHeader:
    """Read the header of a safetensors file of `size` bytes strictly.

    `data` is the start of the file, or all of it; `what` names the file in errors.

    Raises ArchiveError for anything but a header that describes every byte of the file once.

    >>> file = spell_header([("a", "U8", (2,), 2)], {}) + b"xy"
    >>> parse_header(file, len(file), what="example").tensors
    {'a': HeaderTensor(dtype='U8', shape=(2,), start=0, stop=2)}
    """
    length = int.from_bytes(data[:8], "little")
    if size < 8 or length > min(size - 8, MAX_HEADER, len(data) - 8):
        raise damaged(
            f"{what}, header length", f"{length} in a file of {size} bytes", "a header inside the file"
        )
    text = bytes(data[8 : 8 + length])
    if not text.startswith(b"{"):
        raise damaged(f"{what}, header", repr(text[:1]), "'{' as its first byte")
    _check_bulk(text, what)
    try:
        found = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            parse_int=_parse_size,
        )
    except (ValueError, RecursionError) as error:
        raise damaged(
            f"{what}, header", f"what is not such JSON ({error})", "a JSON object without doubles"
        ) from error
    return _checked_header(found, 8 + length, size, what)


def spell_header(
    tensors: Iterable[tuple[str, str, tuple[int, ...], int]], metadata: Mapping[str, str]
) -> bytes:
    """Write a header, length included, for tensors (key, dtype, shape, bytes) that lie one after another.

    Spaces fill it up to a multiple of 64 bytes, so that in an aligned entry the data section is
    aligned as well.
    """
    parts = []
    if metadata:
        parts.append(f'"{_METADATA}":' + json.dumps(dict(sorted(metadata.items())), **_COMPACT))
    stop = 0
    for key, dtype, shape, size in tensors:
        start, stop = stop, stop + size
        dims = ",".join(map(str, shape))
        parts.append(f'{_quoted(key)}:{{"dtype":"{dtype}","shape":[{dims}],"data_offsets":[{start},{stop}]}}')
    text = f"{{{','.join(parts)}}}".encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _checked_header(found: dict[str, Any], data_start: int, size: int, what: str) -> SafetensorsHeader:
    metadata = found.pop(_METADATA, {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        raise damaged(f"{what}, {_METADATA}", "other values", "a map from strings to strings")
    tensors = {key: _checked_tensor(value, f"{what}, tensor {key!r}") for key, value in found.items()}
    ordered = dict(sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)))
    position = 0
    for key, tensor in ordered.items():
        if tensor.start != position:
            raise damaged(
                f"{what}, tensor {key!r}", f"its data at byte {tensor.start}", f"it at byte {position}"
            )
        position = tensor.stop
    if data_start + position != size:
        raise damaged(what, f"{size - data_start} bytes of data", f"the {position} that the header describes")
    return SafetensorsHeader(ordered, metadata, data_start)


def _checked_tensor(value: Any, where: str) -> HeaderTensor:
    if type(value) is not dict or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise damaged(where, "other fields", "dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if type(dtype) is not str or dtype not in DTYPE_BITS:
        raise damaged(where, f"the dtype {dtype!r}", f"one of {', '.join(DTYPE_BITS)}")
    numbers = (
        type(shape) is list and type(offsets) is list and all(type(n) is int for n in [*shape, *offsets])
    )
    if not numbers or len(offsets) != 2 or len(shape) > MAX_HEADER_RANK:
        raise damaged(where, "a shape or data_offsets of another form", "sizes, and two offsets")
    if tensor_bytes(dtype, shape) != offsets[1] - offsets[0]:
        raise damaged(
            where, f"{offsets[1] - offsets[0]} bytes", f"{tensor_bytes(dtype, shape)} by dtype and shape"
        )
    return HeaderTensor(dtype, tuple(shape), offsets[0], offsets[1])


def _check_bulk(text: bytes, what: str) -> None:
    """Refuse a header whose JSON would take far more memory than a header of tensors of its length."""
    if len(text) > FREE_HEADER:
        bare = _STRINGS.sub(b"", text)
        containers = bare.count(b"[") + bare.count(b"{")
        if containers > len(text) // BYTES_PER_CONTAINER:
            raise damaged(
                f"{what}, header",
                f"{containers} lists and maps in {len(text)} bytes",
                "three for each tensor",
            )


_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands in it twice")
    return found


def _parse_size(digits: str) -> int:
    """Return a size or offset: what fits into 63 bits, which also bounds the time for long digits."""
    if len(digits) > 19 or digits.startswith("-"):
        raise ValueError(f"{digits[:24]} is no size")
    return int(digits)


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text[:24]} is no size")


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
        ]
    )
    return MemberPlan(header, index, order)


def _fills(tensor: TensorSpec, sizes: Sequence[int]) -> bool:
    """Return whether a tensor is its storage: in C order, from the first byte to the last."""
    if tensor.offset or not 0 <= tensor.storage < len(sizes):
        return False
    elements = _elements(tensor.shape)
    if elements < 0 or elements * DTYPE_BITS.get(tensor.dtype, 0) != 8 * sizes[tensor.storage]:
        return False
    return tensor.dtype in DTYPE_BITS and is_contiguous(tensor.shape, tensor.strides)


@lru_cache(maxsize=4096)
def _elements(shape: tuple[int, ...]) -> int:
    """Return the number of elements; negative for a shape that cannot be."""
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
    as_usual = len(counts) == len(keys) and _METADATA not in counts and _can_be(joined)
    if as_usual and joined.count("\0") == max(len(keys) - 1, 0):
        return
    for key, count in counts.items():
        if count > 1:
            yield f"tensor {key!r}: it is there {count} times"
        if "\0" in key or key == _METADATA or not _can_be(key):
            yield f"tensor {key!r}: a key may not be __metadata__ or hold NUL or half of a surrogate pair"


def _can_be(text: str) -> bool:
    """Return whether a text has a UTF-8 form; half of a surrogate pair has none."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def _problem(tensor: TensorSpec, sizes: Sequence[int]) -> str | None:
    """Return why a tensor that does not fill its storage cannot be stored; None when it can."""
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
    """Yield each storage with the name, dtype and shape that the header gives it."""
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
