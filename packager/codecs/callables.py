"""Codecs for what wraps a callable: partials, methods bound by hand, getters, functions that remember.

In data alone they are refused, but for partials of a few listed functions: see packager/audit/forms.py.
"""

from __future__ import annotations

import functools
import operator
import sys
from types import MethodType
from typing import Any, Final

from .base import CannotStore, Node, expect
from .codec_rows import Parts, words


def _partial(function: Any, args: Any, keywords: Any) -> Any:
    if type(args) is not tuple or type(keywords) is not dict or isinstance(function, functools.partial):
        raise ValueError("a partial takes a function, a tuple and a dict")
    made = functools.partial(function, *args)
    # The dict itself may be shared, and partial would copy it; its state takes it as it is.
    made.__setstate__((function, args, keywords, None))  # type: ignore[attr-defined]  # missing in typeshed
    return made


def _items_of(obj: Any) -> Node:
    """Return what a getter gets. Raises CannotStore for private attributes."""
    items = obj.__reduce__()[1]
    kind = type(obj).__name__
    if kind == "attrgetter" and not all(_is_public(name) for name in items):
        raise CannotStore(f"{obj!r} reads private attributes", "use a named function of your own package")
    return Node(kind, items)


def _is_public(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() and part[0] != "_" for part in name.split("."))


def _remembered(obj: Any) -> Node:
    """Return bounds and function, no answers. Raises CannotStore for a ufunc, which needs no memory."""
    if _is_ufunc(obj.__wrapped__):
        raise CannotStore("a ufunc whose answers are remembered", "use the ufunc itself")
    known = obj.cache_parameters()
    return Node([known["maxsize"], bool(known["typed"])], (obj.__wrapped__,))


def _are_bounds(literal: Any) -> bool:
    whole = isinstance(literal, list) and len(literal) == 2
    return whole and type(literal[0]) in (int, type(None)) and type(literal[1]) is bool


def _cached(bounds: Any, function: Any) -> Any:
    fit = callable(function) and not _is_ufunc(function)
    expect(fit, "a function", type(function).__qualname__)
    return functools.lru_cache(*bounds)(function)


def _is_ufunc(function: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(function, numpy.ufunc)


_GETTERS: Final[dict[str, Any]] = {"itemgetter": operator.itemgetter, "attrgetter": operator.attrgetter}

CALLABLE_CODECS: Final = (
    Parts("functools.partial", ("functools:partial",), "global|function|method|object|codec tuple dict",
          "a function, arguments and keywords",
          lambda obj: Node(None, (obj.func, obj.args, obj.keywords), attributes=dict(vars(obj))), _partial,
          takes_attributes=True),
    # A function bound to an object that is not of its class.
    Parts("method", ("builtins:method",), "any any", "a function and an object",
          lambda obj: Node(None, (obj.__func__, obj.__self__)), MethodType),
    # The latter for names without a leading underscore.
    Parts("getter", ("operator:itemgetter", "operator:attrgetter"), "any any*",
          "the kind of getter, and its items, or names of public attributes", _items_of,
          lambda kind, *items: _GETTERS[kind](*items), words(_GETTERS),
          also=lambda kind, items: kind == "itemgetter" or all(_is_public(item.value) for item in items)),
    Parts("functools.cache", ("functools:_lru_cache_wrapper",), "global|function|method|codec",
          "bounds and a function", _remembered, _cached, _are_bounds),
)  # fmt: skip
