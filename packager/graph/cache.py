"""Scans kept between runs, by the digest of the source they were read off.

One small file per source in the folder `scans` of the cache (see `cache_folder`), apart
for each version of the scan and of Python's grammar. Nothing that goes wrong here matters: a file
that cannot be read, or says something else, counts as absent; a folder that cannot be written is
left alone.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgpack

from packager.atomic import cache_folder, keep_file
from packager.graph.scan import SCAN_VERSION, Scan, pack_scan, unpack_scan

__all__ = ["ScanCache"]


class ScanCache:
    """Scans on disk. `folder` stands in for the user's.

    >>> import tempfile
    >>> from packager.graph.imports import scan_source
    >>> cache = ScanCache(tempfile.mkdtemp())
    >>> cache.get("5e1f") is None
    True
    >>> cache.put("5e1f", scan_source("import a"))
    >>> cache.get("5e1f").imports[0].module
    'a'
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        if folder is None:
            try:
                folder = cache_folder("scans")
            except RuntimeError:  # no home folder is known for this user
                folder = os.devnull
        self._folder = os.path.join(folder, f"{SCAN_VERSION}-{sys.implementation.cache_tag}")
        self._writable = True

    def get(self, digest: str) -> Scan | None:
        """The scan of the source with this digest, or None."""
        try:
            with open(self._path(digest), "rb") as file:
                kept: Any = msgpack.unpackb(file.read(), use_list=False, strict_map_key=True)
            return unpack_scan(kept[1]) if kept[0] == digest else None
        except OSError:
            return None
        except Exception:  # a damaged file may fail in any way; the source is simply read again
            return None

    def put(self, digest: str, scan: Scan) -> None:
        """Keep a scan; written beside its place and renamed, so that no reader sees half of it."""
        if not self._writable:
            return
        try:
            keep_file(self._path(digest), msgpack.packb([digest, pack_scan(scan)]))
        except (OSError, ValueError, TypeError, OverflowError):
            self._writable = False

    def _path(self, digest: str) -> str:
        return f"{self._folder}/{digest[:2]}/{digest}"
