"""What the names at the top of a script stand for, and which of them are bound to what cannot change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .effects import FunctionNode, ScriptNames
from .module_names import dotted
from .statements import Statement, root_of


def script_names(statements: Sequence[Statement]) -> ScriptNames:
    """Return what the statements of a script bind: imports, functions, classes, and what calls have made."""
    imports: dict[str, str] = {}
    functions: dict[str, FunctionNode] = {}
    classes: dict[str, ast.ClassDef] = {}
    made: dict[str, str] = {}
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
            elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                made |= {one.id: dotted(node.value.func) for one in targets if isinstance(one, ast.Name)}
    instances = {name: cls for name, cls in made.items() if cls in classes}
    return ScriptNames(imports, functions, classes, instances)


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


def quiet_names(statements: Sequence[Statement], names: ScriptNames) -> frozenset[str]:
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
