"""How files are opened, what to say where one cannot be, and what tells that a folder has changed."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final

# Every descriptor of ours is for bytes as they are, and for this process alone.
_OURS_ALONE: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
READ_FILE: Final = os.O_RDONLY | _OURS_ALONE
WRITE_FILE: Final = os.O_WRONLY | _OURS_ALONE
CHANGE_FILE: Final = os.O_RDWR | _OURS_ALONE
NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | _OURS_ALONE
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
ADDED_FILE: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _OURS_ALONE | NO_FOLLOW


def os_error_mend(error: OSError) -> str:
    """Say what to do about a file that could not be written.

    >>> os_error_mend(OSError(errno.ENOSPC, "No space left on device"))
    'free some space, or write to another disk'
    """
    if error.errno == errno.EACCES and not _has_locks():
        return (
            "close what has it open (arrays that were loaded from an archive keep it open), give permission, "
            "or write elsewhere"
        )
    return _MENDS.get(error.errno or 0, "look after the disk")


def _has_locks() -> bool:
    """Whether the system has locks of files; where it has none, what is open cannot be removed or renamed."""
    try:
        import fcntl  # noqa: F401 - asked for where something has failed
    except ImportError:
        return False
    return True


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
    errno.EINVAL: "name a file",
    errno.ELOOP: "name a file",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
    errno.ENFILE: "end other programs: no more files can be open on this system",
}


def folder_stamp(folder: str) -> object:
    """Return what tells a folder of the path from another one, and from itself after a change."""
    try:
        now = os.stat(folder or ".")
    except (OSError, ValueError):
        return folder
    return folder, now.st_dev, now.st_ino, now.st_mtime_ns
