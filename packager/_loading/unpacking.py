"""Where the code of an archive lies on disk, as its code sees it, and how it gets there.

Every archive has a folder of its own under the cache, named by its identity: there `__file__` of its
modules points. As long as no packaged code names `__file__` or the like nothing is written; then the
whole top-level package is unpacked in one rename, sources and data files alike, and what lies beside it and
is of no package, so that `open(os.path.join(os.path.dirname(__file__), ...))` works. What is executed still
comes from the verified archive, never from that folder.

No two archives share a folder: what code writes beside itself is its archive's. What only writing needs is
imported where files are written.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING

from packager._archive import ArchiveIOError
from packager._caches import keep_file, keep_folder, usable_cache
from packager._file_access import NEW_FILE

from .packaged_code import Folder, PackagedCode

if TYPE_CHECKING:
    from pathlib import Path

    from packager._atomic import TemporaryFolder


class Unpacker:
    """The folder of one archive's code, filled on demand, one top-level package at a time.

    Where the cache cannot be written (a read-only home, none at all), or others may write to it, a temporary
    folder takes its place, removed by `close()`.
    """

    def __init__(self, code: PackagedCode, identity: str) -> None:
        self._code = code
        self._identity = identity
        self._lock = allocate_lock()
        self._done: set[str] = set()
        self._is_temporary = False
        self._temporary: TemporaryFolder | None = None
        self.root = self._choose_root()
        self._prefix = os.path.join(self.root, "")

    def path_of(self, entry: str) -> str:
        """Return the file name that `entry` has, whether it is unpacked or not."""
        return self._prefix + entry.replace("/", os.sep)

    def unpack(self, top: str) -> Path:
        """Make the files of the top-level package (or module) `top` exist; return its path.

        Raises ArchiveIOError where they cannot be written.
        """
        with self._lock:
            if top not in self._done:
                try:
                    self._fill(self._folder(), top)
                except OSError as error:
                    if isinstance(error, ArchiveIOError):
                        raise  # the archive could not be read
                    raise ArchiveIOError(
                        f"{top}: packaged code asks for its own files, and they cannot be written to "
                        f"{self.root}: {error}; set KELLET_CACHE to a folder that can be written",
                        error,
                        str(self.root),
                    ) from error
                self._done.add(top)
        return self.root / top

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._temporary is not None:
            self._temporary.close()

    def _choose_root(self) -> Path:
        cache = usable_cache(None, "code", self._identity)
        if cache is None or not _can_be_made(cache):
            # Only a name so far, and one that cannot be guessed: made when something is unpacked.
            self._is_temporary = True
            from pathlib import Path

            return Path(_temporary_folder(), f"kellet-code-{os.urandom(8).hex()}")
        return cache

    def _folder(self) -> str:
        """Return the folder to fill."""
        root = str(self.root)
        if self._is_temporary and self._temporary is None:
            from packager._atomic import TemporaryFolder

            self._temporary = TemporaryFolder("code", root)
        return root

    def _fill(self, root: str, top: str) -> None:
        module_file = self._code.entry_at(f"{top}.py")
        if module_file is not None:
            self._put(root, module_file)
        folder, place = self._code.folder(top), os.path.join(root, top)
        if folder is not None and not os.path.exists(place):
            from pathlib import Path

            with keep_folder(Path(place)) as part:
                self._write_folder(folder, str(part))
        for entry in self._code.files_of_no_package():
            self._put(root, entry)

    def _put(self, root: str, entry: str) -> None:
        path = os.path.join(root, *entry.split("/"))
        if not os.path.exists(path):
            keep_file(path, self._code.read_file(entry))

    def _write_folder(self, folder: Folder, path: str) -> None:
        """Write `folder` into the new one at `path`, without recursion: names may nest deeply."""
        work = [(folder, path)]
        while work:
            current, target = work.pop()
            for name, below in current.items():
                place = f"{target}{os.sep}{name}"
                if isinstance(below, str):
                    _write_new(place, self._code.read_file(below))
                else:
                    os.mkdir(place)
                    work.append((below, place))


def _write_new(path: str, data: bytes) -> None:
    """Write a file into a folder that nobody else knows yet, with the fewest calls of the system."""
    descriptor = os.open(path, NEW_FILE, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _temporary_folder() -> str:
    import tempfile

    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # nothing can be written anywhere, which only some code minds
        return os.path.join(os.sep, "tmp")


def _can_be_made(folder: Path) -> bool:
    existing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
