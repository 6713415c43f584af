"""Estimators of imbalanced-learn come back without trust, with the samplers that they hold."""

from __future__ import annotations

import pytest

pytest.importorskip("imblearn")

from typing import Any

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier, RUSBoostClassifier
from imblearn.over_sampling import ADASYN, SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from imblearn.under_sampling import RandomUnderSampler, TomekLinks
from sklearn.linear_model import LogisticRegression

from packager.testing import round_trip

X = np.random.default_rng(0).random((80, 4))
Y = (X[:, 0] > 0.7).astype(int)
MODELS = [
    *(
        make_pipeline(sampler, LogisticRegression())
        for sampler in (SMOTE(random_state=0), ADASYN(random_state=0), RandomOverSampler(), TomekLinks())
    ),
    make_pipeline(RandomUnderSampler(random_state=0), LogisticRegression()),
    BalancedRandomForestClassifier(n_estimators=3, random_state=0),
    EasyEnsembleClassifier(n_estimators=2, random_state=0),
    RUSBoostClassifier(n_estimators=2, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:60])
@pytest.mark.filterwarnings("ignore")
def test_a_model_comes_back_without_trust(model: Any) -> None:
    trip = round_trip(model.fit(X, Y))
    assert trip.is_stable
    assert np.array_equal(model.predict_proba(X), trip.object.predict_proba(X))
