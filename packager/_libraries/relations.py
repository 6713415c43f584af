"""Relations between the attributes of an object, written as rows of text: the one reader of such rows.

A row has the form of Python and is never run as such. What may stand in one:

    centres_: f[_, n]            an array of a dtype of these kinds (f, iu, O ...) and of this shape
    scale_: f[n] | None          the same, or None, or no such attribute
    labels in range(len(names))  every number of an array, a list or a dict lies there
    width(coef_) == n            ints, or lists of ints member by member: == <= >
    grows(categories)            a word of `WORDS`
    if n:  if n is not None:     what follows is asked where there is such an attribute
    for one, other in zip(a, b)  of every member of lists, or arrays of objects, that are of the same length

No value is compared, counted or asked for anything before its exact type has said that it is one of ours.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from textwrap import dedent
from typing import Any, Final

from packager._codecs import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
)
from packager._libraries.scipy.sparse_state import shape_of

_MOST: Final = 1 << 62
_SIGNS: Final[Mapping[type, tuple[str, Callable[[Any, Any], bool]]]] = {
    ast.Eq: ("", operator.eq),
    ast.LtE: ("at most ", operator.le),
    ast.Gt: ("more than ", operator.gt),
}
_SUMS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {ast.Add: operator.add, ast.Sub: operator.sub}
_text = lru_cache(maxsize=4096)(ast.unparse)  # what a row calls something


class RelationCheck(StateCheck):
    """What the rows of a class say, asked of every object of it; `words` are those that they may use."""

    def __init__(self, name: str, rows: str, words: Mapping[str, Any]) -> None:
        self.types = (name,)  # type: ignore[misc]  # each has those of its row
        self._rows, self._words = rows, words

    def check_made(self, obj: object) -> None:
        """Check the attributes of an object. Raises ValueError."""
        _Asked({**attributes_of(obj), "self": obj}, self._words).run(_statements(self._rows))


@lru_cache(maxsize=256)
def _statements(rows: str) -> list[ast.stmt]:
    """Return the rows of a class; they are read when the first object comes."""
    return ast.parse(dedent(rows)).body


class _Asked:
    """One object that rows are asked of: its attributes, and the members that loops have come to."""

    def __init__(self, names: dict[str, Any], words: Mapping[str, Any]) -> None:
        self._names, self._words = names, words

    def run(self, rows: list[ast.stmt]) -> None:
        """Ask rows one after another. Raises ValueError for one that does not hold."""
        for row in rows:
            self._ask(row)

    def _ask(self, row: ast.stmt) -> None:
        match row:
            case ast.Expr(value=ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Call(args=bounds)])):
                self._require_range(left, bounds)
            case ast.Expr(value=ast.Compare(left=left, ops=[sign], comparators=[right])):
                self._compare(left, sign, right)
            case ast.Expr(value=ast.Call() as call):
                self._value(call)
            case ast.If(test=test, body=body, orelse=other):
                self.run(body if self._holds(test) else other)
            case ast.For(target=target, iter=source, body=body):
                self._loop(target, source, body)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=form):
                self._declare(name, form)
            case _:
                raise SyntaxError(f"no form of a row: {ast.unparse(row)}")

    def _holds(self, test: ast.expr) -> bool:
        match test:
            case ast.Name(id=name):
                return name in self._names
            case ast.Compare(left=left, ops=[ast.IsNot()]):
                return self._value(left) is not None
            case ast.Call():
                return bool(self._value(test))
            case _:
                raise SyntaxError(f"no form of a condition: {ast.unparse(test)}")

    def _declare(self, name: str, form: ast.expr) -> None:
        value = self._names.get(name)
        if isinstance(form, ast.BinOp):
            if value is None:
                return
            form = form.left
        match form:
            case ast.Subscript(value=ast.Name(id=kind), slice=ast.Tuple(elts=extents)):
                pass
            case ast.Subscript(value=ast.Name(id=kind), slice=extent):
                extents = [extent]
            case _:
                raise SyntaxError(f"no form of an array: {ast.unparse(form)}")
        shape = [
            None if _text(one) == "_" else require_int(self._value(one), _text(one), 0, _MOST)
            for one in extents
        ]
        require_array(value, name, kinds=kind, shape=shape)

    def _loop(self, target: ast.expr, source: ast.expr, rows: list[ast.stmt]) -> None:
        names = [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]
        is_zip = isinstance(source, ast.Call) and _text(source.func) == "zip"
        parts = source.args if isinstance(source, ast.Call) and is_zip else [source]
        found = [members(self._value(part), _text(part)) for part in parts]
        lengths = [*map(len, found)]
        texts = " and ".join(map(_text, parts))
        require(len({*lengths}) == 1, f"{texts} are of lengths {' and '.join(map(str, lengths))}")
        for row in zip(*found, strict=True):
            self._names.update(zip(names, row, strict=True))
            self.run(rows)

    def _require_range(self, left: ast.expr, bounds: list[ast.expr]) -> None:
        low, stop = [0, *(numbers(self._value(bound), _text(bound))[0] for bound in bounds)][-2:]
        _require_all_inside(self._value(left), _text(left), low, stop)

    def _compare(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> None:
        words, holds = _SIGNS[type(sign)]
        wanted = numbers(self._value(right), _text(right))
        found = numbers(self._value(left), _text(left), shown(wanted))
        pairs = _side_by_side(found, wanted)
        fits = pairs is not None and all(holds(*pair) for pair in pairs)
        require(fits, f"{_text(left)} is {shown(found)}, expected {words}{shown(wanted)}")

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Call(func=ast.Name(id=word), args=args):
                return self._words[word](*map(self._value, args), ", ".join(map(_text, args)))
            case ast.Constant(value=value):
                return value
            case ast.BinOp(left=left, op=sign, right=right):
                sides = (numbers(self._value(side), _text(side)) for side in (left, right))
                pairs = _side_by_side(*sides)
                if pairs is None:
                    raise ValueError(f"{_text(left)} and {_text(right)} are of other lengths")
                made = [_SUMS[type(sign)](*pair) for pair in pairs]
                return made[0] if len(made) == 1 else made
            case _:
                raise SyntaxError(f"no form of a value: {ast.unparse(node)}")


def _require_all_inside(found: Any, what: str, low: int, stop: int) -> None:
    import numpy

    if type(found) is numpy.ndarray:
        require(found.dtype.kind in "iu", f"{what} has dtype {found.dtype}, expected integers")
        require_inside(found, what, stop, low)
    elif type(found) in (dict, list, tuple):
        places = numbers(found, what)
        least, most = (min(places), max(places)) if places else (low, low)
        fits = not places or low <= least <= most < stop
        require(fits, f"{what} has values from {least} to {most}, expected {low} to {stop - 1}")
    else:
        require_int(found, what, low, stop)


def _side_by_side(one: list[Any], other: list[Any]) -> list[tuple[Any, Any]] | None:
    """Return pairs of members, each with the same one where that stands alone; None for other lengths."""
    if len(one) != len(other):
        one, other = (one * len(other), other) if len(one) == 1 else (one, other * len(one))
    return [*zip(one, other, strict=True)] if len(one) == len(other) else None


# --- words: what rows may ask of an attribute; the last argument is what a row calls it ---


def numbers(value: Any, what: str, expected: str = "an int") -> list[Any]:
    """Return an int, or the ints of a list, as a list. Raises ValueError for anything else.

    >>> numbers(3, "n"), numbers([1, 2], "n")
    ([3], [1, 2])
    """
    if type(value) is int:
        return [value]
    import numpy

    if type(value) is numpy.ndarray and value.dtype.kind in "iu" and value.ndim == 1:
        return list(value.tolist())
    if type(value) in (list, tuple, dict):
        found = list(value.values()) if type(value) is dict else list(value)
        # One of each kind: a vocabulary has many words.
        fits = all(map(is_int, dict(zip(map(id, map(type, found)), found, strict=True)).values()))
        require(fits, f"{what} has members that are no ints")
        return found
    require(is_int(value), f"{what} is {_kind(value)}, expected {expected}")
    return [value]


def _kind(value: Any) -> str:
    return type(value).__name__


def shown(values: list[Any]) -> str:
    """Return numbers as a message shows them.

    >>> shown([3]), shown([1, 2])
    ('3', '[1, 2]')
    """
    return str(values[0]) if len(values) == 1 else str([*values[:8]])[:60]


def members(value: Any, what: str) -> list[Any]:
    """Return the members of a list, a tuple or an array of objects; an array of numbers is one member.

    >>> members([1, "a"], "x")
    [1, 'a']
    """
    import numpy

    if type(value) in (list, tuple):
        return [*value]
    require(type(value) is numpy.ndarray, f"{what} is a {_kind(value)}, not a list")
    return list(value.ravel().tolist()) if value.dtype == object and value.ndim else [value]


def _len(value: Any, what: str) -> int:
    if type(value) in (list, tuple, dict, str):
        return len(value)
    return (shape_of(value, what) or (1,))[0]


def _lens(value: Any, what: str) -> list[int]:
    """Return the lengths of all members; that of None is one."""
    return [1 if one is None else _len(one, what) for one in members(value, what)]


def extents_of(value: object, what: str) -> tuple[int, ...]:
    """Return the shape of an array or a sparse matrix; that of a number has no extents.

    >>> extents_of(0.5, "x")
    ()
    """
    import numpy

    is_float = type(value) is float or (
        isinstance(value, numpy.floating) and type(value).__module__ == "numpy"
    )
    return () if is_float or is_int(value) else shape_of(value, what)


def _width(value: Any, what: str) -> int:
    """Return the number of columns; a row alone has as many as it has values, and a number is one."""
    return (extents_of(value, what) or (1,))[-1]


def _rows(value: Any, what: str) -> int:
    """Return the number of rows of an array of two dimensions; one for any other."""
    shape = extents_of(value, what)
    return shape[0] if len(shape) == 2 else 1


def _columns(value: Any, what: str) -> list[Any]:
    """Return the columns of an array of two dimensions; any other is one."""
    import numpy

    require(type(value) is numpy.ndarray, f"{what} is a {_kind(value)}, not an array")
    return [*value.T] if value.ndim == 2 else [value]


def _each(value: Any, what: str) -> list[Any]:
    """Return the members of a list, or of an array of one dimension."""
    import numpy

    if type(value) is numpy.ndarray and value.ndim == 1:
        return list(value.tolist())
    return members(value, what)


def _given(value: Any, what: str) -> list[int] | int:
    """Return a one for each member that is not None; zero for None itself."""
    return 0 if value is None else [int(one is not None) for one in _each(value, what)]


def _true(value: Any, what: str) -> bool:
    import numpy

    return type(value) in (bool, numpy.bool_) and bool(value)


def _is_text(value: Any, what: str) -> None:
    require(type(value) is str, f"{what} is no text")


def _grows(value: Any, what: str) -> None:
    """Raise ValueError unless numbers grow from one to the next; those that are none stand at the end."""
    import numpy

    require(
        type(value) is numpy.ndarray and value.ndim == 1,
        f"{what} is a {_kind(value)}, not an array of values",
    )
    if value.dtype.kind not in "iufU":
        return
    known = value[~numpy.isnan(value)] if value.dtype.kind == "f" else value
    grows = bool((known[1:] > known[:-1]).all()) and bool((known == value[: len(known)]).all())
    require(grows, f"{what} does not grow")


def _distinct(value: Any, what: str) -> None:
    """Raise ValueError unless all labels are there once, as a dict sees them: texts and numbers."""
    import numpy

    require(type(value) is numpy.ndarray, f"{what} is {_kind(value)}, not an array")
    texts, found = [], []
    for label in value.ravel().tolist():
        is_scalar = isinstance(label, numpy.generic) and type(label).__module__ == "numpy"
        plain = label.item() if is_scalar else label
        require(
            type(plain) in (str, int, float, bool), f"{what} has labels that are neither texts nor numbers"
        )
        if type(plain) is str:
            texts.append(plain)
        elif plain == plain:  # what is no number equals nothing
            found.append(plain)
    for labels in (sorted(texts), sorted(found)):
        twice = any(one == other for one, other in pairwise(labels))
        require(not twice, f"{what} has a label twice")


WORDS: Final[Mapping[str, Callable[..., Any]]] = {
    "len": _len,
    "lens": _lens,
    "width": _width,
    "rows": _rows,
    "columns": _columns,
    "members": members,
    "each": _each,
    "given": _given,
    "true": _true,
    "is_text": _is_text,
    "grows": _grows,
    "distinct": _distinct,
}
