"""Asking the system for the room of a file before it is written, which then takes half of the time.

Blocks are found for all of it at once, and not page by page. It is a favour: where it is not done, nothing is
different but that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Final

_WORTH_IT: Final = 8 << 20  # bytes
_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE of Linux: the file is as long as what is written to it


def reserve(descriptor: int, position: int, size: int) -> None:
    """Ask for room for so many bytes from a position on. The file stays as long as it is.

    What the system answers is left out: a full disk is told by what is written. Not `os.posix_fallocate`,
    which writes to every block where a file system does not know how.
    """
    if size >= _WORTH_IT and (fallocate := _fallocate()) is not None:
        fallocate(descriptor, _KEEP_SIZE, position, size)


@cache
def _fallocate() -> Callable[[int, int, int, int], int] | None:
    """Return fallocate(2) of Linux, where numbers of its library have 64 bits; None elsewhere."""
    if not sys.platform.startswith("linux") or sys.maxsize < 1 << 32:
        return None
    try:
        import ctypes  # reading files needs none of it

        found = ctypes.CDLL(None).fallocate
    except (ImportError, OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    found.restype = ctypes.c_int
    return found
