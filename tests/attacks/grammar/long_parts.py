"""Long containers, of a few items: runs and rows of scalars, in every form that they have."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .table import K

if TYPE_CHECKING:
    from .graphs import Graph

_WORDS = ("tuple", "list", "dict", "set", "frozenset")
_HASHED = ("tuple", "frozenset")


def long_container(graph: Graph, depth: int = 0) -> int:
    """Write a list, tuple, dict or set that is a run, or rows; or give a run to what a codec made."""
    rng = graph.rng
    size = rng.randint(1, 4)
    if rng.random() < 0.2:
        made = graph.node("collections.deque")
        graph.add(K.EXTEND_LONG, made, sequence(graph, size, depth))
        return made
    if rng.random() < 0.2:
        made = graph.node("collections.mapping", rng.choice(("Counter", "OrderedDict")))
        graph.add(K.UPDATE_LONG, made, sequence(graph, size, 0), sequence(graph, size, depth))
        return made
    kind = rng.choice((K.LONG_TUPLE, K.LONG_LIST, K.LONG_LIST, K.LONG_DICT, K.LONG_SET, K.LONG_FROZENSET))
    if kind == K.LONG_DICT:
        return graph.add(kind, _keys(graph, size), sequence(graph, size, depth))
    hashed = kind in (K.LONG_SET, K.LONG_FROZENSET)
    return graph.add(kind, _keys(graph, size) if hashed else sequence(graph, size, depth))


def row(graph: Graph, depth: int = 0) -> int:
    """Write one small container of a list of such; or a list of them, by their numbers."""
    rng = graph.rng
    rows = columns(graph, 2, depth, "list") if rng.random() < 0.5 else _table(graph, 2, depth)
    whole = graph.add(K.LONG_LIST, rows)
    if rng.random() < 0.5:
        return graph.add(K.LIST, whole, graph.add(K.ROW, rows, rng.randint(0, 1)))
    numbers = graph.add(K.RUN, "u1", bytes(rng.randint(0, 1) for _ in range(rng.randint(1, 4))))
    return graph.add(K.LIST, whole, graph.add(K.LONG_LIST, graph.add(K.PICKED, numbers, rows)))


def sequence(graph: Graph, size: int, depth: int, kinds: Sequence[str] = _WORDS) -> int:
    """Write a run, or rows of runs."""
    if depth <= 0 or size > 8 or graph.rng.random() < 0.5:
        return graph.rng.choice(_RUNS)(graph, size)
    word = graph.rng.choice(kinds)
    if word in ("list", "dict") and size > 1 and graph.rng.random() < 0.3:
        return _picked(graph, size, depth - 1, word)
    if word == "dict" and graph.rng.random() < 0.6:
        return _table(graph, size, depth - 1)
    if word in ("tuple", "list") and graph.rng.random() < 0.6:
        return columns(graph, size, depth - 1, word)
    return _rows(graph, size, depth - 1, word)


def columns(graph: Graph, size: int, depth: int, word: str) -> int:
    """Write columns of small tuples or lists."""
    parts = [
        sequence(graph, size, depth, _HASHED if word == "tuple" else _WORDS)
        for _ in range(graph.rng.randint(1, 3))
    ]
    return graph.add(K.COLUMNS, word, *parts)


def _table(graph: Graph, size: int, depth: int) -> int:
    keys = graph.rng.sample(("a", "\u03b1b", "__class__", "", "items"), graph.rng.randint(1, 3))
    return graph.add(K.TABLE, keys, *(sequence(graph, size, depth) for _ in keys))


def _picked(graph: Graph, size: int, depth: int, word: str) -> int:
    """Rows of which the last comes twice."""
    rows = _table(graph, size - 1, depth) if word == "dict" else columns(graph, size - 1, depth, word)
    return graph.add(K.PICKED, graph.add(K.RUN, "u1", bytes([*range(size - 1), size - 2])), rows)


def _rows(graph: Graph, size: int, depth: int, word: str) -> int:
    counts = [graph.rng.choice((0, 1, 20)) for _ in range(size)]
    if word in ("tuple", "list") and len(set(counts)) == 1 and counts[0]:
        counts = [17] * size  # more than columns have
    total = sum(counts)
    parts = [] if not total else [sequence(graph, total, depth if word == "list" else 0)]
    if word == "dict" and total:
        parts.append(sequence(graph, total, depth))
    return graph.add(K.ROWS, word, graph.add(K.RUN, "u1", bytes(counts)), *parts)


def _keys(graph: Graph, size: int) -> int:
    return sequence(graph, size, graph.rng.randint(0, 1), _HASHED)


def _small(graph: Graph, size: int) -> int:
    return graph.add(K.RUN, "u1", bytes(graph.rng.randrange(256) for _ in range(size)))


def _floats(graph: Graph, size: int) -> int:
    return graph.add(K.RUN, "f8", struct.pack(f"<{size}d", *(graph.rng.random() for _ in range(size))))


def _negative(graph: Graph, size: int) -> int:
    return graph.add(K.RUN, "i1", bytes(255 - at for at in range(size)))


def _of_sizes(graph: Graph, size: int) -> int:
    if size < 2:
        return _small(graph, size)
    sizes = bytes([0] * (size - 1) + [3])
    return graph.add(K.RUN, "int", sizes, bytes(size - 1), b"", b"", struct.pack("<q", 2**40))


def _texts(graph: Graph, size: int) -> int:
    texts = [f"{graph.rng.randrange(9)}{at}" for at in range(size)]
    lengths = bytes(map(len, texts))
    numbers = graph.rng.choice(((None, None), ("u1", bytes(graph.rng.randrange(size) for _ in texts))))
    return graph.add(K.RUN, "text", "u1", lengths, "".join(texts).encode(), *numbers)


def _mixed(graph: Graph, size: int) -> int:
    tags = bytes([graph.rng.choice((0, 1, 2)), *(graph.rng.choice((0, 1, 2, 4)) for _ in range(size - 1))])
    floats = _floats(graph, tags.count(4)) if 4 in tags else None
    return graph.add(K.RUN, "mixed", tags, None, floats, None)


_RUNS: tuple[Callable[[Graph, int], Any], ...] = (_small, _floats, _negative, _of_sizes, _texts, _mixed)
