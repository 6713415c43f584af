"""Hidden Markov models of hmmlearn come back without trust, and their C code checks what it is given."""

from __future__ import annotations

import pytest

pytest.importorskip("hmmlearn")

from typing import Any

import numpy as np
from hmmlearn.hmm import GMMHMM, CategoricalHMM, GaussianHMM, PoissonHMM

from packager.testing import round_trip
from tests.attacks.c_state import changed

X = np.random.default_rng(0).normal(size=(60, 2))
COUNTS = np.random.default_rng(0).integers(0, 4, size=(60, 1))
MODELS = {
    "gaussian": (GaussianHMM(2, random_state=0, n_iter=3), X),
    "full": (GaussianHMM(2, "full", random_state=0, n_iter=3), X),
    "mixture": (GMMHMM(2, 2, random_state=0, n_iter=3), X),
    "categories": (CategoricalHMM(2, random_state=0, n_iter=3), COUNTS),
    "counts": (PoissonHMM(2, random_state=0, n_iter=3), COUNTS),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "rows"), MODELS.values(), ids=MODELS)
def test_a_model_comes_back_without_trust(model: Any, rows: Any) -> None:
    model.fit(rows)
    trip = round_trip(model)
    assert trip.is_stable
    assert np.array_equal(trip.object.predict(rows), model.predict(rows))
    assert trip.object.score(rows) == model.score(rows)


@pytest.mark.parametrize(
    "other",
    [
        {"startprob_": np.full(9, 1 / 9)},
        {"transmat_": np.full((1, 1), 1.0)},
        {"transmat_": np.full((2, 2, 1), 0.5)},
        {"startprob_": np.array(0.5)},
    ],
    ids=["more states", "fewer ways", "more axes", "no axis"],
)
@pytest.mark.filterwarnings("ignore")
def test_probabilities_of_another_shape_are_an_error_when_it_predicts(other: dict[str, Any]) -> None:
    made = GaussianHMM(2, random_state=0, n_iter=2).fit(X)
    hostile = round_trip(changed(made, **other)).object
    with pytest.raises((ValueError, TypeError), match=r"shape|dimensions|must have length|unsized object"):
        hostile.predict(X)
