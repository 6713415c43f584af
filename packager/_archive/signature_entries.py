"""Adding a signature to an archive that is there: no other entry changes, and neither does the identity."""

from __future__ import annotations

import os
from typing import Any

from packager._atomic import locked_file
from packager.errors import ArchiveError

from .archive_errors import changed
from .entry_names import DIGEST, SIGNATURES, check_name, check_reserved_size
from .output_files import reported, write_at, written_file
from .reader import ArchiveReader

_PIECE = 1 << 26  # bytes that are copied at once


def add_signature(path: str, name: str, data: bytes, *, identity: str, replace: bool = False) -> None:
    """Write an archive anew with one more signature, and rename it; a folder gets a file.

    Raises ArchiveError where the archive at `path` has another `identity`, or has a signature of that `name`
    and it is not to `replace` it; ArchiveIOError where it cannot be written, and nothing has changed then.
    """
    check_name(name)
    check_reserved_size(name, len(data))
    is_folder = os.path.isdir(path)
    with reported(path), locked_file(os.path.join(path, DIGEST) if is_folder else path) as file:
        with ArchiveReader(path if is_folder else file, mmap=False) as reader:
            if reader.identity != identity:
                raise changed(path, f"found identity {reader.identity}, expected {identity}")
            held = reader.signatures()
            if name in held and not replace:
                raise ArchiveError(
                    f"{path}: {name} exists already: --replace it, or give this one another --name"
                )
            if not is_folder:
                _write_anew(path, file, *reader.with_signatures({**held, name: data}))
                return
        os.makedirs(os.path.join(path, SIGNATURES), exist_ok=True)
        with written_file(os.path.join(path, name), fsync=True) as descriptor:
            write_at(descriptor, data, 0)


def _write_anew(path: str, file: Any, kept: int, tail: bytes) -> None:
    """Copy the first `kept` bytes of a file, inside the system where it can, and write what follows."""
    with written_file(path, fsync=True) as descriptor:
        done = 0
        while done < kept:
            done += _copied(file, descriptor, done, min(_PIECE, kept - done), path)
        write_at(descriptor, tail, kept)


def _copied(file: Any, descriptor: int, at: int, size: int, path: str) -> int:
    if hasattr(os, "copy_file_range"):
        try:
            copied = os.copy_file_range(file.fileno(), descriptor, size, at, at)
        except OSError:  # not between these two, or not on this system
            copied = 0
        if copied:
            return copied
    file.seek(at)
    data = file.read(min(size, 1 << 20))
    if not data:
        raise changed(path, "it has become shorter")
    write_at(descriptor, data, at)
    return len(data)
