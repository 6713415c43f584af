"""Which attributes the classes of a library assign, read from its source as text; nothing of it is imported.

A class assigns what its methods store in `self`, and what it calls parameters of its constructor; what its
bases assign is told with them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from packager._quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassSource:
    """A class as its source tells of it: its bases as "module:Class", and the names that it assigns itself.

    These are the parameters of its constructor, and what its methods store.
    """

    bases: tuple[str, ...]
    attributes: tuple[str, ...]


def classes_of(module: str, text: str, *, is_package: bool = False) -> dict[str, ClassSource]:
    """Return the classes of a module by their names.

    >>> text = "class Line(B):\\n    def __init__(self, tol): self.tol = tol\\n    def fit(self): self.k_ = 1"
    >>> classes_of("lines", text)
    {'Line': ClassSource(bases=('lines:B',), attributes=('k_', 'tol'))}
    """
    tree = ast.parse(text)
    imported = _imported(module, tree, is_package)
    return {node.name: _class(node, module, imported) for node in tree.body for node in _classes_in(node)}


def class_named(root: Path, module: str, name: str) -> tuple[str, ClassSource] | None:
    """Return where a class is defined that is found under a name in a module, and what its source tells.

    `root` is the folder that holds the library. Imports by which the module has the name are followed as
    text. Returns None where that leads nowhere.
    """
    for _ in range(_MOST_STEPS):
        path, is_package = _file_of(root, module)
        if path is None:
            return None
        found, imported = _module(module, path, is_package)
        if name in found:
            return f"{module}:{name}", found[name]
        home = imported.get(name, "")
        if ":" not in home:
            return None
        module, _, name = home.partition(":")
    return None


@lru_cache(maxsize=512)
def _module(module: str, path: Path, is_package: bool) -> tuple[dict[str, ClassSource], dict[str, str]]:
    """The classes of a file, and what its names stand for."""
    text = path.read_text(encoding="utf-8")
    return classes_of(module, text, is_package=is_package), _imported(module, ast.parse(text), is_package)


_MOST_STEPS = 8


def _file_of(root: Path, module: str) -> tuple[Path | None, bool]:
    base = root.joinpath(*module.split("."))
    for path, is_package in ((base.with_suffix(".py"), False), (base / "__init__.py", True)):
        if path.is_file():
            return path, is_package
    return None, False


def _classes_in(node: ast.stmt) -> Iterator[ast.ClassDef]:
    """A class of the top level, also below an `if` or a `try`."""
    if isinstance(node, ast.ClassDef):
        yield node
    elif isinstance(node, (ast.If, ast.Try)):
        for part in [*node.body, *node.orelse]:
            yield from _classes_in(part)


def _imported(module: str, tree: ast.Module, is_package: bool) -> dict[str, str]:
    """What the names of a module stand for: "module:name" of what is imported from one, else a module."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = one.name
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            above = parts[: len(parts) - node.level + is_package] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            for one in node.names:
                names.setdefault(one.asname or one.name, f"{home}:{one.name}")
    return names


def _class(node: ast.ClassDef, module: str, imported: dict[str, str]) -> ClassSource:
    bases = tuple(base for expression in node.bases if (base := _base(expression, module, imported)))
    stored: set[str] = set()
    has_fields = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    for part in node.body:
        if has_fields and isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            stored.add(part.target.id)
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if part.name == "__init__":
                arguments = [*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs]
                stored.update(argument.arg for argument in arguments[1:])
            stored.update(_mangled(name, node.name) for name in _stored(part))
    return ClassSource(bases, tuple(sorted(stored)))


def _base(node: ast.expr, module: str, imported: dict[str, str]) -> str:
    """A base as "module:Class"; "" for one that is computed."""
    if isinstance(node, ast.Name):
        return imported.get(node.id, f"{module}:{node.id}")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{imported.get(node.value.id, node.value.id).replace(':', '.')}:{node.attr}"
    return ""


def _mangled(name: str, owner: str) -> str:
    """A private name (`self.__rows`) as the object has it."""
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner.lstrip('_')}{name}" if is_private else name


def _stored(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The names that a method stores in its first argument."""
    first = [*method.args.posonlyargs, *method.args.args][:1]
    for node in ast.walk(method) if first else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == first[0].arg:
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            yield from (str(name.value) for name in node.args[1:2] if isinstance(name, ast.Constant))
