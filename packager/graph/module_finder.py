"""Where modules are: a name becomes a Found, by the rules of Python's own path search, importing nothing.

`Sources` searches `sys.path` (folders, zip files, entries with a hook of their own), then asks the
finders that others put on `sys.meta_path`. `LoaderSources` asks any object with `get_source`, such
as a PackageImporter. `ChainedSources` asks several in order.
"""

from __future__ import annotations

import importlib.machinery
import os
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from .listing import Listings
from .loaders import (
    COMPILED,
    ask_finder,
    found_by_loader,
    found_by_spec,
    imported_by,
    is_plain,
    is_plain_finder,
)
from .mainmodule import main_source
from .records import Found as Found

_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
_SUFFIXES = (
    *((suffix, "extension") for suffix in _EXTENSIONS),
    *((suffix, "source") for suffix in importlib.machinery.SOURCE_SUFFIXES),
    *((suffix, "bytecode") for suffix in importlib.machinery.BYTECODE_SUFFIXES),
)
_STANDARD_FINDERS = (
    importlib.machinery.BuiltinImporter,
    importlib.machinery.FrozenImporter,
    importlib.machinery.PathFinder,
)


class SourceFinder(Protocol):
    """What the walk asks for modules."""

    def find(self, name: str) -> Found:
        """Return the module `name`: "missing" where there is none, "unknown" where that cannot be told."""

    def submodules(self, name: str) -> Sequence[str]:
        """List the names of the modules directly inside package `name`, sorted, as far as can be told."""

    def has_distribution(self, name: str) -> bool:
        """Say whether a distribution of that name is installed."""

    def refresh(self) -> None:
        """Forget what may have changed since it was looked up."""


class Sources:
    """Modules of this environment. `path` stands in for `sys.path`, and then nothing else is asked."""

    def __init__(self, path: Iterable[str] | None = None) -> None:
        self.listings = Listings()
        self._own_path = None if path is None else [os.fspath(entry) for entry in path]
        self._path = self._current_path()
        self._found: dict[str, Found] = {}
        self._below: dict[str, Sequence[str]] = {}
        self._plain: dict[str, bool] = {}

    def find(self, name: str) -> Found:
        found = self._found.get(name)
        if found is None:
            # Parents first, from the top, in a loop: names can have many parts.
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                part = ".".join(parts[:end])
                if part not in self._found:
                    self._found[part] = self._search(part)
            found = self._found[name]
        return found

    def submodules(self, name: str) -> Sequence[str]:
        known = self._below.get(name)
        if known is None:
            known = self._below[name] = self._list_submodules(name)
        return known

    def has_distribution(self, name: str) -> bool:
        wanted = name.lower().replace("-", "_") + "_"
        return any(
            folder.endswith((".dist-info", ".egg-info"))
            and folder.lower().replace("-", "_").startswith(wanted)
            for entry in self._path
            for folder in self.listings.get(entry).folders
        )

    def refresh(self) -> None:
        self.listings.refresh()
        self._path = self._current_path()
        self._found.clear()
        self._below.clear()
        self._plain.clear()

    def _list_submodules(self, name: str) -> Sequence[str]:
        names = set()
        for folder in self.find(name).search:
            listing = self.listings.get(folder)
            for file in listing.files:
                for suffix, _ in _SUFFIXES:
                    if file.endswith(suffix):
                        names.add(file.removesuffix(suffix))
                        break
            names.update(
                child for child in listing.folders if self.listings.get(os.path.join(folder, child)).files
            )
        return sorted(f"{name}.{child}" for child in names if "." not in child and child[:2] != "__")

    def _current_path(self) -> list[str]:
        path = sys.path if self._own_path is None else self._own_path
        return [os.fspath(entry) or os.getcwd() for entry in path]

    def _search(self, name: str) -> Found:
        parent = name.rpartition(".")[0]
        if parent:
            above = self._found[parent]
            if not above.is_package:
                return self._beside(name, above)
            where: Sequence[str] = above.search
        elif name == "__main__" and self._own_path is None:
            return _main()
        elif name in sys.builtin_module_names and self._own_path is None:
            return Found(name, "builtin")
        else:
            where = self._path
        found = self._search_path(name, where)
        if self._own_path is None:
            found = self._as_loaded(name, where, found)
            if found is None:
                found = self._search_elsewhere(name, where if parent else None)
        return found or Found(name, "missing", problem="no module of that name was found")

    def _beside(self, name: str, above: Found) -> Found:
        """Describe a name below something that is no package, such as os.path, or what code made."""
        if above.kind == "missing":
            return Found(name, "missing", problem=f"{above.name} was not found")
        if self._own_path is None and name in sys.modules and above.name in sys.modules:
            return Found(name, "unknown", problem=f"{above.name} makes it while it is imported")
        return Found(name, "missing", problem=f"{above.name} is not a package")

    def _as_loaded(self, name: str, where: Sequence[str], found: Found | None) -> Found | None:
        """Return what was found in the folders, or what a loader of another make has in its place.

        How a module that is imported already was loaded is known: its hook may be gone by now.
        """
        spec = imported_by(name)
        if spec is not None:
            return found if is_plain(spec.loader) else found_by_spec(name, spec, found)
        above = list(where) if "." in name else None
        for finder in list(sys.meta_path):
            if finder is importlib.machinery.PathFinder:
                break
            if finder not in _STANDARD_FINDERS and hasattr(finder, "find_spec"):
                spec = ask_finder(finder, name, above)
                if spec is not None:
                    return found if is_plain(spec.loader) and found else found_by_spec(name, spec, found)
        for folder in where:
            if not self._is_plain(folder):
                spec = ask_finder(pkgutil.get_importer(folder), name)
                if spec is not None and spec.loader is not None:
                    return found if is_plain(spec.loader) and found else found_by_spec(name, spec, found)
        return found

    def _is_plain(self, folder: str) -> bool:
        """Say whether Python's own loaders run what lies in a folder, and no hook has replaced them."""
        plain = self._plain.get(folder)
        if plain is None:
            plain = self._plain[folder] = is_plain_finder(pkgutil.get_importer(folder))
        return plain

    def _search_path(self, name: str, where: Sequence[str]) -> Found | None:
        tail = name.rpartition(".")[2]
        portions = []
        for folder in where:
            listing = self.listings.get(folder)
            if tail in listing.folders:
                inner = os.path.join(folder, tail)
                found = self._file_in(name, inner, "__init__", True)
                if found is not None:
                    return found
            found = self._file_in(name, folder, tail, False)
            if found is not None:
                return found
            if tail in listing.folders:
                portions.append(os.path.join(folder, tail))
            elif not listing.files and not listing.folders:
                found = self._from_hook(name, folder)
                if found is not None:
                    return found
        return self._namespace(name, portions) if portions else None

    def _file_in(self, name: str, folder: str, stem: str, is_package: bool) -> Found | None:
        listing = self.listings.get(folder)
        for suffix, kind in _SUFFIXES:
            if stem + suffix in listing.files:
                path = os.path.join(folder, stem + suffix)
                file = name.replace(".", "/") + ("/__init__" if is_package else "") + suffix
                search = (folder,) if is_package else ()
                if kind != "source":
                    return Found(name, kind, is_package, file, path, search, None, _WITHOUT_SOURCE[kind])
                kind = "zip" if listing.archive else "source"
                return Found(name, kind, is_package, file, path, search, partial(self.listings.read, path))
        return None

    def _namespace(self, name: str, portions: Sequence[str]) -> Found:
        """Describe a package without `__init__`; "resources" where no portion holds anything to import."""
        folders = tuple(portions)
        for folder in folders:
            listing = self.listings.get(folder)
            if listing.folders - {"__pycache__"} or any(
                file.endswith(suffix) for file in listing.files for suffix, _ in _SUFFIXES
            ):
                return Found(name, "namespace", True, name.replace(".", "/"), folders[0], folders)
        return Found(name, "resources", True, name.replace(".", "/"), folders[0], folders)

    def _from_hook(self, name: str, entry: str) -> Found | None:
        finder = (
            pkgutil.get_importer(entry) if os.path.lexists(entry) or "://" in entry or "<" in entry else None
        )
        if finder is None or isinstance(finder, importlib.machinery.FileFinder):
            return None
        return found_by_spec(name, ask_finder(finder, name))

    def _search_elsewhere(self, name: str, where: Sequence[str] | None) -> Found | None:
        if importlib.machinery.FrozenImporter.find_spec(name) is not None:
            return Found(name, "frozen")
        for finder in list(sys.meta_path):
            if finder not in _STANDARD_FINDERS and hasattr(finder, "find_spec"):
                found = found_by_spec(
                    name, ask_finder(finder, name, list(where) if where is not None else None)
                )
                if found is not None:
                    return found
        loaded = sys.modules.get(name)
        if loaded is not None:
            return Found(
                name,
                "unknown",
                is_package=hasattr(loaded, "__path__"),
                problem="it is imported already, but no finder knows where it comes from",
            )
        return None


class LoaderSources:
    """Modules of an object with `get_source(name)` and `is_package(name)`, as PEP 302 has them.

    `names` are those it holds; where they are not given, it is asked for each, and `submodules`
    lists nothing.
    """

    def __init__(self, loader: Any, names: Iterable[str] | None = None) -> None:
        self._loader = loader
        self._names = None if names is None else frozenset(names)

    def find(self, name: str) -> Found:
        if self._names is not None and name not in self._names:
            return Found(name, "missing", problem=f"{self._loader!r} does not hold it")
        is_package = getattr(self._loader, "is_package", None)
        try:
            found = found_by_loader(name, self._loader, bool(is_package and is_package(name)))
        except (
            Exception
        ):  # is_package raises ImportError, KeyError or anything else for what it does not hold
            found = None
        if found is None or found.kind == "unknown":
            return Found(name, "missing", problem=f"{self._loader!r} does not hold it")
        return replace(found, caveat="")  # it was given as the source: nothing else runs

    def submodules(self, name: str) -> Sequence[str]:
        return sorted(other for other in self._names or () if other.rpartition(".")[0] == name)

    def has_distribution(self, name: str) -> bool:
        return False

    def refresh(self) -> None:
        """Forget what may have changed since it was looked up."""


class ChainedSources:
    """Several finders, asked in order: each module comes from the first that has it.

    So does OrderedImporter import them, and what a class was imported from is what is stored for it.
    """

    def __init__(self, *finders: SourceFinder) -> None:
        self.finders = finders

    def find(self, name: str) -> Found:
        found = Found(name, "missing", problem="no importer holds it")
        for finder in self.finders:
            found = finder.find(name)
            if found.kind != "missing":
                break
        return found

    def submodules(self, name: str) -> Sequence[str]:
        return sorted({child for finder in self.finders for child in finder.submodules(name)})

    def has_distribution(self, name: str) -> bool:
        return any(finder.has_distribution(name) for finder in self.finders)

    def refresh(self) -> None:
        for finder in self.finders:
            finder.refresh()


def _main() -> Found:
    source = main_source()
    if source.text is None:
        return Found("__main__", "unknown", path=source.path, problem=source.problem)
    text = source.text
    return Found("__main__", "main", False, "__main__.py", source.path, (), lambda: text, "", source.package)


_WITHOUT_SOURCE = {
    "extension": COMPILED,
    "bytecode": "only bytecode is here, without its source",
}
