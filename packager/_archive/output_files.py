"""The file that an archive is written to: replaced in one step or not at all.

Chunks are digested and written on all cores, as many at a time as there are threads.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import weakref
from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from packager._atomic import ReplacedFile, TemporaryFolder
from packager._file_access import NEW_FILE, os_error_mend

from .archive_errors import ArchiveIOError
from .bounds import CHUNK
from .byte_sources import SEEKING, UNTRACKED, read_into
from .entries import crc32, in_threads, thread_count

_PIECE: Final = 2 * CHUNK  # what a file object is given at once; more from a map is cut up by the system


class PathTarget:
    """A path to be replaced, as `ReplacedFile` says.

    Every OSError becomes an ArchiveIOError that names the target. Raises it when the target cannot be
    written to; nothing has been created then.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool) -> None:
        self.name = os.fspath(path)
        self._fsync = fsync
        with reported(self.name):
            self._file = ReplacedFile(path)

    def begin(self) -> int:
        """Return a descriptor to write to, and to read from, until `finish` or `discard`.

        Raises ArchiveIOError.
        """
        with reported(self.name):
            return self._file.begin()

    @property
    def part(self) -> str:
        """The path of the unfinished file."""
        return self._file.part

    def finish(self, check: Callable[[str], None] | None = None) -> None:
        """Replace the target; `check` is called with the path of the whole file before it is in place.

        Raises ArchiveIOError.
        """
        with reported(self.name):
            self._file.finish(fsync=self._fsync, check=check)
        if self._fsync:
            try:
                self._file.sync_folder()
            except OSError as error:
                raise ArchiveIOError(
                    f"{self.name}: the archive is written, but its folder cannot be synced: "
                    f"{error.strerror}; it is in place, but may not survive a power cut; look after the disk",
                    error,
                    self.name,
                ) from error

    def discard(self) -> None:
        """Leave nothing behind; the target is as it was. After `finish` this does nothing."""
        self._file.discard()


class FileTarget:
    """A binary file object; it receives the finished archive in one go, from where it stands."""

    name = "the temporary file"

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._folder: TemporaryFolder | None = None
        self._path = ""
        self._held: list[int] = []

    def begin(self) -> int:
        """Return a descriptor of a temporary file, to write to and to read from."""
        with reported(self.name):
            self._folder = TemporaryFolder("archive")
            self._path = os.path.join(self._folder.path, "archive.kellet")
            self._held.append(os.open(self._path, NEW_FILE, 0o600))
        weakref.finalize(self, _close, self._held)
        return self._held[-1]

    @property
    def part(self) -> str:
        """The path of the unfinished file."""
        return self._path

    def finish(self, check: Callable[[str], None] | None = None) -> None:
        """Write the content to the file object; `check` is called with the path of the whole file before."""
        if check is not None:
            check(self._path)
        with reported(self.name):
            # Mapped, as what is read takes memory of its own, page by page: four times as long.
            mapped = mmap.mmap(self._held[-1], 0, access=mmap.ACCESS_READ, **UNTRACKED)
        _write_all(self._file, mapped)
        with contextlib.suppress(BufferError):  # the file object keeps what it was given, and so the mapping
            mapped.close()
        self.discard()

    def discard(self) -> None:
        """Remove the temporary file."""
        _close(self._held)
        if self._folder is not None:
            self._folder.close()


@contextlib.contextmanager
def written_file(path: str | os.PathLike[str], *, fsync: bool) -> Iterator[int]:
    """Give a descriptor to write to; `path` is replaced when the block ends without an error.

    Raises ArchiveIOError for every OSError, with nothing left behind.
    """
    target = PathTarget(path, fsync=fsync)
    try:
        descriptor = target.begin()
        with reported(target.name):
            yield descriptor
        target.finish()
    finally:
        target.discard()


class OutputFile:
    """A file that is written from its start on. `position` counts what was given to it.

    Small pieces are gathered. Chunks are copied, digested and written by several threads, each its own.
    """

    def __init__(self, descriptor: int, progress: Callable[[int], None]) -> None:
        self.position = 0
        self._descriptor = descriptor
        self._progress = progress
        self._waiting = bytearray()

    def write(self, data: bytes | memoryview) -> None:
        """Write soon, and before `flush` returns; what is small is copied."""
        if len(self._waiting) + len(data) > CHUNK:
            self.flush()
        if len(data) > CHUNK:
            write_at(self._descriptor, data, self.position)
        else:
            self._waiting += data
        self.position += len(data)
        if not self._waiting:
            self._progress(self.position)

    def flush(self) -> None:
        """Write everything that waits."""
        write_at(self._descriptor, self._waiting, self.position - len(self._waiting))
        self._waiting = bytearray()
        self._progress(self.position)

    def write_chunks(
        self, chunks: Iterable[Sequence[Any]], size: int, *, sha256: bool
    ) -> tuple[bytes, bytes]:
        """Write chunks, each in pieces, of `size` bytes in all; return their CRC-32 and, where asked, sha256.

        A chunk is copied first: what is digested has to be what is written, though other threads may change
        the pieces meanwhile. As many chunks are in memory as there are threads.
        """
        self.flush()
        first, caller = self.position, get_ident()

        def write(numbered: tuple[int, Sequence[Any]]) -> tuple[bytes, bytes]:
            number, pieces = numbered
            data = b"".join(pieces)
            digest = hashlib.sha256(data).digest() if sha256 else b""
            crc = crc32(data).to_bytes(4, "little")
            write_at(self._descriptor, data, first + number * CHUNK)
            if get_ident() == caller:
                self._progress(first + number * CHUNK + len(data))
            return crc, digest

        threads = min(writer_count(), max(1, size // CHUNK))  # none is begun for what is small
        found = in_threads(write, enumerate(chunks), threads)
        self.position += size
        self._progress(self.position)
        return b"".join([crc for crc, _ in found]), b"".join([digest for _, digest in found])

    def go_back(self, position: int) -> None:
        """Write over everything from `position` on, all of which has been flushed."""
        self.position = position

    def end(self) -> None:
        """Write what waits, and leave nothing behind what was written last."""
        self.flush()
        os.ftruncate(self._descriptor, self.position)

    def patch(self, position: int, data: bytes) -> None:
        """Write at a place that was left out."""
        write_at(self._descriptor, data, position)

    def leave_room(self, size: int) -> None:
        """Leave out so many bytes, which are written later, or by others."""
        self.flush()
        self.position += size
        os.ftruncate(self._descriptor, self.position)

    def holds(self, position: int, data: memoryview) -> bool:
        """Say whether the bytes at a place, which have been flushed, are these."""
        return all(
            self._read(position + at, len(piece)) == piece
            for at in range(0, len(data), CHUNK)
            for piece in (data[at : at + CHUNK],)
        )

    def _read(self, position: int, size: int) -> bytes:
        data = bytearray(size)
        return bytes(data[: read_into(memoryview(data), self._descriptor, position)])

    def map(self) -> memoryview:
        """Map all that has been flushed, read-only. Raises OSError where that cannot be done."""
        return memoryview(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ, **UNTRACKED))


def writer_count() -> int:
    """Return how many threads write: two for each processor, as one may wait for the file; four at most."""
    return min(2 * thread_count(), 4)


def write_at(descriptor: int, data: bytes | bytearray | memoryview, position: int) -> None:
    """Write all of some bytes at a place in a file, whichever threads read and write elsewhere in it."""
    rest = memoryview(data)
    while rest:
        if hasattr(os, "pwrite"):
            done = os.pwrite(descriptor, rest, position)
        else:  # Windows
            with SEEKING:
                os.lseek(descriptor, position, os.SEEK_SET)
                done = os.write(descriptor, rest)
        rest, position = rest[done:], position + done


@contextlib.contextmanager
def reported(target: str) -> Iterator[None]:
    """Raise ArchiveIOError, which names the target, for each OSError of the block."""
    try:
        yield
    except ArchiveIOError:
        raise
    except OSError as error:
        raise ArchiveIOError(
            f"{target}: the archive could not be written: {error.strerror or error}; nothing was left behind "
            f"and an old file is as it was; {os_error_mend(error)}, then save again",
            error,
            target,
        ) from error


def _close(held: list[int]) -> None:
    while held:
        os.close(held.pop())


def _write_all(file: Any, data: mmap.mmap) -> None:
    """Write to a file object, in pieces; it may take less than it is given."""
    at, whole = 0, memoryview(data)
    while at < len(whole):
        piece = whole[at : at + _PIECE]
        done = file.write(piece)
        at += len(piece) if done is None else done
