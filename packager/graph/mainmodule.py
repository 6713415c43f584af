"""The source of `__main__`: a script's file, or what the cells of a notebook define.

A script is taken whole; what stands under `if __name__ == "__main__":` does not run where it is
loaded, because it is not `__main__` there. Of a notebook only definitions are taken: functions,
classes, and the imports and assignments that they name. Loading them must not train a model again.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["MainSource", "definitions", "main_source"]


@dataclass(frozen=True, slots=True)
class MainSource:
    """`text` is None where there is no source, and `problem` says why. `package` is what relative
    imports start from, where the script was run with `python -m`."""

    text: bytes | None
    path: str | None = None
    package: str = ""
    problem: str = ""


def main_source(main: ModuleType | None = None) -> MainSource:
    """The source of `main` (by default `sys.modules["__main__"]`)."""
    main = sys.modules["__main__"] if main is None else main
    path = getattr(main, "__file__", None)
    if path is not None:
        spec = getattr(main, "__spec__", None)
        package = spec.name.rpartition(".")[0] if spec is not None else ""
        try:
            with open(path, "rb") as file:
                return MainSource(file.read(), path, package)
        except OSError as error:
            return MainSource(None, path, package, f"its file cannot be read: {error}")
    text = definitions(_cells(main))
    if text:
        return MainSource(text.encode())
    problem = "its code was typed into an interpreter that keeps no source; put it into a file or a notebook"
    return MainSource(None, problem=problem)


def definitions(cells: Iterable[str]) -> str:
    r"""The functions and classes of several cells, in order, with the imports and assignments they name.

    Where a name is defined twice, the later definition counts. Lines for the notebook itself
    (`%magic`, `!command`) and cells that do not parse are left out.

    >>> print(definitions(["import math\nn = 2", "print(n)", "def area(r):\n    return math.pi * r**n"]))
    import math
    n = 2
    def area(r):
        return math.pi * r**n
    """
    statements = [statement for cell in cells for statement in _statements(cell)]
    last = {name: at for at, (node, _) in enumerate(statements) for name in _bound(node)}
    kept = {
        at
        for at, (node, _) in enumerate(statements)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and last[node.name] == at
    }
    waiting = list(kept)
    while waiting:
        for part in ast.walk(statements[waiting.pop()][0]):
            at = last.get(part.id, -1) if isinstance(part, ast.Name) else -1
            if at >= 0 and at not in kept:
                kept.add(at)
                waiting.append(at)
    futures = {at for at, (node, _) in enumerate(statements) if _is_future(node)}
    return "\n".join(statements[at][1] for at in sorted(kept | futures)) if kept else ""


def _cells(main: ModuleType) -> Sequence[str]:
    inputs = vars(main).get("In")
    if isinstance(inputs, list) and all(isinstance(cell, str) for cell in inputs):
        return inputs  # IPython keeps what was typed
    found: dict[str, str] = {}
    for code in _codes(vars(main).values()):
        text = "".join(linecache.getlines(code.co_filename, vars(main)))
        if text and code.co_filename.startswith("<"):
            found[code.co_filename] = text
    return list(found.values())


def _codes(values: Iterable[Any]) -> Iterator[CodeType]:
    for value in list(values):
        if getattr(value, "__module__", None) != "__main__":
            continue
        if isinstance(value, FunctionType):
            yield value.__code__
        elif isinstance(value, type):
            methods = (getattr(item, "__func__", item) for item in vars(value).values())
            yield from (method.__code__ for method in methods if isinstance(method, FunctionType))


def _statements(cell: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a cell, each with its text."""
    if cell.startswith("%%"):
        return
    lines = ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in cell.splitlines()]
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        alone = node.col_offset == 0 and _alone(node, tree.body)
        yield node, text if alone else ast.unparse(node)


def _alone(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    return (
        sum(
            other.lineno <= (node.end_lineno or 0) and (other.end_lineno or 0) >= node.lineno
            for other in body
        )
        == 1
    )


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
