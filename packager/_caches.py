"""The folder for what is kept between runs, and whether it may be used: by this user alone, or not at all.

What is kept there is run (compiled code) or believed (scans). So a folder into which others may write, or
which they could exchange for one of theirs, is left alone, with one warning; so is a file in it that
belongs to another user. Where there are no owners and modes as POSIX has them, nothing is looked at.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import warnings

from ._file_access import ADDED_FILE, NEW_FILE
from ._texts import ShowsItsText
from .errors import ArgumentError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_warned: set[str] = set()
_MOST_LINKS = 80  # on the way to a file, counted twice


class CacheWarning(ShowsItsText, UserWarning):
    """The cache folder is not used, since other users may write to it."""

    __module__ = "packager.errors"  # where users find it


def cache_folder(*inner: str) -> Path:
    """Return the folder for what is kept between runs, or a folder inside it: see `cache_path`."""
    from pathlib import Path  # not needed where an archive is opened

    return Path(cache_path(*inner))


def cache_path(*inner: str) -> str:
    """Return the folder for what is kept between runs, or a folder inside it; it need not exist.

    `$KELLET_CACHE`, else `kellet` below `$XDG_CACHE_HOME` or `~/.cache`. What is kept there is run, and a
    relative path would be whatever lies in the working folder: that of XDG is left alone, as its rule says.
    Raises ArgumentError for one of ours, RuntimeError where no home folder is known for this user.

    Source: the XDG Base Directory Specification, "All paths set in these environment variables must be
    absolute".
    """
    if own := os.environ.get("KELLET_CACHE"):
        if not os.path.isabs(own):
            raise ArgumentError(
                f"KELLET_CACHE={own!r}: expected an absolute path, as compiled code that lies there is run; "
                "set it to one, or unset it"
            )
        return os.path.join(own, *inner)
    base = _own_folder("XDG_CACHE_HOME", ".cache")
    if base is None:
        raise RuntimeError("no home folder of this user is known")
    return os.path.join(base, "kellet", *inner)


def _own_folder(variable: str, in_home: str) -> str | None:
    """Return the folder that a variable of XDG names, else one in the home; None where no home is known."""
    if os.path.isabs(base := os.environ.get(variable, "")):
        return base
    home = os.path.expanduser("~")
    return None if home == "~" else os.path.join(home, in_home)


def bytecode_folder() -> str | None:
    """Return the folder for compiled code; None where no home of this user is known. Raises ArgumentError."""
    try:
        return cache_path("bytecode")
    except RuntimeError:
        return None


def usable_cache(folder: str | os.PathLike[str] | None = None, *inner: str) -> Path | None:
    """Return the folder, by default that of `cache_folder`, where it may be used: see `usable_path`."""
    from pathlib import Path

    usable = usable_path(folder, *inner)
    return None if usable is None else Path(usable)


def usable_path(folder: str | os.PathLike[str] | None = None, *inner: str) -> str | None:
    """Return the folder, by default that of `cache_folder`, where it may be used; else None.

    Warns once, with CacheWarning, of a folder that others may write to.
    """
    try:
        base = cache_path() if folder is None else os.fspath(folder)
    except RuntimeError:  # no home folder is known for this user
        return None
    wanted = os.path.join(base, *inner)
    found = others_may_write(base) or others_may_write(wanted)
    if found is None:
        return wanted
    if found not in _warned:
        _warned.add(found)
        warnings.warn(
            CacheWarning(
                f"nothing is kept between runs: {found}; others could put their code there. Take their "
                "permission away (chmod go-w), or set KELLET_CACHE to a folder of your own"
            ),
            stacklevel=2,
        )
    return None


def others_may_write(folder: str | os.PathLike[str]) -> str | None:
    """Say in what way other users could write to a folder, or exchange it; None where they cannot.

    A folder that is not there yet is judged by what it would be made in.

    >>> others_may_write(os.path.dirname(os.__file__)) is None or os.name == "nt"
    True
    """
    if not hasattr(os, "geteuid"):
        return None
    real = os.path.realpath(folder)
    named = os.fspath(folder)
    paths = [real, named if os.path.isabs(named) else os.path.join(os.getcwd(), named)]
    for path in paths:  # grows by the targets of links
        found = _writable_on_the_way(path, paths, itself=path == real)
        if found is not None:
            return found
    return None


def may_come_with(place: str, path: str) -> bool:
    """Say whether a file lies beside, below or in another: whoever made that one may have made it, too.

    Each is looked for where it is named, and where links lead, one by one. Below the root lies everything;
    and what is in the user's folder for settings (`$XDG_CONFIG_HOME`, else `~/.config`) came with no archive
    that lies above that folder.
    """
    named = _own_folder("XDG_CONFIG_HOME", ".config") or path
    settings = (os.path.abspath(named), os.path.realpath(named))
    archive = (os.path.abspath(path), os.path.realpath(path))
    is_inside = any(_is_in(own, one) for own in settings for one in archive)

    def is_own(place: str, folder: str) -> bool:
        return any(_is_in(place, own) and _is_in(os.path.dirname(own), folder) for own in settings)

    return any(
        _is_in(one, other) and (is_inside or not is_own(one, other))
        for one in _folders_of(place)
        for other in _folders_of(path)
    )


def _is_in(one: str, other: str) -> bool:
    """Say whether a folder is another or lies below it; in the root lies nothing but itself."""
    return one == other or (other != os.path.dirname(other) and one.startswith(other + os.sep))


def _folders_of(path: str) -> list[str]:
    path, found = os.path.abspath(path), list[str]()
    while len(found) < _MOST_LINKS:
        found += [os.path.dirname(path), os.path.realpath(os.path.dirname(path))]
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(found[-1], os.readlink(path)))
    return found


def read_own(path: str) -> bytes:
    """Return the bytes of a kept file. Raises PermissionError for one of another user, and OSError."""
    with open(path, "rb", buffering=0) as file:
        _require_own(path, os.fstat(file.fileno()))
        return file.read()


def append_own(path: str, data: bytes) -> None:
    """Add `data` at the end of a kept file, by one write, so that processes can add to it side by side.

    It is made, and folders above it, for this user alone. Raises OSError, with nothing added, also where the
    disk is full; PermissionError for the file of another user, and where another user was first to make a
    folder.
    """
    try:
        descriptor = os.open(path, ADDED_FILE, 0o600)
    except FileNotFoundError:
        make_own(os.path.dirname(path))
        descriptor = os.open(path, ADDED_FILE, 0o600)
    try:
        status = os.fstat(descriptor)
        _require_own(path, status)
        if os.write(descriptor, data) != len(data):
            os.ftruncate(descriptor, status.st_size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(descriptor)


def _require_own(path: str, status: os.stat_result) -> None:
    if hasattr(os, "geteuid") and (status.st_uid not in (os.geteuid(), 0) or _open_to_others(status)):
        raise PermissionError(f"{path}: another user wrote it, or may write to it")


def keep_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` in a cache that processes share: readable by this user alone, never half of it.

    Folders are made, for this user alone. Raises OSError, with nothing left behind, and PermissionError where
    another user was first to make one.
    """
    from ._atomic import part_beside, remove_part  # not needed where an archive is opened

    target = os.fspath(path)
    made, held = [part_beside(target)], list[int]()
    try:  # entered before anything is made: a signal may end this at any line
        try:
            held.append(os.open(made[-1], NEW_FILE, 0o600))
        except FileNotFoundError:
            make_own(os.path.dirname(target))
            held.append(os.open(made[-1], NEW_FILE, 0o600))
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(held[-1], rest) :]
        os.close(held.pop())
        os.replace(made[-1], target)
    except BaseException:
        remove_part(made, held, os.getpid())
        raise


@contextlib.contextmanager
def keep_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder, which becomes `folder` in a cache that processes share.

    Where another process was first, its folder stays and this one's is removed. Raises OSError, with
    nothing left behind.
    """
    from ._atomic import part_folder

    make_own(folder.parent)
    with part_folder(folder, mode=0o700) as part:
        yield part
        try:
            os.rename(part, folder)
        except OSError:
            if not folder.is_dir():
                raise


def make_own(folder: str | os.PathLike[str]) -> None:
    """Make a folder of a cache, and those above it that are missing, for this user alone.

    Raises PermissionError where others may write to it all the same: they have made it first.
    """
    path = os.path.abspath(folder)
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was first
            os.mkdir(one, 0o700)
    if missing and (found := others_may_write(folder)):
        raise PermissionError(errno.EACCES, found, os.fspath(folder))


def _writable_on_the_way(path: str, paths: list[str], *, itself: bool) -> str | None:
    """Look at a folder and at all above it; `itself` says that the first may not be sticky.

    The targets of links are added to `paths`: a link may lead to another one, of another user.
    """
    while True:
        above = os.path.dirname(path)
        try:
            status = os.lstat(path)
            if is_link := stat.S_ISLNK(status.st_mode):
                target = os.path.join(os.path.realpath(above), os.readlink(path))
                paths += [target] if target not in paths else []
        except OSError:
            itself = False  # what is there will be made by this user, in the folder above
        else:
            if is_link or stat.S_ISDIR(status.st_mode):  # nothing is kept below a file, as the home /dev/null
                found = _fault(path, status, itself)
                if found is not None:
                    return found
                itself = False
        if above == path:
            return None
        path = above


def _fault(path: str, status: os.stat_result, itself: bool) -> str | None:
    """Say what is wrong with one folder or link: `itself` is the cache, any other is on the way to it."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to another user (uid {status.st_uid})"
    if stat.S_ISLNK(status.st_mode):  # its mode says nothing: who may exchange it is said by the folder
        return None
    sticky = status.st_mode & stat.S_ISVTX and not itself  # there only owners rename
    if _open_to_others(status) and not sticky:
        return f"other users may write to {path} (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _open_to_others(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def _is_own_group(group: int) -> bool:
    """Say whether this user alone is in a group: many systems make one for each user."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and not set(found.gr_mem) - {user.pw_name}
