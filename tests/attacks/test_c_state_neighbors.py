"""Trees of neighbours, of scikit-learn and of SciPy, whose numbers lead out of their arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.spatial import KDTree as SpatialTree
from scipy.spatial import cKDTree
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, LocalOutlierFactor, NearestNeighbors

from packager._codecs import stored_state
from packager._libraries.scipy import _NODE as NODE
from tests.attacks import object_forger as forge
from tests.attacks.c_state import FAR, Case, Reduced, X, Y, archived, cases, changed, reduced_at, refusal
from tests.tables import one_test

# --- of scikit-learn ---


@cache
def neighbours(kind: Any) -> Any:
    return kind(X, leaf_size=5)


def ranges_with(kind: Any, **fields: tuple[int, Any]) -> Any:
    nodes = np.array(neighbours(kind).__getstate__()[2])
    for name, (at, value) in fields.items():
        nodes[name][at] = value
    return reduced_at(neighbours(kind), at_2=nodes)


def _order(at: int, value: int) -> Any:
    order = np.array(neighbours(KDTree).__getstate__()[1])
    order[at] = value
    return order


def _metric(tree: Any, **parts: Any) -> Any:
    return reduced_at(tree.__getstate__()[11], **parts)


def _mahalanobis() -> Any:
    return NearestNeighbors(
        algorithm="ball_tree", metric="mahalanobis", metric_params={"V": np.cov(X.T)}
    ).fit(X)


NEIGHBOURS: dict[str, Case] = {
    "row behind": (
        lambda: reduced_at(neighbours(KDTree), at_1=_order(3, FAR)),
        f"idx_array has values from 0 to {FAR}",
    ),
    "row before": (
        lambda: reduced_at(neighbours(BallTree), at_1=_order(3, -1)),
        "idx_array has values from -1",
    ),
    "row twice": (
        lambda: reduced_at(neighbours(KDTree), at_1=_order(3, int(_order(3, 0)[4]))),
        "idx_array has a row twice",
    ),
    "range behind": (lambda: ranges_with(KDTree, idx_end=(-1, FAR)), "node_data has ranges that do not fit"),
    "range before": (
        lambda: ranges_with(BallTree, idx_start=(-1, -FAR)),
        "node_data has ranges that do not fit",
    ),
    "root too large": (lambda: ranges_with(KDTree, idx_end=(0, FAR)), "node_data has ranges that do not fit"),
    "a leaf that goes on": (
        lambda: ranges_with(KDTree, is_leaf=(-1, 0)),
        "node_data has leaves that are none",
    ),
    "a leaf too early": (lambda: ranges_with(BallTree, is_leaf=(0, 1)), "node_data has leaves that are none"),
    "fewer nodes": (
        lambda: reduced_at(neighbours(KDTree), at_2=np.array(neighbours(KDTree).__getstate__()[2])[:3]),
        r"node_data has shape \[3\], expected \[15\]",
    ),
    "more nodes counted": (
        lambda: reduced_at(neighbours(KDTree), at_6=FAR),
        f"n_nodes is {FAR}, and 4 levels have 15",
    ),
    "fewer bounds": (
        lambda: reduced_at(neighbours(KDTree), at_3=np.zeros((2, 15, 1))),
        r"node_bounds has shape \[2, 15, 1\], expected \[2, 15, 5\]",
    ),
    "bounds of the other kind": (
        lambda: reduced_at(neighbours(BallTree), at_3=np.zeros((2, 15, 5))),
        r"node_bounds has shape \[2, 15, 5\], expected \[1, 15, 5\]",
    ),
    "less data": (
        lambda: reduced_at(neighbours(KDTree), at_0=X[:9].copy()),
        r"idx_array has shape \[60\], expected \[9\]",
    ),
    "fewer weights": (
        lambda: reduced_at(neighbours(KDTree), at_12=np.ones(1)),
        r"sample_weight has shape \[1\], expected \[60\]",
    ),
    "no metric": (lambda: reduced_at(neighbours(KDTree), at_11=None), "the metric is a NoneType"),
    "a metric of other data": (
        lambda: reduced_at(neighbours(BallTree), at_11=_mahalanobis_of_two()),
        "Mahalanobis dist: size of V does not match",
    ),
    "a metric with a flat matrix": (
        lambda: changed(
            _mahalanobis(),
            _tree=reduced_at(_mahalanobis()._tree, at_11=_metric(_mahalanobis()._tree, at_2=np.ones((5, 1)))),
        ),
        r"the matrix of a metric has shape \[5, 1\]",
    ),
    "a tree without a state": (
        lambda: Reduced(*neighbours(KDTree).__reduce__()[:2]),
        r"cannot be built .*(data is empty|leafsize|leaf_size is 0|idx_array)",
    ),
    "fitted rows of other width": (
        lambda: changed(KNeighborsClassifier(algorithm="brute").fit(X, Y), _fit_X=X[:, :1].copy()),
        r"_fit_X has shape \[60, 1\], expected \[60, 5\]",
    ),
    "an order that is no number": (
        lambda: changed(
            NearestNeighbors(algorithm="brute", p=3).fit(X), effective_metric_params_={"p": np.nan, "w": None}
        ),
        "p of effective_metric_params_ is no number above 0",
    ),
    "a variance below 0": (
        lambda: changed(
            NearestNeighbors(algorithm="brute", metric="seuclidean", metric_params={"V": X.var(0)}).fit(X),
            effective_metric_params_={"V": -X.var(0)},
        ),
        "V of effective_metric_params_ has numbers below 0",
    ),
    "rows that have no distance": (
        lambda: changed(
            NearestNeighbors(algorithm="brute", metric="manhattan").fit(X), _fit_X=np.full_like(X, np.nan)
        ),
        "_fit_X has numbers that are not finite",
    ),
    "fewer labels": (
        lambda: changed(KNeighborsClassifier(algorithm="brute").fit(X, Y), _y=Y[:3].copy()),
        r"_y has shape \[3\], and 60 rows were fitted",
    ),
    "outliers of other width": (
        lambda: changed(LocalOutlierFactor(novelty=True).fit(X), _fit_X=X[:, :2].copy()),
        r"_fit_X has shape \[60, 2\]",
    ),
}


def _mahalanobis_of_two() -> Any:
    return (
        NearestNeighbors(algorithm="ball_tree", metric="mahalanobis", metric_params={"V": np.eye(2)})
        .fit(X[:, :2])
        ._tree.__getstate__()[11]
    )


@cases(NEIGHBOURS)
def test_a_tree_of_neighbours_that_leads_out_of_its_data_is_refused(
    make: Callable[[], Any], message: str
) -> None:
    assert re.search(message, refusal(make()))


# --- of SciPy: nodes as bytes ---


@cache
def spatial(kind: Any = cKDTree) -> Any:
    return kind(X, leafsize=5)


def nodes_as_bytes(**fields: tuple[int, Any]) -> Any:
    raw = stored_state(cKDTree, spatial().__reduce_ex__(4)[2])[0]
    nodes = raw.view(np.uint8).view(NODE)
    for name, (at, value) in fields.items():
        nodes[name][at] = value
    return reduced_at(spatial(), at_0=nodes.view(np.uint8).view(raw.dtype))


def _chain(length: int) -> Any:
    """Nodes of which each has a leaf without rows, and the next one."""
    nodes = np.zeros(2 * length + 1, NODE)
    for at in range(length):
        nodes[2 * at] = (0, 60, 0.5, 0, 60, (0, 0), 2 * at + 1, 2 * at + 2)
        nodes[2 * at + 1] = (-1, 0, 0.0, 0, 0, (0, 0), 0, 0)
    nodes[-1] = (-1, 60, 0.0, 0, 60, (0, 0), 0, 0)
    return reduced_at(spatial(), at_0=nodes.view(np.uint8).view("S1"))


SPATIAL: dict[str, Case] = {
    "child behind": (lambda: nodes_as_bytes(less=(0, FAR)), f"children has values from .* to {FAR}"),
    "child before": (lambda: nodes_as_bytes(greater=(0, -FAR)), f"children has values from -{FAR}"),
    "cycle": (lambda: nodes_as_bytes(less=(0, 0)), "children has values from 0"),
    "axis behind": (lambda: nodes_as_bytes(split_dim=(0, FAR)), f"split_dim has values from -1 to {FAR}"),
    "axis before": (lambda: nodes_as_bytes(split_dim=(0, -2)), "split_dim has values from -2"),
    "range behind": (lambda: nodes_as_bytes(end=(-1, FAR)), "the nodes have ranges that do not fit"),
    "range before": (lambda: nodes_as_bytes(start=(-1, -1)), "the nodes have ranges that do not fit"),
    "address": (
        lambda: nodes_as_bytes(addresses=(1, 4096)),
        "the nodes hold addresses of another process, expected zeros",
    ),
    "half a node": (lambda: reduced_at(spatial(), at_0=np.zeros(71, "S1")), "the nodes are not whole ones"),
    "no nodes": (lambda: reduced_at(spatial(), at_0=np.zeros(0, "S1")), "the nodes are not whole ones"),
    "row behind": (lambda: reduced_at(spatial(), at_7=np.full(60, FAR)), "indices has values from"),
    "more rows counted": (lambda: reduced_at(spatial(), at_2=FAR), r"data has shape \[60, 5\], expected"),
    "more columns counted": (lambda: reduced_at(spatial(), at_3=FAR), r"data has shape \[60, 5\], expected"),
    "data of float32": (lambda: reduced_at(spatial(), at_1=X.astype(np.float32)), "data has dtype float32"),
    "data with gaps": (lambda: reduced_at(spatial(), at_1=X.copy("F")), "data has gaps"),
    "fewer bounds": (
        lambda: reduced_at(spatial(), at_5=np.zeros(1)),
        r"maxes has shape \[1\], expected \[5\]",
    ),
    "a box too small": (
        lambda: reduced_at(spatial(), at_8=np.ones(5), at_9=np.ones(1)),
        r"boxsize_data has shape \[1\], expected \[10\]",
    ),
    "a box by half": (lambda: reduced_at(spatial(), at_8=np.ones(5)), "boxsize without boxsize_data"),
    "too deep": (lambda: _chain(10_001), "the tree is 10001 nodes deep, expected at most 10000"),
    "no state": (lambda: Reduced(*spatial().__reduce_ex__(4)[:2]), "a KDTree without state"),
}


@cases(SPATIAL)
def test_a_tree_of_scipy_that_leads_out_of_its_nodes_is_refused(
    make: Callable[[], Any], message: str
) -> None:
    assert re.search(message, refusal(make()))


@pytest.mark.parametrize("make", [_mahalanobis, lambda: neighbours(KDTree), lambda: neighbours(BallTree)])
def test_trees_of_neighbours_come_back(make: Callable[[], Any]) -> None:
    live = make()
    ask = (
        (lambda tree: tree.kneighbors(X, 4))
        if isinstance(live, NearestNeighbors)
        else (lambda tree: tree.query(X, 4))
    )
    for one, other in zip(ask(live), ask(archived(live)), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        ("minkowski", {"p": 1.5, "metric_params": {"w": np.ones(5)}}),
        ("seuclidean", {"metric_params": {"V": X.var(0)}}),
        ("mahalanobis", {"metric_params": {"VI": np.linalg.inv(np.cov(X.T))}}),
    ],
)
def test_neighbours_by_numbers_of_a_metric_come_back(metric: str, more: Any) -> None:
    live = NearestNeighbors(algorithm="brute", metric=metric, **more).fit(X)
    for one, other in zip(live.kneighbors(X[:9], 3), archived(live).kneighbors(X[:9], 3), strict=True):
        np.testing.assert_allclose(one, other)


def test_neighbours_of_rows_with_gaps_come_back() -> None:
    gaps = np.where(X > 1, np.nan, X)
    live = NearestNeighbors(metric="nan_euclidean").fit(gaps)
    asked = gaps.copy()  # of its own rows scikit-learn knows the distance
    for one, other in zip(live.kneighbors(asked, 3), archived(live).kneighbors(asked, 3), strict=True):
        assert np.array_equal(one, other)


@one_test
@pytest.mark.parametrize("kind", [cKDTree, SpatialTree])
@pytest.mark.parametrize("options", [{}, {"boxsize": 2.0}, {"balanced_tree": False, "leafsize": 1}])
def test_trees_of_scipy_come_back(kind: Any, options: Any) -> None:
    live = kind(X, **options)
    for one, other in zip(live.query(X, 4), archived(live).query(X, 4), strict=True):
        assert np.array_equal(one, other)


@one_test
@pytest.mark.parametrize("kind", [cKDTree, SpatialTree])
@pytest.mark.parametrize("rows", [0, 1, 60])
def test_the_same_tree_is_stored_as_the_same_bytes_wherever_it_lies(kind: Any, rows: int) -> None:
    """Two that are there at once have their nodes in two places, as those of two processes have."""
    first, other = kind(X[:rows], leafsize=5), kind(X[:rows], leafsize=5)
    stored = [forge.encoded(tree) for tree in (first, other)]
    assert stored[0].records == stored[1].records
    one, two = ([bytes(part.buffer) for part in made.storages] for made in stored)
    assert one == two
    if rows == 60:
        assert bytes(first.__reduce_ex__(4)[2][0]) != bytes(other.__reduce_ex__(4)[2][0])


def test_a_tree_of_a_class_with_a_state_of_its_own_is_stored_as_it_says() -> None:
    state = (spatial().__reduce_ex__(4)[2], "mine")
    assert stored_state(cKDTree, state) is state
    assert stored_state(cKDTree, {"mine": 1}) == {"mine": 1}


def test_a_tree_that_is_deep_and_honest_comes_back() -> None:
    live = cKDTree(2.0 ** -np.arange(900)[:, None], leafsize=1, balanced_tree=False)
    assert np.array_equal(archived(live).query([[0.3]], 3)[1], live.query([[0.3]], 3)[1])
