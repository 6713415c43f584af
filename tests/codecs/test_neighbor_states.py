"""Each part of the state of a tree of neighbours, wrong by itself: which words it is refused with."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial import cKDTree
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors._kd_tree import KDTree32

from packager._codecs import c_state
from packager._libraries.scikit_learn.c_state import (
    BinaryTreeCheck,
    MetricCheck,
    NeighborsCheck,
)
from packager._libraries.scipy import _NODE as NODE
from packager._libraries.scipy import SpatialTreeCheck
from tests.codecs.parts import refuses
from tests.tables import one_test

X = np.random.default_rng(7).random((60, 5))
HALF = np.float32(X)
FAR = 1 << 31
WORD = 1 << 62


# --- scikit-learn: data, order, nodes, bounds, leaf size, levels, count, counters, metric, weights ---

DATA, ORDER, NODES, BOUNDS, LEAF_SIZE, LEVELS, COUNT, COUNTER, METRIC, WEIGHTS = *range(7), 7, 11, 12


@cache
def tree(kind: Any = KDTree, rows: int = 60) -> Any:
    return kind(X[:rows], leaf_size=5)


def checked(parts: Any = None, made: Any = None) -> None:
    """Check the state of a tree with some parts changed."""
    made = tree() if made is None else made
    state = list(made.__getstate__())
    for at, value in (parts or {}).items():
        state[at] = value
    BinaryTreeCheck().check_state(made, tuple(state))


def nodes(**fields: dict[int, Any]) -> Any:
    found = np.array(tree().__getstate__()[NODES])
    for name, values in fields.items():
        for at, value in values.items():
            found[name][at] = value
    return found


def metric(name: str = "euclidean", rows: Any = X) -> Any:
    return KDTree(rows, metric=name).__getstate__()[METRIC]


LEFT_SPINE, RIGHT_SPINE = (0, 1, 3, 7), (0, 2, 6, 14)
LEAF_FROM = int(nodes()["idx_start"][8])

PARTS: dict[str, tuple[int, Any, str]] = {
    "no rows": (DATA, X[:0], "data is empty"),
    "no columns": (DATA, X[:, :0], "data is empty"),
    "data of one axis": (DATA, X[0], "data has shape [5], expected [any, any]"),
    "data of ints": (DATA, X.astype(int), "data has dtype int64, expected float64 or float32"),
    "leaf size": (LEAF_SIZE, 0, f"leaf_size is 0, not an int from 1 to {WORD - 1}"),
    "levels": (LEVELS, 0, "n_levels is 0, not an int from 1 to 62"),
    "levels without end": (LEVELS, 63, "n_levels is 63, not an int from 1 to 62"),
    "one more level": (LEVELS, 5, "n_nodes is 15, and 5 levels have 31"),
    "no nodes": (COUNT, 0, f"n_nodes is 0, not an int from 1 to {FAR - 1}"),
    "one node less": (COUNT, 14, "n_nodes is 14, and 4 levels have 15"),
    "order of floats": (ORDER, np.zeros(60), "idx_array has dtype float64, expected int64 or int32"),
    "a row behind": (
        ORDER,
        np.r_[np.arange(59), 60],
        "idx_array has values from 0 to 60, expected 0 to 59",
    ),
    "a row twice": (ORDER, np.r_[np.arange(59), 0], "idx_array has a row twice"),
    "a leaf that goes on": (NODES, nodes(is_leaf={7: 0}), "node_data has leaves that are none"),
    "a leaf too early": (NODES, nodes(is_leaf={6: 1}), "node_data has leaves that are none"),
    "a metric of fewer columns": (
        METRIC,
        DistanceMetric.get_metric("seuclidean", V=np.ones(2)),
        "SEuclidean dist: size of V does not match",
    ),
    "nodes that are numbers": (NODES, np.zeros(15), "node_data has dtype float64, expected a kind of 'V'"),
    "nodes of other fields": (NODES, np.zeros(15, [("idx_start", "<i8")]), "node_data has other fields"),
    "nodes that begin later": (
        NODES,
        nodes(idx_start=dict.fromkeys(LEFT_SPINE, 1)),
        "node_data has ranges that do not fit",
    ),
    "nodes that end before": (
        NODES,
        nodes(idx_end=dict.fromkeys(RIGHT_SPINE, 59)),
        "node_data has ranges that do not fit",
    ),
    "a leaf that ends before it begins": (
        NODES,
        nodes(idx_end={7: -1}, idx_start={8: -1}),
        "node_data has ranges that do not fit",
    ),
    "a gap between leaves": (
        NODES,
        nodes(idx_start={8: LEAF_FROM + 1}),
        "node_data has ranges that do not fit",
    ),
    "a leaf that begins later": (NODES, nodes(idx_start={7: 1}), "node_data has ranges that do not fit"),
    "a leaf that ends before": (NODES, nodes(idx_end={14: 59}), "node_data has ranges that do not fit"),
    "bounds of other floats": (
        BOUNDS,
        np.zeros((2, 15, 5), np.float32),
        "node_bounds has dtype float32, expected float64",
    ),
    "weights of ints": (
        WEIGHTS,
        np.ones(60, int),
        "sample_weight has dtype int64, expected float64 or float32",
    ),
    "a metric of ours": (
        METRIC,
        SimpleNamespace(),
        "the metric is a SimpleNamespace, none of scikit-learn's own",
    ),
    "a metric of other floats": (
        METRIC,
        KDTree32(HALF).__getstate__()[METRIC],
        "the metric EuclideanDistance32 does not take float64",
    ),
    "a metric of a caller": (
        METRIC,
        DistanceMetric.get_metric("pyfunc", func=max),
        "the metric PyFuncDistance64 does not take float64",
    ),
    **{
        f"counter {at}": (at, -FAR - 1, f"a counter is {-FAR - 1}, not an int from {-FAR} to {FAR - 1}")
        for at in range(COUNTER, METRIC)
    },
}


@one_test
@pytest.mark.parametrize(("at", "value", "message"), PARTS.values(), ids=PARTS.keys())
def test_a_part_of_a_tree_of_neighbours_that_does_not_fit(at: int, value: Any, message: str) -> None:
    refuses(lambda: checked({at: value}), message)


def test_a_tree_of_neighbours_has_thirteen_parts() -> None:
    state = tree().__getstate__()
    for wrong in (list(state), state[:-1], (*state, 0), (*state[:8], *state[7:])):
        refuses(
            lambda wrong=wrong: BinaryTreeCheck().check_state(tree(), wrong),  # type: ignore[misc]  # bound now
            "the state of a tree of neighbours has 13 parts",
        )


def test_a_tree_is_looked_at_again_when_it_is_complete() -> None:
    refuses(
        lambda: BinaryTreeCheck().check_made(type("Tree", (), {"__getstate__": lambda self: ()})()),
        "the state of a tree of neighbours has 13 parts",
    )


def test_what_lies_inside_all_bounds_passes() -> None:
    for made in (tree(), tree(BallTree), tree(rows=1), KDTree32(HALF), KDTree(X[:1, :1], leaf_size=1)):
        checked(made=made)
    BinaryTreeCheck().check_made(tree())
    checked({COUNTER: -FAR, METRIC - 1: FAR - 1, WEIGHTS: np.ones(60, np.float32), LEAF_SIZE: WORD - 1})
    checked({NODES: nodes(idx_end={7: 0}, idx_start={8: 0})})  # a leaf without rows
    checked({ORDER: np.arange(60, dtype=np.int32)})


def test_floats_of_a_half_take_a_metric_of_their_own() -> None:
    made = KDTree32(HALF)
    refuses(lambda: checked({METRIC: metric()}, made), "the metric EuclideanDistance64 does not take float32")


# --- metrics ---

METRICS: dict[str, tuple[Any, str]] = {
    "a list": ([2.0, np.zeros(1), np.zeros((1, 1))], "the state of a metric has three parts"),
    "two parts": ((2.0, np.zeros(1)), "the state of a metric has three parts"),
    "no order": ((None, np.zeros(1), np.zeros((1, 1))), "the order of a metric is no number"),
    "a bool": ((True, np.zeros(1), np.zeros((1, 1))), "the order of a metric is no number"),
    "weights of float32": (
        (2.0, np.zeros(1, np.float32), np.zeros((1, 1))),
        "the weights of a metric has dtype float32, expected float64",
    ),
    "weights of two axes": (
        (2.0, np.zeros((1, 1)), np.zeros((1, 1))),
        "the weights of a metric has shape [1, 1], expected [any]",
    ),
    "a flat matrix": (
        (2.0, np.zeros(1), np.zeros(1)),
        "the matrix of a metric has shape [1], expected [any, any]",
    ),
    "a matrix of float32": (
        (2.0, np.zeros(1), np.zeros((1, 1), np.float32)),
        "the matrix of a metric has dtype float32, expected float64",
    ),
    "a long matrix": ((2.0, np.zeros(1), np.zeros((1, 2))), "the matrix of a metric has shape [1, 2]"),
}


@one_test
@pytest.mark.parametrize(("state", "message"), METRICS.values(), ids=METRICS.keys())
def test_a_metric_measures_by_arrays_that_fit(state: Any, message: str) -> None:
    refuses(lambda: MetricCheck().check_state(None, state), message)


def test_a_metric_of_three_parts_or_more_passes() -> None:
    for state in ((2, np.zeros(1), np.zeros((1, 1))), (2.5, np.zeros(3), np.zeros((2, 2)), "more")):
        MetricCheck().check_state(None, state)


def test_a_metric_is_given_a_state_of_its_own() -> None:
    """One that was made and never given any has no room for what it computes."""
    made = metric()
    given: list[Any] = []

    class Watched:
        def __getstate__(self) -> Any:
            return state

        def __setstate__(self, taken: Any) -> None:
            given.append(taken)

    state = made.__getstate__()
    MetricCheck().check_made(Watched())
    assert given == [state]
    state = ()
    refuses(lambda: MetricCheck().check_made(Watched()), "the state of a metric has three parts")
    assert len(given) == 1


# --- estimators of neighbours ---

FITTED: dict[str, Any] = {"_fit_X": X, "n_features_in_": 5, "n_samples_fit_": 60}
ESTIMATORS: dict[str, tuple[dict[str, Any], str]] = {
    "no columns": ({"n_features_in_": 0}, f"n_features_in_ is 0, not an int from 1 to {FAR - 1}"),
    "no rows": ({"n_samples_fit_": 0}, f"n_samples_fit_ is 0, not an int from 1 to {FAR - 1}"),
    "no count": ({"n_samples_fit_": None}, f"n_samples_fit_ is a NoneType, not an int from 1 to {FAR - 1}"),
    "a row more": ({"n_samples_fit_": 61}, "_fit_X has shape [60, 5], expected [61, 5]"),
    "nothing with a shape": ({"_fit_X": 1}, "_fit_X is a int, not an array or a sparse matrix"),
    "a shape of its own": (
        {"_fit_X": SimpleNamespace(shape=(60, 5))},
        "_fit_X is a SimpleNamespace, not an array or a sparse matrix",
    ),
    "labels without a shape": ({"_y": None}, "_y is a NoneType, not an array or a sparse matrix"),
    "labels of fewer rows": ({"_y": X[:9]}, "_y has shape [9, 5], and 60 rows were fitted"),
    "a tree of fewer rows": ({"_tree": KDTree(X[:9])}, "_tree has data of shape [9, 5]"),
    "a tree of ours": (
        {"_tree": SimpleNamespace(data=X)},
        "_tree is a SimpleNamespace, no tree of scikit-learn",
    ),
}


@one_test
@pytest.mark.parametrize(("parts", "message"), ESTIMATORS.values(), ids=ESTIMATORS.keys())
def test_an_estimator_of_neighbours_is_as_wide_as_its_rows(parts: dict[str, Any], message: str) -> None:
    refuses(lambda: NeighborsCheck().check_made(SimpleNamespace(**{**FITTED, **parts})), message)


@one_test
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"_y": X},
        {"_y": X[:, 0]},
        {"_y": csr_array(X)},
        {"_fit_X": csr_matrix(X)},
        {"_tree": None},
        {"_tree": KDTree(X)},
    ],
)
def test_an_estimator_that_fits_passes(parts: dict[str, Any]) -> None:
    NeighborsCheck().check_made(SimpleNamespace(**{**FITTED, **parts}))
    one = {"_fit_X": X[:1, :1], "n_features_in_": 1, "n_samples_fit_": 1}
    NeighborsCheck().check_made(SimpleNamespace(**one))
    NeighborsCheck().check_made(SimpleNamespace(n_features_in_=-1))  # not fitted


# --- SciPy: nodes, data, rows, columns, leaf size, greatest, least, order, box, its data ---


def spatial(rows: int = 60, **options: Any) -> Any:
    return cKDTree(X[:rows], leafsize=5, **options)


def checked_spatial(parts: Any = None, made: Any = None) -> None:
    state = list(SpatialTreeCheck().stored_state((spatial() if made is None else made).__reduce_ex__(4)[2]))
    for at, value in (parts or {}).items():
        state[at] = value
    SpatialTreeCheck().check_state(None, tuple(state))


def raw(**fields: dict[int, Any]) -> Any:
    """The nodes of a tree in which these fields have other values in these places."""
    found = SpatialTreeCheck().stored_state(spatial().__reduce_ex__(4)[2])[0]
    changed = found.view(np.uint8).view(NODE)
    for name, values in fields.items():
        for at, value in values.items():
            changed[name][at] = value
    return found


def spine(side: str) -> list[int]:
    changed = raw().view(np.uint8).view(NODE)
    way = [0]
    while changed["split_dim"][way[-1]] != -1:
        way.append(int(changed[side][way[-1]]))
    return way


GAPS = np.zeros(10)[::2]
NODE_COUNT = len(raw().view(np.uint8).view(NODE))
SPATIAL: dict[str, tuple[int, Any, str]] = {
    "rows": (2, -1, f"n is -1, not an int from 0 to {FAR - 1}"),
    "columns": (3, 0, f"m is 0, not an int from 1 to {FAR - 1}"),
    "leaf size": (4, 0, f"leafsize is 0, not an int from 1 to {WORD - 1}"),
    "data of another length": (1, X[:9], "data has shape [9, 5], expected [60, 5]"),
    "data with gaps": (1, X.copy("F"), "data has gaps"),
    "greatest with gaps": (5, GAPS, "maxes has gaps"),
    "greatest of float32": (5, HALF[0], "maxes has dtype float32, expected float64"),
    "least of another length": (6, np.zeros(4), "mins has shape [4], expected [5]"),
    "order of another dtype": (7, np.arange(60, dtype=np.int32), "indices has dtype int32, expected int64"),
    "order of another length": (7, np.arange(59), "indices has shape [59], expected [60]"),
    "order with gaps": (7, np.repeat(np.arange(60), 2)[::2], "indices has gaps"),
    "a row twice": (7, np.r_[np.arange(59), 0], "indices has a row twice"),
    "box data alone": (9, np.ones(10), "boxsize without boxsize_data"),
    "nodes that are none": (0, b"", "the nodes is a bytes, not an array"),
    "nodes of floats": (0, np.zeros(9), "the nodes has dtype float64, expected a kind of 'SVui'"),
    "nodes with gaps": (0, np.zeros(144, "S1")[::2], "the nodes are not whole ones"),
    "nodes of wide bytes": (0, raw().view("S2"), "the nodes are not whole ones"),
    "no nodes": (0, np.zeros(0, "S1"), "the nodes are not whole ones"),
    "a way back to the root": (
        0,
        raw(less={0: 0}),
        f"children has values from 0 to {NODE_COUNT - 1}, expected 1 to {NODE_COUNT - 1}",
    ),
    "half a node more": (0, np.r_[raw(), raw()[:36]], "the nodes are not whole ones"),
    "an axis behind": (0, raw(split_dim={0: 5}), "split_dim has values from -1 to 5, expected -1 to 4"),
    "a later begin": (
        0,
        raw(start=dict.fromkeys(spine("less"), 1)),
        "the nodes have ranges that do not fit",
    ),
    "an earlier end": (
        0,
        raw(end=dict.fromkeys(spine("greater"), 59)),
        "the nodes have ranges that do not fit",
    ),
    "a leaf that begins later": (
        0,
        raw(start={spine("less")[-1]: 1}),
        "the nodes have ranges that do not fit",
    ),
    "a leaf that ends before": (
        0,
        raw(end={spine("greater")[-1]: 59}),
        "the nodes have ranges that do not fit",
    ),
    "the address of a node": (
        0,
        raw(addresses={1: [0, 4096]}),
        "the nodes hold addresses of another process, expected zeros",
    ),
    "a gap between ranges": (0, raw(end={spine("less")[-1]: 1}), "the nodes have ranges that do not fit"),
}


@one_test
@pytest.mark.parametrize(("at", "value", "message"), SPATIAL.values(), ids=SPATIAL.keys())
def test_a_part_of_a_tree_of_scipy_that_does_not_fit(at: int, value: Any, message: str) -> None:
    refuses(lambda: checked_spatial({at: value}), message)


def test_a_tree_of_scipy_has_ten_parts() -> None:
    state = spatial().__reduce_ex__(4)[2]
    for wrong in (list(state), state[:-1], (*state, None)):
        refuses(
            lambda wrong=wrong: SpatialTreeCheck().check_state(None, wrong),  # type: ignore[misc]  # bound now
            "the state of a KDTree has 10 parts",
        )


def test_a_box_goes_with_its_data() -> None:
    boxed = spatial(boxsize=2.0)
    checked_spatial(made=boxed)
    refuses(lambda: checked_spatial({8: np.ones(4)}, boxed), "boxsize has shape [4], expected [5]")
    refuses(lambda: checked_spatial({9: np.ones(20)[::2]}, boxed), "boxsize_data has gaps")
    refuses(lambda: checked_spatial({8: None}, boxed), "boxsize without boxsize_data")
    halves = np.concatenate([np.full(5, 2.0), np.full(5, 0.5)])
    refuses(lambda: checked_spatial({9: halves}, boxed), "boxsize_data is not boxsize and its half")


@pytest.mark.parametrize("size", [5e-324, 1e-300, -1.0, np.inf, np.nan])
def test_a_box_into_which_nothing_can_be_moved_is_refused(size: float) -> None:
    boxed = spatial(boxsize=2.0)
    both = np.concatenate([np.full(5, size), np.full(5, size / 2)])
    refuses(
        lambda: checked_spatial({8: np.full(5, size), 9: both}, boxed),
        "boxsize is neither 0 nor at least 1e-100",
    )


def test_small_trees_of_scipy_pass() -> None:
    for made in (cKDTree(X[:0]), cKDTree(X[:1, :1], leafsize=1), spatial(balanced_tree=False)):
        checked_spatial(made=made)
        SpatialTreeCheck().check_made(made)


def test_a_range_that_ends_before_it_begins() -> None:
    """Of the two leaves below a node, the one ends as much too early as the other begins."""
    parent = spine("less")[-2]
    less, greater = (int(raw().view(np.uint8).view(NODE)[side][parent]) for side in ("less", "greater"))
    checked_spatial({0: raw(end={less: 0}, start={greater: 0})})
    refuses(
        lambda: checked_spatial({0: raw(end={less: -1}, start={greater: -1})}),
        "the nodes have ranges that do not fit",
    )


def chain(side: str) -> Any:
    """A root with three nodes below each other on this side, and leaves without rows on the other one."""
    found = np.zeros(7, NODE)
    found["split_dim"] = -1
    for at, deeper, ends in ((0, 1, 2), (1, 3, 4), (3, 5, 6)):
        less, greater = (deeper, ends) if side == "less" else (ends, deeper)
        found[at] = (0, 0, 0.5, 0, 60, (0, 0), less, greater)
        found["start"][ends] = found["end"][ends] = 60 if side == "less" else 0
    found["end"][5] = 60
    return found.view(np.uint8)


@pytest.mark.parametrize("side", ["less", "greater"])
def test_a_tree_of_scipy_is_as_deep_as_can_be_walked(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_state, "MAX_TREE_DEPTH", 3)
    checked_spatial({0: chain(side)})
    monkeypatch.setattr(c_state, "MAX_TREE_DEPTH", 2)
    refuses(lambda: checked_spatial({0: chain(side)}), "the tree is 3 nodes deep, expected at most 2")


@pytest.mark.parametrize("missing", ["data", "indices"])
def test_a_tree_of_scipy_was_given_a_state(missing: str) -> None:
    made = SimpleNamespace(data=X, indices=np.arange(60))
    SpatialTreeCheck().check_made(made)
    refuses(
        lambda: SpatialTreeCheck().check_made(SimpleNamespace(**{**vars(made), missing: None})),
        "a KDTree without state",
    )


@pytest.mark.parametrize("parts", [{"data": None}, {"indices": None}, {"data": [1], "indices": [1]}])
def test_a_tree_of_scipy_that_was_given_no_state_is_refused(parts: dict[str, Any]) -> None:
    made = SimpleNamespace(**{"data": X, "indices": np.arange(60), **parts})
    refuses(lambda: SpatialTreeCheck().check_made(made), "a KDTree without state")
