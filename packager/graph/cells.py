"""The cells of a notebook as Python, and what an interpreter kept of its input.

IPython keeps each cell as it was typed, and as it was made Python: there `%%time` has become a call with
the cell as a text, in which no definition can be seen. So the raw cells are read, and what stands in a cell
below a magic that runs it where it is (`%%time`, `%%capture`) is taken as what runs. The rest is left to
IPython's own transformer: `%` lines, `!`, `?`, and where a bracket or a string makes them something else.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

_RUNS_HERE = re.compile(r"%%(?:time|capture|prun)(?![\w.]).*")
"""Cell magics that run the cell in the notebook; `%%timeit` runs it in a function, others elsewhere."""
_MAGIC = re.compile(r"^\s*[%!?].*$", re.MULTILINE)


def is_notebook(main: ModuleType) -> bool:
    """Say whether a `__main__` keeps the cells that ran in it."""
    inputs = vars(main).get("In")
    return isinstance(inputs, list) and all(isinstance(cell, str) for cell in inputs)


def cells_of(main: ModuleType) -> Sequence[str]:
    """Return the cells of a notebook, as they ran, or what an interpreter kept of its input.

    The number of a cell is that of its `In[...]`, and its lines have the numbers that they have there.
    """
    if is_notebook(main):
        raw, transform = _of_shell(main)
        return [python_of(cell, transform) for cell in raw]
    found: dict[str, str] = {}
    for code in _codes(vars(main).values()):
        text = "".join(linecache.getlines(code.co_filename, vars(main)))
        if text and code.co_filename.startswith("<") and code.co_filename != "<string>":
            found[code.co_filename] = text
    return list(found.values())


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

    >>> python_of("%%time\\n%matplotlib inline\\ndef f(): return 3")
    '\\n\\ndef f(): return 3'
    >>> python_of("%%bash\\nls")
    ''
    """
    lines = cell.split("\n")
    at = 0
    while at < len(lines) and (not lines[at].strip() or _RUNS_HERE.fullmatch(lines[at].strip())):
        lines[at] = ""
        at += 1
    if at < len(lines) and lines[at].lstrip().startswith("%%"):
        return ""
    body = "\n".join(lines[at:])
    if not body.strip():
        return ""
    if not parsed(body):
        body = _MAGIC.sub("", body) if transform is None else _untimed(transform(body))
    return "\n" * at + body


def parsed(text: str) -> list[ast.stmt]:
    """Return the statements of a text; none where it is no Python."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return []


def statements_apart(cell: str) -> list[str]:
    """Return each statement of a cell as a text of its own: so IPython compiles them, one after another."""
    lines = cell.split("\n")
    firsts = [
        (min([one.lineno, *(deco.lineno for deco in getattr(one, "decorator_list", ()))]), one.end_lineno)
        for one in parsed(cell)
    ]
    return ["\n".join([*[""] * (first - 1), *lines[first - 1 : last], ""]) for first, last in firsts]


def _untimed(text: str) -> str:
    """Return a transformed cell with what `%time` runs: `%time net = f()` binds as the plain line does."""
    lines = text.split("\n")
    for statement in parsed(text):
        match statement:
            case ast.Expr(
                ast.Call(ast.Attribute(attr="run_line_magic"), [ast.Constant("time"), ast.Constant(str(run))])
            ):
                lines[statement.lineno - 1] = run if parsed(run) else lines[statement.lineno - 1]
    return "\n".join(lines)


def _of_shell(main: ModuleType) -> tuple[Sequence[str], Callable[[str], str] | None]:
    """Return the raw cells with IPython's transformer; without one, the inputs as they are."""
    inputs: Sequence[str] = vars(main)["In"]
    shell = _shell_of(main)
    raw = getattr(getattr(shell, "history_manager", None), "input_hist_raw", None)
    if not isinstance(raw, list) or len(raw) != len(inputs):
        return inputs, None
    return raw, getattr(shell, "transform_cell", None)


def _shell_of(main: ModuleType) -> Any:
    get = vars(main).get("get_ipython")
    return get() if callable(get) else None


def _codes(values: Iterable[Any]) -> Iterator[CodeType]:
    for value in list(values):
        if getattr(value, "__module__", None) != "__main__":
            continue
        if isinstance(value, FunctionType):
            yield value.__code__
        elif isinstance(value, type):
            methods = (getattr(item, "__func__", item) for item in vars(value).values())
            yield from (method.__code__ for method in methods if isinstance(method, FunctionType))
