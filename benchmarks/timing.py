"""Time contenders in turns, so that what disturbs the machine disturbs them alike.

One round times every contender once, in an order that moves on from round to round. Ratios are
taken within a round and the median of the rounds is reported: two medians of a noisy machine,
divided, would say less. A sample is as many repetitions as fill a set time. The garbage collector
stays on, as in use, but what was there before is frozen, so nobody pays for another's heap.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.row import Contender, Outcome, Row, Run

# What is not time is counted in MB, or in shares, to begin with.
UNITS = {"us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1.0, "%": 1e2}


def measure(row: Row, rounds: int, sample_seconds: float) -> Outcome:
    """Set up every contender of `row`, compare their results, and time them in `rounds` rounds.

    Raises ValueError when contenders do not compute the same.
    """
    ready, absent = _set_up(row)
    _compare_results(row, ready)
    gc.collect()
    gc.freeze()
    try:
        loops = {name: _loops(contender, sample_seconds) for name, contender in ready.items()}
        seconds: dict[str, list[float]] = {name: [] for name in ready}
        names = list(ready)
        for turn in range(rounds):
            start = turn % len(names)
            for name in [*names[start:], *names[:start]]:
                seconds[name].append(_sample(ready[name], loops[name]))
    finally:
        gc.unfreeze()
    return Outcome(row, seconds, absent)


def ratio(seconds: Mapping[str, list[float]], name: str, peer: str) -> float:
    """The median, over the rounds, of what `name` took divided by what `peer` took."""
    return median(ours / theirs for ours, theirs in zip(seconds[name], seconds[peer], strict=True))


def _set_up(row: Row) -> tuple[dict[str, Contender], tuple[str, ...]]:
    ready, absent = {}, []
    for name, set_up in row.contenders.items():
        try:
            ready[name] = set_up()
        except ImportError:
            if name == row.subject:
                raise
            absent.append(name)
    return ready, tuple(absent)


def _compare_results(row: Row, ready: Mapping[str, Contender]) -> None:
    results = {name: [np.asarray(a) for a in c.result()] for name, c in ready.items() if c.result}
    expected = results.pop(row.subject, None)
    for name, arrays in results.items():
        if expected is None:
            break
        for n, (ours, theirs) in enumerate(zip(expected, arrays, strict=True)):
            if not np.allclose(ours, theirs, rtol=row.tolerance, atol=row.tolerance):
                apart = float(np.abs(ours - theirs).max())
                raise ValueError(f"{row.title}: result {n} of {row.subject} and {name} differ by {apart:.3g}")


def _loops(contender: Contender, sample_seconds: float) -> int:
    """How many repetitions fill a sample; the first few, which fill caches, do not count."""
    if contender.times_itself or not sample_seconds:
        return 1
    spent, loops = 0.0, 1
    while spent < sample_seconds / 5:
        loops *= 2
        spent = _time(contender.run, loops)
    return max(1, round(loops * sample_seconds / spent))


def _sample(contender: Contender, loops: int) -> float:
    if contender.times_itself:
        return float(contender.run())
    spent = _time(contender.run, loops)
    if contender.without is not None:
        spent -= _time(contender.without, loops)
    return spent / loops


def _time(run: Run, loops: int) -> float:
    repetitions = range(loops)
    start = perf_counter()
    for _ in repetitions:
        run()
    return perf_counter() - start
