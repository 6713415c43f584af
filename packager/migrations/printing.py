"""A plan as a table for people: step, old key, new key, shape before and after, or why not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .applying import Row
from .transforms import Header

if TYPE_CHECKING:
    from .chains import MigrationPlan

__all__ = ["plan_table"]

_HEADINGS = ("step", "old key", "new key", "shape", "becomes")


def plan_table(plan: MigrationPlan) -> str:
    """The plan in columns, and a last line that counts."""
    rows = [cells for row in plan.rows for cells in _lines(row)]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    lines = [_line(cells, widths) for cells in (_HEADINGS, *rows)]
    changed = sum(not row.skipped for row in plan.rows)
    skipped = len(plan.rows) - changed
    return "\n".join([*lines, f"{changed} changes, {skipped} skipped, {len(plan.values)} keys afterwards"])


def _lines(row: Row) -> list[tuple[str, ...]]:
    """One line per key: a split has several new ones, a merge several old ones."""
    if row.skipped:
        return [(row.step, ", ".join(row.old), f"skipped: {row.skipped}", "", "")]
    height = max(len(row.old), len(row.new), 1)
    columns = (
        _padded([row.step], height),
        _padded(row.old, height),
        _padded(row.new, height),
        _padded(map(_shape, row.before), height),
        _padded(map(_shape, row.after), height),
    )
    return list(zip(*columns, strict=True))


def _padded(cells: Iterable[str], height: int) -> list[str]:
    found = list(cells)
    return found + [""] * (height - len(found))


def _shape(header: Header | None) -> str:
    return "-" if header is None else str(header)


def _line(cells: Iterable[str], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
