"""In which order a set is written: one that depends on its elements alone, never on the hash seed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any


def in_order(items: Iterable[Any], other: Callable[[Any], Any]) -> list[Any]:
    """Sort the elements of a set, first by kind, then by value.

    `other(item)` gives a key for what has no order of its own: something that can be compared with
    what it gives for any other element.

    >>> in_order({"b", 2, "a", None, (2, "x"), (1, "y")}, other=id)
    [None, 2, 'a', 'b', (1, 'y'), (2, 'x')]
    """
    items = list(items)
    kinds = set(map(type, items))
    if kinds == {str} or kinds == {int}:
        return sorted(items)
    if not _need_an_order(items):
        return sorted(items, key=lambda item: _key(item, _nothing))
    return sorted(items, key=lambda item: _key(item, other))


def _need_an_order(items: list[Any]) -> bool:
    """Whether more than one thing in the set has no order of its own; asking for one is costly."""
    found: list[Any] = []
    for item in items:
        _key(item, found.append)
    return len(found) > 1


def _nothing(item: Any) -> None:
    return None


def _key(item: Any, other: Callable[[Any], Any]) -> tuple[Any, ...]:
    kind = type(item)
    if item is None:
        return ("",)
    if kind in (bool, int, str, bytes):
        return (kind.__name__, item)
    if kind in (float, complex):
        # The repr orders NaN too; it is exact.
        return (kind.__name__, repr(item))
    if kind is tuple:
        return ("tuple", tuple(_key(part, other) for part in item))
    if kind is frozenset:
        return ("tuple of a set", tuple(sorted(_key(part, other) for part in item)))
    if isinstance(item, enum.Enum):
        return ("~enum", kind.__module__, kind.__qualname__, str(item.name), repr(item.value))
    if isinstance(item, type):
        return ("~type", item.__module__, item.__qualname__)
    return ("~other", other(item))
