"""Every module that was looked at, by name: where it is, its source, and what its statements say.

Nothing here knows a policy. Each file is read once, and parsed once for all runs (see ScanCache); texts that
the caller gives come before files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import msgpack

from packager._caches import usable_cache
from packager._kept_file import Kept, KeptFile
from packager._names import source_path

from .closure_parts import Found, SourceFinder
from .import_statements import Statement, Statements, read_statements

_VERSION: Final = 34
"""Raise it with every change of what a record holds or how it is read off the source."""
_STAR = re.compile(rb"import\s*\(?\s*\*")


class ScanCache:
    """Import statements kept between runs, by the digest of the source. `folder` stands in for the user's.

    They lie in the folder `scans` of the cache (see `cache_folder`), in one file for each version of the
    records and of Python's grammar. Nothing that goes wrong here matters: what cannot be read counts as
    absent; a folder that cannot be written is left alone.

    >>> import tempfile
    >>> cache = ScanCache(tempfile.mkdtemp())
    >>> cache.get("5e1f" * 16) is None
    True
    >>> cache.put("5e1f" * 16, read_statements(b"import a"))
    >>> cache.flush()
    >>> cache.get("5e1f" * 16).imports[0].module
    'a'
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        usable = usable_cache(None, "scans") if folder is None else usable_cache(folder)
        name = f"{_VERSION}-{sys.implementation.cache_tag}"
        self._kept = KeptFile(os.path.join(usable, name)) if usable is not None else None
        self._new: list[Kept] = []

    def get(self, digest: str) -> Statements | None:
        """Return the import statements of the source with this digest, or None."""
        data = None if self._kept is None else self._kept.take(bytes.fromhex(digest))
        try:
            read: Any = data and msgpack.unpackb(data, use_list=False, strict_map_key=True)
            return Statements.from_row(*read) if read else None
        except Exception:  # a file that is damaged may fail in any way; the source is simply read again
            return None

    def put(self, digest: str, statements: Statements) -> None:
        """Keep the import statements of a source."""
        with contextlib.suppress(ValueError, TypeError, OverflowError):  # what msgpack has no form for
            self._new.append(Kept(bytes.fromhex(digest), msgpack.packb(statements)))

    def flush(self) -> None:
        """Write what is new."""
        new, self._new = self._new, []
        if self._kept is not None and new:
            try:
                self._kept.add(new)
            except (OSError, ValueError):
                self._kept = None


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
        parts = self.package.split(".") if self.package else []
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


class LazyNames:
    """Where names of lazy packages come from: stubs and TYPE_CHECKING blocks say it, then tables.

    Each answer is remembered.
    """

    def __init__(self, table: SourceTable) -> None:
        self._table = table
        self._known: dict[tuple[str, str], tuple[Source, str] | None] = {}
        self._had: dict[tuple[str, str], bool] = {}

    def target(self, home: Source, name: str) -> tuple[Source, str] | None:
        """Return the module that gives `home` its `name`, and what it is called there; None for no answer."""
        key = (home.name, name)
        if key not in self._known:
            self._known[key] = None  # for packages that lead back here
            self._known[key] = self._look_up(home, name)
        return self._known[key]

    def starred(self, home: Source) -> Sequence[str]:
        """Return the names that a star import of `home` asks for by its `__all__`, which may be its table."""
        names = home.statements.names
        listed = [name for name in names.exports or () if name != "*"]
        if names.lazy is not None and (names.exports is None or "*" in names.exports):
            listed += [bound for one in home.typing for _, bound in one.names if bound != "*"]
            listed += [name for name, spelt, _ in names.lazy if self._module(home, spelt)]
        return list(dict.fromkeys(listed))

    def _look_up(self, home: Source, name: str) -> tuple[Source, str] | None:
        typing = [(target, one) for one in home.typing if (target := home.target(one)) not in ("", home.name)]
        for target, one in typing:
            for asked, bound in one.names:
                if bound == name and self._table.exists(target):
                    return self._table[target], asked
        lazy = home.statements.names.lazy
        for offered, spelt, _ in lazy or ():
            if offered == name and (found := self._module(home, spelt)) is not None:
                return found, spelt.partition(":")[2] or name
        for target, one in typing if lazy is not None else ():
            if ("*", "*") in one.names and self._offers(self._table[target], name):
                return self._table[target], name
        return None

    def _offers(self, source: Source, name: str) -> bool:
        """Say whether a star import of `source` brings `name`."""
        key = (source.name, name)
        if key not in self._had:
            self._had[key] = False  # for stars that lead back here
            self._had[key] = self._has(source, name)
        return self._had[key]

    def _has(self, source: Source, name: str) -> bool:
        text = source.text or b""
        is_named = name.encode() in text
        if not is_named and not _STAR.search(text):  # cheaper than to parse it
            return False
        names = source.statements.names
        if names.exports is not None and "*" not in names.exports:
            return name in names.exports
        if is_named and (name in source.bound or name in (names.exports or ())):
            return True
        stars = [
            one
            for one in source.statements.imports
            if ("*", "*") in one.names and one.kind != "type_checking"
        ]
        if any(self._offers(self._table[target], name) for one in stars if (target := source.target(one))):
            return True
        return names.lazy is not None and self.target(source, name) is not None

    def _module(self, home: Source, spelt: str) -> Source | None:
        """Return the module that a lazy table spells: relative to the package, else absolute."""
        inner = spelt.partition(":")[0].lstrip(".")
        if not inner.replace(".", "").isidentifier():
            return None
        if spelt.startswith("."):
            parts, level = home.package.split("."), len(spelt) - len(spelt.lstrip("."))
            wanted = [".".join([*parts[: len(parts) - level + 1], inner])]
        else:
            wanted = [f"{home.package}.{inner}"]
            wanted += [inner] if inner.partition(".")[0] == home.name.partition(".")[0] else []
        return next((self._table[name] for name in wanted if self._table.exists(name)), None)
