"""Plain objects beside pickle: long lists, vocabularies, edges, graphs of objects; the time and the size.

A save is followed by a load, each through the public calls, from memory to memory. What it costs to save and
to load nothing is timed beside it and subtracted: an archive has a manifest and a plan, however little is in
it. Sizes are those of the whole archive, and of pickle's bytes.
"""

from __future__ import annotations

import io
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row
from packager import PackageExporter, PackageImporter

SECTION = "Plain objects"
KEYS = (
    "a million keys that are no texts are hashed once more than a dict needs, for the plan and again for the "
    "load, so that none is built whose keys collide."
)
WALKED = "each object is walked, checked and built by itself, in Python; pickle does that in C."


@dataclass
class Node:
    """One object of a graph, which leads to another."""

    number: int
    weight: float
    name: str
    next: Any = None


def rows() -> list[Row]:
    """List the rows: time and size of each object."""
    return [row for name, (make, limit, why) in OBJECTS.items() for row in _rows_of(name, make, limit, why)]


def _rows_of(name: str, make: Callable[[int], Any], limit: float, why: str) -> list[Row]:
    @lru_cache(maxsize=1)
    def subject() -> Any:
        return make(20 if os.environ.get("KELLET_BENCH_SMALL") else 1)

    times = {"packager": lambda: _packager(subject()), "pickle": lambda: _pickle(subject())}
    sizes = {
        "packager": lambda: _size(lambda: len(_saved(subject()))),
        "pickle": lambda: _size(lambda: len(pickle.dumps(subject(), 5))),
    }
    return [
        Row(
            SECTION,
            f"{name}: save and load",
            "ms",
            times,
            (Goal(limit, "pickle"),),
            "packager",
            why=why,
            most_rounds=5,
        ),
        Row(SECTION, f"{name}: size", "MB", sizes, (Goal(1.2, "pickle"),), "packager", most_rounds=1),
    ]


def _saved(obj: Any) -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        exporter.intern("benchmarks.**")
        exporter.extern("**")
        exporter.save_object("bench", "object", obj)
    return file.getvalue()


def _loaded(data: bytes) -> Any:
    with PackageImporter(io.BytesIO(data), environment="ignore") as importer:
        return importer.load_object("bench", "object")


def _packager(obj: Any) -> Contender:
    return Contender(
        lambda: _loaded(_saved(obj)),
        without=lambda: _loaded(_saved(None)),
        result=lambda: _numbers(_loaded(_saved(obj))),
    )


def _pickle(obj: Any) -> Contender:
    return Contender(
        lambda: pickle.loads(pickle.dumps(obj, 5)),  # what was made here
        without=lambda: pickle.loads(pickle.dumps(None, 5)),  # the same
        result=lambda: _numbers(pickle.loads(pickle.dumps(obj, 5))),  # the same
    )


def _size(count: Callable[[], int]) -> Contender:
    return Contender(lambda: count() / 1e6, times_itself=True)


def _numbers(obj: Any) -> list[Any]:
    """Return what can be compared: how many there are, and what some of them are printed as."""
    some = list(obj.items() if isinstance(obj, dict) else obj)[:2000]
    text = repr([getattr(one, "name", one) for one in map(_in_order, some)])
    return [np.array(len(obj)), np.frombuffer(text.encode(), np.uint8)]


def _in_order(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    return sorted(value) if isinstance(value, set) else value


# --- the objects; `part` is how many times smaller than in earnest ---


def _words(count: int) -> list[str]:
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randint(3, 12))) + str(at) for at in range(count)]


def _mixed(part: int) -> list[Any]:
    rng = random.Random(2)
    kinds = (lambda: rng.randrange(10**6), rng.random, lambda: True, lambda: None)
    return [rng.choice(kinds)() for _ in range(300_000 // part)]


def _edges(part: int) -> dict[int, set[int]]:
    rng, nodes = random.Random(3), 20_000 // part
    found: dict[int, set[int]] = {}
    for _ in range(50_000 // part):
        found.setdefault(rng.randrange(nodes), set()).add(rng.randrange(nodes))
    return found


def _adjacency(part: int) -> dict[int, dict[int, dict[str, float]]]:
    """The edges of a graph as networkx keeps them: the attributes of an edge are one dict for both ends."""
    rng, nodes = random.Random(4), 20_000 // part
    found: dict[int, dict[int, dict[str, float]]] = {at: {} for at in range(nodes)}
    for _ in range(50_000 // part):
        one, other = rng.randrange(nodes), rng.randrange(nodes)
        found[one][other] = found[other][one] = {"weight": rng.random()}
    return found


def _graph(part: int) -> list[Node]:
    rng, found = random.Random(5), []
    for at in range(50_000 // part):
        found.append(Node(at, at * 0.1, f"node {at}", found[rng.randrange(at)] if at else None))
    return found


OBJECTS: dict[str, tuple[Callable[[int], Any], float, str]] = {
    "300,000 times 1": (lambda part: [1] * (300_000 // part), 2, ""),
    "300,000 numbers, bools and None": (_mixed, 2, ""),
    "300,000 triples": (lambda part: [(at, at * 7 % 1000, at * 0.5) for at in range(300_000 // part)], 2, ""),
    "50,000 edges as sets": (_edges, 2, ""),
    "a vocabulary of 400,000 words": (
        lambda part: {word: at for at, word in enumerate(_words(400_000 // part))},
        2,
        "",
    ),
    "a million pairs of ints": (lambda part: {at: at * 7 % 1000 for at in range(1_000_000 // part)}, 2, KEYS),
    "a million lists by name": (
        lambda part: {f"key {at}": [at, at + 1] for at in range(1_000_000 // part)},
        2,
        "",
    ),
    "50,000 edges with attributes": (_adjacency, 10, WALKED),
    "50,000 objects": (_graph, 10, WALKED),
}
