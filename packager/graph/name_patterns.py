"""What a computed name of a module may be: a glob, and what it is relative to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .idioms import dotted

_PLACEHOLDER = re.compile(r"%[-#0 +]*\d*(?:\(\w+\))?[sdri]|\{[^{}]*\}")
PACKAGES = {"__name__": "name", "__package__": "package", "__spec__.parent": "package"}
# What lists modules, and what stands for the rest of a name: those directly below, or all.
_LISTERS = {"iter_modules": "*", "walk_packages": "**"}
_KEEPING_ALL = frozenset(["sorted", "list", "tuple", "reversed", "set", "iter"])


def name_pattern(node: ast.expr | None) -> tuple[str, str]:
    """Return a computed string as a glob, and what a leading `__name__` or `__package__` anchors it to."""
    pieces: list[str] = []
    anchor = ""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        match part:
            case ast.Constant(value=str(text)):
                pieces.append(text)
            case ast.JoinedStr(values=values):
                waiting.extend(reversed(values))
            case ast.FormattedValue(value=inner, format_spec=None):
                waiting.append(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                waiting.extend([right, left])
            case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod()):
                pieces.append(_PLACEHOLDER.sub("*", text))
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
                pieces.append(_PLACEHOLDER.sub("*", text))
            case ast.Name() | ast.Attribute() if not pieces and not anchor and dotted(part) in PACKAGES:
                anchor = PACKAGES[dotted(part)]
            case ast.Name(id="**") if pieces and pieces[-1].endswith("."):
                return re.sub(r"\*+", "*", "".join(pieces)) + "**", anchor
            case _:
                pieces.append("*")
    return re.sub(r"\*+", "*", "".join(pieces)), anchor


def names_of_listed(target: ast.expr, values: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield what a loop over `iter_modules(path, prefix)` calls the name of a module, and its value."""
    while isinstance(values, ast.Call) and dotted(values.func) in _KEEPING_ALL and values.args:
        values = values.args[0]
    match values:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _LISTERS:
            keywords = {one.arg: one.value for one in values.keywords}
            prefix = values.args[1] if len(values.args) > 1 else keywords.get("prefix")
            if prefix is not None:
                value = ast.BinOp(prefix, ast.Add(), ast.Name(_LISTERS[name], ast.Load()))
                match target:
                    case ast.Tuple(elts=[_, ast.Name(id=bound), _]):
                        yield bound, value
                    case ast.Name(id=bound):
                        yield f"{bound}.name", value
