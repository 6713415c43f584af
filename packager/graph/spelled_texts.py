"""Texts in other spellings than an f-string: by `%`, `format`, `join`, by methods, one of two.

Only what is looked for is read so (given_texts.py): an import whose name is spelt so is known by the texts
that name modules, or asked about.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Iterable, Mapping

from .drawn_texts import DrawnTexts

_OTHER_SPELLINGS = frozenset(["replace", "strip", "lower", "casefold"])


class SpelledTexts(DrawnTexts):
    """The literals of a module, and what is spelt with them in any way."""

    def _values(self, node: ast.expr, local: Mapping[str, list[ast.expr]], depth: int) -> Iterable[ast.expr]:
        if depth > 8:
            return ()
        match node:
            case ast.FormattedValue(value=value, conversion=115, format_spec=None):  # "!s"
                return self._values(value, local, depth + 1)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._filled(left, _percent_parts, _given(right), local, depth)
            case ast.Call(func=ast.Attribute(value=left, attr="format"), args=given, keywords=[]):
                return self._filled(left, _brace_parts, given, local, depth)
            case ast.Call(func=ast.Attribute(value=between, attr="join"), args=[listed], keywords=[]):
                return self._joined_by(between, listed, local, depth)
            case ast.Call(func=ast.Attribute(value=spelt, attr=method), args=given, keywords=[]) if (
                method in _OTHER_SPELLINGS
            ):
                return self._spelt_otherwise(spelt, method, given, local, depth)
            case ast.BoolOp(values=either):
                return self._any_of(either, local, depth)
            case ast.IfExp(body=here, orelse=otherwise):
                return self._any_of([here, otherwise], local, depth)
            case ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop")) if not self._values(
                owner, local, depth + 1
            ):
                return ()  # what stands there as a default is not all that it can be
        return super()._values(node, local, depth)

    def _filled(
        self,
        pattern: ast.expr,
        parts_of: Callable[[str, list[ast.expr]], list[ast.expr] | None],
        given: list[ast.expr],
        local: Mapping[str, list[ast.expr]],
        depth: int,
    ) -> list[ast.expr]:
        """Return the texts that patterns make with what they are given."""
        found: list[ast.expr] = []
        for text in self._texts(pattern, local, depth):
            parts = parts_of(text, given)
            found += [] if parts is None else self._joined(parts, local, depth)
        return found

    def _joined_by(
        self, between: ast.expr, listed: ast.expr, local: Mapping[str, list[ast.expr]], depth: int
    ) -> list[ast.expr]:
        """Return the texts that `".".join([a, b])` makes."""
        if not isinstance(listed, (ast.List, ast.Tuple)) or not listed.elts:
            return []
        first, *rest = listed.elts
        return self._joined([first, *(part for one in rest for part in (between, one))], local, depth)

    def _spelt_otherwise(
        self,
        node: ast.expr,
        method: str,
        given: list[ast.expr],
        local: Mapping[str, list[ast.expr]],
        depth: int,
    ) -> list[ast.expr]:
        """Return what a method of texts makes of them, where it is given nothing but texts."""
        arguments = [
            one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        if len(arguments) != len(given):
            return []
        try:
            return [
                ast.Constant(getattr(text, method)(*arguments)) for text in self._texts(node, local, depth)
            ]
        except TypeError:  # too many, or too few
            return []

    def _any_of(
        self, nodes: list[ast.expr], local: Mapping[str, list[ast.expr]], depth: int
    ) -> list[ast.expr]:
        """Return what one of several expressions can be: nothing where one of them is unknown."""
        found = [list(self._values(one, local, depth + 1)) for one in nodes]
        return [value for values in found for value in values] if all(found) else []


def _given(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _percent_parts(pattern: str, given: list[ast.expr]) -> list[ast.expr] | None:
    """Return the parts of `"a.%s" % given`, in order; None for what has other conversions."""
    texts = pattern.split("%s")
    if len(texts) != len(given) + 1 or any("%" in text for text in texts):
        return None
    return _between(texts, given)


def _brace_parts(pattern: str, given: list[ast.expr]) -> list[ast.expr] | None:
    """Return the parts of `"a.{}".format(given)`, in order; None for what is not read."""
    texts = [""]
    values: list[ast.expr] = []
    try:
        for text, field, spec, conversion in string.Formatter().parse(pattern):
            texts[-1] += text
            if field is not None:
                number = int(field) if field else len(values)
                if spec or conversion or number >= len(given):
                    return None
                values.append(given[number])
                texts.append("")
    except ValueError:  # a name, or no pattern
        return None
    return _between(texts, values)


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _between(texts: list[str], values: list[ast.expr]) -> list[ast.expr]:
    """Return texts with values between them."""
    parts: list[ast.expr] = [ast.Constant(texts[0])]
    for value, text in zip(values, texts[1:], strict=True):
        parts += [value, ast.Constant(text)]
    return parts
