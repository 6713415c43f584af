"""Runs many graphs: `python -m tests.attacks.grammar GRAPHS SEED PROCESSES`, and prints what came of them,
also when Ctrl-C ends it.

`python -m tests.attacks.grammar holes [SEED] [NAME ...]` puts holes back, one at a time, and says how many
graphs from that number on each took.
"""

from __future__ import annotations

import collections
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

from packager._objects.records import KIND_NAMES

from . import vocabulary as words
from .holes import HOLES, TORCH_HOLES, graphs_until_found
from .run import Grammar, Report, begin, work

_CHUNK = 1024


def main(arguments: list[str]) -> int:
    """Run the grammar, or the holes; answer 1 where something was found, or a hole was not."""
    if arguments[:1] == ["holes"]:
        return _holes(arguments[1:])
    count, seed, processes = (*map(int, arguments), *(10_000, 0, os.cpu_count() or 1)[len(arguments) :])
    report, started = Report(), time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes, begin) as pool, suppress(KeyboardInterrupt):
        for done, part in enumerate(pool.imap_unordered(work, _chunks(seed, count)), 1):
            report.add(part)
            for number, found in part.found[:5]:
                _say(f"graph {number}: {found}")
            if done % 4 == 0:
                _say(_progress(report, count, time.monotonic() - started))
    _print(report, time.monotonic() - started, processes, seed)
    return 1 if report.found else 0


def _progress(report: Report, count: int, seconds: float) -> str:
    done = sum(report.outcomes.values())
    left = seconds / done * (count - done) if done else 0
    return (
        f"{done} of {count} graphs, {seconds:.0f} s, about {left:.0f} s more; {len(report.compositions)} "
        f"distinct compositions, found: {len(report.found)}"
    )


def _chunks(seed: int, count: int) -> Iterator[range]:
    for start in range(seed, seed + count, _CHUNK):
        yield range(start, min(start + _CHUNK, seed + count))


def _print(report: Report, seconds: float, processes: int, seed: int) -> None:
    total = max(1, sum(report.outcomes.values()))
    _say(
        f"{total} graphs from number {seed} in {seconds:.0f} s, {total / seconds:.0f} a second by "
        f"{processes} processes; {len(report.compositions)} distinct compositions; in what was built "
        f"{len(report.edges)} distinct pairs of a part and what it holds"
    )
    for outcome, number in report.outcomes.most_common():
        _say(f"{number:9} {100 * number / total:5.1f} %  {outcome}")
    for title, wanted in _wanted().items():
        reached = [name for name in wanted if report.reached[name]]
        never = sorted(name for name in wanted if not report.accepted[name])
        _say(
            f"{title}: {len(reached)} of {len(wanted)} reached, {len(wanted) - len(never)} in what was built"
        )
        if never:
            _say(f"    never in what was built: {' '.join(name.removeprefix('kind ') for name in never)}")
    kinds = collections.Counter(text.partition(", called by")[0] for _, text in report.found)
    _say(f"found: {len(report.found)} in {len({number for number, _ in report.found})} graphs")
    for text, number in kinds.most_common(40):
        _say(f"{number:9}  {text}")


def _wanted() -> dict[str, list[str]]:
    """Every kind of record, codec, listed name and class that can be created, as they are counted."""
    classes = {
        pair for table in (words.MODULES, words.OPTIMIZERS) for pairs in table.values() for pair in pairs
    }
    classes.update(words.SCHEDULERS)
    made_by = {f"SHAPE {name}" for name in (*words.MODULES, "kellet.hook")}
    return {
        "kinds of records": [f"kind {name}" for name in KIND_NAMES.values()],
        "codecs": [
            f"SHAPE {name}" if f"SHAPE {name}" in made_by else f"CODEC {name}" for name in words.CODECS
        ],
        "listed names": [f"{module}:{name}" for module, name in sorted(words.NAMES - classes)],
        "classes that can be created": [f"{module}:{name}" for module, name in sorted(classes)],
    }


def _holes(arguments: list[str]) -> int:
    first, *names = arguments if arguments[:1] and arguments[0].isdecimal() else ["0", *arguments]
    there = {**HOLES, **({} if words.torch is None else TORCH_HOLES)}
    grammar, missed = Grammar(), 0
    for name in names or there:
        started = time.monotonic()
        count, text = graphs_until_found(grammar, name, 100_000, int(first))
        missed += not text
        _say(f"{name:42} {count:7} graphs  {time.monotonic() - started:5.0f} s  {text[:150] or 'NOT FOUND'}")
    _say(f"{len(names or there) - missed} of {len(names or there)} found from number {first}")
    return 1 if missed else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
