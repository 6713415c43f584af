"""Codecs for what wraps a callable: partials, methods bound by hand, getters, functions that remember.

In data alone they are refused, but for partials of a few listed functions: see packager/objects/inert.py.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Sequence
from types import MethodType
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect


class PartialCodec(Codec):
    """functools.partial: the function, the arguments, the keywords."""

    name = "functools.partial"
    types = ("functools:partial",)
    takes_attributes = True

    def encode(self, obj: functools.partial[Any], context: Encoding) -> Node:
        return Node(None, (obj.func, obj.args, obj.keywords), attributes=dict(vars(obj)))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 3, "a function, arguments and keywords")
        function, args, keywords = (child.kind for child in children)
        expect(function in ("global", "function", "method", "object", "codec"), "a function")
        expect(args == "tuple" and keywords == "dict", "arguments and keywords")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a partial. Raises ValueError for other parts than a function, a tuple and a dict."""
        function, args, keywords = children
        if type(args) is not tuple or type(keywords) is not dict or isinstance(function, functools.partial):
            raise ValueError("a partial takes a function, a tuple and a dict")
        made = functools.partial(function, *args)
        # The dict itself may be shared, and partial would copy it; its state takes it as it is.
        made.__setstate__((function, args, keywords, None))  # type: ignore[attr-defined]  # missing in typeshed
        return made


class MethodCodec(Codec):
    """A function bound to an object that is not of its class: `types.MethodType(function, self)`."""

    name = "method"
    types = ("builtins:method",)

    def encode(self, obj: MethodType, context: Encoding) -> Node:
        return Node(None, (obj.__func__, obj.__self__))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) == 2, "a function and an object")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return MethodType(*children)


class GetterCodec(Codec):
    """operator.itemgetter and operator.attrgetter; the latter for names without a leading underscore."""

    name = "getter"
    types = ("operator:itemgetter", "operator:attrgetter")

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return what a getter gets. Raises CannotStore for private attributes."""
        items = obj.__reduce__()[1]
        kind = type(obj).__name__
        if kind == "attrgetter" and not all(_is_public(name) for name in items):
            raise CannotStore(f"{obj!r} reads private attributes", "use a named function of your own package")
        return Node(kind, items)

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(
            literal in ("itemgetter", "attrgetter") and len(children) > 0, "the kind of getter, and its items"
        )
        if literal == "attrgetter":
            expect(all(_is_public(child.value) for child in children), "names of public attributes")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return operator.itemgetter(*children) if literal == "itemgetter" else operator.attrgetter(*children)


def _is_public(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() and part[0] != "_" for part in name.split("."))


class CachedCodec(Codec):
    """Functions that functools.cache or lru_cache made of others: the function and the bounds, no answers."""

    name = "functools.cache"
    types = ("functools:_lru_cache_wrapper",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return bounds and function. Raises CannotStore for a ufunc, which needs no memory."""
        if _is_ufunc(obj.__wrapped__):
            raise CannotStore("a ufunc whose answers are remembered", "use the ufunc itself")
        known = obj.cache_parameters()
        return Node([known["maxsize"], bool(known["typed"])], (obj.__wrapped__,))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 2 and len(children) == 1, "bounds, a function")
        expect(type(literal[0]) in (int, type(None)) and type(literal[1]) is bool, "bounds")
        kinds = ("global", "function", "method", "codec")
        expect(children[0].kind in kinds, "a function", children[0].kind)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a function that remembers. Raises ValueError for what is no function."""
        fit = callable(children[0]) and not _is_ufunc(children[0])
        expect(fit, "a function", type(children[0]).__qualname__)
        return functools.lru_cache(literal[0], literal[1])(children[0])


def _is_ufunc(function: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(function, numpy.ufunc)


CALLABLE_CODECS: Final = (PartialCodec(), MethodCodec(), GetterCodec(), CachedCodec())
