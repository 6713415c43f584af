"""The cells of a notebook as Python, and what an interpreter kept of its input.

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
from collections.abc import Callable, Sequence
from types import ModuleType

from .codes import codes_of
from .import_statements import parsed as parsed_source

_RUNS_HERE = re.compile(r"(?:[ \t]*(?:%%(?:time|capture|prun)(?![\w.]).*)?\n)*")
"""Cell magics that run the cell in the notebook; `%%timeit` runs it in a function, others elsewhere."""
_TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=[^-\s])", re.MULTILINE)
_MAGIC = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


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
        if any(getattr(one, "name", None) == name for one in parsed(cell))
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
    if not parsed(body):
        body = _TIMED.sub(r"\1", body)
    if not parsed(body):
        body = _MAGIC.sub("", body) if transform is None else transform(body)
    return "\n" * above.count("\n") + body


def parsed(text: str) -> list[ast.stmt]:
    """Return the statements of a text; none where it is no Python."""
    tree = parsed_source(text)
    return tree.body if isinstance(tree, ast.Module) else []


def statements_apart(cell: str) -> list[str]:
    """Return each statement of a cell as a text of its own: so IPython compiles them, one after another."""
    lines, found = cell.split("\n"), []
    for one in parsed(cell):
        first = min([one.lineno, *(deco.lineno for deco in getattr(one, "decorator_list", ()))])
        found.append("\n".join([*[""] * (first - 1), *lines[first - 1 : one.end_lineno], ""]))
    return found
