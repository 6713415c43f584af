"""Texts that a computed name can be, where it is drawn from literals of the module.

`getattr(package, MODULES[kind][0])` asks for one of the texts that stand first in the values of `MODULES`,
and `for name in NAMES: getattr(package, name)` for one of `NAMES`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

_MOST_TEXTS = 200
_LITERALS = (ast.Dict, ast.List, ast.Tuple, ast.Set)


class DrawnTexts:
    """The literals of a module by the name that is bound to them once, at its top level."""

    def __init__(self, tree: ast.Module) -> None:
        bound: dict[str, list[ast.expr | None]] = {}
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
                    names
                ) == len(values):
                    for target, one in zip(names, values, strict=True):
                        bound.setdefault(target.id if isinstance(target, ast.Name) else "", []).append(one)
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        bound.setdefault(target.id if isinstance(target, ast.Name) else "", []).append(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    bound.setdefault(name, []).append(value)
        self._literals = {
            name: values[0]
            for name, values in bound.items()
            if len(values) == 1 and isinstance(values[0], _LITERALS)
        }

    @property
    def names(self) -> Iterable[str]:
        """The names that stand for a literal."""
        return self._literals

    def literal(self, name: str) -> ast.expr | None:
        """Return the literal that a name stands for; None where that is something else, or not known."""
        return self._literals.get(name)

    def of(self, node: ast.expr, local: Mapping[str, list[ast.expr]]) -> list[str]:
        """Return the texts that an expression can be; none where that is unknown, or too many.

        `local` are the values of a function's own names, each an expression; with a star before the name,
        what a loop takes them from.
        """
        texts = [
            part.value
            for part in self._values(node, local, 0)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        return [] if len(texts) > _MOST_TEXTS else list(dict.fromkeys(texts))

    def _values(self, node: ast.expr, local: Mapping[str, list[ast.expr]], depth: int) -> Iterable[ast.expr]:
        """Return the literals that an expression can be."""
        if depth > 8:
            return ()
        match node:
            case ast.Constant() | ast.Dict() | ast.List() | ast.Tuple() | ast.Set():
                return (node,)
            case ast.Name(id=name) if name in local:
                known = local[name]
                return self._values(known[0], local, depth + 1) if len(known) == 1 else ()
            case ast.Name(id=name) if f"*{name}" in local:
                looped = [one for value in local[f"*{name}"] for one in self._values(value, local, depth + 1)]
                return [item for one in looped for item in _listed(one)]
            case ast.Name(id=name):
                literal = self._literals.get(name)
                return () if literal is None else (literal,)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], local, depth)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, local, depth)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._values(value, local, depth + 1)
            case ast.Subscript(value=owner, slice=index):
                owners = self._values(owner, local, depth + 1)
                return [item for one in owners for item in _items(one, index)]
            case ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop"), args=[index, *others]):
                owners = self._values(owner, local, depth + 1)
                return [*(item for one in owners for item in _items(one, index)), *others]
            case ast.Call(func=ast.Attribute(value=owner, attr="values"), args=[]):
                owners = self._values(owner, local, depth + 1)
                return [ast.Tuple(_items(one, None), ast.Load()) for one in owners]
        return ()

    def _joined(
        self, parts: list[ast.expr], local: Mapping[str, list[ast.expr]], depth: int
    ) -> list[ast.expr]:
        """Return the texts that parts make, one after the other: none where one of them is unknown."""
        texts = [""]
        for part in parts:
            ends = self._texts(part, local, depth)
            texts = [text + end for text in texts for end in ends][: _MOST_TEXTS + 1]
        return [ast.Constant(text) for text in texts]

    def _texts(self, node: ast.expr, local: Mapping[str, list[ast.expr]], depth: int) -> list[str]:
        values = self._values(node, local, depth + 1)
        return [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _items(node: ast.expr, index: ast.expr | None) -> list[ast.expr]:
    """Return what a subscript of a literal can be; all of it where the index is computed."""
    if isinstance(node, ast.Dict):
        if isinstance(index, ast.Constant):
            pairs = zip(node.keys, node.values, strict=True)
            return [
                value for key, value in pairs if isinstance(key, ast.Constant) and key.value == index.value
            ]
        return node.values
    if isinstance(node, (ast.List, ast.Tuple)):
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            return node.elts[index.value : index.value + 1] if index.value >= 0 else node.elts
        return node.elts
    return []


def _listed(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
