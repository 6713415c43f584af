"""The codec for models of CatBoost keeps the contract; tables that it does not check need trust."""

from __future__ import annotations

import pytest

pytest.importorskip("catboost")

import random
import re
from functools import cache
from typing import Any

import numpy as np
from catboost import CatBoost, CatBoostClassifier, CatBoostRanker, CatBoostRegressor

from packager._audit import UntrustedNamesError
from packager.testing import CodecContract, round_trip
from tests.contracts.built_in import by_name

RANDOM = np.random.default_rng(0)
X = RANDOM.random((120, 4))
Y = (X[:, 0] + X[:, 3] > 1).astype(int)
WORDS = np.c_[X[:, :2].astype(object), [[str(int(value * 6))] for value in X[:, 3]]]
SMALL = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


@cache
def models() -> list[Any]:
    """Trained models, one for each form that the library writes."""
    total = X.sum(1)
    return [
        CatBoostClassifier(**SMALL).fit(X, Y),
        CatBoostClassifier(**SMALL).fit(X, np.array(["a", "b", "c"])[(X[:, 0] * 3).astype(int)]),
        CatBoostRegressor(**SMALL).fit(np.where(X > 0.9, np.nan, X), total),
        CatBoostRegressor(grow_policy="Lossguide", **SMALL).fit(X, total),
        CatBoostClassifier(grow_policy="Depthwise", loss_function="MultiClass", **SMALL).fit(
            X, (X[:, 0] * 3).astype(int)
        ),
        CatBoostClassifier(one_hot_max_size=20, **SMALL).fit(WORDS, Y, cat_features=[2]),
        CatBoostRanker(**SMALL).fit(X, Y, group_id=np.repeat([0, 1], 60)),
        CatBoost({**SMALL, "loss_function": "MultiRMSE"}).fit(X, np.c_[Y, X[:, 0]]),
    ]


def used(model: Any) -> Any:
    """What an owner does with a model."""
    if not model.is_fitted():
        return [repr(model.get_params())]
    rows = WORDS if model.get_cat_feature_indices() else X
    found = [model.predict(rows), model.calc_leaf_indexes(rows), model.get_leaf_values()]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(rows))
    if model.feature_importances_ is not None:
        found.append(model.feature_importances_)
    return [*found, np.array(model.feature_names_), np.array(model.classes_)]


ODD = (0, 1, 2, 3, 4, 5, 7, 16, 17, 31, 255, 65535, 1 << 31, (1 << 32) - 1)


def changed_bytes(data: bytearray, rng: random.Random) -> bytearray:
    """Return a model with one number or stretch of its bytes exchanged, most often of its trees."""
    kind = rng.randrange(5)
    if len(data) < 64:
        return bytearray(rng.randbytes(40))
    if kind < 3:
        at = rng.randrange(8, len(data), 4 if kind else 2)
        value = rng.choice((*ODD, int.from_bytes(data[at : at + 4], "little") + rng.choice((-1, 1, 2, 4))))
        data[at : at + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")[: len(data) - at]
    elif kind == 3:
        spots = [found.start() for found in re.finditer(rb"[0-9]", data)]
        data[rng.choice(spots or [0])] = rng.choice(b'0123456789-.[]{}"')
    else:
        at, to, size = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(1, 40)
        data[at : at + size] = data[to : to + size]
    return data


class TestCatBoost(CodecContract):
    codec = by_name("catboost.model")

    def samples(self) -> list[Any]:
        return [*models(), CatBoostClassifier(iterations=3)]

    def same(self, sample: Any, loaded: Any) -> bool:
        equal = all(map(np.array_equal, used(sample), used(loaded)))
        return equal and sample.get_params() == loaded.get_params()


@cache
def with_tables() -> Any:
    return CatBoostClassifier(**SMALL).fit(WORDS, Y, cat_features=[2])


@pytest.mark.parametrize("beside_code", [False, True])
def test_a_model_with_tables_for_categories_needs_the_name_of_its_class(beside_code: bool) -> None:
    options: Any = {"interned": ["net"], "externs": ["catboost"]} if beside_code else {}
    with pytest.raises(
        UntrustedNamesError, match="tables for categories or texts, which the library reads unchecked"
    ):
        round_trip(with_tables(), **options)
    trip = round_trip(with_tables(), trust=["catboost:CatBoostClassifier"], **options)
    assert trip.is_stable
    assert np.array_equal(trip.object.predict_proba(WORDS), with_tables().predict_proba(WORDS))


def test_a_glob_over_classes_vouches_for_no_tables() -> None:
    with pytest.raises(UntrustedNamesError, match="tables for categories"):
        round_trip(with_tables(), trust=["catboost.**:*"])
