"""What the running program has changed in stored modules: the line that did, and the stored code that minds.

A registry that a script fills, a setting that it assigns: the archive has what the module's own text makes of
these. That is an error where three things come together: the clean process has it otherwise, the text of the
program changes it or calls what does, and stored code that can run reads it. Counters, and what each reader
looks after itself (a memo, a singleton, what was warned of), make no difference to anybody.

Names are resolved by what they stand for in this process, by looking and never by asking.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

from packager.environment import Distributions
from packager.graph import MUTATORS, cells_of, dotted, imported_names, is_notebook, parsed
from packager.quick_dataclasses import dataclass, replace
from packager.version import OWN_PACKAGES

from .held_numbers import is_of_modules
from .held_values import CONTAINERS, MAPPINGS
from .module_globals import attributes_of, function_in, top_of
from .proof import GlobalDifference
from .stored_readers import CONSTRUCTORS, StoredReaders

_NOTHING: Final = object()
_LONGEST: Final = 60
_NO_MATTER: Final = re.compile("count|log|warn|lock", re.IGNORECASE)

IsLive = Callable[[str, int], bool]
"""Says whether the function that begins at a line of a stored module can run, as far as that is known."""


def with_changes(
    differences: Sequence[GlobalDifference],
    sources: Mapping[str, bytes],
    files: Mapping[str, str],
    is_live: IsLive,
    frame: FrameType | None,
    installed: Distributions,
    classes: Collection[str] = (),
) -> tuple[GlobalDifference, ...]:
    """Return differences with what the running program did to make them; quiet ones of others are left out.

    `sources` are the texts of stored modules by name, `files` what errors call them. The program is
    `__main__`, and the project's modules whose functions wait for what runs in `frame`. `classes` are those
    of saved objects, as "module:Qualified.Name": what their constructors change does not come back.
    """
    made_by = frozenset(_constructors(classes))
    programs = list(_programs(frame, installed))
    loaded = LoadedModules(installed)
    readers = StoredReaders(sources, files, is_live)
    found = []
    for one in differences:
        module = sys.modules.get(one.module)
        if isinstance(module, ModuleType):
            whole = _is_whole(module, one.name)
            fillers = readers.fillers(one.module, one.name, whole=whole)
            owned = _Owned(module, one.name, fillers, readers.callers(one.module, one.name))
            asked = [*programs, *loaded.programs()] if owned.is_patched(installed) else programs
            changed = next((place for program in asked for place in program.changes(owned)), "")
            is_asked = bool(changed) or asked is not programs or one.has_numbers
            read = readers.reader(one.module, one.name, whole=whole) if is_asked else ""
            if is_asked and not read and owned.is_method and not one.is_absent:
                # It is called in ways that are not spelt.
                read = f"{files.get(one.module, '')}:{one.line} in {owned.top}"
                if one.module not in files:
                    read = f"{one.module}.{owned.top}, which objects in the archive are of"
            # Else objects may hold what the global holds, and no stored code comes to it by the name.
            is_named = "." not in one.name or owned.is_class or readers.names(owned.top)
            read = read if is_named else ""
            if changed and read:
                one = replace(one, changed=changed, read=read, whole=whole)
            elif read:  # a function of the project took its place, or numbers are others, nobody sees why
                one = replace(one, quiet=False)
            place = _made_on_the_way(readers, one, made_by) if is_named and not one.changed else ""
            if place:
                one = replace(one, quiet=False, constructor=place)
            elif not one.changed and owned.fillers and not readers.reader(one.module, one.name, whole=whole):
                continue  # whoever reads it makes it first: a memo
            elif one.quiet and one.line and is_named and not readers.is_looked_after(one.name, whole=whole):
                # No stored code changes it, so that something else has.
                one = replace(one, quiet=not readers.reader(one.module, one.name, whole=whole))
        if one.changed or not one.quiet:
            found.append(one)
    return tuple(found)


def _constructors(classes: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the functions that run where objects of these classes are made, those of metaclasses too."""
    for spelt in classes:
        home, _, name = spelt.partition(":")
        cls: Any = sys.modules.get(home, _NOTHING)
        for part in name.split("."):
            cls = _step(cls, part)
        if not isinstance(cls, type):
            continue
        running = [(base, name) for base in type.__dict__["__mro__"].__get__(cls) for name in CONSTRUCTORS]
        running += [(base, "__call__") for base in type.__dict__["__mro__"].__get__(type(cls))]
        for base, name in running:
            function = function_in(type.__getattribute__(base, "__dict__").get(name))
            if function is not None:
                yield str(function.__globals__.get("__name__", "")), function.__code__.co_qualname


def _made_on_the_way(
    readers: StoredReaders, one: GlobalDifference, made_by: frozenset[tuple[str, str]]
) -> str:
    """Return the constructor of a saved object that changed a global; "" where none did, or nobody minds."""
    if not one.line or _NO_MATTER.search(one.name) or one.is_absent:
        return ""
    return readers.constructor(one.module, one.name, made_by)


def _is_whole(module: ModuleType, name: str) -> bool:
    """Say whether what reads a global reads this part of it, too: what it calls is no code of the project.

    So it is with a network, an estimator, a context variable, and the variables of a function.
    """
    value = vars(module).get(top_of(name), _NOTHING)
    if name == top_of(name) or value is _NOTHING or isinstance(value, type):
        return False
    if isinstance(value, FunctionType):
        return name.partition(".")[2] in value.__code__.co_freevars
    home = str(type.__getattribute__(type(value), "__module__")).partition(".")[0]
    is_of_library = home != module.__name__.partition(".")[0] and home not in sys.stdlib_module_names
    return type(value) is ContextVar or is_of_modules(value) or is_of_library


class LoadedModules:
    """The project's modules that are loaded here, stored or not, as programs; read when first asked for."""

    def __init__(self, installed: Distributions) -> None:
        self._installed = installed
        self._programs: list[_Program] | None = None

    def programs(self) -> list[_Program]:
        """Return the text of each: where it replaces a function of another module, that was done here."""
        if self._programs is None:
            own = [
                module
                for name, module in list(sys.modules.items())
                if name != "__main__" and _is_of_project(module, self._installed)
            ]
            self._programs = [program for module in own for program in _program_of(module)]
        return self._programs


class _Owned:
    """A name of a stored module, or of something in it: which objects it stands for, and what fills it.

    `fillers` are names of the module whose functions change it, `callers` names of others that call those.
    """

    def __init__(
        self,
        module: ModuleType,
        name: str,
        fillers: frozenset[str],
        callers: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.module, self.top = module, top_of(name)
        held = vars(module).get(self.top, _NOTHING)
        self.attribute = name.partition(".")[2].partition("[")[0].partition(".")[0]
        self.is_class = isinstance(held, type)
        self.is_method = self.is_class and function_in(_step(held, self.attribute)) is not None
        inner = _step(held, self.attribute) if self.attribute else _NOTHING
        self.inner = _NOTHING if _is_shared(inner) else inner
        self.deeper = name.partition(".")[2].partition(".")[2].partition("[")[0].partition(".")[0]
        self.objects = [one for one in (held, inner) if not _is_shared(one)]
        if "[" in name and type(held) in CONTAINERS:  # an attribute of something in it
            entries = held.values() if type(held) in MAPPINGS else held
            self.objects += [one for one in entries if not _is_shared(one)]
        self.filler_names = fillers
        self.fillers = [vars(module)[one] for one in fillers if one in vars(module)]
        homes = [(sys.modules.get(home), one) for home, one in callers]
        self.callers = [
            vars(home)[one] for home, one in homes if type(home) is ModuleType and one in vars(home)
        ]
        self.is_registry = name.endswith("[registry]")
        if self.is_registry and not self.attribute:
            self.objects = [held]
        self.function = inner if self.attribute else held

    def is_written_by(self, owner: Any, attribute: str) -> bool:
        """Say whether an assignment to an attribute of `owner` binds it; "" is one with a computed name."""
        if owner is self.module:
            return attribute in ("", self.top)
        if self.is_class and self.inner is not _NOTHING and owner is self.inner:
            return attribute in ("", self.deeper)
        return any(owner is one for one in self.objects) and attribute in ("", self.attribute)

    def is_patched(self, installed: Distributions) -> bool:
        """Say whether it is a function that another module of the project, or the program, has put there."""
        function = function_in(self.function)
        if function is None or self.is_registry:
            return False
        home = str(function.__globals__.get("__name__", ""))
        if home == self.module.__name__:
            return False
        module = sys.modules.get(home)
        return home == "__main__" or (module is not None and _is_of_project(module, installed))

    def is_changed_in(self, value: Any) -> bool:
        """Say whether what is put into `value` is put into it."""
        return any(value is one for one in self.objects) and not (self.is_class and not self.attribute)

    def is_filled_by(self, value: Any) -> bool:
        """Say whether calling `value`, or a method of it, may change it."""
        if any(value is one or type(value) is one for one in (*self.fillers, *self.callers)):
            return True
        if type(value) is not FunctionType or value.__globals__ is not vars(self.module):
            return False
        return value.__code__.co_qualname.partition(".<locals>")[0] in self.filler_names  # made in one


@dataclass(frozen=True)
class _Program:
    """The text of running code: its statements, what names stand for, and how its lines are called."""

    body: Sequence[ast.stmt]
    module: ModuleType
    label: str

    def changes(self, owned: _Owned) -> Iterator[str]:
        """Yield the places that change something: by what they write first, then by what they call."""
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        local = imported_names(nodes, str(vars(self.module).get("__package__") or ""))
        for test in (self._writes, self._calls):
            for node in nodes:
                if test(node, owned, local):
                    yield f"{self.label}:{node.lineno}: {_spelt(node, nodes)}"  # type: ignore[attr-defined]  # they have one

    def _writes(self, node: ast.AST, owned: _Owned, local: Mapping[str, str]) -> bool:
        stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Attribute) and stored:
            if isinstance(node.value, ast.Subscript):
                return self._is_into(node.value, owned, local)
            return owned.is_written_by(self._value(node.value, local), node.attr)
        if isinstance(node, ast.Subscript) and stored:
            return self._is_into(node.value, owned, local)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return owned.is_changed_in(self._value(node.target, local))
        if not isinstance(node, ast.Call):
            return False
        if dotted(node.func) in ("setattr", "delattr") and len(node.args) >= 2:
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            return owned.is_written_by(self._value(node.args[0], local), str(name))
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            return self._is_into(node.func.value, owned, local)
        return False

    def _is_into(self, node: ast.expr, owned: _Owned, local: Mapping[str, str]) -> bool:
        """Say whether an entry of what `node` gives is one of it: also by `vars(module)`."""
        if isinstance(node, ast.Call) and dotted(node.func) == "vars" and node.args:
            return owned.is_written_by(self._value(node.args[0], local), "")
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return owned.is_written_by(self._value(node.value, local), "")
        while isinstance(node, ast.Subscript):
            node = node.value
        return owned.is_changed_in(self._value(node, local))

    def _calls(self, node: ast.AST, owned: _Owned, local: Mapping[str, str]) -> bool:
        """Say whether a function is named that changes it, or a method of the object that holds it."""
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return False
        value = self._value(node, local)
        if owned.is_filled_by(value):
            return True
        called = node.value if isinstance(node, ast.Attribute) else None
        has_methods = owned.attribute != "" or owned.is_registry
        return called is not None and has_methods and owned.is_changed_in(self._value(called, local))

    def _value(self, node: ast.AST, local: Mapping[str, str]) -> Any:
        """Return what a dotted name stands for now, as far as that can be seen."""
        first, *rest = dotted(node).split(".")
        if first in vars(self.module):
            value = vars(self.module)[first]
        elif first in local:
            value, rest = _NOTHING, [*local[first].split("."), *rest]
        else:
            return _NOTHING
        if value is _NOTHING:
            value, rest = sys.modules.get(rest[0], _NOTHING), rest[1:]
        for name in rest:
            value = _step(value, name)
        return value


def _programs(frame: FrameType | None, installed: Distributions) -> Iterator[_Program]:
    """Yield `__main__`, and the project's modules with a function that waits for what runs in `frame`."""
    main = sys.modules["__main__"]
    if is_notebook(main) or not getattr(main, "__file__", None):
        for at, cell in enumerate(cells_of(main)):
            yield _Program(parsed(cell), main, f"In[{at}]")
    else:
        yield from _program_of(main)
    seen = {"__main__"}
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        module = sys.modules.get(name)
        is_here = module is not None and vars(module) is frame.f_globals
        if module is not None and is_here and name not in seen and _is_of_project(module, installed):
            yield from _program_of(module)
        seen.add(name)
        frame = frame.f_back


def _is_of_project(module: Any, installed: Distributions) -> bool:
    """Say whether a loaded module is one of the project, by its file."""
    file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
    if not isinstance(file, str) or module.__name__.partition(".")[0] in OWN_PACKAGES:
        return False
    return installed.origin(module.__name__, file).kind in ("project", "editable")


def _program_of(module: ModuleType) -> Iterator[_Program]:
    file = str(module.__file__)
    try:
        with open(file, "rb") as source:
            body = ast.parse(source.read()).body
    except (OSError, SyntaxError, ValueError):  # compiled, or gone since
        return
    yield _Program(body, module, os.path.relpath(file) if _is_below(file) else file)


def _is_below(file: str) -> bool:
    return os.path.abspath(file).startswith(os.path.join(os.getcwd(), ""))


def _step(value: Any, name: str) -> Any:
    """Return an attribute without asking for it: of a module, of a class, of an object."""
    if isinstance(value, ModuleType):
        return vars(value).get(name, sys.modules.get(f"{value.__name__}.{name}", _NOTHING))
    if isinstance(value, type):
        for cls in type.__dict__["__mro__"].__get__(value):
            if name in (names := type.__getattribute__(cls, "__dict__")):
                return names[name]
        return _NOTHING
    if value is _NOTHING:
        return _NOTHING
    own = dict(attributes_of(value))
    return own[name] if name in own else _step(type(value), name)


def _is_shared(value: Any) -> bool:
    """Say whether a value may stand in many places, so that it being there says nothing."""
    return value is _NOTHING or isinstance(value, int | float | complex | str | bytes | None | FunctionType)


def _spelt(node: ast.AST, nodes: Sequence[ast.AST]) -> str:
    """Return the statement that a piece of code stands in, in a few words; of a definition the piece."""
    line = getattr(node, "lineno", 0)
    around = [
        one for one in nodes if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or line)
    ]
    is_inside = around and not isinstance(around[-1], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    head = ast.unparse(around[-1] if is_inside else node).splitlines()[0]
    return head if len(head) <= _LONGEST else f"{head[: _LONGEST - 3]}..."
