"""What constructors leave in modules: a registry that `__init__` fills is empty where objects are loaded.

An object that is loaded takes up its state, and its constructor does not run. So what that puts into a
container of a module, beside the object, is there where the object was made and nowhere else.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from packager.graph import MUTATORS, Module, dotted
from packager.names import demangle
from packager.quick_dataclasses import dataclass

_NO_MATTER = re.compile("cache|memo|count|log|warn|instances|lock", re.IGNORECASE)


@dataclass(frozen=True)
class LeftBehind:
    """A container of a module that the constructor of a stored object's class puts something into."""

    module: str
    constructor: str
    container: str
    file: str
    line: int


def left_by_constructors(
    classes: Iterable[tuple[str, str]], stored: Mapping[str, Module]
) -> Iterator[LeftBehind]:
    """Yield what constructors of classes, by module and name, leave in containers, each place once.

    Only code of `stored` modules is read, and only of classes that are imported here.
    """
    told: set[tuple[str, int]] = set()
    trees: dict[str, ast.Module] = {}
    for module_name, qualname in classes:
        for cls in with_bases(module_name, qualname):
            home = stored.get(demangle(cls.__module__))
            if home is None or home.source is None or "__init__" not in vars(cls):
                continue
            if home.name not in trees:
                trees[home.name] = ast.parse(home.source)
            for line, container in _filled(trees[home.name], cls.__qualname__):
                if (home.name, line) not in told:
                    told.add((home.name, line))
                    yield LeftBehind(home.name, f"{cls.__qualname__}.__init__", container, home.file, line)


def with_bases(module_name: str, qualname: str) -> tuple[type, ...]:
    """Return a class that is imported here with its bases, as they are searched; none for anything else."""
    found: object = sys.modules.get(module_name)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found.__mro__ if isinstance(found, type) else ()


def _filled(tree: ast.Module, qualname: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each container that the `__init__` of a class of the module fills."""
    body: list[ast.stmt] = tree.body
    for part in qualname.split("."):
        body = [
            inner
            for node in body
            if isinstance(node, ast.ClassDef) and node.name == part
            for inner in node.body
        ]
    bound = {name for node in tree.body for name in _bound(node)}
    for function in body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            parts = list(ast.walk(function))
            own = {part.arg for part in parts if isinstance(part, ast.arg)}
            own |= {
                part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }
            for owner in filter(None, map(_written_to, parts)):
                spelt = dotted(owner)
                if spelt.partition(".")[0] in bound - own and not _NO_MATTER.search(spelt):
                    yield owner.lineno, spelt


def _written_to(node: ast.AST) -> ast.expr | None:
    """Return what a subscript that is set, or a call of a method that changes its object, writes to."""
    match node:
        case ast.Subscript(value=owner, ctx=ast.Store()):
            return owner
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in MUTATORS:
            return owner
    return None


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a module binds, but for functions and classes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id
    elif isinstance(node, ast.If | ast.Try):
        for inner in [*node.body, *node.orelse, *getattr(node, "finalbody", ())]:
            yield from _bound(inner)
