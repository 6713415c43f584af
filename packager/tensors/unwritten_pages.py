"""Whether two views show the same pages of a file: then their bytes are the same, and need not be read.

Tensors that were loaded are maps of the archive, copied page by page where they are written to. The system
knows which pages were: on Linux `/proc/self/maps` says what is mapped where, and `/proc/self/pagemap` which
pages are still the file's. Elsewhere nothing is known, and bytes are compared.
"""

from __future__ import annotations

import mmap
import sys
from bisect import bisect_right
from collections.abc import Iterator

from packager.quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Final


_MAPS: Final = "/proc/self/maps"
_PAGES: Final = "/proc/self/pagemap"
_OF_ENTRY: Final = 8
"""Bytes that say what a page is, as a number in the order of this machine."""
_TOP: Final = _OF_ENTRY - 1 if sys.byteorder == "little" else 0
_ABSENT, _PRESENT, _OF_FILE, _EXCLUSIVE = 0, 1 << 7, 1 << 5, 1
"""In the highest byte. An absent page was not written to: one that was has a bit."""
_UNWRITTEN: Final = bytes((_ABSENT, _PRESENT | _OF_FILE, _PRESENT | _OF_FILE | _EXCLUSIVE))


@dataclass(frozen=True)
class _Mapping:
    """A range of addresses that shows a file from byte `offset` on; `file` is its device, inode and path."""

    start: int
    stop: int
    offset: int
    file: tuple[bytes, ...]


class MappedPages:
    """The files that are mapped into this process now; maps that are made later are not known.

    >>> import os, tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     _ = file.write(bytes(4 * mmap.PAGESIZE))
    ...     file.flush()
    ...     shared = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    ...     private = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    >>> pages = MappedPages()
    >>> pages.are_same(shared, private) in (True, not os.path.exists("/proc/self/pagemap"))
    True
    >>> private[5] = 5
    >>> pages.are_same(shared, private)
    False
    """

    def __init__(self) -> None:
        try:
            with open(_MAPS, "rb") as maps:
                self._mappings = list(_mappings(maps))
        except OSError:  # another system
            self._mappings = []
        self._starts = [one.start for one in self._mappings]

    def are_same(self, one: memoryview, other: memoryview) -> bool:
        """Say whether two contiguous views are known to show the same bytes of one file, unchanged.

        False says nothing: the bytes may be equal.
        """
        if one.nbytes != other.nbytes or not one.nbytes:
            return False
        first, second = self._place(one), self._place(other)
        return first is not None and first == second

    def _place(self, view: memoryview) -> tuple[tuple[bytes, ...], int] | None:
        """Return the file that a view shows, and from which byte on; None where that is not known."""
        import numpy  # where there are tensors, it is there

        start = numpy.frombuffer(view.cast("B"), numpy.uint8).ctypes.data
        stop = start + view.nbytes
        at = bisect_right(self._starts, start) - 1
        if at < 0 or self._mappings[at].stop < stop or not _are_unwritten(start, stop):
            return None
        mapping = self._mappings[at]
        return mapping.file, mapping.offset + start - mapping.start


def _mappings(lines: Iterator[bytes]) -> Iterator[_Mapping]:
    for line in lines:
        addresses, _, offset, *file = line.split(None, 5)
        if len(file) == 3 and file[1] != b"0":
            start, _, stop = addresses.partition(b"-")
            yield _Mapping(int(start, 16), int(stop, 16), int(offset, 16), tuple(file))


def _are_unwritten(start: int, stop: int) -> bool:
    """Say whether all pages of a range are those of the file that is mapped there, as far as is known."""
    first, last = start // mmap.PAGESIZE, (stop - 1) // mmap.PAGESIZE
    size = (last - first + 1) * _OF_ENTRY
    try:
        with open(_PAGES, "rb", buffering=0) as pages:
            pages.seek(first * _OF_ENTRY)
            entries = pages.read(size)
    except (OSError, OverflowError):  # a process that may not ask, or another system
        return False
    return len(entries) == size and not entries[_TOP::_OF_ENTRY].translate(None, _UNWRITTEN)
