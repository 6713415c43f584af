"""Packages made lazy, where the user asks for it: imports of an `__init__` become a `__getattr__` table.

Only an `__init__` that holds nothing but imports, constants, a docstring, `__all__` and a
TYPE_CHECKING block is rewritten (`Scan.rewritable`). An import stays as it is when it reaches
outside the package, renames, is a star, or brings a name that a submodule has too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

__all__ = ["lazy_source"]

_TABLE = """
_lazy_names = {table}


def __getattr__(name):
    if name not in _lazy_names:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    from importlib import import_module

    entry = _lazy_names[name]
    if isinstance(entry, str):
        return import_module(entry, __name__)
    value = globals()[name] = getattr(import_module(entry[0], __name__), name)
    return value


def __dir__():
    return sorted({{*globals(), *_lazy_names}})
"""


def lazy_source(source: bytes, is_submodule: Callable[[str], bool]) -> bytes | None:
    """The source with a table in the place of its own package's imports; None where none can be moved."""
    tree = ast.parse(source)
    table: dict[str, str | tuple[str, str]] = {}
    moved: list[ast.ImportFrom] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and _can_wait(node, is_submodule):
            moved.append(node)
            for alias in node.names:
                if node.module is None:
                    table[alias.name] = f".{alias.name}"
                else:
                    table[alias.name] = (f".{node.module}", alias.name)
                    top = node.module.partition(".")[0]
                    table.setdefault(top, f".{top}")
    if not moved:
        return None
    return _without(source, moved) + _TABLE.format(table=repr(table)).encode()


def _can_wait(node: ast.ImportFrom, is_submodule: Callable[[str], bool]) -> bool:
    for alias in node.names:
        if alias.name == "*" or alias.asname not in (None, alias.name):
            return False
        if node.module is not None and is_submodule(alias.name):
            return False  # `from .conv import conv`: the function hides the module, whoever comes first
    return True


def _without(source: bytes, nodes: list[ast.ImportFrom]) -> bytes:
    """`pass` in the place of statements, by column: several may share a line."""
    lines = source.splitlines(keepends=True)
    for node in reversed(nodes):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + b"pass" + after]
    return b"".join(lines).rstrip(b"\n") + b"\n"
