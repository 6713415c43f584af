"""The codec for boosters of LightGBM keeps the contract, and estimators around them come along."""

from __future__ import annotations

import pytest

pytest.importorskip("lightgbm")

import random
import re
from functools import cache
from typing import Any

import numpy as np
from lightgbm import Booster, Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, train

from packager._objects import ObjectBuildError
from packager.testing import CodecContract, round_trip
from tests.contracts.built_in import by_name

RANDOM = np.random.default_rng(0)
X = np.c_[RANDOM.random((120, 3)), RANDOM.integers(0, 40, 120)]
Y = (X[:, 3] % 3 == 1).astype(int)
SMALL = {"verbose": -1, "min_child_samples": 2, "n_estimators": 2, "num_leaves": 4, "n_jobs": 1}
BY_CATEGORY = {"min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 1}


def _own_loss(predicted: Any, data: Any) -> Any:
    return predicted - data.get_label(), np.ones(len(predicted))


@cache
def estimators() -> dict[str, Any]:
    """Fitted estimators, one for each form that the text of a model has."""
    total = X.sum(1)
    return {
        "categories": LGBMClassifier(**SMALL, **BY_CATEGORY).fit(X, Y, categorical_feature=[3]),
        "classes": LGBMClassifier(**SMALL).fit(X, X[:, 3].astype(int) % 3),
        "one against all": LGBMClassifier(objective="multiclassova", **SMALL).fit(X, X[:, 3].astype(int) % 3),
        "linear leaves": LGBMRegressor(linear_tree=True, **SMALL).fit(X, total),
        "dropping out": LGBMRegressor(boosting_type="dart", objective="quantile", **SMALL).fit(X, total),
        "a forest": LGBMRegressor(boosting_type="rf", subsample=0.5, subsample_freq=1, **SMALL).fit(X, total),
        "ranks": LGBMRanker(**SMALL).fit(X, Y, group=[60, 60]),
        "nothing to split": LGBMRegressor(**SMALL).fit(X, np.ones(120)),
        "monotone": LGBMRegressor(monotone_constraints=[1, 0, 0, 0], **SMALL).fit(X, total),
        "missing values": LGBMRegressor(**SMALL).fit(np.where(X > 0.8, np.nan, X), total),
    }


def used(booster: Any) -> Any:
    """What an owner does with a booster."""
    rows = np.random.default_rng(1).random((9, booster.num_feature())) * 40
    found = [
        booster.predict(rows),
        booster.predict(rows, raw_score=True),
        booster.predict(rows, pred_leaf=True),
    ]
    if "is_linear=1" not in booster.model_to_string():
        found.append(booster.predict(rows, pred_contrib=True))
    importances = [booster.feature_importance(kind) for kind in ("split", "gain")]
    return [*found, *importances, booster.model_to_string(num_iteration=-1)]


ODD = """
    0 1 -1 2 3 -2 7 40 -40 99999 2147483647 -2147483648 4294967295 1e300 -1e300 0.5 nan inf -0 9 11 15
""".split()


def changed_bytes(data: bytearray, rng: random.Random) -> bytearray:
    """Return the text of a model with one number or line exchanged, most often with sizes that fit."""
    lines = data.decode("latin-1").split("\n")
    at = rng.randrange(max(1, lines.index("end of trees") if "end of trees" in lines else len(lines)))
    name, sign, value = lines[at].partition("=")
    kind = rng.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif kind == 2:
        same = [other for other in range(len(lines)) if lines[other].startswith(f"{name}=")]
        lines[at] = lines[rng.choice(same or [at])]
    else:
        words = value.split(" ")
        place = rng.randrange(len(words))
        word = rng.choice((rng.choice(ODD), rng.choice(words), str(rng.randrange(-9, 60))))
        if kind == 3:
            del words[place]
        elif kind == 4:
            words.insert(place, word)
        else:
            words[place] = word
        lines[at] = name + sign + " ".join(words)
    text = "\n".join(lines)
    return bytearray((_with_sizes(text) if rng.random() < 0.9 else text).encode("latin-1"))


def _with_sizes(text: str) -> str:
    """Return a text whose head says how long its trees are."""
    trees = text.partition("end of trees")[0].split("Tree=")[1:]
    sizes = " ".join(str(len(f"Tree={tree}".encode())) for tree in trees)
    return re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", text, count=1) if trees else text


class TestBooster(CodecContract):
    codec = by_name("lightgbm.booster")

    def samples(self) -> list[Any]:
        own = train({"verbose": -1, "objective": _own_loss, "num_leaves": 3}, Dataset(X, Y), 2)
        own.params = {"verbose": -1}  # a function there would be one to trust
        own.best_score["valid"]["auc"] = 0.5
        return [*(estimator.booster_ for estimator in estimators().values()), own]

    def same(self, sample: Any, loaded: Any) -> bool:
        kept = sample.params == loaded.params and sample.best_score == loaded.best_score
        return kept and all(map(np.array_equal, used(sample), used(loaded)))


@pytest.mark.parametrize("name", estimators())
def test_an_estimator_comes_back_without_trust(name: str) -> None:
    estimator = estimators()[name]
    trip = round_trip(estimator)
    assert trip.is_stable
    assert type(trip.object) is type(estimator)
    assert np.array_equal(estimator.predict(X), trip.object.predict(X))
    assert trip.object.get_params() == estimator.get_params()


def test_a_booster_without_a_model_is_refused_with_what_helps() -> None:
    made = Booster.__new__(Booster)
    made._handle = None
    from packager._objects import encode

    (found,) = encode(made).refusals
    assert found.reason == "a booster of LightGBM without a model"


def test_a_classifier_counts_the_classes_that_it_has() -> None:
    made = LGBMClassifier(**SMALL).fit(X, Y)
    assert round_trip(made).object._n_classes == 2
    made._n_classes = 1 << 31
    with pytest.raises(ObjectBuildError, match="_n_classes is 2147483648, expected 2"):
        round_trip(made)
