"""`packager extract`: the files of an archive, written to a folder after every digest was checked."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .screen import print_text

if TYPE_CHECKING:
    from packager.archive import ArchiveReader

__all__ = ["add"]

_EXAMPLES = """\
examples:
  packager extract net.kedge net/                     the whole archive, as a folder that opens again
  packager extract net.kedge out/ "model/**"          some of it

Nothing is run. The folder must not exist, or be empty; it appears whole or not at all.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "extract",
        help="write the files of an archive to a folder, running nothing",
        description="Write the files of an archive to a folder, every digest checked, nothing run.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the archive")
    parser.add_argument("folder", metavar="DIR", help="where to write")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="which entries (default: everything)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write beside the target, then put the folder in place in one step."""
    from packager.archive import ArchiveReader
    from packager.errors import PackageError

    target = Path(options.folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PackageError(f"{target}: not an empty folder; name one that does not exist")
    with ArchiveReader(options.file, digests="sha256") as reader:
        files = _wanted(reader, options.patterns)
        if not files:
            raise PackageError(f"{options.file}: no entry matches {', '.join(options.patterns)}")
        _write_folder(files, target)
    print_text(f"{target}: {len(files)} files of {options.file}")
    return 0


def _wanted(reader: ArchiveReader, patterns: Sequence[str]) -> dict[str, Callable[[], bytes]]:
    """What gives the bytes of each file; without patterns everything, so that the folder opens again."""
    from packager.policy import GlobGroup

    files: dict[str, Callable[[], bytes]] = {name: partial(reader.read, name) for name in reader.names()}
    if patterns:
        group = GlobGroup(patterns, separator="/")
        return {name: read for name, read in files.items() if group.matches(name)}
    return files | {name: partial(bytes, data) for name, data in reader.reserved().items()}


def _write_folder(files: Mapping[str, Callable[[], bytes]], target: Path) -> None:
    """Make the folder whole, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=".extracting-"))
    try:
        for name, read in files.items():
            path = aside.joinpath(*name.split("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read())
        os.chmod(aside, 0o755)
        if target.exists():
            target.rmdir()
        os.replace(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
