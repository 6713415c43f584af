"""Paths that are the same in capitals, and files that cannot go while somebody has them open."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import Any

_lstat = os.lstat  # a run puts another one in its place, which asks for the file, and comes here


def as_written(path: Any) -> Any:
    """Return a path with the spelling of what is there; what is no text stays as it is."""
    if isinstance(path, bytes):
        return os.fsencode(as_written(os.fsdecode(path)))
    if not isinstance(path, str) or not path or "\0" in path or path.count(os.sep) > 100 or _is_there(path):
        return path
    above, name = os.path.split(path)
    if not name:  # "folder/"
        return as_written(above) + os.sep if above != path else path
    above = as_written(above)
    try:
        there = os.listdir(above or os.curdir)
    except OSError:
        return os.path.join(above, name)
    low = name.casefold()
    return os.path.join(above, next((one for one in there if one.casefold() == low), name))


def _is_there(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def require_unused(path: Any) -> None:
    """Raise PermissionError where a file, or one below a folder, is open, or mapped by this process."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    where = os.path.realpath(os.path.dirname(os.fspath(path)))
    real = os.path.join(where, os.path.basename(os.fspath(path)))
    if stat.S_ISDIR(status.st_mode):
        used = any(one.startswith(real + os.sep) for one in _open_paths())
    else:
        used = real in _open_paths() or _is_mapped(status)
    if used:
        raise PermissionError(
            errno.EACCES, "The process cannot access the file because it is being used", os.fspath(path)
        )


def _open_paths() -> set[str]:
    """Return the paths that all processes of this user have open."""
    found = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            numbers = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for number in numbers:
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{process}/fd/{number}"))
    return found


def _is_mapped(status: os.stat_result) -> bool:
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return any(
            (parts := line.split(None, 5))[3] == device and parts[4] == str(status.st_ino) for line in maps
        )


# Whose code raised something is told by this name: what stands in for the library here is none of a model's.
__name__ = "packager.windows_view"
