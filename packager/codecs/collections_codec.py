"""Codecs for the containers of `collections`: made empty, then filled, so that they may hold themselves.

(Called with what an archive says they would take any iterable, endless ones among them.)
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from typing import Any, Final

from .base import Child, Codec, Decoding, Encoding, LiteralValue, Node, expect
from .codec_rows import Parts


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


CODECS: Final = (
    MappingCodec(),
    Parts("collections.deque", ("collections:deque",), "", "the greatest length",
          lambda obj: Node(obj.maxlen, items=tuple(obj)), lambda longest: deque(maxlen=longest),
          lambda longest: longest is None or (type(longest) is int and longest >= 0), takes_items=True),
    Parts("collections.chainmap", ("collections:ChainMap",), "any any*", "mappings",
          lambda obj: Node(None, tuple(obj.maps)), ChainMap),
)  # fmt: skip
