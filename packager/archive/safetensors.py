"""The safetensors format: a strict reader of its header, and our one spelling of it.

The reader takes what the safetensors library takes, and refuses what is ambiguous or could hurt:
duplicate keys, fields it does not know, holes, overlaps, sizes that do not follow from dtype and
shape. Section 7.1 of the format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from packager.errors import ArchiveError
from packager.tensors import DTYPE_BITS

from .bounds import BYTES_PER_CONTAINER, FREE_HEADER, MAX_HEADER, MAX_HEADER_RANK
from .errors import damaged
from .listing import ALIGNMENT
from .packed import Packed

_METADATA: Final = "__metadata__"
_COMPACT: Final[Mapping[str, Any]] = {"ensure_ascii": False, "separators": (",", ":")}
_quoted = json.JSONEncoder(ensure_ascii=False).encode


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


def tensor_bytes(dtype: str, shape: Iterable[int]) -> int:
    """How many bytes the elements of a tensor take.

    Raises ArchiveError for an unknown dtype, and where packed elements do not fill whole bytes.

    >>> tensor_bytes("BF16", (2, 3)), tensor_bytes("F4", (6,)), tensor_bytes("F32", ())
    (12, 3, 4)
    """
    if dtype not in DTYPE_BITS:
        raise ArchiveError(f"dtype {dtype!r} is unknown; safetensors has {', '.join(DTYPE_BITS)}")
    bits = DTYPE_BITS[dtype] * math.prod(shape)
    if bits % 8:
        raise ArchiveError(f"dtype {dtype} with shape {tuple(shape)} takes {bits} bits; expected whole bytes")
    return bits // 8


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
    """A size or offset: what fits into 63 bits, which also bounds the time for long digits."""
    if len(digits) > 19 or digits.startswith("-"):
        raise ValueError(f"{digits[:24]} is no size")
    return int(digits)


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text[:24]} is no size")
