"""Relations between the attributes of an object, written as rows of text: the one reader of such rows.

A row has the form of Python and is never run as such. What may stand in one:

    support_: i4[n, _]           an array of this dtype, or of these kinds (f, iu, O, any), and of this shape
    scale_: f[n] | None          the same, or None, or no such attribute
    labels in range(len(names))  every number of an array, a list or a dict lies there
    width(coef_) == n            numbers, or lists of numbers member by member: == < <= > >=
    grows(categories)            a word of `WORDS`
    if n:  if n is not None:     what follows is asked where there is such an attribute
    for one, other in zip(a, b)  of every member of lists, or arrays of objects, that are of the same length

No value is compared, counted or asked for anything before its exact type has said that it is one of ours.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from textwrap import dedent
from typing import Any, Final, TypeAlias

from .c_state import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
    shape_of,
)
from .relation_words import members, numbers, shown

_Scope: TypeAlias = dict[str, Any]
_Step: TypeAlias = Callable[[_Scope], Any]

_WORDS: Final = ""  # in a scope, where no attribute of a row has this name
_DTYPES: Final = {"f4": "float32", "f8": "float64", "i4": "int32", "i8": "int64"}
_MOST: Final = 1 << 62
_SIGNS: Final[Mapping[type, tuple[str, Callable[[Any, Any], bool]]]] = {
    ast.Eq: ("", lambda one, other: bool(one == other)),
    ast.Lt: ("less than ", lambda one, other: bool(one < other)),
    ast.LtE: ("at most ", lambda one, other: bool(one <= other)),
    ast.Gt: ("more than ", lambda one, other: bool(one > other)),
    ast.GtE: ("at least ", lambda one, other: bool(one >= other)),
}
_SUMS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
}


class RelationCheck(StateCheck):
    """What the rows of a class say, asked of every object of it; `words` are those that they may use."""

    def __init__(self, name: str, rows: str, words: Mapping[str, Any]) -> None:
        self.types = (name,)  # type: ignore[misc]  # each has those of its row
        self._rows, self._words = rows, words

    def check_made(self, obj: Any) -> None:
        """Check the attributes of an object. Raises ValueError."""
        scope = {**attributes_of(obj), "self": obj, _WORDS: self._words}
        for step in _steps(self._rows):
            step(scope)


@lru_cache(maxsize=256)
def _steps(rows: str) -> tuple[_Step, ...]:
    """Return what the rows of a class are made into; they are read when the first object comes."""
    return tuple(map(_statement, ast.parse(dedent(rows)).body))


# --- statements ---


def _statement(node: ast.stmt) -> _Step:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=form):
            return _declaration(name, form)
        case ast.If(test=test, body=body, orelse=other):
            return _case(_condition(test), [*map(_statement, body)], [*map(_statement, other)])
        case ast.For(target=target, iter=source, body=body):
            return _loop(target, source, [*map(_statement, body)])
        case ast.Expr(value=ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Call(args=bounds)])):
            return _range(left, bounds)
        case ast.Expr(value=ast.Compare(left=left, ops=[sign], comparators=[right])):
            return _comparison(left, sign, right)
        case ast.Expr(value=ast.Call() as call):
            return _value(call)
        case _:
            raise SyntaxError(f"no form of a row: {ast.unparse(node)}")


def _condition(test: ast.expr) -> Callable[[_Scope], bool]:
    match test:
        case ast.Name(id=name):
            return lambda scope: name in scope
        case ast.Compare(left=left, ops=[ast.IsNot()]):
            value = _value(left)
            return lambda scope: value(scope) is not None
        case ast.Call():
            return _value(test)
        case _:
            raise SyntaxError(f"no form of a condition: {ast.unparse(test)}")


def _case(holds: Callable[[_Scope], bool], steps: list[_Step], rest: list[_Step]) -> _Step:
    def ask(scope: _Scope) -> None:
        for step in steps if holds(scope) else rest:
            step(scope)

    return ask


def _declaration(name: str, form: ast.expr) -> _Step:
    may_lack = isinstance(form, ast.BinOp)
    form = form.left if isinstance(form, ast.BinOp) else form
    if not isinstance(form, ast.Subscript) or not isinstance(form.value, ast.Name):
        raise SyntaxError(f"no form of an array: {ast.unparse(form)}")
    kind, parts = form.value.id, form.slice.elts if isinstance(form.slice, ast.Tuple) else [form.slice]
    extents = [(ast.unparse(part), _value(part)) for part in parts]

    def declare(scope: _Scope) -> None:
        value = scope.get(name)
        if value is None and may_lack:
            return
        shape = [
            None if text == "_" else require_int(extent(scope), text, 0, _MOST) for text, extent in extents
        ]
        if kind == "any":
            found = shape_of(value, name)[: len(shape)]
            fits = all(wanted in (None, extent) for wanted, extent in zip(shape, found, strict=False))
            require(fits and len(found) == len(shape), f"{name} has shape {list(found)}, expected {shape}")
        elif kind in _DTYPES:
            require_array(value, name, dtypes=(_DTYPES[kind],), shape=shape)
        else:
            require_array(value, name, kinds=kind, shape=shape)

    return declare


def _loop(target: ast.expr, source: ast.expr, steps: list[_Step]) -> _Step:
    names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
    is_zip = isinstance(source, ast.Call) and ast.unparse(source.func) == "zip"
    parts = source.args if isinstance(source, ast.Call) and is_zip else [source]
    lists = [(ast.unparse(part), _value(part)) for part in parts]

    def every(scope: _Scope) -> None:
        found = [members(value(scope), text) for text, value in lists]
        lengths = [*map(len, found)]
        texts = " and ".join(text for text, _ in lists)
        require(len({*lengths}) == 1, f"{texts} are of lengths {' and '.join(map(str, lengths))}")
        for row in zip(*found, strict=True):
            scope.update(zip(names, row, strict=True))
            for step in steps:
                step(scope)

    return every


def _range(left: ast.expr, bounds: list[ast.expr]) -> _Step:
    what, value = ast.unparse(left), _value(left)
    ends = [(ast.unparse(bound), _value(bound)) for bound in bounds]

    def inside(scope: _Scope) -> None:
        low, stop = [0, *(numbers(end(scope), text)[0] for text, end in ends)][-2:]
        _require_all_inside(value(scope), what, low, stop)

    return inside


def _require_all_inside(found: Any, what: str, low: int, stop: int) -> None:
    import numpy

    if type(found) is numpy.ndarray:
        require(found.dtype.kind in "iu", f"{what} has dtype {found.dtype}, expected integers")
        require_inside(found, what, stop, low)
    elif type(found) in (dict, list, tuple):
        # By the kinds that are there: a vocabulary has many words.
        places = list(found.values()) if type(found) is dict else list(found)
        kinds = {id(kind): place for place in places for kind in (type(place),)}
        require(all(map(is_int, kinds.values())), f"{what} has members that are no integers")
        least, most = (min(places), max(places)) if places else (low, low)
        fits = not places or low <= least <= most < stop
        require(fits, f"{what} has values from {least} to {most}, expected {low} to {stop - 1}")
    else:
        require_int(found, what, low, stop)


def _comparison(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> _Step:
    (what, one), (expected, other) = (ast.unparse(left), _value(left)), (ast.unparse(right), _value(right))
    words, holds = _SIGNS[type(sign)]

    def compare(scope: _Scope) -> None:
        wanted = numbers(other(scope), expected)
        found = numbers(one(scope), what, shown(wanted))
        pairs = _side_by_side(found, wanted)
        fits = pairs is not None and all(holds(*pair) for pair in pairs)
        require(fits, f"{what} is {shown(found)}, expected {words}{shown(wanted)}")

    return compare


def _side_by_side(one: list[Any], other: list[Any]) -> list[tuple[Any, Any]] | None:
    """Return pairs of members, each with the same one where that stands alone; None for other lengths."""
    if len(one) != len(other):
        one, other = (one * len(other), other) if len(one) == 1 else (one, other * len(one))
    return [*zip(one, other, strict=True)] if len(one) == len(other) else None


# --- values ---


def _value(node: ast.expr) -> _Step:
    match node:
        case ast.Constant(value=value):
            return lambda scope: value
        case ast.Name(id=name):
            return lambda scope: scope.get(name)
        case ast.Attribute(value=inner, attr=name):
            holder = _value(inner)
            return lambda scope: attributes_of(holder(scope)).get(name)
        case ast.BinOp(left=left, op=sign, right=right):
            return _sum(left, _SUMS[type(sign)], right)
        case ast.Call(func=ast.Name(id=word), args=args):
            values, text = [*map(_value, args)], ", ".join(map(ast.unparse, args))
            return lambda scope: scope[_WORDS][word](*(value(scope) for value in values), text)
        case _:
            raise SyntaxError(f"no form of a value: {ast.unparse(node)}")


def _sum(left: ast.expr, total: Callable[[Any, Any], Any], right: ast.expr) -> _Step:
    (text, one), (rest, other) = (ast.unparse(left), _value(left)), (ast.unparse(right), _value(right))

    def add(scope: _Scope) -> Any:
        pairs = _side_by_side(numbers(one(scope), text), numbers(other(scope), rest))
        if pairs is None:
            raise ValueError(f"{text} and {rest} are of other lengths")
        made = [total(*pair) for pair in pairs]
        return made[0] if len(made) == 1 else made

    return add
