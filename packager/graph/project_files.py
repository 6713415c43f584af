"""Files of the project that lie in no package, and that its code reaches from its own place.

The folder above the top-level modules is the root of an archive. What code names below it goes along at the
same path: `os.path.join(os.path.dirname(__file__), "words.txt")` beside a module, `ROOT / "conf" / "eu.toml"`
one package up, a folder that a configuration file names. What lies higher, or relative to the working
directory, has no place in an archive, and is told.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from functools import partial
from itertools import islice

from packager import seen
from packager.sizes import size_text

from .datafiles import is_code, is_library, is_package, opens_libraries
from .module_finder import Listings
from .module_table import SourceModule
from .opened_files import is_opened, is_opened_by_itself
from .records import DataFile, Found, NamedFile
from .scan import Literal

# A folder that is named as a whole and holds more than this is told, and not stored.
LARGEST_FOLDER = 64 * 2**20
MOST_FILES = 10_000
_CONFIGURATION = (".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf")
_LARGEST_CONFIGURATION = 256 * 2**10
_VALUE = re.compile(r"[:=\[,]\s*[\"']?([\w.-]+(?:/[\w.-]+)*)/?[\"']?\s*(?=[\],}#;\r\n]|$)")
_HIGHER = 2
_OPENED_ELSEWHERE = (
    "lies in the working directory, and is opened relative to it: it goes along, and is not found by that "
    "name where the archive is loaded; name it by where the module lies, __file__"
)


class ProjectFiles:
    """What the code of the project names outside of its packages; `modules` are those that are stored.

    `stored` are the files, each with an empty package; `told` are sentences about those without a place.
    """

    def __init__(self, modules: Iterable[SourceModule], listings: Listings) -> None:
        self._listings = listings
        self._stored: dict[str, DataFile] = {}
        self._told: dict[str, NamedFile] = {}
        self._too_large: dict[str, str] = {}
        self._clashes: dict[str, str] = {}
        by_root: dict[str, list[SourceModule]] = {}
        for module in modules:
            if (root := root_of(module.found)) is not None:
                by_root.setdefault(root, []).append(module)
        for root, members in by_root.items():
            self._look(root, members)

    @property
    def stored(self) -> Sequence[DataFile]:
        """The files in the order in which the code names them; what comes first has the path."""
        return tuple(self._stored.values())

    @property
    def told(self) -> Sequence[NamedFile]:
        """What is named and not stored."""
        return tuple(self._told.values())

    @property
    def clashes(self) -> Sequence[tuple[str, str]]:
        """The paths that two files would have, each with the files and where code names them."""
        return tuple(self._clashes.items())

    def _look(self, root: str, modules: list[SourceModule]) -> None:
        packages = {module.name for module in modules if module.found.is_package and "." not in module.name}
        asks_place = any(module.scan.own_path for module in modules)
        for module in modules:
            loads_files, loads_libraries = loads_code(module), bool(opens_libraries(module))
            for literal in module.scan.literals:
                text, place = _relative(literal.text), f"{module.found.file}:{literal.line}"
                if not text or text.partition("/")[0] in packages:
                    continue
                is_elsewhere = "*" in text and "/" not in text and self._names_folder(root, module)
                with_code = (loads_files and not is_elsewhere) or (loads_libraries and is_library(text))
                if asks_place and self._take(root, text, place, with_code=with_code):
                    if text in self._too_large and literal.block in module.live:
                        self._tell_of(text, f"{text}/**", self._too_large[text], module, literal)
                    elif literal.block in module.live and self._is_named_by_itself(text, module, literal):
                        # It is stored for other code, so that leaving it out is no way out: a warning.
                        told = f"{place} names {text}, which {_OPENED_ELSEWHERE}"
                        self._told.setdefault(text, NamedFile(text, told, is_opened=False))
                    continue
                if literal.block not in module.live:
                    continue
                if told := self._without_place(root, text, module, asks_place):
                    self._tell_of(text, text, f"{place} names {text}, which {told}", module, literal)
                elif not asks_place and self._is_opened_folder(text, module, literal):
                    way = _way_to(os.path.join(os.getcwd(), text), root, module)
                    told = f"is here in the working directory, and is not stored: {way}"
                    self._tell_of(
                        text, f"{text}/**", f"{place} names folder {text}, which {told}", module, literal
                    )
        if asks_place:
            self._follow_configuration(root, packages)

    def _names_folder(self, root: str, module: SourceModule) -> bool:
        """Say whether a module of a package names a folder: what it lists by a pattern is in that one."""
        beside = os.path.dirname(os.path.abspath(module.found.path or ""))
        texts = {_relative(literal.text) for literal in module.scan.literals}
        return beside != root and any(
            self._is_folder(base, text)
            for base in (root, beside)
            for text in texts
            if text and "*" not in text
        )

    def _take(self, root: str, text: str, place: str, *, with_code: bool) -> bool:
        """Store what a path below the root names: a file, files by a pattern, a folder; say if it did."""
        if "*" in text:
            fixed = posixpath.dirname(text.partition("*")[0])
            matches = re.compile(translate(text)).match
            below = self._below(root, fixed, with_code=with_code, deep="/" in text[len(fixed) + 1 :])
            names = [name for name in islice(below, MOST_FILES) if matches(name)]
        elif self._is_file(root, text):
            names = [text] if with_code or not is_code(text) else []
        elif self._is_folder(root, text):
            names = list(islice(self._below(root, text, with_code=with_code), MOST_FILES + 1))
            size = sum(self._listings.size(os.path.join(root, name)) for name in names)
            if size > LARGEST_FOLDER or len(names) > MOST_FILES:
                self._too_large[text] = (
                    f"{place} names folder {text}, which is not stored: {size_text(size)} in {len(names)} "
                    "files. Name the files that are needed, or store them with save_binary"
                )
                return True
        else:
            return False
        for name in names:
            self._store(root, name, place, "found" if name == text else "suggested")
        return bool(names)

    def _store(self, root: str, name: str, place: str, kind: str) -> None:
        path = os.path.join(root, name)
        read = partial(self._listings.read, path)
        file = DataFile("", name, path, self._listings.size(path), place, kind, read)
        other = self._stored.setdefault(name, file)
        if other.path != path:
            self._clashes[name] = (
                f"{place} names {path}, and {other.because} names {other.path}: both would lie at {name}; "
                "give one of them another name"
            )

    def _follow_configuration(self, root: str, packages: set[str]) -> None:
        """Store what the values of stored configuration files name, below the root or beside them."""
        waiting = list(self._stored.values())
        for file in waiting:  # grows while it is walked
            if not file.resource.endswith(_CONFIGURATION) or file.bytes > _LARGEST_CONFIGURATION:
                continue
            beside = posixpath.dirname(file.resource)
            for value in dict.fromkeys(_VALUE.findall(file.read().decode("utf-8", "replace"))):
                for text in dict.fromkeys(_relative(posixpath.join(base, value)) for base in ("", beside)):
                    if text and text.partition("/")[0] not in packages:
                        known = len(self._stored)
                        self._take(root, text, f"named in {file.resource}", with_code=False)
                        waiting.extend(list(self._stored.values())[known:])

    def _tell_of(self, text: str, pattern: str, told: str, module: SourceModule, literal: Literal) -> None:
        """Tell of what is named and not stored; whether code opens it is looked at in its text."""
        if text not in self._told or not self._told[text].is_opened:
            opened = is_opened(module.source or b"", literal.line, literal.text)
            self._told[text] = NamedFile(pattern, told, opened)

    def _is_named_by_itself(self, text: str, module: SourceModule, literal: Literal) -> bool:
        """Say whether a module that does not ask for its place opens a file by where the process runs."""
        if module.scan.own_path or not self._is_file(os.getcwd(), text):
            return False
        return is_opened_by_itself(module.source or b"", literal.line, literal.text)

    def _is_opened_folder(self, text: str, module: SourceModule, literal: Literal) -> bool:
        """Say whether a folder of the working directory is named, and something in it is opened."""
        if "*" in text or not self._is_folder(os.getcwd(), text):
            return False
        return is_opened(module.source or b"", literal.line, literal.text)

    def _without_place(self, root: str, text: str, module: SourceModule, asks_place: bool) -> str:
        """Say where a file lies that is there, but has no place in an archive; "" for others."""
        if "*" in text or is_code(text):
            return ""
        higher = root
        for _ in range(_HIGHER if asks_place and "/" in text else 0):
            higher = os.path.dirname(higher)
            if self._is_file(higher, text):
                where = f"lies in {higher}, above the top-level packages, and is not stored: "
                return where + _way_to(os.path.join(higher, text), root, module)
        if not asks_place and self._is_file(os.getcwd(), text):
            where = "is here in the working directory, and is not stored: "
            return where + _way_to(os.path.join(os.getcwd(), text), root, module)
        return ""

    def _below(self, root: str, folder: str, *, with_code: bool, deep: bool = True) -> Iterator[str]:
        """Yield the files in a folder, by their paths from the root, and with `deep` those below it.

        Nothing of packages is among them, and nothing of hidden folders.
        """
        waiting = [folder]
        while waiting:
            current = waiting.pop()
            listing = self._listings.get(os.path.join(root, current) if current else root)
            for name in sorted(listing.files):
                if not is_code(name) or (with_code and name.endswith(".py")):
                    yield posixpath.join(current, name)
            if not deep:
                return
            inner = (posixpath.join(current, name) for name in sorted(listing.folders, reverse=True))
            waiting.extend(path for path in inner if self._is_folder(root, path))

    def _is_file(self, root: str, text: str) -> bool:
        folder, name = posixpath.split(text)
        return name in self._listings.get(os.path.join(root, folder) if folder else root).files

    def _is_folder(self, root: str, text: str) -> bool:
        """Say whether there is a folder of data: no package, nothing hidden, nothing that Python makes."""
        folder, name = posixpath.split(text)
        if name.startswith(".") or name == "__pycache__":
            return False
        below = os.path.join(root, text)
        there = name in self._listings.get(os.path.join(root, folder) if folder else root).folders
        return there and not is_package(below, self._listings)


def _way_to(file: str, root: str, module: SourceModule) -> str:
    """Say how code reaches a file that it named otherwise: from its own folder, where the file lies below."""
    seen.refuse(f"{file} may lie behind links")
    if not os.path.realpath(file).startswith(os.path.join(os.path.realpath(root), "")):
        return "move it into a package, and open it from there"
    folder = os.path.dirname(os.path.realpath(module.found.path or root))
    way = ", ".join(f'"{step}"' for step in os.path.relpath(os.path.realpath(file), folder).split(os.sep))
    return f"open it by os.path.join(os.path.dirname(__file__), {way}), and it goes along"


def root_of(found: Found) -> str | None:
    """Return the folder that holds the top-level module or package of a module on disk; None for others."""
    if found.path is None or found.kind not in ("source", "main"):
        return None
    root = os.path.dirname(os.path.abspath(found.path))
    for _ in range(found.name.count(".") + (1 if found.is_package else 0)):
        root = os.path.dirname(root)
    return root


def loads_code(module: SourceModule) -> bool:
    """Say whether code of a module runs files by their paths, as `spec_from_file_location` does."""
    return any(dynamic.kind in ("file", "run") for dynamic in module.scan.dynamics)


def _relative(text: str) -> str:
    """Return a path as it would be below the root; "" for what is no path below anything.

    One that begins with a slash is put behind another: `HERE + "/words.txt"`, unless it is there itself.
    """
    if text.startswith("/") and seen.is_there(text):
        return ""
    path = posixpath.normpath(text.lstrip("/") or ".")
    while path.startswith("../"):
        path = path[3:]
    return "" if path in (".", "..") else path
