"""Inputs and answers of calls as files: arrays in `.npz`, JSON, and text; `-` is a standard stream.

JSON is JSON: a number that is none (NaN, Infinity) is a text in what is written, and refused in what is read.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from packager.arguments import check_path
from packager.atomic import replaced_file
from packager.errors import PackageError
from packager.texts import listed, without_addresses

from .array_calls import CallError

_ZIP = b"PK"


class AnswerFileError(PackageError, ValueError):
    """An answer that a file of this kind cannot hold."""


def load_inputs(path: str) -> dict[str, Any]:
    """Return the inputs of a call, by name, from a `.npz`, `.json` or `.txt` file, or standard input for "-".

    A JSON object gives inputs by name; any other JSON value, and a text without its last line feed, is
    `arg0`. What comes from standard input is arrays if it begins as a `.npz` file does, JSON if it is JSON,
    and else text.

    Raises OSError where it cannot be read, AddressError for an address, CallError for another file, or an
    entry that is no array.
    """
    if path == "-":
        data = sys.stdin.buffer.read()
        if data.startswith(_ZIP):
            return _arrays("standard input", io.BytesIO(data))
        text = _text("standard input", data)
        try:
            return _by_name(_json(text))
        except ValueError as error:
            if text.lstrip().startswith(("{", "[")):
                raise CallError(f"standard input: not JSON: {error}") from error
            return {"arg0": text.removesuffix("\n")}
    check_path("path", path)
    if not path.endswith((".json", ".txt")):
        with open(path, "rb") as file:
            return _arrays(path, file)
    with open(path, "rb") as file:
        text = _text(path, file.read())
    if path.endswith(".txt"):
        return {"arg0": text.removesuffix("\n")}
    try:
        return _by_name(_json(text))
    except ValueError as error:
        raise CallError(f"{path}: not JSON: {error}") from error


def write_answer(answer: Mapping[str, Any], path: str, *, as_arrays: bool) -> tuple[str, ...]:
    """Write the parts of an answer: as JSON to a path that ends so, else as `.npz`.

    For "-" it goes to standard output, as `.npz` with `as_arrays`, else as JSON. Returns the names of the
    parts that are left out: those of a `.npz` file that are neither arrays nor texts.

    Raises AnswerFileError where all would be left out, OSError where it cannot be written.
    """
    save = _save_json if (path.endswith(".json") if path != "-" else not as_arrays) else _save_npz
    if path != "-":
        with replaced_file(path) as file:
            return save(file, answer)
    buffer = io.BytesIO()
    left_out = save(buffer, answer)
    sys.stdout.flush()
    sys.stdout.buffer.write(buffer.getvalue())
    sys.stdout.buffer.flush()
    return left_out


def json_text(answer: Any) -> str:
    """Return an answer, or a part, as JSON: arrays as lists, complex numbers as two, bytes as hexadecimals.

    >>> json_text({"output.0": "cat", "output.1": float("nan")})
    '{"output.0": "cat", "output.1": "NaN"}'
    """
    return json.dumps(_as_json(answer), allow_nan=False)


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _as_json(inner) for name, inner in value.items()}
    if hasattr(value, "dtype"):
        kind = value.dtype.kind
        if kind == "c":
            value = [value.real, value.imag]
        elif kind in "Mm":
            value = value.astype(str).tolist()
        else:
            value = (value.astype("f8") if kind == "V" else value).tolist()
    if isinstance(value, list):
        return [_as_json(inner) for inner in value]
    if isinstance(value, complex):
        return [_as_json(value.real), _as_json(value.imag)]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _save_json(file: Any, answer: Mapping[str, Any]) -> tuple[str, ...]:
    file.write(f"{json_text(answer)}\n".encode())
    return ()


def _save_npz(file: Any, answer: Mapping[str, Any]) -> tuple[str, ...]:
    import numpy

    kept = {
        name: value for name, value in answer.items() if isinstance(value, str) or hasattr(value, "dtype")
    }
    left_out = tuple(name for name in answer if name not in kept)
    if left_out and not kept:
        raise AnswerFileError(
            f"{listed(left_out, 5)}: no array, and a .npz file holds arrays and texts; "
            "write it to a .json file"
        ).holding(left_out)
    numpy.savez(file, **kept)
    return left_out


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: byte {error.start} is not UTF-8; expected text in it") from error


def _json(text: str) -> Any:
    """Read JSON. Raises ValueError for what is none, and for a key that is there twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _by_name(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {"arg0": value}


def _arrays(path: str, source: Any) -> dict[str, Any]:
    """Read the arrays of a `.npz` file, by name; no pickles are read."""
    import tokenize
    import zipfile
    import zlib

    import numpy

    found: dict[str, Any] = {}
    where = path
    try:
        opened = numpy.load(source, allow_pickle=False)
        if isinstance(opened, numpy.ndarray):
            raise CallError(
                f"{path} is one array without a name; make it with numpy.savez('x.npz', x=array), with the "
                "name of the parameter"
            )
        with opened as arrays:
            for name in arrays.files:
                where = f"{path}, entry {name!r}"
                found[name] = arrays[name]
                if not isinstance(found[name], numpy.ndarray):
                    raise CallError(f"{where}: it does not begin as an array does; make one with numpy.savez")
    except CallError:  # which is a TypeError
        raise
    except (
        *(ValueError, AttributeError, TypeError, EOFError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    ) as error:
        raise CallError(
            f"{where}: not a .npz file of arrays ({without_addresses(error)}); make one with numpy.savez"
        ) from error
    return found
