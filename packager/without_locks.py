"""Folders that a process holds where a system has no locks: Windows.

An open file can be neither removed nor renamed there, nor can a folder be opened. So a process that works in a
folder keeps a file beside it open; while that cannot be removed, the folder is left alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from packager.atomic import NEW_FILE

_HELD = ".held"


def held_folder(make: Callable[[], str], held: list[int]) -> str:
    """Return a folder that `make` has made; the descriptor of the file that holds it is put into `held`.

    Raises OSError; the caller removes what was made.
    """
    folder = make()
    held.append(os.open(folder + _HELD, NEW_FILE, 0o600))
    return folder


def is_held(folder: str) -> bool:
    """Say whether a process works in a folder; where none does, the file beside it is gone afterwards."""
    try:
        os.unlink(folder + _HELD)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def forget(folders: list[str]) -> None:
    """Remove the files that held folders; their descriptors are closed."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.unlink(folder + _HELD)
