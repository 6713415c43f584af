"""Support vector machines and other estimators whose arrays do not fit, and honest ones that come back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import Birch, KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.svm import SVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from tests.attacks.c_state import FAR, Case, X, Y, archived, cases, changed, ints, refusal
from tests.attacks.test_c_state_trees import (
    boosted,
    decision_tree,
    forest,
    histogram,
    isolation,
    narrow_isolation,
    numeric,
)
from tests.tables import one_test


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
    "a number for whether there are chances": (
        lambda: changed(vectors(), _effective_probability=24, probability=24),
        "_probA has 0 values, expected 3",
    ),
    "chances that nobody has computed": (
        lambda: changed(vectors(), _effective_probability=True, probability=True),
        "_probA has 0 values, expected 3",
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
        "_impl belongs to the class SVC",
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


@one_test
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
