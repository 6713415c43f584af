"""Folders and zip files as listings: what stands in each, read once and kept while nothing changes.

A path may lead into a zip file (`lib.zip/pkg/data`), as the entries of `sys.path` do.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in one folder. `archive` is the zip file that holds it, or ""."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    archive: str = ""


_EMPTY = Listing()


@dataclass
class Listings:
    """Listings of folders by path, each read when it is first asked for."""

    _known: dict[str, Listing] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)
    _zips: dict[str, dict[str, tuple[set[str], set[str]]]] = field(default_factory=dict)

    def get(self, folder: str) -> Listing:
        """Return the listing of `folder`; an empty one where there is no such folder."""
        found = self._known.get(folder)
        if found is None:
            found = self._known[folder] = self._read(folder)
        return found

    def refresh(self) -> None:
        """Forget the folders that changed since they were read, and those that were missing."""
        for folder in list(self._known):
            if self._times.get(folder) != _time(folder):
                del self._known[folder]
                self._times.pop(folder, None)
        self._zips.clear()

    def read(self, path: str) -> bytes:
        """Return the bytes of a file on disk or inside a zip file. Raises OSError or KeyError."""
        archive = self.get(os.path.dirname(path)).archive
        if archive:
            with zipfile.ZipFile(archive) as opened:
                return opened.read(_inner(archive, path))
        with open(path, "rb") as file:
            return file.read()

    def size(self, path: str) -> int:
        """Return the size of a file in bytes, 0 where it cannot be told."""
        archive = self.get(os.path.dirname(path)).archive
        try:
            if archive:
                with zipfile.ZipFile(archive) as opened:
                    return opened.getinfo(_inner(archive, path)).file_size
            return os.stat(path).st_size
        except (OSError, KeyError, zipfile.BadZipFile):
            return 0

    def _read(self, folder: str) -> Listing:
        try:
            before = _time(folder)
            files: set[str] = set()
            folders: set[str] = set()
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if entry.is_dir() else files).add(entry.name)
        except NotADirectoryError:
            return self._read_zip(folder)
        except OSError:
            return _EMPTY
        self._times[folder] = before
        return Listing(frozenset(files), frozenset(folders))

    def _read_zip(self, folder: str) -> Listing:
        archive = folder
        while archive and not os.path.isfile(archive):
            shorter = os.path.dirname(archive)
            if shorter == archive:
                return _EMPTY
            archive = shorter
        if archive not in self._zips:
            self._zips[archive] = _zip_tree(archive)
        inside = self._zips[archive].get(_inner(archive, folder))
        return _EMPTY if inside is None else Listing(frozenset(inside[0]), frozenset(inside[1]), archive)


def _zip_tree(archive: str) -> dict[str, tuple[set[str], set[str]]]:
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    except (OSError, zipfile.BadZipFile):
        return {}
    tree: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
    for name in names:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            parent, folder = "/".join(parts[: depth - 1]), "/".join(parts[:depth])
            tree.setdefault(parent, (set(), set()))[1].add(parts[depth - 1])
            tree.setdefault(folder, (set(), set()))
        if parts[-1]:
            tree.setdefault("/".join(parts[:-1]), (set(), set()))[0].add(parts[-1])
    return tree


def _inner(archive: str, path: str) -> str:
    return path[len(archive) :].replace(os.sep, "/").strip("/")


def _time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1
