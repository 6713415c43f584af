"""The parts of an object that a trace looks at: modules, and estimators inside each other, with their paths.

A path leads from the object that is called: names of submodules, attributes and keys, positions in lists. A
part in a list of pairs (the steps of a pipeline, the transformers of a column transformer) goes by the name
that it has there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from packager.archive import MAX_MODULE_PATH, MAX_TRACED_CALLS
from packager.quick_dataclasses import dataclass

from .evaluation import is_foreign, module_classes, modules_in

METHODS: Final = (
    *("transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"),
)
"""The methods of estimators that are traced: those that compute what a fitted one answers."""

_MOST_SEEN: Final = 1 << 18
_OF_MODULES: Final = frozenset({"_parameters", "_buffers", "_modules"})


@dataclass(frozen=True)
class TracedPart:
    """A part, its path, and the methods of it that are traced: none for a module, which is called itself."""

    path: str
    part: Any
    methods: tuple[str, ...] = ()


def traced_parts(thing: Any) -> Iterator[TracedPart]:
    """Yield the modules and estimators in `thing`, itself with the path "".

    What is reached in two ways has the shorter path. Modules that only functions lead to, by a closure or a
    global name, come last, under the names of their classes. Nothing of theirs is run.

    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> [one.path for one in traced_parts(Sequential(Linear(2, 2), ReLU()))]
    ['', '0', '1']
    """
    classes = module_classes()
    seen: dict[int, Any] = {}
    waiting: deque[tuple[str, Any]] = deque([("", thing)])
    count = 0
    while waiting and len(seen) < _MOST_SEEN:
        path, found = waiting.popleft()
        if id(found) in seen or len(path) > MAX_MODULE_PATH:
            continue
        seen[id(found)] = found
        is_module = issubclass(type(found), classes)
        methods = () if is_module else _methods(found)
        if is_module or methods:
            count += 1
            yield TracedPart(path, found, methods)
        if count == MAX_TRACED_CALLS:
            return
        waiting.extend(_named_inside(path, found, holds_parts=is_module or bool(methods)))
    for number, module in enumerate(modules_in(thing)):
        if id(module) not in seen and count < MAX_TRACED_CALLS:
            count += 1
            yield TracedPart(f"<{type(module).__name__} {number}>", module)


def _methods(thing: Any) -> tuple[str, ...]:
    """Return the methods of an estimator that are traced; none for what is no estimator."""
    kind = type(thing)
    if isinstance(thing, type) or not callable(getattr(kind, "fit", None)):
        return ()
    return tuple(name for name in METHODS if _has(kind, name))


def _has(kind: type, name: str) -> bool:
    # In the classes themselves: a method that is there under a condition is a descriptor, which asks.
    return any(name in vars(cls) for cls in kind.__mro__)


def _named_inside(path: str, thing: Any, *, holds_parts: bool) -> Iterator[tuple[str, Any]]:
    kind = type(thing)
    if issubclass(kind, dict):
        yield from ((_joined(path, key), value) for key, value in dict.items(thing) if _holds(value))
    elif issubclass(kind, list | tuple):
        yield from _items(path, thing)
    if not holds_parts and (issubclass(kind, dict | list | tuple) or is_foreign(kind.__module__)):
        return
    try:
        held = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return
    inner = dict.get(held, "_modules")
    if isinstance(inner, dict):
        yield from ((_joined(path, name), value) for name, value in dict.items(inner))
    for name, value in dict.items(held):
        if name not in _OF_MODULES and _holds(value):
            yield _joined(path, name), value


def _items(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    for number, value in enumerate(thing):
        if not _holds(value):
            continue
        if type(value) is tuple and len(value) > 1 and type(value[0]) is str:
            yield _joined(path, value[0]), value[1]
        else:
            yield _joined(path, number), value


def _holds(value: Any) -> bool:
    """Say whether something may be found in a value; arrays, texts and numbers are left aside at once."""
    kind = type(value)
    return issubclass(kind, dict | list | tuple) or (
        not issubclass(kind, str | bytes | int | float | complex | type(None) | type)
        and not hasattr(kind, "dtype")
    )


def _joined(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
