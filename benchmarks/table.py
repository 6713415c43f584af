"""Outcomes as Markdown: a narrow table for each question, what every goal came to first.

Four columns, so that a page can be read on a phone; contenders that a row lacks take no room.
"""

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
        parts.append(f"## {section}")
        for subject, of_subject in groupby(rows, key=_subject):
            parts += [f"### {subject}"] if subject else []
            parts.append(_table(list(of_subject)))
        parts += _remarks(rows)
    return "\n\n".join(parts) + "\n"


def _subject(outcome: Outcome) -> str:
    """What stands before the colon of a title: "399 MB in 300 tensors: open"."""
    return outcome.row.title.rpartition(": ")[0]


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
    goals = "; ".join(_verdict(outcome, goal) for goal in outcome.row.goals).replace("**", "")
    return f"{outcome.row.title} [{outcome.row.unit}]\n    {times}\n    {goals}"


def _table(rows: Sequence[Outcome]) -> str:
    lines = [f"| came to | what | {_ours(rows)} | beside it |", "|---|---|---:|---|"]
    for outcome in rows:
        row = outcome.row
        beside = ", ".join(
            f"{name} {_cell(outcome, name)}" for name in _in_order(row.contenders) if name != row.subject
        )
        what = f"{row.title.rpartition(': ')[2]}, {row.unit}"
        lines.append(f"| {_came_to(outcome)} | {what} | {_cell(outcome, row.subject)} | {beside} |")
    return "\n".join(lines)


def _ours(rows: Sequence[Outcome]) -> str:
    subjects = {outcome.row.subject for outcome in rows}
    return subjects.pop() if len(subjects) == 1 else "ours"


def _came_to(outcome: Outcome) -> str:
    """Every goal; where there is none, the ratio to the first that is beside it."""
    if outcome.row.goals:
        return "<br>".join(_verdict(outcome, goal) for goal in outcome.row.goals)
    peers = [name for name in _in_order(outcome.seconds) if name != outcome.row.subject]
    return f"{ratio(outcome.seconds, outcome.row.subject, peers[0]):.2f} x {peers[0]}" if peers else ""


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
        return f"{goal.peer} is not here; goal {goal.limit:g}"
    came_to = f"**{found:.2f} x** {goal.peer}" if goal.peer else f"**{_short(found)}**"
    if found <= goal.limit:
        return f"{came_to}; goal {goal.limit:g}, reached"
    return f"{came_to}; goal {goal.limit:g}, missed by {found / goal.limit - 1:.0%}"


def _found(outcome: Outcome, goal: Goal) -> float | None:
    if not goal.peer:
        return median(outcome.seconds[outcome.row.subject]) * UNITS[outcome.row.unit]
    if goal.peer not in outcome.seconds:
        return None
    return ratio(outcome.seconds, outcome.row.subject, goal.peer)


def _remarks(rows: Sequence[Outcome]) -> list[str]:
    """Say why, under the tables, for the rows that miss a goal; once for all that have one reason."""
    late = [
        outcome
        for outcome in rows
        if outcome.row.why and any((_found(outcome, goal) or 0) > goal.limit for goal in outcome.row.goals)
    ]
    reasons: dict[str, set[str]] = {}
    for outcome in late:
        reasons.setdefault(_last_part(outcome), set()).add(outcome.row.why)
    missed: dict[str, list[str]] = {}
    for outcome in late:
        part = _last_part(outcome)
        title = part if len(reasons[part]) == 1 else outcome.row.title  # which of the cases it is
        titles = missed.setdefault(outcome.row.why, [])
        titles.extend({title} - {*titles})
    return ["\n".join(f"- {'; '.join(titles)}: {why}" for why, titles in missed.items())] if missed else []


def _last_part(outcome: Outcome) -> str:
    return outcome.row.title.rpartition(": ")[2]
