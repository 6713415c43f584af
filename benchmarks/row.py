"""What a benchmark is made of: a row, its contenders, its goals."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Run = Callable[[], Any]


def is_small() -> bool:
    """Say whether rows are only started once, with the smallest inputs that take the same way."""
    return bool(os.environ.get("KELLET_BENCH_SMALL"))


@dataclass(frozen=True)
class Contender:
    """One side of a comparison, set up and ready to run.

    `run` is timed. Where the cost of an addition is asked for, `without` is the same work without
    it, timed beside it and subtracted. Where `times_itself`, `run` returns the seconds (a fresh
    process, say). `result` does the work once and returns arrays, which must be equal between
    contenders: a wrong answer is not worth timing.
    """

    run: Run
    without: Run | None = None
    times_itself: bool = False
    result: Callable[[], Sequence[Any]] | None = None


@dataclass(frozen=True)
class Goal:
    """At most `limit` times what `peer` takes, paired round by round; without a peer, in the row's unit.

    `list` says which list of goals it is of, the first or the second, which has a table of its own.
    """

    limit: float
    peer: str = ""
    list: int = 1

    def __str__(self) -> str:
        return f"{self.limit:g} x {self.peer}" if self.peer else f"{self.limit:g}"


@dataclass(frozen=True)
class Row:
    """One line of a table. A contender's set-up raises ImportError where its library is not installed.

    `subject` is the contender that the goals are about. `why` says, in a sentence or two, what
    stands in the way where a goal is missed. A row whose contenders take seconds is timed in
    `most_rounds` rounds at most.
    """

    section: str
    title: str
    unit: str
    contenders: Mapping[str, Callable[[], Contender]]
    goals: tuple[Goal, ...] = ()
    subject: str = "kellet"
    tolerance: float = 1e-3
    why: str = ""
    most_rounds: int = 1000


@dataclass(frozen=True)
class Outcome:
    """What was measured for a row: seconds of every round, by contender, and who was not there."""

    row: Row
    seconds: Mapping[str, list[float]]
    absent: tuple[str, ...]
