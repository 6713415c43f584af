"""The codec for boosters of XGBoost keeps the contract, and estimators around them come along."""

from __future__ import annotations

import pytest

pytest.importorskip("xgboost")

import random
import re
from functools import cache
from typing import Any

import numpy as np
import xgboost
from xgboost import Booster, DMatrix, XGBClassifier, XGBRanker, XGBRegressor, XGBRFClassifier

from packager._objects import encode
from packager.testing import CodecContract, round_trip
from tests.contracts.built_in import by_name

RANDOM = np.random.default_rng(0)
X = np.c_[RANDOM.random((120, 3)), RANDOM.integers(0, 9, 120)]
Y = (X[:, 3] % 3 == 1).astype(int)
SMALL = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}


@cache
def estimators() -> dict[str, Any]:
    """Fitted estimators, one for each form that a model has."""
    total, both = X.sum(1), np.c_[X.sum(1), X[:, 0]]
    stopping = XGBRegressor(objective="count:poisson", early_stopping_rounds=1, **SMALL)
    return {
        "two classes": XGBClassifier(**SMALL).fit(X, Y),
        "three classes": XGBClassifier(**SMALL).fit(X, X[:, 3].astype(int) % 3),
        "dropping out": XGBRegressor(booster="dart", **SMALL).fit(X, total),
        "linear": XGBRegressor(booster="gblinear", n_estimators=2, n_jobs=1).fit(X, total),
        "vectors": XGBRegressor(multi_strategy="multi_output_tree", **SMALL).fit(X, both),
        "a tree for each target": XGBRegressor(**SMALL).fit(X, both),
        "ranks": XGBRanker(**SMALL).fit(X, Y, qid=np.repeat([0, 1], 60)),
        "a forest": XGBRFClassifier(**SMALL).fit(X, Y),
        "quantiles": XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.5], **SMALL).fit(
            X, total
        ),
        "stopped early": stopping.fit(X, Y, eval_set=[(X, Y)], verbose=False),
        "pruned": XGBRegressor(tree_method="exact", gamma=30, **{**SMALL, "max_depth": 4}).fit(X, total),
    }


def with_categories() -> Booster:
    types = ["q", "q", "q", "c"]
    data = DMatrix(X, X.sum(1), feature_types=types, feature_names=list("abcd"), enable_categorical=True)
    return xgboost.train({"max_depth": 2, "nthread": 1}, data, 2)


def used(booster: Any) -> Any:
    """What an owner does with a booster."""
    rows = np.random.default_rng(1).random((9, booster.num_features()))
    data = DMatrix(
        rows,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    found = [booster.predict(data), booster.predict(data, output_margin=True)]
    config = booster.save_config()
    if '"gblinear"' not in config:
        found.append(booster.predict(data, pred_leaf=True))
    if '"multi_output_tree"' not in config and b"leaf_weights" not in booster.save_raw("ubj"):
        found.append(booster.predict(data, pred_contribs=True))
        booster.get_dump()
    return [*found, np.frombuffer(booster.save_raw("ubj"), np.uint8)]


ODD = "0 1 -1 2 3 5 7 8 9 100 1048576 2147483647 -2147483648 1e300 0.5".split()


def changed_bytes(data: bytearray, rng: random.Random) -> bytearray:
    """Return a model with one number or stretch of its text exchanged."""
    numbers = [*re.finditer(rb"-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?", data)]
    if numbers and rng.random() < 0.8:
        one, other = rng.choice(numbers), rng.choice(numbers)
        word = rng.choice((rng.choice(ODD).encode(), other.group(), str(rng.randrange(9)).encode()))
        data[one.start() : one.end()] = word
    elif data:
        at, to, size = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(1, 40)
        data[at : at + size] = data[to : to + size]
    return data


class TestBooster(CodecContract):
    codec = by_name("xgboost.booster")

    def samples(self) -> list[Any]:
        return [*(estimator.get_booster() for estimator in estimators().values()), with_categories()]

    def same(self, sample: Any, loaded: Any) -> bool:
        return all(map(np.array_equal, used(sample), used(loaded)))


@pytest.mark.parametrize("name", estimators())
def test_an_estimator_comes_back_without_trust(name: str) -> None:
    estimator = estimators()[name]
    trip = round_trip(estimator)
    assert trip.is_stable
    assert type(trip.object) is type(estimator)
    assert np.array_equal(estimator.predict(X), trip.object.predict(X))


def test_names_of_categories_come_along() -> None:
    pandas = pytest.importorskip("pandas", reason="XGBoost takes names of categories from frames alone")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["d"] = pandas.Categorical([f"name {int(value)}" for value in X[:, 3]])
    estimator = XGBRegressor(enable_categorical=True, **SMALL).fit(frame, X.sum(1))
    trip = round_trip(estimator)
    assert trip.is_stable
    assert np.array_equal(estimator.predict(frame), trip.object.predict(frame))


def test_a_booster_without_a_model_is_refused_with_what_helps() -> None:
    (found,) = encode(Booster()).refusals
    assert "could not be loaded again" in found.reason
    assert "train it first" in found.options[0]
