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
from .byte_sources import UNTRACKED, ChangeStamp, Mapped, MappedFile, Memory, anonymous


class FetchedFile(MappedFile):
    """The bytes that `ranges` give, each fetched once at its first use, and kept where `mapped`.

    With `mapped=False` they are fetched anew for every view, but for the last few MiB.
    """

    fetches = True

    def __init__(self, ranges: Any, *, mapped: Mapped) -> None:
        descriptor = _memory_file(ranges.size)
        try:
            memory = mmap.mmap(descriptor, ranges.size, access=mmap.ACCESS_WRITE, **UNTRACKED)
            super().__init__(descriptor, ranges.name)
        except OSError:
            os.close(descriptor)
            raise
        self.steady = bool(mapped)
        self.reads_ahead = mapped == "prefetch"
        self._fetching = Fetching(ranges, memoryview(memory), None if mapped else memory)

    def view(self, start: int, stop: int) -> memoryview:
        if not self.steady:
            return memoryview(self._read(start, stop)).toreadonly()
        self._fetching.need(start, stop)
        return super().view(start, stop)

    def room(self, start: int, stop: int) -> memoryview:
        return super().view(start, stop)

    def will_use(self, start: int, stop: int) -> None:
        """Begin to fetch the bytes, in the background, where they stay in memory."""
        if self.steady:
            self._fetching.will_need(start, stop)

    def change_stamp(self) -> ChangeStamp:
        """Return what never differs: versions are compared as bytes are fetched, once."""
        self._held()
        return ()

    def private(self, start: int, stop: int) -> memoryview:
        return super().private(start, stop) if self.steady else anonymous(stop - start)

    def close(self) -> None:
        super().close()
        self._fetching.close()

    def _fill(self, rest: memoryview, descriptor: Any, start: int) -> None:
        self._fetching.copy(start, rest)


def open_fetched(source: Address | Any, *, mapped: Mapped, from_end: bool = True) -> FetchedFile | Memory:
    """Open an address, or a file object that can seek; one request reads its end, or else its start.

    Raises RemoteError where it cannot be read, AddressError where a package is needed for its scheme,
    ArchiveIOError where the system has no memory of that size.
    """
    ranges = open_ranges(source, from_end=from_end)
    try:
        return FetchedFile(ranges, mapped=mapped) if ranges.size else Memory(b"")
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
