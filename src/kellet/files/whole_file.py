"""A file that is written whole, or not at all. The one place where `kellet` opens a file to write to.

`packager._atomic` has its own: it works where kellet is not, holds a lock on what is unfinished, and removes
what a killed process has left.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` when the block ends without an error.

    A symbolic link stays, and the file that it leads to is replaced. The new file has the permissions of
    the old one.

    Raises OSError that names `path` where it cannot be written to, and for a device, FIFO, socket or folder;
    nothing has been created then.
    """
    target = os.path.realpath(path)
    mode = _mode_of(path, target)
    aside = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.kellet-unfinished")
    try:
        # Not by tempfile: its files are for their owner alone, whatever the umask says.
        number = os.open(aside, _NEW, 0o666)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                file.flush()
                os.fsync(number)
            if mode is not None:
                os.chmod(aside, mode)
            os.replace(aside, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(aside)
            raise
    except OSError as error:
        if error.filename == aside:  # users know the file by the name that they gave
            error.filename = os.fspath(path)
            del error.filename2  # None would be printed
        raise


def _mode_of(path: str | os.PathLike[str], target: str) -> int | None:
    """Return the permissions of the file that is replaced; None where there is none. Raises OSError."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if not os.path.exists(path):
            return None
        mode = 0  # a pipe or a removed file that a process has open, as /dev/stdout may be
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(
            errno.EINVAL,
            "it is a device, FIFO or socket, which is never replaced; give an open file instead",
            os.fspath(path),
        )
    return stat.S_IMODE(mode) & 0o777
