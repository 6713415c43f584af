"""Every module that was looked at, by name: where it is, its source, and what its statements say.

Nothing here knows a policy. Each file is read once, and parsed once for all runs (see ScanCache); texts that
the caller gives come before files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

from packager.names import source_path

from .import_statements import Statement, Statements, read_statements
from .records import Found, SourceFinder
from .scan_cache import ScanCache


class Source:
    """One module: where it was found, and what was read of it so far.

    `package` is what relative imports start from; `problem` is why the source cannot be used, as
    (reason, message, line).
    """

    def __init__(self, found: Found, cache: ScanCache | None) -> None:
        self._cache = cache
        self.name, self.found = found.name, found
        usual = found.name if found.is_package else found.name.rpartition(".")[0]
        self.package = usual if found.package is None else found.package
        self.problem = ("", "", 0)

    @cached_property
    def text(self) -> bytes | None:
        """The bytes of the source, None where there is none or it cannot be read."""
        if self.found.read is None:
            return None
        try:
            return self.found.read()
        except (OSError, KeyError, ValueError) as error:
            self.problem = ("unreadable", str(error), 0)
            return None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the source, "" without one."""
        return "" if self.text is None else hashlib.sha256(self.text).hexdigest()

    @cached_property
    def statements(self) -> Statements:
        """What the source says; nothing where there is none, or none that parses."""
        if self.text is None:
            return Statements(None)
        found = self._cache.get(self.digest) if self._cache is not None else None
        if found is None:
            found = read_statements(self.text)
            if self._cache is not None and found.error is None:
                self._cache.put(self.digest, found)
        if found.error is not None:
            self.problem = ("syntax", found.error[1], found.error[0])
        return found

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that the module's top level binds."""
        return frozenset(self.statements.names.bound)

    @cached_property
    def stub(self) -> bytes | None:
        """The stub beside a module with a `__getattr__`, which may say what that gives; None without one."""
        if "__getattr__" not in self.bound or self.found.path is None:
            return None
        try:
            with open(f"{self.found.path}i", "rb") as stub:
                return stub.read()
        except OSError:  # there is none, or the source lies in a zip file
            return None

    @cached_property
    def typing(self) -> tuple[Statement, ...]:
        """The imports for type checkers, under TYPE_CHECKING or in a stub beside: what names stand for."""
        imports = self.statements.imports
        found = tuple(one for one in imports if one.kind == "type_checking" and not one.function)
        return found if self.stub is None else (*found, *read_statements(self.stub).imports)

    def replace(self, text: bytes) -> None:
        """Put another text in the place of the one that was found."""
        for read in ("digest", "statements", "bound", "stub", "typing"):
            self.__dict__.pop(read, None)
        self.__dict__["text"] = text
        self.problem = ("", "", 0)

    def target(self, statement: Statement) -> str:
        """Return the absolute name of the module that a statement names; "" beyond the top level."""
        if statement.level == 0:
            return statement.module
        base = self.name if statement.from_name else self.package
        parts = base.split(".") if base else []
        kept = parts[: len(parts) - statement.level + 1]
        if len(parts) < statement.level:
            return ""
        return ".".join([*kept, statement.module] if statement.module else kept)


class SourceTable:
    """Sources by name, over a finder and texts given by the caller."""

    def __init__(self, finder: SourceFinder, cache: ScanCache | None) -> None:
        self._finder, self._cache = finder, cache
        self._sources: dict[str, Source] = {}
        self._texts: dict[str, tuple[bytes, bool]] = {}
        self._implied: set[str] = set()

    def __getitem__(self, name: str) -> Source:
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = Source(self._find(name), self._cache)
        return source

    def exists(self, name: str) -> bool:
        """Say whether there is a module of that name, as far as can be told without running code."""
        return self[name].found.kind not in ("missing", "unknown")

    def has_submodule(self, package: Source, name: str) -> bool:
        """Say whether `name` is a module directly inside `package`."""
        return package.found.is_package and self.exists(f"{package.name}.{name}")

    def add_text(self, name: str, text: bytes, is_package: bool) -> None:
        """Add a module whose text is given. It takes effect for what is looked up later."""
        self._texts[name] = (text, is_package)
        self._sources.pop(name, None)
        parent = name.rpartition(".")[0]
        while parent:
            self._implied.add(parent)
            if parent in self._sources and self._sources[parent].found.kind == "missing":
                del self._sources[parent]
            parent = parent.rpartition(".")[0]

    def submodules(self, name: str) -> Sequence[str]:
        """Return all modules directly inside a package, sorted."""
        given = {text for text in self._texts if text.rpartition(".")[0] == name}
        return sorted(given.union(self._finder.submodules(name)))

    def refresh(self) -> None:
        """Look again for what was missing."""
        self._finder.refresh()
        for name in [name for name, source in self._sources.items() if source.found.kind == "missing"]:
            del self._sources[name]

    def _find(self, name: str) -> Found:
        if name in self._texts:
            text, is_package = self._texts[name]
            below = self._finder.find(name).search if is_package else ()
            file = source_path(name, is_package)
            return Found(name, "text", is_package, file, None, below, lambda: text)
        found = self._finder.find(name)
        if found.kind == "missing" and name in self._implied:
            return Found(name, "implicit", True, name.replace(".", "/"))
        return found
