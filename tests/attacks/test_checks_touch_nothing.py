"""A check of state asks nothing of what it has not seen the type of: no method of data's choice runs.

Each attribute of an honest object, each part of a state, and each thing that these hold, is replaced in turn
by an object that remembers whatever it is asked for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import BSpline
from scipy.spatial import cKDTree
from sklearn.cluster import Birch, KMeans
from sklearn.covariance import EmpiricalCovariance
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree, KNeighborsClassifier, NearestNeighbors
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from packager._codecs import state_checks
from packager._codecs.c_state import require_bit_generator_state
from packager._libraries.families import check_estimator
from packager._libraries.gensim import Word2VecCheck
from tests.attacks.c_state import X, Y, changed

TOUCHED: list[str] = []


def _remembering(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        TOUCHED.append(name)
        raise AssertionError(name)

    return method


_ASKED = """
    eq ne lt le gt ge hash bool len iter next contains getitem call index int float complex str repr format
    array add radd sub rsub mul rmul and rand or ror invert neg abs length_hint reversed getattr enter bytes
""".split()
Touchy: Any = type("Touchy", (), {f"__{name}__": _remembering(name) for name in _ASKED})


def _asked_for(self: Any, name: str) -> Any:
    if name not in ("__class__", "__dict__"):  # which `isinstance` and `object.__getattribute__` look at
        TOUCHED.append(name)
    return object.__getattribute__(self, name)


Touchy.__getattribute__ = _asked_for


def replaced(value: Any) -> Iterator[Any]:
    """The object that remembers; then copies of a container that hold it."""
    yield Touchy()
    if type(value) is dict:
        yield from ({**value, key: Touchy()} for key in value)
    elif type(value) in (list, tuple) and len(value):
        yield from (type(value)([*value[:at], Touchy(), *value[at + 1 :]]) for at in (0, len(value) - 1))
    elif type(value) is np.ndarray and value.dtype == object:
        changed_array = value.copy()
        changed_array.flat[0] = Touchy()
        yield changed_array
    elif type(value) is np.ndarray and value.dtype.names:
        yield value.astype([(name, object) for name in value.dtype.names])


def asked_by(check: Callable[[], object]) -> list[str]:
    """What of the object that remembers a check asked for; that it is refused, or passes, is all the same."""
    TOUCHED.clear()
    with suppress(ValueError):
        check()
    return list(TOUCHED)


BOOSTED = {"n_estimators": 2, "max_depth": 2}
FITTED: dict[str, Callable[[], Any]] = {
    "neighbours": lambda: KNeighborsClassifier(algorithm="brute").fit(X, Y),
    "neighbours in a tree": lambda: NearestNeighbors(algorithm="kd_tree").fit(X),
    "sparse neighbours": lambda: NearestNeighbors(algorithm="brute").fit(sparse.csr_matrix(X)),
    "support vectors": lambda: SVC().fit(X, Y),
    "sparse support vectors": lambda: SVC().fit(sparse.csr_matrix(X), Y),
    "a kernel of its own": lambda: SVC(kernel="precomputed").fit(X @ X.T, Y),
    "covariance": lambda: EmpiricalCovariance().fit(X),
    "birch": lambda: Birch().fit(X),
    "means": lambda: KMeans(2, n_init=1).fit(X),
    "thresholds": lambda: IsotonicRegression().fit(X[:, 0], Y),
    "a spline": lambda: BSpline(np.arange(8.0), np.ones(4), 3),
    "a tree": lambda: DecisionTreeClassifier().fit(X, Y),
    "a forest": lambda: RandomForestClassifier(2).fit(X, Y),
    "isolation": lambda: IsolationForest(n_estimators=2).fit(X),
    "boosted": lambda: GradientBoostingClassifier(**BOOSTED).fit(X, Y),
    "boosted from zero": lambda: GradientBoostingClassifier(init="zero", **BOOSTED).fit(X, Y),
    "boosted by histograms": lambda: HistGradientBoostingClassifier(max_iter=2).fit(X, Y),
    "a predictor": lambda: HistGradientBoostingClassifier(max_iter=1).fit(X, Y)._predictors[0][0],
    "stacked": lambda: StackingClassifier([("line", LogisticRegression())], cv=2).fit(X, Y),
    **{
        form: lambda form=form: sparse.csr_matrix(X).asformat(form)
        for form in "csr csc bsr coo dia lil dok".split()
    },
}


@pytest.mark.parametrize("name", FITTED)
def test_a_check_of_attributes_asks_nothing_of_what_is_not_ours(name: str) -> None:
    made = FITTED[name]()
    checks = state_checks(type(made))
    for attribute, value in vars(made).items():
        for other in replaced(value):
            hostile = changed(made, **{attribute: other})
            for check in checks:
                assert asked_by(lambda: check.check_made(hostile)) == [], (attribute, check)
            assert asked_by(lambda: check_estimator(hostile)) == [], attribute


STATES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "a tree of neighbours": lambda: (KDTree(X, leaf_size=5), KDTree(X, leaf_size=5).__getstate__()),
    "a metric": lambda: (DistanceMetric.get_metric("minkowski", p=3), _metric().__getstate__()),
    "a tree of SciPy": lambda: (cKDTree(X), cKDTree(X).__getstate__()),
    "nodes of a tree": lambda: (
        DecisionTreeClassifier().fit(X, Y).tree_,
        DecisionTreeClassifier().fit(X, Y).tree_.__getstate__(),
    ),
}


def _metric() -> Any:
    return DistanceMetric.get_metric("minkowski", p=3)


@pytest.mark.parametrize("name", STATES)
def test_a_check_of_a_state_asks_nothing_of_what_is_not_ours(name: str) -> None:
    made, state = STATES[name]()
    places: list[Any] = list(state) if type(state) is dict else list(range(len(state)))
    for place in places:
        for other in replaced(state[place]):
            hostile = {**state} if type(state) is dict else list(state)
            hostile[place] = other
            hostile = hostile if type(state) is dict else tuple(hostile)
            for check in state_checks(type(made)):
                assert asked_by(lambda: check.check_state(made, hostile)) == [], place


@pytest.mark.parametrize("algorithm", ["MT19937", "PCG64", "Philox", "SFC64"])
def test_a_check_of_a_random_generator_asks_nothing_of_what_is_not_ours(algorithm: str) -> None:
    state = getattr(np.random, algorithm)(1).state
    require_bit_generator_state(algorithm, state)
    for place, value in state.items():
        for other in replaced(value):
            hostile = {**state, place: other}
            assert asked_by(lambda: require_bit_generator_state(algorithm, hostile)) == [], place


def words(**changes: Any) -> SimpleNamespace:
    """What the check of Word2Vec looks at, as gensim has it."""
    vectors = SimpleNamespace(
        index_to_key=["a", "b"],
        key_to_index={"a": 0, "b": 1},
        vector_size=3,
        vectors=np.ones((2, 3), "f4"),
        vectors_lockf=np.ones(1, "f4"),
        expandos={"count": np.array([2, 1]), "sample_int": np.array([9, 9], "u4")},
    )
    model = SimpleNamespace(
        wv=vectors, vector_size=3, layer1_size=3, hs=0, alpha=0.1, min_alpha=0.01, negative=5, window=5,
        syn1neg=np.ones((2, 3), "f4"), cum_table=np.array([1, 2], "u4"),
    )  # fmt: skip
    for name, value in changes.items():
        setattr(vectors if hasattr(vectors, name) and name != "vector_size" else model, name, value)
    return model


def test_a_check_of_words_asks_nothing_of_what_is_not_ours() -> None:
    Word2VecCheck().check_made(words())
    parts = {**vars(words()), **vars(words().wv)}
    for name, value in parts.items():
        for other in replaced(value):
            hostile = words(**{name: other})
            assert asked_by(lambda: Word2VecCheck().check_made(hostile)) == [], name


def test_words_that_are_hashed_without_end_are_no_words_of_a_model() -> None:
    deep: Any = ()
    for _ in range(80):
        deep = (deep, deep)
    with pytest.raises(ValueError, match="wv has words that are no texts"):
        Word2VecCheck().check_made(words(index_to_key=[deep, "b"]))
    Word2VecCheck().check_made(copy.copy(words(hs=False)))
