"""Calls in a mode: every module of kellet and PyTorch that a call can reach is set so, and set back.

A stored call is made twice, where the archive is written and where it is checked. In training mode
dropout answers at random, and a batch norm answers by the batch: so the mode is that of evaluation, where no
other is asked for.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from packager.process import AnswerRequired

from .array_calls import call_with_arrays

_LIBRARIES = {"kellet": "kellet.nn", "torch": "torch.nn"}
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), type, BuiltinFunctionType, ModuleType)
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_FOREIGN = sys.stdlib_module_names | {"numpy", "packager", *_LIBRARIES}
"""Packages whose functions and classes hold no model of their own."""


def call_in_mode(
    thing: Any, inputs: Mapping[str, Any], method: Any = None, *, training: bool = False
) -> dict[str, Any]:
    """Call as `call_with_arrays` does, with every module that the call can reach in evaluation mode.

    With `training` it is training mode. Raises what that raises; CodeExitError also where an `eval()` or
    `train()` ends with `sys.exit()`.
    """
    what = f"calling {type(thing).__name__} in {mode_name(training)}"
    with AnswerRequired(what), in_mode(thing, training=training):
        return call_with_arrays(thing, inputs, method)


def mode_name(training: bool) -> str:
    """Return what messages call a mode."""
    return "training mode" if training else "evaluation mode"


@contextmanager
def in_mode(thing: Any, *, training: bool = False) -> Iterator[None]:
    """Call `eval()`, or `train()`, on the modules in `thing`; after the block each has the flag that it had.

    They are looked for in attributes, containers, methods, partials, closures, and in the global
    names that functions use: whatever leads from `thing` to a module without running anything.
    """
    flags = [(module, module.training) for module in modules_in(thing)]
    changed = []
    try:
        for module, _ in flags:
            if (
                bool(module.training) is not training
            ):  # those inside a module that comes first have been set by it
                changed.append(module)
                _set_mode(module, training=training)
        yield
    finally:
        for module in changed:
            _set_mode(module, training=not training)
        for module, flag in flags:
            if module.training != flag:
                module.training = flag


def _set_mode(module: Any, *, training: bool) -> None:
    """As a user would, since a class may do more than set the flag."""
    try:
        if training:
            module.train()
        else:
            module.eval()
    except NotImplementedError:  # an exported graph of PyTorch, whose mode was fixed when it was made
        return


def module_classes() -> tuple[type, ...]:
    """Return the classes of modules of the libraries that are imported."""
    libraries = [sys.modules[home] for home in _LIBRARIES.values() if home in sys.modules]
    return tuple(
        library.Module for library in libraries if isinstance(getattr(library, "Module", None), type)
    )


def modules_in(thing: Any) -> Iterator[Any]:
    """Yield every module that a call of `thing` can reach, those that hold others first; see `in_mode`."""
    classes = module_classes()
    seen: dict[int, Any] = {}
    waiting = deque([thing])
    while waiting:
        found = waiting.popleft()
        # Not `isinstance`, which asks the value itself for its class.
        if issubclass(type(found), _PLAIN) or id(found) in seen:
            continue
        seen[id(found)] = found
        if issubclass(type(found), classes):
            yield found
        waiting.extend(_inside(found))


def _inside(thing: Any) -> Iterator[Any]:
    """Yield what a value holds, read past whatever its class makes of attributes and items."""
    kind = type(thing)
    if issubclass(kind, dict):
        yield from dict.values(thing)
    for container in _CONTAINERS:
        if issubclass(kind, container):
            yield from container.__iter__(thing)
    if kind is MethodType:
        yield from (thing.__self__, thing.__func__)
    elif issubclass(kind, partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif kind is FunctionType:
        yield from _used_by(thing)
    else:
        yield from _of_class(thing)
    try:
        yield from dict.values(object.__getattribute__(thing, "__dict__"))
    except (AttributeError, TypeError):  # it has none, or something else in its place
        return


def _of_class(thing: Any) -> Iterator[Any]:
    """Yield what slots hold, and what stands in the bodies of its classes: methods, and models as well."""
    for cls in type(thing).__mro__:
        if is_foreign(cls.__module__):
            continue
        for value in vars(cls).values():
            if isinstance(value, MemberDescriptorType):
                try:
                    yield value.__get__(thing)
                except AttributeError:  # nothing was set
                    continue
            elif isinstance(value, property):
                yield from (value.fget, value.fset)
            else:
                yield (
                    getattr(value, "__func__", value)
                    if isinstance(value, staticmethod | classmethod)
                    else value
                )


def _used_by(function: FunctionType) -> Iterator[Any]:
    """Yield defaults, closures and the globals that a function names, also as attributes of modules."""
    if is_foreign(function.__module__):
        return
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the name has no value yet
            continue
    names = set(_names_in(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield value
        if isinstance(value, ModuleType) and not is_foreign(value.__name__):
            held = ModuleType.__getattribute__(value, "__dict__")
            yield from (held[inner] for inner in names & held.keys())
        elif isinstance(value, type) and not is_foreign(value.__module__):
            yield from (held for held in vars(value).values() if not isinstance(held, type))


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def is_foreign(module: object) -> bool:
    """Say whether what a module defines holds no model of its own."""
    return not isinstance(module, str) or module.partition(".")[0] in _FOREIGN
