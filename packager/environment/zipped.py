"""Folders that lie inside a ZIP file on `sys.path`: their names, and files in them.

An archive that carries its loader is such a file. Nothing here is needed, or imported, as long as
every folder is a real one.
"""

from __future__ import annotations

import os
from functools import lru_cache


def names_in(folder: str) -> list[str]:
    """What lies directly in `folder`, a path that leads into a ZIP file; nothing for any other path."""
    file, inner = _split(folder)
    if file is None:
        return []
    below = f"{inner}/" if inner else ""
    found = {name[len(below) :].partition("/")[0] for name in _names(file) if name.startswith(below)}
    return sorted(found - {""})


def read_in(path: str) -> bytes:
    """A file inside a ZIP file; empty where there is none."""
    file, inner = _split(path)
    if file is None or inner not in _names(file):
        return b""
    from zipfile import ZipFile

    with ZipFile(file) as archive:
        return archive.read(inner)


def _split(path: str) -> tuple[str | None, str]:
    """The file that a path leads through, and the rest of the path below it."""
    file, parts = path, []
    while not os.path.exists(file):
        file, name = os.path.split(file)
        if not name:
            return None, ""
        parts.append(name)
    return (file if os.path.isfile(file) else None), "/".join(reversed(parts))


@lru_cache(maxsize=8)
def _names(file: str) -> frozenset[str]:
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(file) as archive:
            return frozenset(archive.namelist())
    except (BadZipFile, OSError):
        return frozenset()
