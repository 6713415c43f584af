"""The source of `__main__`: a script's file or the cells of a notebook, whole, or what some names need of it.

A walk by itself takes a script whole; what stands under `if __name__ == "__main__":` does not run where
it is loaded, because it is not `__main__` there. An export takes what stored names need.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from types import ModuleType

from packager.quick_dataclasses import dataclass

from .cells import cells_of, is_notebook, parsed
from .definitions import DEFINITIONS, Definitions, Statement, statements_of


@dataclass(frozen=True, slots=True)
class MainSource:
    """`text` is None where there is no source, and `problem` says why. `package` is what relative imports
    start from, where the script was run with `python -m`. Of definitions `problems` stand against storing
    them alone, and `notes` are what else should be known, each with file:line or the cell."""

    text: bytes | None
    path: str | None = None
    package: str = ""
    problem: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def source_of_main(names: Collection[str] | None = None, main: ModuleType | None = None) -> MainSource:
    """Return the source of what `names` of `main` (default: the running one) need.

    Without names a file is taken whole, and of cells all functions and classes with what they need.

    >>> source_of_main(["f"], ModuleType("__main__")).problem
    'it was typed in, and its source is nowhere: put it into a file or a notebook'
    """
    main = sys.modules["__main__"] if main is None else main
    path = None if is_notebook(main) else getattr(main, "__file__", None)
    package = getattr(main, "__package__", None) or ""
    try:
        if path is not None and names is None:
            return MainSource(Path(path).read_bytes(), path, package)
        cells = cells_of(main) if path is None else [Path(path).read_text(encoding="utf-8")]
    except (OSError, UnicodeDecodeError) as error:
        why = f"its file cannot be read: {error}"
        if path == "<stdin>":
            why = (
                "it was read from standard input, and its source is nowhere: put it into a file, and run that"
            )
        return MainSource(None, path, package, why)
    if not cells:
        why = "it was typed in, and its source is nowhere: put it into a file or a notebook"
        return MainSource(None, None, package, why)
    if names is None:
        names = [one.name for cell in cells for one in parsed(cell) if isinstance(one, DEFINITIONS)]
    found = Definitions(cells, names, vars(main), path)
    text = _text(cells, found.kept, package)
    return MainSource(text.encode(), path, package, "", found.problems, found.notes)


def names_bound_in(text: bytes) -> frozenset[str]:
    """Return the names that the statements of a stored `__main__` bind."""
    return frozenset().union(*(one.binds for one in statements_of([text.decode("utf-8", "replace")])))


def _text(cells: Sequence[str], kept: Sequence[Statement], package: str) -> str:
    """Return the lines of statements, with what all of them need first; a cell keeps its own numbers."""
    head = [*dict.fromkeys(ast.unparse(one.node) for one in kept if one.is_future)]
    head += [f"__package__ = {package!r}"] if package else []
    lines: list[str] = []
    for at, cell in enumerate(cells):
        lines += _lines(cell, [one for one in kept if one.cell == at and not one.is_future])
    if head:
        lines[: lines[:1] == [""]] = ["; ".join(head)]
    return "".join(f"{line}\n" for line in lines)


def _lines(cell: str, kept: Sequence[Statement]) -> list[str]:
    """Return the lines of statements in a cell, with nothing in between."""
    lines, found = cell.split("\n"), [""] * max((one.last for one in kept), default=0)
    for one in kept:
        text, before = lines[one.first - 1 : one.last], found[one.first - 1]
        rest = text[-1].encode()[one.node.end_col_offset :]
        if one.node.col_offset or rest.lstrip().startswith(b";"):  # it shares its lines with others
            text = ast.unparse(one.node).splitlines()
            text[0] = f"{before}; {text[0]}" if before else text[0]
        found[one.first - 1 : one.last] = [*text, *[""] * (one.last - one.first + 1 - len(text))]
    return found
