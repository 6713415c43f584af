"""Globals of stored modules: what they hold in the exporting process, and what in the clean one.

A registry that a script filled, a setting that a notebook changed: where they are part of a module and not of
an object, the archive has what the module's source makes of them, and code that reads them finds that. Only
values of the exact types of Python are looked into, so that nothing of theirs runs.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from types import (
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, Final

from packager.graph import dotted, imported_names
from packager.late_patterns import late_pattern
from packager.names import demangle, demangle_text, source_path
from packager.quick_dataclasses import replace

from .held_numbers import TABLES_OF_MODULES, is_of_modules, parts_of_module
from .held_values import (
    CONTAINERS,
    MAPPINGS,
    ORDERED,
    PLAIN,
    Held,
    difference_of,
    held,
    name_of,
    text_of,
)
from .proof import GlobalDifference

_NOTHING: Final = object()
NOT_LOOKED_AT: Final = late_pattern("^__|cache|memo", re.IGNORECASE)
_NAMESPACES: Final = ("types.SimpleNamespace", "argparse.Namespace")
_MOST_INSIDE: Final = 2000
_DEEPEST: Final = 3

_FOLDER: Final = "<folder of the code>"

Globals = Mapping[str, Mapping[str, "Held"]]
"""By module, and by the dotted name in it."""


def globals_here(
    modules: Mapping[str, ModuleType], sources: Mapping[str, bytes]
) -> dict[str, dict[str, Held]]:
    """Return what the globals of these modules hold.

    What a source imports belongs to another module, and what is called a cache may be filled or not. Of
    `__main__` only what its stored source binds counts: a script has much that nothing stored needs. What a
    loop left in its variable is nobody's setting.
    """
    found: dict[str, dict[str, Held]] = {}
    for module_name, module in modules.items():
        bound, imported = bindings_of(sources[module_name])
        names = {
            name: value
            for name, value in list(vars(module).items())
            if name in bound or (module_name != "__main__" and name not in imported)
        }
        found[module_name] = {
            name: replace(one, line=bound.get(top_of(name), 0))
            for name, one in _held(module.__name__, names, _says_alike(module_name, module))
            if name in bound or name != top_of(name) or one.value is not None or one.size is not None
        }
        if module_name != "__main__":
            own = dict(list(vars(module).items()))
            taken = {name: own[name] for name in imported & own.keys() if type(own[name]) in PLAIN}
            alike = _says_alike(module_name, module)
            found[module_name] |= {
                name: replace(held(value, alike), quiet=True) for name, value in taken.items()
            }
    return found


def attributes_read(sources: Mapping[str, bytes], externs: Collection[str]) -> dict[str, dict[str, Held]]:
    """Return what the attributes of other packages hold here that these sources read, by module.

    `externs` are the first parts of their names. Plain values count, and functions that no module of the
    package has defined: settings and patches, which are there where stored code makes them.
    """
    found: dict[str, dict[str, Held]] = {}
    for name, source in sources.items():
        for dotted_name in _dotted_reads(source, name):
            module_name, _, attribute = dotted_name.rpartition(".")
            top = module_name.partition(".")[0]
            module = sys.modules.get(module_name)
            if top not in externs or type(module) is not ModuleType or attribute not in vars(module):
                continue
            value = vars(module)[attribute]
            if type(value) in PLAIN:
                found.setdefault(module_name, {})[attribute] = held(value)
            elif type(value) is FunctionType and str(value.__module__).partition(".")[0] != top:
                found.setdefault(module_name, {})[attribute] = _held_function(value)
    return found


def patched_methods(classes: Collection[str], is_own: Callable[[str], bool]) -> dict[str, dict[str, Held]]:
    """Return the methods of classes of other packages, and of their bases, that the project has put there.

    `classes` are named as "module:Qualified.Name"; `is_own` says of a module that it is of the project.
    """
    found: dict[str, dict[str, Held]] = {}
    for cls in _loaded(classes):
        home, name = type.__getattribute__(cls, "__module__"), type.__getattribute__(cls, "__qualname__")
        if type(home) is not str or is_own(home) or vars(sys.modules.get(home, sys)).get(name) is not cls:
            continue
        for key, attribute in list(type.__getattribute__(cls, "__dict__").items()):
            function = function_in(attribute)
            if function is not None and is_own(str(function.__globals__.get("__name__", ""))):
                found.setdefault(home, {})[f"{name}.{key}"] = _held_function(function)
    return found


def _loaded(classes: Collection[str]) -> Iterator[type]:
    """Yield the classes of these names that are loaded here, each with its bases, once."""
    seen: set[type] = set()
    for spelt in classes:
        module, _, name = spelt.partition(":")
        cls = vars(sys.modules[module]).get(name) if type(sys.modules.get(module)) is ModuleType else None
        if isinstance(cls, type):
            for base in type.__dict__["__mro__"].__get__(cls):
                if base not in seen:
                    seen.add(base)
                    yield base


def _dotted_reads(source: bytes, module: str) -> Iterator[str]:
    """Yield the dotted names that a source reads of what it imports, imports resolved."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return
    imported = imported_names(nodes, module.rpartition(".")[0])
    yield from imported.values()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, _, rest = dotted(node).partition(".")
            if first in imported and rest:
                yield f"{imported[first]}.{rest}"


def differences(here: Globals, there: Mapping[str, ModuleType]) -> Iterator[GlobalDifference]:
    """Yield what differs in the modules that were loaded there."""
    for module_name, names in here.items():
        module = there.get(module_name)
        if module is None:
            continue
        alike = _says_alike(module_name, module)
        found = dict(_held(module.__name__, dict(list(vars(module).items())), alike))
        for name, mine in names.items():
            other = found.get(name)
            if other is None and (name in vars(module) or (mine.quiet and mine.kind != "function")):
                around = name.rpartition(".")[0]
                if not around or around not in found or found[around].kind != names[around].kind:
                    continue  # something else took its place, which code that reads it has to expect
            if other is not None and "function" in (mine.kind, other.kind) and mine.kind != other.kind:
                own = f"function {module_name.partition('.')[0]}"
                if mine.kind != "function" or (mine.value or own).startswith((f"{own}:", f"{own}.")):
                    continue  # but one of another package was put there
            if what := difference_of(mine, other):
                has_numbers = other is not None and mine.digest != "" and other.digest != ""
                yield GlobalDifference(
                    module_name,
                    name,
                    mine.line,
                    what,
                    mine.quiet or has_numbers,
                    is_absent=other is None,
                    has_numbers=has_numbers,
                )


def bindings_of(source: bytes) -> tuple[dict[str, int], frozenset[str]]:
    """Return the names that a source binds at its top, with the line of each, and those that it imports.

    Functions are neither; variables of loops count as imported.

    >>> source = b"import os\\nfor C in os.sep:\\n    A = B = []\\ndef f():\\n    D = 1\\n"
    >>> bound, others = bindings_of(source)
    >>> bound, sorted(others)
    ({'A': 3, 'B': 3}, ['C', 'os'])
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}, frozenset()
    bound: dict[str, int] = {}
    imported: set[str] = set()
    waiting: list[ast.AST] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(ctx=ast.Store()):
                bound.setdefault(node.id, node.lineno)
            case ast.ClassDef():
                bound.setdefault(node.name, node.lineno)
            case ast.Import() | ast.ImportFrom():
                imported |= {(one.asname or one.name).partition(".")[0] for one in node.names}
            case ast.For():
                imported |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
                waiting += reversed([node.iter, *node.body, *node.orelse])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                pass
            case _:
                waiting.extend(reversed(list(ast.iter_child_nodes(node))))
    return bound, frozenset(imported - bound.keys())


def _says_alike(name: str, module: ModuleType) -> Callable[[str], str]:
    """Return what spells texts of a module as in every process: names of modules, paths beside the code."""
    file = vars(module).get("__file__")
    roots = []
    for path in (os.path.abspath(file), os.path.realpath(file)) if type(file) is str else ():
        spelt = path.replace(os.sep, "/")
        tails = (f"/{source_path(name, is_package)}" for is_package in (True, False))
        tail = next((tail for tail in tails if spelt.endswith(tail)), "")
        roots.append(path[: -len(tail)] if tail else os.path.dirname(path))
    places = "|".join(re.escape(root) for root in dict.fromkeys(roots) if len(root) > 1)
    folder = re.compile(rf"(?:{places})(?=[/\\\\]|$)") if places else None

    def alike(text: str) -> str:
        text = demangle_text(text)
        return text if folder is None else folder.sub(_FOLDER, text)

    return alike


def top_of(name: str) -> str:
    """Return the global name that the name of something in it begins with.

    >>> top_of("Net.kinds"), top_of("SIZES['deep'].width")
    ('Net', 'SIZES')
    """
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _held(module: str, names: Mapping[str, Any], alike: Callable[[str], str]) -> Iterator[tuple[str, Held]]:
    """Yield what names hold; of a class of the module what its attributes do, of values what is in them."""
    inside = _Inside(module, alike)
    for name, value in names.items():
        if type(value) is ModuleType or NOT_LOOKED_AT.search(name):
            continue
        if type(value) is FunctionType:
            yield name, _held_function(value)
            yield from _registered(name, value)
            yield from inside.of_function(name, value)
        elif not isinstance(value, type):
            yield name, held(value, alike)
            yield from inside.of(name, value)
        elif name_of(value) == f"{module}.{type.__getattribute__(value, '__qualname__')}":
            for key, attribute in list(type.__getattribute__(value, "__dict__").items()):
                if NOT_LOOKED_AT.search(key):
                    continue
                if (function := function_in(attribute)) is not None:
                    yield f"{name}.{key}", _held_function(function)
                    yield from _registered(f"{name}.{key}", function)
                    continue
                one = held(attribute, alike)
                if type(attribute) in PLAIN | CONTAINERS or one.digest or inside.is_own(type(attribute)):
                    yield f"{name}.{key}", one
                yield from inside.of(f"{name}.{key}", attribute)


def _held_function(function: FunctionType) -> Held:
    """Return a function as the module that it was written in, and its name there."""
    home = demangle(str(function.__globals__.get("__name__", "")))
    return Held("function", f"function {home}:{function.__code__.co_qualname}", quiet=True)


def _registered(name: str, function: FunctionType) -> Iterator[tuple[str, Held]]:
    """Yield the types that a `functools.singledispatch` has functions for, by their names."""
    registry = vars(function).get("registry")
    if type(registry) is MappingProxyType and type(vars(function).get("register")) is FunctionType:
        types = [demangle(name_of(one)) for one in list(registry) if isinstance(one, type)]
        yield f"{name}[registry]", Held("registry", None, len(types), tuple(sorted(types)))


class _Inside:
    """What values hold deeper inside, all of it quiet: by keys of mappings, and by attributes of objects.

    Objects are looked into that classes of the module's own project have made, and plain namespaces.
    """

    def __init__(self, module: str, alike: Callable[[str], str]) -> None:
        self._project = demangle(module).partition(".")[0]
        self._alike = alike
        self._left = _MOST_INSIDE

    def of(self, name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Held]]:
        """Yield the names and what they hold, down to a few levels."""
        for spelt, one in self._parts_of(value, depth):
            if self._left <= 0 or NOT_LOOKED_AT.search(spelt):
                continue
            self._left -= 1
            found = held(one, self._alike)
            if type(one) in PLAIN | CONTAINERS or found.digest:
                yield f"{name}{spelt}", replace(found, quiet=True)
            if depth < _DEEPEST:
                yield from self.of(f"{name}{spelt}", one, depth + 1)

    def of_function(self, name: str, function: FunctionType) -> Iterator[tuple[str, Held]]:
        """Yield the attributes that a function was given, and the variables of functions around it."""
        inner = dict(list(vars(function).items()))
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                inner[variable] = cell.cell_contents
        for key, one in inner.items():
            found = held(one, self._alike)
            if not NOT_LOOKED_AT.search(key) and (type(one) in PLAIN | CONTAINERS or found.digest):
                yield f"{name}.{key}", replace(found, quiet=True)

    def _parts_of(self, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
        if type(value) in MAPPINGS:
            for key, one in list(value.items()):
                if (spelt := text_of(key, self._alike)) is not None:
                    yield f"[{spelt}]", one
            return
        if type(value) in ORDERED:
            for at, one in enumerate(list(value)):
                if text_of(one, self._alike) is None:
                    yield f"[{at}]", one
            return
        if type(value) is ContextVar:
            if (one := value.get(_NOTHING)) is not _NOTHING:
                yield ".value", one
            return
        if type(value) is threading.local:
            yield from ((f".{key}", one) for key, one in list(value.__dict__.items()))
            return
        if is_of_modules(value):
            for key, one in parts_of_module(value):
                yield f".{key}", one
        if isinstance(value, type):
            return  # its module has it
        # What a library made is looked into where a name of the module leads to it, no deeper, and not at
        # what is its own business.
        is_own = self.is_own(type(value))
        if is_own or (depth == 0 and not self._is_of_python(type(value))):
            for key, one in attributes_of(value):
                if key not in TABLES_OF_MODULES and (is_own or not key.startswith("_")):
                    yield f".{key}", one

    @staticmethod
    def _is_of_python(cls: type) -> bool:
        return demangle(name_of(cls)).partition(".")[0] in sys.stdlib_module_names

    def is_own(self, cls: type) -> bool:
        """Say whether a class is of the module's own project, or a plain namespace."""
        name = demangle(name_of(cls))
        return name in _NAMESPACES or (name.partition(".")[0] == self._project and "." in name)


def attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that an object itself has, without asking it.

    >>> from types import SimpleNamespace
    >>> list(attributes_of(SimpleNamespace(width=3)))
    [('width', 3)]
    """
    for cls in type.__dict__["__mro__"].__get__(type(value)):
        for key, slot in list(type.__getattribute__(cls, "__dict__").items()):
            if key == "__dict__" and type(slot) in (GetSetDescriptorType, MemberDescriptorType):
                yield from list(slot.__get__(value).items())
            elif type(slot) is MemberDescriptorType:
                with contextlib.suppress(AttributeError):  # an empty slot
                    yield key, slot.__get__(value)


def function_in(attribute: Any) -> FunctionType | None:
    """Return the function that an attribute of a class is, or calls; None for other attributes."""
    if type(attribute) is property:
        attribute = attribute.fget
    elif type(attribute) in (staticmethod, classmethod):
        attribute = attribute.__func__
    elif type(attribute) is functools.cached_property:
        attribute = attribute.func
    elif type(attribute) is functools.singledispatchmethod:
        attribute = attribute.dispatcher
    return attribute if type(attribute) is FunctionType else None
