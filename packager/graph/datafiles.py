"""Data files beside captured code: those that it names, those that it may mean, and the rest."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import partial
from importlib.machinery import all_suffixes

from packager import seen
from packager.quick_dataclasses import replace

from .module_finder import Listings
from .module_table import SourceModule
from .records import DataFile

_CODE = (*all_suffixes(), ".pyi", ".pyo", ".pyd", ".dll", ".dylib", ".so", ".a", ".o")
_OF_TESTS = frozenset(["test", "tests", "testing"])
_LIBRARY = re.compile(r"\.(so(\.[0-9.]+)?|dylib|dll)$")
_NOT_DATA = frozenset(["py.typed", "__pycache__"])
_OF_TOOLS = frozenset(
    ".git .hg .svn .mypy_cache .pytest_cache .ruff_cache .ipynb_checkpoints .venv .tox .idea .vscode".split()
)
# What holds a secret by its name; names as "tokens.txt" are a vocabulary's.
_SECRET = re.compile(
    r"\.env(\..+)?|.+\.env|[._]netrc|\.pgpass|\.pypirc|\.htpasswd|\.git-credentials"
    r"|id_(rsa|dsa|ecdsa|ed25519)(_.*)?"
    r"|(.*[-_.])?(credentials?|secrets?|passwords?|passwd|api[-_]?keys?|(access|auth|api|hf|bearer)[-_]token)"
    r"(\.(json|ya?ml|toml|ini|cfg|conf|txt|env))?|token(\.(json|txt))?|.+\.(p12|pfx|jks|keystore|kdbx|ppk)",
    re.IGNORECASE,
)
_MAY_HOLD_A_KEY = (".pem", ".key", ".asc", ".crt", ".cer")
_LARGEST_KEY = 2**18
_ORDER = {"found": 0, "suggested": 1, "beside": 2, "unreached": 3, "hidden": 4}


def find_data_files(
    modules: Iterable[SourceModule], listings: Listings, *, whole: bool = False
) -> list[DataFile]:
    """Return the data files of the packages among `modules` (those of one top-level package).

    First what literals name, then files whose name alone occurs in the code, then all others.
    Files of code are data where code names them and they are not captured as modules. With `whole` also
    those of sub-packages that nothing imports ("unreached" where no code can mean them), and of hidden
    folders ("hidden", one for the folder).
    """
    captured = list(modules)
    files = {(file.package, file.resource): file for file in _beside(captured, listings, whole=whole)}
    codes = {(file.package, file.resource) for file in files.values() if is_code(file.resource)}
    by_path = {_key(*place): place for place in files}
    by_name: dict[str, list[tuple[str, str]]] = {}
    for place in files:
        by_name.setdefault(posixpath.basename(place[1]), []).append(place)
    for module in captured:
        runs_files = any(dynamic.kind in ("file", "run") for dynamic in module.scan.dynamics)
        for literal in module.scan.literals:
            because = f"{module.found.file}:{literal.line}"
            for kind, place in _meant(module, literal.text, by_path, by_name, with_code=runs_files):
                if _ORDER[kind] < _ORDER[files[place].kind]:
                    files[place] = replace(files[place], kind=kind, because=because)
        if module.stub_imports:
            place = (module.package, f"{posixpath.basename(module.found.file)}i")
            if place in files:
                files[place] = replace(files[place], kind="found", because=module.found.file)
    if opener := _opens_libraries(captured):
        for place in codes:
            if files[place].kind != "found" and is_library(place[1]):
                files[place] = replace(files[place], kind="found", because=opener)
    if any(module.scan.own_path or module.mentions("resources") for module in captured):
        for place, file in files.items():  # with a name that is computed, all of it may be meant
            if file.kind == "unreached" and not _OF_TESTS.intersection(place[1].split("/")):
                files[place] = replace(file, kind="beside")
    kept = [file for place, file in files.items() if place not in codes or file.kind == "found"]
    return sorted(kept, key=lambda file: (_ORDER[file.kind], file.package, file.resource))


def reason_to_leave_out(file: DataFile) -> str:
    """Say why a data file does not go along by itself; "" where it does.

    What looks like a secret never does; what is hidden, or lies where nothing imports, does where code
    names it.

    >>> reason_to_leave_out(DataFile("net", "conf/.env", "/net/conf/.env", 9, "net/io.py:3", "found"))
    'it looks like a secret'
    >>> reason_to_leave_out(DataFile("net", "tokens.txt", "/net/tokens.txt", 9))
    ''
    """
    name = posixpath.basename(file.resource)
    if _SECRET.fullmatch(name):
        return "it looks like a secret"
    if name.endswith(_MAY_HOLD_A_KEY) and file.bytes <= _LARGEST_KEY and b"PRIVATE KEY" in file.read():
        return "it holds a private key"
    if file.kind == "hidden" or (name.startswith(".") and file.kind != "found"):
        return "it is hidden"
    return "nothing names it, nor imports its package" if file.kind == "unreached" else ""


def _beside(captured: list[SourceModule], listings: Listings, *, whole: bool) -> Iterator[DataFile]:
    """Yield every file in the folders of captured packages, and in folders below that are no packages.

    With `whole` also the data in packages below that are not captured, and one for each hidden folder.
    """
    known = {module.found.path for module in captured}
    homes = {root for module in captured if module.found.is_package for root in module.found.search}
    for module in captured:
        if not module.found.is_package:
            continue
        for root in module.found.search:
            waiting = [("", False)]
            while waiting:
                relative, unreached = waiting.pop()
                folder = os.path.join(root, relative) if relative else root
                listing = listings.get(folder)
                kind = "unreached" if unreached else "beside"
                for name in sorted(listing.files):
                    path = os.path.join(folder, name)
                    is_data = name not in _NOT_DATA and not name.endswith((".pyc", ".pyo"))
                    if (
                        is_data
                        and path not in known
                        and not (unreached and is_code(name) and not is_library(name))
                    ):
                        yield _data_file(module.name, posixpath.join(relative, name), path, listings, kind)
                for name in sorted(listing.folders - _NOT_DATA, reverse=True):
                    below, path = posixpath.join(relative, name), os.path.join(folder, name)
                    if name.startswith("."):
                        if whole and name not in _OF_TOOLS:
                            yield DataFile(module.name, f"{below}/", path, _size_below(path), kind="hidden")
                    elif not is_package(path, listings):
                        waiting.append((below, unreached))
                    elif whole and path not in homes:
                        waiting.append((below, True))


def _data_file(package: str, resource: str, path: str, listings: Listings, kind: str) -> DataFile:
    return DataFile(package, resource, path, listings.size(path), "", kind, partial(listings.read, path))


def _size_below(folder: str) -> int:
    seen.refuse(f"{folder} is hidden")
    return sum(
        os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names
    )


def _meant(
    module: SourceModule,
    text: str,
    by_path: dict[str, tuple[str, str]],
    by_name: dict[str, list[tuple[str, str]]],
    *,
    with_code: bool,
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the files that a literal names: below the module's folder or the package's, or by name alone.

    `with_code` where the module runs files by their paths: those of a folder that it names are found, too.
    """
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
                if other.startswith(path + "/") and not is_code(other):
                    yield "suggested", place
                elif other.startswith(path + "/") and with_code and other.endswith(".py"):
                    yield "found", place
    if not exact:
        for place in by_name.get(posixpath.basename(text), ()):
            yield "suggested", place


def _parents(package: str) -> list[str]:
    parts = package.split(".")
    return [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]


def _key(package: str, resource: str) -> str:
    return f"{package.replace('.', '/')}/{resource}"


def is_code(resource: str) -> bool:
    """Say whether a file is code, by its name."""
    return resource.endswith(_CODE)


def is_library(resource: str) -> bool:
    """Say whether a file is a library of machine code, and no module of Python's, by its name.

    >>> [is_library(name) for name in ("libdsp.so", "libdsp.so.2", "dsp.dll", "_fast.abi3.so")]
    [True, True, True, False]
    """
    name = posixpath.basename(resource)
    return _LIBRARY.search(name) is not None and ".cpython-" not in name and ".abi3." not in name


def opens_libraries(module: SourceModule) -> int:
    """Return the line where a module imports what opens libraries of machine code; 0 where none does."""
    names = ((one.line, one.module or "") for one in module.scan.imports)
    line = next((line for line, name in names if name.partition(".")[0] in ("ctypes", "cffi")), 0)
    return line or (1 if module.mentions("ctypeslib") else 0)


def _opens_libraries(modules: Iterable[SourceModule]) -> str:
    """Return the place of the first import of what opens libraries; "" where there is none."""
    return next((f"{one.found.file}:{line}" for one in modules if (line := opens_libraries(one))), "")


def is_package(folder: str, listings: Listings) -> bool:
    """Say whether a folder is a package with an `__init__`."""
    return any(name.startswith("__init__.") for name in listings.get(folder).files)
