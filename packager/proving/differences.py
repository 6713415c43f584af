"""What hangs on the modules that an archive stores: the same look in two processes, which runs nothing."""

from __future__ import annotations

import dis
import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from packager.late_patterns import late_pattern
from packager.names import demangle, demangle_text, source_path
from packager.texts import counted

from .settings import settings_here
from .values import (
    Kind,
    Texts,
    attributes_of,
    class_name,
    code_of,
    function_in,
    home_in,
    is_container,
    is_network,
    is_one_of,
)

Seen = dict[str, dict[str, tuple[str, Kind]]]
"""By module, and by the dotted name in it, what is there."""

SETTINGS: Final = "settings"
"""What stands for a module where the settings of libraries do."""
EMPTY: Final = counted(0, "entry", "entries")
"""What is said of the size of a cache that holds nothing."""
STANDS_IN: Final = "stands in"
"""What is there of a value that the loader puts in the place of one of Python's."""
_STAND_INS: Final = "packager.loading."
_MOST_PLACES: Final = 20_000
_DEEPEST: Final = 2
_FOLDER: Final = "<folder of the code>"
_CACHED: Final = type(functools.lru_cache(lambda: None))
_READING: Final = late_pattern("LOAD_(?!FAST)|IMPORT_")


def look_at(modules: Mapping[str, ModuleType], types: Collection[str]) -> Seen:
    """Return what the names of these modules stand for, and what hangs on their functions and classes.

    So are numbers, what these modules use of others, and settings of libraries. `types` are names of classes
    that stored objects are of, as "module:Qualified.Name".
    """
    own = frozenset(name.partition(".")[0] for name in modules)
    found = seen_on(modules, lambda name, module: Texts(own, says_alike(name, module)))
    texts = Texts(own, demangle_text)
    for home, name, value in _used_of_others(modules, types):
        function = function_in(value)
        found.setdefault(home, {})[name] = (code_of(function), "code") if function else texts.of(value)
    found[SETTINGS] = {
        name: (text, "setting") for name, text in settings_here(lambda one: texts.of(one)[0]).items()
    }
    return found


def seen_on(modules: Mapping[str, ModuleType], texts_of: Callable[[str, ModuleType], Texts]) -> Seen:
    """Return what hangs on modules, spelt by what `texts_of` makes for each of them."""
    found: Seen = {}
    left = _MOST_PLACES
    for name, module in modules.items():
        found[name] = {}
        with suppress(Exception):  # a look is told beside a failure, and makes none
            found[name] = dict(_Look(name, texts_of(name, module)).of_module(module)) if left > 0 else {}
        left -= len(found[name])
    return found


def look_at_made(obj: Any) -> dict[str, tuple[str, Kind]]:
    """Return what an object holds beside its state dict, by path: networks are looked into.

    So are objects of the root's own package; what is called a cache may be filled or not.

    >>> from types import SimpleNamespace
    >>> look_at_made(SimpleNamespace(width=3, sizes=[1, 2]))
    {'.width': ('3', 'value'), '.sizes': ('[1, 2]', 'value')}
    """
    top = demangle(class_name(type(obj))).partition(".")[0]
    texts = Texts((), demangle_text)
    found: dict[str, tuple[str, Kind]] = {}
    seen, waiting = {id(obj)}, [("", obj)]
    while waiting and len(found) < _MOST_PLACES:
        path, value = waiting.pop()
        for name, one in _parts_of_made(value):
            is_inside = is_network(one) or demangle(class_name(type(one))).partition(".")[0] == top
            if not is_inside and not name.startswith("__") and not is_cache(name):
                found[f"{path}.{name}"] = texts.of(one)
            elif is_inside and id(one) not in seen:
                seen.add(id(one))
                waiting.append((f"{path}.{name}", one))
    return found


def is_cache(name: str) -> bool:
    """Say whether a name is that of what may be filled or not."""
    return re.search("cache|memo", name, re.IGNORECASE) is not None


def _parts_of_made(value: Any) -> Iterator[tuple[str, Any]]:
    own = dict(attributes_of(value))
    if is_network(value):
        unsaved = own.get("_non_persistent_buffers_set") or ()
        yield from ((name, one) for name, one in (own.get("_buffers") or {}).items() if name in unsaved)
        yield from (own.get("_modules") or {}).items()
        own = {name: one for name, one in own.items() if name == "training" or not name.startswith("_")}
    yield from own.items()


def words_of(module: ModuleType) -> set[str]:
    """Return the names that the functions and methods of a module read: globals, attributes, and in texts."""
    values = list(vars(module).values())
    for cls in [one for one in values if issubclass(type(one), type)]:
        values += type.__getattribute__(cls, "__dict__").values()
    plain = [one for one in values if is_one_of(type(one), (FunctionType, _CACHED))]
    functions = [function_in(one) for one in (*values, *(vars(one).get("__wrapped__") for one in plain))]
    codes = [one.__code__ for one in functions if one is not None and one.__globals__ is vars(module)]
    found: set[str] = set()
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if type(one) is CodeType]
        steps = [one for one in dis.get_instructions(code) if type(one.argval) is str]
        found.update(one.argval for one in steps if _READING.match(one.opname))
    return found


def says_alike(name: str, module: ModuleType) -> Callable[[str], str]:
    """Return what spells texts of a module as in every process: names of modules, paths beside the code."""
    file = vars(module).get("__file__")
    roots = []
    for path in (os.path.abspath(file), os.path.realpath(file)) if type(file) is str else ():
        spelt = path.replace(os.sep, "/")
        tails = (f"/{source_path(name, is_package)}" for is_package in (True, False))
        tail = next((tail for tail in tails if spelt.endswith(tail)), "")
        roots.append(path[: -len(tail)] if tail else os.path.dirname(path))
    places = "|".join(re.escape(root) for root in dict.fromkeys(roots) if len(root) > 1)
    folder = re.compile(rf"(?:{places})(?=[/\\]|['\"]|$)") if places else None

    def alike(text: str) -> str:
        text = demangle_text(text)
        return text if folder is None else folder.sub(_FOLDER, text)

    return alike


class _Look:
    """What hangs on the names of one module."""

    def __init__(self, module: str, texts: Texts) -> None:
        self._module = module
        self._texts = texts

    def of_module(self, module: ModuleType) -> Iterator[tuple[str, tuple[str, Kind]]]:
        for name, value in list(vars(module).items()):
            is_part = type(value) is ModuleType and home_in(vars(value)) == f"{self._module}.{name}"
            if not is_part and not name.startswith("__"):
                yield from self._of(name, value, 0)

    def _of(self, place: str, value: Any, depth: int) -> Iterator[tuple[str, tuple[str, Kind]]]:
        cls = type(value)
        if class_name(cls).startswith(_STAND_INS):
            yield place, (STANDS_IN, "object")
        elif (function := function_in(value)) is not None:
            yield from self._of_function(place, function, depth)
        elif cls is _CACHED:
            yield f"{place}.cache_info()", (counted(value.cache_info().currsize, "entry", "entries"), "size")
            yield from self._of(place, vars(value).get("__wrapped__"), depth)
        elif issubclass(cls, type):
            yield from self._of_class(place, value)
        else:
            yield from self._of_object(place, value)

    def _of_object(self, place: str, value: Any) -> Iterator[tuple[str, tuple[str, Kind]]]:
        """Yield a value, and the attributes of an object that is none of Python's."""
        name = demangle(class_name(type(value))).removeprefix("builtins.")
        is_whole = is_container(value) or issubclass(type(value), threading.local)
        is_own = not is_whole and self._texts.looks_into(value)
        found: tuple[str, Kind] = (name, "object") if is_own else self._texts.of(value)
        yield place, found
        if is_own or (found[0] == name and name.partition(".")[0] not in sys.stdlib_module_names):
            for key, one in attributes_of(value):
                is_placed = type(one) is ModuleType or class_name(type(one)).startswith(_STAND_INS)
                if not is_placed and not key.startswith("__" if is_own else "_"):
                    yield f"{place}.{key}", self._texts.of(one)

    def _of_function(
        self, place: str, function: FunctionType, depth: int
    ) -> Iterator[tuple[str, tuple[str, Kind]]]:
        if home_in(function.__globals__).startswith(_STAND_INS):
            yield place, (STANDS_IN, "code")
            return
        yield place, (code_of(function), "code")
        homes = (home_in(function.__globals__), home_in({"__name__": function.__module__}))
        if self._module not in homes or depth > _DEEPEST:
            return  # its own module has the rest; what wraps a function names that one's
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        given = list(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
        for name, value in (*given, *(function.__kwdefaults__ or {}).items()):
            yield f"{place}({name}=)", self._texts.of(value)
        inner = dict(vars(function))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                inner[name] = cell.cell_contents
            except ValueError:  # an empty cell
                continue
        for name, value in inner.items():
            if not issubclass(type(value), type):
                yield from self._of(f"{place}.{name}", value, depth + 1)

    def _of_class(self, place: str, cls: type) -> Iterator[tuple[str, tuple[str, Kind]]]:
        name = demangle(class_name(cls))
        if name != f"{self._module}.{place}":
            yield place, (f"class {name}", "code")
            return
        yield f"{place}.__bases__", (_names(type.__dict__["__bases__"].__get__(cls)), "code")
        below: list[type] = type.__subclasses__(cls)
        if below:
            yield f"{place}.__subclasses__()", (_names(set(below)), "object")
        own = type.__getattribute__(cls, "__dict__")
        if "_abc_impl" in own and "_abc" in sys.modules:
            registry = (one() for one in sys.modules["_abc"]._get_dump(cls)[0])
            yield f"{place}.register()", (_names(one for one in registry if one is not None), "object")
        for key, value in list(own.items()):
            is_code = function_in(value) is not None or type(value) is _CACHED
            if key != "_abc_impl" and (is_code or not key.startswith("__")):
                yield from self._of(f"{place}.{key}", value, 0)


def _names(classes: Any) -> str:
    return ", ".join(sorted({demangle(class_name(one)) for one in classes}))


def _used_of_others(
    modules: Mapping[str, ModuleType], types: Collection[str]
) -> Iterator[tuple[str, str, Any]]:
    """Yield what other packages have under names that stored code speaks of: functions, methods, values.

    It comes to them by modules that stored ones hold, and by the classes of stored objects.
    """
    words = {word for module in modules.values() for word in words_of(module)}
    held = [one for module in modules.values() for one in vars(module).values() if type(one) is ModuleType]
    waiting = [*held, *(sys.modules[word] for word in words & sys.modules.keys())]
    classes = [base for spelt in types for base in _bases_of(spelt)]
    seen = {id(module) for module in modules.values()}
    while waiting:
        module = waiting.pop()
        home = home_in(vars(module)) if type(module) is ModuleType else ""
        if id(module) in seen or not _is_of_others(home):
            continue
        seen.add(id(module))
        for name, value in [(name, one) for name, one in vars(module).items() if name in words]:
            if type(value) is ModuleType:
                waiting.append(value)
            elif issubclass(type(value), type):
                classes.append(value)
            else:
                yield home, name, value
    for cls in {id(cls): cls for cls in classes}.values():
        home, _, name = class_name(cls).rpartition(".")
        if home not in modules and _is_of_others(home):
            for key, value in list(type.__getattribute__(cls, "__dict__").items()):
                if (function := function_in(value)) is not None:
                    yield home, f"{name}.{key}", function


def _is_of_others(home: str) -> bool:
    """Say whether a module is neither of the archive nor of Python."""
    return home != "" and demangle(home) == home and home.partition(".")[0] not in sys.stdlib_module_names


def _bases_of(spelt: str) -> tuple[type, ...]:
    """Return a class of the environment by its name, and its bases; nothing where it is not loaded."""
    home, _, name = spelt.partition(":")
    found = vars(sys.modules[home]).get(name) if type(sys.modules.get(home)) is ModuleType else None
    return type.__dict__["__mro__"].__get__(found) if issubclass(type(found), type) else ()
