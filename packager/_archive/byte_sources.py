"""Where the bytes of an archive come from: a mapped file, a file read with bounds, or memory.

What is fetched from elsewhere is a mapped file that fills as it is used: see `fetched_file`.

A source has a fixed size from the moment it is opened. Views of a mapped file share the page cache
and keep the map alive; a file that has since become shorter is noticed whenever a view is asked
for, so that no view shows memory that is gone.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import stat
import sys
from _thread import allocate_lock

from packager._file_access import READ_FILE, os_error_mend
from packager._texts import shown_place
from packager.errors import ArchiveError

from .archive_errors import ArchiveIOError, changed, closed, damaged

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO, Final, TypeAlias

    from .reading_ahead import ReadAhead

ChangeStamp = tuple[int, ...]
"""Differs from an earlier one of the same file if that may have been modified; see `change_stamp_of`."""


class Memory:
    """Bytes that are in memory already: a source, as `BoundedFile` and `MappedFile` are.

    `steady` says that two views of one range show the same memory, `reads_ahead` that `will_use` has bytes
    read before they are used, `fetches` that each range costs a request to another machine.
    """

    steady = True
    reads_ahead = False
    fetches = False

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._view = memoryview(data).toreadonly().cast("B")
        self.size = len(self._view)

    def view(self, start: int, stop: int) -> memoryview:
        """Return the bytes between two positions, read-only."""
        return self._view[start:stop]

    def room(self, start: int, stop: int) -> memoryview:
        """Return the memory that views of a range show; it may be empty until they are asked for."""
        return self.view(start, stop)

    def copy(self, start: int, stop: int) -> bytes | bytearray:
        """Return the bytes between two positions, in memory that nothing else writes to."""
        return bytes(self._view[start:stop])

    def change_stamp(self) -> ChangeStamp:
        """Return what differs if the bytes may have been modified in place."""
        return ()

    def will_use(self, start: int, stop: int) -> None:
        """Note that bytes are about to be used. Nothing has to be done: they are there."""

    def private(self, start: int, stop: int) -> memoryview:
        """Return memory of the same size that may be written to, unseen by the source.

        It holds the bytes where the source is steady, and zeros where it is not. It starts at a
        multiple of 64 bytes, or where the range does in a file.
        """
        copy = anonymous(stop - start)
        copy[:] = self._view[start:stop]
        return copy

    def close(self) -> None:
        """Release the source; views stay valid."""
        self._view = memoryview(b"")


class _Descriptor:
    """An owned descriptor, closed with the last reference to it: never under a thread that reads."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # as the interpreter ends, too
        with contextlib.suppress(OSError):  # nothing was written to it that could be lost
            close(self.number)


SEEKING: Final = allocate_lock()
"""Held where a place in a file is gone to, and then read or written, in two calls."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SEEKING._at_fork_reinit)  # type: ignore[attr-defined]  # as threading does


def read_into(target: memoryview, number: int, at: int) -> int:
    """Read from a place in a file, wherever others read; return how many bytes there were.

    WebAssembly has no `preadv`, and Windows neither of the two: there a place is gone to first, and back.
    """
    if hasattr(os, "preadv"):
        return os.preadv(number, [target], at)
    if hasattr(os, "pread"):
        data = os.pread(number, len(target), at)
    else:
        with SEEKING:
            before = os.lseek(number, 0, os.SEEK_CUR)
            os.lseek(number, at, os.SEEK_SET)
            data = os.read(number, len(target))
            os.lseek(number, before, os.SEEK_SET)
    target[: len(data)] = data
    return len(data)


class BoundedFile:
    """A file that is read anew for every view; one that is truncated gives an error, never a signal."""

    steady = False
    reads_ahead = False
    fetches = False

    def __init__(self, descriptor: int, name: str) -> None:
        """Take over an open descriptor, once nothing can fail any more."""
        self.size = os.fstat(descriptor).st_size
        self._name = name
        self._descriptor: _Descriptor | None = _Descriptor(descriptor)

    def view(self, start: int, stop: int) -> memoryview:
        return memoryview(self._read(start, stop)).toreadonly()

    def room(self, start: int, stop: int) -> memoryview:
        return self.view(start, stop)

    def copy(self, start: int, stop: int) -> bytearray:
        return self._read(start, stop)

    def change_stamp(self) -> ChangeStamp:
        descriptor = self._descriptor  # kept by its name: another thread may close in between
        if descriptor is None:
            raise closed(self._name)
        status = os.fstat(descriptor.number)  # as in `change_stamp_of`, which would be a tenth of each use
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino

    def will_use(self, start: int, stop: int) -> None:
        """Do nothing: they are read in one piece."""

    def private(self, start: int, stop: int) -> memoryview:
        return anonymous(stop - start)

    def close(self) -> None:
        self._descriptor = None

    def _held(self) -> _Descriptor:
        descriptor = self._descriptor
        if descriptor is None:
            raise closed(self._name)
        return descriptor

    def _read(self, start: int, stop: int) -> bytearray:
        descriptor = self._held()
        self._check_size(descriptor)
        try:
            data = bytearray(stop - start)
        except MemoryError as error:
            raise ArchiveIOError(
                f"{self._name}: {stop - start} bytes do not fit into memory; map the file "
                "(mmap=True), or read it in parts"
            ) from error
        self._fill(memoryview(data), descriptor, start)
        return data

    def _fill(self, rest: memoryview, descriptor: _Descriptor, start: int) -> None:
        """Read into memory from a position on. Raises ArchiveChangedError where the file ends before."""
        at = start
        try:
            while rest:
                done = read_into(rest, descriptor.number, at)
                if not done:
                    raise self._shrunk(at)
                rest, at = rest[done:], at + done
        except OSError as error:
            raise ArchiveIOError(
                f"{self._name}: cannot be read at byte {start}: {error}", error, self._name
            ) from error

    def _check_size(self, descriptor: _Descriptor) -> None:
        size = os.fstat(descriptor.number).st_size
        if size != self.size:
            raise self._shrunk(size)

    def _shrunk(self, size: int) -> ArchiveError:
        return changed(self._name, f"found {size} bytes; expected {self.size}, as when it was opened")


# A map has a descriptor of its own, until Python 3.13 whether it is needed or not.
UNTRACKED: Final[dict[str, Any]] = (
    {"trackfd": False} if sys.version_info >= (3, 13) and hasattr(mmap, "MAP_PRIVATE") else {}
)


def unreserved(kind: str) -> dict[str, Any]:
    """Return what asks for a map that takes memory page by page, where it is written to.

    With a reservation all of it would have to fit into memory.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return {"access": mmap.ACCESS_COPY}
    flag = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
    return {"flags": getattr(mmap, kind) | flag, "prot": mmap.PROT_READ | mmap.PROT_WRITE}


class MappedFile(BoundedFile):
    """A file mapped into memory: views cost nothing and share the page cache.

    With `ahead` it is read ahead of what is used, from the first use on.
    """

    steady = True

    def __init__(self, descriptor: int, name: str, *, ahead: bool = False) -> None:
        # A map of length zero means the whole file, which cannot be empty here.
        self._view = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ, **UNTRACKED))
        super().__init__(descriptor, name)
        self._view = self._view[: self.size]
        self.reads_ahead = ahead
        self._ahead: ReadAhead | None = None

    def will_use(self, start: int, stop: int) -> None:
        """Read the bytes, and what follows them, in the background, where that was asked for."""
        if not self.reads_ahead:
            return
        if self._ahead is None:
            from .reading_ahead import ReadAhead, bring_with  # most files are not read ahead

            # Not a method of this object, which a thread would keep, and with it the map.
            self._ahead = ReadAhead(bring_with(self._held(), read_into), self.size)
        self._ahead.use(start, stop)

    def view(self, start: int, stop: int) -> memoryview:
        view = self._view  # taken first: another thread may close in between
        self._check_size(self._held())
        return view[start:stop]

    def private(self, start: int, stop: int) -> memoryview:
        """Map them copy on write. Raises ArchiveIOError where that cannot be done."""
        descriptor = self._held()
        self._check_size(descriptor)
        if start == stop:
            return memoryview(bytearray())
        first = start - start % mmap.ALLOCATIONGRANULARITY
        try:
            copy = mmap.mmap(descriptor.number, stop - first, offset=first, **unreserved("MAP_PRIVATE"))
        except OSError as error:
            raise ArchiveIOError(
                f"{self._name}: {stop - start} bytes from byte {start} cannot be mapped: "
                f"{error.strerror or error}; {os_error_mend(error)}",
                error,
                self._name,
            ) from error
        return memoryview(copy)[start - first :]

    def close(self) -> None:
        super().close()
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None
        self.reads_ahead = False
        # Not mmap.close(), which refuses while views are out: the map goes when the last of them does.
        self._view = memoryview(b"")


def change_stamp_of(status: os.stat_result) -> ChangeStamp:
    """Return the stamp of a file's status.

    The time of the last write can be set back (`os.utime`), that of the last change of the status cannot:
    setting the first one sets the second. Times are steps of some milliseconds, so that size and
    inode are in it, too.
    """
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def anonymous(size: int) -> memoryview:
    """Return zeros that start at a whole page, and cost nothing until they are written to.

    Raises ArchiveIOError where the system has no memory of that size.
    """
    try:
        return memoryview(mmap.mmap(-1, size) if size else bytearray())
    except OSError as error:
        raise ArchiveIOError(f"{size} bytes of memory cannot be allocated: {error}", error) from error


Source: TypeAlias = Memory | BoundedFile
"""Where bytes come from: they can be viewed, and `close` leaves views valid."""

Opened: TypeAlias = "str | os.PathLike[str] | BinaryIO | bytes | bytearray | memoryview"
"""What can be opened as a source."""

Mapped: TypeAlias = bool | str
"""Whether files are mapped; `"prefetch"` where they are, and are read ahead of what is used."""


def open_source(source: Opened, *, mapped: Mapped) -> Source:
    """Open a path, a file object or bytes; a pipe or an unusual file object is copied first.

    Raises what `open` raises for a path that cannot be opened, as FileNotFoundError, ArchiveIOError where
    the system would not do its part, ArchiveError for a device, and TypeError for a file open for text.
    """
    try:
        return _opened(source, mapped)
    except OSError as error:
        if type(error) is not OSError:  # one that says by its class what it is
            raise
        is_path = isinstance(source, (str, os.PathLike))
        name = shown_place(str(source if is_path else getattr(source, "name", type(source).__name__)))
        raise ArchiveIOError(
            f"{name}: it cannot be opened: {error.strerror or error}; {os_error_mend(error)}", error, name
        ) from error


def _opened(source: Opened, mapped: Mapped) -> Source:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Memory(source)
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        _require_file(os.stat(source).st_mode, name)  # opening a device may set it in motion
        return open_file(os.open(source, READ_FILE | getattr(os, "O_NOCTTY", 0)), name, mapped=mapped)
    name = shown_place(str(getattr(source, "name", type(source).__name__)))
    if isinstance(source, io.TextIOBase):
        raise TypeError(f"{name} is open for text; open it with mode 'rb'")
    if isinstance(source, io.BytesIO):
        return Memory(source.getvalue())
    if isinstance(getattr(source, "raw", source), io.FileIO):
        source.flush()
        return open_file(os.dup(source.fileno()), name, mapped=mapped)
    return open_file(_copied(source, name), name, mapped=mapped)


def has_ranges(source: object) -> bool:
    """Return whether a source is read in ranges: an address, or an unusual file object that can seek."""
    usual = (str, os.PathLike, bytes, bytearray, memoryview, io.BytesIO, io.TextIOBase)
    if isinstance(source, usual) or isinstance(getattr(source, "raw", source), io.FileIO):
        return False
    seekable = getattr(source, "seekable", None)
    return not hasattr(source, "read") or (seekable is not None and bool(seekable()))


def open_file(descriptor: int, name: str, *, mapped: Mapped) -> Source:
    """Take over a descriptor of a file or pipe."""
    try:
        mode = os.fstat(descriptor).st_mode
        _require_file(mode, name)
        if not stat.S_ISREG(mode):
            with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as pipe:
                copy = _copied(pipe, name)
            os.close(descriptor)
            descriptor = copy
        if mapped and os.fstat(descriptor).st_size:
            # Reading with bounds is as strict, where a file system cannot map or maps have run out.
            with contextlib.suppress(OSError):
                return MappedFile(descriptor, name, ahead=mapped == "prefetch")
        return BoundedFile(descriptor, name)
    except BaseException:
        os.close(descriptor)
        raise


def _require_file(mode: int, name: str) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise ArchiveError(f"{name}: found a device or folder; expected a file that holds an archive")


def _copied(stream: Any, name: str) -> int:
    """Copy a stream to a file without a name, and return its descriptor.

    A stream that can seek is copied from its start, and stands where it stood afterwards.
    """
    import tempfile  # only here: it takes as long to import as an archive takes to open

    before = stream.tell() if stream.seekable() else None
    if before is not None:
        stream.seek(0)
    with tempfile.TemporaryFile(buffering=0) as copy:
        first = True
        while piece := stream.read(1 << 20):
            if first and not b"PK\x03\x04".startswith(bytes(piece[:4])):
                raise damaged(name, f"{bytes(piece[:4])!r} at the start", "an archive")
            first = False
            try:
                _write_all(copy, piece)
            except OSError as error:
                raise ArchiveIOError(
                    f"{name}: it cannot be copied to the folder for temporary files: {error}; free some "
                    "space, or give the path of a file, which is not copied",
                    error,
                    name,
                ) from error
        if before is not None:
            stream.seek(before)
        return os.dup(copy.fileno())


def _write_all(file: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
