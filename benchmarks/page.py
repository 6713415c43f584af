"""The page of the table: what the last two runs came to, row by row, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.row import HOLDS_WITHIN, Row

Figures = Mapping[str, Mapping[str, Any]]
"""By title: `figure`, `ours` and `peer`, as an `Outcome` has them, and `date` where it was measured once."""

HEAD: Final = """# What a person waits for

Written by `make bench`: two runs, in each ours and the peer's in turns, one thread for arithmetic. A cell has
the ratio, and in brackets both medians; figures are good to a fifth, and what "holds" is met within that.
Rows with a date are measured once (`make bench-once`). {environment}.
"""
COLUMNS: Final = (
    "| what a person waits for | peer | goal | first run | second run | |\n|---|---|---|---:|---:|---|\n"
)


def page(rows: Sequence[Row], runs: Sequence[Figures], once: Figures, environment: str) -> str:
    """Return the page; the older run first."""
    lines = [_line(row, [once] if row.asked else runs) for row in rows]
    return f"{HEAD.format(environment=environment)}\n{COLUMNS}" + "".join(f"{line}\n" for line in lines)


def _line(row: Row, runs: Sequence[Figures]) -> str:
    found = [run[row.title] for run in runs if row.title in run]
    cells = [_cell(row, one) for one in found]
    if row.asked:
        cells = [f"{cell}, {one['date']}" for cell, one in zip(cells, found, strict=True)]
    cells += [""] * (2 - len(cells))
    columns = (row.title, row.peer, _goal(row), *cells, verdict(row, [one["figure"] for one in found]))
    return f"| {' | '.join(columns)} |".replace("|  ", "| ")


def told(row: Row, figures: Mapping[str, Any]) -> str:
    """Return one row of one run as a line for the terminal."""
    return f"{row.title}: {_cell(row, figures)}; {verdict(row, [figures['figure']])}"


def verdict(row: Row, figures: Sequence[float]) -> str:
    """Say whether the goal was reached, or by how much it was missed, and why."""
    if not figures:
        return "not measured"
    if row.goal is None:
        return ""
    limit = row.goal * (HOLDS_WITHIN if row.holds else 1)
    missed = [figure for figure in figures if figure > limit]
    if not missed:
        return "holds" if row.holds else "reached"
    worst = f"missed by {max(missed) / row.goal - 1:.0%}"
    which = worst if len(missed) == len(figures) else f"{worst} in one of {len(figures)}"
    return f"{which}: {row.why}" if row.why else which


def _goal(row: Row) -> str:
    if row.goal is None:
        return ""
    goal = f"{row.goal:g} {_unit(row) if row.is_absolute else 'x'}".rstrip()
    return f"holds {goal}" if row.holds else goal


def _cell(row: Row, one: Mapping[str, Any]) -> str:
    ours, peer = _short(one["ours"]), None if one["peer"] is None else _short(one["peer"])
    if row.is_absolute or (row.goal is None and peer is None):
        return f"{ours} {_unit(row)}".rstrip() + (f" (peer {peer})" if peer else "")
    return f"{one['figure']:.2f} x ({ours}, {peer} {row.unit})"


def _unit(row: Row) -> str:
    return "" if row.unit == "exponent" else row.unit


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
