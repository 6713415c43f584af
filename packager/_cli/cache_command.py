"""`kellet cache`: what is kept between runs, how large it is, how it comes there ahead, and how it goes."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
from pathlib import Path
from typing import Final

from packager._texts import counted

from .archives import FILE_HELP, add_identity, source_of
from .screen import print_json, print_lines, print_table

EPILOG = """\
examples:
  kellet cache                                      where it is, and how large
  kellet cache clear                                everything in it
  kellet cache clear scans bytecode                 some of it
  kellet cache compile net.kellet                   code of an archive, before workers start that load it

All of it is made anew when needed. Stop processes that run a model from an archive before you clear the
cache: they may still need its files.
"""
_PARTS: Final = {
    "bytecode": "compiled code of archives",
    "code": "files of archives that their code opens",
    "scans": "the imports found in sources of projects",
    "wheels": "wheels that printed lock files name",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command, and its part that removes."""
    parser.add_argument("--json", action="store_true", help="print the sizes for machines")
    parts = parser.add_subparsers(title="parts", metavar="PART")
    clear = parts.add_parser(
        "clear",
        help="remove what is kept",
        description="Remove what is kept between runs. All of it is made anew when needed.",
    )
    clear.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(_PARTS)} (default: all of them)")
    clear.set_defaults(run=run_clear)
    ahead = parts.add_parser(
        "compile",
        help="compile the code of an archive ahead of its first load",
        description="Compile all code of an archive that is not in the cache yet. Nothing is run.",
    )
    ahead.add_argument("file", metavar="FILE", help=FILE_HELP)
    add_identity(ahead)
    ahead.set_defaults(run=run_compile)


def run(options: argparse.Namespace) -> int:
    """Print where the cache is, and how large."""
    from packager._texts import size_text

    folder = _folder()
    found = {name: _size(folder / name) for name in _PARTS}
    if options.json:
        parts = {name: {"files": count, "bytes": size} for name, (count, size) in found.items()}
        print_json({"folder": str(folder), "bytes": sum(size for _, size in found.values()), "parts": parts})
        return 0
    print_lines(f"{folder}: {size_text(sum(size for _, size in found.values()))}")
    rows = [
        (name, counted(count, "file"), size_text(size), _PARTS[name]) for name, (count, size) in found.items()
    ]
    print_table("kept between runs", ("part", "files", "size", "what"), rows)
    return 0


def run_compile(options: argparse.Namespace) -> int:
    """Compile what is not kept, and say how much that was. Raises what `PackageImporter.compile_all` does."""
    from packager.package_importer import PackageImporter

    folder = _folder()
    with PackageImporter(
        source_of(options.file), identity=options.identity, environment="ignore"
    ) as importer:
        count = importer.compile_all()
    print_lines(f"{folder}: {counted(count, 'source')} of {options.file} compiled")
    return 0


def run_clear(options: argparse.Namespace) -> int:
    """Remove the parts, and say how much that was.

    Nothing else in the folder is touched: it may be one that was not made for this alone. Raises OSError for
    what cannot be removed, PackageError for a name that is no part.
    """
    from packager._texts import did_you_mean, listed, size_text
    from packager.errors import PackageError

    wrong = [name for name in options.names if name not in _PARTS]
    if wrong:
        near = did_you_mean(wrong[0], _PARTS)
        said = f"{listed(wrong)}: no part of the cache; it has {', '.join(_PARTS)}{near}"
        raise PackageError(said).holding(wrong)
    removed, folder = 0, _folder()
    for name in options.names or _PARTS:
        part = folder / name
        size = _size(part)[1]
        if part.is_symlink():
            part.unlink()  # what it leads to is somebody else's
        elif os.path.lexists(part):
            shutil.rmtree(part)
            removed += size
    print_lines(f"{folder}: {size_text(removed)} removed")
    return 0


def _folder() -> Path:
    """Return the folder of the cache. Raises PackageError where none is known."""
    from packager._caches import cache_folder
    from packager.errors import PackageError

    try:
        return cache_folder()
    except RuntimeError as error:  # no home folder is known for this user
        raise PackageError(f"{error}; set KELLET_CACHE to a folder") from error


def _size(folder: Path) -> tuple[int, int]:
    """Return how many files are in a folder, and their bytes; links are not followed."""
    count = size = 0
    for place, _, names in os.walk(folder) if not folder.is_symlink() else ():
        for name in names:
            try:
                found = os.lstat(os.path.join(place, name))
            except FileNotFoundError:  # another process was faster
                continue
            count += 1
            size += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return count, size
