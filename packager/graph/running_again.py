"""Which parts of a kept statement would run again where it is loaded: what neither defines nor fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .effects import FunctionNode, ScriptNames, has_evident_effect, is_plain
from .fills import is_fill


def running_again(node: ast.stmt, names: ScriptNames) -> Iterator[ast.stmt]:
    """Yield the statements of a kept one that are neither definition, import, plain constant nor fill."""
    if is_fill(node, names):
        return
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
            yield from running_again(statement, names)
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
        yield from running_again(node, names)
    elif isinstance(node, ast.Expr | ast.With | ast.AsyncWith):
        if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call):
            yield node
    elif has_evident_effect(node, names):
        yield node
