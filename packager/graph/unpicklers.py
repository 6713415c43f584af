"""Where code reads pickles by a library that looks for classes in the process: numpy, torch, pandas, dill."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from .idioms import dotted
from .syntax import imported_names, nodes_in_functions

_READERS: Final = {
    "numpy": frozenset(["load"]),
    "torch": frozenset(["load"]),
    "pandas": frozenset(["read_pickle"]),
    "dill": frozenset(["load", "loads", "Unpickler"]),
}


class Unpickles(NamedTuple):
    """A place that reads pickles: what is called, its line, and the line of the function around it (or 0)."""

    function: str
    line: int
    begins: int

    @property
    def library(self) -> str:
        """The library's name: `numpy` of `numpy.load`."""
        return self.function.partition(".")[0]


def unpickling_places(source: bytes, package: str) -> Iterator[Unpickles]:
    """Yield each place of a text that reads pickles by a library which looks for classes in the process.

    A call that cannot read objects is none: `numpy.load` without `allow_pickle`, `torch.load` of weights
    alone where nothing is declared safe; nor is one of `torch.load` that is given a `pickle_module`.
    `package` is what relative imports of `source` start from.

    >>> code = b"import torch as t\\ndef f(p): return t.load(p), t.load(p, pickle_module=pickle)"
    >>> list(unpickling_places(code, ""))
    [Unpickles(function='torch.load', line=2, begins=2)]
    """
    if not any(library.encode() in source for library in _READERS):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    imported = imported_names(list(ast.walk(tree)), package)
    declares = b"safe_globals" in source
    called: set[ast.expr] = set()  # which come after their calls
    for node, begins in nodes_in_functions(tree):
        if isinstance(node, ast.Call) and (named := _reader(node.func, imported)):
            called.add(node.func)
            if _can_read_objects(named, node, declares=declares):
                yield Unpickles(named, node.lineno, begins)
        elif (
            isinstance(node, ast.Attribute | ast.Name)
            and node not in called
            and (named := _reader(node, imported))
        ):
            yield Unpickles(named, node.lineno, begins)


def _reader(node: ast.expr, imported: dict[str, str]) -> str:
    """Return the true name of a function that reads pickles, such as `numpy.load`; "" for what is none."""
    first, _, rest = dotted(node).partition(".")
    if first not in imported:
        return ""
    name = ".".join(filter(None, (imported[first], rest)))
    return name if name.rpartition(".")[2] in _READERS.get(name.partition(".")[0], ()) else ""


def _can_read_objects(function: str, call: ast.Call, *, declares: bool) -> bool:
    """Say whether a call may read objects, as far as its arguments tell."""
    given = {word.arg: word.value for word in call.keywords}
    if None in given:  # **options
        return True
    match function.partition(".")[0]:
        case "numpy":
            allowed = given.get("allow_pickle", call.args[2] if len(call.args) > 2 else ast.Constant(False))
            return not _is(allowed, False)
        case "torch":
            by_own = "pickle_module" in given or len(call.args) > 2
            return not by_own and (declares or not _is(given.get("weights_only"), True))
    return True


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
