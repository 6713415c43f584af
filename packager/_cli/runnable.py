"""What `python net.kellet` does: the same as `kellet run`, `check` and `verify`, for one archive.

The archive that is started carries this file; see `packager._exporting.carried`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .archives import add_trust_options, not_negative
from .main import carry_out
from .run_command import add_call, add_inputs
from .screen import own_streams, print_lines
from .suggestions import Parser
from .summary import EXIT_CODES

if TYPE_CHECKING:
    from packager._archive import ArchiveReader
    from packager._environment import EnvironmentReport, RecordedEnvironment


OLDEST_NUMPY = "numpy>=1.26"
"""What the carried loader needs; the same as in the requirements of the distribution."""

_EXAMPLES = """\
examples:
  python {file} --info
  python {file} --input x.npz -o y.npz
  python {file} --check

Values in the input file have the names of parameters, or arg0, arg1, ...; a text, or JSON that is not an
object, is arg0. Outputs are called output, or output.0, output.key.

"""


def main(file: str, arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line for the archive `file`; return its exit code."""
    if arguments is None:  # the process is this archive's own
        from packager._process import end_in_order

        with end_in_order(), own_streams():
            return main(file, sys.argv[1:])
    parser = _parser(os.path.basename(file))
    options = parser.parse_args(arguments)
    options.file = file
    if options.check:
        from .check_command import run
    elif options.verify:
        from .verify_command import run
    elif options.input is not None or options.text is not None:
        from .run_command import run
    else:
        run = _info
    runs_code = options.check or options.input is not None or options.text is not None
    return carry_out(_where_it_can(run) if runs_code else run, options)


def _where_it_can(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """`run`, once it is known that nothing is missing, or not asked: before NumPy itself is imported."""

    def checked(options: argparse.Namespace) -> int:
        from packager._archive import ArchiveReader
        from packager.errors import EnvironmentMismatchError

        with ArchiveReader(options.file) as reader:
            report = _compared(reader)
        if report.missing and options.environment != "ignore":
            raise EnvironmentMismatchError(f"{options.file}: " + str(report)).holding(report.differences)
        return run(options)

    return checked


def _parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"python {name}",
        description="Run the model in this archive. It needs Python, NumPy, and what --info lists.",
        epilog=_EXAMPLES.format(file=name) + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--info", action="store_true", help="what this is, and whether it runs here (default)")
    add_inputs(what)
    what.add_argument(
        "--check", action="store_true", help="repeat the stored examples, and compare the outputs"
    )
    what.add_argument("--verify", action="store_true", help="check every byte of this archive")
    add_call(parser)
    parser.add_argument(
        "--tolerance", type=not_negative, default=1e-5, metavar="X", help="for --check (default: 1e-5)"
    )
    add_trust_options(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")
    return parser


def _info(options: argparse.Namespace) -> int:
    """Say what the archive is; the exit code says whether what it needs is here."""
    from packager._archive import ArchiveReader
    from packager._environment import RecordedEnvironment

    with ArchiveReader(options.file) as reader:
        recorded = RecordedEnvironment.of(reader.manifest)
        report = _compared(reader)
        if options.json:
            _print_json(reader, recorded, report)
        else:
            print_lines(*_lines(reader, recorded, report))
    return 1 if report.missing else 0


def _compared(reader: ArchiveReader) -> EnvironmentReport:
    """The environment at hand against the recorded one, and against what the carried loader needs."""
    from packager._environment import RecordedEnvironment, RecordedExtern, compare_environment

    recorded = RecordedEnvironment.of(reader.manifest)
    externs = list(recorded.externs)
    if "numpy" not in recorded.distributions:
        version = recorded.versions.get("numpy", "")
        externs.append(RecordedExtern(("numpy",), "numpy", version, OLDEST_NUMPY))
    return compare_environment(recorded.fingerprint, externs, probes=recorded.probes)


def _lines(reader: ArchiveReader, recorded: RecordedEnvironment, report: EnvironmentReport) -> Iterator[str]:
    from packager._texts import size_text

    made = recorded.fingerprint
    yield f"archive      {size_text(reader.size)}"
    yield f"identity     {reader.identity}"
    yield f"made with    Python {made.python} on {made.platform}"
    for point in reader.manifest.entry_points:
        called = f".{point.callable}" if point.callable else ""
        yield f"entry        {point.name}: {point.package}/{point.resource}{called}"
    for schema in reader.manifest.schemas:
        yield f"calls        {schema}"
    for extern in recorded.externs:
        optional = "  (optional)" if extern.optional else ""
        yield f"needs        {extern.requirement or ', '.join(extern.modules)}{optional}"
    yield "here         " + str(report)


def _print_json(reader: ArchiveReader, recorded: RecordedEnvironment, report: EnvironmentReport) -> None:
    from .screen import print_json

    print_json(
        {
            "identity": reader.identity,
            "size": reader.size,
            "environment": reader.manifest.environment,
            "entries": reader.manifest.entry_points,
            "schemas": reader.manifest.schemas,
            "needs": recorded.externs,
            "differences": report.differences,
        }
    )
