"""The fuzzer for long runs: `python tests/attacks/fuzz.py archives 1000000 --seed 7 --jobs 2`.

Each input follows from the seed and its number, so that one can be run again, and a run go on (`--first`).
Printed are the counts of each outcome, the slowest inputs, and the largest peak of memory of a process; where
a process ends, the inputs that were tried at that moment. What is fuzzed is in `fuzz_archives`,
`fuzz_checkpoints` and `fuzz_libraries`; each has a `one_input(data)` that returns the outcome in a few words,
and raises what must not come out.

With atheris installed, `fuzz.py atheris archives -runs=1000000 -max_len=64 CORPUS` lets it choose the
inputs by the lines that they reach; the options are libFuzzer's.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from heapq import nlargest
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

TARGETS = ("archives", "checkpoints", "libraries")
SLOWEST = 3


@dataclass
class Found:
    """What a run saw: outcomes, the slowest inputs in seconds, and the peak of memory in bytes."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    before: int = 0
    peak: int = 0

    def add(self, other: Found) -> None:
        """Take up what another part of the run saw."""
        self.outcomes += other.outcomes
        self.slowest = nlargest(SLOWEST, self.slowest + other.slowest)
        self.before, self.peak = max(self.before, other.before), max(self.peak, other.peak)


def input_of(seed: int, number: int) -> bytes:
    """Return the input of a number: which file, which layer of it, and one to five edits."""
    chooser = random.Random(f"{seed}:{number}")
    return chooser.randbytes(2 + 6 * chooser.choice((1, 1, 1, 2, 3, 5)))


def run(name: str, seed: int, numbers: Sequence[int], seconds: float, note: Path) -> Found:
    """Run a target on the inputs of these numbers, for so many seconds at most; `note` says where it is."""
    target = import_module(f"fuzz_{name}")
    getattr(target, "begin", lambda: None)()
    for data in (b"\0\0", b"\1\1"):
        target.one_input(data)  # what is imported the first time is no cost of an input
    found = Found(before=_peak())
    until = time.monotonic() + seconds
    noting = os.open(note, os.O_WRONLY | os.O_CREAT)
    for number in numbers:
        data = input_of(seed, number)
        os.pwrite(noting, number.to_bytes(8, "little"), 0)
        started = time.perf_counter()
        try:
            outcome = target.one_input(data)
        except BaseException:
            sys.stderr.write(f"input {number} of seed {seed}: one_input(bytes.fromhex({data.hex()!r}))\n")
            raise
        took = time.perf_counter() - started
        found.outcomes[outcome] += 1
        if len(found.slowest) < SLOWEST or took > found.slowest[-1][0]:
            found.slowest = nlargest(SLOWEST, [*found.slowest, (took, data.hex())])
        if time.monotonic() > until:
            break
    os.close(noting)
    found.peak = _peak()
    return found


def ended(seed: int, folder: Path) -> list[str]:
    """Return how to run again each input that a process was at when one of them ended."""
    numbers = sorted(int.from_bytes(note.read_bytes(), "little") for note in folder.iterdir())
    return [
        f"input {one} of seed {seed}: one_input(bytes.fromhex({input_of(seed, one).hex()!r}))"
        for one in numbers
    ]


def _peak() -> int:
    """The largest amount of memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_side_by_side(options: argparse.Namespace) -> Found:
    """Run a target in processes, each on every n-th number."""
    found = Found()
    started, seconds = time.monotonic(), options.seconds or float("inf")
    context = get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(options.jobs, mp_context=context) as pool,
    ):
        end = options.first + options.count
        parts = [range(options.first + job, end, options.jobs) for job in range(options.jobs)]
        waiting = [
            pool.submit(run, options.target, options.seed, part, seconds, Path(folder, str(job)))
            for job, part in enumerate(parts)
        ]
        try:
            for part in waiting:
                found.add(part.result())
        except BrokenProcessPool:
            print(
                "A process has ended. Tried at that moment:",
                *ended(options.seed, Path(folder)),
                sep="\n",
                file=sys.stderr,
            )
            raise
    total = found.outcomes.total()
    print(f"{total} inputs of seed {options.seed} in {time.monotonic() - started:.0f} s, no stray error:")
    for outcome, times in found.outcomes.most_common():
        print(f"{times:10} {outcome}")
    for took, data in found.slowest:
        print(f"slow: {took * 1e3:.0f} ms for {data}")
    print(
        f"peak of memory: {found.peak >> 20} MiB in a process that had {found.before >> 20} MiB at its start"
    )
    return found


def run_atheris(name: str, arguments: list[str]) -> None:
    """Let atheris choose the inputs; its own options follow the name of the target."""
    import atheris

    with atheris.instrument_imports(include=["packager"]):
        target = import_module(f"fuzz_{name}")
    atheris.Setup(arguments, lambda data: target.one_input(data) and None)
    atheris.Fuzz()


def main() -> None:
    """Run what the arguments ask for."""
    if sys.argv[1:2] == ["atheris"]:
        run_atheris(sys.argv[2], [sys.argv[0], *sys.argv[3:]])
        return
    parser = argparse.ArgumentParser(prog="fuzz.py", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument(
        "count", type=int, nargs="?", default=sys.maxsize, help="how many inputs (default: no end)"
    )
    parser.add_argument("--first", type=int, default=0, help="the number to begin with (default: 0)")
    parser.add_argument("--seed", type=int, default=1, help="draws the same inputs again (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (default: 1)")
    parser.add_argument("--seconds", type=float, help="ends after so many seconds")
    run_side_by_side(parser.parse_args())


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    main()
