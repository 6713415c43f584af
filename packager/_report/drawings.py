"""Drawings as SVG, without a style of their own: a page's stylesheet colours them.

Areas of a treemap have few levels, and what is too small to be seen is put together.

Every text in them is escaped by the caller's `text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from packager._quick_dataclasses import dataclass, field
from packager._texts import shortened, size_text

from .page_parts import Area, Histogram, Treemap

Text = Callable[[str], str]
"""Returns a text escaped, and cut to a length that a page can hold."""

_WIDE, _HIGH = 960, 420
_MOST_OF_TREEMAP: Final = 120_000  # bytes
_SMALLEST: Final = 6.0  # of both sides of an area with areas in it
_LETTER: Final = 7.3  # width of one, roughly
_LINE: Final = 15


def histogram(cell: Histogram) -> str:
    """Return bars, as high as the roots of their counts: a few outliers are still seen.

    >>> histogram(Histogram((4, 0, 1)))
    '<svg class="bars" viewBox="0 0 12 16" width="24" height="16" role="img" aria-label="histogram: 4 0 1"><path d="M0 16V0h3V16zM8 16V8h3V16z"/></svg>'
    """  # noqa: E501 - one element is one line
    most = max(cell.counts, default=0) or 1
    bars = []
    for at, count in enumerate(cell.counts):
        if count:
            top = 16 - max(16 * (count / most) ** 0.5, 1)
            bars.append(f"M{at * 4} 16V{top:.4g}h3V16z")
    wide = 4 * len(cell.counts)
    label = f"histogram: {' '.join(map(str, cell.counts))}"
    return (
        f'<svg class="bars" viewBox="0 0 {wide} 16" width="{wide * 2 if wide < 40 else wide}" height="16" '
        f'role="img" aria-label="{label}"><path d="{"".join(bars)}"/></svg>'
    )


# --- treemap ---


def treemap(drawing: Treemap, text: Text) -> str:
    """Return areas inside areas, in proportion to their bytes; with too long names not all are drawn."""
    parts, length = [], 0
    for part in _areas(drawing.areas, (0.0, 0.0, float(_WIDE), float(_HIGH)), 0, text):
        length += len(part.encode())
        if length > _MOST_OF_TREEMAP:
            break
        parts.append(part)
    return (
        f'<svg class="treemap" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'aria-label="{text(drawing.label)}">{"".join(parts)}</svg>'
    )


Rectangle = tuple[float, float, float, float]
"""Left, top, width and height."""


def _areas(areas: Sequence[Area], place: Rectangle, depth: int, text: Text) -> Iterator[str]:
    sized = sorted((area for area in areas if area.size > 0), key=lambda area: (-area.size, area.name))
    places = squarified([area.size for area in sized], place)
    for area, (left, top, wide, high) in zip(sized, places, strict=True):
        if wide < 1 or high < 1:
            continue
        said = f"{area.name}: {size_text(area.size)}"
        label = ""
        head = _LINE + 4 if high > 2 * _LINE and wide > 5 * _LETTER else 0.0
        if head:
            fits = int((wide - 8) / _LETTER)
            short = said if len(said) <= fits else shortened(area.name, fits, "…")
            label = f'<text x="{left + 4:.1f}" y="{top + _LINE:.1f}">{text(short)}</text>'
        yield (
            f'<g class="{area.kind} d{depth}"><title>{text(said)}</title><rect x="{left:.1f}" '
            f'y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}"/>{label}</g>'
        )
        inner = (left + 2, top + max(head, 2.0), wide - 4, high - max(head, 2.0) - 2)
        if area.parts and inner[2] > _SMALLEST and inner[3] > _SMALLEST:
            yield from _areas(area.parts, inner, depth + 1, text)


def squarified(sizes: Sequence[int], place: Rectangle) -> list[Rectangle]:
    """Return rectangles that fill a place, in proportion to sizes, which fall; each as square as can be.

    Source: Bruls, Huizing and van Wijk, Squarified Treemaps (2000).

    >>> squarified([2, 1, 1], (0, 0, 4, 2))
    [(0, 0.0, 2.0, 2.0), (2.0, 0.0, 2.0, 1.0), (2.0, 1.0, 2.0, 1.0)]
    """
    left, top, wide, high = place
    total = sum(sizes)
    scale = wide * high / total if total else 0
    found: list[Rectangle] = []
    start = 0
    while start < len(sizes):
        side = min(wide, high)
        stop = start + 1
        while stop < len(sizes) and _worst(sizes[start : stop + 1], side, scale) <= _worst(
            sizes[start:stop], side, scale
        ):
            stop += 1
        row = sizes[start:stop]
        thick = sum(row) * scale / side if side else 0.0
        at = 0.0
        for size in row:
            long = size * scale / thick if thick else 0.0
            found.append((left, top + at, thick, long) if wide >= high else (left + at, top, long, thick))
            at += long
        if wide >= high:
            left, wide = left + thick, max(wide - thick, 0.0)
        else:
            top, high = top + thick, max(high - thick, 0.0)
        start = stop
    return found


def _worst(row: Sequence[int], side: float, scale: float) -> float:
    """Return how far from square the worst rectangle of a row would be."""
    total = sum(row) * scale
    if not (total and side and row[-1] * scale):
        return float("inf")
    return max(side**2 * row[0] * scale / total**2, total**2 / (side**2 * row[-1] * scale))


_LEVELS = 4
_LEAST_PART = 250  # an area has at least this part of the whole


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
    return _parts(root, root.size // _LEAST_PART)


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
