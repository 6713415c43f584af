"""The public names of the files of a package, gathered for its `__init__`."""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

__all__ = ["classes_of", "functions_of"]


def functions_of(package: str, files: str) -> dict[str, Any]:
    """Return the functions that files of a package define under names without an underscore.

    >>> sorted(functions_of("kellet.linalg", "norms"))
    ['cond', 'matrix_norm', 'norm', 'vector_norm']
    """
    return _defined(FunctionType, package, files)


def classes_of(package: str, files: str) -> dict[str, Any]:
    """Return the classes that files of a package define under names without an underscore.

    >>> sorted(classes_of("kellet", "hooks"))
    ['HookEntry', 'HookMapping', 'HookRegistry', 'RemovableHandle']
    """
    return _defined(type, package, files)


def _defined(kind: type, package: str, files: str) -> dict[str, Any]:
    return {
        name: thing
        for file in [import_module(f"{package}.{one}") for one in files.split()]
        for name, thing in vars(file).items()
        if isinstance(thing, kind) and thing.__module__ == file.__name__ and not name.startswith("_")
    }
