"""The parts of an object that a trace looks at: modules, and estimators inside each other, with their paths.

A path leads from the object that is called: names of submodules, attributes and keys, positions in lists. A
part in a list of pairs (the steps of a pipeline, the transformers of a column transformer) goes by the name
that it has there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from packager.archive import MAX_MODULE_PATH, MAX_TRACED_CALLS

from .evaluation import CONTAINERS, EXACTLY_PLAIN, is_foreign, module_classes, modules_in

METHODS: Final = (
    *("transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"),
)
"""The methods of estimators that are traced: those that compute what a fitted one answers."""

_MOST_SEEN: Final = 1 << 18
_OF_MODULES: Final = frozenset({"_parameters", "_buffers", "_modules"})


class TracedPart(NamedTuple):
    """A part, its path, and the methods of it that are traced: none for a module, which is called itself."""

    path: str
    part: Any
    methods: tuple[str, ...] = ()


def traced_parts(thing: Any, modules: Sequence[Any] | None = None) -> list[TracedPart]:
    """Return the modules and estimators in `thing`, itself with the path "".

    What is reached in two ways has the shorter path. Modules that only functions lead to, by a closure or a
    global name, come last, under the names of their classes: `modules` are all that `modules_in` finds, for
    who has looked for them already. Nothing of theirs is run.

    >>> from kellet.nn import Linear, ReLU, Sequential
    >>> [one.path for one in traced_parts(Sequential(Linear(2, 2), ReLU()))]
    ['', '0', '1']
    """
    seen: dict[int, Any] = {}
    kinds = _Kinds()
    found: list[TracedPart] = []
    waiting: deque[tuple[str, Any]] = deque([("", thing)])
    while waiting and len(seen) < _MOST_SEEN:
        path, one = waiting.popleft()
        if id(one) in seen or len(path) > MAX_MODULE_PATH:
            continue
        seen[id(one)] = one
        kind = kinds[type(one)]
        if kind.is_module or kind.methods:
            found.append(TracedPart(path, one, kind.methods))
        if len(found) == MAX_TRACED_CALLS:
            return found
        if kind.is_looked_into:
            _look_inside(f"{path}." if path else "", one, kind, kinds, waiting)
    for number, module in enumerate(modules_in(thing) if modules is None else modules):
        if id(module) not in seen and len(found) < MAX_TRACED_CALLS:
            found.append(TracedPart(f"<{type(module).__name__} {number}>", module))
    return found


class _Kind:
    """What the walk has to know of a class."""

    __slots__ = ("holds", "is_dict", "is_list", "is_looked_into", "is_module", "methods")

    def __init__(self, cls: type, classes: tuple[type, ...]) -> None:
        self.is_module = issubclass(cls, classes)
        self.methods = () if self.is_module else _methods(cls)
        self.is_dict, self.is_list = issubclass(cls, dict), issubclass(cls, list | tuple)
        is_container = self.is_dict or self.is_list
        # Arrays, texts and numbers are left aside at once.
        self.holds = is_container or (
            not issubclass(cls, str | bytes | int | float | complex | type(None) | type)
            and not hasattr(cls, "dtype")
        )
        self.is_looked_into = (
            self.is_module or bool(self.methods) or is_container or not is_foreign(cls.__module__)
        )


class _Kinds(dict[type, _Kind]):
    """Of each class that the walk met what it has to know, found out once."""

    def __init__(self) -> None:
        self._classes = module_classes()

    def __missing__(self, cls: type) -> _Kind:
        kind = self[cls] = _Kind(cls, self._classes)
        return kind

    def holds(self, value: Any) -> bool:
        """Say whether something may be found in a value."""
        cls = type(value)
        return cls not in EXACTLY_PLAIN and (cls not in CONTAINERS or bool(value)) and self[cls].holds


def _methods(cls: type) -> tuple[str, ...]:
    """Return the methods of a class of estimators that are traced; none for one of anything else."""
    if issubclass(cls, type) or not callable(getattr(cls, "fit", None)):
        return ()
    return tuple(name for name in METHODS if _has(cls, name))


def _has(cls: type, name: str) -> bool:
    # In the classes themselves: a method that is there under a condition is a descriptor, which asks.
    return any(name in vars(base) for base in cls.__mro__)


def _look_inside(start: str, thing: Any, kind: _Kind, kinds: _Kinds, waiting: deque[tuple[str, Any]]) -> None:
    """Put what lies in a thing behind what waits, with its path: `start` and its name."""
    if kind.is_dict:
        _add_named(start, dict.items(thing), kinds, waiting)
    elif kind.is_list:
        waiting.extend(_items(start, thing, kinds))
    if (kind.is_dict or kind.is_list) and not kind.is_module and not kind.methods:
        return
    try:
        held = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return
    inner = dict.get(held, "_modules")
    if inner and isinstance(inner, dict):
        waiting.extend([(f"{start}{name}", value) for name, value in dict.items(inner)])
    _add_named(start, dict.items(held), kinds, waiting, _OF_MODULES)


def _add_named(
    start: str,
    items: Iterable[tuple[Any, Any]],
    kinds: _Kinds,
    waiting: deque[tuple[str, Any]],
    without: Container[str] = (),
) -> None:
    for name, value in items:
        cls = type(value)
        # What nearly all attributes of a module are, asked for without a call of a function.
        if cls in EXACTLY_PLAIN or (cls in CONTAINERS and not value) or name in without:
            continue
        if kinds[cls].holds:
            waiting.append((f"{start}{name}", value))


def _items(start: str, thing: Any, kinds: _Kinds) -> Iterator[tuple[str, Any]]:
    for number, value in enumerate(thing):
        if not kinds.holds(value):
            continue
        if type(value) is tuple and len(value) > 1 and type(value[0]) is str:
            yield f"{start}{value[0]}", value[1]
        else:
            yield f"{start}{number}", value
