"""Whole files, and the names in folders but for what is being written there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from packager._atomic import PART_ENDING
from packager.errors import ArchiveError


class Name(NamedTuple):
    """A name in a folder; `is_folder` follows links."""

    name: str
    is_folder: bool
    is_link: bool


def read_whole(path: str) -> bytes:
    """Return the bytes of a file. Raises OSError."""
    with open(path, "rb", buffering=0) as file:  # all of it is read at once
        return file.read()


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file, in hexadecimal. Raises OSError."""
    from hashlib import file_digest  # few ask

    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def files_below(top: str, left_out: Collection[str]) -> list[str]:
    """Return the files of a folder by relative paths. Raises ArchiveError for links and special files."""
    found, pending = list[str](), [""]
    while pending:
        inner = pending.pop()
        for entry in os.scandir(os.path.join(top, inner)):
            name = inner + entry.name
            if name in left_out:
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                found.append(name)
            else:
                raise ArchiveError(f"{top}: found the link {name!r}; expected files alone")
    return found


def list_folder(folder: str) -> list[Name]:
    """Return the names in a folder, in no order, but for what is being written there. Raises OSError."""
    with os.scandir(folder) as entries:
        return [
            Name(entry.name, entry.is_dir(), entry.is_symlink())
            for entry in entries
            if not entry.name.endswith(PART_ENDING)
        ]


def names_in(folder: str) -> list[str]:
    """Return the names in a folder alone, as `list_folder`. Raises OSError."""
    return [name for name in os.listdir(folder) if not name.endswith(PART_ENDING)]


def file_bytes(path: str) -> bytes:
    """Return the bytes of a file on disk or inside of a ZIP file. Raises OSError or KeyError."""
    try:
        return read_whole(path)
    except NotADirectoryError:
        found: bytes = _in_zip(path).read_bytes()
        return found


def names_anywhere(folder: str) -> list[tuple[str, bool]]:
    """Return the names in a folder, each with whether it is one; none where there is no such folder.

    It may lie inside of a ZIP file.
    """
    try:
        try:
            return [(name, is_folder) for name, is_folder, _ in list_folder(folder)]
        except NotADirectoryError:
            inside = _in_zip(folder)
            return [(one.name, one.is_dir()) for one in inside.iterdir()] if inside.is_dir() else []
    except OSError:
        return []


def search_folders(path: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the entries of a path as texts, the working directory for the empty one.

    Where that directory is gone, so is what relative entries lead to.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:
        here = ""
    entries = [os.fspath(entry) for entry in path]
    return [entry or here for entry in entries if here or os.path.isabs(entry)]


def is_compiled(path: str, size: int) -> bool:
    """Say whether Python has compiled a source file of this size as it is: by the head of its bytecode.

    Source: PEP 552, the pyc format.
    """
    from importlib.util import MAGIC_NUMBER, cache_from_source

    try:
        with open(cache_from_source(path), "rb", buffering=0) as file:
            head = file.read(16)
        changed = int(os.stat(path).st_mtime)
    except (OSError, ValueError, NotImplementedError):
        return False
    return head == MAGIC_NUMBER + b"".join(
        (one & 0xFFFFFFFF).to_bytes(4, "little") for one in (0, changed, size)
    )


def _in_zip(path: str) -> Any:
    """Return a path that leads into a zip file as a path of that. Raises OSError."""
    import zipfile  # few things lie in one

    archive = path
    while not os.path.isfile(archive) and archive != os.path.dirname(archive):
        archive = os.path.dirname(archive)
    at = path[len(archive) :].replace(os.sep, "/").strip("/")
    try:
        found = zipfile.Path(archive, at)
        return found if found.exists() or not at else zipfile.Path(archive, f"{at}/")
    except zipfile.BadZipFile as error:
        raise OSError(f"{archive}: {error}") from None
