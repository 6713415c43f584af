"""Whether a literal of a script still has the value in memory that it would have where it is loaded."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .effects import Effects, FunctionNode

_SCALARS = (int, float, complex, bool, str, bytes, type(None), type(...))


def changed_values(
    nodes: Sequence[ast.stmt], effects: Effects, running: Mapping[str, Any], filled: Collection[str] = ()
) -> Iterable[tuple[ast.stmt, str, str]]:
    """Yield the statements of `nodes` that bind a literal to a name with another value by now.

    Each comes with the name, and what is there and here. A name that stored functions write to, or hand on,
    is state that they look after themselves, and left alone; so are `filled`, which others of `nodes` fill.
    """
    bound = [name for node in nodes for name in _stored(node)]
    managed = {name for node in nodes for name in _managed(node, effects)}.union(filled)
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
