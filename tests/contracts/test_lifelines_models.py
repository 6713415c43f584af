"""Cox models of lifelines come back without trust; one that was made of a formula needs names."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("lifelines")

from typing import Any

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter, KaplanMeierFitter

from packager._audit import UntrustedNamesError
from packager._objects import ObjectBuildError
from packager.testing import round_trip
from tests.attacks.c_state import changed

X = np.random.default_rng(0).normal(size=(80, 3))
TABLE = pd.DataFrame(X, columns=list("abc")).assign(time=np.exp(X[:, 0]) + 0.1, event=(X[:, 1] > -0.5) * 1)


def fitted(**options: Any) -> CoxPHFitter:
    return CoxPHFitter(penalizer=0.1).fit(TABLE, "time", "event", **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "options", [{}, {"robust": True}, {"weights_col": "c"}, {"cluster_col": "c"}], ids=str
)
def test_a_cox_model_comes_back_without_trust(options: dict[str, Any]) -> None:
    table = TABLE.assign(c=np.arange(len(TABLE)) % 4 + 1)
    made = CoxPHFitter(penalizer=0.1).fit(table, "time", "event", **options)
    trip = round_trip(made)
    assert trip.is_stable
    assert trip.object.predict_partial_hazard(table).equals(made.predict_partial_hazard(table))
    assert trip.object.predict_survival_function(table).equals(made.predict_survival_function(table))
    assert trip.object.summary.equals(made.summary)


def test_a_formula_is_python_that_the_library_evaluates_and_is_refused() -> None:
    with pytest.raises((UntrustedNamesError, ObjectBuildError), match=r"formulaic|was made from a formula"):
        round_trip(fitted(formula="a + b"))


def test_a_text_in_the_place_of_a_formula_is_refused() -> None:
    made = fitted()
    made._model = changed(made._model, formula="__import__('os').system('true')")
    with pytest.raises(ObjectBuildError, match="was made from a formula, which is evaluated as Python"):
        round_trip(made)


@pytest.mark.parametrize("other", [{"predict": 1}, [1], np.ones(2)], ids=["a dict", "a list", "an array"])
def test_a_cox_model_asks_nothing_but_a_model_of_lifelines(other: Any) -> None:
    with pytest.raises(ObjectBuildError, match=r"_model of CoxPHFitter is .*; expected a model of lifelines"):
        round_trip(changed(fitted(), _model=other))


def test_an_univariate_model_calls_what_an_attribute_names_and_needs_its_name() -> None:
    made = KaplanMeierFitter().fit(TABLE.time, TABLE.event)
    with pytest.raises(UntrustedNamesError, match="lifelines:KaplanMeierFitter"):
        round_trip(made)
