"""The command: choose rows, measure them, print them, write the page."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from benchmarks import (
    archives,
    attention,
    bert,
    checkpoints,
    cnn,
    elementary,
    goals,
    history,
    imports,
    loading_code,
    memory,
    migrations,
    mlp,
    modules,
    plain_objects,
    proving,
    public_calls,
    public_loads,
    reading_ahead,
    several_processes,
    state_dicts,
    table,
    tracing,
    walking,
)
from benchmarks.row import Outcome, Row
from benchmarks.timing import measure

FAMILIES = (
    public_calls,
    public_loads,
    archives,
    elementary,
    mlp,
    attention,
    cnn,
    modules,
    plain_objects,
    proving,
    tracing,
    state_dicts,
    bert,
    migrations,
    checkpoints,
    memory,
    reading_ahead,
    walking,
    imports,
    loading_code,
    several_processes,
)
PEERS = ("numpy", "torch", "safetensors", "isal", "autograd", "mygrad", "jax", "mpi4py")

_MANY, _FEW = 25, 9  # rounds

PAGE = """# Benchmarks

Written by `make bench`. {environment}.

Every row runs the same work for each contender, in turns and in one process, whose arithmetic has
one thread: {rounds} rounds, or as few as one where a round takes many seconds, each of which times
every contender once. Times are medians. A ratio is taken within a round, and the median of those is
what stands beside a goal; it is good to about 20 %, where files are written to 40 %. Results are
compared before anything is timed. The goals were set before the code was written. "By hand" is the
least NumPy code that does the work, derivatives written out. [How speed is
compared](design/measuring.md) says more.

![Processor time of saving, loading and opening a state dict, against its size: straight lines on logarithmic
axes](growth.svg)

The picture is drawn from `benchmarks/growth.json` by `python -m benchmarks.growth`; the figures, and those
of code and migrations, are [a table](design/measuring.md).

"""


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    if options.smoke:
        os.environ["KELLET_BENCH_SMALL"] = "1"
    every = every_row()
    rows = [row for row in every if _wanted(row, options)]
    if options.smoke:
        rows = one_of_a_kind(rows)
    if not rows:
        print(f"No row whose section or title holds {options.only!r}.", file=sys.stderr)
        return 2
    cut = {row.section for row in rows} & {row.section for row in every if not _wanted(row, options)}
    if options.write and cut:
        print(
            f"--write takes whole sections; {options.only or '--goals'!r} is in a part of: "
            f"{', '.join(sorted(cut))}.",
            file=sys.stderr,
        )
        return 2
    rounds, sample_seconds = (
        (1, 0.0) if options.smoke else (options.rounds or (_FEW if options.goals else _MANY), 0.02)
    )
    print(_environment())
    started = perf_counter()
    outcomes = [_measured(row, rounds, sample_seconds, options.smoke) for row in rows]
    print(f"{len(outcomes)} rows in {perf_counter() - started:.0f} s")
    if options.write or options.record:
        history.add_run(outcomes, _environment())
        print(f"Recorded in {history.FILE.name}; `make bench-compare` says what changed")
    if options.write:
        options.write.write_text(_page(options, outcomes, rounds), encoding="utf-8")
        print(f"Written to {options.write}")
    return 0


def _page(options: argparse.Namespace, outcomes: Sequence[Outcome], rounds: int) -> str:
    """The whole page; or the one that is there, with the sections that were measured now."""
    if options.only and options.write.exists():
        now = f"Measured by itself, in {rounds} rounds at most: {_environment()}."
        return table.with_sections(options.write.read_text(encoding="utf-8"), outcomes, now)
    start = PAGE.format(environment=_environment(), rounds=rounds)
    return start + goals.section(history.read_runs(), every_row()) + "\n" + table.tables(outcomes)


def every_row() -> list[Row]:
    """Return the rows of all families, in the order of the page."""
    return [row for family in FAMILIES for row in family.rows()]


def one_of_a_kind(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have a subject, or ask a question, which no row before has in its section.

    After "1 MB: save", "1 MB: open" and "2 MB: save", "2 MB: open" starts nothing new.
    """
    seen: set[tuple[str, ...]] = set()
    kept = []
    for row in rows:
        subject, colon, question = row.title.rpartition(": ")
        kinds = {(row.section, subject), (row.section, question)} if colon else {(row.title,), (row.section,)}
        if not kinds <= seen:
            kept.append(row)
        seen |= kinds
    return kept


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare kellet with its peers."
    )
    parser.add_argument(
        "--only", default="", metavar="WORD", help="only rows whose section or title holds WORD"
    )
    parser.add_argument(
        "--goals", action="store_true", help="only rows with a goal of the second list, in fewer rounds"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=0,
        help=f"how often each contender is timed ({_MANY}; with --goals {_FEW})",
    )
    parser.add_argument("--record", action="store_true", help="add the run to the history")
    parser.add_argument(
        "--smoke", action="store_true", help="run one row of each kind once, to see that it starts"
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help="write the tables to PAGE as Markdown; with --only, those of its sections alone",
    )
    return parser


def _wanted(row: Row, options: argparse.Namespace) -> bool:
    is_named = options.only.lower() in f"{row.section} {row.title}".lower()
    return is_named and (goals.is_asked(row) or not options.goals)


def _measured(row: Row, rounds: int, sample_seconds: float, smoke: bool) -> Outcome:
    outcome = measure(row, min(rounds, row.most_rounds), sample_seconds)
    if smoke:
        there = ", ".join(outcome.seconds)
        absent = f" (not here: {', '.join(outcome.absent)})" if outcome.absent else ""
        print(f"{row.title}: {there}{absent}", flush=True)
    else:
        print(table.line(outcome), flush=True)
    return outcome


def _environment() -> str:
    parts = [f"Python {platform.python_version()}"]
    for name in PEERS:
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"no {name}")
    return f"{', '.join(parts)}; {platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
