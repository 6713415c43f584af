"""Code that finds names of its own module by their text: `globals()[name]`, `sys.modules[__name__]`, `eval`.

Which names these are, only the texts tell that a program holds, and not always they.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .module_names import dotted

_RUN_TEXT = ("globals", "eval", "exec")
_IMPORT = ("import_module", "__import__")


def looks_names_up(node: ast.AST) -> bool:
    """Say whether anything in a statement finds names of the module by their text.

    >>> [looks_names_up(ast.parse(text)) for text in ("def f(n): return globals()[n]()", "model.eval()")]
    [True, False]
    """
    return any(_looks_up(part) for part in ast.walk(node))


def texts_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the identifiers that are written as texts in statements."""
    return frozenset(
        part.value
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier()
    )


def _looks_up(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return dotted(node.value) == "sys.modules"
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        return "__main__" in (module, *(alias.name for alias in node.names))
    if not isinstance(node, ast.Call):
        return False
    called = dotted(node.func)
    if called in _RUN_TEXT:
        return not (called != "globals" and node.args and isinstance(node.args[0], ast.Constant))
    if called.rpartition(".")[2] in _IMPORT:
        return any(isinstance(one, ast.Name) and one.id == "__name__" for one in node.args)
    return called == "sys.modules.get"
