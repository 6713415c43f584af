"""Codecs for the containers of `collections`: made empty, then filled, so that they may hold themselves.

(Called with what an archive says they would take any iterable, endless ones among them.)
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from typing import Any, Final

from .base import Node
from .codec_rows import Parts, words


def _pairs_of(obj: Any) -> Node:
    children = (obj.default_factory,) if type(obj) is defaultdict else ()
    return Node(type(obj).__name__, children, pairs=obj, attributes=dict(getattr(obj, "__dict__", {})))


_MAPPINGS: Final[dict[str, Any]] = {
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": defaultdict,
}


CODECS: Final = (
    Parts("collections.mapping", tuple(f"collections:{name}" for name in _MAPPINGS), "any*",
          "the name of a mapping, and a factory for a defaultdict", _pairs_of,
          lambda kind, *factory: _MAPPINGS[kind](*factory), words(_MAPPINGS),
          also=lambda kind, children: len(children) == (kind == "defaultdict"),
          takes_pairs=True, takes_attributes=True, is_data="plain"),
    Parts("collections.deque", ("collections:deque",), "", "the greatest length",
          lambda obj: Node(obj.maxlen, items=tuple(obj)), lambda longest: deque(maxlen=longest),
          lambda longest: longest is None or (type(longest) is int and longest >= 0), takes_items=True,
          is_data="plain"),
    Parts("collections.chainmap", ("collections:ChainMap",), "any any*", "mappings",
          lambda obj: Node(None, tuple(obj.maps)), ChainMap, is_data="plain"),
)  # fmt: skip
