"""Trees of neighbours and of decisions of scikit-learn come back, and answer as they did.

They have no codec: each is a call and a state of arrays, which `c_state.py` in
`packager/_libraries/scikit_learn` check. The fuzzer changes these samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import BallTree, KDTree, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from packager.testing import round_trip
from tests.tables import one_test

POINTS = np.random.default_rng(0).random((40, 3))
SIDES = (POINTS[:, 0] > 0.5).astype(int) + (POINTS[:, 1] > 0.7)


def used(made: Any) -> None:
    """Ask a tree, as its owner would."""
    outputs(made)


def outputs(made: Any) -> Any:
    if hasattr(made, "query"):
        distances, places = made.query(POINTS[:9], k=1 + (made.get_arrays()[0].shape[0] > 1))
        near = [sorted(one) for one in made.query_radius(POINTS[:5], 0.4)]
        density = made.kernel_density(POINTS[:5], 0.5).tolist()
        return (
            distances.tolist(),
            places.tolist(),
            near,
            made.two_point_correlation(POINTS[:5], 0.3).tolist(),
            density,
        )
    if hasattr(made, "predict_proba"):
        return made.predict_proba(POINTS).tolist(), made.apply(POINTS).tolist()
    return made.predict(POINTS).tolist()


class TestTrees:
    trust = ()

    def samples(self) -> list[Any]:
        return [
            KDTree(POINTS, leaf_size=3),
            BallTree(POINTS, leaf_size=2, metric="manhattan"),
            KDTree(POINTS[:1]),
            KDTree(POINTS, leaf_size=5, metric="minkowski", p=3),
            BallTree(POINTS, leaf_size=4, metric="seuclidean", V=POINTS.var(axis=0)),
            KNeighborsRegressor(3, algorithm="kd_tree", leaf_size=4).fit(POINTS, POINTS[:, 0]),
            DecisionTreeClassifier(max_depth=4, random_state=0).fit(POINTS, SIDES),
            RandomForestClassifier(2, max_depth=2, random_state=0).fit(POINTS, SIDES),
        ]


@one_test
@pytest.mark.parametrize("sample", TestTrees().samples(), ids=lambda one: type(one).__name__)
def test_a_tree_answers_as_it_did(sample: Any) -> None:
    loaded = round_trip(sample).object
    assert type(loaded) is type(sample)
    assert outputs(loaded) == outputs(sample)
