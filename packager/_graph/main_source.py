"""The source of `__main__`: a script's file or the cells of a notebook, whole, or what some names need of it.

A walk by itself takes a script whole; what stands under `if __name__ == "__main__":` does not run where
it is loaded, because it is not `__main__` there. An export takes what stored names need.

IPython keeps each cell as it was typed, and as it was made Python: there `%%time` has become a call with
the cell as a text, in which no definition can be seen. So the raw cells are read, and what stands in a cell
below a magic that runs it where it is (`%%time`, `%%capture`) is taken as what runs, and so is the rest of a
line with `%time`. Other magics are left to IPython's own transformer, where a cell is no Python with them.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import ModuleType

from packager._quick_dataclasses import dataclass

from .codes import codes_of
from .definitions import DEFINITIONS, CellStatement, Definitions, statements_of
from .import_statements import statements_in

_RUNS_HERE = re.compile(r"(?:[ \t]*(?:%%(?:time|capture|prun)(?![\w.]).*)?\n)*")
"""Cell magics that run the cell in the notebook; `%%timeit` runs it in a function, others elsewhere."""
_TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=[^-\s])", re.MULTILINE)
_MAGIC = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


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
    'its source was typed in and is in no file: put it into a file or a notebook'
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
                "its source was read from standard input and is in no file: put it into a file, and run that"
            )
        return MainSource(None, path, package, why)
    if not cells:
        why = "its source was typed in and is in no file: put it into a file or a notebook"
        return MainSource(None, None, package, why)
    if names is None:
        names = [one.name for cell in cells for one in statements_in(cell) if isinstance(one, DEFINITIONS)]
    found = Definitions(cells, names, vars(main), path)
    text = _text(cells, found.kept, package)
    return MainSource(text.encode(), path, package, "", found.problems, found.notes)


def names_bound_in(text: bytes) -> frozenset[str]:
    """Return the names that the statements of a stored `__main__` bind."""
    return frozenset().union(*(one.binds for one in statements_of([text.decode("utf-8", "replace")])))


def _text(cells: Sequence[str], kept: Sequence[CellStatement], package: str) -> str:
    """Return the lines of statements, with what all of them need first; a cell keeps its own numbers."""
    head = [*dict.fromkeys(ast.unparse(one.node) for one in kept if one.is_future)]
    head += [f"__package__ = {package!r}"] if package else []
    lines: list[str] = []
    for at, cell in enumerate(cells):
        lines += _lines(cell, [one for one in kept if one.cell == at and not one.is_future])
    if head:
        lines[: lines[:1] == [""]] = ["; ".join(head)]
    return "".join(f"{line}\n" for line in lines)


def _lines(cell: str, kept: Sequence[CellStatement]) -> list[str]:
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


# --- notebooks ---


def is_notebook(main: ModuleType) -> bool:
    """Say whether a `__main__` keeps the cells that ran in it."""
    inputs = vars(main).get("In")
    return isinstance(inputs, list) and all(isinstance(cell, str) for cell in inputs)


def cells_of(main: ModuleType) -> Sequence[str]:
    """Return the cells of a notebook, as they ran, or what an interpreter kept of its input.

    The number of a cell is that of its `In[...]`, and its lines have the numbers that they have there.
    """
    if not is_notebook(main):
        own = [one for one in list(vars(main).values()) if getattr(one, "__module__", "") == "__main__"]
        files = dict.fromkeys(code.co_filename for one in own for code in codes_of(one))
        texts = ("".join(linecache.getlines(file, vars(main))) for file in files)
        return [
            text
            for file, text in zip(files, texts, strict=True)
            if text and file[0] == "<" and file != "<string>"
        ]
    inputs, shell = vars(main)["In"], vars(main).get("get_ipython")
    shell = shell() if callable(shell) else None
    raw = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None)
    if not isinstance(raw, list) or len(raw) != len(inputs):
        return [python_of(cell) for cell in inputs]
    return [python_of(cell, getattr(shell, "transform_cell", None)) for cell in raw]


def definitions_in_cells(name: str) -> tuple[str, ...]:
    """Return the cells of the running notebook that define a function or class of that name, as `In[3]`."""
    main = sys.modules["__main__"]
    return tuple(
        f"In[{at}]"
        for at, cell in enumerate(cells_of(main) if is_notebook(main) else ())
        if any(getattr(one, "name", None) == name for one in statements_in(cell))
    )


def python_of(cell: str, transform: Callable[[str], str] | None = None) -> str:
    """Return a raw cell as Python: "" for one that runs elsewhere. `transform` is IPython's own.

    >>> python_of("%%time\\n%matplotlib inline\\n%time x = 3")
    '\\n\\nx = 3'
    >>> python_of("%%bash\\nls")
    ''
    """
    magics = _RUNS_HERE.match(cell)
    above = magics[0] if magics else ""
    body = cell[len(above) :]
    if not body.strip() or body.lstrip().startswith("%%"):
        return ""
    if not statements_in(body):
        body = _TIMED.sub(r"\1", body)
    if not statements_in(body):
        body = _MAGIC.sub("", body) if transform is None else transform(body)
    return "\n" * above.count("\n") + body


def statements_apart(cell: str) -> list[str]:
    """Return each statement of a cell as a text of its own: so IPython compiles them, one after another."""
    lines, found = cell.split("\n"), []
    for one in statements_in(cell):
        first = min([one.lineno, *(deco.lineno for deco in getattr(one, "decorator_list", ()))])
        found.append("\n".join([*[""] * (first - 1), *lines[first - 1 : one.end_lineno], ""]))
    return found
