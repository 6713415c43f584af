"""The folder form of an archive: what it unpacks to, checked by its manifest. Section 9 of the format."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from packager._file_access import NO_FOLLOW, READ_FILE

from .archive_errors import ArchiveIOError, changed, damaged
from .bounds import MAX_NAME_BYTES, MAX_NAME_PARTS
from .byte_sources import ChangeStamp, Mapped, Source, change_stamp_of, open_file
from .entries import EntryRecord, Listing
from .entry_names import DIGEST, MANIFEST, SIGNATURES, check_names, check_reserved_size, is_reserved


class FolderContainer:
    """An archive that was unpacked; only files with the listed names and sizes may lie in it."""

    is_one_file = False
    fetches = False

    def __init__(self, folder: Path, *, mapped: Mapped) -> None:
        self._folder = folder
        self._mapped = mapped
        # First, or a folder that is something else would be looked through to its end.
        for name in (MANIFEST, DIGEST):
            if not os.path.lexists(folder / name):
                raise damaged(f"folder {str(folder)!r}", f"no {name}", "an unpacked archive with this file")
        self._files = dict(_files(folder))
        self._listing: Listing | None = None
        self._maps: dict[int, Source] = {}
        check_names(list(self._files))

    def reserved(self, name: str) -> bytes:
        """Return the bytes of the manifest, its digest or a signature."""
        size = self._files[name]
        check_reserved_size(name, size)
        source = self._open(name, size, mapped=False)
        try:
            return bytes(source.view(0, size))
        finally:
            source.close()

    def signatures(self) -> list[str]:
        """Return the names of the signatures."""
        return sorted(name for name in self._files if name.startswith(SIGNATURES))

    def match(self, listing: Listing) -> None:
        """Demand that the files here and the entries of the manifest are the same."""
        ordinary = {name: size for name, size in self._files.items() if not is_reserved(name)}
        if dict(zip(listing.names, listing.sizes, strict=True)) != ordinary or len(ordinary) != len(listing):
            raise listing.difference(ordinary)
        self._listing = listing

    def locate(self, index: int) -> tuple[Source, int]:
        """Return where the bytes of a listed entry are."""
        assert self._listing is not None
        if index not in self._maps:
            mapped = self._listing.aligns[index] != 1 and self._mapped
            source = self._open(self._listing.names[index], self._listing.sizes[index], mapped=mapped)
            if not source.steady:
                return source, 0
            # Only aligned entries stay open: an archive may have more entries than a process may
            # have files.
            self._maps.setdefault(index, source)
        return self._maps[index], 0

    def check_header(self, index: int) -> None:
        """Do nothing: a file of a folder has no header."""

    def check_crc(self, index: int, entry: EntryRecord) -> None:
        """Do nothing: a folder has no digests of its own."""

    def file_sha256(self) -> None:
        """Return None: a folder is no file."""

    def change_stamp(self) -> ChangeStamp:
        """Return the change stamp of the manifest. Raises ArchiveChangedError when that is gone."""
        try:
            return change_stamp_of(os.stat(self._folder / MANIFEST, follow_symlinks=False))
        except OSError as error:
            raise changed(f"folder {str(self._folder)!r}", f"{MANIFEST} cannot be found any more") from error

    def size(self) -> int:
        """Return how many bytes all files take."""
        return sum(self._files.values())

    def close(self) -> None:
        """Release all files."""
        for source in self._maps.values():
            source.close()
        self._maps = {}

    def _open(self, name: str, size: int, *, mapped: Mapped) -> Source:
        path = self._folder / name
        try:
            source = open_file(_descriptor(self._folder, name), str(path), mapped=mapped)
        except ArchiveIOError:
            raise
        except OSError as error:
            raise ArchiveIOError(f"entry {name!r}: it cannot be opened: {error}", error, str(path)) from error
        if source.size != size:
            source.close()
            raise damaged(f"entry {name!r}", f"{source.size} bytes", f"{size}, as when it was opened")
        return source


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield every file below a folder with its size; anything else than files and folders is refused."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        if prefix.count("/") >= MAX_NAME_PARTS or len(os.fsencode(prefix)) > MAX_NAME_BYTES:
            where = f"folder {prefix[:80]!r}..."
            raise damaged(
                where, "a path that is too long", f"at most {MAX_NAME_PARTS} parts and {MAX_NAME_BYTES} bytes"
            )
        try:
            with os.scandir(folder / prefix) as entries:
                found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            where = str(folder / prefix)
            raise ArchiveIOError(f"folder {where!r}: it cannot be listed: {error}", error, where) from error
        for name, status in found:
            if stat.S_ISDIR(status.st_mode):
                pending.append(f"{prefix}{name}/")
            elif stat.S_ISREG(status.st_mode):
                yield prefix + name, status.st_size
            else:
                raise damaged(f"entry {prefix + name!r}", "a link or special file", "an ordinary file")


def _descriptor(folder: Path, name: str) -> int:
    """Open a file below a folder, one part of its name after another.

    The folder was looked through when it was opened; a link or pipe that has come since, in any part,
    is not followed, and not waited for.
    """
    if os.open not in os.supports_dir_fd:
        return _descriptor_by_path(folder, name)
    *parents, last = name.split("/")
    current = os.open(folder, READ_FILE | os.O_DIRECTORY)
    try:
        for part in parents:
            below = os.open(part, READ_FILE | os.O_DIRECTORY | NO_FOLLOW, dir_fd=current)
            os.close(current)
            current = below
        return os.open(last, READ_FILE | NO_FOLLOW | os.O_NONBLOCK, dir_fd=current)
    finally:
        os.close(current)


def _descriptor_by_path(folder: Path, name: str) -> int:
    """Open a file where folders have no descriptors; nothing on the way may be a link."""
    path = os.fspath(folder)
    for part in name.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise OSError(errno.ELOOP, "it is a link", path)
    before = os.lstat(path)
    descriptor = os.open(path, READ_FILE | NO_FOLLOW)
    if os.path.samestat(before, os.fstat(descriptor)):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ESTALE, "it is another file than a moment ago", path)
