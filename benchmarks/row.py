"""What the table is made of: a row, what it runs, and how it is measured.

A round runs ours and the peer's, in turns; a ratio is taken within a round, and the median of the rounds is
reported, so that what disturbs the machine disturbs both. A sample is as many repetitions as fill a fiftieth
of a second. The collector stays on, and what was alive before is frozen: nobody pays for another's heap.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, Final

import numpy as np

UNITS: Final = {"us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1.0, "exponent": 1.0}
SAMPLE: Final = 0.02  # seconds
HOLDS_WITHIN: Final = 1.2


def is_small() -> bool:
    """Say whether rows are only started once, with the smallest inputs that take the same way."""
    return bool(os.environ.get("KELLET_BENCH_SMALL"))


@dataclass(frozen=True)
class Work:
    """One side of a row, set up and ready to run.

    `run` is timed, unless it returns a float: seconds of a fresh process, or megabytes. Where the
    cost of an addition is asked for, `without` is the same work without it, timed beside it and subtracted.
    `result` does the work once and returns arrays, which must be equal on both sides.
    """

    run: Callable[[], Any]
    without: Callable[[], Any] | None = None
    result: Callable[[], Sequence[Any]] | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table. A set-up raises ImportError where its library is not installed.

    The goal is a ratio to the peer, or a figure in `unit` where `is_absolute`; one that `holds` is what was
    measured before, and is met within a fifth, as far as figures are good. `why` says what stands in the way.
    Rows `asked` for are measured once, and stated with the date.
    """

    title: str
    ours: Callable[[], Work]
    goal: float | None = None
    peer: str = ""
    beside: Callable[[], Work] | None = None
    unit: str = "ms"
    is_absolute: bool = False
    holds: bool = False
    why: str = ""
    rounds: int = 9
    asked: bool = False


@dataclass(frozen=True)
class Outcome:
    """What was measured: the figure that the goal is about, and the medians of both sides in the unit."""

    figure: float
    ours: float
    peer: float | None


def measure(row: Row, most_rounds: int) -> Outcome:
    """Set both sides up, compare their results, and time them in turns.

    Raises ImportError where our side needs a library that is not here, ValueError where results differ.
    """
    sides = [row.ours()]
    if row.beside is not None:
        try:
            sides.append(row.beside())
        except ImportError:
            if not row.is_absolute:
                raise
    _compare(row, sides)
    gc.collect()
    gc.freeze()
    try:
        turns = min(row.rounds, most_rounds)
        loops = [_loops(side) if turns > 1 else 1 for side in sides]
        rounds: list[list[float]] = []
        for turn in range(turns):
            found = dict.fromkeys(range(len(sides)), 0.0)
            for at in sorted(found, reverse=bool(turn % 2)):
                found[at] = _sample(sides[at], loops[at])
            rounds.append(list(found.values()))
    finally:
        gc.unfreeze()
    ours, *peer = (median(side) * UNITS[row.unit] for side in zip(*rounds, strict=True))
    if row.is_absolute or not peer:
        return Outcome(ours, ours, peer[0] if peer else None)
    return Outcome(median(one[0] / one[1] for one in rounds), ours, peer[0])


def _compare(row: Row, sides: Sequence[Work]) -> None:
    results = [[np.asarray(one) for one in side.result()] for side in sides if side.result is not None]
    if len(results) < 2:
        return
    for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
        if not np.allclose(ours, theirs, rtol=1e-3, atol=1e-3):
            raise ValueError(f"{row.title}: result {number} is not that of {row.peer}")


def _loops(side: Work) -> int:
    """Return how many repetitions fill a sample; the first few, which fill caches, do not count."""
    spent, loops = 0.0, 1
    while spent < SAMPLE / 5:
        started = perf_counter()
        for _ in range(loops):
            if isinstance(side.run(), float):  # it says itself what it took
                return 1
        spent = perf_counter() - started
        loops *= 2
    return max(1, round(loops / 2 * SAMPLE / spent))


def _sample(side: Work, loops: int) -> float:
    if loops == 1:
        started = perf_counter()
        figure = side.run()
        spent = perf_counter() - started
        if isinstance(figure, float):
            return figure
    else:
        spent = _time(side.run, loops)
    if side.without is not None:
        spent -= _time(side.without, loops)
    return spent / loops


def _time(run: Callable[[], Any], loops: int) -> float:
    started = perf_counter()
    for _ in range(loops):
        run()
    return perf_counter() - started
