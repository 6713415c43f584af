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
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from packager.errors import PackageError
from packager.process import AnswerRequired
from packager.tensors import library_of, tensor_of
from packager.texts import listed

POSITION = re.compile(r"arg(0|[1-9][0-9]*)")
"""The names of inputs that go by position."""
_NUMBERS = (bool, int, float)
PLAIN = (*_NUMBERS, type(None), str, bytes, complex)
"""The types of values that a call gets as they are."""
MOST_NESTED = 100
"""How deep lists, tuples, dicts and dataclasses may lie in one another, in inputs and in answers."""


class CallError(PackageError, TypeError):
    """Inputs that are no call, or an answer with parts that cannot be compared."""


def call_with_arrays(thing: Any, inputs: Mapping[str, Any], method: Any = None) -> dict[str, Any]:
    """Call `thing`, or a bound method of it, with values by name; return the parts of its answer by name.

    Where the class of `thing` comes from kellet or PyTorch, the call gets that framework's tensors for
    arrays and for lists of numbers. Raises CallError for inputs that are no call of it and for an answer with
    other parts than arrays, numbers, text, bytes and None, CodeExitError where the called code ends with
    `sys.exit()` or the like, and whatever else the call raises.

    >>> import numpy
    >>> call_with_arrays(lambda x, scale: (x * scale, {"n": len(x)}), {"arg0": numpy.ones(2), "scale": 3})
    {'output.0': array([3., 3.]), 'output.1.n': array(2)}
    >>> call_with_arrays(str.split, {"arg0": "two words"})
    {'output.0': 'two', 'output.1': 'words'}
    """
    library = library_of(thing)
    positions, keywords = {}, {}
    for name, value in inputs.items():
        _require_nesting(f"input {name}", value)
        match = POSITION.fullmatch(name)
        if match is not None:
            positions[int(match[1])] = _made(library, name, value)
        else:
            keywords[name] = _made(library, name, value)
    if sorted(positions) != list(range(len(positions))):
        missing = min(set(range(len(positions))) - set(positions))
        raise CallError(
            f"inputs {listed([*inputs])}: arg{missing} is missing; positions go from arg0 without gaps"
        ).holding(inputs)
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
        return _parts_of(answer)


def copied_input(name: str, value: Any) -> Any:
    """Return a copy of an input of a call, apart from later writes: an array, a tensor, or plain values.

    Raises CallError for values that lie too deep in one another to be written.
    """
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
    if library != "torch":
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
        return CallError(
            f"inputs: {error}; found {listed(given) or 'no arrays'}; expected arrays named for parameters: "
            f"{expected}"
        ).holding(given)
    return None


def signature_of(called: Any) -> inspect.Signature | None:
    """Return the signature of what is called; for a module that of `forward`. None where nothing says."""
    try:
        return inspect.signature(getattr(called, "forward", called))
    except Exception:  # not everything that can be called says how, and some raise what they like
        return None


def _require_nesting(name: str, value: Any) -> None:
    """Raise CallError for values that lie too deep in one another, or that hold themselves.

    Neither could be told part by part; each branch is followed down first, so that a ring is left soon.
    """
    work = [(value, 1)]
    while work:
        value, depth = work.pop()
        inner = [one for one in _inner(value) if _holds_others(one)]
        if depth > MOST_NESTED:
            raise CallError(
                f"{name} is nested more than {MOST_NESTED} deep, or holds itself: only values that can be "
                "told part by part can be compared and written"
            )
        work += [(one, depth + 1) for one in inner]


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, tuple | list):
        return value
    if _holds_others(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return ()


def _holds_others(value: Any) -> bool:
    if isinstance(value, Mapping | tuple | list):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


# --- inputs ---


def _made(library: str, name: str, value: Any) -> Any:
    """Return an input in a library: a copy, since models may write to theirs."""
    if type(value) in PLAIN:
        return value
    if library == "numpy":
        return copy.deepcopy(value) if isinstance(value, list | tuple | dict) else copy.copy(value)
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
    _require_nesting("output", answer)
    for name, value in _parts("output", answer):
        if name in found:
            raise CallError(f"{name} is twice in the answer: give its keys other names, without dots")
        found[name] = value
    return found


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        if not value:
            yield name, {}
        for key, inner in value.items():
            yield from _parts(f"{name}.{key}", inner)
    elif isinstance(value, tuple | list):
        if not value:
            yield name, []
        for index, inner in enumerate(value):
            yield from _parts(f"{name}.{index}", inner)
    elif isinstance(value, str):
        yield name, str(value)
    elif value is None or type(value) in (bytes, complex):
        yield name, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _parts(f"{name}.{field.name}", getattr(value, field.name))
    else:
        yield from _array_parts(name, value)


def _array_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    array = array_of(value)
    if not array.dtype.hasobject:
        yield name, array
    elif type(value) is int:  # of more than 64 bits
        yield name, value
    elif array.dtype.kind == "O" and array.shape:  # labels, and what else was given to an array
        yield from _parts(name, array.tolist())
    else:
        raise CallError(
            f"{name} is a {type(value).__name__}: only arrays, tensors, numbers, text and None can be "
            "compared"
        )
