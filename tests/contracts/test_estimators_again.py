"""Estimators of scikit-learn that were loaded are stored as the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from packager._objects import encode
from packager.testing import round_trip
from tests.tables import one_test

X = np.random.default_rng(3).random((30, 4))
Y = (X.sum(1) > 2).astype(int)
CLASSIFIERS = [
    ("line", LogisticRegression()),
    ("near", KNeighborsClassifier()),
    ("tree", DecisionTreeClassifier()),
]
REGRESSORS = [("line", LinearRegression()), ("tree", DecisionTreeRegressor())]


@one_test
@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(algorithm="ball_tree", metric="minkowski", p=3),
        KNeighborsRegressor(algorithm="brute"),
        NearestNeighbors(),
        VotingClassifier(CLASSIFIERS),
        VotingClassifier(CLASSIFIERS, voting="soft"),
        VotingRegressor(REGRESSORS),
        StackingRegressor(REGRESSORS, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_loaded_estimator_is_stored_as_it_was(estimator: Any) -> None:
    estimator.fit(X, Y)
    ask = estimator.predict if hasattr(estimator, "predict") else estimator.kneighbors_graph
    before = ask(X)  # which counts in the trees of neighbours
    names = {str(use) for use in encode(estimator).names}
    trip = round_trip(estimator, interned=["sklearn"], externs=["sklearn"], trust=sorted(names))
    assert trip.is_stable
    again = trip.object.predict(X) if hasattr(estimator, "predict") else trip.object.kneighbors_graph(X)
    assert (before != again).sum() == 0
