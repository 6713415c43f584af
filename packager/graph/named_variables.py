"""Where code reads variables of the environment, as far as their names can be seen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from .idioms import dotted
from .syntax import imported_names, nodes_in_functions

_IN_TEXTS: Final = re.compile(r"\$(?:(\w+)|\{([^{}*]+)\})")
_READERS: Final = frozenset(["get", "setdefault", "pop"])


def variables_read(source: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield each read of a variable of the environment: a glob of its name, the line, the function's line.

    The name may be a text, a global that is one, or be put together with texts. At the top of a module there
    is no function: line 0.

    >>> code = b"import os\\nKEY = 'A_MODE'\\ndef f(x): return os.getenv(KEY), os.environ[f'A_{x}']"
    >>> list(variables_read(code))
    [('A_MODE', 3, 3), ('A_*', 3, 3)]
    """
    if not any(word in source for word in (b"environ", b"getenv", b"expandvars")):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    nodes = list(ast.walk(tree))
    names = _Names(imported_names(nodes, ""), dict(texts_bound(tree)))
    names.take_aliases(nodes)
    for node, begins in nodes_in_functions(tree):
        if isinstance(node, ast.expr) and (asked := names.asked_for(node)) is not None:
            pattern = names.pattern(asked)
            if pattern.strip("*"):
                yield pattern, node.lineno, begins
        if isinstance(node, ast.Call):
            yield from ((name, node.lineno, begins) for name in names.expanded(node))


class _Names:
    """What names stand for in a module: those that it imports, and texts that it binds at its top."""

    def __init__(self, imported: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self._imported = dict(imported)
        self._texts = texts

    def take_aliases(self, nodes: list[ast.AST]) -> None:
        """Take up names that are bound to the environment: `env = os.environ`."""
        for node in nodes:
            if isinstance(node, ast.Assign) and self._meant(node.value) == "os.environ":
                names = [one.id for one in node.targets if isinstance(one, ast.Name)]
                self._imported |= dict.fromkeys(names, "os.environ")

    def asked_for(self, node: ast.expr) -> ast.expr | None:
        """Return what names the variable that an expression reads; None where it reads none."""
        match node:
            case ast.Subscript(value=held, slice=name, ctx=ast.Load()):
                return name if self._meant(held) == "os.environ" else None
            case ast.Call(func=ast.Attribute(value=held, attr=method), args=[name, *_]) if method in _READERS:
                return name if self._meant(held) == "os.environ" else None
            case ast.Call(func=called, args=[name, *_]):
                return name if self._meant(called) == "os.getenv" else None
            case ast.Compare(left=name, ops=[ast.In() | ast.NotIn()], comparators=[held]):
                return name if self._meant(held) == "os.environ" else None
        return None

    def expanded(self, call: ast.Call) -> Iterator[str]:
        """Yield the variables in a text that a call of `os.path.expandvars` fills in."""
        if self._meant(call.func) in ("os.path.expandvars", "posixpath.expandvars", "ntpath.expandvars"):
            for text in map(self.pattern, call.args[:1]):
                for found in _IN_TEXTS.finditer(text):
                    yield found[1] or found[2]

    def pattern(self, name: ast.expr) -> str:
        """Return a glob of the texts that an expression may be; "*" for one that nothing is known of."""
        match name:
            case ast.Constant(value=str() as text):
                return text
            case ast.Name(id=variable):
                return self._texts.get(variable, "*")
            case ast.JoinedStr(values=parts):
                return "".join(self.pattern(one) for one in parts)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.pattern(left) + self.pattern(right)
        return "*"

    def _meant(self, node: ast.expr) -> str:
        first, _, rest = dotted(node).partition(".")
        return ".".join(part for part in (self._imported.get(first, ""), rest) if part)


def texts_bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the texts that a module binds at its top."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                yield name, text
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str() as text)):
                yield name, text
