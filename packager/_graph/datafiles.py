"""Data files beside stored code, as a wheel has them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.machinery import all_suffixes
from typing import Final

from packager._disk import file_bytes
from packager._texts import size_text

from .closure_parts import DataFile
from .module_finder import Listings, file_size
from .source_table import Source

_CODE = (*all_suffixes(), ".pyi", ".pyo", ".pyd", ".dll", ".dylib", ".so", ".a", ".o")
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
MOST_BESIDE: Final = 16 * 2**20
"""Bytes of files beside code that go along together without being asked for."""
_MAY_HOLD_A_KEY = (".pem", ".key", ".asc", ".crt", ".cer")
_LARGEST_KEY = 2**18


def files_beside(modules: Iterable[Source], listings: Listings, *, whole: bool = False) -> list[DataFile]:
    """Return all files but code in the folders of packages, and in folders below that are no packages.

    Stubs are code, but for those that lazy packages may read. With `whole` also those of sub-packages that
    are not among `modules`, and one for each hidden folder.
    """
    captured = [*modules]
    stubs = {f"{one.found.path}i" for one in captured if one.stub is not None}
    found = _beside(captured, listings, whole=whole)
    kept = (
        file
        for file in found
        if not is_code(file.resource) or is_library(file.resource) or file.path in stubs
    )
    return sorted(kept, key=lambda file: (file.kind, file.package, file.resource))


def reason_to_leave_out(file: DataFile) -> str:
    """Say why a data file does not go along by itself; "" where it does.

    What looks like a secret never does, by its name or by that of the file that it is a link to; what is
    hidden does where a run has opened it.

    >>> reason_to_leave_out(DataFile("net", "conf/.env", "/net/conf/.env", 9, "net/io.py:3", "found"))
    'it looks like a secret'
    >>> reason_to_leave_out(DataFile("net", "tokens.txt", "/net/tokens.txt", 9))
    ''
    """
    name = posixpath.basename(file.resource)
    aim = os.path.basename(os.path.realpath(file.path)) if os.path.islink(file.path) else name
    if _SECRET.fullmatch(name) or _SECRET.fullmatch(aim):
        return "it looks like a secret"
    if name.endswith(_MAY_HOLD_A_KEY) and file.bytes <= _LARGEST_KEY and b"PRIVATE KEY" in file.read():
        return "it holds a private key"
    if file.kind == "hidden" or (name.startswith(".") and file.kind != "found"):
        return "it is hidden"
    return f"with it, data files exceed {size_text(MOST_BESIDE)}" if file.kind == "large" else ""


def too_large(sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the names of files that are more than 16 MiB together with the smaller ones before them.

    >>> too_large({"a": 2**24, "b": 1, "c": 2**23})
    frozenset({'a'})
    """
    together, found = 0, set()
    for name, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        together += size
        if together > MOST_BESIDE:
            found.add(name)
    return frozenset(found)


def _beside(captured: Sequence[Source], listings: Listings, *, whole: bool) -> Iterator[DataFile]:
    """Yield every file in the folders of captured packages, and in folders below that are no packages.

    With `whole` also the data in packages below that are not captured, and one for each hidden folder.
    """
    known = {module.found.path for module in captured}
    homes = {root for module in captured if module.found.is_package for root in module.found.search}
    for module in captured:
        if not module.found.is_package:
            continue
        for root in module.found.search:
            waiting = [""]
            followed: set[str] = set()
            while waiting:
                relative = waiting.pop()
                folder = os.path.join(root, relative) if relative else root
                listing = listings.get(folder)
                for name in sorted(listing.files):
                    path = os.path.join(folder, name)
                    is_data = name not in _NOT_DATA and not name.endswith((".pyc", ".pyo"))
                    if is_data and path not in known:
                        yield _data_file(module.name, posixpath.join(relative, name), path)
                for name in sorted(listing.folders - _NOT_DATA, reverse=True):
                    below, path = posixpath.join(relative, name), os.path.join(folder, name)
                    if name.startswith("."):
                        if whole and name not in _OF_TOOLS:
                            yield DataFile(module.name, f"{below}/", path, _size_below(path), kind="hidden")
                    elif _leads_in_a_circle(path, followed):
                        continue
                    elif not is_package(path, listings) or (whole and path not in homes):
                        waiting.append(below)


def _leads_in_a_circle(path: str, followed: set[str]) -> bool:
    """Say whether a folder is a link to one that holds it or that is in `followed`, which it is added to."""
    if not os.path.islink(path):
        return False
    aim, home = os.path.realpath(path), os.path.realpath(os.path.dirname(path))
    if aim in followed or os.path.join(home, "").startswith(os.path.join(aim, "")):
        return True
    followed.add(aim)
    return False


def _data_file(package: str, resource: str, path: str) -> DataFile:
    return DataFile(package, resource, path, file_size(path), "", "beside", partial(file_bytes, path))


def _size_below(folder: str) -> int:
    return sum(
        os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names
    )


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


def is_package(folder: str, listings: Listings) -> bool:
    """Say whether a folder is a package with an `__init__`."""
    return any(name.startswith("__init__.") for name in listings.get(folder).files)
