"""Encoders of categories come back without trust: their tables are frames."""

from __future__ import annotations

import pytest

pytest.importorskip("category_encoders")
pytest.importorskip("pandas")

import warnings
from typing import Any

import category_encoders
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from packager.testing import round_trip

RANDOM = np.random.default_rng(0)
ROWS = pd.DataFrame(RANDOM.random((40, 2)), columns=["a", "b"])
ROWS["c"] = [f"word {number}" for number in RANDOM.integers(0, 4, 40)]
Y = (ROWS["a"] > 0.5).astype(int).to_numpy()
# Each takes a second to fit, or more.
SLOW = ("GLMMEncoder", "HashingEncoder")
ENCODERS = [name for name in category_encoders.__all__ if name not in SLOW]


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.filterwarnings("ignore")
def test_an_encoder_comes_back_without_trust(name: str) -> None:
    encoder: Any = getattr(category_encoders, name)(cols=["c"]).fit(ROWS, Y)
    trip = round_trip(encoder)
    assert trip.is_stable
    assert encoder.transform(ROWS).equals(trip.object.transform(ROWS))


def test_a_pipeline_over_a_frame_comes_back_without_trust() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(category_encoders.TargetEncoder(cols=["c"]), LogisticRegression()).fit(ROWS, Y)
        trip = round_trip(model)
        assert np.array_equal(model.predict_proba(ROWS), trip.object.predict_proba(ROWS))
