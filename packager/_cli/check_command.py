"""`kellet check`: repeat the stored examples of an archive, and compare the outputs."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from packager._quick_dataclasses import dataclass

from .archives import add_archive, not_negative, opened
from .screen import print_json, print_lines

EPILOG = """\
examples:
  kellet check net.kellet
  kellet check net.kellet --tolerance 0

`kellet export --example` stores examples. This runs code of the archive. The exit code is 0 if all outputs
are within the tolerance. It is 1 if an output differs, if an example is not repeatable, or if none is stored.
Integers, text and None are compared exactly. Modules are in the mode in which the example was made.

If outputs of an example with `--trace-calls` differ, the first submodule that differs is named, with the
packages whose versions have changed.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_archive(parser)
    parser.add_argument(
        "--tolerance",
        type=not_negative,
        default=1e-5,
        metavar="X",
        help="the largest difference allowed (default: 1e-5)",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")


def run(options: argparse.Namespace) -> int:
    """Run every check, print every deviation, and say by the exit code whether all is within bounds."""
    from packager._archive import NOT_REPEATABLE

    with _environment_told_later() as told, opened(options) as importer:
        outcomes = importer.check(tolerance=options.tolerance)
        told.matters = not outcomes or any(
            not (found.repeatable and all(one.same_bits for one in found.deviations)) for found in outcomes
        )
    if options.json:
        print_json(list(outcomes))
    elif not outcomes:
        print_lines(f"{options.file}: no example is stored. Export it again with --example")
    else:
        for outcome in outcomes:
            if not outcome.repeatable:
                print_lines(f"{outcome.name}: {NOT_REPEATABLE}")
                continue
            for one in outcome.deviations:
                print_lines(f"{outcome.name}: {one.name}: {one}")
            if outcome.drift is not None:
                print_lines(*(f"{outcome.name}: {line}" for line in outcome.drift.lines()))
            elif not outcome.traced and not outcome.within(options.tolerance):
                print_lines(
                    f"{outcome.name}: no trace is stored, so the part of the model that differs is unknown. "
                    "Export again with --trace-calls where the outputs are right",
                    to=sys.stderr,
                )
        if told.differs and not told.matters:
            print_lines("the environment differs from the recorded one, and the outputs are the same")
    return 0 if outcomes and all(outcome.within(options.tolerance) for outcome in outcomes) else 1


@dataclass
class _Told:
    """Whether the environment is another than the recorded one, and whether that may matter."""

    differs: bool = False
    matters: bool = True


@contextmanager
def _environment_told_later() -> Iterator[_Told]:
    """Warn at the end of the block of what it warned of; of the environment only where that matters."""
    from packager._loading import EnvironmentWarning

    told, said = _Told(), list[warnings.WarningMessage]()
    try:
        with warnings.catch_warnings(record=True) as said:
            yield told
    finally:  # where the block failed, the environment may be the reason
        for one in said:
            of_environment = issubclass(one.category, EnvironmentWarning)
            told.differs |= of_environment
            if told.matters or not of_environment:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
