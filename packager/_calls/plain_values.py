"""Values of a check as they are stored: tensors, and texts beside them for all other values.

Section 5.5 of the format.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from packager._archive import MAX_CHECK_TEXT
from packager.errors import ArchiveError

from .array_calls import PLAIN, CallError, array_of
from .tables import InputTable

_VALUE: Final = "value "
_DTYPE: Final = "dtype "
_TABLE: Final = "table "
_MODE: Final = ("mode", "training")
_OTHER_DTYPES: Final = re.compile(
    r"<c16|<U[1-9][0-9]{0,7}|\|S[1-9][0-9]{0,7}|<[mM]8(\[([1-9][0-9]{0,8})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
)
"""What NumPy calls the dtypes that are stored, and that safetensors has no word for."""


def stored_form(name: str, value: object) -> Any:
    """Return an input as it will be read back: a little-endian array, a table, or plain values.

    Lists stand for tuples. Raises CallError for what is none of these.
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, InputTable):
        return InputTable(
            {key: stored_form(f"{name}.{key}", column) for key, column in value.columns.items()}
        )
    if isinstance(value, list | tuple | dict):
        try:
            return _plain(value)
        except _NotPlain:  # arrays in a list are an array
            pass
    try:
        array = array_of(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise CallError(
            f"input {name}: {error}. A list must have values of one shape; else give a dict, or plain values"
        ) from error
    if array.dtype.hasobject:
        raise CallError(
            f"input {name} is of type {type(value).__name__}; expected an array, a tensor, a number, text, "
            "bytes, None, or a list or dict of plain values"
        )
    return _in_stored_order(array)


def pack_values(
    values: Mapping[str, Any], *, training: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return arrays that a safetensors member can hold, by name, and texts that say all else.

    Raises CallError for values that have no text, or too much of it.
    """
    arrays: dict[str, Any] = {}
    texts = dict([_MODE]) if training else {}
    for name, table in values.items():
        if isinstance(table, InputTable):
            texts[_TABLE + name] = _spelled(name, [*table.columns])
    for name, value in _with_columns(values):
        if not hasattr(value, "dtype"):
            texts[_VALUE + name] = _spelled(name, value)
            continue
        arrays[name] = array = _in_stored_order(value)
        if _OTHER_DTYPES.fullmatch(array.dtype.str):
            arrays[name] = _as_bytes(array)
            texts[_DTYPE + name] = array.dtype.str
    if (size := sum(map(len, texts.values()))) > MAX_CHECK_TEXT:
        raise CallError(
            f"{size:,} characters of text and numbers in lists; a check stores at most {MAX_CHECK_TEXT:,}. "
            "Give arrays, or a smaller example"
        )
    return arrays, texts


def unpack_values(
    arrays: Mapping[str, Any], texts: Mapping[str, str], *, what: str, are_inputs: bool = True
) -> tuple[dict[str, Any], bool]:
    """Return what `pack_values` was given; only inputs have a mode and tables.

    Raises ArchiveError for texts that it would not write.
    """
    if (size := sum(map(len, texts.values()))) > MAX_CHECK_TEXT:
        raise ArchiveError(f"{what}: {size:,} characters of text; at most {MAX_CHECK_TEXT:,} are read")
    values, training = dict(arrays), False
    tables = {}
    for key, text in texts.items():
        name = key.partition(" ")[2]
        if key.startswith(_TABLE) and are_inputs:
            tables[name] = _read(text, f"{what}, {name!r}")
        elif key.startswith(_VALUE) and name not in arrays:
            values[name] = _read(text, f"{what}, {name!r}")
        elif key.startswith(_DTYPE) and name in arrays:
            values[name] = _from_bytes(arrays[name], text, f"{what}, {name!r}")
        elif (key, text) == _MODE and are_inputs:
            training = True
        else:
            raise ArchiveError(f"{what}: found {key[:80]!r} in its metadata; expected what section 5.5 lists")
    for name, columns in tables.items():
        if name in values:
            raise ArchiveError(f"{what}, {name!r}: found a value and a table; expected one of them")
        values[name] = _table(values, name, columns, what)
    return values, training


def _with_columns(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values by name, and in the place of a table its columns by the table's name and their number."""
    for name, value in values.items():
        if isinstance(value, InputTable):
            yield from ((_column(name, index), one) for index, one in enumerate(value.columns.values()))
        else:
            yield name, value


def _column(name: str, index: int) -> str:
    return f"{name}[{index}]"


def _table(values: dict[str, Any], name: str, columns: Any, what: str) -> InputTable:
    """Take the columns of a table out of values, and return it. Raises ArchiveError for what is no table."""
    found: dict[str, Any] = {}
    rows = set()
    if type(columns) is not list or not set(map(type, columns)) <= {str} or len({*columns}) < len(columns):
        raise ArchiveError(f"{what}, {name!r}: found {str(columns)[:80]!r}; expected the names of columns")
    for index, column in enumerate(columns):
        value = values.pop(_column(name, index), None)
        has_axis = len(value.shape) == 1 if hasattr(value, "shape") else type(value) is list
        if not has_axis:
            raise ArchiveError(
                f"{what}, {name!r}, column {column[:80]!r}: found {type(value).__name__}; expected an array "
                "with one axis, or a list"
            )
        found[column] = value
        rows.add(len(value))
    if len(rows) > 1:
        raise ArchiveError(f"{what}, {name!r}: found columns of {sorted(rows)[:5]} rows; expected one length")
    return InputTable(found)


def is_for_training(metadata: Mapping[str, str]) -> bool:
    """Say whether a golden call, of whose inputs this is the metadata, is made in training mode."""
    return _MODE in metadata.items()


def _in_stored_order(array: Any) -> Any:
    """Return an array with the bytes of each number in the order in which all of them are stored."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


class _NotPlain(Exception):
    """A value holds something else than plain values."""


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict) and set(map(type, value)) <= {str}:
        return {key: _plain(inner) for key, inner in value.items()}
    if type(value) in (bool, int, str, type(None)) or (type(value) is float and math.isfinite(value)):
        return value
    raise _NotPlain


def _spelled(name: str, value: Any) -> str:
    if type(value) is float and not math.isfinite(value):
        return f"float {value!r}"
    if type(value) is complex:
        return f"complex {value.real!r} {value.imag!r}"
    if type(value) is bytes:
        return f"bytes {value.hex()}"
    try:
        return "json " + json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CallError(f"{name}: a check cannot store it: {error}") from error


def _read(text: str, what: str) -> Any:
    kind, _, rest = text.partition(" ")
    try:
        value = _READ[kind](rest)
        if _spelled("", value) == text:
            return value
    except (KeyError, ValueError, RecursionError, CallError):
        pass  # told below, with what is expected
    raise ArchiveError(f"{what}: found {text[:80]!r}; expected a value as section 5.5 spells it")


def _complex(text: str) -> complex:
    real, imaginary = text.split(" ")
    return complex(float(real), float(imaginary))


_READ: Final[Mapping[str, Any]] = {
    "json": json.loads,
    "float": float,
    "complex": _complex,
    "bytes": bytes.fromhex,
}


def _as_bytes(array: Any) -> Any:
    """Return the bytes of each element, as one more axis."""
    import numpy

    return numpy.ascontiguousarray(array).reshape(*array.shape, 1).view(numpy.uint8)


def _from_bytes(array: Any, dtype: str, what: str) -> Any:
    import numpy

    found = numpy.dtype(dtype) if _OTHER_DTYPES.fullmatch(dtype) else None
    if found is None or array.dtype != numpy.uint8 or array.shape[-1:] != (found.itemsize,):
        raise ArchiveError(
            f"{what}: found {array.dtype} {list(array.shape)} for {dtype[:40]!r}; expected its bytes"
        )
    return numpy.ascontiguousarray(array).view(found).reshape(array.shape[:-1])
