"""Where `__file__` of packaged modules points, and how files get there when code asks for them.

Every archive has a folder of its own under the cache, named by its identity. As long as no packaged
code names `__file__` or `__path__` nothing is written; then the whole top-level package is unpacked
in one rename, sources and data files alike, so that `open(os.path.join(os.path.dirname(__file__), ...))`
works. What is executed still comes from the verified archive, never from that folder.

What only writing needs is imported where files are written: most loads write nothing.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from packager.archive import ArchiveIOError
from packager.atomic import cache_folder, keep_file, keep_folder

from .code import Folder, PackagedCode


class Unpacker:
    """The folder of one archive's code, filled on demand, one top-level package at a time.

    Where the cache cannot be written (a read-only home, none at all) a temporary folder takes its
    place, removed by `close()`.
    """

    def __init__(self, code: PackagedCode, identity: str) -> None:
        self._code = code
        self._identity = identity
        self._lock = threading.Lock()
        self._done: set[str] = set()
        self._temporary: str | None = None
        self.root = self._choose_root()
        self._prefix = os.path.join(self.root, "")

    def path_of(self, entry: str) -> str:
        """The file name that `entry` has, whether it is unpacked or not."""
        return self._prefix + entry.replace("/", os.sep)

    def unpack(self, top: str) -> Path:
        """Make the files of the top-level package (or module) `top` exist; return its path.

        Raises ArchiveIOError where they cannot be written.
        """
        with self._lock:
            if top not in self._done:
                try:
                    self._unpack(top)
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
        """Remove what was only temporary."""
        if self._temporary is not None:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)

    def _choose_root(self) -> Path:
        try:
            cache = cache_folder("code", self._identity)
        except RuntimeError:  # no home folder is known for this user
            cache = None
        if cache is None or not _can_be_made(cache):
            # Only a name so far, and one that nobody can guess: made when something is unpacked.
            self._temporary = os.path.join(_temporary_folder(), f"kellet-{os.urandom(8).hex()}")
            return Path(self._temporary)
        return cache

    def _unpack(self, top: str) -> None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        module_file = self._code.entry_at(f"{top}.py")
        folder = self._code.folder(top)
        if module_file is not None and not (self.root / module_file).exists():
            keep_file(self.root / module_file, self._code.read(module_file))
        if folder is not None and not (self.root / top).exists():
            with keep_folder(self.root / top) as part:
                self._write_folder(folder, part)

    def _write_folder(self, folder: Folder, path: Path) -> None:
        """Write `folder` as `path`, without recursion: names may nest deeply."""
        work = [(folder, path)]
        while work:
            current, target = work.pop()
            target.mkdir(exist_ok=True)
            for name, below in current.items():
                if isinstance(below, str):
                    (target / name).write_bytes(self._code.read(below))
                else:
                    work.append((below, target / name))


def _temporary_folder() -> str:
    import tempfile

    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # nothing can be written anywhere, which only some code minds
        return os.path.join(os.sep, "tmp")


def _can_be_made(folder: Path) -> bool:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
