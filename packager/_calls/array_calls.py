"""Calls by values: how inputs by name become a call, and its answer becomes parts by name.

Inputs go by parameter name, or by position as `arg0, arg1, ...`. An answer is `output`, or
`output.0`, `output.key` for what is inside tuples, lists, mappings and dataclasses. A part is an array where
it is one, or a number; None, text and bytes are as they are, and so are lists and dicts that are empty.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from packager._process import AnswerRequired
from packager._tensors import library_of, tensor_of
from packager._texts import listed
from packager.errors import PackageError

from .tables import InputTable, is_frame

POSITION = re.compile(r"arg(0|[1-9][0-9]*)")
"""The names of inputs that go by position."""
_NUMBERS = (bool, int, float)
_HOLDERS = (Mapping, tuple, list)
_BUILT_IN = (list, tuple, dict)
PLAIN = (*_NUMBERS, type(None), str, bytes, complex)
"""The types of values that a call gets as they are."""
MOST_NESTED = 100
"""How deep lists, tuples, dicts and dataclasses may lie in one another, in inputs and in answers."""


class CallError(PackageError, TypeError):
    """Inputs do not fit a call, or an output cannot be compared."""


def call_with_arrays(
    thing: Any, inputs: Mapping[str, Any], method: Any = None, library: str | None = None
) -> dict[str, Any]:
    """Call `thing`, or a bound method of it, with values by name; return the parts of its answer by name.

    Where the class of `thing` comes from kellet or PyTorch, the call gets that framework's tensors for
    arrays and for lists of numbers; `library` is its name, where the caller knows it. Raises CallError for
    inputs that are no call of it and for an answer with other parts than arrays, numbers, text, bytes and
    None, CodeExitError where the called code ends with `sys.exit()` or the like, and whatever else the call
    raises.

    >>> import numpy
    >>> call_with_arrays(lambda x, scale: (x * scale, {"n": len(x)}), {"arg0": numpy.ones(2), "scale": 3})
    {'output.0': array([3., 3.]), 'output.1.n': array(2)}
    >>> call_with_arrays(str.split, {"arg0": "two words"})
    {'output.0': 'two', 'output.1': 'words'}
    """
    library = library or library_of(thing)
    positions, keywords = {}, {}
    for name, value in inputs.items():
        if holds_others(value):
            _require_nesting(f"input {name}", value)
        match = POSITION.fullmatch(name)
        if match is not None:
            positions[int(match[1])] = _made(library, name, value)
        else:
            keywords[name] = _made(library, name, value)
    try:
        arguments = [positions[index] for index in range(len(positions))]
    except KeyError as missing:
        raise CallError(
            f"inputs {listed([*inputs])}: arg{missing} is missing; number positions from arg0 without gaps"
        ).holding(inputs) from None
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
        return _parts_of(answer)


def copied_input(name: str, value: object) -> Any:
    """Return a copy of an input of a call, apart from later writes: an array, a tensor, a table,
    or plain values.

    Raises CallError for values that lie too deep in one another to be written, ArgumentError for a frame
    that is no table.
    """
    if is_frame(value):
        return InputTable.of(value)
    if holds_others(value):
        _require_nesting(f"input {name}", value)
    return copy.deepcopy(value.detach() if hasattr(value, "detach") else value)


def array_of(value: Any) -> Any:
    """Return an array or a tensor of any library as an array of NumPy.

    A dtype of PyTorch that NumPy lacks becomes float32, which holds every value of it. Raises TypeError for a
    tensor that has no values.
    """
    import numpy

    if type(value) is numpy.ndarray:
        return value
    library = library_of(value)
    plain = value.detach() if hasattr(value, "detach") else value
    if library == "kellet" and hasattr(plain, "numpy"):
        return plain.numpy()
    if library != "torch" or not hasattr(plain, "numpy"):  # a distribution of torch is no tensor
        return numpy.asarray(plain.cpu() if hasattr(plain, "cpu") else plain)
    try:
        return plain.numpy()  # what nearly all tensors can do as they are
    except (TypeError, RuntimeError):
        torch = import_module("torch")
    plain = plain.to_dense() if plain.layout != torch.strided else plain
    plain = plain.dequantize() if plain.is_quantized else plain
    plain = plain.cpu().resolve_conj().resolve_neg()
    try:
        return plain.numpy()
    except TypeError:
        return plain.to(torch.float32).numpy()


def _name_of(method: Any) -> str:
    name = getattr(method, "__name__", None)
    return name if type(name) is str else type(method).__name__


def _does_not_fit(called: Any, arguments: list[Any], keywords: dict[str, Any]) -> CallError | None:
    """Return the error for inputs that the parameters do not take."""
    signature = signature_of(called)
    if signature is None:
        return None
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        given = [*(f"arg{index}" for index in range(len(arguments))), *keywords]
        expected = listed([*signature.parameters]) or "none"
        is_short = arguments and str(error).startswith("missing")
        several = f". In example=, write packager.Example({expected})" if is_short else ""
        return CallError(
            f"inputs: {error}; found {listed(given) or 'none'}; expected {expected}{several}"
        ).holding(given)
    return None


def signature_of(called: Any) -> inspect.Signature | None:
    """Return the signature of what is called; for a module that of `forward`. None where nothing says."""
    try:
        function = getattr(called, "forward", called)
        if sys.version_info >= (3, 14):  # annotations run now, and may name what is not there
            from annotationlib import Format

            return inspect.signature(function, annotation_format=Format.STRING)
        return inspect.signature(function)
    except Exception:  # not everything that can be called says how, and some raise what they like
        return None


def _require_nesting(name: str, value: Any) -> None:
    """Raise CallError for a value that holds others too deep in one another, or itself.

    Neither could be told part by part; each branch is followed down first, so that a ring is left soon.
    """
    work = [(value, 1)]
    while work:
        value, depth = work.pop()
        inner = [one for _, one in members(value) if holds_others(one)]
        if depth > MOST_NESTED:
            raise CallError(
                f"{name} is nested more than {MOST_NESTED} deep, or contains itself; expected a flat value"
            )
        work += [(one, depth + 1) for one in inner]


def members(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return what a value that holds others has, by keys, positions or the names of fields."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, tuple | list):
        return enumerate(value)
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]


def holds_others(value: object) -> bool:
    """Say whether a value is a mapping, a tuple, a list or a dataclass, which `members` looks into."""
    if type(value).__module__ == "numpy":  # most are arrays, and the questions below take longer
        return False
    if isinstance(value, _HOLDERS):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


# --- inputs ---


def _made(library: str, name: str, value: Any) -> Any:
    """Return an input in a library: a copy, since models may write to theirs."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, InputTable):
        return value.frame()
    if library == "numpy":
        return copy.deepcopy(value) if isinstance(value, _BUILT_IN) else copy.copy(value)
    if isinstance(value, dict):
        return {key: _made(library, f"{name}.{key}", inner) for key, inner in value.items()}
    leaves = set(map(type, _leaves(value)))
    make = partial(tensor_of, library)
    if isinstance(value, list | tuple) and leaves <= {*PLAIN, dict}:
        if not leaves or not leaves <= set(_NUMBERS):
            return [_made(library, f"{name}.{index}", inner) for index, inner in enumerate(value)]
        make = import_module(library).tensor  # floats in the library's own dtype for them
    try:
        return make(value)
    except (TypeError, ValueError) as error:
        raise CallError(f"input {name}: {error}") from error


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


# --- answers ---


def _parts_of(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if holds_others(answer):
        _require_nesting("output", answer)
    _add_parts(found, "output", answer)
    return found


def _add_parts(found: dict[str, Any], name: str, value: Any) -> None:
    """Add the parts of a value below a name; not as a generator, since each request does this."""
    if holds_others(value):
        if isinstance(value, _HOLDERS) and not value:
            _add(found, name, {} if isinstance(value, Mapping) else [])
        for key, inner in members(value):
            _add_parts(found, f"{name}.{key}", inner)
    elif isinstance(value, str):
        _add(found, name, str(value))
    elif value is None or type(value) in (bytes, complex):
        _add(found, name, value)
    else:
        _add_array(found, name, value)


def _add_array(found: dict[str, Any], name: str, value: Any) -> None:
    array = array_of(value)
    if not array.dtype.hasobject:
        _add(found, name, array)
    elif type(value) is int:  # of more than 64 bits
        _add(found, name, value)
    elif array.dtype.kind == "O" and array.shape:  # labels, and what else was given to an array
        _add_parts(found, name, array.tolist())
    else:
        raise CallError(
            f"{name} is of type {type(value).__name__}; expected arrays, tensors, numbers, text, bytes or "
            "None, or a list, tuple or dict of these: return one from the model"
        )


def _add(found: dict[str, Any], name: str, part: Any) -> None:
    if name in found:
        raise CallError(f"two outputs have the name {name}; return keys without dots")
    found[name] = part
