"""What hangs on the modules that an archive stores, and what of it is another thing in the clean process.

It is the same look in two processes, which runs nothing of theirs, compared after a run.
"""

from __future__ import annotations

import dis
import functools
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter, methodcaller
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from packager._names import demangle, demangle_text, source_path
from packager._texts import counted
from packager.errors import PackagingWarning

from .proof import Difference, Kind, Run, Seen
from .values import (
    Texts,
    attributes_of,
    bases_of,
    body_of,
    class_name,
    code_of,
    function_in,
    home_in,
    is_container,
    is_one_of,
    names_of,
)

if TYPE_CHECKING:
    from packager._environment import Distributions
    from packager._exporting import ExportPlan

SETTINGS: Final = "settings"
"""What stands for a module where the settings of libraries do."""
EMPTY: Final = counted(0, "entry", "entries")
"""What is said of the size of a cache that holds nothing."""
STANDS_IN: Final = "stands in"
"""What is there of a value that the loader puts in the place of one of Python's."""
_NOWHERE: Final[tuple[str, Kind]] = ("", "object")
_RANKS: Final[Mapping[str, int]] = {
    "setting": 0,
    "code": 1,
    "value": 2,
    "object": 3,
    "size": 6,
    "surroundings": 7,
}
_NOT_READ: Final = 3
"""How far behind what no stored code speaks of stands."""
_IMPORTED: Final = "imported"
_STAND_INS: Final = "packager._loading."
_MOST_PLACES: Final = 20_000
_DEEPEST: Final = 2
_FOLDER: Final = "<folder of the code>"
_ANNOTATIONS: Final = "__annotate_func__"
"""Where a class has the code of its annotations, since Python 3.14."""
_CACHED: Final = type(functools.lru_cache(lambda: None))
_READING: Final = re.compile("LOAD_(?!FAST)|IMPORT_")
_OWN_FILTERS: Final = (ResourceWarning, SyntaxWarning, PackagingWarning)
_SETTINGS: Final = {
    "torch": "get_default_dtype() get_default_device() get_float32_matmul_precision() "
    "are_deterministic_algorithms_enabled() is_grad_enabled()",
    "kellet": "get_default_dtype() is_grad_enabled()",
    "decimal": "getcontext().prec getcontext().rounding",
    "numpy": "geterr() get_printoptions()",
    "sklearn": "get_config()",
    "locale": "localeconv()",
    "sys": "get_int_max_str_digits()",
}
"""What a program sets for its whole process and changes answers everywhere: by library, what says it."""
_LOCALE: Final = ("LC_NUMERIC", "LC_COLLATE", "LC_TIME", "LC_CTYPE")
_HOOKS_OF_TORCH: Final = "torch.nn.modules.module"
_HOOKS_OF_KELLET: Final = "kellet.nn.module_hooks"


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
    found[SETTINGS] = {name: (text, "setting") for name, text in settings_here().items()}
    found[SETTINGS] |= {name: (text, "surroundings") for name, text in _surroundings(modules)}
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


def settings_here() -> dict[str, str]:
    """Return how libraries make answers in this process, by the expression that says so.


    A library that is not loaded has made none; what its version lacks is left out.
    """
    spelt = Texts(()).of
    found: dict[str, str] = {}
    for library, calls in _SETTINGS.items():
        for call in calls.split() if library in sys.modules else ():
            function, _, attribute = call.partition("()")
            with suppress(AttributeError, TypeError):  # a version without it, or one that is half imported
                answer = methodcaller(function)(sys.modules[library])
                answer = attrgetter(attribute[1:])(answer) if attribute else answer
                found[f"{library}.{call}"] = spelt(answer)[0] if type(answer) is dict else str(answer)
    if locale := sys.modules.get("locale"):
        known = [name for name in _LOCALE if hasattr(locale, name)]
        # Without a locale it only asks.
        found |= {f"locale.setlocale({name})": locale.setlocale(getattr(locale, name)) for name in known}
    hooks = {
        f"{_HOOKS_OF_TORCH}.{name}": list(one.values())  # without the numbers that they go by
        for name, one in names_of(_HOOKS_OF_TORCH).items()
        if name.startswith("_global") and name.endswith("hooks")
    }
    if everywhere := names_of(_HOOKS_OF_KELLET).get("_everywhere"):
        for name, registry in attributes_of(everywhere):
            hooks[f"{_HOOKS_OF_KELLET}.{name}"] = [entry.hook for entry in registry]
    return found | {name: spelt(one)[0] for name, one in hooks.items()}


def _surroundings(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str]]:
    """Yield what differs between most processes: it is told where a call differs, and nothing else does.

    Of the script and of what modules are called it is what the code of these modules speaks of.
    """
    spelt = Texts(()).of
    words = {word for module in modules.values() for word in words_of(module)}
    for name in sorted(words) if "__main__" in words else ():
        found = vars(sys.modules["__main__"]).get(name, _NOWHERE)
        yield f"__main__.{name}", "not set" if found is _NOWHERE else spelt(found)[0]
    if words & {"__module__", "__name__"}:
        is_marked = any(demangle(module.__name__) != module.__name__ for module in modules.values())
        yield "__name__ of stored modules", "renamed" if is_marked else "unchanged"
    for name, one in [*logging.root.manager.loggerDict.items()]:
        # One without a level stands for loggers below it; ours is there where an export was made.
        if "level" in vars(one) and name != "packager":
            yield f"logging.getLogger({name!r}).level", str(vars(one)["level"])
    # Without the filters that an export and its proof set for themselves.
    filters = [one for one in warnings.filters if one[2] not in _OWN_FILTERS and "invalid" not in str(one[1])]
    yield "warnings.filters", spelt(filters)[0]
    yield "sys.argv[1:]", spelt(sys.argv[1:])[0]
    folder = os.getcwd()
    yield "os.getcwd()", "an empty folder" if "kellet-proving-" in folder else folder


def is_cache(name: str) -> bool:
    """Say whether a name is that of what may be filled or not."""
    return re.search("cache|memo", name, re.IGNORECASE) is not None


def words_of(module: ModuleType) -> set[str]:
    """Return the names that the functions and methods of a module read: globals, attributes, and in texts."""
    values = list(vars(module).values())
    for cls in [one for one in values if issubclass(type(one), type)]:
        values += [value for key, value in body_of(cls).items() if key != _ANNOTATIONS]
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
    entry = source_path(name, "__path__" in vars(module)).replace("/", os.sep)
    roots = set()
    for path in (os.path.abspath(file), os.path.realpath(file)) if type(file) is str else ():
        is_placed = path.endswith(f"{os.sep}{entry}")
        roots.add(path[: -len(entry) - 1] if is_placed else os.path.dirname(path))
    places = "|".join(re.escape(root) for root in roots if len(root) > 1)
    folder = re.compile(rf"(?:{places})(?=[/\\]|['\"]|$)") if places else None
    return lambda text: demangle_text(text) if folder is None else folder.sub(_FOLDER, demangle_text(text))


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
        own = body_of(cls)
        if "_abc_impl" in own and "_abc" in sys.modules:
            registry = (one() for one in sys.modules["_abc"]._get_dump(cls)[0])
            yield f"{place}.register()", (_names(one for one in registry if one is not None), "object")
        for key, value in list(own.items()):
            is_code = function_in(value) is not None or type(value) is _CACHED
            if key not in ("_abc_impl", _ANNOTATIONS) and (is_code or not key.startswith("__")):
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
            for key, value in list(body_of(cls).items()):
                if (function := function_in(value)) is not None:
                    yield home, f"{name}.{key}", function


def _is_of_others(home: str) -> bool:
    """Say whether a module is neither of the archive nor of Python."""
    return home != "" and demangle(home) == home and home.partition(".")[0] not in sys.stdlib_module_names


def _bases_of(spelt: str) -> tuple[type, ...]:
    """Return a class of the environment by its name, and its bases; nothing where it is not loaded."""
    home, _, name = spelt.partition(":")
    found = vars(sys.modules[home]).get(name) if type(sys.modules.get(home)) is ModuleType else None
    return bases_of(found) if isinstance(found, type) else ()


# --- what differs, in the exporting process ---


def differences_of(run: Run, plan: ExportPlan, installed: Distributions) -> tuple[Difference, ...]:
    """Return what is otherwise here than it was in a run, most likely first.

    Where nothing failed there, it is only what may be told without a golden call: modules of the project that
    are loaded here and not there, other code and settings, and what the project's stored code reads by name.
    """
    if run.proof.failures:
        found = _compared(run.seen, _here(run.seen, plan), plan, installed)
        ranked = sorted([*((2.5, one) for one in _left_behind(plan, run)), *found], key=lambda pair: pair[0])
        near = [one for rank, one in ranked if rank < _RANKS["surroundings"]]
        has_called = any(one.kind == "call" for one in run.proof.failures)
        return tuple(near or (one for _, one in ranked if has_called))
    if any(check.outputs for check in plan.checks):
        return ()
    found = _compared(run.seen, _here(run.seen, plan), plan, installed)
    return (
        *_left_behind(plan, run),
        *(
            one
            for rank, one in found
            if rank <= _RANKS["object"]
            and (rank <= _RANKS["code"] or not is_cache(one.place.rpartition(".")[2]))
            and (one.file or rank != _RANKS["code"] or _is_of_project(one.here, installed))
        ),
    )


def _is_lone(home: str, mine: tuple[str, Kind], other: tuple[str, Kind]) -> bool:
    """Say whether one side alone has looked at something of a library; plain values differ so, too."""
    return _NOWHERE in (mine, other) and (home == SETTINGS or "value" not in (mine[1], other[1]))


def _is_of_project(function: str, installed: Distributions) -> bool:
    """Say whether the project has put a function there: libraries replace each other's by themselves."""
    from .search_places import is_projects

    home = re.match(r"function ([\w.]+):", function)
    return home is not None and (home[1] == "__main__" or is_projects(home[1], installed))


def left_behind(differences: Collection[Difference]) -> list[str]:
    """Return the modules of the project that are loaded here and not there."""
    return [one.place for one in differences if one.here == _IMPORTED]


def _here(there: Seen, plan: ExportPlan) -> Seen:
    """Look here at what was looked at there."""
    modules = {name: sys.modules[name] for name in there if type(sys.modules.get(name)) is ModuleType}
    stored = {module.name for module in plan.modules if module.entry is not None}
    types = {use.name for record in plan.objects for use in record.types}
    return look_at({name: modules[name] for name in modules if name in stored}, types)


def _compared(
    there: Seen, here: Seen, plan: ExportPlan, installed: Distributions
) -> Iterator[tuple[float, Difference]]:
    """Yield what differs, with its rank: what stored code speaks of, and the project's, comes first."""
    from .search_places import is_projects  # in the other process nobody compares

    files = {module.name: str(module.entry) for module in plan.modules if module.entry is not None}
    sources = {one.name: bytes(one.read()) for one in plan.entries if one.kind == "source"}
    texts = {name: sources.get(file, b"").decode("utf-8", "replace") for name, file in files.items()}
    own = {name for name in files if is_projects(name, installed)}
    read: set[str] | None = None
    told: list[tuple[int, Difference]] = []
    for home in (one for one in there if there[one] and here.get(one)):
        bound = {re.split(r"\W", name)[0] for name in there[home]}
        for name in sorted(there[home].keys() | here[home].keys()):
            mine, other = here[home].get(name, _NOWHERE), there[home].get(name, _NOWHERE)
            # A cache may hold other entries, as many here as there.
            is_same = mine[0] == other[0] and (mine[1] != "size" or home not in own or mine[0] == EMPTY)
            if is_same or (home == "__main__" and re.split(r"\W", name)[0] not in bound):
                continue  # the script holds much that nothing stored needs
            if STANDS_IN in (mine[0], other[0]) or (home not in files and _is_lone(home, mine, other)):
                continue  # of a library that is loaded in one of the two alone
            if read is None:
                read = {word for one in own if one in sys.modules for word in words_of(sys.modules[one])}
            kind = min((one[1] for one in (mine, other) if one is not _NOWHERE), key=_RANKS.__getitem__)
            rank = _RANKS[kind] + (home not in own and kind in ("value", "object"))
            words = re.findall(r"\w+", name)
            is_read = name.endswith("=)") or words[-1] in read
            # What hangs on a function or an object is read with it, and of a class by its own name.
            is_read = is_read or (words[0] in read and not isinstance(names_of(home).get(words[0]), type))
            if kind in ("value", "object") and not is_read:
                rank += _NOT_READ
            place = name if home == SETTINGS else f"{home}.{name}"
            line = line_of(texts.get(home, ""), name)
            told.append((rank, Difference(place, mine[0], other[0], files.get(home, ""), line)))
    yield from each_once(told)


def each_once(told: list[tuple[int, Difference]]) -> Iterator[tuple[int, Difference]]:
    """Yield differences, each of one object once: not where it is imported, or hangs deeper inside."""
    told.sort(key=lambda pair: (not pair[1].line, pair[1].place.count("."), pair[1].place))
    seen: set[tuple[str, ...]] = set()
    for rank, one in told:
        values = (one.place.rpartition(".")[2], one.here, one.there)
        inside = (one.file, str(one.line), *values)
        if inside not in seen and (one.line or values not in seen):
            seen |= {values, inside}
            yield rank, one


def line_of(text: str, name: str) -> int:
    """Return the line in which a source binds a name; of what is in a class, that in the class; 0 for none.

    >>> line_of("import os\\nclass Net:\\n    kinds = []\\n", "Net.kinds")
    3
    """
    line = at = 0
    for number, part in enumerate(re.findall(r"\w+", name)[:2]):
        binds = rf"^[ \t]*(?:(?:async )?def |(class ))?{part}\b|^[^#=(\n]*\b{part}\b(?![.\[])[^=\n]*=(?!=)"
        found = re.compile(binds, re.MULTILINE).search(text, at)
        if found is None:
            break
        line, at = text.count("\n", 0, found.start()) + 1, found.end()
        if number == 0 and not found[1]:
            break  # no class
    return line


def _left_behind(plan: ExportPlan, run: Run) -> Iterator[Difference]:
    """Yield the modules that this process has loaded beside stored ones, and the run has not."""
    stored = {module.name: str(module.entry) for module in plan.modules if module.entry is not None}
    if run.proof.failures and not run.seen:
        return  # it ended before it could look
    there = {*run.proof.modules} if run.proof.ok else run.seen.keys()
    tops = {name.partition(".")[0] for name in stored}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in tops}
    homes = {os.path.dirname(os.path.abspath(file)) for file in files.values() if isinstance(file, str)}
    roots = tuple(os.path.join(home, "") for home in homes if "site-packages" not in home)
    for name, module in sys.modules.copy().items():  # a collection may unload some
        if type(module) is not ModuleType or name in there or name in ("__main__", "__mp_main__"):
            continue
        file, spec = vars(module).get("__file__"), vars(module).get("__spec__")
        is_begun = getattr(spec, "_initializing", False)  # what exports may be one
        if is_begun or demangle(name) != name or type(file) is not str or not os.path.isfile(file):
            continue
        is_own = name.partition(".")[0] in tops or (roots and os.path.abspath(file).startswith(roots))
        if is_own and "site-packages" not in file and (run.proof.failures or _reaches(module, stored)):
            entry = stored.get(name, source_path(name, "__path__" in vars(module)))
            yield Difference(name, _IMPORTED, "", entry)


def _reaches(module: ModuleType, stored: Collection[str]) -> bool:
    """Say whether a module has anything of a stored one among its names; else it cannot change that one."""
    loaded = [sys.modules[name] for name in stored if type(sys.modules.get(name)) is ModuleType]
    values = [*loaded, *(value for one in loaded for value in _named(one))]
    theirs = {id(value) for value in values if _is_of(value, stored)}
    return any(id(value) in theirs for value in _named(module))


def _named(module: ModuleType) -> list[object]:
    """Return the values in a module, but for those that Python puts into each."""
    return [value for name, value in list(vars(module).items()) if not name.startswith("__")]


def _is_of(value: object, stored: Collection[str]) -> bool:
    """Say whether what is in a stored module may be its own: no import from elsewhere, no plain value."""
    if type(value) is ModuleType:
        return home_in(vars(value)) in stored
    if isinstance(value, type):
        return class_name(value).startswith(tuple(f"{name}." for name in stored))
    if type(value) is FunctionType:
        return home_in(value.__globals__) in stored
    if is_container(value):
        return not is_one_of(type(value), (tuple, frozenset))
    return class_name(type(value)).partition(".")[0] not in sys.stdlib_module_names
