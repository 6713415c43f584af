"""A safetensors member that several processes write into one file, each its own bytes.

The file is that of the process which makes the archive. It writes what comes before the member, and leaves
room; each process opens the file by its path and writes its pieces into that room; then each reads some
chunks of the member back, and gives their digests. What is written is what one process would have written.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from packager._file_access import READ_FILE, WRITE_FILE
from packager._quick_dataclasses import dataclass, field

from .bounds import CHUNK
from .byte_sources import read_into
from .entries import crcs_of, sha256s_of
from .output_files import write_at

_READ: Final = 8 * CHUNK
_FIRST_LOOK: Final = 4096


@dataclass(frozen=True)
class Piece:
    """This process's bytes of a storage: those of a box of a tensor, in C order.

    `shape` is that of the whole tensor, `itemsize` the bytes of one of its elements.
    """

    data: memoryview = field(repr=False)
    shape: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    itemsize: int

    def runs(self) -> Iterator[tuple[int, memoryview]]:
        """Yield where in the storage bytes lie side by side, and these bytes.

        >>> piece = Piece(memoryview(b"abcd"), (2, 4), ((0, 2), (1, 3)), 1)
        >>> [(start, bytes(data)) for start, data in piece.runs()]
        [(1, b'ab'), (5, b'cd')]
        """
        if not len(self.data):
            return
        axis, inner = len(self.shape), self.itemsize
        while axis and self.box[axis - 1] == (0, self.shape[axis - 1]):
            axis -= 1
            inner *= self.shape[axis]
        if not axis:
            yield 0, self.data
            return
        first, last = self.box[axis - 1]
        length, taken = (last - first) * inner, 0
        steps = [math.prod(self.shape[at + 1 : axis]) * inner for at in range(axis)]
        for outer in itertools.product(*(range(*ends) for ends in self.box[: axis - 1])):
            start = sum(at * step for at, step in zip(outer, steps, strict=False)) + first * inner
            yield start, self.data[taken : taken + length]
            taken += length


@dataclass(frozen=True)
class SharedStorage:
    """A storage of so many bytes, of which this process writes `pieces`; others write the rest."""

    nbytes: int
    pieces: tuple[Piece, ...] = ()

    def runs(self) -> Iterator[tuple[int, memoryview]]:
        """Yield where in the storage bytes of this process lie side by side, and these bytes."""
        for piece in self.pieces:
            yield from piece.runs()


@dataclass(frozen=True)
class Room:
    """Where a member is to be written: into the file at `path`, of its bytes `size` from `start` on.

    What comes before its storages is there. `firsts` says by number at which byte of the member each starts.
    """

    path: str
    start: int
    size: int
    firsts: Mapping[int, int]


def write_pieces(path: str, storages: Sequence[tuple[int, SharedStorage]], *, fsync: bool) -> None:
    """Write this process's bytes of storages, each of which starts at a place in the file. Raises OSError."""
    descriptor = os.open(path, WRITE_FILE)
    try:
        for first, storage in storages:
            for start, data in storage.runs():
                write_at(descriptor, data, first + start)
        if fsync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def find_pieces(path: str, asked: Sequence[tuple[SharedStorage, Sequence[int]]]) -> list[bytes]:
    """Say for each storage which of some places in a file hold this process's bytes of it, one byte for each.

    Raises OSError.
    """
    descriptor = os.open(path, READ_FILE)
    try:
        return [bytes(_holds(descriptor, start, storage) for start in starts) for storage, starts in asked]
    finally:
        os.close(descriptor)


def _holds(descriptor: int, start: int, storage: SharedStorage) -> bool:
    """Say whether bytes of a file are this process's bytes of a storage; most that are not differ early."""
    for at, data in storage.runs():
        low, step = 0, _FIRST_LOOK
        while low < len(data):
            piece = data[low : low + step]
            if _read(descriptor, start + at + low, len(piece)) != piece:
                return False
            low, step = low + step, CHUNK
    return True


def digest_chunks(
    path: str, start: int, size: int, share: tuple[int, int], *, sha256: bool
) -> tuple[bytes, bytes]:
    """Return CRC-32 and sha256 of some chunks of an entry that starts at a place in the file.

    `share` says from which chunk to which. Raises OSError, where the file is shorter as well.
    """
    crcs, sha256s = bytearray(), bytearray()
    low, high = (min(chunk * CHUNK, size) for chunk in share)
    descriptor = os.open(path, READ_FILE)
    try:
        for at in range(low, high, _READ):
            view = memoryview(_read(descriptor, start + at, min(_READ, high - at)))
            crcs += crcs_of(view)
            sha256s += sha256s_of(view) if sha256 else b""
    finally:
        os.close(descriptor)
    return bytes(crcs), bytes(sha256s)


def share_of_chunks(size: int, rank: int, ranks: int) -> tuple[int, int]:
    """Return from which chunk of an entry to which one of several processes digests.

    >>> [share_of_chunks(5 * CHUNK, rank, 2) for rank in range(2)]
    [(0, 2), (2, 5)]
    """
    chunks = -(-size // CHUNK)
    return rank * chunks // ranks, (rank + 1) * chunks // ranks


def _read(descriptor: int, position: int, size: int) -> bytes:
    data = memoryview(bytearray(size))
    found = 0
    while found < size:
        more = read_into(data[found:], descriptor, position + found)
        if not more:
            raise OSError(f"its unfinished file has no byte {position + found}: it was truncated meanwhile")
        found += more
    return bytes(data)
