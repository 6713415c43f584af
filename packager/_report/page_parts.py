"""The records of a page: sections, and what stands in them. They hold text as it was found.

Sections and tables are made without what is empty, and folded where they are long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from packager._quick_dataclasses import dataclass

Tone = Literal["", "good", "warning", "bad"]


@dataclass(frozen=True)
class Mark:
    """A short word that is coloured: what is good, what wants a look, and what is bad."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Histogram:
    """How many values lie in each of some ranges of one width, from the lowest value to the highest."""

    counts: tuple[int, ...]


@dataclass(frozen=True)
class Code:
    """A name or a line of a program, in a font of its own."""

    text: str


Cell = str | int | Mark | Histogram | Code | None
"""What stands in a cell. An int stands there with commas; None is an empty one."""


@dataclass(frozen=True)
class Facts:
    """Labels, each with its value."""

    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True)
class Table:
    """Rows below the names of their columns.

    `rows` may be an iterator, so that a long table is never in memory. `total` is how many there are, `most`
    how many are shown at most, and `most_bytes` how long they may be as HTML. `title` is what it is called
    where it folds. One that is `searched` is looked through by the page's search.
    """

    title: str
    columns: tuple[str, ...]
    rows: Iterable[Sequence[Cell]]
    total: int
    most: int = 500
    most_bytes: int = 24_000
    searched: bool = True
    is_open: bool = True


@dataclass(frozen=True)
class Area:
    """A part of a treemap: what it is called, how many bytes it has, and the parts inside of it."""

    name: str
    size: int
    kind: str = ""
    parts: tuple[Area, ...] = ()


@dataclass(frozen=True)
class Treemap:
    """Areas in proportion to bytes."""

    areas: tuple[Area, ...]
    label: str


@dataclass(frozen=True)
class Site:
    """A statement that imports a module: in which module, and where."""

    module: str
    place: str


@dataclass(frozen=True)
class ModuleFacts:
    """A module: what is done with it, by which rule, why, its bytes, and who imports it.

    `is_standard` says that every Python brings it; `origin` is where it is from, as far as that is known.
    """

    name: str
    action: str
    rule: str
    because: str
    size: int = 0
    sites: tuple[Site, ...] = ()
    is_standard: bool = False


@dataclass(frozen=True)
class Modules:
    """All modules, listed package by package."""

    modules: tuple[ModuleFacts, ...]


@dataclass(frozen=True)
class Lines:
    """Text of several lines that keep their places, as a plan or a diff."""

    title: str
    lines: tuple[str, ...]
    is_diff: bool = False


Block = Facts | Table | Treemap | Modules | Lines | Mark


@dataclass(frozen=True)
class Section:
    """A part of a page. `name` is what a link calls it, `count` what stands beside its title."""

    name: str
    title: str
    blocks: tuple[Block, ...]
    count: str = ""
    note: str = ""


@dataclass(frozen=True)
class Page:
    """A whole page: what it is about, in a title and a line below it, and its sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]


_MOST_OPEN = 30


def section(name: str, title: str, *blocks: Block, count: str = "", note: str = "") -> Section | None:
    """Return a section of the blocks that have rows; None where there are none.

    >>> section("x", "X", table("none", ("name",), [])) is None
    True
    """
    kept = tuple(one for one in blocks if not (isinstance(one, Table) and not one.total))
    return Section(name, title, kept, count, note) if kept else None


def table(
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[Sequence[Cell]],
    *,
    most: int = 500,
    most_bytes: int = 24_000,
    is_open: bool | None = None,
    total: int | None = None,
) -> Table:
    """Return a table of rows, without columns that are empty in all of them.

    `total` is how many rows there are, where not all are given. Where it is not said, a table of more than
    thirty is folded at first.

    >>> table("files", ("name", "note"), [("a", ""), ("b", None)]).columns
    ('name',)
    """
    filled = [at for at in range(len(columns)) if any(row[at] not in ("", None) for row in rows)]
    if len(filled) < len(columns):
        columns, rows = tuple(columns[at] for at in filled), [[row[at] for at in filled] for row in rows]
    opened = len(rows) <= _MOST_OPEN if is_open is None else is_open
    return Table(
        title, columns, rows, len(rows) if total is None else total, most, most_bytes, is_open=opened
    )
