"""Import statements kept between runs, by the digest of the source."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from typing import Any, Final

import msgpack

from packager.caches import keep_file, read_own, usable_cache

from .import_statements import Statements

_VERSION: Final = 32
"""Raise it with every change of what a record holds or how it is read off the source."""

_FEW: Final = 16  # records that are not worth a bundle
_MOST_BUNDLES: Final = 64


class ScanCache:
    """Import statements kept between runs, by the digest of the source. `folder` stands in for the user's.

    They lie in the folder `scans` of the cache (see `cache_folder`), apart for each version of the records
    and of Python's grammar. `flush` writes what was put there since: a few records as small files, many as a
    bundle, which is a file of them all, and one that says where in it each begins and ends. Nothing that goes
    wrong here matters: a file that cannot be read, or says something else, counts as absent; a folder that
    cannot be written is left alone. At most 64 bundles are kept; the oldest go.

    >>> import tempfile
    >>> from packager.graph.import_statements import read_statements
    >>> cache = ScanCache(tempfile.mkdtemp())
    >>> cache.get("5e1f") is None
    True
    >>> cache.put("5e1f", read_statements(b"import a"))
    >>> cache.get("5e1f").imports[0].module
    'a'
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        usable = usable_cache(None, "scans") if folder is None else usable_cache(folder)
        self._folder = os.path.join(usable or os.devnull, f"{_VERSION}-{sys.implementation.cache_tag}")
        self._writable = True
        self._new: dict[str, bytes] = {}
        self._bundles: dict[str, bytes] = {}
        self._places: dict[str, tuple[str, int, int]] | None = None

    def get(self, digest: str) -> Statements | None:
        """Return the import statements of the source with this digest, or None."""
        try:
            data = self._new.get(digest) or self._in_bundle(digest) or read_own(self._path(digest))
            kept: Any = msgpack.unpackb(data, use_list=False, strict_map_key=True)
            return Statements.from_row(*kept[1:]) if kept[0] == digest else None
        except OSError:
            return None
        except Exception:  # a damaged file may fail in any way; the source is simply read again
            return None

    def put(self, digest: str, statements: Statements) -> None:
        """Keep the import statements of a source."""
        if self._writable:
            with contextlib.suppress(ValueError, TypeError, OverflowError):  # what msgpack has no form for
                self._new[digest] = msgpack.packb([digest, *statements])

    def flush(self) -> None:
        """Write what is new; beside its place and renamed, so that no reader sees half of it."""
        new, self._new = self._new, {}
        if not self._writable:
            return
        try:
            if len(new) > _FEW:
                self._keep_bundle(new)
            else:
                for name, data in new.items():
                    keep_file(self._path(name), data)
        except (OSError, ValueError, OverflowError):
            self._writable = False

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name[:1]}/{name}"

    # -- bundles ------------------------------------------------------------------------------

    def _in_bundle(self, name: str) -> bytes | None:
        """Return the bytes that a bundle has for a name; None where none has any."""
        if self._places is None:
            self._places = {}
            for path in self._paths_of_bundles():
                self._places |= _read_places(path)
        path, start, end = self._places.get(name, ("", 0, 0))
        if not path:
            return None
        if path not in self._bundles:
            try:
                self._bundles[path] = read_own(path)
            except OSError:  # another process has removed it
                self._bundles[path] = b""
        return self._bundles[path][start:end]

    def _paths_of_bundles(self) -> list[str]:
        """Return the paths of all bundles, the oldest first."""
        try:
            with os.scandir(f"{self._folder}/bundles") as entries:
                found = [
                    (one.stat().st_mtime_ns, one.path) for one in entries if one.name.endswith(".places")
                ]
        except OSError:
            return []
        return [path.removesuffix(".places") for _, path in sorted(found)]

    def _keep_bundle(self, new: dict[str, bytes]) -> None:
        data = b"".join(new.values())
        places, at = {}, 0
        for name, one in new.items():
            places[name] = (at, at + len(one))
            at += len(one)
        path = f"{self._folder}/bundles/{hashlib.sha256(data).hexdigest()}"
        keep_file(path, data)  # first, as what has places is used
        keep_file(f"{path}.places", msgpack.packb(places))
        for old in self._paths_of_bundles()[:-_MOST_BUNDLES]:
            for gone in (f"{old}.places", old):
                with contextlib.suppress(OSError):
                    os.remove(gone)


def _read_places(path: str) -> dict[str, tuple[str, int, int]]:
    """Return where in a bundle the records lie, by name; nothing where that cannot be read."""
    try:
        places = msgpack.unpackb(read_own(f"{path}.places"), use_list=False, strict_map_key=True)
        return {str(name): (path, int(start), int(end)) for name, (start, end) in places.items()}
    except Exception:  # a damaged file may fail in any way
        return {}
