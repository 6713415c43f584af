"""The second list of goals, row by row: what the last two runs came to, out of `benchmarks/history.jsonl`.

`python -m benchmarks --goals --record` makes a run; `python -m benchmarks.goals --write docs/benchmarks.md`
puts the table on top of the page. Runs of other Pythons, libraries or machines have tables of their own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from benchmarks import history
from benchmarks.row import Goal, Row

HEADING: Final = "The second list of goals, row by row"
ASKED: Final = 2
_SHOWN: Final = 2  # runs
_PREFACE: Final = """Written by `python -m benchmarks.goals` out of `benchmarks/history.jsonl`: the last two
runs of each row. With a peer a figure is a ratio, else it is in the unit of the row. Each row stands further
below, in the section that is named above it, with what its peers took."""


@dataclass(frozen=True)
class Found:
    """What a goal came to in the last runs of one environment, the older first; none without a run."""

    row: Row
    goal: Goal
    figures: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """Whether all of these runs reached the goal, none of them, or some; with the worst of them."""
        if not self.figures:
            return "not measured"
        missed = [figure for figure in self.figures if figure > self.goal.limit]
        if not missed:
            return "reached"
        by = f"missed by {max(missed) / self.goal.limit - 1:.0%}"
        return by if len(missed) == len(self.figures) else f"{by} in one of {len(self.figures)}"


def is_asked(row: Row) -> bool:
    """Say whether a row has a goal of the second list."""
    return any(goal.list == ASKED for goal in row.goals)


def found_in(runs: Iterable[Mapping[str, Any]], rows: Sequence[Row]) -> dict[str, list[Found]]:
    """Return, by environment, what each goal of the second list came to in its last two runs."""
    by_environment: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        by_environment.setdefault(run["environment"], []).append(run["rows"])
    asked = [(row, goal) for row in rows for goal in row.goals if goal.list == ASKED]
    return {
        environment: [Found(row, goal, _figures(measured, row, goal)) for row, goal in asked]
        for environment, measured in by_environment.items()
    }


def _figures(measured: Sequence[Mapping[str, Any]], row: Row, goal: Goal) -> tuple[float, ...]:
    of_row = [rows[history.name_of(row)] for rows in measured if history.name_of(row) in rows]
    return tuple([one[goal.peer] for one in of_row if goal.peer in one][-_SHOWN:])


def section(runs: Iterable[Mapping[str, Any]], rows: Sequence[Row]) -> str:
    """Return the section of the page: a table for each environment in which any of these rows was timed."""
    lines = [
        f"## {HEADING}",
        _PREFACE,
    ]
    for environment, found in found_in(runs, rows).items():
        if any(one.figures for one in found):
            lines += [f"### {environment}", _table(found)]
    if len(lines) == 2:
        lines.append("No run has been recorded.")
    return "\n\n".join(lines) + "\n"


def _table(found: Sequence[Found]) -> str:
    lines = ["| | goal | first run | second run | row |", "|---|---:|---:|---:|---|"]
    for name, group in groupby(found, key=lambda one: one.row.section):
        lines.append(f"| | | | | *{name}* |")
        for one in group:
            shown = [f"{figure:.3g}" for figure in one.figures] + ["-"] * (_SHOWN - len(one.figures))
            goal = str(one.goal) if one.goal.peer else f"{one.goal} {one.row.unit}"
            lines.append(f"| {one.verdict} | {goal} | {' | '.join(shown)} | {one.row.title} |")
    return "\n".join(lines)


def with_section(page: str, made: str) -> str:
    """Return a page with this section first, in the place of the one that it has."""
    start, *sections = page.split("\n## ")
    others = [one for one in sections if one.partition("\n")[0] != HEADING]
    return "\n## ".join([start, made.removeprefix("## "), *others])


def main(arguments: Sequence[str]) -> int:
    """Print the tables, or write them to a page."""
    from benchmarks.__main__ import every_row  # which imports this

    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description="Say what goals came to.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables on top of PAGE")
    page = parser.parse_args(arguments).write
    made = section(history.read_runs(), every_row())
    if page is None:
        print(made)
    else:
        page.write_text(with_section(page.read_text("utf-8"), made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
