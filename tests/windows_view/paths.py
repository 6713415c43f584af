"""Paths that are the same in capitals, and files that cannot go while somebody has them open."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

EINVALIDLINKS = 0


def as_written(path: Any) -> Any:
    """Return a path with the spelling of what is there; what is no text stays as it is."""
    if isinstance(path, bytes):
        return os.fsencode(as_written(os.fsdecode(path)))
    if not isinstance(path, str) or not path or "\0" in path or os.path.lexists(path):
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


def require_unused(path: Any) -> None:
    """Raise PermissionError where this process has a file, or one below a folder, open or mapped."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode):
        below = os.path.realpath(path) + os.sep
        used = any(one.startswith(below) for one in _open_paths())
    else:
        used = (status.st_dev, status.st_ino) in _open_files() or _is_mapped(status)
    if used:
        raise PermissionError(
            errno.EACCES, "The process cannot access the file because it is being used", os.fspath(path)
        )


def _descriptors() -> list[str]:
    return os.listdir("/proc/self/fd")


def _open_files() -> set[tuple[int, int]]:
    found = set()
    for one in _descriptors():
        try:
            status = os.fstat(int(one))
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def _open_paths() -> list[str]:
    found = []
    for one in _descriptors():
        try:
            found.append(os.readlink(f"/proc/self/fd/{one}"))
        except OSError:
            continue
    return found


def _is_mapped(status: os.stat_result) -> bool:
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return any(
            (parts := line.split(None, 5))[3] == device and parts[4] == str(status.st_ino) for line in maps
        )
