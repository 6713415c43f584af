"""Results of statsmodels come back without trust where they are data; a formula is Python, and needs it."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("statsmodels")

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch

from packager._audit import UntrustedNamesError
from packager._objects import ObjectBuildError
from packager.testing import round_trip
from tests.attacks.c_state import changed

RANDOM = np.random.default_rng(0)
X = RANDOM.random((60, 3))
Y = X.sum(1) + RANDOM.random(60)
HALVES = (RANDOM.random(60) > 0.5).astype(int)

FITS: dict[str, Callable[[], Any]] = {
    "ols": lambda: sm.OLS(Y, X).fit(),
    "wls": lambda: sm.WLS(Y, X, weights=X[:, 0]).fit(),
    "gls": lambda: sm.GLS(Y, X).fit(),
    "of a frame": lambda: sm.OLS(pd.Series(Y), pd.DataFrame(X, columns=["a", "b", "c"])).fit(),
    "logit": lambda: sm.Logit(HALVES, X).fit(disp=0),
    "probit": lambda: sm.Probit(HALVES, X).fit(disp=0),
    "counts": lambda: sm.Poisson(HALVES, X).fit(disp=0),
    "several": lambda: sm.MNLogit(RANDOM.integers(0, 3, 60), X).fit(disp=0),
    "binomial": lambda: sm.GLM(HALVES, X, family=sm.families.Binomial()).fit(),
    "gamma": lambda: sm.GLM(Y, X, family=sm.families.Gamma(sm.families.links.Log())).fit(),
    "robust": lambda: sm.RLM(Y, X, M=sm.robust.norms.TukeyBiweight()).fit(),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_results_come_back_without_trust(name: str) -> None:
    before = FITS[name]()
    trip = round_trip(before)
    assert trip.is_stable
    assert np.array_equal(before.predict(X), trip.object.predict(X))
    assert _said(before) == _said(trip.object)


def _said(results: Any) -> str:
    """What results say of themselves, without the time of day."""
    return re.sub(r"\d\d:\d\d:\d\d", "", results.summary().as_text())


@pytest.mark.filterwarnings("ignore")
def test_a_formula_is_not_evaluated_for_data_alone() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    with pytest.raises((ObjectBuildError, UntrustedNamesError), match=r"statsmodels|formula"):
        round_trip(smf.ols("y ~ a + b", frame).fit())


TEXT = "__import__('os').system('true') + a"
PARTS = {"formula": "y ~ a", "model_spec": TEXT}


def with_model(model: Any) -> Any:
    return changed(FITS["ols"]()._results, model=model)


def with_data(data: Any) -> Any:
    results = FITS["ols"]()._results
    return changed(results, model=changed(results.model, data=data))


def wrapped(results: Any) -> Any:
    made = FITS["ols"]()
    object.__setattr__(made, "_results", results)
    return made


HELD: dict[str, tuple[Callable[[], Any], str]] = {
    "a namespace": (
        lambda: with_model(SimpleNamespace(**PARTS)),
        "model of OLSResults is of type SimpleNamespace; expected a model of statsmodels",
    ),
    "a bunch": (lambda: with_model(Bunch(**PARTS)), "model of OLSResults is of type Bunch"),
    "a series with labels": (lambda: with_model(pd.Series(PARTS)), "model of OLSResults is of type Series"),
    "what asks another one": (
        lambda: with_model(FrozenEstimator(SimpleNamespace(**PARTS))),
        "estimator of FrozenEstimator has an unexpected type",  # before anything is built
    ),
    "the data of a model": (
        lambda: with_data(SimpleNamespace(**PARTS)),
        "data of OLS is of type SimpleNamespace; expected a model of statsmodels",
    ),
    "what is wrapped": (
        lambda: wrapped(SimpleNamespace(model=SimpleNamespace(**PARTS))),
        "_results of RegressionResultsWrapper is of type SimpleNamespace",
    ),
    "a text at the data": (
        lambda: with_data(changed(FITS["ols"]().model.data, model_spec=TEXT)),
        "ModelData was made from a formula, which is evaluated as Python",
    ),
    "a number": (lambda: with_model(1), "model of OLSResults is of type int"),
}


@pytest.mark.parametrize(("make", "message"), HELD.values(), ids=HELD)
@pytest.mark.filterwarnings("ignore")
def test_a_text_is_no_formula_wherever_results_look_for_one(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ObjectBuildError, UntrustedNamesError), match=message):
        round_trip(make())


def test_a_formula_needs_the_name_of_the_class() -> None:
    made = with_model(SimpleNamespace(formula="y ~ a"))
    trusted = ["statsmodels.regression.linear_model:OLSResults"]
    assert round_trip(made, trust=trusted).object.model.formula == "y ~ a"


def test_a_value_of_the_class_of_results_is_none_of_data() -> None:
    model = FITS["ols"]().model
    with pytest.raises(ObjectBuildError, match="_formula_max_endog belongs to the class OLS"):
        round_trip(changed(model, _formula_max_endog=2))
