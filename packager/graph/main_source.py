"""The source of `__main__`, a script's file or the cells of a notebook, and the part of it that names need.

A walk by itself takes a script whole; what stands under `if __name__ == "__main__":` does not run where
it is loaded, because it is not `__main__` there. An export takes what stored names need.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from packager.quick_dataclasses import dataclass, replace

from .cells import cells_of, is_notebook, parsed
from .main_script import MainProblem, Script, is_future
from .statements import read_statement


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
    """Return the source of `main` (default: the running one): a file whole, of cells the definitions."""
    main = sys.modules["__main__"] if main is None else main
    path = getattr(main, "__file__", None)
    if path is not None:
        spec = getattr(main, "__spec__", None)
        package = spec.name.rpartition(".")[0] if spec is not None else ""
        try:
            return MainSource(Path(path).read_bytes(), path, package)
        except OSError as error:
            return MainSource(None, path, package, _unreadable(path, error))
    cells = cells_of(main)
    defined = [
        node.name
        for cell in cells
        for node in parsed(cell)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return replace(main_definitions(defined, main), problems=())


def _unreadable(path: str | None, error: Exception) -> str:
    if path == "<stdin>":
        return "it was read from standard input, and its source is nowhere: put it into a file, and run that"
    return f"its file cannot be read: {error}"


def main_definitions(names: Collection[str], main: ModuleType | None = None) -> MainSource:
    """Return the source of what `names` of `main` need, with the problems that stand against storing it."""
    main = sys.modules["__main__"] if main is None else main
    path, package = getattr(main, "__file__", None), getattr(main, "__package__", None) or ""
    notebook = is_notebook(main)
    try:
        cells = [Path(path).read_text(encoding="utf-8")] if path and not notebook else cells_of(main)
    except (OSError, UnicodeDecodeError) as error:
        return MainSource(None, path, package, _unreadable(path, error))
    if not cells:
        problem = "it was typed in, and its source is nowhere: put it into a file or a notebook"
        return MainSource(None, None, package, problem)
    found = needed_definitions(cells, names, package, vars(main))
    return MainSource(found.text.encode(), path, package, "", _told(found, None if notebook else path))


def names_bound_in(text: bytes) -> frozenset[str]:
    """Return the names that the statements of a stored `__main__` bind."""
    statements = [read_statement(0, node) for node in parsed(text.decode("utf-8", "replace"))]
    return frozenset().union(*(one.names.binds for one in statements))


@dataclass(frozen=True, slots=True)
class MainDefinitions:
    """The source of what is needed, and the problems with it, in the order of their lines."""

    text: str
    problems: tuple[MainProblem, ...] = ()


def needed_definitions(
    cells: Sequence[str], names: Collection[str], package: str = "", running: Mapping[str, Any] | None = None
) -> MainDefinitions:
    """Return the statements of `cells`, one after another, that bind `names` or what these need.

    Lines keep their numbers within one cell; relative imports become absolute ones below `package`.
    `running` is what the running module holds: a needed name in it that no statement binds, or that holds
    another value than its literal, is a problem. A cell that is no Python (one of a shell, say) is left out.

    >>> cell = "import json\\nx = 2\\ndef f():\\n    return x\\nprint(f())"
    >>> print(needed_definitions([cell], ["f"]).text, end="")
    <BLANKLINE>
    x = 2
    def f():
        return x
    >>> needed_definitions(["x = []\\nx.append(input())\\ndef f(): return x"], ["f"]).problems[0].line
    2
    """
    statements = [read_statement(cell, node) for cell, text in enumerate(cells) for node in parsed(text)]
    script = Script(statements, names, running or {})
    kept = script.kept()
    problems = sorted({*script.problems(kept)}, key=lambda one: (one.cell, one.line, one.reason))
    nodes = [(statements[at].cell, statements[at].node) for at in sorted(kept)]
    early, late = _futures(nodes)
    texts = [
        _kept_text(text, [node for own, node in nodes if own == cell and node not in late], package)
        for cell, text in enumerate(cells)
    ]
    return MainDefinitions("".join(text for text in (early, *texts) if text), tuple(problems))


def _futures(nodes: Sequence[tuple[int, ast.stmt]]) -> tuple[str, list[ast.stmt]]:
    """Return a first line for the `__future__` imports that stand in a later cell, and these."""
    others = [at for at, (_, node) in enumerate(nodes) if not is_future(node)]
    late = [node for node in (node for _, node in nodes[min(others, default=0) :]) if is_future(node)]
    return "".join(f"{ast.unparse(node)}\n" for node in late), late


def _told(found: MainDefinitions, path: str | None) -> tuple[str, ...]:
    """Return the problems with their places; a cell is named as IPython does, `In[3]`."""
    return tuple(
        f"{path or f'In[{one.cell}]'}:{one.line}: {one.reason}" if one.line else one.reason
        for one in found.problems
    )


def _kept_text(text: str, nodes: Sequence[ast.stmt], package: str) -> str:
    """Return the lines of the kept statements, everything else blank; empty where nothing is kept."""
    if not nodes:
        return ""
    lines, kept = text.split("\n"), [""] * max(node.end_lineno or 0 for node in nodes)
    whole = parsed(text)
    for node in nodes:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or first
        if isinstance(node, ast.ImportFrom) and node.level:
            _make_absolute(node, package)
        elif sum(one.lineno <= last and (one.end_lineno or 0) >= first for one in whole) == 1:
            kept[first - 1 : last] = lines[first - 1 : last]
            continue
        # It shares its lines with others, or is spelt otherwise there.
        spelt = ast.unparse(node).splitlines()
        kept[first - 1] = "; ".join(part for part in (kept[first - 1], *spelt[:1]) if part)
        kept[first:last] = [*spelt[1:], *[""] * (last - first)][: last - first]
    return "\n".join(kept) + "\n"


def _make_absolute(node: ast.ImportFrom, package: str) -> None:
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    node.module = f"{base}.{node.module}" if node.module else base
    node.level = 0
