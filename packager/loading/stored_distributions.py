"""What `importlib.metadata` finds about distributions whose code is in an archive: their METADATA."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packager.environment import normalized_name

from .packaged_code import PackagedCode


class StoredDistribution(Distribution):
    """A distribution of which an archive holds the code, and `folder`, which describes it."""

    def __init__(self, code: PackagedCode, folder: str) -> None:
        self._code = code
        self._folder = folder

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        entry = self._code.entry_at(f"{self._folder}/{os.fspath(filename)}")
        return None if entry is None else self._code.read(entry).decode()

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        return Path(path)  # relative to the archive: there is no list of files to locate


def stored_distributions(code: PackagedCode, name: str | None = None) -> Iterator[Distribution]:
    """Yield the distributions in the archive: all, or the one of that name in whichever spelling."""
    for folder in code.metadata_folders():
        stored = folder.removesuffix(".dist-info").partition("-")[0]
        if name is None or normalized_name(stored) == normalized_name(name):
            yield StoredDistribution(code, folder)


def distribution_for(code: PackagedCode, name: str) -> Distribution:
    """Return the distribution of that name in the archive, or else in this environment.

    Raises PackageNotFoundError where neither has it.
    """
    return next(stored_distributions(code, name), None) or Distribution.from_name(name)
