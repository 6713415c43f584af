"""Files and folders that appear in one step or not at all.

Whatever is written goes to a *part* beside its place: a file or folder with a random name that ends in
`.kellet-part`. When it is complete, it is renamed. An error removes the part; a process that is killed
leaves it behind, and the next one that replaces a file in that folder removes it. A part at work is known
by its lock, which the system takes away with the process. So is a temporary folder: what a killed process
leaves goes when the next one is made.

Errors are plain OSErrors; a caller that has an error of its own for them wraps them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator

from packager._file_access import CHANGE_FILE, NEW_FILE, NO_FOLLOW, READ_FILE

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import weakref
    from pathlib import Path
    from typing import BinaryIO, Final

try:
    import fcntl
except ImportError:  # Windows, where an open file can be neither removed nor renamed: that is its lock
    fcntl = None  # type: ignore[assignment]  # a missing module is None from here on

PART_ENDING: Final = ".kellet-part"
"""How the name of a file or folder ends that is being written."""

_PART: Final = re.compile(r"\..+\.[0-9a-f]{16}\.kellet-part")
# A folder that may be written to but not read, and file systems that have nothing to synchronise.
_NO_FOLDER_SYNC: Final = {errno.EACCES, errno.EINVAL, errno.EOPNOTSUPP}
_FOLDER: Final = READ_FILE | getattr(os, "O_DIRECTORY", 0)
# Temporary folders of ours, which are known by their lock as parts are.
_OURS: Final = re.compile(
    r"kellet-(?:archive|code|env|lock|proving|stubs|tool|vendored|wheels)-[a-z0-9_]{8,16}"
)
_OWN_MARK: Final = "kellet-"  # looked for first, as a folder for all may hold thousands of names
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
        self._mode = _mode_of(path, self.path)
        if not os.path.isdir(self.folder):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", self.folder)
        self._made: list[str] = []
        self._held: list[int] = []
        self._removal: weakref.finalize[..., ReplacedFile] | None = None

    @contextlib.contextmanager
    def open(self, *, fsync: bool) -> Iterator[int]:
        """Give a descriptor to write to; the file is replaced when the block ends without an error.

        With `fsync` the content is on the disk before the rename; `sync_folder` makes the rename last.
        """
        try:  # entered before anything is made: a signal may end this at any line
            yield self.begin()
            self.finish(fsync=fsync)
        finally:
            self.discard()

    def begin(self) -> int:
        """Make the part, and return a descriptor to write to it, until `finish` or `discard`.

        The part also goes with the last reference to this object, or when the process ends. Raises OSError.
        """
        _remove_stale(self.folder, folders=False)
        import weakref  # not needed where archives are read

        self._removal = weakref.finalize(self, remove_part, self._made, self._held, os.getpid())
        return self._create(self._made, self._held)

    @property
    def part(self) -> str:
        """The path of the part, between `begin` and `finish` or `discard`."""
        return self._made[-1]

    def finish(self, *, fsync: bool, check: Callable[[str], None] | None = None) -> None:
        """Put the part into its place; what a descriptor of it is still needed for comes before.

        `check` is called with the path of the part before that; where it raises, nothing is replaced.
        Raises OSError.
        """
        if fsync:
            os.fsync(self._held[-1])
        # What a file system says only when a file is closed (NFS: no room, an error of the disk) is
        # asked for before the rename, through a second number: the first holds the lock.
        os.close(os.dup(self._held[-1]))
        if check is not None:
            check(self._made[-1])
        if fcntl is None:
            from packager._without_locks import let_go

            let_go(self._held)
        os.replace(self._made[-1], self.path)
        self._made.clear()
        self.discard()

    def discard(self) -> None:
        """Remove the part, where there is one; the file is as it was."""
        if self._removal is not None:
            self._removal()

    def sync_folder(self) -> None:
        """Make the rename last, where the folder can be synchronised at all. Raises OSError."""
        try:
            descriptor = os.open(self.folder, _FOLDER)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise

    def _create(self, made: list[str], held: list[int]) -> int:
        """Make the part, lock it, and give it the permissions of the file it will replace."""
        while True:
            made.append(part_beside(self.path))
            held.append(os.open(made[-1], NEW_FILE, 0o666 if self._mode is None else self._mode))
            if self._mode is not None and hasattr(os, "fchmod"):
                os.fchmod(held[-1], self._mode)
            # Between creating and locking, another writer may have taken the file for a stale one.
            if _lock(held[-1], wait=True) and os.fstat(held[-1]).st_nlink:
                return held[-1]
            os.close(held.pop())


def remove_part(made: list[str], held: list[int], owner: int) -> None:
    """Remove the parts that a process made, and close its descriptors, in the order that is possible."""
    if os.getpid() != owner:  # a forked child leaves it to its parent
        return
    if fcntl is None:
        _close_all(held)
    while made:
        with contextlib.suppress(OSError):
            os.unlink(made.pop())
    _close_all(held)


def _close_all(held: list[int]) -> None:
    while held:
        with contextlib.suppress(OSError):
            os.close(held.pop())


@contextlib.contextmanager
def locked_file(path: str) -> Iterator[BinaryIO]:
    """Give a file to read which nobody else who asks so has, until the block ends; it may be replaced in it.

    Raises OSError.
    """
    while True:
        with open(path, "rb") as file:
            _lock(file.fileno(), wait=True)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # not replaced while this waited
                yield file
                return


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends without an error.

    What is refused is as `ReplacedFile` says. Raises OSError that names `path`.
    """
    target = os.path.realpath(path)
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

    `folder` must not exist, or be empty, and be no link: raises OSError otherwise. Parents are made.
    """
    require_no_link(folder)
    with _named(folder), _made_folder(folder.parent), part_folder(folder) as part:
        yield part
        if os.path.exists(folder):
            os.rmdir(folder)
        os.rename(part, folder)


def require_no_link(folder: Path) -> None:
    """Raise OSError for a link, which no folder takes the place of, wherever it leads."""
    if os.path.islink(folder):
        raise OSError(errno.ENOTDIR, "it is a link; name the folder that it leads to", os.fspath(folder))


@contextlib.contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Let the block make `folder` where it is to lie, and remove it again after an error; a link to it stays.

    For what cannot be renamed. Raises FileExistsError, and touches nothing, where something is in it.
    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise FileExistsError(errno.EEXIST, "something is there already", os.fspath(folder))
    was_there, place = os.path.isdir(folder), os.path.realpath(folder)
    try:
        yield
    except BaseException:
        _remove_folders([place])
        if was_there:
            os.mkdir(place)
        raise


@contextlib.contextmanager
def files_into(folder: Path) -> Iterator[Path]:
    """Give a new folder, whose files move into `folder` together when the block ends without an error.

    What is in `folder` already stays, but for files of the same names. After an error a `folder` that was
    not there before is not there.
    """
    with _named(folder), _made_folder(folder), part_folder(folder / "files") as part:
        yield part
        for file in list(part.iterdir()):
            os.replace(file, folder / file.name)


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Let an error about the part name the folder that it would have become: users know no other."""
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, str) and _PART.fullmatch(_base(error.filename)):
            error.filename = os.fspath(folder)
            del error.filename2  # None would be printed
        raise


@contextlib.contextmanager
def _made_folder(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; of these the ones that hold nothing in the end are gone again."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for one in missing:
            with contextlib.suppress(OSError):  # something is in it, as it should be
                one.rmdir()


@contextlib.contextmanager
def part_folder(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """Make the part of a folder; whatever is still at its place afterwards is removed."""
    from pathlib import Path

    _remove_stale(folder.parent, folders=True)
    made: list[str] = []

    def make() -> str:
        made.append(part_beside(folder))
        os.mkdir(made[-1], mode)
        return made[-1]

    held: list[int] = []
    try:  # entered before anything is made: a signal may end this at any line
        yield Path(_locked_folder(make, held))
    finally:
        _remove_own(made, held, os.getpid(), [])


def _locked_folder(make: Callable[[], str], held: list[int]) -> str:
    """Return a folder that `make` has made; the descriptor that holds its lock is put into `held`.

    Raises OSError; the caller removes what was made.
    """
    if fcntl is None:
        from packager._without_locks import held_folder

        return held_folder(make, held, NEW_FILE)
    while True:
        folder = make()
        try:
            held.append(os.open(folder, _FOLDER | NO_FOLLOW))
        except FileNotFoundError:
            continue  # another process has taken it for a stale one
        if _lock(held[-1], wait=True) and os.path.isdir(folder):
            return folder
        os.close(held.pop())


def _remove_folders(folders: list[str]) -> None:
    there = [folder for folder in folders if os.path.exists(folder)]
    if there:
        import shutil
    for folder in there:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:  # ended by a signal, of which only the first is heard
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _remove_unlocked(folder: str) -> None:
    """Remove a folder whose process is gone; leave one that is locked, or cannot be removed."""
    with contextlib.suppress(OSError):
        if fcntl is None:
            from packager._without_locks import is_held

            if not is_held(folder):
                _remove_folders([folder])
            return
        descriptor = os.open(folder, _FOLDER | NO_FOLLOW)
        try:
            if _lock(descriptor, wait=False):
                _remove_folders([folder])
        finally:
            os.close(descriptor)


class TemporaryFolder:
    """A folder of this process, gone with `close()`, with the last reference, or when the process ends.

    Raises OSError where none can be made.
    """

    def __init__(self, what: str, path: str | None = None, *, apart: bool = False) -> None:
        """Make a folder, at `path` where that was chosen before.

        With `apart` it lies in a folder of this user's, gone with the last that is in it: one that many
        processes make is then not looked for among all that lies in the folder for temporary files.
        """
        import tempfile
        import weakref

        where = os.path.dirname(path) if path else tempfile.gettempdir()
        made: list[str] = []
        held: list[int] = []
        above: list[str] = []
        # Before anything is made, as above.
        self.close = weakref.finalize(self, _remove_own, made, held, os.getpid(), above)

        def make() -> str:
            while True:
                place = _place_apart(where, above) if apart else where
                made.append(path or os.path.join(place, f"kellet-{what}-{os.urandom(8).hex()}"))
                try:
                    os.mkdir(made[-1], 0o700)
                except FileNotFoundError:
                    if place == where:
                        raise
                    continue  # the last one that was in it has just removed it
                return made[-1]

        try:
            _remove_left(_place_apart(where, above) if apart else where)
            self.path = _locked_folder(make, held)
        except BaseException:
            self.close()
            raise


@contextlib.contextmanager
def temporary_folder(what: str) -> Iterator[str]:
    """Give a folder for the time of a block. Raises OSError where none can be made."""
    with contextlib.closing(TemporaryFolder(what)) as folder:
        yield folder.path


def _place_apart(where: str, above: list[str]) -> str:
    """Return this user's folder in one that is for all, made where it is missing, and note it in `above`.

    Where another user has taken its name, or may write to it, that is the one for all. Raises OSError.
    """
    if not hasattr(os, "geteuid"):  # Windows has a folder for each user
        return where
    place = os.path.join(where, f"kellet-of-{os.geteuid()}")
    above[:] = [place]  # before it is made: a signal may end this at any line
    with contextlib.suppress(FileExistsError):
        os.mkdir(place, 0o700)
    try:
        status = os.lstat(place)
    except FileNotFoundError:  # removed by the last one that was in it; made anew, then
        return place
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or stat.S_IMODE(status.st_mode) & 0o077:
        above.clear()
        return where
    return place


def _remove_own(made: list[str], held: list[int], owner: int, above: list[str]) -> None:
    if os.getpid() == owner:  # a forked child leaves it to its parent
        try:
            _remove_folders(made)
            for place in above:
                with contextlib.suppress(OSError):  # others are in it
                    os.rmdir(place)
        finally:
            _close_all(held)
            if fcntl is None:
                from packager._without_locks import forget

                forget(made)


def _remove_left(where: str) -> None:
    """Remove what killed processes of this user have left."""
    own = getattr(os, "geteuid", lambda: None)()
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            is_one = entry.name.startswith(_OWN_MARK) and _OURS.fullmatch(entry.name)
            if is_one and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if own is None or entry.stat(follow_symlinks=False).st_uid == own:
                        _remove_unlocked(os.path.join(where, entry.name))


def part_beside(path: str | os.PathLike[str]) -> str:
    """Return a new name beside `path`, with as much of its name as fits."""
    folder, name = os.path.split(os.fspath(path))
    short = os.fsdecode(os.fsencode(name)[:_NAME_BYTES])
    return os.path.join(folder, f".{short}.{os.urandom(8).hex()}{PART_ENDING}")


def _base(path: object) -> str:
    return os.path.basename(os.fsdecode(path)) if isinstance(path, str | bytes) else ""


def _mode_of(path: str | os.PathLike[str], target: str) -> int | None:
    """Return the permissions of the file that is replaced, which `path` leads to; None when there is none."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            return None
        # A pipe or removed file that a process has open, as /dev/stdout; or another has just written it.
        mode = found.st_mode if found.st_nlink else 0
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", target)
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL,
            "it is a device, FIFO or socket, which is never replaced; give an open file instead",
            os.fspath(path),
        )
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", target)
    return stat.S_IMODE(mode) & 0o777


def _remove_stale(folder: str | os.PathLike[str], *, folders: bool) -> None:
    """Remove the parts of files, or of folders, whose writers were killed."""
    with os.scandir(folder) as entries:
        parts = [
            entry.path
            for entry in entries
            if _PART.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) == folders
        ]
    for part in parts:
        if folders:
            _remove_unlocked(part)
            continue
        with contextlib.suppress(OSError):
            if fcntl is None:
                os.unlink(part)
                continue
            descriptor = os.open(part, CHANGE_FILE | NO_FOLLOW)
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
