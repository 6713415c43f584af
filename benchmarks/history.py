"""What earlier runs found: one line of JSON for each row of a run, and what has changed by more than a fifth.

Ratios to peers are kept beside times, since they can be compared between machines; where a row has a goal
with a peer, its ratio is what is compared, else its time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.row import Outcome
from benchmarks.timing import UNITS, ratio

FILE = Path(__file__).with_name("history.jsonl")
MOST = 0.2
"""What a figure may change by from one run to the next without a word."""


def recorded(outcomes: Iterable[Outcome], run: str) -> Iterator[dict[str, Any]]:
    """Yield what is kept of each outcome; `run` says when and with what it was measured."""
    for outcome in outcomes:
        row = outcome.row
        peers = sorted({goal.peer for goal in row.goals if goal.peer in outcome.seconds})
        yield {
            "run": run,
            "row": f"{row.section}: {row.title}",
            "unit": row.unit,
            "found": round(median(outcome.seconds[row.subject]) * UNITS[row.unit], 4),
            "ratios": {peer: round(ratio(outcome.seconds, row.subject, peer), 4) for peer in peers},
        }


def append(outcomes: Iterable[Outcome], run: str, file: Path = FILE) -> None:
    """Write what was found behind what is known."""
    with open(file, "a", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(one, sort_keys=True)}\n" for one in recorded(outcomes, run))


def known(file: Path = FILE) -> list[dict[str, Any]]:
    """Return what is kept, the oldest first; nothing where there is no file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def changes(records: Sequence[dict[str, Any]]) -> list[str]:
    """Say of each row how its last figures differ from those before, where they do by more than a fifth.

    >>> before = {"row": "save", "run": "1", "unit": "ms", "found": 10.0, "ratios": {"safetensors": 1.0}}
    >>> changes([before, {**before, "run": "2", "ratios": {"safetensors": 1.3}}])
    ['save: 1.3 x safetensors, 1 before: 30% more']
    """
    said = []
    by_row: dict[str, list[dict[str, Any]]] = {}
    for one in records:
        by_row.setdefault(one["row"], []).append(one)
    for name, runs in by_row.items():
        if len(runs) < 2:
            continue
        before, now = runs[-2:]
        pairs = {f" x {peer}": (before["ratios"].get(peer), found) for peer, found in now["ratios"].items()}
        for unit, (old, new) in (pairs or {f" {now['unit']}": (before["found"], now["found"])}).items():
            if not old:
                continue
            change = new / old - 1
            if abs(change) > MOST:
                more = "more" if change > 0 else "less"
                said.append(f"{name}: {new:g}{unit}, {old:g} before: {abs(change):.0%} {more}")
    return said
