"""Ten thousand composed graphs call nothing that is not stated, and a call that is not would be seen."""

from __future__ import annotations

import io
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.pool import Pool

import numpy as np
import pytest

from packager import PackageImporter
from packager._objects import EncodedObject
from packager._objects.records import KIND_NAMES
from packager.errors import PackageError
from tests.attacks.grammar import vocabulary as words
from tests.attacks.grammar.allowed import is_allowed
from tests.attacks.grammar.graphs import Composed, compose
from tests.attacks.grammar.holdings import unfit
from tests.attacks.grammar.holes import HOLES, graphs_until_found, opened
from tests.attacks.grammar.run import Grammar, Report, begin, work
from tests.attacks.grammar.tracer import Tracer
from tests.attacks.grammar.world import SENTINEL

pytestmark = pytest.mark.unix  # the view of Windows stands in for `import`, and would be among the calls

PARTS, GRAPHS = 10, 1000
# Of 1,000 graphs some 365 are built, give or take 20; NumPy 1 has fewer things to build.
LEAST_BUILT = 0.3 if hasattr(np.dtypes, "StringDType") else 0.27


@pytest.fixture(scope="module")
def grammar() -> Iterator[Grammar]:
    made = Grammar()
    yield made
    made.close()


@pytest.fixture(scope="module")
def alone() -> Iterator[Pool]:
    """A process with one thread: on Python 3.12 the profiler shows what all threads of a process call."""
    with multiprocessing.get_context("spawn").Pool(1, begin) as pool:
        yield pool


SOON = 2  # parts that every run of the tests tries; `make test-long` tries the others, too


@pytest.mark.parametrize(
    "part", [*range(SOON), *(pytest.param(part, marks=pytest.mark.long) for part in range(SOON, PARTS))]
)
def test_composed_graphs_call_nothing_outside_the_statement(alone: Pool, part: int) -> None:
    report: Report = alone.apply(work, [range(part * GRAPHS, (part + 1) * GRAPHS)])
    assert report.found == []
    assert sum(report.outcomes.values()) == GRAPHS
    built, deep = report.outcomes["built"], report.outcomes["ObjectBuildError"]
    assert built > LEAST_BUILT * GRAPHS, "most graphs are refused, and nothing of them is tested"
    assert built + deep < 0.9 * GRAPHS, "hardly any graph is refused: none is bold"
    assert len(report.compositions) > 0.8 * GRAPHS
    assert {f"kind {name}" for name in KIND_NAMES.values()} <= set(report.reached)


def _made_by_itself(grammar: Grammar, graph: Composed) -> str:
    """What comes of a graph that is sealed into an archive of its own, and loaded in the public way."""
    world = grammar.worlds["code" if graph.how == "code" else graph.how]
    extras = graph.how in ("extras", "shadowed")
    table = EncodedObject(graph.table, world.storages if graph.with_storage else (), ())
    file: io.BytesIO = world.sealed(None if extras else table, table if extras else None, graph.factory)
    try:
        with PackageImporter(file, environment="ignore") as importer:
            found = importer.load_state_dict("m", "s")["key"] if extras else importer.load_object("m", "o")
    except PackageError as error:
        return f"{type(error).__name__}: {error}"
    return type(found).__name__


def test_graphs_are_loaded_as_archives_of_their_own_are(grammar: Grammar) -> None:
    graphs = [graph for graph in map(compose, range(20_000, 20_150)) if not graph.sentinels]
    outcomes = set()
    for graph in graphs:
        try:
            here = type(grammar.load(graph)).__name__
        except PackageError as error:
            here = f"{type(error).__name__}: {error}"
        assert here == _made_by_itself(grammar, graph), graph.seed
        outcomes.add(here.partition(":")[0])
    assert {"list", "RecordError", "UntrustedNamesError", "ObjectBuildError"} <= outcomes


@pytest.mark.parametrize(
    "hole",
    [
        "hooks in data alone",
        "STATE on a class of an extern",
        pytest.param("attributes in the place of methods", marks=pytest.mark.long),
        pytest.param("__new__ of a class of an extern", marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_a_hole_that_is_put_back_is_found(grammar: Grammar, hole: str) -> None:
    count, found = graphs_until_found(grammar, hole, 3000)
    assert found, f"not found by {count} graphs"


@pytest.mark.parametrize("hole", HOLES)
def test_each_hole_can_be_opened(hole: str) -> None:
    with opened(hole):
        pass


def test_what_data_alone_must_not_hold_is_seen_where_nothing_calls_it() -> None:
    import collections
    import functools
    import operator
    import types

    assert unfit([1, {"a": (len,)}, collections.defaultdict(list), words.Point]) != ""
    assert unfit([1, {"a": (len,)}, collections.defaultdict(list)]) == ""
    for value in (
        operator.attrgetter("a"),
        [].append and types.MethodType(len, []),
        functools.partial(map, len),
        collections.defaultdict(collections.deque),
        types.SimpleNamespace(extend=len),
        types.SimpleNamespace(__array_interface__=1),
    ):
        assert unfit([{"a": (value,)}]) != ""


CALLS = {
    "a function in C that C calls": lambda: list(map(SENTINEL, [1])),
    "a function in C": lambda: __import__("os").getcwd(),
    "a function of Python that C calls": lambda: sorted([1], key=lambda x: x),
    "an import": lambda: __import__("antigravity_of_no_such_name"),
    "a file": lambda: open("/proc/self/status").close(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_the_tracer_notices(call: Callable[[], object]) -> None:
    tracer = Tracer(is_allowed)
    for watch in (tracer.watch, tracer.locate):
        with watch() as found, suppress(ImportError):
            call()
        assert found != []
    with tracer.watch() as found:
        sum([1])
    assert found == []
