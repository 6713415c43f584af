"""Keyword arguments of steps and transforms: one that there is not is told with those that there are.

Steps take their gates by keyword, so that Python takes every misspelt keyword for a gate, and blames
whatever reads the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Final, TypeVar, cast

from packager.errors import ArgumentError
from packager.texts import did_you_mean

Maker = TypeVar("Maker", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

_SHOWN: Final[Mapping[Any, str]] = {
    Parameter.POSITIONAL_OR_KEYWORD: "{}",
    Parameter.VAR_POSITIONAL: "*{}",
    Parameter.KEYWORD_ONLY: "{}",
}
_UNSAID: Final = ("self", "line")  # where a step stands in its file is for what reads files


def takes_keywords(make: Maker, more: Iterable[str]) -> Maker:
    """Return a function that raises ArgumentError for keywords that are neither its own nor among `more`.

    >>> from packager.migrations import drop
    >>> drop("mask", unles="head.weight")
    Traceback (most recent call last):
    packager.errors.ArgumentError: drop() does not take 'unles'; did you mean unless? It takes old, ...
    """
    return cast(Maker, _checked(make, make.__name__, make, tuple(more)))


def takes_fields(kind: Class) -> Class:
    """Let a class of records raise ArgumentError for keywords that are no fields of it; return the class.

    >>> from packager.migrations import Cast
    >>> Cast(dtyp="float32")
    Traceback (most recent call last):
    packager.errors.ArgumentError: Cast() does not take 'dtyp'; did you mean dtype? It takes dtype, old
    """
    made: Any = kind
    made.__init__ = _checked(made.__init__, kind.__name__, kind, ())
    return kind


def _checked(
    make: Callable[..., Any], name: str, told_by: Callable[..., Any], more: tuple[str, ...]
) -> Callable[..., Any]:
    known = signature(told_by).parameters.values()
    taken = {one.name for one in known if _SHOWN.get(one.kind) == "{}"} | {*more}
    shown = [_SHOWN[one.kind].format(one.name) for one in known if one.kind in _SHOWN]
    shown = [one for one in shown if one not in _UNSAID] + [*more]

    @wraps(make)
    def checked(*given: Any, **named: Any) -> Any:
        for wrong in [one for one in named if one not in taken]:
            question = did_you_mean(wrong, shown) or ";"
            it = "It" if question.endswith("?") else "it"
            raise ArgumentError(f"{name}() does not take {wrong!r}{question} {it} takes {', '.join(shown)}")
        return make(*given, **named)

    return checked
