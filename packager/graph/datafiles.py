"""Data files beside captured code: those that it names, those that it may mean, and the rest."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import translate
from functools import partial
from importlib.machinery import all_suffixes

from .module_finder import Listings
from .module_table import SourceModule
from .records import DataFile

_CODE = (*all_suffixes(), ".pyi", ".pyo", ".pyd", ".dll", ".dylib", ".so", ".a", ".o")
_NOT_DATA = frozenset(["py.typed", "__pycache__"])
_ORDER = {"found": 0, "suggested": 1, "beside": 2}


def find_data_files(modules: Iterable[SourceModule], listings: Listings) -> list[DataFile]:
    """Return the data files of the packages among `modules` (those of one top-level package).

    First what literals name, then files whose name alone occurs in the code, then all others.
    Files of code are data where code names them and they are not captured as modules.
    """
    captured = list(modules)
    files = {(file.package, file.resource): file for file in _beside(captured, listings)}
    codes = {(file.package, file.resource) for file in files.values() if _is_code(file.resource)}
    by_path = {_key(*place): place for place in files}
    by_name: dict[str, list[tuple[str, str]]] = {}
    for place in files:
        by_name.setdefault(posixpath.basename(place[1]), []).append(place)
    for module in captured:
        for literal in module.scan.literals:
            because = f"{module.found.file}:{literal.line}"
            for kind, place in _meant(module, literal.text, by_path, by_name):
                if _ORDER[kind] < _ORDER[files[place].kind]:
                    files[place] = replace(files[place], kind=kind, because=because)
    kept = [file for place, file in files.items() if place not in codes or file.kind == "found"]
    return sorted(kept, key=lambda file: (_ORDER[file.kind], file.package, file.resource))


def _beside(captured: list[SourceModule], listings: Listings) -> Iterator[DataFile]:
    """Yield every file in the folders of captured packages, and in folders below that are no packages."""
    known = {module.found.path for module in captured}
    for module in captured:
        if not module.found.is_package:
            continue
        for root in module.found.search:
            waiting = [""]
            while waiting:
                relative = waiting.pop()
                folder = os.path.join(root, relative) if relative else root
                listing = listings.get(folder)
                for name in sorted(listing.files):
                    path = os.path.join(folder, name)
                    if name not in _NOT_DATA and not name.endswith((".pyc", ".pyo")) and path not in known:
                        resource = f"{relative}/{name}" if relative else name
                        yield _data_file(module.name, resource, path, listings)
                waiting.extend(
                    f"{relative}/{name}" if relative else name
                    for name in sorted(listing.folders - _NOT_DATA, reverse=True)
                    if not name.startswith(".") and not _is_package(os.path.join(folder, name), listings)
                )


def _data_file(package: str, resource: str, path: str, listings: Listings) -> DataFile:
    return DataFile(package, resource, path, listings.size(path), "", "beside", partial(listings.read, path))


def _meant(
    module: SourceModule,
    text: str,
    by_path: dict[str, tuple[str, str]],
    by_name: dict[str, list[tuple[str, str]]],
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the files that a literal names: below the module's folder or the package's, or by name alone."""
    text = posixpath.normpath(text.lstrip("/"))
    bases = list(dict.fromkeys([module.package, *_parents(module.package)]))
    paths = [posixpath.normpath(_key(base, text)) for base in bases]
    exact = False
    for path in paths:
        if path in by_path:
            yield "found", by_path[path]
            exact = True
        elif "*" in text:
            matches = re.compile(translate(path)).match
            for other, place in by_path.items():
                if matches(other):
                    yield "found", place
                    exact = True
        elif "/" in text or "." not in text:
            for other, place in by_path.items():
                if other.startswith(path + "/") and not _is_code(other):
                    yield "suggested", place
    if not exact:
        for place in by_name.get(posixpath.basename(text), ()):
            yield "suggested", place


def _parents(package: str) -> list[str]:
    parts = package.split(".")
    return [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]


def _key(package: str, resource: str) -> str:
    return f"{package.replace('.', '/')}/{resource}"


def _is_code(resource: str) -> bool:
    return resource.endswith(_CODE)


def _is_package(folder: str, listings: Listings) -> bool:
    return any(name.startswith("__init__.") for name in listings.get(folder).files)
