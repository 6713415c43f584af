"""Folders that a process holds where a system has no locks: Windows.

An open file can be neither removed nor renamed there, nor can a folder be opened. So a process that works in
a folder keeps a file beside it open; while that cannot be removed, the folder is left alone.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable

_HELD = ".held"


def let_go(held: list[int]) -> None:
    """Close what this process holds of a file that is to be renamed; what a reader of it left behind, too."""
    while held:
        os.close(held.pop())
    gc.collect()  # a map that only a cycle keeps is open


def held_folder(make: Callable[[], str], held: list[int], flags: int) -> str:
    """Return a folder that `make` has made; the descriptor of the file that holds it is put into `held`.

    That file is made with `flags`, those of a new one.

    Raises OSError; the caller removes what was made.
    """
    folder = make()
    held.append(os.open(folder + _HELD, flags, 0o600))
    return folder


def is_held(folder: str) -> bool:
    """Say whether a process works in a folder, or is about to. The file beside it is gone where none does."""
    try:
        os.unlink(folder + _HELD)
    except OSError:  # it is open, or not there yet
        return True
    return False


def forget(folders: list[str]) -> None:
    """Remove the files that held folders; their descriptors are closed."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.unlink(folder + _HELD)
