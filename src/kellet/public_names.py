"""What the files of a package define for users, gathered for its `__init__`."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

__all__ = ["classes_of", "functions_of"]


def functions_of(*files: ModuleType) -> dict[str, Any]:
    """Return the functions that the files define under names without an underscore.

    >>> import kellet.core.dispatch
    >>> "apply" in functions_of(kellet.core.dispatch)
    True
    """
    return _defined(FunctionType, files)


def classes_of(*files: ModuleType) -> dict[str, Any]:
    """Return the classes that the files define under names without an underscore.

    >>> import kellet.hooks
    >>> sorted(classes_of(kellet.hooks))
    ['HookEntry', 'HookMapping', 'HookRegistry', 'RemovableHandle']
    """
    return _defined(type, files)


def _defined(kind: type, files: tuple[ModuleType, ...]) -> dict[str, Any]:
    return {
        name: thing
        for file in files
        for name, thing in vars(file).items()
        if isinstance(thing, kind) and thing.__module__ == file.__name__ and not name.startswith("_")
    }
