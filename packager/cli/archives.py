"""What the commands that run an archive share: how it is named, trusted, and opened."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .screen import progress

if TYPE_CHECKING:
    from packager.calls import TargetError
    from packager.package_importer import PackageImporter


_FRAMES = 8
"""How many of the innermost calls are shown where a model fails."""


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Declare the archive, and how far it is believed."""
    parser.add_argument("file", metavar="FILE", help="the archive")
    add_belief(parser)


def add_belief(parser: argparse.ArgumentParser) -> None:
    """Declare how far an archive is believed: its names, and what it says of the environment."""
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="NAME",
        help="a type to trust (module:Class); repeatable",
    )
    parser.add_argument(
        "--environment",
        choices=("error", "warn", "ignore"),
        default="warn",
        help="what to do where this environment is not as recorded (default: warn, and stop where "
        "something is missing; ignore: try all the same)",
    )


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[PackageImporter]:
    """The importer of the archive that was named; long reads show how far they are.

    Raises TargetError where code of the archive raises something in the block.
    """
    from packager.errors import PackageError
    from packager.package_importer import PackageImporter

    with (
        progress("reading") as show,
        PackageImporter(options.file, trust=options.trust, environment=options.environment) as importer,
    ):
        importer.archive.progress = show
        try:
            yield importer
        except (PackageError, OSError, ImportError):  # these say by themselves what to do
            raise
        except Exception as error:  # whatever the model raises is told with its place
            raise _model_failed(options.file, error) from error


def _model_failed(file: str, error: Exception) -> TargetError:
    from packager.calls import TargetError

    failed = TargetError(f"{file}: the model failed: {type(error).__name__}: {error}")
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        failed.add_note(f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}")
    return failed
