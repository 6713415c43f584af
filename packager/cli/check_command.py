"""`packager check`: run the golden calls of an archive where it stands."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from packager.quick_dataclasses import dataclass

from .archives import add_archive, not_negative, opened
from .screen import print_json, print_lines

_EXAMPLES = """\
examples:
  packager check net.kellet
  packager check net.kellet --tolerance 0

Golden calls are stored by `packager export --example`. The exit code is 0 when every answer is within
the tolerance, 1 when one is not, when one is not repeatable, so that nothing can be compared, or when none
was stored. Integers, text and None are compared exactly.
Modules are in the mode that they were in when the calls were stored. This runs code of the archive.
Where a call was stored with `--trace-calls` and its answer is off, the first submodule that differs is named,
with the distributions whose versions are others now.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "check",
        description="Run the golden calls of an archive here, and say how far the answers are off.",
        epilog=_EXAMPLES,
    )
    add_archive(parser)
    parser.add_argument(
        "--tolerance",
        type=not_negative,
        default=1e-5,
        metavar="X",
        help="the largest difference allowed (default: 1e-5)",
    )
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run every check, print every deviation, and say by the exit code whether all is within bounds."""
    from packager.archive import NOT_REPEATABLE

    with _environment_told_later() as told, opened(options) as importer:
        outcomes = importer.check(tolerance=options.tolerance)
        told.matters = not outcomes or any(
            not (found.repeatable and all(one.same_bits for one in found.deviations)) for found in outcomes
        )
    if options.json:
        print_json(list(outcomes))
    elif not outcomes:
        print_lines(f"{options.file}: no golden call is stored; export with --example")
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
                    f"{outcome.name}: which part of the model differs is not known: no trace is stored; "
                    "export with --trace-calls where the answers are right",
                    to=sys.stderr,
                )
        if told.differs and not told.matters:
            print_lines("the environment is another than the recorded one, and the answers are the same")
    return 0 if outcomes and all(outcome.within(options.tolerance) for outcome in outcomes) else 1


@dataclass
class _Told:
    """Whether the environment is another than the recorded one, and whether that may matter."""

    differs: bool = False
    matters: bool = True


@contextmanager
def _environment_told_later() -> Iterator[_Told]:
    """Warn at the end of the block of what it warned of; of the environment only where that matters."""
    from packager.loading import EnvironmentWarning

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
