"""The two forms of an archive: one ZIP file, and the folder that it unpacks to.

A container finds the bytes of the reserved entries and, once the manifest has been read, those of
the entries it lists. Both forms are checked against the same manifest: what lies there and is not
listed is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from packager.errors import ArchiveError, IntegrityError

from .bounds import MAX_DIGEST_LINE, MAX_NAME_BYTES, MAX_NAME_PARTS, MAX_PACKED, MAX_SIGNATURE
from .digests import crc32
from .entry_names import (
    DIGEST,
    MANIFEST,
    SIGNATURES,
    check_names,
    check_order,
    is_reserved,
)
from .errors import ArchiveIOError, damaged
from .listing import Listing
from .sources import Source, open_file
from .zip_directory import read_directory
from .zip_records import ZIP64_LIMIT, local_header

_RESERVED_LIMITS: Final = {MANIFEST: MAX_PACKED, DIGEST: MAX_DIGEST_LINE}


class Container(Protocol):
    """Where the entries of an archive lie."""

    def reserved(self, name: str) -> bytes:
        """The bytes of the manifest, its digest or a signature."""
        ...

    def signatures(self) -> list[str]:
        """The names of the signatures."""
        ...

    def match(self, listing: Listing) -> None:
        """Demand that the entries here and in the manifest are the same; called once, before `locate`."""
        ...

    def locate(self, index: int) -> tuple[Source, int]:
        """Where the bytes of a listed entry are, its header having been checked."""
        ...

    def check_crc(self, index: int) -> None:
        """Demand that the container's own digest of a listed entry, if it has one, is the manifest's."""
        ...

    def size(self) -> int:
        """How many bytes the archive takes."""
        ...

    def close(self) -> None:
        """Let go of all files."""
        ...


class ZipContainer:
    """An archive in one file."""

    def __init__(self, source: Source, limit: int = ZIP64_LIMIT) -> None:
        self._source = source
        self._limit = limit
        self._directory = read_directory(source.view, source.size, limit)
        self._listed = check_order(self._directory.names)
        self._checked = bytearray(len(self._directory.names))  # whose local headers have been compared
        self._listing: Listing | None = None

    def reserved(self, name: str) -> bytes:
        index = self._directory.names.index(name)
        _check_reserved(name, self._directory.sizes[index])
        source, start = self.locate(index)
        data = bytes(source.view(start, start + self._directory.sizes[index]))
        if crc32(data) != self._directory.crcs[index]:
            raise IntegrityError(
                f"entry {name!r}: its bytes do not have the CRC-32 of the ZIP; the file is damaged"
            )
        return data

    def signatures(self) -> list[str]:
        return self._directory.names[self._listed + 2 :]

    def match(self, listing: Listing) -> None:
        directory, listed = self._directory, self._listed
        found = directory.names[:listed], directory.sizes[:listed], bytes(directory.aligns[:listed])
        if found != (listing.names, listing.sizes, listing.aligns):
            raise _unlike(dict(zip(found[0], found[1], strict=True)), listing)
        self._listing = listing

    def locate(self, index: int) -> tuple[Source, int]:
        start = self._directory.starts[index]
        if not self._checked[index]:
            offset = self._directory.offsets[index]
            expected = local_header(self._directory.entry(index), self._limit)
            if self._source.view(offset, start) != expected:
                name = self._directory.names[index]
                raise damaged(
                    f"entry {name!r}, byte {offset}", "a local header that differs", "it as in the directory"
                )
            self._checked[index] = 1
        return self._source, start

    def check_crc(self, index: int) -> None:
        assert self._listing is not None
        expected, found = self._listing[index].crc, self._directory.crcs[index]
        if expected != found:
            raise IntegrityError(
                f"entry {self._directory.names[index]!r}: the ZIP gives CRC-32 {found:08x}, the manifest "
                f"{expected:08x}; the file is damaged or was tampered with"
            )

    def size(self) -> int:
        return self._source.size

    def close(self) -> None:
        self._source.close()


class FolderContainer:
    """An archive that was unpacked; only files with the listed names and sizes may lie in it."""

    def __init__(self, folder: Path, *, mapped: bool) -> None:
        self._folder = folder
        self._mapped = mapped
        # First, or a folder that is something else would be looked through to its end.
        for name in (MANIFEST, DIGEST):
            if not os.path.lexists(folder / name):
                raise damaged(f"folder {str(folder)!r}", f"no {name}", "an unpacked archive, with it")
        self._files = dict(_files(folder))
        self._listing: Listing | None = None
        self._maps: dict[int, Source] = {}
        check_names(list(self._files))

    def reserved(self, name: str) -> bytes:
        size = self._files[name]
        _check_reserved(name, size)
        source = self._open(name, size, mapped=False)
        try:
            return bytes(source.view(0, size))
        finally:
            source.close()

    def signatures(self) -> list[str]:
        return sorted(name for name in self._files if name.startswith(SIGNATURES))

    def match(self, listing: Listing) -> None:
        ordinary = {name: size for name, size in self._files.items() if not is_reserved(name)}
        if dict(zip(listing.names, listing.sizes, strict=True)) != ordinary or len(ordinary) != len(listing):
            raise _unlike(ordinary, listing)
        self._listing = listing

    def locate(self, index: int) -> tuple[Source, int]:
        assert self._listing is not None
        if index not in self._maps:
            mapped = self._mapped and self._listing.aligns[index] != 1
            source = self._open(self._listing.names[index], self._listing.sizes[index], mapped=mapped)
            if not source.steady:
                return source, 0
            # Only aligned entries stay open: an archive may have more entries than a process may
            # have files.
            self._maps.setdefault(index, source)
        return self._maps[index], 0

    def check_crc(self, index: int) -> None:
        pass

    def size(self) -> int:
        return sum(self._files.values())

    def close(self) -> None:
        for source in self._maps.values():
            source.close()
        self._maps = {}

    def _open(self, name: str, size: int, *, mapped: bool) -> Source:
        path = self._folder / name
        try:
            source = open_file(_descriptor(self._folder, name), str(path), mapped=mapped)
        except ArchiveIOError:
            raise
        except OSError as error:
            raise ArchiveIOError(f"entry {name!r}: it cannot be opened: {error}", error, str(path)) from error
        if source.size != size:
            source.close()
            raise damaged(f"entry {name!r}", f"{source.size} bytes", f"the {size} that were there before")
        return source


def _check_reserved(name: str, size: int) -> None:
    limit = _RESERVED_LIMITS.get(name, MAX_SIGNATURE)
    if size > limit:
        raise damaged(f"entry {name!r}", f"{size} bytes", f"at most {limit}")


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Every file below a folder with its size; anything else than files and folders is refused."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        if prefix.count("/") >= MAX_NAME_PARTS or len(os.fsencode(prefix)) > MAX_NAME_BYTES:
            where = f"folder {prefix[:80]!r}..."
            raise damaged(
                where, "a path without end", f"at most {MAX_NAME_PARTS} parts and {MAX_NAME_BYTES} bytes"
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
    *parents, last = name.split("/")
    flags = os.O_RDONLY | os.O_CLOEXEC
    current = os.open(folder, flags | os.O_DIRECTORY)
    try:
        for part in parents:
            below = os.open(part, flags | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
            os.close(current)
            current = below
        return os.open(last, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=current)
    finally:
        os.close(current)


def _unlike(found: Mapping[str, int], listing: Listing) -> ArchiveError:
    """The error for entries that are not those of the manifest."""
    expected = dict(zip(listing.names, listing.sizes, strict=True))
    groups = {
        "not in the manifest": [name for name in found if name not in expected],
        "missing": [name for name in expected if name not in found],
        "of another size": [name for name in found if expected.get(name, found[name]) != found[name]],
    }
    parts = [f"{what}: {_some(names)}" for what, names in groups.items() if names]
    return ArchiveError(
        f"the archive does not hold what its manifest lists; "
        f"{'; '.join(parts) or 'order or alignment differ'}. "
        "The archive was changed after it was written: get it again"
    )


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
