"""The names that a source offers to those who import it: bound ones, `__all__`, and lazy tables.

Nothing here knows a particular package. A module is lazy when it has a `__getattr__`, or puts something else
into its place in `sys.modules`. Its table is read off dict literals (name -> module, module -> [names]) at
the top level and in that `__getattr__`, and off `d["module"] = [...]`. What it imports under TYPE_CHECKING
belongs to the table too, and is among the import statements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class ModuleNames(NamedTuple):
    """What a module offers, as far as it stands in its text.

    `bound` are the names that its top level binds always, or by an import. `exports` is a literal `__all__`,
    with "*" where part of it is computed; None without one. `lazy` is None for ordinary modules, else (name,
    module, line) of the lazy table, where the module is spelt as in the source, perhaps with `:attribute`.
    """

    bound: tuple[str, ...]
    exports: tuple[str, ...] | None
    lazy: tuple[tuple[str, str, int], ...] | None


NO_NAMES = ModuleNames((), None, None)


def names_of(tree: ast.Module) -> ModuleNames:
    """Read what a module offers.

    >>> names_of(ast.parse("__all__ = ['a']\\ndef __getattr__(name): ...\\n_table = {'a': '.b'}"))[1:]
    (('a',), (('a', '.b', 3), ('.b', 'a', 3)))
    """
    bound: dict[str, None] = {}
    exports: list[str] | None = None
    lazy = False
    statements = [*_top_level(tree)]
    for node, runs in statements:
        for name in _bound_by(node) if runs or isinstance(node, ast.Import | ast.ImportFrom) else ():
            bound[name] = None
        added = _added_to_all(node)
        if added is not None:
            exports = [*(exports or ()), *_literals(added)]
        lazy = lazy or _replaces_itself(node)
    lazy = lazy or "__getattr__" in bound
    return ModuleNames(
        tuple(bound),
        None if exports is None else tuple(dict.fromkeys(exports)),
        tuple(dict.fromkeys(_table([node for node, _ in statements]))) if lazy else None,
    )


def is_typing_test(test: ast.expr) -> bool:
    """Say whether this is `TYPE_CHECKING`, however it was imported, or that `or` some switch of the user."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(is_typing_test(value) for value in test.values)
    return dotted(test).rpartition(".")[2] == "TYPE_CHECKING"


def dotted(node: ast.AST) -> str:
    """Return the dotted name that `node` spells, "" for any other expression."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _top_level(tree: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements outside of functions and classes that may run, and whether they always do."""
    waiting = [(node, True) for node in reversed(tree.body)]
    while waiting:
        node, runs = waiting.pop()
        yield node, runs
        inner: list[tuple[ast.stmt, bool]] = []
        if isinstance(node, ast.If) and is_typing_test(node.test):
            inner = [(one, runs) for one in node.orelse]
        elif isinstance(node, ast.With | ast.For):
            inner = [(one, runs) for one in (*node.body, *getattr(node, "orelse", ()))]
        elif isinstance(node, ast.If | ast.While | ast.Try | ast.TryStar):
            handlers = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
            inner = [(one, False) for one in (*node.body, *handlers, *node.orelse)]
            inner += [(one, runs) for one in getattr(node, "finalbody", ())]
        waiting += reversed(inner)


def _bound_by(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _names_in(target))
        case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target):
            yield from _names_in(target)


def _names_in(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        yield from (one.id for one in target.elts if isinstance(one, ast.Name))


def _replaces_itself(node: ast.stmt) -> bool:
    """Say whether this puts something into `sys.modules[__name__]`."""
    match node:
        case ast.Assign(targets=targets):
            return any(
                isinstance(target, ast.Subscript)
                and dotted(target.value) in ("sys.modules", "modules", "_sys.modules")
                and dotted(target.slice) == "__name__"
                for target in targets
            )
        case ast.Expr(value=ast.Call(func=function)):
            return dotted(function) == "sys.modules.update"
    return False


def _added_to_all(node: ast.stmt) -> ast.expr | None:
    """Return what a statement puts into `__all__`, None for all other statements."""
    match node:
        case ast.Assign(targets=targets, value=value):
            names = [name for target in targets for name in _names_in(target)]
            return value if "__all__" in names else None
        case (
            ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            | ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"), args=[value]
                )
            )
        ):
            return value
    return None


def _literals(value: ast.expr) -> Iterator[str]:
    """Yield the strings of a literal, or of several added up; "*" for a part that is computed."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.BinOp):
        yield from (*_literals(value.left), *_literals(value.right))
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        for one in value.elts:
            yield from _literals(one)
    else:
        yield "*"


def _table(statements: list[ast.stmt]) -> Iterator[tuple[str, str, int]]:
    """Yield (name, module, line) for all dict literals that look like a table, in source order.

    Both directions are given for a dict of strings to strings: which side is a module the finder can tell.
    """
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(module)))], value=value):
                yield from ((name, module, node.lineno) for name in _strings(value))
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(slice=ast.Constant(value=str(module))), attr="extend" | "update"
                    ),
                    args=[value],
                )
            ):
                yield from ((name, module, node.lineno) for name in _strings(value))
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.FunctionDef(name="__getattr__"):
                for one in ast.walk(node):
                    if isinstance(one, ast.Dict):
                        yield from _entries(one)


def _entries(table: ast.Dict) -> Iterator[tuple[str, str, int]]:
    for key, value in zip(table.keys, table.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield key.value, value.value, key.lineno
            yield value.value, key.value, key.lineno
        strings = _strings(value)
        if isinstance(value, ast.Tuple) and 1 <= len(strings) <= 2:
            yield key.value, ":".join(strings), key.lineno  # "Conv": (".layers", "Conv2d")
        yield from ((name, key.value, key.lineno) for name in strings)


def _strings(value: ast.expr) -> list[str]:
    elements = value.elts if isinstance(value, ast.List | ast.Set | ast.Tuple) else ()
    return [one.value for one in elements if isinstance(one, ast.Constant) and isinstance(one.value, str)]
