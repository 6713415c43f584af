"""Calls by arrays: how inputs in a file become a call, and its result arrays by name again.

Inputs go by parameter name, or by position as `arg0, arg1, ...`. A result is `output`, or
`output.0`, `output.key` for what is inside tuples, lists and mappings.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from packager.errors import PackageError
from packager.exits import AnswerRequired
from packager.libraries import library_of, tensor_of

_POSITION = re.compile(r"arg(0|[1-9][0-9]*)")


class CallError(PackageError, TypeError):
    """Inputs that are no call, or a result that is not made of arrays."""


def call_with_arrays(thing: Any, inputs: Mapping[str, Any], method: Any = None) -> dict[str, Any]:
    """Call `thing`, or a bound method of it, with arrays by name; return the arrays of its result by name.

    Where the class of `thing` comes from kellet or PyTorch, the call gets that framework's tensors.
    Raises CallError for inputs that are no call of it, CodeExitError where the called code ends with
    `sys.exit()` or the like, and whatever else the call raises.

    >>> import numpy
    >>> call_with_arrays(lambda x, scale: (x * scale, {"n": len(x)}), {"arg0": numpy.ones(2), "scale": 3})
    {'output.0': array([3., 3.]), 'output.1.n': array(2)}
    """
    make = _tensor_maker(thing)
    positions, keywords = {}, {}
    for name, value in inputs.items():
        match = _POSITION.fullmatch(name)
        if match is not None:
            positions[int(match[1])] = _made(make, name, value)
        else:
            keywords[name] = _made(make, name, value)
    if sorted(positions) != list(range(len(positions))):
        missing = min(set(range(len(positions))) - set(positions))
        raise CallError(
            f"inputs {', '.join(inputs)}: arg{missing} is missing; positions go from arg0 without gaps"
        )
    arguments = [positions[index] for index in range(len(positions))]
    called = thing if method is None else method
    # Of what is called by itself only the class is named: its own form may be long, and is its code's.
    what = type(thing).__name__ + ("" if called is thing else f".{_name_of(method)}")
    with AnswerRequired(f"calling {what}"):
        try:
            answer = called(*arguments, **keywords)
        except TypeError as error:  # told better where it is about the inputs; hooks may have mended those
            misfit = _does_not_fit(called, arguments, keywords)
            if misfit is None:
                raise
            raise misfit from error
        return dict(_arrays("output", answer))


def copied_input(value: Any) -> Any:
    """A copy of an input of a call, apart from later writes: an array, a tensor, numbers in lists."""
    return copy.deepcopy(value.detach() if hasattr(value, "detach") else value)


def _name_of(method: Any) -> str:
    name = getattr(method, "__name__", None)
    return name if type(name) is str else type(method).__name__


def _does_not_fit(called: Any, arguments: list[Any], keywords: dict[str, Any]) -> CallError | None:
    """The error for inputs that the parameters do not take; a module's are those of its `forward`."""
    try:
        signature = inspect.signature(getattr(called, "forward", called))
    except (TypeError, ValueError):  # not everything that can be called says how
        return None
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        given = ", ".join([*(f"arg{index}" for index in range(len(arguments))), *keywords]) or "no arrays"
        expected = ", ".join(signature.parameters) or "none"
        return CallError(f"inputs: {error}; found {given}; expected arrays named for parameters: {expected}")
    return None


def load_arrays(path: str) -> dict[str, Any]:
    """The arrays of a `.npz` file, by name; no pickles are read.

    Raises OSError where it cannot be read, CallError where it is no such file.
    """
    import zipfile
    import zlib

    import numpy

    try:
        with open(path, "rb") as file, numpy.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, AttributeError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CallError(f"{path}: not a .npz file of arrays ({error}); make one with numpy.savez") from error


def _made(make: Any, name: str, value: Any) -> Any:
    try:
        return make(value)
    except TypeError as error:
        raise CallError(f"input {name}: {error}") from error


def _tensor_maker(thing: Any) -> Any:
    """Return what makes an input in the library of `thing`: copies, since models may write to them."""
    library = library_of(thing)
    if library == "numpy":
        return copy.copy
    return partial(tensor_of, library)


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    import numpy

    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _arrays(f"{name}.{key}", inner)
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            yield from _arrays(f"{name}.{index}", inner)
    else:
        plain = value.detach() if hasattr(value, "detach") else value
        array = numpy.asarray(plain.cpu() if hasattr(plain, "cpu") else plain)
        if array.dtype.hasobject:
            raise CallError(
                f"{name} is a {type(value).__name__}: only arrays, tensors and numbers can be compared"
            )
        yield name, array
