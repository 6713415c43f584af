"""Sections and tables as every page makes them: without what is empty, and folded where it is long."""

from __future__ import annotations

from collections.abc import Sequence

from .records import Block, Cell, Section, Table

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
) -> Table:
    """Return a table of rows; where it is not said, one of more than thirty is folded at first."""
    opened = len(rows) <= _MOST_OPEN if is_open is None else is_open
    return Table(title, columns, rows, len(rows), most, most_bytes, is_open=opened)
