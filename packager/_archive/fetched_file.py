"""A file at an address, or a file object with ranges, as a source: a mapped file that fills as it is used.

It lies in memory alone, in a file without a name. So it has what a mapped file on a disk has: views, private
maps, reading ahead.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from packager._remote import Address, Fetching, open_ranges

from .archive_errors import ArchiveIOError
from .byte_sources import (
    UNTRACKED,
    BoundedFile,
    ChangeStamp,
    Mapped,
    MappedFile,
    Memory,
    Source,
    unreserved,
)


class FetchedFile(MappedFile):
    """The bytes that `ranges` give, each fetched once at its first use, and kept."""

    fetches = True

    def __init__(self, ranges: Any, *, ahead: bool) -> None:
        descriptor = _memory_file(ranges.size)
        try:
            memory = mmap.mmap(descriptor, ranges.size, access=mmap.ACCESS_WRITE, **UNTRACKED)
            super().__init__(descriptor, ranges.name)
        except OSError:
            os.close(descriptor)
            raise
        self.reads_ahead = ahead
        self._fetching = Fetching(ranges, memoryview(memory))

    def view(self, start: int, stop: int) -> memoryview:
        self._fetching.need(start, stop)
        return super().view(start, stop)

    def room(self, start: int, stop: int) -> memoryview:
        return super().view(start, stop)

    def will_use(self, start: int, stop: int) -> None:
        """Begin to fetch the bytes, in the background."""
        self._fetching.will_need(start, stop)

    def change_stamp(self) -> ChangeStamp:
        """Return what never differs: versions are compared as bytes are fetched, once."""
        self._held()
        return ()

    def close(self) -> None:
        super().close()
        self._fetching.close()

    def _fill(self, rest: memoryview, descriptor: Any, start: int) -> None:
        self._fetching.copy(start, rest)


class FetchedParts(BoundedFile):
    """The bytes that `ranges` give, fetched anew for every view but for the last few MiB.

    It has no descriptor: a checkpoint may have hundreds of shards.
    """

    fetches = True

    def __init__(self, ranges: Any) -> None:
        self.size, self._name = ranges.size, ranges.name
        memory = mmap.mmap(-1, ranges.size, **unreserved("MAP_SHARED"))
        self._fetching = Fetching(ranges, memoryview(memory), memory)
        self._descriptor: Any = self._fetching

    def change_stamp(self) -> ChangeStamp:
        """Return what never differs, as that of FetchedFile."""
        self._held()
        return ()

    def close(self) -> None:
        super().close()
        self._fetching.close()

    def _check_size(self, descriptor: Any) -> None:
        """Do nothing: it is compared as bytes are fetched."""

    def _fill(self, rest: memoryview, descriptor: Any, start: int) -> None:
        self._fetching.copy(start, rest)


def open_fetched(source: Address | Any, *, mapped: Mapped, from_end: bool = True) -> Source:
    """Open an address, or a file object that can seek; one request reads its end, or else its start.

    Raises RemoteError where it cannot be read, AddressError where a package is needed for its scheme,
    ArchiveIOError where the system has no memory of that size.
    """
    ranges = open_ranges(source, from_end=from_end)
    try:
        if not ranges.size:
            return Memory(b"")
        return FetchedFile(ranges, ahead=mapped == "prefetch") if mapped else FetchedParts(ranges)
    except OSError as error:
        ranges.close()
        raise ArchiveIOError(
            f"{ranges.name}: {ranges.size} bytes of memory cannot be allocated: {error}; download the file "
            "first",
            error,
        ) from error


def _memory_file(size: int) -> int:
    """Return the descriptor of a file of so many bytes; it takes memory as it is filled. Raises OSError."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("packager", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile(buffering=0) as file:
            descriptor = os.dup(file.fileno())
    try:
        os.truncate(descriptor, size)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
