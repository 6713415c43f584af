"""What a user gives a call on a command line: inputs and answers as files, what is called, its weights.

Files are arrays in `.npz`, JSON, and text; `-` is a standard stream. An object or factory is
"package.module:name".

JSON is JSON: a number that is none (NaN, Infinity) is a text in what is written, and refused in what is read.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from packager._arguments import check_path
from packager._atomic import replaced_file
from packager._process import AnswerRequired, failure_of_model, place_in_model
from packager._texts import listed, without_addresses
from packager.errors import PackageError

from .array_calls import CallError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any


_ZIP = b"PK"


class AnswerFileError(PackageError, ValueError):
    """A file of this kind cannot store an output."""


def load_inputs(path: str) -> dict[str, Any]:
    """Return the inputs of a call, by name, from a `.npz`, `.json` or `.txt` file, or standard input for "-".

    A JSON object gives inputs by name; any other JSON value, and a text without its last line feed, is
    `arg0`. What comes from standard input is arrays if it begins as a `.npz` file does, JSON if it is JSON,
    and else text.

    Raises OSError where it cannot be read, AddressError for an address, CallError for another file, or an
    entry that is no array.
    """
    where = "standard input" if path == "-" else path
    kind = path.rpartition(".")[2] if path.endswith((".json", ".txt")) else "npz"
    if path == "-":
        data = sys.stdin.buffer.read()
        kind = "npz" if data.startswith(_ZIP) else ""
    else:
        check_path("path", path)
        with open(path, "rb") as file:
            if kind == "npz":
                return _arrays(where, file)
            data = file.read()
    if kind == "npz":
        return _arrays(where, io.BytesIO(data))
    text = _text(where, data)
    try:
        if kind != "txt":
            return _by_name(_json(text))
    except ValueError as error:
        if kind == "json" or text.lstrip().startswith(("{", "[")):
            raise CallError(f"{where}: not JSON: {error}") from error
    return {"arg0": text.removesuffix("\n")}


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


def json_text(answer: object) -> str:
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
            f"{listed(left_out, 5)}: a .npz file cannot store these outputs; write a .json file"
        ).holding(left_out)
    numpy.savez(file, **kept)
    return left_out


def _text(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: byte {error.start} is not UTF-8; expected text in UTF-8") from error


def _json(text: str) -> Any:
    """Read JSON. Raises ValueError for what is none, and for a key that is there twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"JSON cannot express {constant}; use a .npz file, made with numpy.savez")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} appears twice")
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
                f"{path} has one array without a name; save it under the name of the parameter: "
                "numpy.savez('x.npz', x=array)"
            )
        with opened as arrays:
            for name in arrays.files:
                where = f"{path}, entry {name!r}"
                found[name] = arrays[name]
                if not isinstance(found[name], numpy.ndarray):
                    raise CallError(
                        f"{where}: not an array; make the file with numpy.savez('x.npz', x=array)"
                    )
    except CallError:  # which is a TypeError
        raise
    except (
        *(ValueError, AttributeError, TypeError, EOFError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    ) as error:
        raise CallError(
            f"{where}: not a .npz file of arrays ({without_addresses(error)}); make it with "
            "numpy.savez('x.npz', x=array)"
        ) from error
    return found


class TargetError(PackageError, ValueError):
    """A target is misspelled or missing, or fails when it is called."""


def split_target(target: str) -> tuple[str, str]:
    """Split a target into module and name; the name is empty where there is none.

    Raises TargetError for a text that is not spelled as a target.

    >>> split_target("mypkg.models:build")
    ('mypkg.models', 'build')
    """
    module, colon, name = target.partition(":")
    if not module or (colon and not name):
        raise TargetError(f"target {target!r}: expected package.module or package.module:name")
    return module, name


def put_folder_on_path() -> None:
    """Let targets in the current folder be found, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def resolve_target(target: str, kwargs: Mapping[str, Any] | None = None) -> Any:
    """Import what `target` names. A class or function is a factory and called with `kwargs`.

    Raises TargetError where it is not there, where `kwargs` are given for something that is no
    factory, and where its code fails; the error behind it is the cause. Raises CodeExitError where the
    code ends with `sys.exit()` or the like.
    """
    module, name = split_target(target)
    if not name:
        raise TargetError(f"target {target!r} is a module; name an object or a factory in it: {target}:name")
    what = f"target {target}"
    with AnswerRequired(what):
        try:
            found: Any = import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise TargetError(f"{what}: {error}{place_in_model(error)}") from error
        except Exception as error:  # whatever the user's module raises is told with its name
            raise _failed(f"{what}: importing it failed", error) from error
        import inspect  # most commands make nothing

        if not (inspect.isclass(found) or inspect.isroutine(found)):
            if kwargs:
                raise TargetError(
                    f"{what} is an object and takes no arguments; leave them out, or name a factory"
                )
            return found
        try:
            return found(**(kwargs or {}))
        except Exception as error:  # whatever the user's factory raises is told with its name
            raise _failed(f"{what}: calling it failed", error) from error


def _failed(what: str, error: Exception) -> TargetError:
    return TargetError(f"{what}: {failure_of_model(error)}")


class WeightsError(PackageError, ValueError):
    """An object has no `load_state_dict`."""


def load_weights(module: object, path: str | os.PathLike[str]) -> None:
    """Load the state dict in a file into `module`, strictly, by its own `load_state_dict`.

    The file has any format that `packager.open_checkpoint` knows.

    Raises WeightsError for an object that takes none, LegacyFormatError for other files, and what
    `load_state_dict` raises for keys and shapes that do not fit.
    """
    from packager._migrations import load_checkpoint  # NumPy is not needed to find what a name means

    if not callable(getattr(module, "load_state_dict", None)):
        raise WeightsError(f"{type(module).__name__} takes no weights: it has no method load_state_dict()")
    load_checkpoint(module, path)
