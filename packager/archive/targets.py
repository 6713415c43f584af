"""Where an archive is written: beside the target, which is then replaced in one step, or not at all.

The bytes go to a file with a random name in the target's folder. When they are all there, the file
is synchronised, renamed over the target, and the folder is synchronised. A writer that is killed
leaves its file behind; the next one that saves into the folder takes it away, and knows it from the
file of a writer at work by the lock that only a living one holds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from .errors import ArchiveIOError

try:
    import fcntl
except ImportError:  # where there are no locks, an open file cannot be removed either
    fcntl = None  # type: ignore[assignment]  # a missing module is None from here on

__all__ = ["FileTarget", "PathTarget", "Target"]

_PART: Final = re.compile(r"\..+\.[0-9a-f]{16}\.kedge-part")
# A folder that may be written to but not read, and file systems that have nothing to synchronise.
_NO_FOLDER_SYNC: Final = {errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP}


class PathTarget:
    """A path to be replaced.

    A symlink is followed. A device, FIFO, socket or folder is refused, and so is a file that may not
    be written to.

    Raises ArchiveIOError when the target cannot be written to; nothing has been created then.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool) -> None:
        self._asked_for = os.fspath(path)
        self._path = os.path.realpath(path)
        self._folder = os.path.dirname(self._path)
        self._fsync = fsync
        with _reported(self._asked_for):
            self._mode = _mode_of(self._path)
            if not os.path.isdir(self._folder):
                raise FileNotFoundError(errno.ENOENT, "there is no such folder", self._folder)

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        """Give a descriptor to write to; the target is replaced when the block ends without an error.

        Raises ArchiveIOError for every OSError, with nothing left behind.
        """
        with _reported(self._asked_for):
            _remove_stale(self._folder)
            part, descriptor = self._create()
            try:
                yield descriptor
                if self._fsync:
                    os.fsync(descriptor)
                os.rename(part, self._path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part)
                raise
            finally:
                os.close(descriptor)
        if self._fsync:
            _sync_folder(self._folder, self._asked_for)

    def _create(self) -> tuple[str, int]:
        """Make the file beside the target, lock it, and give it the target's permissions."""
        base = os.fsdecode(os.fsencode(os.path.basename(self._path))[:100])  # names have 255 bytes at most
        while True:
            part = os.path.join(self._folder, f".{base}.{secrets.token_hex(8)}.kedge-part")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(part, flags, 0o666 if self._mode is None else self._mode)
            try:
                if self._mode is not None:
                    os.fchmod(descriptor, self._mode)
                # Between creating and locking, another writer may have taken the file for a stale one.
                if _lock(descriptor, wait=True) and os.fstat(descriptor).st_nlink:
                    return part, descriptor
            except BaseException:
                os.unlink(part)
                os.close(descriptor)
                raise
            os.close(descriptor)


class FileTarget:
    """A binary file object; it receives the finished archive in one go, from where it stands."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @contextlib.contextmanager
    def open(self) -> Iterator[int]:
        """Give a descriptor of a temporary file, whose content is written to the file object afterwards."""
        with _reported("the temporary file"):
            temporary = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed by the next line
        with temporary:
            with _reported("the temporary file"):
                yield temporary.fileno()
                temporary.seek(0)
            while piece := temporary.read(1 << 20):
                _write_all(self._file, piece)


Target = PathTarget | FileTarget


@contextlib.contextmanager
def _reported(target: str) -> Iterator[None]:
    """Turn OSErrors into errors of ours that name the target."""
    try:
        yield
    except ArchiveIOError:
        raise
    except OSError as error:
        raise ArchiveIOError(
            f"{target}: the archive could not be written: {error.strerror or error}; nothing was left behind "
            "and an old file is as it was; make room or give permission, then save again",
            error,
            target,
        ) from error


def _mode_of(path: str) -> int | None:
    """The permissions of the file that is replaced; None when there is none."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
    if not stat.S_ISREG(mode):
        raise OSError(
            22, "it is a device, FIFO or socket, which is never replaced; give a file object instead", path
        )
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", path)
    return stat.S_IMODE(mode) & 0o777


def _remove_stale(folder: str) -> None:
    """Take away the files of writers that were killed."""
    with os.scandir(folder) as entries:
        parts = [entry.path for entry in entries if _PART.fullmatch(entry.name)]
    for part in parts:
        with contextlib.suppress(OSError):
            descriptor = os.open(part, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if _lock(descriptor, wait=False):
                    os.unlink(part)
            finally:
                os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Take the lock of a living writer; False when somebody else has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait  # a file system without locks: write without one, but never remove
    return True


def _sync_folder(folder: str, target: str) -> None:
    """Make the rename last, where the folder can be synchronised at all."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise ArchiveIOError(
                f"{target}: the archive is written, but its folder cannot be synchronised: {error.strerror}; "
                "it is in place, but may not survive a power cut; look after the disk",
                error,
                target,
            ) from error


def _write_all(file: Any, data: bytes) -> None:
    """Write to a file object that may take less than it is given."""
    rest = memoryview(data)
    while rest:
        done = file.write(rest)
        rest = rest[len(rest) if done is None else done :]
