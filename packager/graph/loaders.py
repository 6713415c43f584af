"""What loaders say of a module's source: a spec, a loader, or several finders in order, become a Found.

What is packed is what a loader compiles. Python's own loaders read the file that they name; a loader of
another make may read the text from elsewhere (`get_data`, `get_source`), and is asked for it. Of one that
makes other code of it the text is stored as it is, and the Found says so in `caveat`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.machinery import ExtensionFileLoader, SourceFileLoader, SourcelessFileLoader
from typing import Any

from packager.disk import read_whole
from packager.names import source_path
from packager.quick_dataclasses import replace

from .encodings import source_encoding
from .records import Found, SourceFinder

COMPILED = "it is compiled code (a C extension)"

_PLAIN = ("_frozen_importlib", "_frozen_importlib_external", "zipimport", "importlib", "packager")
_MAKE_CODE = ("exec_module", "get_code", "source_to_code")
_SourceLoader: Any = next(cls for cls in SourceFileLoader.__mro__ if cls.__name__ == "SourceLoader")


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
        why = "only bytecode is here, without its source"
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
    loader: Any,
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


class LoaderSources:
    """Modules of an object with `get_source(name)` and `is_package(name)`, as PEP 302 has them.

    `names` are those it holds; where they are not given, it is asked for each, and `submodules`
    lists nothing.
    """

    def __init__(self, loader: Any, names: Iterable[str] | None = None) -> None:
        self._loader = loader
        self._names = None if names is None else frozenset(names)

    def find(self, name: str) -> Found:
        missing = Found(name, "missing", problem=f"{self._loader!r} does not hold it")
        if self._names is not None and name not in self._names:
            return missing
        is_package = getattr(self._loader, "is_package", None)
        try:
            found = found_by_loader(name, self._loader, bool(is_package and is_package(name)))
        except Exception:  # is_package may raise anything for what it does not hold
            return missing
        return missing if found.kind == "unknown" else found

    def submodules(self, name: str) -> Sequence[str]:
        return sorted(other for other in self._names or () if other.rpartition(".")[0] == name)

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

    def refresh(self) -> None:
        for finder in self.finders:
            finder.refresh()


def is_plain(loader: Any) -> bool:
    """Say whether a loader is one of Python's own, or of an archive: it runs just what it reads."""
    loader = unwrapped(loader)
    kind = loader if isinstance(loader, type) else type(loader)
    return loader is None or kind.__module__.partition(".")[0] in _PLAIN


def unwrapped(loader: Any) -> Any:
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
        f"{name} is loaded by {cls.__module__}.{cls.__qualname__}, and what runs here need not be its "
        "source; the archive runs the source as it is. Import it without that loader to compare, store what "
        "the loader makes of it (save_source_string), or leave it to the target (extern)"
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
