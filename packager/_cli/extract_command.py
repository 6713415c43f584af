"""`kellet extract`: the files of an archive, written to a folder after every digest was checked."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from packager._atomic import replaced_folder, require_no_link
from packager._file_access import os_error_mend
from packager._texts import counted, listed, shown_place, wrapped

from .archives import FILE_HELP, add_identity, source_of
from .outputs import output_folder
from .screen import print_lines, progress

if TYPE_CHECKING:
    from packager._archive import ArchiveReader


EPILOG = """\
examples:
  kellet extract net.kellet net/                     the whole archive, as a folder that opens again
  kellet extract net.kellet out/ "model/**"          some of it

Nothing is run. The folder must be empty or not exist, and not be a link. It appears whole or not at all.
"""


_AT_ONCE: Final = 32 << 20  # bytes; whole chunks of the format


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument("folder", type=output_folder, metavar="DIR", help="where to write")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="which entries (default: everything)")
    add_identity(parser)


def run(options: argparse.Namespace) -> int:
    """Write the folder in one step.

    Raises OSError for a link, PackageError where the folder holds something, or nothing matches.
    """
    from packager._archive import ArchiveReader
    from packager.errors import PackageError

    target = Path(options.folder)
    require_no_link(target)
    if os.path.exists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise PackageError(f"{target}: not an empty folder; name one that does not exist")
    source = source_of(options.file)
    with ArchiveReader(source, identity=options.identity, digests="sha256", mmap=False) as reader:
        entries = _wanted(reader, options.patterns)
        if options.patterns and not entries:
            said = f"{options.file}: no entry matches {listed([*map(shown_place, options.patterns)])}"
            raise PackageError(said).holding(options.patterns)
        # Without patterns everything, so that the folder opens again.
        reserved = {} if options.patterns else reader.reserved()
        if os.name == "nt":
            refuse_names_of_windows([*entries, *reserved])
        with progress("extracting") as show:
            _write_folder(reader, entries, reserved, target, show or (lambda done, total: None))
        ties = list(_ties(reader, entries))
    print_lines(f"{target}: {counted(len(entries) + len(reserved), 'file')} of {options.file}", *ties)
    return 0


def _ties(reader: ArchiveReader, entries: Sequence[str]) -> Iterator[str]:
    """Yield lines for each member whose safetensors header, as other libraries read it, lacks tensors.

    It names every storage once; tensors that share one, or see a part of it, are in the index alone.
    """
    from packager._archive import TensorReader, parse_header

    for name in entries:
        if reader.entry(name).kind != "tensors":
            continue
        length = 8 + int.from_bytes(reader.read(name, 0, 8), "little")
        named = parse_header(reader.read(name, 0, length), reader.entry(name).size, what=name).tensors
        member = TensorReader(reader, name)
        holders = {tensor.storage: key for key, tensor in member.items() if key in named}
        ties = [
            f"{key} ({f'the bytes of {holders[tensor.storage]}' if tensor.storage in holders else 'a view'})"
            for key, tensor in member.items()
            if key not in named
        ]
        if ties:
            yield from wrapped(f"{name}: as safetensors it lacks {listed(ties)}")


def refuse_names_of_windows(names: Sequence[str]) -> None:
    """Raise PackageError where a name would not be a file's there, but a device's or a stream's."""
    from packager.errors import PackageError

    found = [name for name in names if _NO_FILE_ON_WINDOWS.search(name)]
    if found:
        raise PackageError(
            f"{listed(found, 5)}: Windows has no files of such names; extract the archive elsewhere, or "
            "only what you need of it"
        ).holding(found)


# Devices have their names in every folder and with every ending; a colon starts a stream of a file.
_NO_FILE_ON_WINDOWS: Final = re.compile(
    r'[<>:"|?*]|(?:^|/)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])[ ]*(?:[./]|$)', re.IGNORECASE
)


def _wanted(reader: ArchiveReader, patterns: Sequence[str]) -> list[str]:
    from packager._policy import GlobGroup

    if not patterns:
        return list(reader.names())
    group = GlobGroup(patterns, separator="/")
    return [name for name in reader.names() if group.matches(name)]


def _write_folder(
    reader: ArchiveReader,
    entries: Sequence[str],
    reserved: Mapping[str, bytes],
    target: Path,
    show: Callable[[int, int], None],
) -> None:
    """Make the folder whole, or not at all."""
    total, done = sum(reader.entry(name).size for name in entries), 0
    with replaced_folder(target) as part:
        for name in entries:
            with _new_file(part, name, target) as file:
                for piece in _pieces(reader, name):
                    file.write(piece)
                    done += len(piece)
                    show(done, total)
        for name, data in reserved.items():
            with _new_file(part, name, target) as file:
                file.write(data)


def _pieces(reader: ArchiveReader, name: str) -> Iterator[memoryview]:
    """The checked bytes of an entry, a part of it in memory at a time."""
    size = reader.entry(name).size
    for start in range(0, size, _AT_ONCE):
        yield reader.view(name, start, min(start + _AT_ONCE, size))


@contextmanager
def _new_file(folder: Path, name: str, target: Path) -> Iterator[BinaryIO]:
    """Give a new file of the folder that will be `target`.

    Raises ArchiveIOError, with the name that it would have there, where it cannot be written.
    """
    from packager._archive import ArchiveIOError
    from packager.errors import PackageError

    path = folder.joinpath(*name.split("/"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            yield file
    except PackageError:  # of the archive that is read
        raise
    except OSError as error:
        shown = str(target.joinpath(*name.split("/")))
        raise ArchiveIOError(
            f"{shown}: it cannot be written: {error.strerror or error}; no file was left there; "
            f"{os_error_mend(error)}",
            error,
            shown,
        ) from error
