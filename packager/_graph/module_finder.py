"""Where modules are: a name becomes a Found, by the finders of Python's own import, importing nothing.

`Sources` asks what Python has for each entry of `sys.path` (folders, zip files, entries with a hook of their
own), and the finders that others put on `sys.meta_path`. `Listings` are folders, each read once until they
are refreshed; a path may lead into a zip file (`lib.zip/pkg/data`), as the entries of `sys.path` do.

What is packed is what a loader compiles. Python's own loaders read the file that they name; a loader of
another make may read the text from elsewhere (`get_data`, `get_source`), and is asked for it. Of one that
makes other code of it the text is stored as it is, and the Found says so in `caveat`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.machinery import (
    BuiltinImporter,
    ExtensionFileLoader,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
    all_suffixes,
)
from types import ModuleType
from typing import Any

from packager._disk import file_bytes, names_anywhere, read_whole, search_folders
from packager._names import source_path
from packager._quick_dataclasses import dataclass, replace

from .closure_parts import Found, SourceFinder
from .encodings import source_encoding

COMPILED = "it is compiled code (a C extension)"

_PLAIN = ("_frozen_importlib", "_frozen_importlib_external", "zipimport", "importlib", "packager")
_MAKE_CODE = ("exec_module", "get_code", "source_to_code")
_SourceLoader: Any = next(cls for cls in SourceFileLoader.__mro__ if cls.__name__ == "SourceLoader")
_SUFFIXES = sorted(all_suffixes(), key=len, reverse=True)


class Sources:
    """Modules of this environment. `path` stands in for `sys.path`, and then nothing else is asked."""

    def __init__(self, path: Iterable[str] | None = None) -> None:
        self._own_path = None if path is None else [os.fspath(entry) for entry in path]
        self._listings = Listings()
        self._found: dict[str, Found] = {}
        self._finders: dict[str, Any] = {}
        self.refresh()

    def find(self, name: str) -> Found:
        # Parents first, from the top, in a loop: names can have many parts.
        parts = name.split(".") if name not in self._found else ()
        for end in range(1, len(parts) + 1):
            part = ".".join(parts[:end])
            if part not in self._found:
                self._found[part] = self._search(part)
        return self._found[name]

    def submodules(self, name: str) -> Sequence[str]:
        names = set()
        for folder in self.find(name).search:
            listing = self._listings.get(folder)
            names |= {stem for file in listing.files if (stem := _module_in(file))}
            names |= {
                child for child in listing.folders if self._listings.get(os.path.join(folder, child)).files
            }
        return sorted(f"{name}.{child}" for child in names if "." not in child and child[:2] != "__")

    def refresh(self) -> None:
        self._path = search_folders(sys.path if self._own_path is None else self._own_path)
        self._listings.refresh()
        self._found.clear()
        self._finders.clear()

    def _search(self, name: str) -> Found:
        where: Sequence[str] = self._path
        above = self._found.get(name.rpartition(".")[0])
        if above is not None:
            if not above.is_package:
                return self._beside(name, above)
            where = above.search
        elif name == "__main__" and self._own_path is None:
            return _main()
        elif name in sys.builtin_module_names and self._own_path is None:
            return Found(name, "builtin")
        found = self._search_path(name, where)
        if self._own_path is None:
            found = _as_imported(name, None if above is None else [*where], found)
        return found or Found(name, "missing", problem="nothing on sys.path has this name")

    def _beside(self, name: str, above: Found) -> Found:
        """Describe a name below something that is no package, such as os.path, or what code made."""
        if above.kind == "missing":
            return Found(name, "missing", problem=f"{above.name} was not found")
        if self._own_path is None and name in sys.modules and above.name in sys.modules:
            return Found(name, "unknown", problem=f"{above.name} creates it during its own import")
        return Found(name, "missing", problem=f"{above.name} is not a package")

    def _search_path(self, name: str, where: Sequence[str]) -> Found | None:
        """Return what Python's PathFinder finds, which looks in no namespace that nobody has imported."""
        portions: list[str] = []
        for folder in where:
            if folder not in self._finders:
                self._finders[folder] = _finder_of(folder)
            spec = _asked(self._finders[folder], name)
            if spec is not None and spec.loader is not None:
                return found_by_spec(name, spec)
            portions += (spec and spec.submodule_search_locations) or ()
        if not portions:
            return None
        inside = [self._listings.get(folder) for folder in portions]
        has_code = any(one.folders - {"__pycache__"} or any(map(_module_in, one.files)) for one in inside)
        kind = "namespace" if has_code else "resources"
        return Found(name, kind, True, name.replace(".", "/"), portions[0], tuple(portions))


class ChainedSources:
    """Several finders, asked in order: each module comes from the first that has it.

    So does OrderedImporter import them, and what a class was imported from is what is stored for it.
    """

    def __init__(self, *finders: SourceFinder) -> None:
        self.finders = finders

    def find(self, name: str) -> Found:
        found = Found(name, "missing", problem="no importer has it")
        for finder in self.finders:
            found = finder.find(name)
            if found.kind != "missing":
                break
        return found

    def submodules(self, name: str) -> Sequence[str]:
        return sorted({child for finder in self.finders for child in finder.submodules(name)})

    def refresh(self) -> None:
        for finder in self.finders:
            finder.refresh()


def _finder_of(folder: str) -> Any:
    """Return what Python asks for the modules in an entry of `sys.path`, made anew; None for nothing."""
    for hook in [*sys.path_hooks]:
        try:
            return hook(folder)
        except ImportError:
            continue
    return None


def _asked(finder: Any, name: str, *above: Any) -> ModuleSpec | None:
    """Return the spec that a finder gives, None where it has none or fails."""
    try:
        found: ModuleSpec | None = finder.find_spec(name, *above)
    except Exception:  # a foreign finder may raise anything; then it has not found the module
        return None
    return found


def _as_imported(name: str, above: list[str] | None, on_path: Found | None) -> Found | None:
    """Return what was found in the folders, or what a finder or loader of another make has in its place.

    How a module that is imported already was loaded is known: its hook may be gone by now.
    """
    loaded, spec = sys.modules.get(name), _imported_by(name)
    if spec is not None and not is_plain(spec.loader):
        return found_by_spec(name, spec, on_path)
    found = on_path
    for finder in [*sys.meta_path] if spec is None or on_path is None else ():
        if finder is PathFinder and on_path is not None:
            break
        is_pythons = finder in (BuiltinImporter, FrozenImporter, PathFinder)
        other = None if is_pythons else _asked(finder, name, above)
        if other is not None:
            found = on_path if on_path and is_plain(other.loader) else found_by_spec(name, other, on_path)
            break
    if found is None and FrozenImporter.find_spec(name) is not None:
        found = Found(name, "frozen")
    if found is None and loaded is not None:
        # Found through a relative entry of `sys.path`, or by a finder that is gone: its spec says where.
        found = found_by_spec(name, spec)
        found = found if found and found.read else _known_to_nobody(name, loaded)
    return None if found is None else _with_folders(found)


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
    problem = "it is imported, but no finder knows its source"
    if path is not None:
        problem = f"it was loaded from the file {path}, and cannot be imported by this name"
    return Found(name, "unknown", hasattr(loaded, "__path__"), path=path, problem=problem)


def _main() -> Found:
    from .main_source import source_of_main  # most roots are no script

    source = source_of_main()
    if source.text is None:
        return Found("__main__", "unknown", path=source.path, problem=source.problem)
    text = source.text
    return Found("__main__", "main", False, "__main__.py", source.path, (), lambda: text, "", source.package)


def _imported_by(name: str) -> ModuleSpec | None:
    """Read the spec of a module that is imported already, without running anything; None without one."""
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType):
        return None
    spec = ModuleType.__getattribute__(module, "__dict__").get("__spec__")
    return spec if isinstance(spec, ModuleSpec) and spec.name == name else None


def _module_in(file: str) -> str:
    """Return the name of the module that a file is, "" for other files."""
    return next((file.removesuffix(suffix) for suffix in _SUFFIXES if file.endswith(suffix)), "")


# --- loaders ---


def found_by_spec(name: str, spec: Any, on_path: Found | None = None) -> Found | None:
    """Return the module that a spec describes; None for no spec.

    `on_path` is what a search of folders finds under the name. It stands for what the spec cannot
    say: a loader that gives no source has most likely changed that of the file.
    """
    if spec is None:
        return None
    search = tuple(spec.submodule_search_locations or ())
    is_package = spec.submodule_search_locations is not None
    origin = spec.origin if spec.has_location and isinstance(spec.origin, str) else None
    loader, folder = unwrapped(spec.loader), name.replace(".", "/")
    if loader is None:
        return Found(name, "namespace", True, folder, search[0] if search else None, search)
    home = folder if is_package else folder.rpartition("/")[0]
    file = f"{home}/{os.path.basename(origin or '')}".lstrip("/")
    if isinstance(loader, ExtensionFileLoader):
        return Found(name, "extension", is_package, file, origin, search, None, COMPILED)
    if isinstance(loader, SourcelessFileLoader):
        why = "it has bytecode, but no source"
        return Found(name, "bytecode", is_package, file, origin, search, None, why)
    if origin is not None and type(loader) is SourceFileLoader:
        return Found(name, "source", is_package, file, origin, search, partial(read_whole, origin))
    if origin is not None and type(loader).__module__ == "zipimport":
        path = origin.removesuffix("c")  # it may have bytecode, too
        file = file.removesuffix("c")
        return Found(name, "zip", is_package, file, path, search, partial(loader.get_data, path))
    found = found_by_loader(name, loader, is_package, origin, search)
    if on_path is not None and on_path.read is not None and found.read is None:
        found = on_path
    elif on_path is not None and on_path.path == origin:
        found = replace(on_path, read=found.read, problem=found.problem)
    elif found.read is not None and origin is not None and isinstance(loader, _SourceLoader):
        found = replace(found, kind="source")
    return replace(found, caveat=_caveat(name, loader))


def found_by_loader(
    name: str,
    loader: object,
    is_package: bool = False,
    origin: str | None = None,
    search: tuple[str, ...] = (),
) -> Found:
    """Return the module that a loader gives, as PEP 302 has it; "unknown" where it gives no source."""
    unknown = partial(Found, name, "unknown", is_package, "", origin, search, None)
    file = source_path(name, is_package)
    # What Python's own get_code compiles is what get_data reads, whatever get_source may answer.
    if isinstance(loader, _SourceLoader) and type(loader).get_code is _SourceLoader.get_code:
        return Found(name, "loader", is_package, file, origin, search, partial(_data_of, name, loader))
    get_source = getattr(loader, "get_source", None)
    if get_source is None:
        return unknown(f"{loader!r} gives no source")
    try:
        text = get_source(name)
        data = None if text is None else _as_bytes(text)
    except Exception as error:  # a foreign loader may raise anything; then it gives no source
        return unknown(f"{loader!r} gives no source: {type(error).__name__}: {error}")
    if data is None:
        return unknown(f"{loader!r} has no source for it")
    return Found(name, "loader", is_package, file, origin, search, partial(bytes, data))


def is_plain(loader: object) -> bool:
    """Say whether a loader is one of Python's own, or of an archive: it runs just what it reads."""
    loader = unwrapped(loader)
    kind = loader if isinstance(loader, type) else type(loader)
    return loader is None or kind.__module__.partition(".")[0] in _PLAIN


def unwrapped(loader: object) -> Any:
    """Return the loader behind `importlib.util.LazyLoader`, which only puts off what that one does."""
    while type(loader) is importlib.util.LazyLoader:
        loader = vars(loader)["loader"]
    return loader


def _caveat(name: str, loader: Any) -> str:
    """Say that a loader makes the code by itself, as hooks that check types do; "" for any other."""
    cls = loader if isinstance(loader, type) else type(loader)
    homes = {getattr(getattr(cls, one, None), "__module__", None) or "" for one in _MAKE_CODE} - {""}
    if all(home.partition(".")[0] in _PLAIN for home in homes):
        return ""
    return (
        f"{name} is loaded by {cls.__module__}.{cls.__qualname__}, which may change its code; the archive "
        "runs the source unchanged. Import it without that loader to compare, or require it at the target: "
        f'exporter.extern("{name}")'
    )


def _data_of(name: str, loader: Any) -> bytes:
    """Return the bytes that a loader compiles. Raises OSError where it cannot give them."""
    try:
        return bytes(loader.get_data(loader.get_filename(name)))
    except OSError:
        raise
    except Exception as error:  # a foreign loader may raise anything; then the source cannot be read
        raise OSError(f"{loader!r} cannot read its source: {type(error).__name__}: {error}") from error


def _as_bytes(text: Any) -> bytes:
    """Encode a source as the bytes of a file: in the encoding that it names itself."""
    if not isinstance(text, str):
        return bytes(text)
    return text.encode(source_encoding(text.encode("utf-8", "surrogatepass"), "its source"))


# --- folders ---


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in one folder."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


class Listings:
    """Listings of folders by path, each read when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Listing] = {}

    def get(self, folder: str) -> Listing:
        """Return the listing of `folder`; an empty one where there is no such folder."""
        if folder not in self._known:
            names = names_anywhere(folder)
            self._known[folder] = Listing(
                frozenset(name for name, is_folder in names if not is_folder),
                frozenset(name for name, is_folder in names if is_folder),
            )
        return self._known[folder]

    def refresh(self) -> None:
        """Forget them: what is there may have changed."""
        self._known.clear()


def file_size(path: str) -> int:
    """Return the size of a file in bytes, 0 where it cannot be told."""
    try:
        return os.path.getsize(path)
    except NotADirectoryError:
        return len(file_bytes(path))
    except OSError:
        return 0
