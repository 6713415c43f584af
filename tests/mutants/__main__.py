"""Draw mutants by a seed, try them side by side, and print those that no test catches."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from .asking import Asking, Verdict
from .faults import PACKAGES, Fault, faults_in
from .judged import JUDGED, Judged
from .trying import MOST_TESTS, copy_of, failing_test, mutated

ROOT = Path(__file__).resolve().parents[2]
# They draw for a long time, or look at processes of their own.
LEFT_OUT = (
    "attacks/test_fuzz.py",
    "attacks/test_header_memory.py",
    "attacks/test_inert_calls.py",
    "attacks/test_inert_calls_torch.py",
    "flows/test_each_command_ended.py",
    "flows/test_ended_by_signals.py",
    "flows/test_idioms_in_processes.py",
    "flows/test_races.py",
    "flows/test_workers_end.py",
)


def main() -> None:
    """Try as many mutants as asked for; exits with 1 where some survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="draws the same mutants again (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, choices=PACKAGES, help="(default: both)")
    parser.add_argument("--rooms", nargs="+", help="rooms such as objects, nn (default: all)")
    parser.add_argument("--tests", nargs="+", help="files and folders of tests (default: all)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        help="of processor time for one mutant, or three times that on the clock (default: 20)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="ask all tests about those that the nearest do not catch, minutes each",
    )
    options = parser.parse_args()
    judged = Judged(JUDGED)
    faults = [
        fault
        for package in options.packages
        for file in sorted((ROOT / package).rglob("*.py"))
        for fault in faults_in(ROOT, file)
        if options.rooms is None or fault.room in options.rooms
    ]
    drawn = random.Random(options.seed).sample(faults, min(options.count, len(faults)))
    matter = [fault for fault in drawn if fault not in judged]
    asking = Asking(ROOT, matter, options.jobs, options.seconds, _tell)
    started = time.monotonic()
    tests = options.tests or [
        "tests",
        *(f"--ignore=tests/{file}" for file in LEFT_OUT),
    ]
    ended = pytest.main(["-q", "-s", "-p", "no:cacheprovider", *tests], plugins=[asking])
    if ended != pytest.ExitCode.OK:
        sys.exit(f"the tests could not be collected (exit status {int(ended)})")
    verdicts = asking.verdicts + _tried(asking.outside, options.jobs)
    survivors = [verdict for verdict in verdicts if verdict.caught_by is None]
    if options.all:
        asked = _tried([(verdict.fault, ["tests"]) for verdict in survivors], 1, "-n", str(options.jobs))
        survivors = [verdict for verdict in asked if verdict.caught_by is None]
    by_room = Counter(fault.room for fault in drawn)
    seconds = time.monotonic() - started
    print(f"{len(drawn)} of {len(faults)} mutants, seed {options.seed}, {seconds:.0f} s: {dict(by_room)}")
    print(f"{len(drawn) - len(matter)} judged before to change nothing that matters")
    print(f"{len(matter) - len(survivors)} caught, {len(survivors)} not:")
    for verdict in survivors:
        print(f"{verdict.fault}\n    in {verdict.fault.where or 'the module'}, by {verdict.asked} tests")
    sys.exit(bool(survivors))


def _tried(faults: Sequence[tuple[Fault, list[str]]], jobs: int, *options: str) -> list[Verdict]:
    """Try each fault in a fresh process, and as many at a time as there are copies."""
    with tempfile.TemporaryDirectory(prefix="kellet-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(min(jobs, len(faults))):
            place = Path(folder, str(number))
            place.mkdir()
            copies.put(copy_of(ROOT, place))

        def verdict_of(asked: tuple[Fault, list[str]]) -> Verdict:
            fault, tests = asked[0], asked[1][:MOST_TESTS]
            copy = copies.get()
            with mutated(copy, fault):
                failing = failing_test(copy, tests, *options)
            if failing and failing_test(copy, [failing]) is not None:
                failing = None  # it fails without the fault as well
            copies.put(copy)
            verdict = Verdict(fault, len(tests), failing)
            _tell(verdict)
            return verdict

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(verdict_of, faults))


def _tell(verdict: Verdict) -> None:
    if verdict.caught_by is None:
        print(f"\nnot caught by {verdict.asked} tests: {verdict.fault}", flush=True)
    else:
        print(".", end="", flush=True)


if __name__ == "__main__":
    main()
