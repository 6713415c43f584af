"""Scans kept between runs, by the digest of the source."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgpack

from packager.caches import keep_file, read_own, usable_cache

from .outlines import Outline
from .scan import SCAN_VERSION, Binding, Block, ClassScan, Dynamic, Exports, Import, Literal, NameUse, Scan

_T = TypeVar("_T")
_FEW: Final = 16  # scans that are not worth a bundle
_MOST_BUNDLES: Final = 64


class ScanCache:
    """Scans kept between runs, by the digest of the source. `folder` stands in for the user's.

    They lie in the folder `scans` of the cache (see `cache_folder`), apart for each version of the scan and
    of Python's grammar. `flush` writes what was put there since: a few scans as small files, one a source,
    many as a bundle, which is a file of them all, and one that says where in it each begins and ends. Nothing
    that goes wrong here matters: a file that cannot be read, or says something else, counts as absent; a
    folder that cannot be written is left alone. At most 64 bundles are kept; the oldest go.

    >>> import tempfile
    >>> from packager.graph.scanner import scan_source
    >>> cache = ScanCache(tempfile.mkdtemp())
    >>> cache.get("5e1f") is None
    True
    >>> cache.put("5e1f", scan_source("import a"))
    >>> cache.get("5e1f").imports[0].module
    'a'
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        usable = usable_cache(None, "scans") if folder is None else usable_cache(folder)
        self._folder = os.path.join(usable or os.devnull, f"{SCAN_VERSION}-{sys.implementation.cache_tag}")
        self._writable = True
        self._new: dict[str, bytes] = {}
        self._bundles: dict[str, bytes] = {}
        self._places: dict[str, tuple[str, int, int]] | None = None

    def get(self, digest: str) -> Scan | None:
        """Return the scan of the source with this digest, or None."""
        return self._kept(digest, unpack_scan)

    def put(self, digest: str, scan: Scan) -> None:
        """Keep a scan."""
        self._put(digest, [pack_scan(scan)])

    def get_outline(self, digest: str) -> Outline | None:
        """Return the outline of the source with this digest, or None."""
        return self._kept(f"{digest}-outline", _unpack_outline)

    def put_outline(self, digest: str, outline: Outline) -> None:
        """Keep an outline."""
        self._put(f"{digest}-outline", [pack_scan(outline.scan), outline.classes, outline.literals])

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

    def _put(self, name: str, data: list[Any]) -> None:
        if self._writable:
            with contextlib.suppress(ValueError, TypeError, OverflowError):  # what msgpack has no form for
                self._new[name] = msgpack.packb([name, *data])

    def _kept(self, name: str, unpack: Callable[..., _T]) -> _T | None:
        try:
            data = self._new.get(name) or self._in_bundle(name) or read_own(self._path(name))
            kept: Any = msgpack.unpackb(data, use_list=False, strict_map_key=True)
            return unpack(*kept[1:]) if kept[0] == name else None
        except OSError:
            return None
        except Exception:  # a damaged file may fail in any way; the source is simply read again
            return None

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
    """Return where in a bundle the scans lie, by name; nothing where that cannot be read."""
    try:
        places = msgpack.unpackb(read_own(f"{path}.places"), use_list=False, strict_map_key=True)
        return {str(name): (path, int(start), int(end)) for name, (start, end) in places.items()}
    except Exception:  # a damaged file may fail in any way
        return {}


def pack_scan(scan: Scan) -> list[Any]:
    """Return the scan as lists, strings and numbers, for msgpack."""
    return [*scan]


def unpack_scan(row: Any) -> Scan:
    """Undo `pack_scan`, over what msgpack gives with `use_list=False`.

    Raises TypeError or ValueError where the row has another shape.
    """
    error, blocks, imports, dynamics, uses, classes, bindings, exports, lazy, literals, *flags = row
    return Scan(
        error,
        tuple(map(Block._make, blocks)),
        tuple(map(Import._make, imports)),
        tuple(map(Dynamic._make, dynamics)),
        tuple(map(NameUse._make, uses)),
        tuple(map(ClassScan._make, classes)),
        {name: tuple(map(Binding._make, found)) for name, found in bindings.items()},
        None if exports is None else Exports._make(exports),
        lazy,
        tuple(map(Literal._make, literals)),
        *flags,
    )


def _unpack_outline(row: Any, classes: Any, literals: Any) -> Outline:
    if {*map(type, (*classes, *literals))} - {str} or {*map(type, classes.values())} - {int}:
        raise TypeError("expected numbers by name, and names")
    return Outline(unpack_scan(row), classes, literals)
