"""Which definitions of a script or notebook some names need, and what stands against storing them alone.

Of a name its definition is taken, and those of the globals that its code reads: imports, functions, classes,
and assignments of a literal, or of what something imported gives for literals. Nothing else is stored, so
nothing runs again where it is loaded; what is missed then is a problem, with its reader and two ways out.
A definition that has entered itself in something stored (a decorator did, or its base) is taken, too.
"""

from __future__ import annotations

import ast
import builtins
import dis
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import resolve_name
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, Final

from packager._quick_dataclasses import dataclass
from packager._texts import listed

from .codes import by_name, codes_in, known_codes, owner_of
from .import_statements import is_main_test, statements_in

_WAYS: Final = "pass it to `__init__` and keep it as an attribute, or move it into a module and import it"
_NOWHERE: Final = (
    "but only a main block, `exec`, a magic or the notebook defines it, and these are not stored"
)
_NOT_IN_MEMORY: Final = (
    "differs from the code in memory: this text was changed, or has not run up to here. Run it again, and "
    "make the objects again"
)
_OF_SHELL = ("display", "get_ipython")  # IPython puts them among the builtins
_MOST_READERS: Final = 4
_LONGEST: Final = 60
_DEEPEST: Final = 3
_OPTIMIZED: Final = 1
"""The flag of a function's code; that of modules and classes runs at once."""
_AT_ONCE = frozenset(["<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"])
_READS = frozenset(["LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_NAME"])
_OF_ANNOTATIONS = frozenset(["__annotate__", "__conditional_annotations__"])
"""What a module with annotations binds beside its own names, from Python 3.14 on."""
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TAKEN = (*DEFINITIONS, ast.Lambda, ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)
_OF_DEFINITIONS = (ast.Assign, ast.AnnAssign, ast.With, ast.Try, ast.Match)
_WRITES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)
_CALLED = frozenset(
    "abs bool bytes complex dict enumerate float frozenset int len list max min object property range round "
    "set sorted staticmethod classmethod str sum tuple type zip".split()
)


@dataclass(frozen=True, slots=True)
class Read:
    """A global that code reads: `reader` is its qualified name; `at_once` where it runs as it is defined."""

    name: str
    reader: str
    line: int
    at_once: bool


@dataclass(frozen=True, slots=True, eq=False)
class CellStatement:
    """A statement at the top of a cell, with the globals that it binds ("*": a star import) and reads."""

    at: int
    cell: int
    node: ast.stmt
    first: int
    last: int
    binds: frozenset[str]
    reads: tuple[Read, ...]

    @property
    def is_future(self) -> bool:
        """Whether this is an import from `__future__`."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"


_Wanted = tuple[str, CellStatement | None, Read | None]
"""A name, and the statement that reads it, and where; None for what is stored itself."""


def statements_of(cells: Sequence[str]) -> list[CellStatement]:
    """Return the statements of cells, in order; what is no Python that could run is left out.

    >>> [(*one.binds, [read.name for read in one.reads]) for one in statements_of(["x = y\\nimport a.b"])]
    [('x', ['y']), ('a', [])]
    """
    found: list[CellStatement] = []
    for cell, node in ((cell, node) for cell, text in enumerate(cells) for node in statements_in(text)):
        try:
            code = _compiled(node)
        except SyntaxError:  # `return` at the top
            continue
        stored = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
        binds = stored - _OF_ANNOTATIONS
        if isinstance(node, ast.If) and is_main_test(node.test):
            binds -= _imported_in(node)  # which is most often imported above, too
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            binds.add("*")
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        reads = tuple(_reads(code, min(binds or _written_into(node), default="the script")))
        last = node.end_lineno or first
        found.append(CellStatement(len(found), cell, node, first, last, frozenset(binds), reads))
    return found


class Definitions:
    """The statements of `cells` that `names` need: `kept`, with `problems` and `notes`, which say places.

    `running` is what the script holds now, `path` its file; without one it is a notebook.

    >>> found = Definitions(["x = 2\\ndef f(): return x\\nprint(f())"], ["f"], {})
    >>> [one.first for one in found.kept], found.problems
    ([1, 2], ())
    >>> found = Definitions(["x = input()", "def f():\\n    return x"], ["f"], {})
    >>> found.problems[0].partition(": pass")[0]
    'In[0]:1: `x = input()` does not run when the archive is loaded; x is read by f (In[1]:2)'
    """

    def __init__(
        self,
        cells: Sequence[str],
        names: Collection[str],
        running: Mapping[str, Any],
        path: str | None = None,
    ) -> None:
        self._running, self._path = running, path
        self._all = statements_of(cells)
        tops = [one.node for one in self._all if not isinstance(one.node, DEFINITIONS)]
        self._imported = frozenset[str]().union(*map(_imported_in, tops), *map(self._starred, tops))
        self._binders: dict[str, list[CellStatement]] = {}
        for one in self._all:
            for name in one.binds:
                self._binders.setdefault(name, []).append(one)
        self._wholes: dict[int, list[CodeType]] = {}
        self._lasts: dict[str, CellStatement] = {}
        self._readers: dict[str, dict[str, None]] = {}
        self._told: set[tuple[int, int, str]] = set()
        self.notes: tuple[str, ...] = ()
        self.kept = tuple(sorted(self._follow(names), key=_place_of))
        self.problems = tuple(
            f"{self._place(cell, line)}: {why}" if line else why for cell, line, why in sorted(self._told)
        )

    # --- what is needed ---

    def _follow(self, names: Collection[str]) -> set[CellStatement]:
        """Return the statements that names need, and what these need in turn; tell of what is refused."""
        waiting: list[_Wanted] = [(name, None, None) for name in sorted(names)]
        kept = {one for one in self._all if one.is_future}
        refused: dict[CellStatement, tuple[str, Any]] = {}
        while waiting:
            name, reader, read = waiting.pop()
            if reader and read:
                place = f"line {read.line}" if self._path else self._place(reader.cell, read.line)
                self._readers.setdefault(name, {})[f"{read.reader} ({place})"] = None
            for one in sorted(self._needed(name, reader, read) - kept - refused.keys(), key=_place_of):
                if (offender := _offender(one.node, self._imported)) is not None:
                    refused[one] = name, offender
                    continue
                kept.add(one)
                own = one.binds if isinstance(one.node, DEFINITIONS) else ()
                waiting += [(name, None, None) for name in own if self._binders[name][-1] is one]
                waiting += [(read.name, one, read) for read in one.reads]
        for one, (name, node) in refused.items():
            for lost in sorted(one.binds & self._readers.keys()) or [name]:
                self._tell(
                    one, node.lineno, f"`{_spelt(node)}` does not run when the archive is loaded", lost
                )
        return kept

    def _needed(self, name: str, reader: CellStatement | None, read: Read | None) -> set[CellStatement]:
        """Return the statements that make a name what its reader finds."""
        if name not in self._binders:
            self._look_for(name, reader, read)
            is_known = hasattr(builtins, name) and name not in self._running
            return set() if is_known else {*self._binders.get("*", ())}
        found: set[CellStatement] = set()
        if name not in self._lasts:
            last = self._last(name)
            written = _deleted_by if name in self._imported else _written_into
            into = [one for one in self._all if one.at > last.at and name in written(one.node)]
            entered = (self._entered(value) for value in _held(self._running.get(name)))
            found = {last, *into, *(one for one in entered if one)}
        if reader and read and read.at_once and self._last(name).at >= reader.at:
            # `class B(A)`, and then another A; `f = staticmethod(f)`
            found.update([one for one in self._binders[name] if one.at < reader.at][-1:])
        return found

    def _last(self, name: str) -> CellStatement:
        """Return the last statement that binds a name; of functions and classes the one that is in memory."""
        if name not in self._lasts:
            live, binders = self._running.get(name), self._binders[name]
            last = self._lasts[name] = binders[-1]
            if wrong := [function for function, same in self._compared(last, live) if not same]:
                place = self._place(last.cell, last.first)
                alike = [one for one in binders if {same for _, same in self._compared(one, live)} == {True}]
                if alike:
                    one = self._lasts[name] = alike[-1]
                    stored = self._place(one.cell, one.first)
                    self.notes += (
                        f"{name} is stored as defined at {stored}, which is in memory, not as at {place}",
                    )
                else:
                    self._told.add((last.cell, last.first, f"{wrong[0]} {_NOT_IN_MEMORY}"))
        return self._lasts[name]

    def _entered(self, value: Any) -> CellStatement | None:
        """Return the definition of a function or class that its decorator or base may have entered there."""
        is_own = value.__module__ == "__main__"
        for one in reversed(self._binders.get(value.__qualname__, ()) if is_own else ()):
            enters = any(getattr(one.node, part, ()) for part in ("decorator_list", "bases", "keywords"))
            if enters and all(same for _, same in self._compared(one, value)):
                return one
        return None

    def _compared(self, one: CellStatement, value: Any) -> list[tuple[str, bool]]:
        """Return the functions of a value that a statement defines, each with whether its code is that."""
        futures = [own.node for own in self._all if own.is_future]
        if one.cell not in self._wholes:
            cell = [own.node for own in self._all if own.cell == one.cell and not own.is_future]
            self._wholes[one.cell] = [*codes_in(_compiled(*futures, *cell))]
        # A script is compiled whole, a cell by statements; what is imported beside it tells in the code.
        owns = [code for code in self._wholes[one.cell] if one.first <= code.co_firstlineno <= one.last]
        owns += codes_in(_compiled(*futures, one.node))
        return [(owner_of(code), same) for code, _, same in known_codes(value, by_name(owns))]

    def _starred(self, node: ast.stmt) -> Collection[str]:
        """Return the names that a star import has brought."""
        if not isinstance(node, ast.ImportFrom) or node.names[0].name != "*":
            return ()
        try:
            spelt = "." * node.level + (node.module or "")
            module = sys.modules.get(resolve_name(spelt, self._running.get("__package__")))
        except ImportError:  # no package that it could start from
            return ()
        known = vars(module) if isinstance(module, ModuleType) else {}
        return known.get("__all__") or [one for one in known if not one.startswith("_")]

    # --- what stands against it ---

    def _look_for(self, name: str, reader: CellStatement | None, read: Read | None) -> None:
        """Tell of a name that is here, and that no statement binds."""
        is_builtin = hasattr(builtins, name)
        if reader is None or read is None:
            if self._running and name.isidentifier():
                why = f"{name} is needed, {_NOWHERE}: define it by `def`, `class` or `=`"
                self._told.add((0, 0, why))
        elif (name in self._running or is_builtin) and not (
            (is_builtin and name not in _OF_SHELL)
            or name.startswith("__")
            or "*" in self._binders
            or _is_tried(reader.node, name)
        ):
            why = f"{read.reader} reads {name}, {_NOWHERE}: {_WAYS}"
            self._told.add((reader.cell, read.line, why))

    def _tell(self, one: CellStatement, line: int, what: str, name: str) -> None:
        readers = [*self._readers.get(name, ())]
        read = f"read by {listed(readers, _MOST_READERS)}" if readers else "stored"
        self._told.add((one.cell, line, f"{what}; {name} is {read}: {_WAYS}"))

    def _place(self, cell: int, line: int) -> str:
        return f"{self._path or f'In[{cell}]'}:{line}"


# --- what may be taken ---


def _offender(node: ast.AST, imported: Collection[str]) -> ast.AST | None:
    """Return what neither defines nor may be assigned again: the innermost statement, or the expression."""
    if isinstance(node, _TAKEN) or type(node).__name__ == "TypeAlias":
        return None  # what stands in functions runs later, and a class is its body
    if _runs(node, imported):
        return node
    found = next(filter(None, (_offender(child, imported) for child in ast.iter_child_nodes(node))), None)
    return node if isinstance(found, ast.expr) and isinstance(node, ast.stmt) else found


def _runs(node: ast.AST, imported: Collection[str]) -> bool:
    match node:
        case ast.Call(func=func):
            root = _root(func)
            if isinstance(root, ast.Name):
                return root.id not in imported and not (root is func and root.id in _CALLED)
            return not isinstance(root, ast.Constant | ast.JoinedStr)
        case ast.If(test=test):
            return is_main_test(test)
        case ast.Expr(value):
            return not isinstance(value, ast.Constant)
        case ast.Subscript(ctx=ast.Store()) | ast.NamedExpr() | ast.Await():
            return True
        case ast.Delete(targets):
            return not all(isinstance(one, ast.Name) for one in targets)
    return isinstance(node, ast.stmt) and not isinstance(node, _OF_DEFINITIONS)


def _imported_in(node: ast.AST) -> set[str]:
    """Return the names that imports anywhere in a statement bind."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.partition(".")[0] for part in parts for alias in part.names}


def _place_of(one: CellStatement) -> int:
    return one.at


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _is_tried(node: ast.stmt, name: str) -> bool:
    """Say whether a name stands in a `try` wherever it is read."""
    tried = [inner for part in ast.walk(node) if isinstance(part, ast.Try) for inner in ast.walk(part)]
    return all(part in tried for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name)


# --- what code says, and what values hold ---


def _compiled(*nodes: ast.stmt) -> CodeType:
    module, flag = ast.Module([*nodes], []), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: CodeType = compile(module, "<main>", "exec", flag, dont_inherit=True)
    return code


def _reads(whole: CodeType, top: str) -> Iterator[Read]:
    """Yield the globals that code reads, by scope; what stands at the top is read by the name `top`."""
    for code in codes_in(whole):
        known = {*_OF_ANNOTATIONS}  # and names of a class, or of this statement, once they are bound there
        reader, line = (code is not whole and owner_of(code)) or top, code.co_firstlineno
        at_once = not code.co_flags & _OPTIMIZED or code.co_name in _AT_ONCE
        for step in dis.get_instructions(code):
            line = (step.positions and step.positions.lineno) or line
            if step.opname in _READS and step.argval not in known:
                yield Read(step.argval, reader, line, at_once)
            if step.opname in _READS or step.opname == "STORE_NAME":
                known.add(step.argval)


def _deleted_by(node: ast.stmt) -> set[str]:
    """Return the names that `del` takes away again."""
    targets = node.targets if isinstance(node, ast.Delete) else ()
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _written_into(node: ast.stmt) -> set[str]:
    """Return the names at the roots of `Net.width = 3` and `TABLE["x"] = f`, and those of `del`."""
    parts = ast.walk(node) if isinstance(node, _WRITES) else ()
    into = [part for part in parts if isinstance(part, ast.Attribute | ast.Subscript)]
    roots = [_root(part) for part in into if not isinstance(part.ctx, ast.Load)]
    return {root.id for root in roots if isinstance(root, ast.Name)} | _deleted_by(node)


def _held(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the functions and classes in a container, or on a function or class, in containers there, too."""
    parts: Iterable[Any] = ()
    if isinstance(value, dict):
        parts = dict.values(value)
    elif type(value) in (list, tuple, set, frozenset):
        parts = value
    elif isinstance(value, FunctionType | type | MappingProxyType):
        parts = value.values() if type(value) is MappingProxyType else vars(value).values()
    for part in [*parts]:
        if isinstance(part, FunctionType | type):
            yield part
        elif depth < _DEEPEST:
            yield from _held(part, depth + 1)


def _spelt(node: ast.AST) -> str:
    text = ast.unparse(node).splitlines()[0]
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
