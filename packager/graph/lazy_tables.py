"""Packages that import lazily: how one is recognised, and the table of names that it offers.

Nothing here knows a particular package. A module is lazy when it replaces itself in
`sys.modules`, has a module `__getattr__`, or calls an `attach` function. Its table is read off
dict literals at module level (name -> module, module -> [names], `d["module"] = [...]`); what it
imports under TYPE_CHECKING belongs to the table too, and is found among the scan's imports.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from .guards import dotted, is_typing_test

_ATTACH = frozenset(["attach", "attach_stub"])
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


def is_lazy(tree: ast.Module) -> bool:
    """Say whether the names of this module appear when they are asked for."""
    for node in _statements(tree):
        match node:
            case ast.FunctionDef(name="__getattr__"):
                return True
            case ast.Assign(targets=targets, value=value):
                if any(_is_own_entry(target) for target in targets) or _is_attach(value):
                    return True
            case ast.Expr(value=ast.Call(func=function)) if dotted(function) == "sys.modules.update":
                return True
    return False


def read_table(tree: ast.Module) -> tuple[tuple[str, str, int], ...]:
    """List (name, module, line) for all dict literals that look like a table, in source order.

    Both directions are given for a dict of strings to strings: which side is a module, the walk
    can tell and this cannot.
    """
    table: list[tuple[str, str, int]] = []
    for node in _statements(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(module)))], value=value):
                table.extend((name, module, node.lineno) for name in _strings(value))
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                table.extend(_entries_within(value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update" | "extend"), args=args) as call):
                module = _subscripted(call)
                for argument in args:
                    if module:
                        table.extend((name, module, node.lineno) for name in _strings(argument))
                    else:
                        table.extend(_entries_within(argument))
    return tuple(dict.fromkeys(table))


def is_rewritable(tree: ast.Module) -> bool:
    """Say whether the module is made of imports, constants, a docstring, `__all__` and TYPE_CHECKING."""
    for index, node in enumerate(tree.body):
        match node:
            case ast.Import() | ast.Pass():
                continue
            case ast.ImportFrom():
                continue
            case ast.Expr(value=ast.Constant(value=str())) if index == 0:
                continue
            case ast.If(test=test, orelse=[]) if is_typing_test(test):
                continue
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ) if _is_constant(value):
                continue
        return False
    return bool(tree.body)


def lazy_source(source: bytes, is_submodule: Callable[[str], bool]) -> bytes | None:
    """Return the source with a table in place of its own package's imports; None where none can move."""
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


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement outside functions and classes, and the functions and classes themselves."""
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.For, ast.While, ast.With)):
            if isinstance(node, ast.If) and is_typing_test(node.test):
                waiting.extend(reversed(node.orelse))
                continue
            inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            for handler in getattr(node, "handlers", ()):
                inner.extend(handler.body)
            waiting.extend(reversed(inner))


def _is_own_entry(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and dotted(target.value) in ("sys.modules", "modules", "_sys.modules")
        and dotted(target.slice) == "__name__"
    )


def _is_attach(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _ATTACH


def _entries_within(value: ast.expr) -> Iterator[tuple[str, str, int]]:
    """Yield the entries of every dict literal in an expression (also an argument of a call)."""
    for node in ast.walk(value):
        if not isinstance(node, ast.Dict):
            continue
        for key, item in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield key.value, item.value, key.lineno
                yield item.value, key.value, key.lineno
            elif isinstance(item, (ast.List, ast.Set, ast.Tuple)):
                strings = _strings(item)
                if isinstance(item, ast.Tuple) and 1 <= len(strings) <= 2 and "." in strings[0]:
                    yield key.value, strings[0], key.lineno
                yield from ((name, key.value, key.lineno) for name in strings)


def _strings(value: ast.expr) -> list[str]:
    if not isinstance(value, (ast.List, ast.Set, ast.Tuple)):
        return []
    return [
        part.value for part in value.elts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def _subscripted(call: ast.Call) -> str:
    """Return `module` in `table["module"].extend(...)`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Subscript) and isinstance(owner.slice, ast.Constant):
        return owner.slice.value if isinstance(owner.slice.value, str) else ""
    return ""


def _is_constant(value: ast.expr) -> bool:
    return all(
        isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub))
        for node in ast.walk(value)
    )


def _can_wait(node: ast.ImportFrom, is_submodule: Callable[[str], bool]) -> bool:
    for alias in node.names:
        if alias.name == "*" or alias.asname not in (None, alias.name):
            return False
        if node.module is not None and is_submodule(alias.name):
            return False  # `from .conv import conv`: the function hides the module, in either order
    return True


def _without(source: bytes, nodes: list[ast.ImportFrom]) -> bytes:
    """Put `pass` in the place of statements, by column: several may share a line."""
    lines = source.splitlines(keepends=True)
    for node in reversed(nodes):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        lines[first : last + 1] = [before + b"pass" + after]
    return b"".join(lines).rstrip(b"\n") + b"\n"
