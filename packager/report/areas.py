"""From sizes with paths to the areas of a treemap: few levels, and what is too small to be seen together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from packager.quick_dataclasses import dataclass, field

from .records import Area

_LEVELS = 4
_SMALLEST = 250  # an area has at least this part of the whole


@dataclass
class _Node:
    size: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    inner: dict[str, _Node] = field(default_factory=dict)


def areas_of(items: Iterable[tuple[Sequence[str], int, str]]) -> tuple[Area, ...]:
    """Return areas for items of a path, bytes and a kind, path below path.

    What has less than a 250th of the whole is put together with others beside it, and paths end after a few
    levels.

    >>> areas_of([(("net", "a.py"), 3, "code"), (("net", "b.py"), 1, "code")])[0].size
    4
    >>> [area.name for area in areas_of([(("a",), 999, ""), (("b",), 1, ""), (("c",), 1, "")])]
    ['a', '2 smaller ones']
    """
    root = _Node()
    for path, size, kind in items:
        at = root
        at.size += size
        for part in path[:_LEVELS]:
            at = at.inner.setdefault(part, _Node())
            at.size += size
            at.kinds[kind] += size
    return _parts(root, root.size // _SMALLEST)


def _parts(node: _Node, smallest: int) -> tuple[Area, ...]:
    kept: list[tuple[str, _Node]] = []
    small: list[tuple[str, _Node]] = []
    for name, inner in node.inner.items():
        (kept if inner.size > smallest else small).append((name, inner))
    if len(small) == 1:
        kept, small = kept + small, []
    found = [Area(name, inner.size, _most(inner.kinds), _parts(inner, smallest)) for name, inner in kept]
    if small:
        kinds = sum((inner.kinds for _, inner in small), Counter[str]())
        size = sum(inner.size for _, inner in small)
        found.append(Area(f"{len(small):,} smaller ones", size, _most(kinds)))
    return tuple(sorted(found, key=lambda area: (-area.size, area.name)))


def _most(kinds: Counter[str]) -> str:
    """Return the kind that most bytes are of."""
    return max(kinds, key=lambda kind: (kinds[kind], kind), default="")
