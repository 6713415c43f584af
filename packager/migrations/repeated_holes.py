"""Holes that stand twice in a template: the few readings of a key in which both stand for the same.

Which text a repeated hole stands for cannot be found by matching the rest: so texts are tried, and each is
put in the place of the hole. To find the right one of all would take without end for templates that were made
for it, so few are.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from .template_holes import Hole, Linear, Part, is_one, value_of

TRIES: Final = 8
"""Texts that are tried for a repeated hole; each is matched with the whole key."""

_PLACES: Final = 64  # texts that are looked at, and where one may start or end


def repeated_name(holes: Sequence[Hole]) -> str:
    """Return the first name that stands twice; "" for none.

    >>> repeated_name([Hole("p", "any"), Hole("n", "int"), Hole("n", "int")])
    'n'
    """
    counts = Counter(hole.name for hole in holes)
    return next((hole.name for hole in holes if counts[hole.name] > 1), "")


def with_repeats(parts: Sequence[Part], key: str) -> Iterator[tuple[tuple[Part, ...], dict[str, str | int]]]:
    """Yield the parts with texts in the place of repeated holes, and what these holes then stand for.

    >>> next(with_repeats((Hole("a", "segment"), "-", Hole("a", "segment")), "x-y-x-y"))
    (('x-y-x-y',), {'a': 'x-y'})
    """
    return itertools.islice(_readings(tuple(parts), key, iter(range(_PLACES))), TRIES)


def _readings(
    parts: tuple[Part, ...], key: str, places: Iterator[int]
) -> Iterator[tuple[tuple[Part, ...], dict[str, str | int]]]:
    """Yield the same without end but that of `places`, of which each text that is looked at takes one."""
    name = repeated_name([part for part in parts if isinstance(part, Hole)])
    if not name:
        yield parts, {}
        return
    at = next(at for at, part in enumerate(parts) if isinstance(part, Hole) and part.name == name)
    hole = parts[at]
    assert isinstance(hole, Hole)
    for text, _ in zip(_texts(parts, at, key), places, strict=False):
        value = value_of(hole, text) if is_one(hole.kind, text) else None
        filled = None if value is None else _filled(parts, name, value)
        if value is not None and filled is not None and _fit(filled, key):
            for rest, known in _readings(filled, key, places):
                yield rest, {name: value, **known}


def _fit(parts: Sequence[Part], key: str) -> bool:
    """Say whether the texts of a template stand in a key, one behind the other."""
    at = 0
    for part in parts:
        if isinstance(part, str):
            at = key.find(part, at) + len(part)
            if at < len(part):
                return False
    return True


def _texts(parts: Sequence[Part], at: int, key: str) -> Iterator[str]:
    """Yield the texts that the hole at a place may stand for, as far as its neighbours say."""
    if (whole := _only_text(parts, key)) is not None:
        yield whole
        return
    hole, before, after = parts[at], *(parts[n] if 0 <= n < len(parts) else None for n in (at - 1, at + 1))
    assert isinstance(hole, Hole)
    starts = [0] if before is None else [place + len(str(before)) for place in _places(key, str(before))]
    for start in starts[:1] if at == 1 else starts:
        ends = [len(key)] if after is None else _places(key, str(after), start)
        for end in ends if hole.kind == "any" else reversed(ends):
            yield key[start:end]


def _only_text(parts: Sequence[Part], key: str) -> str | None:
    """Return what the hole stands for where it is the only one, and so its length is known."""
    holes = [part for part in parts if isinstance(part, Hole)]
    if len({hole.name for hole in holes}) > 1 or any(hole.linear != Linear() for hole in holes):
        return None
    rest = len(key) - sum(len(part) for part in parts if isinstance(part, str))
    start = len(parts[0]) if isinstance(parts[0], str) else 0
    return key[start : start + max(rest, 0) // len(holes)]


def _places(key: str, text: str, start: int = 0) -> list[int]:
    """Return where a text stands in a key, the first of many."""
    found: list[int] = []
    at = key.find(text, start)
    while at >= 0 and len(found) < _PLACES:
        found.append(at)
        at = key.find(text, at + 1)
    return found


def _filled(parts: Sequence[Part], name: str, value: str | int) -> tuple[Part, ...] | None:
    """Return the parts with a value in the place of a hole; None where one of its places cannot have it."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Hole) and part.name == name:
            text = value if isinstance(value, str) else str(part.linear.apply(value))
            if isinstance(value, str) != (part.kind != "int") or not is_one(part.kind, text):
                return None
            part = text
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)
