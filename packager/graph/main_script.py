"""What a script's wanted names need of it, and what stands against storing that.

Kept are functions, classes, imports and plain constants, in their order. What is needed and is none of
these would run again wherever it is loaded; what is not kept but changes something that is would be lost
there; and a literal that the running program has changed since (`random.shuffle(LAYERS)`, `exec`, another
module) would be what it was. All of these are problems, with their place.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .effects import Effects, FunctionNode, ScriptNames, has_evident_effect, is_plain
from .statements import Statement, aliases_of, binds_anew, is_main_guard, names_of, root_of

_WAY_OUT = (
    "move it into a module, or into the class or function that uses it; what only the program needs may "
    'stand under `if __name__ == "__main__":`'
)
_LOST_WAY_OUT = "assign it where it is defined, or move both into a module"


@dataclass(frozen=True, slots=True)
class MainProblem:
    """A statement that keeps definitions from being taken: the number of its cell, its line, and why."""

    cell: int
    line: int
    reason: str


class Script:
    """The statements of one script, and what the wanted names make of them."""

    def __init__(self, statements: Sequence[Statement], names: Collection[str]) -> None:
        self._statements = statements
        self._asked = frozenset(names)
        self._names = _script_names(statements)
        self._effects = Effects(self._names, _quiet_names(statements, self._names))
        self._changes = [self._effects.of(one.node) for one in statements]
        self._binders: dict[str, list[int]] = {}
        for at, one in enumerate(statements):
            for name in one.names.binds:
                self._binders.setdefault(name, []).append(at)
        self._because: dict[str, str] = {}

    def kept(self) -> set[int]:
        """Return the numbers of the statements that are needed."""
        kept = {at for at, one in enumerate(self._statements) if _is_future(one.node)}
        while True:
            wanted = self._wanted(kept)
            more = {
                at for name in wanted for at in self._binders.get(name, ()) if at >= self._start(name, kept)
            }
            if any(name not in self._binders and not hasattr(builtins, name) for name in wanted):
                more |= set(self._binders.get("*", ()))  # it may come from any star
            more |= self._registrations(kept)
            if more <= kept:
                return kept
            kept |= more

    def problems(self, kept: Collection[int], running: Mapping[str, Any]) -> Iterator[MainProblem]:
        """Yield what must not be kept, what would be lost, and what is not there to be kept."""
        for at in sorted(kept):
            yield from self._running_again(self._statements[at])
        yield from self._lost(kept)
        yield from self._absent(kept, running)
        yield from self._changed(kept, running)

    def _running_again(self, one: Statement) -> Iterator[MainProblem]:
        needed = sorted(name for name in one.names.binds if name in self._because)
        why = f"; {', '.join(needed)} is needed by {self._because[needed[0]]}" if needed else ""
        for node in _running(one.node, self._names):
            reason = f"`{_spelt(node)}` runs code, and would run it again where it is loaded{why}: {_WAY_OUT}"
            yield MainProblem(one.cell, node.lineno, reason)

    def _wanted(self, kept: Collection[int]) -> set[str]:
        wanted = set(self._asked)
        for at in sorted(kept):
            one = self._statements[at]
            user = next(iter(sorted(one.names.binds)), "")
            for name in one.names.reads - wanted - one.names.binds:
                self._because.setdefault(name, user)
            wanted |= one.names.reads
        return wanted

    def _start(self, name: str, kept: Collection[int]) -> int:
        """Return where a name begins to be what is used: a later definition replaces earlier ones."""
        binders = self._binders.get(name, [])
        for position in range(len(binders) - 1, 0, -1):
            at, before = binders[position], binders[position - 1]
            if not binds_anew(self._statements[at].node, name):
                continue
            between = [one for one in kept if before < one < at and not self._is_bare_function(one)]
            if not any(name in self._statements[one].names.reads for one in between):
                return at
        return 0

    def _is_bare_function(self, at: int) -> bool:
        node = self._statements[at].node
        return isinstance(node, FunctionNode) and not node.decorator_list

    def _registrations(self, kept: Collection[int]) -> set[int]:
        """Find definitions that enter themselves somewhere kept: by a decorator, or a hook of their class."""
        own = self._own_names(kept)
        return {
            at
            for at, one in enumerate(self._statements)
            if isinstance(one.node, FunctionNode | ast.ClassDef)
            and any(name in own and at > self._start(name, kept) for name in self._changes[at])
        }

    def _own_names(self, kept: Collection[int]) -> set[str]:
        """Return the names that kept statements bind, but for imported ones."""
        bound = {name for at in kept for name in self._statements[at].names.binds}
        return bound - {name for name in bound if name in self._names.imports}

    def _lost(self, kept: Collection[int]) -> Iterator[MainProblem]:
        own = self._own_names(kept)
        aliases: dict[str, frozenset[str]] = {}
        for at, one in enumerate(self._statements):
            if at in kept:
                continue
            aliases |= aliases_of(one.node, aliases)
            changes = (
                (named, line)
                for name, line in self._changes[at].items()
                for named in (name, *aliases.get(name, ()))
            )
            for name, line in changes:
                if name in own and at >= self._start(name, kept):
                    yield MainProblem(
                        one.cell,
                        line,
                        f"`{_spelt(one.node, line)}` changes {name}, which is stored, and would be lost: "
                        f"{_LOST_WAY_OUT}",
                    )

    def _absent(self, kept: Collection[int], running: Mapping[str, Any]) -> Iterator[MainProblem]:
        """Yield needed names that only the program binds, or that code has put there."""
        bound = {name for at in kept for name in self._statements[at].names.binds}
        if "*" in bound:
            return
        guarded = {
            name: (one.cell, one.node.lineno)
            for one in self._statements
            if is_main_guard(one.node)
            for name in names_of(one.node).binds
        }
        for at in sorted(kept):
            one = self._statements[at]
            for name in sorted(one.names.reads - bound):
                if hasattr(builtins, name) or name.startswith("__") or name in _OF_NOTEBOOKS:
                    continue
                user = next(iter(sorted(one.names.binds)), "")
                if name in guarded:
                    yield MainProblem(
                        *guarded[name],
                        f"{name} is bound in the main block alone, and needed by {user}, which would not "
                        "find it: bind it outside, or pass it to what uses it",
                    )
                elif name in running:
                    yield MainProblem(
                        one.cell,
                        one.first,
                        f"{user} needs {name}, which no statement binds that could be stored: {_WAY_OUT}",
                    )

    def _changed(self, kept: Collection[int], running: Mapping[str, Any]) -> Iterator[MainProblem]:
        """Yield the literals that something has changed since."""
        cells = {id(self._statements[at].node): self._statements[at].cell for at in kept}
        nodes = [self._statements[at].node for at in sorted(kept)]
        for node, name, values in changed_values(nodes, self._effects, running):
            reason = f"{name} is {values} where it is loaded: {_LOST_WAY_OUT}"
            yield MainProblem(cells[id(node)], node.lineno, reason)


_OF_NOTEBOOKS = frozenset(["In", "Out", "get_ipython", "display", "exit", "quit"])


def _script_names(statements: Sequence[Statement]) -> ScriptNames:
    imports: dict[str, str] = {}
    functions: dict[str, FunctionNode] = {}
    classes: dict[str, ast.ClassDef] = {}
    for one in statements:
        for node in _flat(one.node):
            if isinstance(node, FunctionNode):
                functions[node.name] = node
            elif isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    imports[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                imports |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
    return ScriptNames(imports, functions, classes)


def _flat(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement, and those in its blocks; not those of functions and classes."""
    yield node
    if not isinstance(node, FunctionNode | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _flat(child)
            elif isinstance(child, ast.ExceptHandler):
                for inner in child.body:
                    yield from _flat(inner)


def _quiet_names(statements: Sequence[Statement], names: ScriptNames) -> frozenset[str]:
    """Return the names that are bound to nothing but what is quiet; `TABLE["x"] = 1` binds no TABLE."""
    votes: dict[str, bool] = {}
    for one in statements:
        targets = (
            one.node.targets if isinstance(one.node, ast.Assign) else [getattr(one.node, "target", None)]
        )
        into = {root_of(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript)}
        for name in one.names.binds - into:
            votes[name] = votes.get(name, True) and _is_quiet(one.node, names)
    return frozenset(name for name, is_quiet in votes.items() if is_quiet)


def _is_quiet(node: ast.stmt, names: ScriptNames) -> bool:
    """Say whether a name is bound to what cannot change, or to a logger: its settings are not stored."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.Call):
        return names.full_name(value.func).startswith(
            ("logging.getLogger", "re.compile", "pathlib.", "torch.device")
        )
    return isinstance(value, ast.Constant)


def _running(node: ast.stmt, names: ScriptNames) -> Iterator[ast.stmt]:
    """Yield the statements of a kept one that are neither definition, import nor plain constant."""
    if isinstance(node, FunctionNode):
        head = [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        if any(has_evident_effect(one, names) for one in head):
            yield node
    elif isinstance(node, ast.ClassDef):
        if any(has_evident_effect(one, names) for one in (*node.decorator_list, *node.bases, *node.keywords)):
            yield node
        for statement in node.body:
            yield from _running_in_class(statement, names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        if not all(is_plain(part, names) for part in ast.iter_child_nodes(node)):
            yield node
    elif isinstance(node, ast.If | ast.Try):
        if isinstance(node, ast.If) and not is_plain(node.test, names):
            yield node
        handlers = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
        for statement in (*node.body, *handlers, *node.orelse, *getattr(node, "finalbody", ())):
            yield from _running(statement, names)
    elif isinstance(node, ast.Expr):
        if not isinstance(node.value, ast.Constant):
            yield node
    elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass | ast.Raise | ast.Global) and (
        type(node).__name__ != "TypeAlias"
    ):
        yield node


def _running_in_class(node: ast.stmt, names: ScriptNames) -> Iterator[ast.stmt]:
    """Yield the same for the body of a class, where a call mostly makes a descriptor: what is evident."""
    if isinstance(node, FunctionNode | ast.ClassDef):
        yield from _running(node, names)
    elif isinstance(node, ast.Expr | ast.With | ast.AsyncWith):
        if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call):
            yield node
    elif has_evident_effect(node, names):
        yield node


def _spelt(node: ast.stmt, line: int = 0) -> str:
    """Return the beginning of a statement, or of the one at `line` inside of it, on one line."""
    inner = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.stmt) and part.lineno <= line <= (part.end_lineno or 0)
    ]
    text = ast.unparse(inner[-1] if inner else node).splitlines()[0]
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


_SCALARS = (int, float, complex, bool, str, bytes, type(None), type(...))


def changed_values(
    nodes: Sequence[ast.stmt], effects: Effects, running: Mapping[str, Any]
) -> Iterable[tuple[ast.stmt, str, str]]:
    """Yield the statements of `nodes` that bind a literal to a name with another value by now.

    Each comes with the name, and what is there and here. A name that stored functions write to, or hand on,
    is state that they look after themselves (a cache), and left alone.
    """
    bound = [name for node in nodes for name in _stored(node)]
    managed = {name for node in nodes for name in _managed(node, effects)}
    for node in nodes:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if not isinstance(target, ast.Name) or bound.count(target.id) != 1 or target.id in managed:
            continue
        try:
            literal = ast.literal_eval(node.value)  # type: ignore[attr-defined]  # both kinds have a value
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if target.id in running and not _same(literal, running[target.id]):
            yield node, target.id, f"{_short(running[target.id])} here, and would be {_short(literal)}"


def _stored(node: ast.stmt) -> Iterable[str]:
    """Yield the names that a statement binds or writes into, as often as it does."""
    for part in ast.walk(node) if not isinstance(node, FunctionNode | ast.ClassDef) else ():
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            yield from (inner.id for inner in ast.walk(part) if isinstance(inner, ast.Name))


def _managed(node: ast.stmt, effects: Effects) -> Iterable[str]:
    """Yield the names that functions of a stored statement write to, or hand to other code."""
    for part in ast.walk(node):
        if isinstance(part, FunctionNode):
            yield from effects.of_function(part)
            yield from (name.id for inner in ast.walk(part) for name in _handed_on(inner))
        elif isinstance(part, ast.ClassDef):
            yield from effects.of(part)


def _handed_on(node: ast.AST) -> Iterable[ast.Name]:
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Call):
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.NamedExpr):
        values = [node.value]
    return [value for value in values if isinstance(value, ast.Name)]


def _same(literal: Any, value: Any) -> bool:
    """Say whether a value is what a literal makes; compared without asking foreign types."""
    if type(literal) is not type(value):
        return False
    if isinstance(literal, _SCALARS):
        return repr(literal) == repr(value)
    if isinstance(literal, dict):
        return len(literal) == len(value) and all(
            _same(one, other) for one, other in zip(literal.items(), value.items(), strict=True)
        )
    if isinstance(literal, set):
        return all(isinstance(one, _SCALARS) for one in value) and literal == value
    return len(literal) == len(value) and all(
        _same(one, other) for one, other in zip(literal, value, strict=True)
    )


def _short(value: Any) -> str:
    """Return a plain value in a few words; of others only the type, as their `repr` is code."""
    if isinstance(value, _SCALARS) and type(value) in _SCALARS:
        return repr(value) if len(repr(value)) <= 30 else f"{repr(value)[:27]}..."
    if type(value) in (list, tuple, set, dict):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"
