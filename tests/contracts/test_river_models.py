"""Models of river come back without trust; their tables hold numbers, and make none by a function."""

from __future__ import annotations

import pytest

pytest.importorskip("river")

from typing import Any

from river import compose, linear_model, naive_bayes, optim, preprocessing
from river.utils import VectorDict

from packager._audit import UntrustedNamesError
from packager._objects import ObjectBuildError
from packager.testing import round_trip

ROWS = [({"a": i % 7, "b": i % 3}, i % 2 == 0) for i in range(60)]
MODELS = {
    "logistic": compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    "adam": compose.Pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegression(optim.Adam(0.01))
    ),
    "bayes": naive_bayes.BernoulliNB(),
}
# They make what is missing by functions: partials of `copy.deepcopy`, classes of statistics.
ASKING = {"softmax": linear_model.SoftmaxRegression(), "scaler": preprocessing.MinMaxScaler()}


def learned(model: Any) -> Any:
    for row, label in ROWS:
        model.learn_one(row, label)
    return model


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_comes_back_without_trust_and_learns_on(model: Any) -> None:
    made = learned(model.clone())
    trip = round_trip(made)
    assert trip.is_stable
    asked = {"a": 3, "b": 1}
    assert trip.object.predict_proba_one(asked) == made.predict_proba_one(asked)
    assert learned(trip.object).predict_proba_one(asked) == learned(made).predict_proba_one(asked)


@pytest.mark.parametrize("model", ASKING.values(), ids=ASKING)
def test_a_model_that_makes_what_is_missing_by_functions_is_refused_with_their_names(model: Any) -> None:
    made = model.clone()
    made.learn_one({"a": 1.0}, True) if hasattr(made, "loss") else made.learn_one({"a": 1.0})
    with pytest.raises(UntrustedNamesError, match=r"copy:deepcopy|river\.stats"):
        round_trip(made)


def test_a_table_comes_back_with_its_numbers_and_its_mask() -> None:
    for made in (VectorDict({"a": 1.0}), VectorDict({"a": 1.0, "b": 2.0}, mask={"a"}), VectorDict()):
        trip = round_trip(made)
        assert trip.is_stable
        assert trip.object == made


@pytest.mark.parametrize("factory", [print, learned, naive_bayes.GaussianNB], ids=["print", "own", "a class"])
def test_what_makes_missing_numbers_is_no_function(factory: Any) -> None:
    with pytest.raises((UntrustedNamesError, ObjectBuildError), match=r"VectorDict|print|learned|GaussianNB"):
        round_trip(VectorDict({"a": 1.0}, factory))


def test_a_number_may_be_zero_where_it_is_missing() -> None:
    assert round_trip(VectorDict({"a": 1.0}, float)).object["b"] == 0.0
