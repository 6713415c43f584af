"""The files of an archive, for `importlib.resources`.

Resources of packaged code are read from the archive, never from the disk.

Code that is used to installed packages takes what `files()` gives for a pathlib.Path. Asked for a path
(`os.fspath`, `str`), or for what only a Path has (`stem`, `exists`, `glob`), a file or folder of the
archive is unpacked, and is the one on disk.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.resources import as_file
from importlib.resources.abc import Traversable, TraversableResources
from pathlib import Path
from typing import Any

from .packaged_code import PackagedCode
from .unpacking import Unpacker


class PackageResources(TraversableResources):
    """What `importlib.resources` asks a loader for: the folder of one package."""

    def __init__(self, code: PackagedCode, unpacker: Unpacker, package: str) -> None:
        self._code = code
        self._unpacker = unpacker
        self._path = package.replace(".", "/")

    def files(self) -> Traversable:
        return ArchivedFolder(self._code, self._unpacker, self._path)


class _Archived:
    """What files and folders of an archive share: a path inside it, and one on disk when it is asked for."""

    def __init__(self, code: PackagedCode, unpacker: Unpacker, path: str) -> None:
        self._code = code
        self._unpacker = unpacker
        self._path = path

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

    def __fspath__(self) -> str:
        """Return the file or folder on disk, unpacked now if it was not before."""
        self._unpacker.unpack(self._path.partition("/")[0])
        return self._unpacker.path_of(self._path)

    def __str__(self) -> str:
        return self.__fspath__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(Path(self), name)

    def __lt__(self, other: object) -> bool:
        return self._path < other._path if isinstance(other, _Archived) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._path == other._path and self._code is other._code

    def __hash__(self) -> int:
        return hash(self._path)


class ArchivedFolder(_Archived, Traversable):
    """A folder below a package."""

    def iterdir(self) -> Iterator[Traversable]:
        self._code.ask_for_file(self._path, lists=True)
        for name in sorted(self._code.folder(self._path) or ()):
            yield _found(self._code, self._unpacker, f"{self._path}/{name}")

    def joinpath(self, *descendants: Any) -> Traversable:
        parts = [part for text in descendants for part in str(text).split("/") if part not in ("", ".")]
        return _found(self._code, self._unpacker, "/".join([self._path, *parts])) if parts else self

    __truediv__ = joinpath

    def is_dir(self) -> bool:
        return self._code.folder(self._path) is not None

    def is_file(self) -> bool:
        return False

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to read a folder: raise IsADirectoryError."""
        raise IsADirectoryError(f"{self._path!r} is a folder of the archive")

    read_bytes = read_text = open


# Python 3.11 gives no other folders than those on disk, so this is the one that is unpacked.
as_file.register(ArchivedFolder, lambda path: nullcontext(Path(path)))  # type: ignore[attr-defined]  # by type


class ArchivedFile(_Archived, Traversable):
    """A file below a package; `entry` is None where there is none of that name."""

    def __init__(self, code: PackagedCode, unpacker: Unpacker, path: str, entry: str | None) -> None:
        super().__init__(code, unpacker, path)
        self._entry = entry

    def iterdir(self) -> Iterator[Traversable]:
        """Refuse to list a file: raise NotADirectoryError."""
        raise NotADirectoryError(f"{self._path!r} is no folder of the archive")

    def joinpath(self, *descendants: Any) -> Traversable:
        below = "/".join(str(part) for part in descendants)
        return _found(self._code, self._unpacker, f"{self._path}/{below}") if below else self

    __truediv__ = joinpath

    def is_dir(self) -> bool:
        return False

    def is_file(self) -> bool:
        return self._entry is not None

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        """Open the file to read it. Raises ValueError for another mode, FileNotFoundError as `read_bytes`."""
        if mode not in ("r", "rb", "rt"):
            raise ValueError(
                f"{self._path!r} is stored in an archive: mode must be 'r' or 'rb', got {mode!r}"
            )
        stream = io.BytesIO(self.read_bytes())
        return stream if mode == "rb" else io.TextIOWrapper(stream, *args, **kwargs)

    def read_bytes(self) -> bytes:
        """Return the content. Raises FileNotFoundError where there is no file of that name."""
        if self._entry is None:
            raise FileNotFoundError(f"no file {self._path!r} in the archive")
        return self._code.read_file(self._entry)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")


def _found(code: PackagedCode, unpacker: Unpacker, path: str) -> Traversable:
    """Return what the archive has at a path, or what stands for a file that it has not."""
    entry, folder = code.entry_at(path), code.folder(path)
    if entry is None and folder is None:
        code.ask_for_file(path)
        entry, folder = code.entry_at(path), code.folder(path)
    return (
        ArchivedFile(code, unpacker, path, entry) if folder is None else ArchivedFolder(code, unpacker, path)
    )
