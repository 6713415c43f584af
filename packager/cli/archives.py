"""What the commands that read or run an archive share: how it is named, trusted, and opened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from packager.process import failure_of_model, place_in_model

from .screen import progress

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from packager.calls import TargetError
    from packager.package_importer import PackageImporter


FILE_HELP = "the archive, the folder of an unzipped one, or - for standard input"

_FRAMES = 8
"""How many of the innermost calls are shown where a model fails."""


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Declare the archive, and the options of trust."""
    parser.add_argument("file", metavar="FILE", help="the archive")
    add_identity(parser)
    add_trust_options(parser)


def add_identity(parser: argparse.ArgumentParser) -> None:
    """Declare the option that admits one archive alone."""
    parser.add_argument(
        "--identity",
        type=_identity,
        metavar="SHA256",
        help="take this archive alone, as `verify` prints it; any other is refused before it is read further",
    )


def _identity(text: str) -> str | None:
    from packager.arguments import check_identity
    from packager.errors import ArgumentError

    try:
        return check_identity("identity", text)
    except ArgumentError as error:
        import argparse

        raise argparse.ArgumentTypeError(str(error)) from error


def add_trust_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of trust: types to allow, and how to treat what it records of the environment."""
    add_trust(parser, "a type to trust (module:Class); repeatable")
    parser.add_argument(
        "--environment",
        choices=("error", "warn", "ignore"),
        default="warn",
        help="what to do where this environment is not as recorded (default: warn, and stop where "
        "something is missing; ignore: try all the same)",
    )


def add_trust(parser: argparse.ArgumentParser, text: str) -> None:
    """Declare the option that names a type to trust; what is no such name is wrong usage."""
    parser.add_argument("--trust", type=_trusted, action="append", default=[], metavar="NAME", help=text)


def _trusted(text: str) -> str:
    import argparse

    from packager.audit import Trust

    try:
        Trust((text,))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("trust=")) from error
    return text


def mebibytes(text: str) -> int:
    """Read an argument that is a number of MiB, for argparse. Raises its ArgumentTypeError for others."""
    if not text.isdecimal() or len(text) > 10 or not 0 < int(text) <= _MOST_MEBIBYTES:
        import argparse

        raise argparse.ArgumentTypeError(f"expected 1 to {_MOST_MEBIBYTES} MiB, got {text}")
    return int(text)


def not_negative(text: str) -> float:
    """Read an argument that is 0 or more, for argparse. Raises its ArgumentTypeError for others."""
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not number >= 0:  # what is no number is not, either
        import argparse

        raise argparse.ArgumentTypeError(f"expected a number from 0 on, got {text}")
    return number


_MOST_MEBIBYTES = 1 << 32
"""More is no size of a process: systems refuse it as a limit."""


def source_of(file: str) -> Any:
    """Return what the reader is given for an argument FILE: standard input for `-`."""
    return sys.stdin.buffer if file == "-" else file


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[PackageImporter]:
    """Give the importer of the archive that was named; long reads show how far they are.

    Raises TargetError where code of the archive raises something in the block.
    """
    from packager.package_importer import PackageImporter

    with (
        progress("reading") as show,
        PackageImporter(
            options.file,
            # What a runnable archive says of itself proves nothing: it has no such option.
            identity=getattr(options, "identity", None),
            trust=options.trust,
            environment=options.environment,
        ) as importer,
    ):
        importer.archive.progress = show
        with told_with_place(options.file):
            yield importer


@contextmanager
def told_with_place(what: str) -> Iterator[None]:
    """Raise TargetError where code of a model raises something in the block, with file and line.

    Errors of ours, of files and of imports go through, unless it was the model's code that met them.
    """
    from packager.errors import PackageError

    try:
        yield
    except (PackageError, BrokenPipeError):  # these say by themselves what to do
        raise
    except (OSError, ImportError) as error:
        if not place_in_model(error):
            raise
        raise _model_failed(what, error) from error
    except Exception as error:
        raise _model_failed(what, error) from error


def _model_failed(file: str, error: Exception) -> TargetError:
    from packager.calls import TargetError

    failed = TargetError(f"{file}: the model failed: {failure_of_model(error)}")
    import traceback

    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        failed.add_note(f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}")
    return failed
