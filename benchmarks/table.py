"""Outcomes as Markdown: a table for each section, and what every goal came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

from benchmarks.row import Goal, Outcome
from benchmarks.timing import UNITS, ratio

# The order of the columns; others follow as they come.
COLUMNS = ("kellet", "packager", "torch", "autograd", "mygrad", "jax", "by hand", "numpy")


def tables(outcomes: Sequence[Outcome]) -> str:
    parts = []
    for section, group in groupby(outcomes, key=lambda outcome: outcome.row.section):
        rows = list(group)
        parts += [f"## {section}", _table(rows), *_remarks(rows)]
    return "\n\n".join(parts) + "\n"


def with_sections(page: str, outcomes: Sequence[Outcome], remark: str) -> str:
    """Return a page with the sections of these outcomes in the place of those that it has, or at its end.

    `remark` is what is said below the heading of each: the others were measured elsewhere, or before.
    """
    start, *sections = page.split("\n## ")
    by_name = {section.partition("\n")[0]: section.rstrip("\n") for section in sections}
    for name, group in groupby(outcomes, key=lambda outcome: outcome.row.section):
        heading, _, rest = tables(list(group)).removeprefix("## ").partition("\n")
        by_name[name] = f"{heading}\n\n{remark}\n{rest}".rstrip("\n")
    return "\n## ".join([start, *(f"{section}\n" for section in by_name.values())])


def line(outcome: Outcome) -> str:
    """One outcome as a line for the terminal."""
    times = "  ".join(f"{name} {_cell(outcome, name)}" for name in _in_order(outcome.seconds))
    goals = "; ".join(_verdict(outcome, goal) for goal in outcome.row.goals)
    return f"{outcome.row.title} [{outcome.row.unit}]\n    {times}\n    {goals}"


def _table(rows: Sequence[Outcome]) -> str:
    names = _in_order({name for outcome in rows for name in outcome.row.contenders})
    lines = [
        "| what | " + " | ".join(names) + " | goal, and what it came to |",
        "|---|" + "---:|" * len(names) + "---|",
    ]
    for outcome in rows:
        cells = " | ".join(_cell(outcome, name) for name in names)
        goals = "<br>".join(_verdict(outcome, goal) for goal in outcome.row.goals)
        lines.append(f"| {outcome.row.title}, {outcome.row.unit} | {cells} | {goals} |")
    return "\n".join(lines)


def _in_order(names: Iterable[str]) -> list[str]:
    names = list(names)
    return [name for name in COLUMNS if name in names] + sorted(set(names) - set(COLUMNS))


def _cell(outcome: Outcome, name: str) -> str:
    if name in outcome.absent:
        return "not here"
    if name not in outcome.seconds:
        return ""
    return _short(median(outcome.seconds[name]) * UNITS[outcome.row.unit])


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _verdict(outcome: Outcome, goal: Goal) -> str:
    found = _found(outcome, goal)
    if found is None:
        return f"{goal}: {goal.peer} is not here"
    came_to = f"{found:.2f} x" if goal.peer else _short(found)
    if found <= goal.limit:
        return f"{goal}: {came_to}, reached"
    return f"{goal}: {came_to}, missed by {found / goal.limit - 1:.0%}"


def _found(outcome: Outcome, goal: Goal) -> float | None:
    if not goal.peer:
        return median(outcome.seconds[outcome.row.subject]) * UNITS[outcome.row.unit]
    if goal.peer not in outcome.seconds:
        return None
    return ratio(outcome.seconds, outcome.row.subject, goal.peer)


def _remarks(rows: Sequence[Outcome]) -> list[str]:
    """Say why, under the table, for the rows that miss a goal."""
    missed = [
        outcome
        for outcome in rows
        if outcome.row.why and any((_found(outcome, goal) or 0) > goal.limit for goal in outcome.row.goals)
    ]
    return ["\n".join(f"- {outcome.row.title}: {outcome.row.why}" for outcome in missed)] if missed else []
