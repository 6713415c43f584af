"""Plain objects beside pickle: long lists, vocabularies, edges, graphs of objects; the time and the size.

A save, a load, and one after the other, through the public calls, from memory to memory; the goal is about
both together. What it costs to save and to load nothing is timed beside it and subtracted: an archive has a
manifest and a plan, however little is in it. Runs and dicts of scalars may take 2 x pickle's time, a set of
words 4 x and what is walked 25 x: forms that made these faster were given up. Sizes are those of the whole
archive, and of the others' bytes. joblib and skops are there where they are installed; skops for what it
saves in seconds.
"""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.node import Node
from benchmarks.row import Contender, Goal, Row, is_small
from packager import PackageExporter, PackageImporter

SECTION = "Plain objects"
KEYS = (
    "the steps that a dict would take for a million keys are counted, for the plan and again for the load: "
    "none is built whose keys collide."
)
PLAIN = (
    "forms for repeated, mixed and shared values were given up: a parser that must be safe has fewer ways."
)
SORTED = "the members of a set are sorted, so that an archive does not depend on the seed of hashes."
WALKED = "each object is walked, checked and built by itself, in Python; pickle does that in C."


@dataclass(frozen=True)
class Way:
    """How one library saves an object to bytes and loads it from them."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


@dataclass(frozen=True)
class Subject:
    """An object; `make(part)` makes it so many times smaller than in earnest.

    `limit` is how many times pickle's time it may take, `why` what stands in the way. `with_skops` is for
    those that skops, with its line of JSON for each value, saves in seconds.
    """

    make: Callable[[int], Any]
    limit: float
    why: str = ""
    with_skops: bool = False


def rows() -> list[Row]:
    """List the rows: time and size of each object."""
    return [row for name, subject in OBJECTS.items() for row in _rows_of(name, subject)]


def _rows_of(name: str, subject: Subject) -> list[Row]:
    @lru_cache(maxsize=1)
    def obj() -> Any:
        return subject.make(20 if is_small() else 1)

    ways = {name: way for name, way in WAYS.items() if name != "skops" or subject.with_skops}

    def contenders(measured: Callable[[Way, Any], Contender]) -> dict[str, Callable[[], Contender]]:
        return {name: lambda way=way: measured(way(), obj()) for name, way in ways.items()}

    goals, why = (Goal(subject.limit, "pickle"),), subject.why
    both, save, load = contenders(_both), contenders(_save), contenders(_load)
    return [
        Row(SECTION, f"{name}: save and load", "ms", both, goals, "packager", why=why, most_rounds=5),
        Row(SECTION, f"{name}: save", "ms", save, subject="packager", most_rounds=5),
        Row(SECTION, f"{name}: load", "ms", load, subject="packager", most_rounds=5),
        Row(
            SECTION,
            f"{name}: size",
            "MB",
            contenders(_size),
            (Goal(1.2, "pickle"),),
            "packager",
            most_rounds=1,
        ),
    ]


# --- who saves ---


def _packager() -> Way:
    return Way(_saved, _loaded)


def _saved(obj: Any) -> bytes:
    file = io.BytesIO()
    with PackageExporter(file, prove=False) as exporter:
        if isinstance(obj, list) and isinstance(obj[0], Node):
            exporter.intern("benchmarks.node")
        exporter.save_object("bench", "object", obj)
    return file.getvalue()


def _loaded(data: bytes) -> Any:
    with PackageImporter(io.BytesIO(data), environment="ignore") as importer:
        return importer.load_object("bench", "object")


def _pickle() -> Way:
    return Way(lambda obj: pickle.dumps(obj, 5), pickle.loads)  # what was made here


def _joblib() -> Way:
    import joblib

    def dumps(obj: Any) -> bytes:
        file = io.BytesIO()
        joblib.dump(obj, file)
        return file.getvalue()

    return Way(dumps, lambda data: joblib.load(io.BytesIO(data)))


def _skops() -> Way:
    import skops.io

    return Way(skops.io.dumps, skops.io.loads)


WAYS: dict[str, Callable[[], Way]] = {
    "packager": _packager,
    "pickle": _pickle,
    "joblib": _joblib,
    "skops": _skops,
}


# --- what is measured ---


def _both(way: Way, obj: Any) -> Contender:
    return Contender(
        lambda: way.loads(way.dumps(obj)),
        without=lambda: way.loads(way.dumps(None)),
        result=lambda: _numbers(way.loads(way.dumps(obj))),
    )


def _save(way: Way, obj: Any) -> Contender:
    return Contender(lambda: way.dumps(obj), without=lambda: way.dumps(None))


def _load(way: Way, obj: Any) -> Contender:
    data, nothing = way.dumps(obj), way.dumps(None)
    return Contender(lambda: way.loads(data), without=lambda: way.loads(nothing))


def _size(way: Way, obj: Any) -> Contender:
    return Contender(lambda: len(way.dumps(obj)) / 1e6, times_itself=True)


def _numbers(obj: Any) -> list[Any]:
    """Return what can be compared: how many there are, and what some of them are printed as."""
    found = obj.items() if isinstance(obj, dict) else sorted(obj) if isinstance(obj, set) else obj
    some = list(found)[:2000]
    text = repr([getattr(one, "name", one) for one in map(_in_order, some)])
    return [np.array(len(obj)), np.frombuffer(text.encode(), np.uint8)]


def _in_order(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    return sorted(value) if isinstance(value, set) else value


# --- the objects ---


def _words(count: int) -> list[str]:
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randint(3, 12))) + str(at) for at in range(count)]


def _adjacency(part: int) -> dict[int, dict[int, dict[str, float]]]:
    """The edges of a graph as networkx keeps them: the attributes of an edge are one dict for both ends."""
    rng, nodes = random.Random(4), 20_000 // part
    found: dict[int, dict[int, dict[str, float]]] = {at: {} for at in range(nodes)}
    for _ in range(50_000 // part):
        one, other = rng.randrange(nodes), rng.randrange(nodes)
        found[one][other] = found[other][one] = {"weight": rng.random()}
    return found


def _records(part: int) -> list[dict[str, Any]]:
    """What an answer of JSON is: the same few keys in each record, with small lists and dicts."""
    words = _words(3000)
    return [
        {"id": at, "name": words[at % 3000], "tags": [words[at * 7 % 3000], "a"], "at": {"x": at, "y": None}}
        for at in range(50_000 // part)
    ]


def _graph(part: int) -> list[Node]:
    rng, found = random.Random(5), []
    for at in range(50_000 // part):
        found.append(Node(at, at * 0.1, f"node {at}", found[rng.randrange(at)] if at else None))
    return found


OBJECTS: dict[str, Subject] = {
    "300,000 times 1": Subject(lambda part: [1] * (300_000 // part), 2, PLAIN, with_skops=True),
    "300,000 floats": Subject(
        lambda part: [at * 0.1 for at in range(300_000 // part)], 2, PLAIN, with_skops=True
    ),
    "400,000 words": Subject(lambda part: _words(400_000 // part), 2, PLAIN),
    "a vocabulary of 400,000 words": Subject(
        lambda part: {word: at for at, word in enumerate(_words(400_000 // part))}, 2, PLAIN
    ),
    "a set of 400,000 words": Subject(lambda part: set(_words(400_000 // part)), 4, SORTED),
    "a million pairs of ints": Subject(
        lambda part: {at: at * 7 % 1000 for at in range(1_000_000 // part)}, 2, KEYS
    ),
    "50,000 edges with attributes": Subject(_adjacency, 25, WALKED),
    "50,000 records of JSON": Subject(_records, 25, WALKED),
    "50,000 objects": Subject(_graph, 25, WALKED),
}
