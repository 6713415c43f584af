"""The bytes of a file of tensors: the layout of safetensors, written from arrays; all is checked when read.

Eight bytes with the length of a JSON header, the header, the values. The header has dtype, shape and place of
each tensor by name, and texts under `__metadata__`. A dtype that safetensors has no word for is kept as
bytes, with one axis more; who asks for the array names the dtype.

Source: the README of safetensors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from ..dtypes import as_dtype, dtype_name
from ..errors import FileFormatError

Array = np.ndarray[Any, Any]

WORDS = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
}
"""What safetensors calls the dtypes."""

NAMES = {word: name for name, word in WORDS.items()}
METADATA = "__metadata__"
LONGEST_HEADER = 100_000_000


def write(file: BinaryIO, arrays: Mapping[str, Array], texts: Mapping[str, str]) -> None:
    """Write arrays by name, the widest elements first, so that each lies at a multiple of its size."""
    header: dict[str, Any] = {METADATA: dict(texts)}
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    parts, at = [], 0
    for name, array in ordered:
        data = _little(array)
        word = WORDS.get(dtype_name(array.dtype))
        shape = array.shape if word else _with_bytes(name, data)
        header[name] = {"dtype": word or "U8", "shape": list(shape), "data_offsets": [at, at + data.nbytes]}
        at += data.nbytes
        parts.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for data in parts:
        file.write(data.reshape(-1).view(np.uint8).data)


def _with_bytes(name: str, data: Array) -> tuple[int, ...]:
    """Return the shape of an array as bytes. Raises ValueError where that has an axis too many to be read."""
    shape = (*data.shape, data.itemsize)
    try:
        data.reshape(-1).view(np.uint8).reshape(shape)
    except ValueError as error:
        raise ValueError(
            f"save: cannot save {name}: {data.dtype} is kept as bytes, with one axis more than its "
            f"{data.ndim}: {error}; reshape it first"
        ) from error
    return shape


def _little(array: Array) -> Array:
    data = np.ascontiguousarray(array)
    return data if array.dtype.isbuiltin == 2 else data.astype(array.dtype.newbyteorder("<"), copy=False)


def read(data: bytearray) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the arrays of a file by name, over the memory of `data`, and its texts.

    Raises FileFormatError for a file in another format, before an array is made.
    """
    header, start = _header(data)
    texts = header.pop(METADATA, {})
    if not isinstance(texts, dict) or not all(isinstance(one, str) for pair in texts.items() for one in pair):
        raise FileFormatError(f"the header's {METADATA} must map texts to texts")
    body = memoryview(data)[start:]
    places = {name: _place(name, entry, len(body)) for name, entry in header.items()}
    end = 0
    for name, (_, _, first, last) in sorted(places.items(), key=lambda item: item[1][2:]):
        if first != end:
            raise FileFormatError(
                f"tensor {name!r} starts at byte {first}; expected {end}, where the last one ends"
            )
        end = last
    if end != len(body):
        raise FileFormatError(
            f"the tensors end at byte {end} of {len(body)}; the file is cut, or longer than it says"
        )
    return {name: _array(name, body, *place) for name, place in places.items()}, texts


def _array(name: str, body: memoryview, dtype: Any, shape: tuple[int, ...], first: int, last: int) -> Array:
    try:
        return np.frombuffer(body[first:last], dtype).reshape(shape)
    except ValueError as error:  # too many axes, or too long ones beside one without elements
        raise FileFormatError(f"tensor {name!r}: no array has the shape {list(shape)}: {error}") from error


def _header(data: bytearray) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, LONGEST_HEADER):
        raise FileFormatError(_stranger(data))
    try:
        header = json.loads(bytes(data[8 : 8 + length]).decode(), object_pairs_hook=_once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError(f"the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise FileFormatError(f"the header must be an object, found {type(header).__name__}")
    return header, 8 + length


def _stranger(data: bytearray) -> str:
    """Describe a file in another format."""
    if data.startswith((b"PK", b"\x80\x02", b"\x80\x04")):
        return (
            "this is a ZIP archive or a pickle, such as PyTorch saves; nothing is unpickled here: convert it "
            "with the command `kellet convert` first"
        )
    return "this is not a safetensors file: its first eight bytes do not give the length of a header"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileFormatError("the header has a key twice")
    return found


def _place(name: str, entry: Any, length: int) -> tuple[Any, tuple[int, ...], int, int]:
    """Dtype, shape and place of one tensor, checked against each other."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise FileFormatError(f"tensor {name!r}: expected dtype, shape and data_offsets, found {entry!r}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
    if (
        entry["dtype"] not in NAMES
        or not all(type(n) is int and 0 <= n < 2**63 for n in numbers)
        or len(offsets) != 2
    ):
        raise FileFormatError(
            f"tensor {name!r}: found dtype {entry['dtype']!r}, shape {shape!r}, place {offsets!r}"
        )
    dtype = as_dtype(NAMES[entry["dtype"]])
    first, last = offsets
    if last > length or last - first != math.prod(shape) * dtype.itemsize:
        raise FileFormatError(
            f"tensor {name!r}: {shape} of {dtype_name(dtype)} do not fill bytes {first} to {last} of {length}"
        )
    return dtype, tuple(shape), first, last
