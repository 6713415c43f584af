"""The files of packaged code, for `importlib.resources`: read from the archive, never from the disk."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib.resources.abc import Traversable, TraversableResources
from typing import Any

from .code import Folder, PackagedCode

__all__ = ["ArchivedFolder", "PackageResources"]


class PackageResources(TraversableResources):
    """What `importlib.resources` asks a loader for: the folder of one package."""

    def __init__(self, code: PackagedCode, package: str) -> None:
        self._code = code
        self._path = package.replace(".", "/")

    def files(self) -> Traversable:
        return ArchivedFolder(self._code, self._path.rpartition("/")[2], self._path)


class _Archived:
    """What files and folders of an archive share: a name, and a path that only messages show."""

    def __init__(self, code: PackagedCode, name: str, path: str) -> None:
        self._code = code
        self._path = path
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r})"

    def __str__(self) -> str:
        return self._path

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._path == other._path and self._code is other._code

    def __hash__(self) -> int:
        return hash(self._path)


class ArchivedFolder(_Archived, Traversable):
    """A folder below a package."""

    def iterdir(self) -> Iterator[Traversable]:
        for name, below in sorted(self._folder().items()):
            yield self._child(name, below)

    def joinpath(self, *descendants: Any) -> Traversable:
        parts = [part for text in descendants for part in str(text).split("/") if part not in ("", ".")]
        found: Traversable = self
        for part in parts:
            if not isinstance(found, ArchivedFolder):
                return ArchivedFile(self._code, part, f"{found}/{part}", None)
            found = found._child(part, found._folder().get(part))
        return found

    __truediv__ = joinpath

    def is_dir(self) -> bool:
        return self._code.folder(self._path) is not None

    def is_file(self) -> bool:
        return False

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        raise IsADirectoryError(f"{self._path!r} is a folder of the archive")

    def read_bytes(self) -> bytes:
        raise IsADirectoryError(f"{self._path!r} is a folder of the archive")

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        raise IsADirectoryError(f"{self._path!r} is a folder of the archive")

    def _folder(self) -> Folder:
        return self._code.folder(self._path) or {}

    def _child(self, name: str, below: Folder | str | None) -> Traversable:
        path = f"{self._path}/{name}"
        if isinstance(below, dict):
            return ArchivedFolder(self._code, name, path)
        return ArchivedFile(self._code, name, path, below)


class ArchivedFile(_Archived, Traversable):
    """A file below a package; `entry` is None where there is none of that name."""

    def __init__(self, code: PackagedCode, name: str, path: str, entry: str | None) -> None:
        super().__init__(code, name, path)
        self._entry = entry

    def iterdir(self) -> Iterator[Traversable]:
        raise NotADirectoryError(f"{self._path!r} is no folder of the archive")

    def joinpath(self, *descendants: Any) -> Traversable:
        below = "/".join(str(part) for part in descendants)
        return (
            self
            if not below
            else ArchivedFile(self._code, below.rpartition("/")[2], f"{self._path}/{below}", None)
        )

    __truediv__ = joinpath

    def is_dir(self) -> bool:
        return False

    def is_file(self) -> bool:
        return self._entry is not None

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if mode not in ("r", "rb", "rt"):
            raise ValueError(
                f"{self._path!r} is stored in an archive: mode must be 'r' or 'rb', got {mode!r}"
            )
        stream = io.BytesIO(self.read_bytes())
        return stream if mode == "rb" else io.TextIOWrapper(stream, *args, **kwargs)

    def read_bytes(self) -> bytes:
        if self._entry is None:
            raise FileNotFoundError(f"no file {self._path!r} in the archive")
        return self._code.read(self._entry)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")
