"""Codecs for the containers of `collections`: made empty, then filled, so that they may hold themselves.

(Called with what an archive says they would take any iterable, endless ones among them.)
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final

from .base import Child, Codec, Decoding, Encoding, LiteralValue, Node, expect


class MappingCodec(Codec):
    """OrderedDict, Counter and defaultdict: the kind, the factory of missing values, the pairs."""

    name = "collections.mapping"
    types = ("collections:OrderedDict", "collections:Counter", "collections:defaultdict")
    takes_pairs = takes_attributes = True

    def claims(self, cls: type) -> bool:
        return cls in _MAPPINGS.values()

    def encode(self, obj: Any, context: Encoding) -> Node:
        children = (obj.default_factory,) if type(obj) is defaultdict else ()
        return Node(type(obj).__name__, children, pairs=obj, attributes=dict(getattr(obj, "__dict__", {})))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal in _MAPPINGS, "the name of a mapping")
        expect(len(children) == (literal == "defaultdict"), "a factory for a defaultdict, nothing for others")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return _MAPPINGS[literal](*children)


_MAPPINGS: Final[dict[str, Any]] = {
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": defaultdict,
}


class DequeCodec(Codec):
    """Deques: the greatest length, and the items."""

    name = "collections.deque"
    types = ("collections:deque",)
    takes_items = True

    def claims(self, cls: type) -> bool:
        return cls is deque

    def encode(self, obj: deque[Any], context: Encoding) -> Node:
        return Node(obj.maxlen, items=tuple(obj))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None or (type(literal) is int and literal >= 0), "the greatest length")
        expect(not children, "no children")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return deque(maxlen=literal)


class ChainMapCodec(Codec):
    """Chain maps: their mappings."""

    name = "collections.chainmap"
    types = ("collections:ChainMap",)

    def claims(self, cls: type) -> bool:
        return cls is ChainMap

    def encode(self, obj: ChainMap[Any, Any], context: Encoding) -> Node:
        return Node(None, tuple(obj.maps))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(literal is None and len(children) > 0, "mappings")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return ChainMap(*children)


CODECS: Final = (MappingCodec(), DequeCodec(), ChainMapCodec())
