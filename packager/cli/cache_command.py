"""`packager cache`: what is kept between runs, how large it is, how it comes there ahead, and how it goes."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
from pathlib import Path
from typing import Any, Final

from packager.texts import counted

from .archives import FILE_HELP, add_identity, source_of
from .screen import print_json, print_lines, print_table

_EXAMPLES = """\
examples:
  packager cache                                      where it is, and how large
  packager cache clear                                everything in it
  packager cache clear scans bytecode                 some of it
  packager cache compile net.kellet                   code of an archive, before workers start that load it

All of it is made anew when it is needed. What is cleared while a model runs from an archive may be missed
by that process: stop it before.
"""
_PARTS: Final = {
    "bytecode": "compiled code of archives",
    "code": "files of archives that their code opens",
    "scans": "what imports the sources of projects hold",
    "wheels": "wheels that printed lock files name",
}


def add(commands: Any) -> None:
    """Declare the command, and its part that removes."""
    parser = commands.add_parser(
        "cache",
        description="Show the folder of what is kept between runs (KELLET_CACHE), and the size of each part.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--json", action="store_true", help="print the sizes for machines")
    parser.set_defaults(run=run)
    parts = parser.add_subparsers(title="parts", metavar="PART")
    clear = parts.add_parser(
        "clear",
        help="remove what is kept",
        description="Remove what is kept between runs; all of it is made anew when it is needed.",
    )
    clear.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(_PARTS)} (default: all of them)")
    clear.set_defaults(run=run_clear)
    ahead = parts.add_parser(
        "compile",
        help="compile the code of an archive, so that its first load need not",
        description="Compile all code of an archive that is not kept yet, on several cores; run none of it.",
    )
    ahead.add_argument("file", metavar="FILE", help=FILE_HELP)
    ahead.add_argument(
        "--workers",
        type=_workers,
        metavar="N",
        help="processes that share the work (default: as many as there are cores and it is worth, 4 at most)",
    )
    add_identity(ahead)
    ahead.set_defaults(run=run_compile)


def _workers(text: str) -> int:
    if not text.isdecimal() or len(text) > 4 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of processes from 1 on, got {text}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Print where the cache is, and how large."""
    from packager.sizes import size_text

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
        count = importer.compile_all(workers=options.workers)
    print_lines(f"{folder}: {counted(count, 'source')} of {options.file} compiled")
    return 0


def run_clear(options: argparse.Namespace) -> int:
    """Remove the parts, and say how much that was.

    Nothing else in the folder is touched: it may be one that was not made for this alone. Raises OSError for
    what cannot be removed, PackageError for a name that is no part.
    """
    from packager.errors import PackageError
    from packager.sizes import size_text
    from packager.texts import did_you_mean, listed

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
    from packager.caches import cache_folder
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
