"""Results of statsmodels come back without trust where they are data; a formula is Python, and needs it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from packager.objects import ObjectBuildError, UntrustedNamesError
from packager.testing import round_trip

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
