"""Classes and functions that name their module themselves, and mean one of the archive by its true name.

`namedtuple("Point", "x y", module="shop.part")`, `Enum("Kind", "A B", module="shop")`, `cls.__module__ =
"shop"`: whatever looks such a definition up (pickle, and with it every worker process; dataclasses, typing,
inspect) looks for a module of that name in `sys.modules`, where the archive's has another one. So once a
module has been run, its definitions get the name that their module has in this process.

What a function makes under a spelt-out name later on keeps that name, and so does what the process has under
that very name: a class of an installed package that the archive holds, too.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from functools import _lru_cache_wrapper
from types import FunctionType, ModuleType
from typing import Any, Final

from .packaged_code import ImportRules

_FUNCTIONS: Final = (FunctionType, _lru_cache_wrapper)
_NAMES_OF: Any = vars(type)["__dict__"]  # past whatever a metaclass defines


def name_as_here(module: ModuleType, rules: ImportRules) -> None:
    """Give definitions in `module`, and classes inside its classes, the name that their module has here."""
    done: set[int] = set()
    here = rules.called
    work = list(vars(module).values())
    while work:
        value = work.pop()
        kind = type(value)
        if issubclass(kind, _FUNCTIONS):  # a metaclass may say what equals it
            named = value.__module__
            if type(named) is str and here[named] != named:  # which most say rightly
                _rename(value, named, here)
        elif issubclass(kind, type) and id(value) not in done:
            done.add(id(value))
            names = _NAMES_OF.__get__(value)
            if _rename(value, names.get("__module__"), here) == module.__name__:
                work += [inner for inner in names.values() if issubclass(type(inner), type)]


def _rename(value: Any, named: object, here: Mapping[str, str]) -> str | None:
    """Return the module that a definition is of, as it is called in this process, and let it say so."""
    if type(named) is not str:
        return None
    called = here[named]
    if called != named and not _is_found(value, named):
        put = object.__setattr__ if issubclass(type(value), _FUNCTIONS) else type.__setattr__
        with contextlib.suppress(TypeError):  # a metaclass of C code that keeps this to itself
            line = _NAMES_OF.__get__(value).get("__firstlineno__") if isinstance(value, type) else None
            put(value, "__module__", called)
            if line is not None:  # Python 3.13 forgets where a class stands when it is told of another module
                put(value, "__firstlineno__", line)
    return called


def _is_found(value: Any, named: str) -> bool:
    """Say whether a definition is that of a module of the process with the true name, or of no module."""
    found: Any = sys.modules.get(named)
    for part in value.__qualname__.split("."):
        found = _NAMES_OF.__get__(found) if isinstance(found, type) else getattr(found, "__dict__", {})
        found = found.get(part)
    return found is value or "<locals>" in value.__qualname__
