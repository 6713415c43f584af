"""State that C code trusts is looked at before anybody can use the object: NumPy, SciPy, scikit-learn."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import KDTree as SpatialTree
from scipy.spatial import cKDTree
from sklearn.cluster import Birch, KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, LocalOutlierFactor, NearestNeighbors
from sklearn.svm import SVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from packager.codecs import state_checks, stored_state
from packager.codecs.c_state import FAMILIES
from packager.codecs.neighbor_state import _NODE as NODE
from packager.objects import ObjectBuildError
from packager.objects.default_names import CALLED_BESIDE_CODE, CREATED
from tests.attacks import object_forger as forge
from tests.attacks.c_state import (
    EXTERNS,
    Reduced,
    archived,
    bit_generator,
    changed,
    reduced,
    reduced_at,
    refusal,
)

X = np.random.default_rng(7).random((60, 5))
Y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.6)
FAR = 1 << 30

Case = tuple[Callable[[], Any], str]


def cases(table: dict[str, Case]) -> Any:
    return pytest.mark.parametrize(("make", "message"), table.values(), ids=table.keys())


# --- random generators ---

PCG = {"has_uint32": 0, "uinteger": 0, "state": {"state": 5, "inc": 7}}
PHILOX = {
    "state": {"counter": np.zeros(4, np.uint64), "key": np.zeros(2, np.uint64)},
    "buffer": np.zeros(4, np.uint64),
    "buffer_pos": 4,
    "has_uint32": 0,
    "uinteger": 0,
}


def _twister(pos: Any, key: Any = None) -> dict[str, Any]:
    return {"state": {"key": np.arange(624, dtype=np.uint32) if key is None else key, "pos": pos}}


GENERATORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "far behind": ("MT19937", _twister(100_000_000), "pos of MT19937 is 100000000, not an int from 0 to 624"),
    "one behind": ("MT19937", _twister(625), "pos of MT19937 is 625, not an int from 0 to 624"),
    "before": ("MT19937", _twister(-1), "pos of MT19937 is -1, not an int from 0 to 624"),
    "a float": ("MT19937", _twister(3.0), "pos of MT19937 is a float, not an int"),
    "a bool": ("MT19937", _twister(True), "pos of MT19937 is a bool, not an int"),
    "short key": (
        "MT19937",
        _twister(0, np.arange(3, dtype=np.uint32)),
        r"key of MT19937 has shape \[3\], expected \[624\]",
    ),
    "other dtype": (
        "MT19937",
        _twister(0, np.arange(624, dtype=np.int64)),
        "key of MT19937 has dtype int64, expected uint32",
    ),
    "a list": ("MT19937", _twister(0, list(range(624))), "key of MT19937 is a list, not an array"),
    "other byte order": (
        "MT19937",
        _twister(0, np.arange(624, dtype=">u4")),
        "key of MT19937 has dtype >u4, expected uint32",
    ),
    "philox before": ("Philox", {**PHILOX, "buffer_pos": -100_000_000}, "buffer_pos of Philox is -100000000"),
    "philox behind": (
        "Philox",
        {**PHILOX, "buffer_pos": 5},
        "buffer_pos of Philox is 5, not an int from 0 to 4",
    ),
    "philox buffer": ("Philox", {**PHILOX, "buffer": np.zeros(1, np.uint64)}, "buffer of Philox has shape"),
    "philox half": (
        "Philox",
        {**PHILOX, "has_uint32": 2},
        "has_uint32 of Philox is 2, not an int from 0 to 1",
    ),
    "philox rest": ("Philox", {**PHILOX, "uinteger": 1 << 32}, "uinteger of Philox is 4294967296"),
    "sfc": (
        "SFC64",
        {**PCG, "state": {"state": np.zeros(3, np.uint64)}},
        r"state of SFC64 has shape \[3\], expected \[4\]",
    ),
    "pcg": (
        "PCG64",
        {**PCG, "state": {"state": 1 << 128, "inc": 1}},
        "state of PCG64 is 340282366920938463463",
    ),
    "pcg below": ("PCG64DXSM", {**PCG, "state": {"state": 1, "inc": -1}}, "inc of PCG64DXSM is -1"),
    "too much": ("PCG64", {**PCG, "more": 1}, "the state of PCG64 has other parts"),
    "too little": ("SFC64", _twister(0), "the state of SFC64 has other parts"),
    "another one's": (
        "PCG64",
        {**PCG, "bit_generator": "PCG64DXSM"},
        "the state is not that of PCG64",
    ),
}


@pytest.mark.parametrize(("algorithm", "state", "message"), GENERATORS.values(), ids=GENERATORS.keys())
def test_a_state_of_a_bit_generator_out_of_bounds_is_refused(
    algorithm: str, state: dict[str, Any], message: str
) -> None:
    forged = bit_generator(algorithm, {"bit_generator": algorithm, **state})
    with pytest.raises(ObjectBuildError, match=message):
        forge.load(forge.archive_of(forged, externs=["numpy"]))


@pytest.mark.parametrize("algorithm", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
@pytest.mark.parametrize("drawn", [0, 1, 3, 624])
def test_a_generator_goes_on_where_it_was(algorithm: str, drawn: int) -> None:
    live = np.random.Generator(getattr(np.random, algorithm)(3))
    live.integers(0, 9, drawn, dtype=np.uint32)
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=["numpy"]))
    assert np.array_equal(live.integers(0, 1 << 40, 700), loaded.integers(0, 1 << 40, 700))


def test_a_random_state_goes_on_where_it_was() -> None:
    live = np.random.RandomState(5)
    live.standard_normal(3)
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=["numpy"]))
    assert np.array_equal(live.standard_normal(700), loaded.standard_normal(700))


# --- sparse matrices ---

DENSE = np.array([[0, 1, 2, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 4, 0, 5]], dtype=float)
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "lil")


def sparse(name: str) -> Any:
    return getattr(sp, name)(DENSE)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def _lists(*rows: Any) -> Any:
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


def _coords(*values: Any) -> Any:
    return changed(sp.coo_array(DENSE), coords=values, has_canonical_format=False)


SPARSE: dict[str, Case] = {
    "column behind": (
        lambda: changed(sparse("csr_array"), indices=ints(1, 2, 0, 1, FAR)),
        f"indices has values from 0 to {FAR}, expected 0 to 3",
    ),
    "column at the end": (
        lambda: changed(sparse("csr_matrix"), indices=ints(1, 2, 0, 1, 4)),
        "indices has values from 0 to 4, expected 0 to 3",
    ),
    "column before": (
        lambda: changed(sparse("csc_array"), indices=ints(-1, 0, 3, 0, 3)),
        "indices has values from -1 to 3, expected 0 to 3",
    ),
    "rows that end behind": (
        lambda: changed(sparse("csr_array"), indptr=ints(0, 2, 3, 3, FAR)),
        f"indptr ends at {FAR}, and there are 5 indices",
    ),
    "rows that go back": (
        lambda: changed(sparse("csc_matrix"), indptr=ints(0, 3, 2, 3, 5)),
        "indptr does not begin at 0 and grow",
    ),
    "rows that begin later": (
        lambda: changed(sparse("csr_array"), indptr=ints(1, 2, 3, 3, 5)),
        "indptr does not begin at 0 and grow",
    ),
    "too few rows": (
        lambda: changed(sparse("csr_array"), indptr=ints(0, 2, 5)),
        r"indptr has shape \[3\], expected \[5\]",
    ),
    "a larger shape": (
        lambda: changed(sparse("csr_array"), _shape=(FAR, 4)),
        rf"indptr has shape \[5\], expected \[{FAR + 1}\]",
    ),
    "a smaller shape": (
        lambda: changed(sparse("csr_array"), _shape=(4, 2)),
        "indices has values from 0 to 3, expected 0 to 1",
    ),
    "a negative shape": (
        lambda: changed(sparse("csr_array"), _shape=(4, -4)),
        "the shape of a sparse matrix is",
    ),
    "no shape": (lambda: changed(sparse("csr_array"), _shape=None), "the shape of a sparse matrix is None"),
    "too few values": (
        lambda: changed(sparse("csr_array"), data=np.ones(2)),
        r"data has shape \[2\], expected \[5\]",
    ),
    "values of objects": (
        lambda: changed(sparse("csr_array"), data=np.array([1, 2, 3, 4, 5], object)),
        "data has dtype object",
    ),
    "indices that are floats": (
        lambda: changed(sparse("csr_array"), indices=np.array([1.0, 2, 0, 1, 3])),
        "indices has dtype float64, expected int32 or int64",
    ),
    "indices of another order": (
        lambda: changed(sparse("csr_array"), indices=np.array([1, 2, 0, 1, 3], ">i4")),
        "indices has dtype >i4, expected int32 or int64",
    ),
    "no indices": (lambda: changed(sparse("csr_array"), indices=None), "indices is a NoneType, not an array"),
    "claims to be sorted": (
        lambda: changed(sparse("csr_array"), indices=ints(2, 1, 0, 1, 3), _has_sorted_indices=True),
        "has_sorted_indices is claimed, and the indices of a row do not grow",
    ),
    "claims to have no duplicates": (
        lambda: changed(sparse("csr_array"), indices=ints(1, 1, 0, 1, 3), _has_canonical_format=True),
        "has_canonical_format is claimed, and the indices of a row do not grow",
    ),
    "one dimension": (
        lambda: changed(sp.csr_array(np.arange(4.0)), indices=ints(1, 2, FAR)),
        f"indices has values from 1 to {FAR}",
    ),
    "blocks that do not divide": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), _shape=(4, 5)),
        r"blocks of 2 x 2 do not divide the shape \[4, 5\]",
    ),
    "blocks without a size": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), data=np.ones((3, 0, 2))),
        "blocks of 0 x 2 do not divide",
    ),
    "a block behind": (
        lambda: changed(sp.bsr_matrix(DENSE, blocksize=(2, 2)), indices=ints(0, 1, 0, 2)),
        "indices has values from 0 to 2, expected 0 to 1",
    ),
    "too few blocks": (
        lambda: changed(sp.bsr_array(DENSE, blocksize=(2, 2)), data=np.ones((1, 2, 2))),
        "data has 1 blocks, expected 4",
    ),
    "coordinates behind": (
        lambda: _coords(ints(0, 0, 1, 3, FAR), ints(1, 2, 0, 1, 3)),
        rf"coords\[0\] has values from 0 to {FAR}, expected 0 to 3",
    ),
    "coordinates before": (
        lambda: _coords(ints(0, 0, 1, 3, 3), ints(1, 2, 0, 1, -FAR)),
        rf"coords\[1\] has values from -{FAR}",
    ),
    "too few coordinates": (
        lambda: _coords(ints(0), ints(1)),
        r"coords\[0\] has shape \[1\], expected \[5\]",
    ),
    "coordinates of one axis": (lambda: _coords(ints(0, 0, 1, 3, 3)), "coords are no tuple of 2 arrays"),
    "three axes": (
        lambda: changed(sp.coo_array(np.ones((2, 2, 2))), _shape=(2, 2, 1)),
        r"coords\[2\] has values from 0 to 1, expected 0 to 0",
    ),
    "coordinates twice": (
        lambda: changed(_coords(ints(0, 0, 1, 3, 3), ints(1, 1, 0, 1, 3)), has_canonical_format=True),
        "has_canonical_format is claimed, and coordinates are there twice",
    ),
    "fewer diagonals": (
        lambda: changed(sparse("dia_array"), data=np.ones((1, 4))),
        r"data has shape \[1, 4\], expected \[5, any\]",
    ),
    "a diagonal that overflows": (
        lambda: changed(sparse("dia_matrix"), offsets=ints(-2, -1, 0, 1, (1 << 31) - 1)),
        "offsets has values from -2 to 2147483647",
    ),
    "a diagonal twice": (
        lambda: changed(sparse("dia_array"), offsets=ints(0, 1, 2, 3, 0)),
        "offsets has the same diagonal twice",
    ),
    "a list behind": (
        lambda: changed(sparse("lil_array"), rows=_lists([1, FAR], [0], [], [1, 3])),
        f"a column of row 0 is {FAR}, not an int from 0 to 3",
    ),
    "a list of another length": (
        lambda: changed(sparse("lil_matrix"), rows=_lists([1, 2], [0], [], [1])),
        "row 3 is not a list of columns beside a list of as many values",
    ),
    "a list out of order": (
        lambda: changed(sparse("lil_array"), rows=_lists([2, 1], [0], [], [1, 3])),
        "the columns of row 0 do not grow",
    ),
    "a row that is no list": (
        lambda: changed(sparse("lil_array"), rows=_lists((1, 2), [0], [], [1, 3])),
        "row 0 is not a list of columns",
    ),
    "too few lists": (
        lambda: changed(sparse("lil_array"), rows=_lists([1, 2])),
        r"rows has shape \[1\], expected \[4\]",
    ),
    "a value that is none": (
        lambda: changed(sparse("lil_array"), data=_lists([1.0, "x"], [3.0], [], [4.0, 5.0])),
        "row 0 has values that are no numbers",
    ),
}


@cases(SPARSE)
def test_a_sparse_matrix_with_an_index_out_of_bounds_is_refused(
    make: Callable[[], Any], message: str
) -> None:
    hostile = forge.encoded(make())
    with pytest.raises(ObjectBuildError, match=message):
        forge.load(forge.archive_of(hostile, externs=EXTERNS))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_comes_back(name: str, kind: str) -> None:
    live = sparse(f"{name}_{kind}")
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=EXTERNS))
    assert type(loaded) is type(live)
    assert np.array_equal(loaded.toarray(), DENSE)
    assert np.array_equal((loaded @ loaded.T).toarray(), DENSE @ DENSE.T)


UNUSUAL: dict[str, Callable[[], Any]] = {
    "empty": lambda: sp.csr_array((0, 3)),
    "no columns": lambda: sp.csc_array((3, 0)),
    "no values": lambda: sp.coo_array((3, 3)),
    "duplicates": lambda: sp.coo_array((np.ones(3), ([1, 1, 0], [1, 1, 0])), shape=(2, 2)),
    "unsorted": lambda: sp.csr_array((np.ones(3), [2, 0, 1], [0, 2, 3]), shape=(2, 3)),
    "room behind": lambda: changed(sp.csr_array(DENSE), indptr=ints(0, 2, 3, 3, 4)),
    "blocks": lambda: sp.bsr_array(DENSE, blocksize=(2, 4)),
    "one dimension": lambda: sp.coo_array(np.arange(4.0)),
    "three dimensions": lambda: sp.coo_array(np.ones((2, 3, 4))),
    "wide indices": lambda: sp.csr_array((np.ones(1), np.array([1]), np.array([0, 1])), shape=(1, 1 << 40)),
    "diagonals outside": lambda: sp.dia_array((np.ones((2, 4)), [9, -9]), shape=(4, 4)),
    "bools": lambda: sp.csr_array(DENSE > 0),
    "complex": lambda: sp.csc_array(DENSE * 1j),
    "sorted twice": lambda: _sorted(sp.csr_array(DENSE)),
}


def _sorted(matrix: Any) -> Any:
    matrix.sum_duplicates()
    return matrix


@pytest.mark.parametrize("make", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_matrices_come_back(make: Callable[[], Any]) -> None:
    live = make()
    loaded = forge.load(forge.archive_of(forge.encoded(live), externs=EXTERNS))
    assert loaded.shape == live.shape
    assert loaded.nnz == live.nnz
    assert loaded.dtype == live.dtype
    if max(live.shape) < 100:
        assert np.array_equal(loaded.toarray(), live.toarray())


def test_every_sparse_class_on_the_default_list_is_checked() -> None:
    names = CREATED["scipy.sparse"].split()
    assert len(names) == 14
    assert all(len(state_checks(getattr(sp, name))) == 1 for name in names)


KEYS: dict[str, Case] = {
    "behind": (lambda: {(FAR, 0): 1.0}, f"a coordinate is {FAR}, not an int from 0 to 3"),
    "before": (lambda: {(0, -1): 1.0}, "a coordinate is -1, not an int from 0 to 3"),
    "another rank": (lambda: {(0, 0, 0): 1.0}, "a key of another rank"),
    "no tuple": (lambda: {0: 1.0}, "a key of another rank"),
    "no number": (lambda: {(0, 0): "x"}, "a value that is no number"),
}


@cases(KEYS)
def test_a_matrix_of_keys_out_of_bounds_is_refused(make: Callable[[], Any], message: str) -> None:
    (check,) = state_checks(sp.dok_array)
    with pytest.raises(ValueError, match=message):
        check.check_made(changed(sp.dok_array(DENSE), _dict=make()))
    check.check_made(sp.dok_array(DENSE))


# --- decision trees ---


@cache
def decision_tree() -> Any:
    return DecisionTreeClassifier(random_state=0).fit(X, Y)


def with_tree(**state: Any) -> Any:
    live = decision_tree()
    return changed(live, tree_=reduced(live.tree_, **state))


def nodes_with(**fields: tuple[int, Any]) -> Any:
    """The nodes of the tree, with one field of one node changed."""
    nodes = decision_tree().tree_.__getstate__()["nodes"].copy()
    for name, (at, value) in fields.items():
        nodes[name][at] = value
    return nodes


def _inner() -> int:
    """A node below the root that has children."""
    return int(np.flatnonzero(decision_tree().tree_.children_left != -1)[1])


def _arguments(*args: Any) -> Any:
    live = decision_tree()
    made, before, state = live.tree_.__reduce__()
    args = tuple(before[at] if arg is None else arg for at, arg in enumerate(args))
    return changed(live, tree_=Reduced(made, args, state))


TREES: dict[str, Case] = {
    "child behind": (
        lambda: with_tree(nodes=nodes_with(left_child=(0, FAR))),
        f"children has values from .* to {FAR}",
    ),
    "child before": (
        lambda: with_tree(nodes=nodes_with(right_child=(0, -5))),
        "children has values from -5 to",
    ),
    "cycle": (
        lambda: with_tree(nodes=nodes_with(left_child=(_inner(), 0))),
        "children has values from 0 to",
    ),
    "child of itself": (
        lambda: with_tree(nodes=nodes_with(left_child=(_inner(), _inner()))),
        "children stand before their parents",
    ),
    "child of two": (
        lambda: with_tree(nodes=nodes_with(left_child=(0, decision_tree().tree_.children_right[0]))),
        "expected each but the root once",
    ),
    "feature behind": (
        lambda: with_tree(nodes=nodes_with(feature=(0, FAR))),
        f"feature has values from .* to {FAR}",
    ),
    "feature before": (lambda: with_tree(nodes=nodes_with(feature=(0, -2))), "feature has values from -2 to"),
    "feature at the end": (
        lambda: with_tree(nodes=nodes_with(feature=(0, 5))),
        "feature has .* expected 0 to 4",
    ),
    "more nodes counted": (lambda: with_tree(node_count=FAR), f"node_count is {FAR}, and there are"),
    "fewer nodes counted": (lambda: with_tree(node_count=1), "node_count is 1, and there are"),
    "depth too small": (lambda: with_tree(max_depth=0), "max_depth is 0, and the deepest leaf is at"),
    "depth below": (lambda: with_tree(max_depth=-3), "max_depth is -3, not an int from 0"),
    "no nodes": (lambda: with_tree(nodes=None), "nodes is a NoneType, not an array"),
    "values of fewer nodes": (
        lambda: with_tree(values=decision_tree().tree_.value[:1].copy()),
        r"values has shape \[1, 1, 3\]",
    ),
    "values of float32": (
        lambda: with_tree(values=decision_tree().tree_.value.astype(np.float32)),
        "values has dtype float32, expected float64",
    ),
    "more outputs than classes": (
        lambda: _arguments(None, None, FAR),
        rf"n_classes has shape \[1\], expected \[{FAR}\]",
    ),
    "no classes": (lambda: _arguments(None, np.array([0]), None), "n_classes is 0, not an int from 1"),
    "features below": (lambda: _arguments(-1, None, None), "n_features is -1, not an int from 1"),
    "other features than the estimator": (
        lambda: _arguments(FAR, None, None),
        f"n_features_in_ is 5, expected {FAR}",
    ),
    "no features": (
        lambda: changed(decision_tree(), n_features_in_=None),
        "n_features_in_ is NoneType, expected 5",
    ),
    "a tree without a state": (
        lambda: changed(decision_tree(), tree_=Reduced(*decision_tree().tree_.__reduce__()[:2])),
        "node_count is 0, not an int from 1",
    ),
    "a tree that is none": (
        lambda: changed(decision_tree(), tree_=decision_tree().tree_.value),
        "found an object of numpy:ndarray, expected sklearn.tree._tree:Tree",
    ),
}


@cases(TREES)
def test_a_tree_that_leads_out_of_its_nodes_is_refused(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


@cases(TREES)
def test_one_such_tree_is_found_among_honest_ones(make: Callable[[], Any], message: str) -> None:
    first, last = forest().estimators_[:2]
    assert re.search(message, refusal(changed(forest(), estimators_=[first, make(), last])))


def test_a_tree_that_leads_into_the_next_one_is_refused() -> None:
    first, last = forest().estimators_[:2]
    count = decision_tree().tree_.node_count
    leading = with_tree(nodes=nodes_with(left_child=(0, count)))
    message = rf"children has values from \d+ to {count}, expected 1 to {count - 1}"
    assert re.search(message, refusal(changed(forest(), estimators_=[first, leading, last])))


@cache
def wide_tree() -> Any:
    """An honest tree over many features, for a forest over few."""
    rng = np.random.default_rng(0)
    return DecisionTreeClassifier(random_state=0).fit(rng.random((20, 900)), np.arange(20) % 3)


def in_forest(model: Any) -> Any:
    return changed(model, estimators_=[*model.estimators_[:-1], wide_tree()])


@cache
def forest() -> Any:
    return RandomForestClassifier(3, random_state=0).fit(X, Y)


@cache
def boosted() -> Any:
    return GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, Y)


@cache
def isolation() -> Any:
    return IsolationForest(n_estimators=3, random_state=0).fit(X)


@cache
def narrow_isolation() -> Any:
    return IsolationForest(n_estimators=3, max_features=0.6, random_state=0).fit(X)


@cache
def histogram() -> Any:
    columns = np.c_[X[:, :4], (X[:, 4] * 5).astype(int)]
    return HistGradientBoostingClassifier(max_iter=2, categorical_features=[4], min_samples_leaf=2).fit(
        columns, Y
    )


def predictor_with(model: Any = None, **changes: Any) -> Any:
    """A histogram model with one field of the nodes of its first predictor changed, or a set."""
    model = histogram() if model is None else model
    first = model._predictors[0][0]
    nodes = first.nodes.copy()
    sets = {name: changes.pop(name) for name in list(changes) if name.endswith("bitsets")}
    for name, (at, value) in changes.items():
        nodes[name][at] = value
    rows = [[changed(first, nodes=nodes, **sets), *model._predictors[0][1:]], *model._predictors[1:]]
    return changed(model, _predictors=rows)


@cache
def numeric() -> Any:
    """A histogram model without categories, whose trees are looked at together."""
    return HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, Y)


PREDICTORS: dict[str, Case] = {
    "child behind": (
        lambda: predictor_with(numeric(), left=(0, FAR)),
        f"children has values from .* to {FAR}",
    ),
    "child of the next tree": (
        lambda: predictor_with(numeric(), right=(0, len(numeric()._predictors[0][0].nodes))),
        "children has values from",
    ),
    "child before": (lambda: predictor_with(numeric(), left=(0, 0)), "children has values from 0"),
    "the same child twice": (
        lambda: predictor_with(numeric(), left=(0, numeric()._predictors[0][0].nodes["right"][0])),
        "expected each but the root once",
    ),
    "no feature": (lambda: predictor_with(numeric(), feature_idx=(0, -1)), "feature_idx has values from -1"),
    "a feature behind": (
        lambda: predictor_with(numeric(), feature_idx=(0, X.shape[1])),
        f"feature_idx has values from .* to {X.shape[1]}",
    ),
    "a set of categories that is not there": (
        lambda: predictor_with(numeric(), is_categorical=(0, 1)),
        "bitset_idx has values from|asks for categories of a feature that has none",
    ),
    "sets of another width": (
        lambda: predictor_with(numeric(), raw_left_cat_bitsets=np.zeros((1, 3), "uint32")),
        r"raw_left_cat_bitsets has shape \[1, 3\]",
    ),
}


@cases(PREDICTORS)
def test_one_predictor_is_found_among_honest_ones(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


def boosted_with(trees: Any, **attributes: Any) -> Any:
    return changed(boosted(), estimators_=trees, **attributes)


FORESTS: dict[str, Case] = {
    "a tree over other features": (lambda: in_forest(forest()), "n_features_in_ is 5, expected 900"),
    "no features": (lambda: changed(forest(), n_features_in_=None), "n_features_in_ is NoneType, expected 5"),
    "trees that are none": (
        lambda: changed(forest(), estimators_=[LogisticRegression()]),
        "a LogisticRegression is no decision tree that was fitted",
    ),
    "isolation over other features": (lambda: in_forest(isolation()), "n_features_in_ is 5, expected 900"),
    "isolation of fewer columns": (
        lambda: changed(narrow_isolation(), _max_features=5),
        "n_features_in_ is 5, expected 3",
    ),
    "isolation of a column behind": (
        lambda: changed(narrow_isolation(), estimators_features_=[np.array([0, 1, FAR])] * 3),
        f"estimators_features_ has values from 0 to {FAR}",
    ),
    "boosting with a wider table": (
        lambda: boosted_with(np.concatenate([boosted().estimators_] * 2, axis=1)),
        "n_trees_per_iteration_ is 3, expected 6",
    ),
    "boosting with a wider table that it counts": (
        lambda: boosted_with(np.concatenate([boosted().estimators_] * 2, axis=1), n_trees_per_iteration_=6),
        "n_classes_ of init_ is 3, expected 6",
    ),
    "boosting from something else": (
        lambda: changed(boosted(), init_=LogisticRegression().fit(X, Y)),
        "init_ is a sklearn.linear_model._logistic:LogisticRegression, and whether it predicts 3 classes",
    ),
    "boosting over other features": (
        lambda: boosted_with(np.array([[wide_tree()] * 3], object)),
        "n_features_in_ is 5, expected 900",
    ),
    "predictor with a child behind": (
        lambda: predictor_with(left=(0, FAR)),
        f"children has values from .* to {FAR}, expected",
    ),
    "predictor with a cycle": (lambda: predictor_with(right=(0, 0)), "children has values from 0"),
    "predictor with a feature behind": (
        lambda: predictor_with(feature_idx=(0, 5)),
        "feature_idx has values from .* to 5, expected 0 to 4",
    ),
    "predictor with a feature before": (
        lambda: predictor_with(feature_idx=(0, -1)),
        "feature_idx has values from -1",
    ),
    "predictor without nodes": (
        lambda: changed(
            histogram(), _predictors=[[changed(histogram()._predictors[0][0], nodes=_no_nodes())]]
        ),
        "nodes is empty",
    ),
    "predictor with a set behind": (
        lambda: predictor_with(is_categorical=(0, 1), feature_idx=(0, 0), bitset_idx=(0, FAR)),
        f"bitset_idx has values from .* to {FAR}",
    ),
    "predictor with sets that are too short": (
        lambda: predictor_with(raw_left_cat_bitsets=np.zeros((9, 1), np.uint32)),
        r"raw_left_cat_bitsets has shape \[9, 1\], expected \[any, 8\]",
    ),
    "categories of a feature that has none": (
        lambda: predictor_with(
            is_categorical=(0, 1),
            feature_idx=(0, 1),
            bitset_idx=(0, 0),
            raw_left_cat_bitsets=np.zeros((9, 8), np.uint32),
            binned_left_cat_bitsets=np.zeros((9, 8), np.uint32),
        ),
        "a node asks for categories of a feature that has none",
    ),
    "fewer features mapped": (
        lambda: changed(histogram(), _n_features=9),
        r"is_categorical_ has shape \[5\], expected \[9\]",
    ),
}


def _no_nodes() -> Any:
    return histogram()._predictors[0][0].nodes[:0].copy()


@cases(FORESTS)
def test_a_model_of_trees_that_do_not_fit_is_refused(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


# --- neighbours ---


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


# --- SciPy's tree: nodes as bytes ---


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


# --- libsvm and others ---


@cache
def vectors(kind: Any = SVC, **options: Any) -> Any:
    return kind(**options).fit(X, Y)


def _count(model: Any, at: int, value: int) -> Any:
    counts = model._n_support.copy()
    counts[at] = value
    return counts


ESTIMATORS: dict[str, Case] = {
    "more vectors counted": (
        lambda: changed(vectors(), _n_support=_count(vectors(), 0, FAR)),
        "_n_support counts .* support vectors, and support_ has",
    ),
    "vectors below zero": (
        lambda: changed(vectors(), _n_support=_count(vectors(), 0, -FAR)),
        f"_n_support has values from -{FAR}",
    ),
    "more classes": (
        lambda: changed(vectors(), _n_support=np.r_[vectors()._n_support, np.zeros(50, np.int32)]),
        "_intercept_ has shape",
    ),
    "fewer coefficients": (
        lambda: changed(vectors(), _dual_coef_=vectors()._dual_coef_[:, :1].copy()),
        r"_dual_coef_ has shape \[2, 1\], expected",
    ),
    "narrower vectors": (
        lambda: changed(vectors(), support_vectors_=vectors().support_vectors_[:, :1].copy()),
        "support_vectors_ has shape",
    ),
    "no vectors": (
        lambda: changed(vectors(), support_vectors_=np.zeros((0, 0))),
        r"support_vectors_ has shape \[0, 0\], expected",
    ),
    "fewer intercepts": (
        lambda: changed(vectors(), _intercept_=np.zeros(1)),
        r"_intercept_ has shape \[1\], expected \[3\]",
    ),
    "fewer probabilities": (
        lambda: changed(vectors(), _probA=np.zeros(1)),
        "_probA has 1 values, expected none or 3",
    ),
    "vector behind": (
        lambda: changed(vectors(), support_=np.full_like(vectors().support_, FAR)),
        f"support_ has values from {FAR}",
    ),
    "regression counts more": (
        lambda: changed(vectors(NuSVR), _n_support=ints(FAR, 0)),
        f"_n_support counts {FAR} support vectors",
    ),
    "one class, no second count": (
        lambda: changed(vectors(OneClassSVM), _n_support=_count(vectors(OneClassSVM), 0, 3)[:1].copy()),
        "_n_support has 1 classes",
    ),
    "another kind": (
        lambda: changed(vectors(), _impl="linear"),
        "_impl names no kind of support vector machine",
    ),
    "sparse with dense parts": (
        lambda: changed(vectors(), _sparse=True),
        "support_vectors_ is no CSR matrix of shape",
    ),
    "sparse and computed by the caller": (
        lambda: changed(vectors(), _sparse=True, kernel="precomputed"),
        "a sparse model has a kernel that is computed",
    ),
    "a smaller matrix of covariance": (
        lambda: changed(vectors(EllipticEnvelope, random_state=0), precision_=np.eye(1)),
        r"precision_ has shape \[1, 1\], expected \[5, 5\]",
    ),
    "fewer norms": (
        lambda: changed(vectors(Birch), _subcluster_norms=np.zeros(1)),
        r"_subcluster_norms has shape \[1\], expected",
    ),
    "narrower centres": (
        lambda: changed(vectors(KMeans, n_init=1, random_state=0), cluster_centers_=np.zeros((8, 1))),
        r"cluster_centers_ has shape \[8, 1\], expected \[any, 5\]",
    ),
    "more threads than there are": (
        lambda: changed(vectors(KMeans, n_init=1, random_state=0), _n_threads=100_000),
        "_n_threads is 100000, not an int from 1 to 1024",
    ),
}


@cases(ESTIMATORS)
def test_an_estimator_whose_arrays_do_not_fit_is_refused(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


HONEST: dict[str, Callable[[], Any]] = {
    "decision tree": decision_tree,
    "best first": lambda: DecisionTreeClassifier(max_leaf_nodes=6).fit(X, Y),
    "pruned": lambda: DecisionTreeClassifier(ccp_alpha=0.02).fit(X, Y),
    "one leaf": lambda: DecisionTreeClassifier().fit(X, np.zeros(60)),
    "forest": forest,
    "boosted histograms without categories": numeric,
    "forest of two outputs": lambda: RandomForestClassifier(3).fit(X, np.c_[Y, Y > 0]),
    "isolation": isolation,
    "isolation of some columns": narrow_isolation,
    "boosted": boosted,
    "boosted from zero": lambda: GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, Y),
    "boosted regression": lambda: GradientBoostingRegressor(
        n_estimators=2, init=LogisticRegression().fit(X, Y)
    ).fit(X, Y),
    "histogram": histogram,
    "kd tree": lambda: KNeighborsClassifier(algorithm="kd_tree", leaf_size=3, p=3).fit(X, Y),
    "ball tree": lambda: KNeighborsClassifier(algorithm="ball_tree", metric="chebyshev").fit(X, Y),
    "brute": lambda: KNeighborsClassifier(algorithm="brute").fit(X, Y),
    "outliers": lambda: LocalOutlierFactor(novelty=True).fit(X),
    "svc": vectors,
    "one class": lambda: vectors(OneClassSVM),
    "nu svr": lambda: vectors(NuSVR),
    "covariance": lambda: EllipticEnvelope(random_state=0).fit(X),
    "birch": lambda: vectors(Birch),
    "k-means": lambda: vectors(KMeans, n_init=1, random_state=0),
}


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST.keys())
def test_honest_estimators_come_back_and_predict_the_same(make: Callable[[], Any]) -> None:
    live = make()
    columns = np.c_[X[:, :4], (X[:, 4] * 5).astype(int)] if live is histogram() else X
    assert np.array_equal(archived(live).predict(columns), live.predict(columns))


def test_a_sparse_support_vector_machine_comes_back() -> None:
    live = SVC().fit(sp.csr_array(X), Y)
    assert np.array_equal(archived(live).predict(sp.csr_array(X)), live.predict(sp.csr_array(X)))


def test_a_kernel_that_the_caller_computes_needs_no_vectors() -> None:
    live = SVC(kernel="precomputed").fit(X @ X.T, Y)
    assert np.array_equal(archived(live).predict(X @ X.T), live.predict(X @ X.T))


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


@pytest.mark.parametrize("kind", [cKDTree, SpatialTree])
@pytest.mark.parametrize("options", [{}, {"boxsize": 2.0}, {"balanced_tree": False, "leafsize": 1}])
def test_trees_of_scipy_come_back(kind: Any, options: Any) -> None:
    live = kind(X, **options)
    for one, other in zip(live.query(X, 4), archived(live).query(X, 4), strict=True):
        assert np.array_equal(one, other)


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


def test_names_with_checks_are_those_of_the_libraries_here() -> None:
    for file in sorted({file for files in FAMILIES.values() for file in files}):
        for check in import_module(f"packager.codecs.{file}").CHECKS:
            for name in check.types:
                module, _, qualname = name.partition(":")
                assert isinstance(vars(import_module(module))[qualname], type), name


def test_what_stands_on_the_list_of_c_classes_beside_code_is_checked() -> None:
    for module in ("sklearn.tree._tree",):
        for name in CALLED_BESIDE_CODE[module].split():
            assert state_checks(vars(import_module(module))[name])
    assert state_checks(KDTree)
    assert state_checks(BallTree)


def test_state_is_checked_beside_stored_code_as_well() -> None:
    thing = types.ModuleType("dummy")
    exec(DUMMY["dummy"], vars(thing))
    sys.modules["dummy"] = thing
    try:
        hostile = forge.encoded(
            [thing.Thing(), changed(sp.csr_array(DENSE), indices=ints(1, 2, 0, 1, FAR))], stored=["dummy"]
        )
    finally:
        del sys.modules["dummy"]
    with pytest.raises(ObjectBuildError, match=f"indices has values from 0 to {FAR}"):
        forge.load(forge.archive_of(hostile, sources=DUMMY, externs=EXTERNS))


DUMMY = {"dummy": "class Thing:\n    pass\n"}
