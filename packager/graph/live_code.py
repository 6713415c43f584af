"""Whether a definition in memory is the one that its source has now, wherever its file lies.

A script can be edited while it runs; a cell can stop half-way, or run again with other text. Then the source
would be stored of what no object here is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from .codes import codes_in, same_code
from .effects import FunctionNode
from .module_names import dotted


def differing_definitions(
    nodes: Sequence[ast.stmt], running: Mapping[str, Any]
) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the last definition of each name in `nodes` that has other code in memory, with what differs.

    What a decorator makes of a function may have any code, and is not compared.
    """
    futures = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    imports = [one for node in nodes for one in _imports(node) if one not in futures]
    last = {one.name: (node, one) for node in nodes for one in _definitions(node)}
    for name, (node, definition) in last.items():
        live = list(_live_codes(running.get(name), name))
        if not live or not _keeps_its_code(definition):
            continue
        expected: dict[str, list[CodeType]] = {}
        # A script is compiled whole, a cell by statements; what is imported beside it tells in the code.
        for whole in ([*futures, *imports, node], [*futures, node], [node]):
            for code in codes_in(compile(ast.Module(whole, []), "<main>", "exec", dont_inherit=True)):
                expected.setdefault(code.co_qualname, []).append(code)
        decorated = set(_decorated(definition))
        for code in live:
            known = expected.get(code.co_qualname, ())
            if known and code.co_qualname not in decorated and not any(same_code(code, one) for one in known):
                yield node, code.co_qualname
                break


def _imports(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the imports that bind names of the module: also those in a `try`, an `if`, a loop."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif not isinstance(node, FunctionNode | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                yield from _imports(child)  # type: ignore[arg-type]  # what holds statements, as they do


def _definitions(node: ast.stmt) -> Iterator[FunctionNode | ast.ClassDef]:
    if isinstance(node, FunctionNode | ast.ClassDef):
        yield node
    elif isinstance(node, ast.If | ast.Try):
        handlers = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
        for inner in (*node.body, *handlers, *node.orelse, *getattr(node, "finalbody", ())):
            yield from _definitions(inner)


def _live_codes(value: Any, name: str) -> Iterator[CodeType]:
    """Yield the code of a function, or of the functions of a class, that a definition of `name` has made."""
    if isinstance(value, FunctionType) and value.__code__.co_qualname == name:
        yield value.__code__
    elif isinstance(value, type) and value.__module__ == "__main__":
        for item in vars(value).values():
            for function in (item, *(getattr(item, part, None) for part in ("__func__", "fget", "fset"))):
                if isinstance(function, FunctionType) and function.__code__.co_qualname.startswith(
                    f"{name}."
                ):
                    yield function.__code__


def _keeps_its_code(definition: FunctionNode | ast.ClassDef) -> bool:
    heads = [one.func if isinstance(one, ast.Call) else one for one in definition.decorator_list]
    return all(dotted(head).rpartition(".")[2] in ("dataclass", "total_ordering", "final") for head in heads)


def _decorated(definition: ast.stmt, prefix: str = "") -> Iterable[str]:
    """Yield the qualified names of the decorated functions of a class."""
    if isinstance(definition, ast.ClassDef):
        for inner in definition.body:
            yield from _decorated(inner, f"{prefix}{definition.name}.")
    elif isinstance(definition, FunctionNode) and not all(
        dotted(one) in ("property", "staticmethod", "classmethod") for one in definition.decorator_list
    ):
        yield f"{prefix}{definition.name}"
