"""Scans kept between runs, by the digest of the source they were read off.

One small file per source under `$XDG_CACHE_HOME/kedge/scans` (or `~/.cache/kedge/scans`), apart
for each version of the scan and of Python's grammar. Nothing that goes wrong here matters: a file
that cannot be read, or says something else, counts as absent; a folder that cannot be written is
left alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import msgpack

from packager.graph.scan import SCAN_VERSION, Scan, pack_scan, unpack_scan

__all__ = ["ScanCache", "default_cache_folder"]


def default_cache_folder() -> Path:
    """Where the user's scans are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "kedge" / "scans"


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
        base = default_cache_folder() if folder is None else Path(folder)
        self._folder = os.path.join(base, f"{SCAN_VERSION}-{sys.implementation.cache_tag}")
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
        path = self._path(digest)
        beside = f"{path}.{os.getpid()}"
        try:
            data = msgpack.packb([digest, pack_scan(scan)])
            try:
                file = open(beside, "wb")  # noqa: SIM115 - closed below, on both ways
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
                file = open(beside, "wb")  # noqa: SIM115 - closed below, on both ways
            with file:
                file.write(data)
            os.replace(beside, path)
        except (OSError, ValueError, TypeError, OverflowError):
            self._writable = False
            with contextlib.suppress(OSError):
                os.unlink(beside)

    def _path(self, digest: str) -> str:
        return f"{self._folder}/{digest[:2]}/{digest}"
