"""Where code reads the `__path__` of another package: a list of folders, of which an archive has one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from .idioms import dotted

_LISTERS: Final = frozenset(["iter_modules", "walk_packages"])


def paths_read(source: bytes, package: str, names: Collection[str]) -> Iterator[tuple[str, int, int, str]]:
    """Yield each read of `__path__` of one of `names`: the name, the line, the function's line and name.

    `package` is what relative imports of `source` start from. One that only lists the modules in the folders
    finds all of them, however many folders there are, and is none. At the top of a module there is no
    function: line 0 and "".

    >>> code = b"import lab as x\\nclass A:\\n  def f(self): return len(x.__path__), iter_modules(x.__path__)"
    >>> list(paths_read(code, "", ["lab"]))
    [('lab', 3, 3, 'A.f')]
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    imported = imported_names(list(ast.walk(tree)), package)
    waiting: list[tuple[ast.AST, int, str, str]] = [(tree, 0, "", "")]
    while waiting:
        node, line, function, prefix = waiting.pop(0)
        if isinstance(node, ast.Attribute) and node.attr == "__path__":
            first, _, rest = dotted(node.value).partition(".")
            name = ".".join(part for part in (imported.get(first, ""), rest) if part)
            if name in names:
                yield name, node.lineno, line, function
        listed: list[ast.AST] = []
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _LISTERS:
            listed = [*node.args, *node.keywords]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            prefix = f"{prefix}{node.name}."
            if not isinstance(node, ast.ClassDef) and not function:
                line, function = node.lineno, prefix[:-1]
        inside = [one for one in ast.iter_child_nodes(node) if one not in listed]
        waiting += [(one, line, function, prefix) for one in inside]


def imported_names(nodes: Sequence[ast.AST], package: str) -> dict[str, str]:
    """Return what imports anywhere in a text bind, as dotted names; relative ones start from `package`.

    >>> imported_names(list(ast.walk(ast.parse("import a.b, c as d\\nfrom .e import f"))), "net")
    {'a': 'a', 'd': 'c', 'f': 'net.e.f'}
    """
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*parts, *([node.module] if node.module else [])])
            found |= {alias.asname or alias.name: f"{home}.{alias.name}" for alias in node.names}
    return found
