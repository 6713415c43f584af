"""The file that an archive is written to: replaced in one step or not at all.

Bytes are written in batches, without being copied, while other threads digest the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Any, BinaryIO, Final

from packager.atomic import ReplacedFile, TemporaryFolder
from packager.file_access import NEW_FILE, os_error_mend

from .archive_errors import ArchiveIOError
from .bounds import CHUNK
from .byte_sources import UNTRACKED, read_into
from .entries import crc32, thread_count
from .reserving import reserve

_BATCH: Final = 8 * CHUNK
_MOST_BUFFERS: Final = 512  # in one call; systems allow 1,024
_PIECE: Final = 2 * CHUNK  # what a file object is given at once; more from a map is cut up by the system
_MOST_WAITING: Final = 8  # batches that wait for a digest, two a thread: a stream is never held in memory


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
                    f"{self.name}: the archive is written, but its folder cannot be synchronised: "
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


class BatchedFile:
    """A file that gathers buffers and writes many at a time. `position` counts what was given to it.

    Until `flush`, writes end at multiples of `write_multiple()`, and what is behind waits for more. A system
    that keeps files in pieces of up to 2 MiB makes one where a write covers it, and maps it in one step;
    writes that start anywhere leave it many smaller ones.
    """

    def __init__(self, descriptor: int, progress: Callable[[int], None]) -> None:
        self.position = 0
        self._descriptor = descriptor
        self._progress = progress
        self._waiting: list[memoryview] = []
        self._bytes_waiting = 0
        self._multiple = write_multiple()

    def write(self, data: bytes | memoryview) -> None:
        """Write soon; `data` must keep its content until `flush`, or `let_go` as that says."""
        if not len(data):
            return
        self._waiting.append(memoryview(data))
        self._bytes_waiting += len(data)
        self.position += len(data)
        if self._bytes_waiting >= _BATCH or len(self._waiting) >= _MOST_BUFFERS:
            self.let_go()

    def let_go(self) -> None:
        """Write what waits, but for what is behind the last multiple, which waits for what follows it."""
        behind = self.position % self._multiple
        if behind >= self._bytes_waiting:  # no multiple is reached
            if len(self._waiting) >= _MOST_BUFFERS:
                self.flush()
            return
        kept = _cut_off(self._waiting, behind)
        self._write_waiting()
        self._waiting, self._bytes_waiting = kept, behind
        self._progress(self.position - behind)

    def flush(self) -> None:
        """Write everything that waits."""
        self._write_waiting()
        self._waiting, self._bytes_waiting = [], 0
        self._progress(self.position)

    def _write_waiting(self) -> None:
        waiting = self._waiting
        while waiting:
            done = _write_some(self._descriptor, waiting)
            whole = 0
            while whole < len(waiting) and done >= len(waiting[whole]):
                done -= len(waiting[whole])
                whole += 1
            waiting = waiting[whole:]
            if done:
                waiting[0] = waiting[0][done:]

    def expect(self, size: int) -> None:
        """Ask for the room of so many bytes that follow what was given so far; nothing depends on it."""
        reserve(self._descriptor, self.position, size)

    def go_back(self, position: int) -> None:
        """Write over everything from `position` on, all of which has been flushed."""
        os.lseek(self._descriptor, position, os.SEEK_SET)
        self.position = position

    def end(self) -> None:
        """Write what waits, and leave nothing behind what was written last."""
        self.flush()
        os.ftruncate(self._descriptor, self.position)

    def patch(self, position: int, data: bytes) -> None:
        """Write over bytes that have been flushed."""
        write_at(self._descriptor, data, position)

    def leave_room(self, size: int) -> None:
        """Leave out so many bytes, which others write. Everything that waits is written."""
        self.flush()
        self.expect(size)
        self.position += size
        os.ftruncate(self._descriptor, self.position)
        os.lseek(self._descriptor, self.position, os.SEEK_SET)

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


def _cut_off(buffers: list[memoryview], size: int) -> list[memoryview]:
    """Take the last `size` bytes out of buffers that stand one after another, and have more; return them."""
    taken: list[memoryview] = []
    while size:
        last = buffers.pop()
        if len(last) > size:
            buffers.append(last[:-size])
            last = last[-size:]
        taken.append(last)
        size -= len(last)
    return taken[::-1]


def _write_some(descriptor: int, buffers: list[memoryview]) -> int:
    """Write what can be written of some buffers at once; return how many bytes that were."""
    if hasattr(os, "writev"):
        return os.writev(descriptor, buffers)
    return os.write(descriptor, buffers[0])


def write_at(descriptor: int, data: bytes | memoryview, position: int) -> int:
    """Write bytes in the middle, and return how many; what is written next still goes where it would have."""
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, position)
    end = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, position, os.SEEK_SET)
    done = os.write(descriptor, data)
    os.lseek(descriptor, end, os.SEEK_SET)
    return done


class ChunkDigests:
    """The digests of one entry's chunks, as they become known; `late` when that takes other threads."""

    def __init__(self) -> None:
        self._batches: list[Future[tuple[bytes, bytes]]] = []
        self._known: tuple[bytes, bytes] | None = None

    @classmethod
    def known(cls, crcs: bytes, sha256s: bytes) -> ChunkDigests:
        """Return digests that are there already."""
        digests = cls()
        digests._known = crcs, sha256s
        return digests

    def give(self, crcs: bytes, sha256s: bytes) -> None:
        """Take digests that others have made."""
        self._batches.append(Future())
        self._batches[-1].set_result((crcs, sha256s))

    @property
    def late(self) -> bool:
        return self._known is None

    def append(self, batch: Future[tuple[bytes, bytes]]) -> None:
        self._batches.append(batch)

    def result(self) -> tuple[bytes, bytes]:
        """Wait for CRC-32 and sha256 of all chunks, and return them."""
        if self._known is not None:
            return self._known
        done = [batch.result() for batch in self._batches]
        return b"".join(crcs for crcs, _ in done), b"".join(sha256s for _, sha256s in done)


class Digester:
    """Digests batches of chunks on other threads: one for CRC-32 alone, one a processor with sha256."""

    def __init__(self, *, sha256: bool) -> None:
        self.threads = thread_count() if sha256 else 1
        self._threads = ThreadPoolExecutor(self.threads)
        self._waiting: deque[Future[tuple[bytes, bytes]]] = deque()

    def submit(self, batch: list[list[memoryview]], *, sha256: bool) -> Future[tuple[bytes, bytes]]:
        """Digest chunks, each given in pieces; waits while too much is under way."""
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.popleft().result()
        future = self._threads.submit(_digests_of, batch, sha256)
        self._waiting.append(future)
        return future

    def __enter__(self) -> Digester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)


def in_batches(buffers: Iterable[memoryview]) -> Iterator[list[list[memoryview]]]:
    """Cut a stream of buffers into batches of chunks, each chunk a list of pieces, without copying."""
    batch: list[list[memoryview]] = []
    chunk: list[memoryview] = []
    missing = CHUNK
    for buffer in buffers:
        while len(buffer) >= missing:
            chunk.append(buffer[:missing])
            buffer = buffer[missing:]
            batch.append(chunk)
            chunk, missing = [], CHUNK
            if len(batch) * CHUNK >= _BATCH:
                yield batch
                batch = []
        if len(buffer):
            chunk.append(buffer)
            missing -= len(buffer)
    if chunk:
        batch.append(chunk)
    if batch:
        yield batch


def _digests_of(batch: list[list[memoryview]], sha256: bool) -> tuple[bytes, bytes]:
    crcs, sha256s = bytearray(), bytearray()
    for chunk in batch:
        crc = 0
        for piece in chunk:
            crc = crc32(piece, crc)
        crcs += crc.to_bytes(4, "little")
        if sha256:
            digest = hashlib.sha256()
            for piece in chunk:
                digest.update(piece)
            sha256s += digest.digest()
    return bytes(crcs), bytes(sha256s)


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


# --- where writes should end, so that the system keeps a file in pieces that it maps in one step each ---

_FOLIO: Final = 2 << 20  # the most that Linux keeps of a file in one piece, where one write covers it
_REPORTED: Final = "/sys/module/page_reporting/parameters/page_reporting_order"
_MOST: Final = 10  # the largest order of memory that Linux hands out; more stands for none


@cache
def write_multiple() -> int:
    """Return the bytes at whose multiples writes should end: 2 MiB, or 1 for anywhere.

    That is where free memory in such pieces is given back to the host of a virtual machine: to have it again
    takes longer than the write, so that what lies between such pieces is better taken first.
    """
    try:
        with open(_REPORTED, encoding="ascii") as file:
            order = int(file.read())
    except (OSError, ValueError):  # of other systems, and of Linux that knows no such thing
        return _FOLIO
    return 1 if 0 <= order <= _MOST else _FOLIO
