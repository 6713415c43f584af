"""Every module that was looked at, by name: where it is, its source, its scan.

A Shelf entry says nothing about policy or about being live; the library only reads, each file
once. Texts that the caller gives come before files.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from packager.graph.cache import ScanCache
from packager.graph.imports import scan_source
from packager.graph.scan import Block, Import, Scan
from packager.graph.sources import Found, SourceFinder
from packager.names import source_path

__all__ = ["Library", "Volume"]

_STAR = re.compile(rb"import\s*\(?\s*\*")
NO_SCAN = Scan(
    None,
    (Block(-1, "module", 0, 0, "", "", None, -1, (), (), (), (), (), -1, True, (), False),),
    (), (), (), {}, None, None, (), False, False,
)  # fmt: skip


class Volume:
    """One module: found, and read as far as somebody asked.

    `package` is what relative imports start from. `verdicts` belongs to blocks.py, which keeps
    there what it knows of its blocks; `live`, `used`, `foreign` (names that lead out of what is
    followed) and `classes_in` to using.py.

    `scan` is what the source says; an empty one where there is no source, or none that parses.
    """

    __slots__ = (
        "_library", "_source", "classes_in", "digest", "foreign", "found", "live", "name", "package",
        "problem", "scan", "used", "verdicts",
    )  # fmt: skip

    scan: Scan

    def __init__(self, library: Library, found: Found) -> None:
        self._library = library
        self.name, self.found = found.name, found
        usual = found.name if found.is_package else found.name.rpartition(".")[0]
        self.package = usual if found.package is None else found.package
        self.problem = ("", "", 0)
        self.digest = ""
        self._source: bytes | None = None
        self.verdicts: dict[int, tuple[bool | None, str]] = {}
        self.live: set[int] = set()
        self.used: set[str] = set()
        self.foreign: set[str] = set()
        self.classes_in: dict[int, list[int]] | None = None

    @property
    def source(self) -> bytes | None:
        """The bytes of the source, None where there is none or it cannot be read."""
        if self._source is None and self.found.read is not None and not self.problem[0]:
            try:
                self._source = self.found.read()
            except (OSError, KeyError, ValueError) as error:
                self.problem = ("unreadable", str(error), 0)
        return self._source

    def __getattr__(self, name: str) -> Any:
        """`scan` is set when it is first asked for: a plain attribute from then on, as it is asked most."""
        if name != "scan":
            raise AttributeError(name)
        self.scan = self._read_scan()
        return self.scan

    def mentions(self, name: str) -> bool:
        """Whether `name` could be among this module's: a look at the text, cheaper than a scan."""
        source = self.source
        return source is not None and (name.encode() in source or _STAR.search(source) is not None)

    def replace(self, text: bytes) -> None:
        """Put another text in the place of the one that was found."""
        self._source, self.problem = text, ("", "", 0)
        with suppress(AttributeError):  # nobody has asked for it yet
            del self.scan
        self.verdicts.clear()
        self.live.clear()
        self.used.clear()
        self.foreign.clear()
        self.classes_in = None

    def target(self, statement: Import) -> str | None:
        """The absolute name of the module that an import names; None beyond the top level."""
        if statement.level == 0:
            return statement.module
        base = self.name if statement.anchor == "name" else self.package
        parts = base.split(".") if base else []
        if len(parts) < statement.level:
            return None
        kept = parts[: len(parts) - statement.level + 1]
        return ".".join([*kept, statement.module] if statement.module else kept)

    def _read_scan(self) -> Scan:
        source = self.source
        if source is None:
            return NO_SCAN
        self.digest = hashlib.sha256(source).hexdigest()
        cache = self._library.cache
        scan = cache.get(self.digest) if cache is not None else None
        if scan is None:
            scan = scan_source(source)
            if cache is not None and scan.error is None:
                cache.put(self.digest, scan)
        if scan.error is not None:
            self.problem = ("syntax", scan.error[1], scan.error[0])
            return NO_SCAN
        return scan


class Library:
    """Volumes by module name, over a finder and texts given by the caller."""

    def __init__(self, finder: SourceFinder, cache: ScanCache | None) -> None:
        self.finder = finder
        self.cache = cache
        self._volumes: dict[str, Volume] = {}
        self._texts: dict[str, tuple[bytes, bool, str]] = {}
        self._implied: set[str] = set()

    def __getitem__(self, name: str) -> Volume:
        volume = self._volumes.get(name)
        if volume is None:
            volume = self._volumes[name] = Volume(self, self._find(name))
        return volume

    def exists(self, name: str) -> bool | None:
        """Whether there is a module of that name; None where that cannot be told."""
        kind = self[name].found.kind
        return None if kind == "unknown" else kind != "missing"

    def has_submodule(self, package: Volume, name: str) -> bool:
        """Whether `name` is a module directly inside `package`."""
        return package.found.is_package and self.exists(f"{package.name}.{name}") is True

    def has_distribution(self, name: str) -> bool:
        """Whether a distribution is installed that has this name and no module of the same name."""
        return self.exists(name) is False and self.finder.has_distribution(name)

    def add_text(self, name: str, text: bytes, is_package: bool, kind: str = "text") -> None:
        """Put a module on the shelf whose text is given. It takes effect for what is looked up later."""
        self._texts[name] = (text, is_package, kind)
        self._volumes.pop(name, None)
        parent = name.rpartition(".")[0]
        while parent:
            self._implied.add(parent)
            if parent in self._volumes and self._volumes[parent].found.kind == "missing":
                del self._volumes[parent]
            parent = parent.rpartition(".")[0]

    def submodules(self, name: str) -> Sequence[str]:
        """All modules directly inside a package, sorted."""
        given = {text for text in self._texts if text.rpartition(".")[0] == name}
        return sorted(given.union(self.finder.submodules(name)))

    def size(self, name: str) -> int:
        """The size of a module's source in bytes, without reading it where it lies on disk."""
        path = self[name].found.path
        if name in self._texts or path is None:
            return len(self[name].source or b"")
        try:
            return os.stat(path).st_size if self[name].found.read is not None else 0
        except OSError:  # inside a zip file
            return len(self[name].source or b"")

    def refresh(self) -> None:
        """Look again for what was missing."""
        self.finder.refresh()
        for name in [name for name, volume in self._volumes.items() if volume.found.kind == "missing"]:
            del self._volumes[name]

    def _find(self, name: str) -> Found:
        if name in self._texts:
            text, is_package, kind = self._texts[name]
            below = self.finder.find(name).search if is_package else ()
            file = source_path(name, is_package)
            return Found(name, kind, is_package, file, None, below, lambda: text)
        found = self.finder.find(name)
        if found.kind == "missing" and name in self._implied:
            return Found(name, "implicit", True, name.replace(".", "/"))
        return found
