"""`__main__` as a module that can be stored: the definitions that are needed, and nothing that runs.

A script or notebook defines classes and also does things: it trains, it exports. Storing it whole
would do them again wherever the archive is loaded. So only the top-level statements are kept that
bind the names that are needed, and the names that these use in turn, all in their order.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType

__all__ = ["definitions_of_main", "needed_definitions"]

_MAGIC = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


def definitions_of_main(names: Collection[str]) -> str | None:
    """The source of what `names` of the running `__main__` need; None where no source is to be had."""
    main = sys.modules["__main__"]
    cells = _cells(main)
    return (
        None if cells is None else needed_definitions(cells, names, getattr(main, "__package__", None) or "")
    )


def needed_definitions(cells: Sequence[str], names: Collection[str], package: str = "") -> str:
    """The statements of `cells`, one after another, that bind `names` or what these need.

    Lines keep their numbers within one cell; relative imports become absolute ones below `package`.

    >>> cell = "import json\\nx = 2\\ndef f():\\n    return x\\nprint(f())"
    >>> print(needed_definitions([cell], ["f"]), end="")
    <BLANKLINE>
    x = 2
    def f():
        return x
    """
    statements = [(index, node) for index, cell in enumerate(cells) for node in _parsed(cell)]
    bound = {id(node): _bound(node) for _, node in statements}
    kept = _closure([node for _, node in statements], bound, names)
    texts = [
        _kept_text(cell, [n for at, n in statements if at == index and id(n) in kept], package)
        for index, cell in enumerate(cells)
    ]
    return "".join(text for text in texts if text)


def _cells(main: ModuleType) -> list[str] | None:
    """The source of `__main__`: a file, or the cells of a notebook in the order of their execution."""
    history = getattr(main, "In", None)
    if isinstance(history, list) and all(isinstance(cell, str) for cell in history):
        return [_MAGIC.sub("", cell) for cell in history]
    file = getattr(main, "__file__", None)
    try:
        return None if file is None else [Path(file).read_text(encoding="utf-8")]
    except (OSError, UnicodeDecodeError):
        return None


def _parsed(cell: str) -> list[ast.stmt]:
    """The top-level statements of a cell; none where it is no Python (a cell of a shell, say)."""
    try:
        return ast.parse(cell).body
    except SyntaxError:
        return []


def _closure(
    nodes: Sequence[ast.stmt], bound: dict[int, frozenset[str]], names: Collection[str]
) -> frozenset[int]:
    """The ids of the statements that bind `names`, or names that such statements use."""
    wanted, kept = set(names), {id(node) for node in nodes if _is_future(node)}
    known = {*dir(builtins), *(name for names in bound.values() for name in names)}
    while True:
        # A name that nothing binds may come from any star.
        searched = wanted | {"*"} if wanted - known else wanted
        new = [node for node in nodes if id(node) not in kept and bound[id(node)] & searched]
        if not new:
            return frozenset(kept)
        for node in new:
            kept.add(id(node))
            wanted |= _used(node)


def _bound(node: ast.stmt) -> frozenset[str]:
    """The names that a top-level statement binds; none for what only runs, and for a main block."""
    if isinstance(node, ast.If) and "__main__" in ast.dump(node.test):
        return frozenset()
    return frozenset(_bindings(node))


def _bindings(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            # `Net.width = 3` changes Net: it belongs to what Net needs.
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    else:
        for part in ("body", "orelse", "handlers", "finalbody"):
            for child in getattr(node, part, ()):
                yield from _bindings(child)


def _used(node: ast.stmt) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _kept_text(cell: str, nodes: Sequence[ast.stmt], package: str) -> str:
    """The lines of the kept statements, everything else blank; empty where nothing is kept."""
    if not nodes:
        return ""
    lines, kept = cell.splitlines(), [""] * max(node.end_lineno or 0 for node in nodes)
    for node in nodes:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        kept[first - 1 : node.end_lineno] = lines[first - 1 : node.end_lineno]
        if isinstance(node, ast.ImportFrom) and node.level:
            _make_absolute(node, package)
            kept[first - 1 : node.end_lineno] = [
                ast.unparse(node),
                *[""] * ((node.end_lineno or first) - first),
            ]
    return "\n".join(kept) + "\n"


def _make_absolute(node: ast.ImportFrom, package: str) -> None:
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    node.module = f"{base}.{node.module}" if node.module else base
    node.level = 0
