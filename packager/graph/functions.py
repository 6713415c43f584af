"""What the head of a function says, and what its name promises: parameters, decorators, availability."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from packager.graph.drafts import Place, Scope
from packager.graph.guards import UNKNOWN, Guard, dotted, read_test

__all__ = ["active_decorators", "availability", "function_scope", "lines_with_imports"]

_PASSIVE_DECORATORS = frozenset(
    "abstractmethod abstractproperty cache cached_property classmethod contextmanager asynccontextmanager "
    "dataclass final lru_cache no_grad inference_mode overload override property runtime_checkable "
    "staticmethod total_ordering unique wraps".split()
)
_IMPORTING = (
    b"import", b"exec", b"entry_points", b"run_module", b"run_path", b"from_file", b"FileLoader", b"locate",
    b"resolve_name",
)  # fmt: skip
_AVAILABILITY = re.compile(r"_?(?:is|has|have)_\w+|\w+_available")
_PROBE = re.compile(r"find_spec|package|available|installed|import_module|distribution|^version$")


def function_scope(node: ast.FunctionDef | ast.AsyncFunctionDef, place: Place) -> Scope:
    """The scope of a function, with its parameters."""
    scope, arguments = Scope(place.scope), node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    scope.parameters.update(positional, (argument.arg for argument in arguments.kwonlyargs))
    scope.parameters.update(extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra is not None)
    scope.locals.update(scope.parameters)
    if place.klass is not None and positional and "staticmethod" not in map(dotted, node.decorator_list):
        scope.me = positional[0]
    return scope


def active_decorators(decorators: Sequence[ast.expr]) -> tuple[str, ...]:
    """The decorators that may keep or call what they decorate, as dotted names."""
    names = [dotted(one.func if isinstance(one, ast.Call) else one) for one in decorators]
    return tuple(name for name in names if name.rpartition(".")[2] not in _PASSIVE_DECORATORS)


def availability(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Guard | None, tuple[str, ...]] | None:
    """What `is_x_available` returns, where that can be read, and the modules it looks for; else None."""
    if _AVAILABILITY.fullmatch(node.name) is None:
        return None
    probes = []
    for part in ast.walk(node):
        match part:
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                if _PROBE.search(dotted(function).rpartition(".")[2]) and name.isidentifier():
                    probes.append(name)
    last = node.body[-1]
    returned = read_test(last.value) if isinstance(last, ast.Return) and last.value is not None else UNKNOWN
    return (None if returned == UNKNOWN else returned), tuple(probes)


def lines_with_imports(source: bytes) -> list[int]:
    """The lines that hold a word without which nothing is imported, ascending."""
    if b"\r" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    places = []
    for word in _IMPORTING:  # one after the other: far faster than a pattern of all of them
        at = source.find(word)
        while at >= 0:
            places.append(at)
            at = source.find(word, at + 1)
    lines, line, last = [], 1, 0
    for at in sorted(places):
        line += source.count(b"\n", last, at)
        last = at
        lines.append(line)
    return lines
