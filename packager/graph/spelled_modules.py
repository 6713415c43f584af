"""Where functions make classes and tell them their module by a text: `namedtuple("Row", "x", module="a")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from .idioms import dotted
from .named_variables import texts_bound
from .syntax import nodes_in_functions

_MAKERS: Final = frozenset("namedtuple Enum IntEnum StrEnum Flag IntFlag make_dataclass".split())
_MAKERS_IN_BYTES: Final = tuple(maker.encode() for maker in ("namedtuple", "Enum", "Flag", "make_dataclass"))
_NAMED: Final = "__module__"


def modules_spelled_out(source: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield each module that a class made in a function is told by a text: that, its line, the function's.

    The text may be a global that is one. What is made at the top of a module is left out.

    >>> code = b"def make(fields):\\n    return namedtuple('Row', fields, module='shop.rows')"
    >>> list(modules_spelled_out(code))
    [('shop.rows', 2, 1)]
    """
    is_told = b"module" in source and any(maker in source for maker in _MAKERS_IN_BYTES)
    if not is_told and _NAMED.encode() not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    texts = dict(texts_bound(tree))
    for node, begins in nodes_in_functions(tree):
        for value in _told(node) if begins else ():
            if text := _text(value, texts):
                yield text, value.lineno, begins


def _told(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a class that is made here is told of its module, in any of the ways that Python has."""
    match node:
        case ast.Call(func=made, keywords=given) if dotted(made).rpartition(".")[2] in _MAKERS:
            yield from (one.value for one in given if one.arg == "module")
        case ast.Call(func=ast.Name(id="type"), args=[_, _, ast.Dict(keys=keys, values=values)]):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == _NAMED:
                    yield value
        case ast.ClassDef(body=body):
            for statement in body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == _NAMED:
                        yield value


def _text(value: ast.expr, texts: Mapping[str, str]) -> str:
    match value:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name):
            return texts.get(name, "")
    return ""
