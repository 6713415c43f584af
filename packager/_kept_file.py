"""One file of what was made of many sources: compiled code, or the import statements that stand in them.

Records stand one behind another, each with the digest of its source, its length and a CRC-32, and new ones
are added at the end by one write. So a package is read by one look at the disk and not by one for each
module, and processes can share the file without a lock: a record that two of them add at once stands there
twice, the last one counts. Whatever is not a whole record ends the reading: what stands behind is made
again, and then the file is written anew. A record that is damaged inside is passed over, and added once more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple
from zlib import crc32

from packager._caches import append_own, keep_file, read_own

MOST: Final = 16 << 20
"""Bytes from which a file is begun anew, with what this process has used of it."""

_HEAD: Final = Struct("<4s32sII")  # mark, digest of the source, CRC-32, length
_MARK: Final = b"kel1"
_NEVER: Final = (-1, -1, -1)


class Kept(NamedTuple):
    """What is kept of a source, and the digest of that."""

    digest: bytes
    data: bytes | memoryview

    def packed(self) -> bytes:
        """Return what stands in the file."""
        head = _HEAD.pack(_MARK, self.digest, crc32(self.data, crc32(self.digest)), len(self.data))
        return head + self.data


class KeptFile:
    """The records in the file at `path`, which need not exist.

    It is read at the first question, and once more when it was changed since. What was handed out is let go,
    so that no copy of the file stays in memory behind an import that has used all of it.

    >>> KeptFile("/no/such/file").take(bytes(32)) is None
    True
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._there: dict[bytes, tuple[int, memoryview]] = {}
        self._known: set[bytes] = set()  # all that is in the file
        self._used: set[bytes] = set()
        self._stamp = _NEVER
        self._is_whole = True

    def take(self, digest: bytes) -> memoryview | None:
        """Return what is kept for the source of a digest, where it is there and whole."""
        if digest not in self._there and self.has(digest):
            self._read()  # it was handed out before
        found = self._there.pop(digest, None)
        if found is None:
            return None
        self._used.add(digest)
        checksum, data = found
        return data if _is_right(digest, checksum, data) else None

    def has(self, digest: bytes) -> bool:
        """Say whether there is a record for a source; it may turn out to be damaged."""
        if self._stamp != self._stamp_now():
            self._read()
        return digest in self._known

    def add(self, records: Iterable[Kept]) -> None:
        """Add records at the end, but for those that are there: others have added them meanwhile.

        Raises OSError, as where the folder cannot be written.
        """
        records = list(records)
        digests = [record.digest for record in records]
        self._used.update(digests)
        if self._stamp != self._stamp_now():
            self._read()
        if not self._known.isdisjoint(digests):
            there = {record.digest for record in self.whole()}  # and whole
            records = [record for record in records if record.digest not in there]
        if not records:
            return
        added = b"".join([record.packed() for record in records])
        size = self._stamp[0] + len(added)
        if self._is_whole and size <= MOST:
            append_own(self.path, added)
        else:
            used = self._used.difference([record.digest for record in records])
            kept = [record.packed() for record in self.whole() if record.digest in used]
            added = b"".join(kept) + added
            size = len(added)
            keep_file(self.path, added)
            self._is_whole = True
        stamp = self._stamp_now()
        if stamp[0] == size:  # nobody else has added anything
            self._known.update([record.digest for record in records])
            self._stamp = stamp

    def whole(self) -> list[Kept]:
        """Read the file, and return the records in it that are whole."""
        self._read()
        return [Kept(key, data) for key, (crc, data) in self._there.items() if _is_right(key, crc, data)]

    def _read(self) -> None:
        stamp = self._stamp_now()  # before: what is added while it is read is seen the next time
        there: dict[bytes, tuple[int, memoryview]] = {}
        position, whole = 0, memoryview(b"")
        if stamp[0]:
            with contextlib.suppress(OSError):
                whole = memoryview(read_own(self.path))
        while position + _HEAD.size <= len(whole):
            mark, digest, checksum, length = _HEAD.unpack_from(whole, position)
            end = position + _HEAD.size + length
            if mark != _MARK or end > len(whole):
                break
            there[digest] = checksum, whole[position + _HEAD.size : end]
            position = end
        self._known, self._is_whole = set(there), position == len(whole)
        self._there, self._stamp = there, stamp

    def _stamp_now(self) -> tuple[int, int, int]:
        """Return size, time and number of the file; a size of 0 where there is none."""
        try:
            status = os.stat(self.path)
        except (OSError, ValueError):
            return 0, 0, 0
        return status.st_size, status.st_mtime_ns, status.st_ino


def _is_right(digest: bytes, checksum: int, data: memoryview) -> bool:
    return crc32(data, crc32(digest)) == checksum
