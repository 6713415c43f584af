"""Each part of a sparse matrix and of an estimator that libsvm runs, wrong by itself: how it is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager._libraries.scikit_learn.c_state import SupportVectorCheck
from packager._libraries.scipy.sparse_state import CHECKS
from tests.codecs.parts import refuses, rows_of
from tests.tables import one_test

CSR, CSC, BSR, COO, DIA, LIL, DOK = CHECKS
FAR = 1 << 31


def changed(held: Any, parts: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(held), **parts})


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def lists(*rows: Any) -> Any:
    made = np.empty(len(rows), object)
    made[:] = rows
    return made


# Of 3 rows and 4 columns, with values in the first and the last row.
ROWS = SimpleNamespace(_shape=(3, 4), indptr=ints(0, 2, 2, 3), indices=ints(3, 0, 1), data=np.ones(3))
BLOCKS = SimpleNamespace(_shape=(4, 6), indptr=ints(0, 1, 2), indices=ints(1, 0), data=np.ones((2, 2, 3)))
COORDS = SimpleNamespace(_shape=(3, 4), coords=(ints(0, 2), ints(3, 0)), data=np.ones(2))
DIAGONALS = SimpleNamespace(_shape=(3, 4), offsets=ints(-1, 2), data=np.ones((2, 4)))
LISTS = SimpleNamespace(
    _shape=(3, 4), dtype=np.dtype("f8"), rows=lists([0, 3], [], [1]), data=lists([1.0, 2], [], [True])
)
KEYS = SimpleNamespace(_shape=(3, 4), dtype=np.dtype("f8"), _dict={(0, 3): 1.0, (2, 0): np.float32(2)})
NOT_SHAPE = "the shape of a sparse matrix is"
STEPS = "indptr does not begin at 0 and grow from row to row"
SORTED = "has_sorted_indices is claimed, and the indices of a row do not grow"
CANONICAL = "has_canonical_format is claimed, and the indices of a row do not grow"
FLAG = "_has_sorted_indices or has_sorted_indices is a list, not true or false"
UNLIKE = "is not a list of columns beside a list of as many values"
NUMBERS = "expected a kind of 'biufc'"

REFUSED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "shape in a list": (CSR, ROWS, {"_shape": [3, 4]}, f"{NOT_SHAPE} a list, not 1 or more extents"),
    "shape of floats": (CSR, ROWS, {"_shape": (3, 4.0)}, f"{NOT_SHAPE} a tuple, not 1 or more extents"),
    "shape below": (CSR, ROWS, {"_shape": (3, -1)}, f"{NOT_SHAPE} a tuple, not 1 or more extents"),
    "shape of 63 bits": (CSR, ROWS, {"_shape": (3, 1 << 63)}, f"{NOT_SHAPE} a tuple, not 1 or more extents"),
    "shape of three": (CSR, ROWS, {"_shape": (1, 3, 4)}, f"{NOT_SHAPE} (1, 3, 4), not 1 or more extents"),
    "shape of one": (CSC, ROWS, {"_shape": (3,)}, f"{NOT_SHAPE} (3,), not 2 or more extents"),
    "no shape": (COO, COORDS, {"_shape": None}, f"{NOT_SHAPE} None, not 1 or more extents"),
    "no rank": (COO, COORDS, {"_shape": ()}, f"{NOT_SHAPE} (), not 1 or more extents"),
    "65 extents": (
        COO,
        COORDS,
        {"_shape": (1,) * 65},
        f"{NOT_SHAPE} {str((1,) * 65)[:80]}, not 1 or more extents",
    ),
    "rows": (CSR, ROWS, {"_shape": (4, 4)}, "indptr has shape [4], expected [5]"),
    "columns of CSC": (CSC, ROWS, {}, "indptr has shape [4], expected [5]"),
    "first row": (CSR, ROWS, {"indptr": ints(1, 2, 2, 3)}, STEPS),
    "row before": (CSR, ROWS, {"indptr": ints(0, 2, 1, 3)}, STEPS),
    "last row": (CSR, ROWS, {"indptr": ints(0, 2, 2, 4)}, "indptr ends at 4, and there are 3 indices"),
    "column behind": (CSR, ROWS, {"_shape": (3, 3)}, "indices has values from 0 to 3, expected 0 to 2"),
    "row of CSC behind": (
        CSC,
        ROWS,
        {"_shape": (3, 3)},
        "indices has values from 0 to 3, expected 0 to 2",
    ),
    "index of another dtype": (
        CSR,
        ROWS,
        {"indptr": np.array([0, 2, 2, 3], "u4")},
        "indptr has dtype uint32, expected int32 or int64",
    ),
    "fewer values": (CSR, ROWS, {"data": np.ones(2)}, "data has shape [2], expected [3]"),
    "values of texts": (CSR, ROWS, {"data": np.array(["a"] * 3)}, f"data has dtype <U1, {NUMBERS}"),
    "sorted": (CSR, ROWS, {"_has_sorted_indices": True}, SORTED),
    "sorted of old": (CSR, ROWS, {"has_sorted_indices": np.bool_(True)}, SORTED),
    "canonical": (CSR, ROWS, {"_has_canonical_format": 1}, CANONICAL),
    "canonical twice": (
        CSR,
        ROWS,
        {"indices": ints(1, 1, 1), "_has_canonical_format": True, "_has_sorted_indices": True},
        CANONICAL,
    ),
    "sorted until the end": (
        CSR,
        ROWS,
        {"indptr": ints(0, 0, 0, 3), "indices": ints(0, 2, 1), "has_sorted_indices": True},
        SORTED,
    ),
    "sorted from the begin": (
        CSR,
        ROWS,
        {"indptr": ints(0, 3, 3, 3), "indices": ints(2, 0, 1), "has_sorted_indices": True},
        SORTED,
    ),
    "two that are not sorted": (
        CSR,
        ROWS,
        {"indptr": ints(0, 2, 2, 2), "indices": ints(1, 0, 3), "has_sorted_indices": True},
        SORTED,
    ),
    "a flag that is none": (CSR, ROWS, {"_has_sorted_indices": []}, FLAG),
    "blocks without height": (
        BSR,
        BLOCKS,
        {"data": np.ones((2, 0, 3))},
        "blocks of 0 x 3 do not divide the shape [4, 6]",
    ),
    "blocks without width": (
        BSR,
        BLOCKS,
        {"data": np.ones((2, 2, 0))},
        "blocks of 2 x 0 do not divide the shape [4, 6]",
    ),
    "blocks too high": (
        BSR,
        BLOCKS,
        {"data": np.ones((2, 3, 3))},
        "blocks of 3 x 3 do not divide the shape [4, 6]",
    ),
    "blocks too wide": (
        BSR,
        BLOCKS,
        {"data": np.ones((2, 2, 4))},
        "blocks of 2 x 4 do not divide the shape [4, 6]",
    ),
    "more blocks": (BSR, BLOCKS, {"data": np.ones((3, 2, 3))}, "data has 3 blocks, expected 2"),
    "a block behind": (
        BSR,
        BLOCKS,
        {"indices": ints(2, 0)},
        "indices has values from 0 to 2, expected 0 to 1",
    ),
    "a row of blocks more": (BSR, BLOCKS, {"_shape": (6, 6)}, "indptr has shape [3], expected [4]"),
    "coordinates in a list": (
        COO,
        COORDS,
        {"coords": list(COORDS.coords)},
        "coords are no tuple of 2 arrays",
    ),
    "coordinates of three": (
        COO,
        COORDS,
        {"coords": (*COORDS.coords, ints(0, 0))},
        "coords are no tuple of 2 arrays",
    ),
    "fewer coordinates": (
        COO,
        COORDS,
        {"coords": (ints(0, 2), ints(3))},
        "coords[1] has shape [1], expected [2]",
    ),
    "a coordinate behind": (
        COO,
        COORDS,
        {"_shape": (3, 3)},
        "coords[1] has values from 0 to 3, expected 0 to 2",
    ),
    "coordinates twice": (
        COO,
        COORDS,
        {"coords": (ints(0, 0), ints(3, 3)), "_has_canonical_format": True},
        "has_canonical_format is claimed, and coordinates are there twice",
    ),
    "fewer diagonals": (DIA, DIAGONALS, {"offsets": ints(1)}, "data has shape [2, 4], expected [1, any]"),
    "a diagonal twice": (DIA, DIAGONALS, {"offsets": ints(2, 2)}, "offsets has the same diagonal twice"),
    "a diagonal too far": (
        DIA,
        DIAGONALS,
        {"offsets": ints(0, FAR - 4)},
        f"offsets has values from 0 to {FAR - 4}, expected {5 - FAR} to {FAR - 5}",
    ),
    "a diagonal too far below": (
        DIA,
        DIAGONALS,
        {"offsets": np.array([0, 4 - (1 << 62)])},
        f"offsets has values from {4 - (1 << 62)} to 0, expected {5 - (1 << 62)} to {(1 << 62) - 5}",
    ),
    "lists of texts": (LIL, LISTS, {"dtype": np.dtype("U1")}, "dtype is none of numbers"),
    "lists of no dtype": (LIL, LISTS, {"dtype": "f8"}, "dtype is none of numbers"),
    "fewer lists": (LIL, LISTS, {"rows": lists([0, 3], [])}, "rows has shape [2], expected [3]"),
    "fewer lists of values": (LIL, LISTS, {"data": lists([1.0, 2], [])}, "data has shape [2], expected [3]"),
    "columns in a tuple": (LIL, LISTS, {"rows": lists((0, 3), [], [1])}, f"row 0 {UNLIKE}"),
    "values in a tuple": (LIL, LISTS, {"data": lists([1, 2], [], (1,))}, f"row 2 {UNLIKE}"),
    "fewer values in a row": (LIL, LISTS, {"data": lists([1], [], [1])}, f"row 0 {UNLIKE}"),
    "a column of a row behind": (
        LIL,
        LISTS,
        {"rows": lists([0, 4], [], [1])},
        "a column of row 0 is 4, not an int from 0 to 3",
    ),
    "a column of a row twice": (
        LIL,
        LISTS,
        {"rows": lists([3, 3], [], [1])},
        "the columns of row 0 do not grow",
    ),
    "a value that is none": (
        LIL,
        LISTS,
        {"data": lists([1, 2], [], [None])},
        "row 2 has values that are no numbers",
    ),
    "keys of texts": (DOK, KEYS, {"dtype": np.dtype("O")}, "dtype is none of numbers"),
    "keys in a list": (DOK, KEYS, {"_dict": []}, "_dict is a list, not a dict"),
    "a key of three": (DOK, KEYS, {"_dict": {(0, 1, 2): 1}}, "a key of another rank"),
    "a key of one": (DOK, KEYS, {"_dict": {0: 1}}, "a key of another rank"),
    "a tuple of one": (DOK, KEYS, {"_shape": (3,), "_dict": {(0,): 1}}, "a key of another rank"),
    "a key behind": (DOK, KEYS, {"_dict": {(3, 0): 1}}, "a coordinate is 3, not an int from 0 to 2"),
    "a column behind in a key": (
        DOK,
        KEYS,
        {"_dict": {(0, 4): 1}},
        "a coordinate is 4, not an int from 0 to 3",
    ),
    "a text of NumPy": (DOK, KEYS, {"_dict": {(0, 0): np.str_("1")}}, "a value that is no number"),
    "a number of a class": (
        DOK,
        KEYS,
        {"_dict": {(0, 0): type("Own", (np.float64,), {})(1)}},
        "a value that is no number",
    ),
    "a value of a key": (DOK, KEYS, {"_dict": {(0, 0): "1"}}, "a value that is no number"),
}


@one_test
@pytest.mark.parametrize(("check", "held", "parts", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_part_of_a_sparse_matrix_that_does_not_fit(
    check: Any, held: Any, parts: dict[str, Any], message: str
) -> None:
    refuses(lambda: check.check_made(changed(held, parts)), message)


PASSING: list[tuple[Any, Any, dict[str, Any]]] = [
    *(
        (check, held, {})
        for check, held in zip(
            (CSR, BSR, COO, DIA, LIL, DOK), (ROWS, BLOCKS, COORDS, DIAGONALS, LISTS, KEYS), strict=True
        )
    ),
    (CSR, ROWS, {"_has_sorted_indices": False, "has_sorted_indices": None}),
    (CSR, ROWS, {"indices": ints(0, 3, 1), "_has_sorted_indices": True, "_has_canonical_format": True}),
    (CSR, ROWS, {"indices": ints(3, 3, 1), "_has_sorted_indices": True}),
    (CSR, ROWS, {"indices": ints(0, 3, 1, 0), "data": np.ones(4), "has_sorted_indices": True}),
    (
        CSR,
        ROWS,
        {
            "indptr": ints(0, 1, 4, 4),
            "indices": ints(3, 0, 1, 2),
            "data": np.ones(4),
            "_has_sorted_indices": True,
            "_has_canonical_format": True,
        },
    ),
    (CSR, ROWS, {"_shape": (4,), "indptr": ints(0, 3)}),
    (CSR, ROWS, {"_shape": (0, 0), "indptr": ints(0), "indices": ints(), "data": np.ones(0)}),
    (CSC, ROWS, {"_shape": (4, 3)}),
    (BSR, BLOCKS, {"_shape": (2, 2), "data": np.ones((2, 1, 1))}),
    (COO, COORDS, {"_shape": (3,), "coords": (ints(0, 2),)}),
    (COO, COORDS, {"_has_canonical_format": True}),
    (COO, COORDS, {"coords": (ints(0, 0), ints(3, 3)), "_has_canonical_format": False}),
    (COO, COORDS, {"coords": (ints(0, 0), ints(3, 2)), "_has_canonical_format": True}),
    (COO, COORDS, {"_shape": (3, *[4] * 63), "coords": (ints(0, 2), *[ints(3, 0)] * 63)}),
    (DIA, DIAGONALS, {"offsets": ints(5 - FAR, FAR - 5)}),
    (DIA, DIAGONALS, {"offsets": np.array([5 - (1 << 62), (1 << 62) - 5])}),
    (DOK, KEYS, {"_shape": (3,), "_dict": {2: 1j, 0: False}}),
]


@one_test
@pytest.mark.parametrize(("check", "held", "parts"), PASSING)
def test_sparse_matrices_that_fit_pass(check: Any, held: Any, parts: dict[str, Any]) -> None:
    check.check_made(changed(held, parts))


# --- libsvm, and what else takes its sizes from one array ---

CLASSIFIER = SimpleNamespace(
    _impl="c_svc",
    support_=ints(0, 3, 5),
    _n_support=ints(2, 1),
    _intercept_=np.zeros(1),
    _probA=np.zeros(0),
    _probB=np.zeros(1),
    shape_fit_=(6, 2),
    _sparse=False,
    n_features_in_=2,
    kernel="rbf",
    _dual_coef_=np.zeros((1, 3)),
    support_vectors_=np.zeros((3, 2)),
)
REGRESSION = {"_impl": "nu_svr", "_n_support": ints(3, 9)}


def csr(*shape: int, **parts: Any) -> Any:
    kind = type("csr_matrix", (), {"__module__": "scipy.sparse._csr"})
    made = kind()
    vars(made).update(
        {"_shape": shape, "indptr": np.zeros(shape[0] + 1), "data": np.zeros(shape[1]), **parts}
    )
    return made


SPARSE = {"_sparse": True, "support_vectors_": csr(3, 2), "_dual_coef_": csr(1, 3)}
COMPUTED = "a sparse model has a kernel that is computed"
VECTORS: dict[str, tuple[dict[str, Any], str]] = {
    "another kind": ({"_impl": "linear"}, "_impl names no kind of support vector machine"),
    "a kind that is no text": ({"_impl": 1}, "_impl names no kind of support vector machine"),
    "wide indices": ({"support_": np.array([0, 3, 5])}, "support_ has dtype int64, expected int32"),
    "counts of two axes": ({"_n_support": ints(2, 1)[None]}, "_n_support has shape [1, 2], expected [any]"),
    "one class": ({"_n_support": ints(3)}, "_n_support has 1 classes"),
    "three counts of a regression": (
        {**REGRESSION, "_n_support": ints(3, 0, 0)},
        "_n_support has 3 classes",
    ),
    "a count below": (
        {"_n_support": ints(4, -1)},
        f"_n_support has values from -1 to 4, expected 0 to {FAR - 1}",
    ),
    "a vector more": (
        {"_n_support": ints(2, 2)},
        "_n_support counts 4 support vectors, and support_ has 3",
    ),
    "a vector more of a regression": (
        {**REGRESSION, "_n_support": ints(2, 1)},
        "_n_support counts 2 support vectors, and support_ has 3",
    ),
    "intercepts": ({"_intercept_": np.zeros(2)}, "_intercept_ has shape [2], expected [1]"),
    "probabilities": ({"_probB": np.zeros(2)}, "_probB has 2 values, expected none or 1"),
    "no probabilities": ({"_probA": None}, "_probA is a NoneType, not an array"),
    "a shape in a list": ({"shape_fit_": [6, 2]}, "shape_fit_ is no shape"),
    "a shape of one": ({"shape_fit_": (6,)}, "shape_fit_ is no shape"),
    "no rows": ({"shape_fit_": (0, 2)}, f"shape_fit_[0] is 0, not an int from 1 to {FAR - 1}"),
    "a vector behind": ({"shape_fit_": (5, 2)}, "support_ has values from 0 to 5, expected 0 to 4"),
    "sparse by a number": ({"_sparse": 0}, "_sparse is no bool"),
    "no features": ({"n_features_in_": 0}, f"n_features_in_ is 0, not an int from 1 to {FAR - 1}"),
    "coefficients": ({"_dual_coef_": np.zeros((2, 3))}, "_dual_coef_ has shape [2, 3], expected [1, 3]"),
    "no vectors": (
        {"support_vectors_": np.zeros((0, 0))},
        "support_vectors_ has shape [0, 0], expected [3, 2]",
    ),
    "some vectors of the caller's kernel": (
        {"kernel": "precomputed", "support_vectors_": np.zeros((1, 1))},
        "support_vectors_ has shape [1, 1], expected [3, 2]",
    ),
    "sparse, and computed by the caller": ({**SPARSE, "kernel": "precomputed"}, COMPUTED),
    "sparse, and called": ({**SPARSE, "kernel": max}, COMPUTED),
    "sparse vectors of another shape": (
        {**SPARSE, "support_vectors_": csr(2, 2)},
        "support_vectors_ is no CSR matrix of shape [3, 2]",
    ),
    "sparse vectors that are dense": (
        {**SPARSE, "support_vectors_": np.zeros((3, 2))},
        "support_vectors_ is no CSR matrix of shape [3, 2]",
    ),
    "sparse vectors of another format": (
        {**SPARSE, "support_vectors_": SimpleNamespace(**vars(csr(3, 2)))},
        "support_vectors_ is no CSR matrix of shape [3, 2]",
    ),
    "sparse vectors of fewer rows": (
        {**SPARSE, "support_vectors_": csr(3, 2, indptr=np.zeros(3))},
        "support_vectors_ has other rows",
    ),
    "sparse coefficients of another shape": (
        {**SPARSE, "_dual_coef_": csr(2, 3)},
        "_dual_coef_ is no CSR matrix of shape [1, 3]",
    ),
    "sparse coefficients that leave some out": (
        {**SPARSE, "_dual_coef_": csr(1, 3, data=np.zeros(2))},
        "_dual_coef_.data has shape [2], expected [3]",
    ),
}


@one_test
@pytest.mark.parametrize(("parts", "message"), VECTORS.values(), ids=VECTORS.keys())
def test_support_vectors_are_as_many_as_are_counted(parts: dict[str, Any], message: str) -> None:
    refuses(lambda: SupportVectorCheck().check_made(changed(CLASSIFIER, parts)), message)


NO_VECTORS = np.zeros((0, 0))


@one_test
@pytest.mark.parametrize(
    "parts",
    [
        {},
        REGRESSION,
        SPARSE,
        {"shape_fit_": (6, 0)},
        {"kernel": "precomputed", "support_vectors_": NO_VECTORS},
        {"kernel": max, "support_vectors_": NO_VECTORS},
        {"kernel": "precomputed"},
        {
            "_n_support": ints(1, 1, 1),
            "_intercept_": np.zeros(3),
            "_probB": np.zeros(3),
            "_dual_coef_": np.zeros((2, 3)),
        },
        {
            **SPARSE,
            "_n_support": ints(1, 1, 1),
            "_intercept_": np.zeros(3),
            "_probB": np.zeros(3),
            "_dual_coef_": csr(2, 3, data=np.zeros(6)),
        },
    ],
)
def test_support_vector_machines_that_fit_pass(parts: dict[str, Any]) -> None:
    SupportVectorCheck().check_made(changed(CLASSIFIER, parts))
    SupportVectorCheck().check_made(SimpleNamespace())  # not fitted
    refuses(
        lambda: SupportVectorCheck().check_made(SimpleNamespace(_impl="c_svc", _n_support=ints(1, 1))),
        "support_ is a NoneType, not an array",
    )
    refuses(
        lambda: SupportVectorCheck().check_made(SimpleNamespace(_impl="c_svc", support_=ints(1))),
        "_n_support is a NoneType, not an array",
    )


_COVARIANCE = "sklearn.covariance._empirical_covariance:EmpiricalCovariance"
CENTRES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "covariance of no features": (
        rows_of(_COVARIANCE),
        {"precision_": np.eye(2), "n_features_in_": 0},
        "precision_ has shape [2, 2], expected [0, 0]",
    ),
    "covariance of ints": (
        rows_of(_COVARIANCE),
        {"precision_": np.eye(2, dtype=int), "n_features_in_": 2},
        "precision_ has dtype int64, expected a kind of 'f'",
    ),
    "long covariance": (
        rows_of(_COVARIANCE),
        {"precision_": np.ones((2, 3)), "n_features_in_": 2},
        "precision_ has shape [2, 3], expected [2, 2]",
    ),
    "flat centres": (
        rows_of("sklearn.cluster._birch:Birch"),
        {"subcluster_centers_": np.ones(2)},
        "subcluster_centers_ has shape [2], expected [any, any]",
    ),
    "fewer norms": (
        rows_of("sklearn.cluster._birch:Birch"),
        {"subcluster_centers_": np.ones((2, 3)), "_subcluster_norms": np.ones(3)},
        "_subcluster_norms has shape [3], expected [2]",
    ),
    "centres of no features": (
        rows_of("sklearn.cluster._kmeans:_BaseKMeans"),
        {"cluster_centers_": np.ones((2, 3)), "n_features_in_": 0},
        "cluster_centers_ has shape [2, 3], expected [any, 0]",
    ),
    "narrow centres": (
        rows_of("sklearn.cluster._kmeans:_BaseKMeans"),
        {"cluster_centers_": np.ones((2, 3)), "n_features_in_": 2},
        "cluster_centers_ has shape [2, 3], expected [any, 2]",
    ),
    "no centres": (
        rows_of("sklearn.cluster._kmeans:_BaseKMeans"),
        {"cluster_centers_": np.ones((0, 3)), "n_features_in_": 3},
        "len(cluster_centers_) is 0, expected more than 0",
    ),
    "no threads": (
        rows_of("sklearn.cluster._kmeans:_BaseKMeans"),
        {"cluster_centers_": np.ones((1, 3)), "n_features_in_": 3, "_n_threads": 0},
        "_n_threads is 0, not an int from 1 to 1024",
    ),
}


@one_test
@pytest.mark.parametrize(("check", "held", "message"), CENTRES.values(), ids=CENTRES.keys())
def test_arrays_of_an_estimator_fit_together(check: Any, held: dict[str, Any], message: str) -> None:
    check.check_made(SimpleNamespace())  # not fitted
    refuses(lambda: check.check_made(SimpleNamespace(**held)), message)


def test_estimators_whose_arrays_fit_pass() -> None:
    rows_of(_COVARIANCE).check_made(SimpleNamespace(precision_=None))
    rows_of(_COVARIANCE).check_made(SimpleNamespace(precision_=np.eye(1), n_features_in_=1))
    rows_of("sklearn.cluster._birch:Birch").check_made(
        SimpleNamespace(subcluster_centers_=np.ones((2, 3)), _subcluster_norms=np.ones(2))
    )
    for threads in (1, 1024):
        rows_of("sklearn.cluster._kmeans:_BaseKMeans").check_made(
            SimpleNamespace(cluster_centers_=np.ones((1, 1)), n_features_in_=1, _n_threads=threads)
        )
