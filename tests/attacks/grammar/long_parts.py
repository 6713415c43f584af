"""Long containers, of a few items: runs of scalars, in every form that they have."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .table import K

if TYPE_CHECKING:
    from .graphs import Graph


def long_container(graph: Graph, depth: int = 0) -> int:
    """Write a list, tuple, dict or set that is a run; or give a run to what a codec made."""
    rng = graph.rng
    size = rng.randint(1, 4)
    if rng.random() < 0.2:
        made = graph.node("collections.deque")
        graph.add(K.EXTEND_LONG, made, run(graph, size))
        return made
    if rng.random() < 0.2:
        made = graph.node("collections.mapping", rng.choice(("Counter", "OrderedDict")))
        graph.add(K.UPDATE_LONG, made, run(graph, size), run(graph, size))
        return made
    kind = rng.choice((K.LONG_TUPLE, K.LONG_LIST, K.LONG_LIST, K.LONG_DICT, K.LONG_SET, K.LONG_FROZENSET))
    return graph.add(kind, *(run(graph, size) for _ in range(1 + (kind == K.LONG_DICT))))


def run(graph: Graph, size: int) -> list[Any]:
    """Return a run of so many scalars."""
    return graph.rng.choice(_RUNS)(graph, size)


def _small(graph: Graph, size: int) -> list[Any]:
    return ["u1", bytes(graph.rng.randrange(256) for _ in range(size))]


def _floats(graph: Graph, size: int) -> list[Any]:
    return ["f8", struct.pack(f"<{size}d", *(graph.rng.random() for _ in range(size)))]


def _negative(graph: Graph, size: int) -> list[Any]:
    return ["i1", bytes(255 - at for at in range(size))]


def _large(graph: Graph, size: int) -> list[Any]:
    return ["i8", struct.pack(f"<{size}q", *(2**40 + at for at in range(size)))]


def _texts(graph: Graph, size: int) -> list[Any]:
    texts = [f"{graph.rng.randrange(9)}{at}" for at in range(size)]
    lengths = bytes(map(len, texts))
    places = graph.rng.choice(((None, None), ("u1", bytes(graph.rng.randrange(size) for _ in texts))))
    return ["text", "u1", lengths, "".join(texts).encode(), *places]


_RUNS: tuple[Callable[[Graph, int], Any], ...] = (_small, _floats, _negative, _large, _texts)
