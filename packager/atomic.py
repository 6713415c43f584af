"""Files and folders that appear in one step or not at all, and the folder for what is kept between runs.

Whatever is written goes to a *part* beside its place: a file or folder with a random name that ends in
`.kellet-part`. When it is complete, it is renamed. An error removes the part; a process that is killed
leaves it behind, and the next one that replaces a file in that folder removes it. A part at work is known
by its lock, which the system takes away with the process.

Errors are plain OSErrors; a caller that has an error of its own for them wraps them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # where there are no locks, an open file cannot be removed either
    fcntl = None  # type: ignore[assignment]  # a missing module is None from here on

__all__ = [
    "ReplacedFile",
    "cache_folder",
    "files_into",
    "keep_file",
    "keep_folder",
    "new_folder",
    "os_error_mend",
    "replaced_file",
    "replaced_folder",
]

_PART: Final = re.compile(r"\..+\.[0-9a-f]{16}\.kellet-part")
# A folder that may be written to but not read, and file systems that have nothing to synchronise.
_NO_FOLDER_SYNC: Final = {errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP}
_NAME_BYTES: Final = 100  # of the target's name in a part's; a whole name may have 255


class ReplacedFile:
    """A file to be replaced as a whole.

    A symlink is followed. A device, FIFO, socket or folder is refused, and so is a file that may not be
    written to. The new file has the permissions of the old one.

    Raises OSError when the file cannot be written (FileNotFoundError, where its folder is missing);
    nothing has been created then.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(path)
        self.folder = os.path.dirname(self.path)
        self._mode = _mode_of(self.path)
        if not os.path.isdir(self.folder):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", self.folder)

    @contextlib.contextmanager
    def open(self, *, fsync: bool) -> Iterator[int]:
        """Give a descriptor to write to; the file is replaced when the block ends without an error.

        With `fsync` the content is on the disk before the rename; `sync_folder` makes the rename last.
        """
        _remove_stale(self.folder)
        part, descriptor = self._create()
        try:
            yield descriptor
            if fsync:
                os.fsync(descriptor)
            os.rename(part, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        finally:
            os.close(descriptor)

    def sync_folder(self) -> None:
        """Make the rename last, where the folder can be synchronised at all. Raises OSError."""
        try:
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0))
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise

    def _create(self) -> tuple[str, int]:
        """Make the part, lock it, and give it the permissions of the file it will replace."""
        while True:
            part = _part_of(self.path)
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


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends without an error.

    A device or a pipe is written to as it is. Raises OSError that names `path`.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
        with open(target, "wb") as file:
            yield file
        return
    try:
        replaced = ReplacedFile(path).open(fsync=False)
        with replaced as descriptor, open(descriptor, "wb", closefd=False) as file:
            yield file
    except OSError as error:
        if error.filename is None or error.filename == target or _PART.fullmatch(_base(error.filename)):
            error.filename = os.fspath(path)  # users know the file by the name that they gave
        raise


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder, which becomes `folder` when the block ends without an error.

    `folder` must not exist, or be empty: raises OSError otherwise. Parents are made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _part_folder(folder) as part:
        yield part
        if folder.exists():
            folder.rmdir()
        os.rename(part, folder)


@contextlib.contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let the block make `folder` where it is to lie, and remove it again after an error.

    For what cannot be renamed. Raises FileExistsError, and touches nothing, where something is in it.
    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise FileExistsError(errno.EEXIST, "something is there already", os.fspath(folder))
    was_there = os.path.isdir(folder)
    try:
        yield
    except BaseException:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        if was_there:
            os.mkdir(folder)
        raise


@contextlib.contextmanager
def files_into(folder: Path) -> Iterator[Path]:
    """Give a new folder, whose files move into `folder` together when the block ends without an error.

    What is in `folder` already stays, but for files of the same names. After an error a `folder` that was
    not there before is not there.
    """
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _part_folder(folder / "files") as part:
            yield part
            for file in list(part.iterdir()):
                os.replace(file, folder / file.name)
    finally:
        if not there:
            with contextlib.suppress(OSError):  # something is in it, as it should be
                folder.rmdir()


def keep_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` in a cache that processes share: readable by this user alone, never half of it.

    Folders are made, for this user alone. Raises OSError, with nothing left behind.
    """
    target = os.fspath(path)
    part = _part_of(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(part, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        descriptor = os.open(part, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


@contextlib.contextmanager
def keep_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder, which becomes `folder` in a cache that processes share.

    Where another process was first, its folder stays and this one's is removed. Raises OSError, with
    nothing left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _part_folder(folder, mode=0o700) as part:
        yield part
        try:
            os.rename(part, folder)
        except OSError:
            if not folder.is_dir():
                raise


def cache_folder(*inner: str) -> Path:
    """Return the folder for what is kept between runs, or a folder inside it; it need not exist.

    `$KELLET_CACHE`, else `kellet` below `$XDG_CACHE_HOME` or `~/.cache`. Raises RuntimeError where no home
    folder is known for this user.
    """
    from pathlib import Path

    if own := os.environ.get("KELLET_CACHE"):
        return Path(own, *inner)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache", "kellet", *inner)


def os_error_mend(error: OSError) -> str:
    """Say what to do about a file that could not be written.

    >>> os_error_mend(FileNotFoundError(errno.ENOENT, "there is no such folder", "out"))
    'create the folder'
    >>> os_error_mend(OSError(errno.ENOSPC, "No space left on device"))
    'free some space, or write to another disk'
    """
    return _MENDS.get(error.errno or 0, "look after the disk")


_MENDS: Final = {
    errno.ENOENT: "create the folder",
    errno.ENOTDIR: "name a folder that exists",
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EACCES: "give permission, or write elsewhere",
    errno.EPERM: "give permission, or write elsewhere",
    errno.EROFS: "write to another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EISDIR: "name a file",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
}


@contextlib.contextmanager
def _part_folder(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """Make the part of a folder; whatever is still at its place afterwards is removed."""
    from pathlib import Path

    part = Path(_part_of(folder))
    part.mkdir(mode)
    try:
        yield part
    finally:
        if part.exists():
            import shutil

            shutil.rmtree(part, ignore_errors=True)


def _part_of(path: str | os.PathLike[str]) -> str:
    """Return a new name beside `path`, with as much of its name as fits."""
    folder, name = os.path.split(os.fspath(path))
    short = os.fsdecode(os.fsencode(name)[:_NAME_BYTES])
    return os.path.join(folder, f".{short}.{os.urandom(8).hex()}.kellet-part")


def _base(path: object) -> str:
    return os.path.basename(os.fsdecode(path)) if isinstance(path, str | bytes) else ""


def _mode_of(path: str) -> int | None:
    """Return the permissions of the file that is replaced; None when there is none."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL,
            "it is a device, FIFO or socket, which is never replaced; give a file object instead",
            path,
        )
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", path)
    return stat.S_IMODE(mode) & 0o777


def _remove_stale(folder: str) -> None:
    """Remove the parts of files whose writers were killed."""
    with os.scandir(folder) as entries:
        parts = [entry.path for entry in entries if _PART.fullmatch(entry.name) and not entry.is_dir()]
    for part in parts:
        with contextlib.suppress(OSError):
            descriptor = os.open(part, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if _lock(descriptor, wait=False):
                    os.unlink(part)
            finally:
                os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Take the lock of a writer at work; return False when another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return wait  # a file system without locks: write without one, but never remove
    return True
