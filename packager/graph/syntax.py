"""What the imports in a syntax tree bind, and which methods change what they are of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

MUTATORS: Final = frozenset(
    "append extend insert remove pop popitem clear sort reverse update setdefault add discard appendleft "
    "extendleft popleft rotate put push fill resize move_to_end subtract difference_update "
    "intersection_update symmetric_difference_update __setitem__ __setattr__ __delitem__".split()
)


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
