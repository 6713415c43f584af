"""One top-level statement of a script: which names it binds, which it needs, and which it changes.

Names are told apart by scope, as the compiler does (`symtable`): a local variable of a function needs
nothing of the same name outside, and a function does not see the names of the class around it.
"""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterable, Iterator, Mapping

from packager.quick_dataclasses import dataclass


@dataclass(frozen=True)
class NamesOf:
    """`binds` are bound where the statement stands, `now` are read when it runs, `later` by its functions.

    "*" among `binds` is a star import.
    """

    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]

    @property
    def reads(self) -> frozenset[str]:
        """What is read at any time."""
        return self.now | self.later


@dataclass(frozen=True)
class Statement:
    """A statement with its names; `cell` is the number of the text that it stands in."""

    cell: int
    node: ast.stmt
    names: NamesOf

    @property
    def first(self) -> int:
        """Its first line, decorators included."""
        decorators = getattr(self.node, "decorator_list", ())
        lines: list[int] = [self.node.lineno, *(one.lineno for one in decorators)]
        return min(lines)


def read_statement(cell: int, node: ast.stmt) -> Statement:
    """Return the statement with its names. A main guard binds nothing: where it is loaded it does not run."""
    names = names_of(node)
    if is_main_guard(node):
        names = NamesOf(frozenset(), names.now, names.later)
    return Statement(cell, node, names)


def is_main_guard(node: ast.stmt) -> bool:
    """Say whether a statement runs in a program alone: `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def aliases_of(node: ast.stmt, known: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return other names for what names stand for: `b = a`, `for b in (a, c):`, anywhere in a statement.

    `known` are those of the statements before.
    """
    found: dict[str, frozenset[str]] = {}
    for part in ast.walk(node):
        values: list[ast.expr] = []
        targets: list[ast.expr] = []
        if isinstance(part, ast.Assign):
            values, targets = [part.value], part.targets
        elif isinstance(part, ast.For | ast.AsyncFor | ast.comprehension):
            targets = [part.target]
            values = part.iter.elts if isinstance(part.iter, ast.Tuple | ast.List | ast.Set) else []
        names = {one.id for one in values if isinstance(one, ast.Name)}
        names |= {other for name in names for other in known.get(name, ())}
        for target in targets:
            if isinstance(target, ast.Name) and names:
                found[target.id] = frozenset(names)
    return found


def binds_anew(node: ast.stmt, name: str) -> bool:
    """Say whether a statement binds `name` whatever was bound to it before."""
    if not isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    ):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        plain = isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None)
        stored = {part.id for target in targets for part in _stored(target)}
        if not plain or name not in stored:
            return False
    names = names_of(node)
    return name in names.binds and name not in names.now


def names_of(node: ast.stmt) -> NamesOf:
    """Return the names of a statement at the top of a module, or of the body of a class that stands there."""
    if isinstance(node, ast.ClassDef):
        return _names_of_class(node)
    table = symtable.symtable(ast.unparse(ast.Module([node], [])), "<main>", "exec")
    binds = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
        binds.add("*")
    binds -= _deleted(node)
    binds |= {name for target in _targets(node) for name in _rooted(target)}
    now = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    later: set[str] = set()
    for child in table.get_children():
        (now if child.get_name() in _AT_ONCE else later).update(_globals(child))
    return NamesOf(frozenset(binds), frozenset(now), frozenset(later))


def functions_reading(node: ast.stmt, name: str) -> Iterator[tuple[str, int]]:
    """Yield the functions in a statement that read a global name, each once, with the first line that does.

    >>> text = "class Net:\\n  def f(self, y=X): return X\\n  def g(self, X): return X"
    >>> [*functions_reading(ast.parse(text).body[0], "X")]
    [('Net.f', 2)]
    """
    waiting: list[tuple[ast.AST, str]] = [(node, "")]
    while waiting:
        part, prefix = waiting.pop(0)
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            alone = copy.copy(part)
            alone.decorator_list = []
            inner = ast.Module(part.body, [])
            if name in names_of(alone).later:
                lines = [
                    one.lineno for one in ast.walk(inner) if isinstance(one, ast.Name) and one.id == name
                ]
                yield f"{prefix}{part.name}", min(lines, default=part.lineno)
        elif isinstance(part, ast.ClassDef):
            waiting += [(one, f"{prefix}{part.name}.") for one in part.body]
        else:
            waiting += [(one, prefix) for one in ast.iter_child_nodes(part) if isinstance(one, ast.stmt)]


def root_of(node: ast.AST) -> str:
    """Return the name at the root of a chain of attributes and subscripts; "" where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_AT_ONCE = frozenset(["listcomp", "setcomp", "dictcomp", "genexpr"])


def _names_of_class(node: ast.ClassDef) -> NamesOf:
    """Return a class: its head, and its body, where a name is the module's until the class has bound it."""
    head = copy.copy(node)  # with its type parameters, where this Python has them
    head.body = [ast.Pass()]
    table = symtable.symtable(ast.unparse(ast.Module([head], [])), "<main>", "exec")
    now = {one.get_name() for one in table.get_symbols() if one.is_referenced()}
    later: set[str] = set()
    own: set[str] = {"__name__", "__qualname__", "__module__"}
    for child in table.get_children():
        now |= _globals(child)
    for statement in node.body:
        inner = names_of(statement)
        now |= inner.now - own
        later |= inner.later
        if not isinstance(statement, ast.If | ast.For | ast.While | ast.Try | ast.With):
            own |= inner.binds - {"*"}
    return NamesOf(frozenset([node.name]), frozenset(now), frozenset(later))


def _globals(table: symtable.SymbolTable) -> set[str]:
    """Return the global names that a scope and those inside it mention."""
    found = {one.get_name() for one in table.get_symbols() if one.is_global()}
    for child in table.get_children():
        found |= _globals(child)
    return found


def _deleted(node: ast.stmt) -> set[str]:
    """Return the names that are only deleted: symtable counts that as binding."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    deleted = {part.id for part in names if isinstance(part.ctx, ast.Del)}
    return deleted - {part.id for part in names if isinstance(part.ctx, ast.Store)}


def _targets(node: ast.stmt) -> Iterable[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else ()


def _stored(target: ast.AST | None) -> Iterator[ast.Name]:
    for part in ast.walk(target) if target is not None else ():
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part


def _rooted(target: ast.expr) -> Iterator[str]:
    """Yield the names at the roots of `Net.width = 3`, `TABLE["x"] = f`: what Net and TABLE need."""
    for part in ast.walk(target):
        stored = isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store)
        if stored and (name := root_of(part)):
            yield name
