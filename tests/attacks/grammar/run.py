"""Loads composed graphs and counts: outcomes, compositions, what was reached, what was called."""

from __future__ import annotations

import ast
import collections
import contextlib
import gc
import hashlib
import importlib
import pkgutil
import random
import resource
import signal
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import kellet
from kellet import rules
from packager._codecs import default_registry, library
from packager._libraries import relations
from packager._libraries.scikit_learn import relation_rows
from packager._objects import checking
from packager._objects.records import KIND_NAMES
from packager.errors import PackageError

from . import vocabulary as words
from .allowed import is_allowed, is_allowed_beside_code
from .graphs import Composed, compose
from .holdings import SharedState, unfit
from .table import K, edges_of, parts_of
from .tracer import Tracer
from .world import World

BATCH = 64
_MEMORY = 12 << 30


@dataclass
class Report:
    """What came of a number of graphs; reports of several processes are added up."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    compositions: set[int] = field(default_factory=set)
    edges: set[tuple[str, str]] = field(default_factory=set)
    reached: collections.Counter[str] = field(default_factory=collections.Counter)
    accepted: collections.Counter[str] = field(default_factory=collections.Counter)
    found: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Report) -> None:
        self.outcomes += other.outcomes
        self.compositions |= other.compositions
        self.edges |= other.edges
        self.reached += other.reached
        self.accepted += other.accepted
        self.found += other.found
        self.seconds += other.seconds


class Grammar:
    """The archives, the tracers and the shared state that graphs are loaded in."""

    def __init__(self) -> None:
        registry = default_registry()
        # The same each time, and made anew for every object: the graphs of a process share one.
        self._kept = [(checking, checking.default_registry)]
        for module, _ in self._kept:
            module.default_registry = lambda: registry
        # Where others work in a folder of the path, libraries would be searched again.
        self._stamp, library.folder_stamp = library.folder_stamp, str
        words.honest_tables()
        plain, shadowed, code = World(), World(shadows=True), World()
        self.worlds = {"object": plain, "extras": plain, "shadowed": shadowed, "code": code}
        self._tracers = {False: Tracer(is_allowed), True: Tracer(is_allowed_beside_code)}
        self._shared = SharedState()
        _import_what_is_imported_late()
        random.Random("text")  # Python 3.13 imports its sha512 for the first one
        for seed in range(-400, 0):  # what is imported late is there now
            with contextlib.suppress(Exception):
                self.load(compose(seed))
        # Each batch is watched after a collection: what the process held before is not gone through again.
        gc.collect()
        gc.freeze()

    def close(self) -> None:
        gc.unfreeze()
        library.folder_stamp = self._stamp
        for module, kept in self._kept:
            module.default_registry = kept
        for world in self.worlds.values():
            world.close()
        sys.modules.pop("outside", None)  # the module of sentinels: others import one of that name

    def load(self, graph: Composed) -> Any:
        """Load a graph as it is meant to be loaded."""
        world = self.worlds["code" if brings_code(graph) else graph.how]
        how = "extras" if graph.how in ("extras", "shadowed") else "object"
        return world.load(
            graph.table,
            how,
            with_storage=graph.with_storage,
            sentinels=graph.sentinels,
            factory=graph.factory,
        )

    def run(self, seeds: Iterable[int]) -> Report:
        """Load the graphs of these numbers, a batch at a time."""
        report, started = Report(), time.perf_counter()
        batches: dict[bool, list[Composed]] = {False: [], True: []}
        for seed in seeds:
            graph = compose(seed)
            report.compositions.add(_number_of(graph))
            beside = brings_code(graph)
            batches[beside].append(graph)
            if len(batches[beside]) == BATCH:
                self._batch(batches[beside], beside, report)
                batches[beside] = []
        for beside, graphs in batches.items():
            self._batch(graphs, beside, report)
        report.seconds = time.perf_counter() - started
        return report

    def _batch(self, graphs: list[Composed], beside_code: bool, report: Report) -> None:
        tracer = self._tracers[beside_code]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: list[Any] = []
            with tracer.watch() as found:
                outcomes = [self._outcome(graph, made) for graph in graphs]
            if not beside_code:
                report.found += [
                    (graph.seed, problem)
                    for graph, value in zip(graphs, made, strict=True)
                    if (problem := unfit(value))
                ]
            with tracer.watch() as late:
                made.clear()
            if found or late:
                report.found += self._located(graphs, tracer, [*found, *late])
        for graph, (outcome, problem) in zip(graphs, outcomes, strict=True):
            report.outcomes[outcome] += 1
            if problem:
                report.found.append((graph.seed, problem))
            _count(graph, outcome, report)

    def _located(self, graphs: list[Composed], tracer: Tracer, found: list[str]) -> list[tuple[int, str]]:
        """Which graphs of a batch did what was found, and from where."""
        located = []
        for graph in graphs:
            with tracer.locate() as there:
                made: list[Any] = []
                self._outcome(graph, made)
                made.clear()
            located += [(graph.seed, one) for one in dict.fromkeys(there)]
        unexplained = [one for one in found if one not in tracer.explained]
        return located or [(graphs[0].seed, f"in the batch that begins here: {one}") for one in unexplained]

    def _outcome(self, graph: Composed, made: list[Any]) -> tuple[str, str]:
        """What came of a graph, and what is wrong with that; what was built goes to the end of `made`."""
        problem, value = "", None
        try:
            value = self.load(graph)
        except PackageError as error:
            outcome = type(error).__name__
        except Exception as error:
            outcome = "stray error"
            problem = f"stray error {type(error).__name__}: {error}"
        else:
            outcome = "built"
        made.append(value)
        return outcome, problem or self._shared.problem()


def _import_what_is_imported_late() -> None:
    """Compute with tensors and print them: beside code libraries do, and an import then would be found."""
    importlib.import_module("packager._loading.opening")  # few graphs name what is not stored
    for family in pkgutil.iter_modules(rules.__path__, "kellet.rules."):
        importlib.import_module(family.name)
    repr(kellet.ones(1))
    for check in relation_rows.CHECKS:
        if isinstance(check, relations.RelationCheck):
            # Our own text, parsed with the first object of its class, and spelled where it does not hold.
            for part in (part for row in relations._statements(check._rows) for part in ast.walk(row)):
                if isinstance(part, ast.expr):
                    relations._text(part)
    for name in ("ml_dtypes", "mailbox"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if words.torch is not None:
        repr(words.torch.ones(1))
        importlib.import_module("packager._codecs.torch_tensors")


def brings_code(graph: Composed) -> bool:
    """Whether a graph that is loaded as an object names a stored module."""
    if graph.how in ("extras", "shadowed"):
        return False
    if (graph.factory or "").startswith("net:"):
        return True
    return any(record[0] in (K.GLOBAL, K.FUNCTION) and record[1:2] == ["net"] for record in graph.records)


def _count(graph: Composed, outcome: str, report: Report) -> None:
    parts = {parts_of(record, graph.codecs) for record in graph.records}
    parts |= {"kind " + kind_name(record) for record in graph.records}
    report.reached.update(parts)
    if outcome == "built":
        report.accepted.update(parts)
        report.edges |= edges_of(graph.codecs, graph.records)


def _number_of(graph: Composed) -> int:
    """A number that graphs share in which the same parts hold the same parts."""
    edges = repr(sorted(edges_of(graph.codecs, graph.records)))
    return int.from_bytes(hashlib.blake2b(edges.encode(), digest_size=8).digest(), "big")


def kind_name(record: list[Any]) -> str:
    return str(KIND_NAMES.get(record[0], "?"))


# --- in a process of its own ---

_GRAMMAR: list[Grammar] = []


def begin() -> None:
    """Make ready a process that loads graphs; Ctrl-C is for the one that counts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    _GRAMMAR.append(Grammar())


def work(numbers: range) -> Report:
    """Load the graphs of these numbers in such a process."""
    return _GRAMMAR[0].run(numbers)
