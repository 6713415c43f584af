"""The words of relations: what rows may ask of an attribute besides its numbers.

Each looks at the exact type of what it is given first, and raises ValueError for what it is not for. The
last argument is what the row calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .c_state import require, shape_of


def numbers(value: Any, what: str, expected: str = "a number") -> list[Any]:
    """Return a number, or the numbers of a list, as a list. Raises ValueError for anything else.

    >>> numbers(3, "n"), numbers([1, 2.5], "n")
    ([3], [1, 2.5])
    """
    import numpy

    if type(value) is numpy.ndarray and value.dtype.kind in "iuf" and value.ndim == 1:
        return list(value.tolist())
    if type(value) in (list, tuple):
        # By the kinds that are there: a vocabulary has many words.
        kinds = {id(kind): kind for kind in map(type, value)}
        fits = all(_is_number(kind) for kind in kinds.values())
        require(fits, f"{what} has members that are no numbers")
        return [*value]
    require(_is_number(type(value)), f"{what} is {_kind(value)}, expected {expected}")
    return [value]


def _is_number(kind: type) -> bool:
    import numpy

    return kind in (int, float) or (
        issubclass(kind, numpy.integer | numpy.floating) and kind.__module__ == "numpy"
    )


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


def extents_of(value: Any, what: str) -> tuple[int, ...]:
    """Return the shape of an array or a sparse matrix; that of a number has no extents.

    >>> extents_of(0.5, "x")
    ()
    """
    return () if _is_number(type(value)) else shape_of(value, what)


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
    """Raise ValueError unless all labels are there once: texts and numbers, of which each kind is sorted."""
    labels = value.tolist() if hasattr(type(value), "tolist") and type(value).__module__ == "numpy" else value
    require(type(labels) is list, f"{what} is a {_kind(value)}, not an array of labels")
    by_kind: dict[type, list[Any]] = {str: [], int: [], float: [], bool: [], bytes: []}
    for label in labels:
        if type(label) is tuple:
            continue
        require(type(label) in by_kind, f"{what} has labels that are neither texts nor numbers")
        by_kind[type(label)].append(label)
    for found in by_kind.values():
        found.sort()
        twice = any(one == other for one, other in zip(found, found[1:], strict=False))
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
