"""What the commands that run an archive share: how it is named, trusted, and opened."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .screen import progress

if TYPE_CHECKING:
    from packager.package_importer import PackageImporter

__all__ = ["add_archive", "add_belief", "opened"]


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
    """The importer of the archive that was named; long reads show how far they are."""
    from packager.package_importer import PackageImporter

    with (
        progress("reading") as show,
        PackageImporter(options.file, trust=options.trust, environment=options.environment) as importer,
    ):
        importer.archive.progress = show
        yield importer
