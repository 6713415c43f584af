"""The source of `__main__`: a script's file, or the cells of a notebook.

A walk by itself takes a script whole; what stands under `if __name__ == "__main__":` does not run where
it is loaded, because it is not `__main__` there. An export takes what stored names need.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .main_extraction import MainDefinitions, needed_definitions

_MAGIC = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MainSource:
    """`text` is None where there is no source, and `problem` says why. `package` is what relative
    imports start from, where the script was run with `python -m`; `problems` are those of the
    definitions, each as file:line and reason."""

    text: bytes | None
    path: str | None = None
    package: str = ""
    problem: str = ""
    problems: tuple[str, ...] = ()


def main_source(main: ModuleType | None = None) -> MainSource:
    """The source of `main` (by default `sys.modules["__main__"]`): a file whole, of cells the definitions."""
    main = sys.modules["__main__"] if main is None else main
    path = getattr(main, "__file__", None)
    if path is not None:
        spec = getattr(main, "__spec__", None)
        package = spec.name.rpartition(".")[0] if spec is not None else ""
        try:
            return MainSource(Path(path).read_bytes(), path, package)
        except OSError as error:
            return MainSource(None, path, package, f"its file cannot be read: {error}")
    cells = _cells(main)
    defined = [
        node.name
        for cell in cells
        for node in _body(cell)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return replace(main_definitions(defined, main), problems=())


def main_definitions(names: Collection[str], main: ModuleType | None = None) -> MainSource:
    """The source of what `names` of `main` need, with the problems that stand against storing it."""
    main = sys.modules["__main__"] if main is None else main
    path, package = getattr(main, "__file__", None), getattr(main, "__package__", None) or ""
    notebook = isinstance(getattr(main, "In", None), list)
    try:
        cells = [Path(path).read_text(encoding="utf-8")] if path and not notebook else _cells(main)
    except (OSError, UnicodeDecodeError) as error:
        return MainSource(None, path, package, f"its file cannot be read: {error}")
    if not cells:
        problem = "it was typed in, and its source is nowhere: put it into a file or a notebook"
        return MainSource(None, None, package, problem)
    found = needed_definitions(cells, names, package, vars(main))
    return MainSource(found.text.encode(), path, package, "", _told(found, None if notebook else path))


def _told(found: MainDefinitions, path: str | None) -> tuple[str, ...]:
    """The problems with their places; a cell is named as IPython does, `In[3]`."""
    return tuple(f"{path or f'In[{one.cell}]'}:{one.line}: {one.reason}" for one in found.problems)


def _cells(main: ModuleType) -> Sequence[str]:
    """The cells of a notebook, in the order in which they ran; or what an interpreter kept of its input."""
    inputs = vars(main).get("In")
    if isinstance(inputs, list) and all(isinstance(cell, str) for cell in inputs):
        return ["" if cell.startswith("%%") else _without_magic(cell) for cell in inputs]
    found: dict[str, str] = {}
    for code in _codes(vars(main).values()):
        text = "".join(linecache.getlines(code.co_filename, vars(main)))
        if text and code.co_filename.startswith("<") and code.co_filename != "<string>":
            found[code.co_filename] = text
    return list(found.values())


def _without_magic(cell: str) -> str:
    """A cell without the lines for the notebook itself; one that is Python as it is stays so."""
    return cell if _body(cell) else _MAGIC.sub("", cell)


def _body(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except (SyntaxError, ValueError):
        return []


def _codes(values: Iterable[Any]) -> Iterator[CodeType]:
    for value in list(values):
        if getattr(value, "__module__", None) != "__main__":
            continue
        if isinstance(value, FunctionType):
            yield value.__code__
        elif isinstance(value, type):
            methods = (getattr(item, "__func__", item) for item in vars(value).values())
            yield from (method.__code__ for method in methods if isinstance(method, FunctionType))
