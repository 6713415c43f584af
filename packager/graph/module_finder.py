"""Where modules are: a name becomes a Found, by the rules of Python's own path search, importing nothing.

`Sources` searches `sys.path` (folders, zip files, entries with a hook of their own), then asks the finders
that others put on `sys.meta_path`. `Listings` are folders and zip files, each read once and kept while
nothing changes; a path may lead into a zip file (`lib.zip/pkg/data`), as the entries of `sys.path` do.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
import zipfile
from collections.abc import Iterable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from packager.disk import list_folder, read_whole, search_folders
from packager.names import source_path
from packager.quick_dataclasses import dataclass, field, replace

from .loaders import COMPILED, MAKES_CODE, STANDARD, found_by_spec, unwrapped
from .records import Found

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
_PLAIN_LOADERS = (
    importlib.machinery.SourceFileLoader,
    importlib.machinery.SourcelessFileLoader,
    importlib.machinery.ExtensionFileLoader,
)
_WITHOUT_SOURCE = {
    "extension": COMPILED,
    "bytecode": "only bytecode is here, without its source",
}


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
        return search_folders(sys.path if self._own_path is None else self._own_path)

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
            found = None if found is None else _with_folders(found)
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
        spec = _imported_by(name)
        if spec is not None:
            if _is_plain(spec.loader):
                return found
            return found_by_spec(name, spec, found)
        above = list(where) if "." in name else None
        for finder in [*sys.meta_path]:
            if finder is importlib.machinery.PathFinder:
                break
            if finder not in _STANDARD_FINDERS and hasattr(finder, "find_spec"):
                spec = ask_finder(finder, name, above)
                if spec is not None:
                    return found if _is_plain(spec.loader) and found else found_by_spec(name, spec, found)
        for folder in where:
            if not self._is_plain(folder):
                spec = ask_finder(pkgutil.get_importer(folder), name)
                if spec is not None and spec.loader is not None:
                    return found if _is_plain(spec.loader) and found else found_by_spec(name, spec, found)
        return found

    def _is_plain(self, folder: str) -> bool:
        """Say whether Python's own loaders run what lies in a folder, and no hook has replaced them."""
        plain = self._plain.get(folder)
        if plain is None:
            plain = self._plain[folder] = _is_plain_finder(pkgutil.get_importer(folder))
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
        for finder in [*sys.meta_path]:
            if finder not in _STANDARD_FINDERS and hasattr(finder, "find_spec"):
                found = found_by_spec(name, ask_finder(finder, name, None if where is None else [*where]))
                if found is not None:
                    return found
        loaded = sys.modules.get(name)
        if loaded is None:
            return None
        # Found through a relative entry of `sys.path`, or by a finder that is gone: its spec says where.
        found = found_by_spec(name, _imported_by(name))
        return found if found and found.read else _known_to_nobody(name, loaded)


def _with_folders(found: Found) -> Found:
    """Return a package with the folders that its code has given itself, by `pkgutil.extend_path` or so."""
    loaded = sys.modules.get(found.name) if found.is_package and found.kind == "source" else None
    folders = vars(loaded).get("__path__") if isinstance(loaded, ModuleType) else None
    if not isinstance(folders, list) or vars(loaded).get("__file__") != found.path:
        return found
    given = tuple(folder for folder in folders if isinstance(folder, str))
    return replace(found, search=given) if len(given) > 1 else found


_ALIAS = '''\
"""{own} under another name, which the package has put into `sys.modules`."""
import importlib
import sys

sys.modules[__name__] = importlib.import_module("{own}")
'''


def _known_to_nobody(name: str, loaded: Any) -> Found:
    """Describe a module that was put into `sys.modules` by hand, as with `spec_from_file_location`."""
    own = getattr(loaded, "__name__", name)
    if own != name and sys.modules.get(own) is loaded and own.partition(".")[0] == name.partition(".")[0]:
        text = _ALIAS.format(own=own).encode()
        is_package = hasattr(loaded, "__path__")
        return Found(name, "text", is_package, source_path(name, is_package), read=lambda: text)
    file = getattr(loaded, "__file__", None)
    path = file if isinstance(file, str) and os.path.isfile(file) else None
    problem = "it is imported already, but no finder knows where it comes from"
    if path is not None:
        problem = f"it was loaded from its file {path}, and cannot be imported by its name"
    return Found(name, "unknown", hasattr(loaded, "__path__"), path=path, problem=problem)


def _main() -> Found:
    from .main_source import source_of_main  # most roots are no script

    source = source_of_main()
    if source.text is None:
        return Found("__main__", "unknown", path=source.path, problem=source.problem)
    text = source.text
    return Found("__main__", "main", False, "__main__.py", source.path, (), lambda: text, "", source.package)


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in one folder. `archive` is the zip file that holds it, or ""."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    archive: str = ""


_EMPTY = Listing()


@dataclass
class Listings:
    """Listings of folders by path, each read when it is first asked for."""

    _known: dict[str, Listing] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)
    _zips: dict[str, dict[str, tuple[set[str], set[str]]]] = field(default_factory=dict)

    def get(self, folder: str) -> Listing:
        """Return the listing of `folder`; an empty one where there is no such folder."""
        found = self._known.get(folder)
        if found is None:
            found = self._known[folder] = self._read(folder)
        return found

    def refresh(self) -> None:
        """Forget the folders that changed since they were read, and those that were missing."""
        for folder in list(self._known):
            if self._times.get(folder) != _time(folder):
                del self._known[folder]
                self._times.pop(folder, None)
        self._zips.clear()

    def read(self, path: str) -> bytes:
        """Return the bytes of a file on disk or inside a zip file. Raises OSError or KeyError."""
        archive = self.get(os.path.dirname(path)).archive
        if archive:
            with zipfile.ZipFile(archive) as opened:
                return opened.read(_inner(archive, path))
        return read_whole(path)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes, 0 where it cannot be told."""
        archive = self.get(os.path.dirname(path)).archive
        try:
            if archive:
                with zipfile.ZipFile(archive) as opened:
                    return opened.getinfo(_inner(archive, path)).file_size
            return os.path.getsize(path)
        except (OSError, KeyError, zipfile.BadZipFile):
            return 0

    def _read(self, folder: str) -> Listing:
        try:
            before = _time(folder)
            files: set[str] = set()
            folders: set[str] = set()
            for name, is_folder, _ in list_folder(folder):
                (folders if is_folder else files).add(name)
        except NotADirectoryError:
            return self._read_zip(folder)
        except OSError:
            return _EMPTY
        self._times[folder] = before
        return Listing(frozenset(files), frozenset(folders))

    def _read_zip(self, folder: str) -> Listing:
        archive = folder
        while archive and not os.path.isfile(archive):
            shorter = os.path.dirname(archive)
            if shorter == archive:
                return _EMPTY
            archive = shorter
        if archive not in self._zips:
            self._zips[archive] = _zip_tree(archive)
        inside = self._zips[archive].get(_inner(archive, folder))
        return _EMPTY if inside is None else Listing(frozenset(inside[0]), frozenset(inside[1]), archive)


def ask_finder(finder: Any, name: str, *where: Any) -> Any:
    """Return the spec that a foreign finder gives, None where it has none or fails."""
    try:
        return finder.find_spec(name, *where)
    except Exception:  # a foreign finder may raise anything; then it has not found the module
        return None


def _imported_by(name: str) -> Any:
    """Read the spec of a module that is imported already, without running anything; None without one."""
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType):
        return None
    spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
    return spec if isinstance(spec, importlib.machinery.ModuleSpec) and spec.name == name else None


def _is_plain(loader: Any) -> bool:
    """Say whether a loader is one of Python's own, or of an archive, that runs just what it reads."""
    if type(loader) is importlib.util.LazyLoader:
        loader = unwrapped(loader)
    kind = loader if isinstance(loader, type) else type(loader)
    if kind.__module__.partition(".")[0] == "packager" or loader is None:
        return True
    patched = () if isinstance(loader, type) else getattr(loader, "__dict__", ())
    return kind.__module__ in STANDARD and not any(name in patched for name in (*MAKES_CODE, "get_data"))


def _is_plain_finder(finder: Any) -> bool:
    """Say whether what finds modules in a folder gives them Python's own loaders."""
    loaders: Sequence[tuple[str, Any]] = getattr(finder, "_loaders", ())
    return type(finder) is not importlib.machinery.FileFinder or all(
        loader in _PLAIN_LOADERS for _, loader in loaders
    )


def _zip_tree(archive: str) -> dict[str, tuple[set[str], set[str]]]:
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    except (OSError, zipfile.BadZipFile):
        return {}
    tree: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
    for name in names:
        parts = name.split("/")
        for depth in range(1, len(parts)):
            parent, folder = "/".join(parts[: depth - 1]), "/".join(parts[:depth])
            tree.setdefault(parent, (set(), set()))[1].add(parts[depth - 1])
            tree.setdefault(folder, (set(), set()))
        if parts[-1]:
            tree.setdefault("/".join(parts[:-1]), (set(), set()))[0].add(parts[-1])
    return tree


def _inner(archive: str, path: str) -> str:
    return path[len(archive) :].replace(os.sep, "/").strip("/")


def _time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1
