"""Globals of stored modules: what they hold in the exporting process, and what in the clean one.

A registry that a script filled, a setting that a notebook changed: where they are part of a module and not of
an object, the archive has what the module's source makes of them, and code that reads them finds that. Only
values of the exact types of Python are looked into, so that nothing of theirs runs.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import os
import re
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import (
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any, Final

from packager.graph import dotted, imported_names
from packager.names import demangle, demangle_text, source_path
from packager.texts import counted

from .held_numbers import TABLES_OF_MODULES, digest_of, is_of_modules, parts_of_module
from .proof import GlobalDifference

_NOTHING: Final = object()
_PLAIN: Final = frozenset([type(None), bool, int, float, complex, str, bytes])
_MAPPINGS: Final = frozenset([dict, OrderedDict, defaultdict, MappingProxyType])
_SEQUENCES: Final = frozenset([list, tuple, set, frozenset, deque])
NOT_LOOKED_AT: Final = re.compile("^__|cache|memo", re.IGNORECASE)
_NAMESPACES: Final = ("types.SimpleNamespace", "argparse.Namespace")
_MOST_PARTS: Final = 1000
_MOST_INSIDE: Final = 2000
_DEEPEST: Final = 3
_MOST_TEXT: Final = 200
_MOST_TOLD: Final = 4

_FOLDER: Final = "<folder of the code>"

Globals = Mapping[str, Mapping[str, "Held"]]
"""By module, and by the dotted name in it."""


@dataclass(frozen=True)
class Held:
    """What a name holds: the type, the value of a plain one, of a container how many entries and which.

    `parts` are keys of mappings and plain entries of others, as text and sorted; None where they are too
    many, or no plain values. `digest` stands for the numbers of an array or a tensor. `line` is where the
    source binds the name, 0 where it does not. What is `quiet` differs without a reason to tell of it: it
    counts where the running program is what changed it.
    """

    kind: str
    value: str | None = None
    size: int | None = None
    parts: tuple[str, ...] | None = None
    line: int = 0
    quiet: bool = False
    digest: str = ""


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
            name: dataclasses.replace(one, line=bound.get(top_of(name), 0))
            for name, one in _held(module.__name__, names, _says_alike(module_name, module))
            if name in bound or name != top_of(name) or one.value is not None or one.size is not None
        }
        if module_name != "__main__":
            own = dict(list(vars(module).items()))
            taken = {name: own[name] for name in imported & own.keys() if type(own[name]) in _PLAIN}
            alike = _says_alike(module_name, module)
            found[module_name] |= {
                name: dataclasses.replace(held(value, alike), quiet=True) for name, value in taken.items()
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
            if type(value) in _PLAIN:
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
        for name, held in names.items():
            other = found.get(name)
            if other is None and (name in vars(module) or (held.quiet and held.kind != "function")):
                around = name.rpartition(".")[0]
                if not around or around not in found or found[around].kind != names[around].kind:
                    continue  # something else took its place, which code that reads it has to expect
            if other is not None and "function" in (held.kind, other.kind) and held.kind != other.kind:
                own = f"function {module_name.partition('.')[0]}"
                if held.kind != "function" or (held.value or own).startswith((f"{own}:", f"{own}.")):
                    continue  # but one of another package was put there
            if what := difference_of(held, other):
                has_numbers = other is not None and held.digest != "" and other.digest != ""
                yield GlobalDifference(
                    module_name,
                    name,
                    held.line,
                    what,
                    held.quiet or has_numbers,
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


def held_of_plain(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Held]]:
    """Return what was written as plain data."""
    return {
        module: {
            name: Held(**{**one, "parts": None if one["parts"] is None else tuple(one["parts"])})
            for name, one in names.items()
        }
        for module, names in plain.items()
    }


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
        elif _name_of(value) == f"{module}.{type.__getattribute__(value, '__qualname__')}":
            for key, attribute in list(type.__getattribute__(value, "__dict__").items()):
                if NOT_LOOKED_AT.search(key):
                    continue
                if (function := function_in(attribute)) is not None:
                    yield f"{name}.{key}", _held_function(function)
                    yield from _registered(f"{name}.{key}", function)
                    continue
                one = held(attribute, alike)
                if type(attribute) in _PLAIN | _MAPPINGS | _SEQUENCES or one.digest:
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
        types = [demangle(_name_of(one)) for one in list(registry) if isinstance(one, type)]
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
            if type(one) in _PLAIN | _MAPPINGS | _SEQUENCES or found.digest:
                yield f"{name}{spelt}", dataclasses.replace(found, quiet=True)
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
            if not NOT_LOOKED_AT.search(key) and (
                type(one) in _PLAIN | _MAPPINGS | _SEQUENCES or found.digest
            ):
                yield f"{name}.{key}", dataclasses.replace(found, quiet=True)

    def _parts_of(self, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
        if type(value) in _MAPPINGS:
            for key, one in list(value.items()):
                if type(key) in _PLAIN:
                    yield f"[{_text(key, self._alike)}]", one
            return
        if type(value) is ContextVar:
            if (one := value.get(_NOTHING)) is not _NOTHING:
                yield ".value", one
            return
        if is_of_modules(value):
            for key, one in parts_of_module(value):
                yield f".{key}", one
        # What a library made is looked into where a name of the module leads to it, no deeper, and not at
        # what is its own business.
        is_own = self._is_own(type(value))
        if is_own or (depth == 0 and not self._is_of_python(type(value))):
            for key, one in attributes_of(value):
                if key not in TABLES_OF_MODULES and (is_own or not key.startswith("_")):
                    yield f".{key}", one

    @staticmethod
    def _is_of_python(cls: type) -> bool:
        return demangle(_name_of(cls)).partition(".")[0] in sys.stdlib_module_names

    def _is_own(self, cls: type) -> bool:
        name = demangle(_name_of(cls))
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


def held(value: Any, alike: Callable[[str], str] = str) -> Held:
    """Return what a value is, as far as it can be said without running anything of it.

    `alike` spells texts as they are in every process.

    >>> held(["b", "a"]).parts, held({"x": object()}).parts, held(3).value, held(object()).value
    (("'a'", "'b'"), ("'x'",), '3', None)
    """
    cls = type(value)
    if cls in _PLAIN:
        return Held(cls.__name__, _text(value, alike))
    kind = demangle(_name_of(cls)).removeprefix("builtins.")
    if cls in _MAPPINGS | _SEQUENCES:
        return Held(kind, None, len(value), _parts(list(value), alike))
    return Held(kind, digest=digest_of(value))


def _name_of(cls: type) -> str:
    """Return the dotted name of a class; one that `exec` made may lack a module."""
    try:
        module = type.__getattribute__(cls, "__module__")
    except AttributeError:
        module = ""
    name: str = type.__getattribute__(cls, "__qualname__")
    return f"{module}.{name}" if module and type(module) is str else name


def _parts(values: Sequence[Any], alike: Callable[[str], str]) -> tuple[str, ...] | None:
    if len(values) > _MOST_PARTS or any(type(value) not in _PLAIN for value in values):
        return None
    return tuple(sorted(_text(value, alike) for value in values))


def _text(value: Any, alike: Callable[[str], str]) -> str:
    text = repr(alike(value) if type(value) is str else value)
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}... ({len(text):,} characters)"


def difference_of(here: Held, there: Held | None) -> str:
    """Say in what two differ; "" where they do not."""
    if there is None:
        return f"is {_said(here)} here, and not there at all"
    if here.kind != there.kind:
        return f"is {_said(here)} here and {_said(there)} there"
    if here.value != there.value:
        return f"is {here.value} here and {there.value} there"
    if here.digest != there.digest:
        return "holds other numbers here than there"
    if here.parts is not None and there.parts is not None:
        return _difference_of_parts(here, there)
    if here.size != there.size:
        return f"holds {_entries(here.size)} here and {_entries(there.size)} there"
    return ""


def _difference_of_parts(here: Held, there: Held) -> str:
    missing = [one for one in here.parts or () if one not in (there.parts or ())]
    more = [one for one in there.parts or () if one not in (here.parts or ())]
    if here.size == there.size and not missing and not more:
        return ""
    texts = [f"holds {_entries(here.size)} here and {_entries(there.size)} there"]
    for what, names in (("not there", missing), ("not here", more)):
        if names:
            rest = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
            texts.append(f"{what}: {', '.join(names[:_MOST_TOLD])}{rest}")
    return "; ".join(texts)


def _said(held: Held) -> str:
    if held.value is not None:
        return held.value
    return f"a {held.kind}" + ("" if held.size is None else f" of {_entries(held.size)}")


def _entries(size: int | None) -> str:
    return counted(size, "entry", "entries") if size else "nothing"
