"""Past runs in one file, and what changed between the last two of each row by more than a fifth.

`make bench` adds a line of JSON to `benchmarks/history.jsonl`; `make bench-compare` reads it. Ratios to a
peer are compared where a row has one, since a machine that is slower today is slower for both; else figures.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.row import Outcome, Row
from benchmarks.timing import UNITS, ratio

FILE: Final = Path(__file__).parent / "history.jsonl"
LIMIT: Final = 0.2


@dataclass(frozen=True)
class Change:
    """A figure of one row, in its last run but one and in its last; without a peer, in the row's unit."""

    row: str
    peer: str
    before: float
    after: float
    dates: tuple[str, str]

    @property
    def share(self) -> float:
        """Return how much more it is, as a share: 0.5 for half as much again, -0.5 for half of it."""
        return self.after / self.before - 1

    def __str__(self) -> str:
        what = f"{self.row}, beside {self.peer}" if self.peer else self.row
        before, after = (
            f"{value:.3g} ({day})" for value, day in zip((self.before, self.after), self.dates, strict=True)
        )
        return f"{self.share:+.0%}  {what}: {before}, {after}"


def add_run(outcomes: Sequence[Outcome], environment: str, file: Path = FILE) -> None:
    """Append one run to the history: the environment says Python, libraries and machine."""
    run = {
        "date": datetime.now(UTC).date().isoformat(),
        "environment": environment,
        "fast": find_spec("isal") is not None,
        "rows": {name_of(outcome.row): _figures(outcome) for outcome in outcomes},
    }
    with file.open("a", encoding="utf-8") as history:
        history.write(json.dumps(run, sort_keys=True) + "\n")


def changes(runs: Iterable[Mapping[str, Any]], limit: float = LIMIT) -> list[Change]:
    """Return what changed by more than `limit` between the last two runs of each row, the worst first.

    Runs of other environments (versions of libraries, processors) are compared with each other alone.
    """
    seen: dict[tuple[str, str, str], tuple[float, str]] = {}
    last: dict[tuple[str, str, str], Change] = {}
    for run in runs:
        for row, figures in run["rows"].items():
            for peer, figure in figures.items():
                if not peer and len(figures) > 1:  # all is slower on a slow day; the ratio says more
                    continue
                key = (run["environment"], row, peer)
                if key in seen and seen[key][0] > 0:
                    before, day = seen[key]
                    last[key] = Change(row, peer, before, figure, (day, run["date"]))
                seen[key] = (figure, run["date"])
    found = [change for change in last.values() if abs(change.share) > limit]
    return sorted(found, key=lambda change: -change.share)


def read_runs(file: Path = FILE) -> list[dict[str, Any]]:
    """Return all runs, the oldest first; none where nothing was recorded."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def name_of(row: Row) -> str:
    """Return what a row is called in the history."""
    return f"{row.section}: {row.title}, {row.unit}"


def _figures(outcome: Outcome) -> dict[str, float]:
    """Return ratios by peer; under "" the figure itself, where nothing is beside it or a goal is about it."""
    row = outcome.row
    peers = [name for name in outcome.seconds if name != row.subject]
    goals = [goal.peer for goal in row.goals if goal.peer in peers]
    own = not peers or any(not goal.peer for goal in row.goals)
    found = {"": round(median(outcome.seconds[row.subject]) * UNITS[row.unit], 6)} if own else {}
    return found | {peer: round(ratio(outcome.seconds, row.subject, peer), 4) for peer in goals or peers[:1]}


def main() -> int:
    """Print what changed; return 1 where something got slower or larger."""
    runs = read_runs()
    found = changes(runs)
    print(f"{len(runs)} runs; {len(found)} figures changed by more than {LIMIT:.0%}")
    for change in found:
        print(f"    {change}")
    return int(any(change.share > 0 for change in found))


if __name__ == "__main__":
    sys.exit(main())
