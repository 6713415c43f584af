"""Statements of a script that fill tables: `TABLE.append(3)`, `CONFIG.update(width=8)`, a loop of such.

They may run again wherever they are loaded: all that they do is written down in them, and nothing is read,
trained or drawn by lot. In a loop only what costs nothing is taken for that: arrays, and a variable that goes
from one round to the next, are what training is made of.
"""

from __future__ import annotations

import ast
from typing import Final

from .effects import BUILTIN_CALLS, PURE_METHODS, ScriptNames, is_plain
from .module_names import dotted
from .statements import is_main_guard

_METHODS: Final = frozenset(
    "append extend insert remove pop popitem clear sort reverse update setdefault add discard appendleft "
    "extendleft popleft rotate move_to_end subtract difference_update intersection_update "
    "symmetric_difference_update".split()
)


def is_fill(node: ast.stmt, names: ScriptNames) -> bool:
    """Say whether a statement only fills what names of the script stand for."""
    if isinstance(node, ast.For):
        return is_plain(node.iter, names) and _is_light(node.iter, names) and _is_round(node, names)
    if isinstance(node, ast.If):
        return (
            not is_main_guard(node)
            and is_plain(node.test, names)
            and all(is_fill(one, names) or isinstance(one, ast.Pass) for one in (*node.body, *node.orelse))
        )
    if isinstance(node, ast.Delete):
        return all(isinstance(one, ast.Subscript) and is_plain(one, names) for one in node.targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_filling(node.value, names)


def _is_filling(call: ast.Call, names: ScriptNames) -> bool:
    """Say whether a call puts plain values into a container, or an attribute on a definition."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not all(is_plain(one, names) for one in given):
        return False
    own = {method.name for name in names.classes for method in names.methods(name)}
    if isinstance(call.func, ast.Attribute):
        held = call.func.value
        plain = dotted(held).partition(".")[0] not in names.imports and is_plain(held, names)
        return plain and call.func.attr in _METHODS - own
    holder = dotted(call.args[0]) if call.args else ""
    defined = holder in names.classes or holder in names.functions
    return dotted(call.func) == "setattr" and defined and "__setattr__" not in own


def _is_round(loop: ast.For, names: ScriptNames) -> bool:
    """Say whether each round of a loop fills, and takes nothing from the round before but what is filled."""
    if loop.orelse:
        return False
    carried = _read_before_bound(loop)
    return all(_is_step(one, names, carried) for one in loop.body)


def _is_step(node: ast.stmt, names: ScriptNames, carried: set[str]) -> bool:
    if not _is_light(node, names):
        return False
    if isinstance(node, ast.Assign):
        plain = all(is_plain(part, names) for part in ast.iter_child_nodes(node))
        parts = [part for one in node.targets for part in ast.walk(one) if isinstance(part, ast.Name)]
        return plain and not {part.id for part in parts if isinstance(part.ctx, ast.Store)} & carried
    if isinstance(node, ast.If):
        return is_plain(node.test, names) and all(
            _is_step(one, names, carried) for one in (*node.body, *node.orelse)
        )
    return isinstance(node, ast.Continue | ast.Break | ast.Pass) or is_fill(node, names)


def _read_before_bound(loop: ast.For) -> set[str]:
    """Return the names that a round reads before it binds them, in the order of the source."""
    bound = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    carried: set[str] = set()
    for statement in loop.body:
        parts = [part for part in ast.walk(statement) if isinstance(part, ast.Name)]
        carried |= {part.id for part in parts if isinstance(part.ctx, ast.Load)} - bound
        if isinstance(statement, ast.Assign):
            bound |= {part.id for part in parts if isinstance(part.ctx, ast.Store)}
    return carried


def _is_light(node: ast.AST, names: ScriptNames) -> bool:
    """Say whether nothing here computes with arrays: no product of matrices, no call of a library."""
    for part in ast.walk(node):
        if isinstance(part, ast.MatMult):
            return False
        if isinstance(part, ast.Call):
            spelt = dotted(part.func)
            own = spelt in BUILTIN_CALLS | {"setattr"} or spelt in names.functions or spelt in names.classes
            method = isinstance(part.func, ast.Attribute) and spelt.partition(".")[0] not in names.imports
            if not own and not (method and part.func.attr in PURE_METHODS | _METHODS):  # type: ignore[attr-defined]  # a method is an attribute
                return False
    return True
