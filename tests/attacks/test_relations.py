"""Attributes of estimators that do not fit each other: refused where code in C would believe them.

Each row is an honest estimator, one attribute of it changed, and what is said; the honest one comes back.
Without the rows of relation_rows.py each of these ends the process that uses it, or takes what memory or time
there is; `fixtures/families/poison.py` looks for more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import FeatureAgglomeration
from sklearn.decomposition import MiniBatchNMF, SparseCoder
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MultiLabelBinarizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC

from packager._objects import ObjectBuildError
from packager.testing import round_trip
from tests.attacks.c_state import FAR, X, Y
from tests.tables import one_test

TEXTS = ["a cat sat on the mat", "the dog ran", "a dog and a cat"]
RECORDS = [{"cat": 1, "dog": 2}, {"dog": 3, "cow": 1}]
NAMES = np.array([["red", "a"]] * 9 + [["blue", "b"]] * 6 + [["grey", "c"]] + [["pink", "b"]], object)
BOTH = np.c_[Y == 0, Y > 0].astype(int)

HONEST: dict[str, Callable[[], Any]] = {
    "neighbours": lambda: KNeighborsClassifier(algorithm="brute", metric="manhattan").fit(X, Y),
    "neighbours of two outputs": lambda: KNeighborsClassifier().fit(X, np.c_[Y, Y > 0]),
    "neighbours in a radius": lambda: RadiusNeighborsClassifier(2.0, algorithm="brute").fit(X, Y),
    "counts": lambda: CountVectorizer().fit(TEXTS),
    "counts of given words": lambda: CountVectorizer(vocabulary={"dog": 0, "cat": 1}).fit(TEXTS),
    "weighted counts": lambda: TfidfVectorizer(ngram_range=(1, 2)).fit(TEXTS),
    "records": lambda: DictVectorizer().fit(RECORDS),
    "sets of labels": lambda: MultiLabelBinarizer().fit([{"a", "b"}, {"c"}]),
    "sets of labels that were asked": lambda: _asked(MultiLabelBinarizer().fit([{1, 2}, {3}])),
    "categories": lambda: OneHotEncoder(handle_unknown="ignore").fit(NAMES),
    "categories of numbers": lambda: OneHotEncoder().fit((X * 4).astype(int)),
    "categories with holes": lambda: OneHotEncoder().fit(np.array([[1.0], [np.nan], [0.0]])),
    "categories without the first": lambda: OneHotEncoder(drop="first").fit(NAMES),
    "two categories as one": lambda: OneHotEncoder(drop="if_binary").fit(np.c_[NAMES, NAMES[:, 1] == "b"]),
    "rare categories": lambda: OneHotEncoder(min_frequency=3, handle_unknown="infrequent_if_exist").fit(
        NAMES
    ),
    "rare categories without one": lambda: OneHotEncoder(max_categories=2, drop="first").fit(NAMES),
    "rare ordinals": lambda: OrdinalEncoder(min_frequency=3).fit(NAMES),
    "bins": lambda: KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf").fit(X),
    "leaves": lambda: RandomTreesEmbedding(3, max_depth=3, random_state=0).fit(X),
    "one against the rest": lambda: OneVsRestClassifier(LogisticRegression()).fit(X, BOTH),
    "one against the rest, always": lambda: _always(),
    "pipelines against the rest": lambda: OneVsRestClassifier(
        make_pipeline(StandardScaler(), RidgeClassifier())
    ).fit(X, BOTH),
    "many lines": lambda: _lines(),
    "lines without a begin": lambda: RidgeClassifier(fit_intercept=False).fit(X, Y),
    "vectors": lambda: SVC().fit(X, Y),
    "vectors of fewer classes": lambda: BaggingClassifier(SVC(), 3, max_samples=8, random_state=0).fit(X, Y),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, Y),
    "boosted, two classes": lambda: GradientBoostingClassifier(n_estimators=2).fit(X, Y > 0),
    "boosted by histograms": lambda: HistGradientBoostingClassifier(max_iter=2).fit(X, Y),
    "a line boosted by histograms": lambda: HistGradientBoostingRegressor(max_iter=2).fit(X, Y),
    "bagged": lambda: BaggingClassifier(LogisticRegression(), 3, max_features=0.6, random_state=0).fit(X, Y),
    "parts": lambda: MiniBatchNMF().partial_fit(X),
    "a code": lambda: SparseCoder(np.eye(5)).fit(X),
    "clusters": lambda: FeatureAgglomeration().fit(X),
    "a forest": lambda: RandomForestClassifier(2, max_samples=20).fit(X, Y),
    "a middle": lambda: DummyRegressor().fit(X, Y),
    "products": lambda: PolynomialFeatures().fit(X),
    "products of some": lambda: PolynomialFeatures((2, 3), interaction_only=True, include_bias=False).fit(X),
    "splines": lambda: SplineTransformer(extrapolation="periodic").fit(X),
    "columns without an array": lambda: AdditiveChi2Sampler().fit(X),
}


def _asked(made: Any) -> Any:
    made.transform([{1}])
    return made


def _always() -> Any:
    with pytest.warns(UserWarning, match="is present in all training examples"):
        return OneVsRestClassifier(SVC()).fit(X, np.c_[BOTH, np.ones(60, int)])


@cache
def _lines() -> Any:
    return LogisticRegression().fit(X, Y)


@cache
def honest(name: str) -> Any:
    return HONEST[name]()


@one_test
@pytest.mark.parametrize("name", HONEST)
def test_an_estimator_whose_attributes_fit_comes_back(name: str) -> None:
    assert type(round_trip(honest(name)).object) is type(honest(name))


def at(name: str, path: str, value: Any) -> Any:
    """An honest estimator with one attribute changed; what lies between is copied."""
    made = top = copy.deepcopy(honest(name))
    *way, last = path.split(".")
    for step in way:
        made = made[int(step)] if step.isdigit() else getattr(made, step)
    if last.isdigit():
        made[int(last)] = value(made[int(last)]) if callable(value) else value
    else:
        made.__dict__[last] = value(made.__dict__[last]) if callable(value) else value
    return top


def moved(place: int, to: int) -> Callable[[Any], Any]:
    """The same table or array with another number in one place."""

    def move(value: Any) -> Any:
        if isinstance(value, dict):
            return {**value, [*value][place]: to}
        other = value.copy()
        other.flat[place] = to
        return other

    return move


# What is changed, to what, and what is said.
Change = tuple[str, str, Any, str]
CHANGES: dict[str, Change] = {
    "a label behind": ("neighbours", "_y", moved(0, 3), r"labels has values from 0 to 3, expected 0 to 2"),
    "a label far behind": ("neighbours", "_y", moved(0, FAR), f"labels has values from 0 to {FAR}"),
    "a label before": ("neighbours in a radius", "_y", moved(0, -1), "labels has values from -1"),
    "fewer classes": ("neighbours", "classes_", lambda old: old[:2], "expected 0 to 1"),
    "fewer classes in a radius": (
        "neighbours in a radius",
        "classes_",
        lambda old: old[:1],
        "expected 0 to 0",
    ),
    "labels of floats": ("neighbours", "_y", lambda old: old * 1.0, "labels has dtype float64"),
    "labels of one output": ("neighbours of two outputs", "_y", lambda old: old[:, 0], "of lengths 1 and 2"),
    "a label of the second output": ("neighbours of two outputs", "_y", moved(1, 2), "labels has values"),
    "a word behind": ("counts", "vocabulary_", moved(0, 9), "vocabulary_ has values from 0 to 9, expected 0"),
    "a word before": ("weighted counts", "vocabulary_", moved(0, -FAR), f"has values from -{FAR}"),
    "a word of a given list": ("counts of given words", "vocabulary_", moved(1, 2), "has values from 0 to 2"),
    "a place that is none": ("counts", "vocabulary_", moved(0, True), "vocabulary_ has members that are no"),
    "a vocabulary that is none": ("counts", "vocabulary_", None, "NoneType"),
    "a name behind": ("records", "vocabulary_", moved(-1, 3), "vocabulary_ has values from 0 to 3"),
    "labels twice": ("sets of labels", "classes_", lambda old: old[[0, 0, 1]], "classes_ has a label twice"),
    "a kept label behind": (
        "sets of labels that were asked",
        "_cached_dict",
        moved(0, 9),
        "_cached_dict has values from",
    ),
    "fewer columns counted": ("categories", "_n_features_outs", [4, 2], r"_n_features_outs is \[4, 2\]"),
    "a column less counted": ("categories", "_n_features_outs", [7], "is 1, expected 2"),
    "columns below": (
        "categories",
        "_n_features_outs",
        [-4, 11],
        r"_n_features_outs is \[-4, 11\], expected",
    ),
    "more categories": ("categories", "categories_.0", lambda old: np.r_[old, old], r"is \[4, 3\], expected"),
    "categories that fall": (
        "categories of numbers",
        "categories_.0",
        lambda old: old[::-1].copy(),
        "names does not grow",
    ),
    "a rare category behind": (
        "rare categories",
        "_default_to_infrequent_mappings.0",
        moved(0, 9),
        "places has values from",
    ),
    "no rare categories": ("rare categories", "_infrequent_enabled", False, r"_n_features_outs is \[3, 3\]"),
    "rare ones without a place": (
        "rare categories",
        "_default_to_infrequent_mappings.0",
        None,
        r"given.* is \[0, 1\], expected \[1, 1\]",
    ),
    "another one dropped": (
        "categories without the first",
        "_drop_idx_after_grouping.0",
        9,
        "place is 9, not",
    ),
    "none dropped": (
        "categories without the first",
        "_drop_idx_after_grouping",
        None,
        r"is \[3, 2\], expected \[4, 3\]",
    ),
    "fewer bins counted": (
        "bins",
        "_encoder._n_features_outs",
        lambda old: [*old[:-1], 1],
        r"_n_features_outs is \[",
    ),
    "more bins": ("bins", "_encoder.categories_.0", lambda old: np.arange(40.0), r"_n_features_outs is \["),
    "fewer leaves": (
        "leaves",
        "one_hot_encoder_._n_features_outs",
        lambda old: [1, *old[1:]],
        r"_n_features_outs is \[",
    ),
    "a wide intercept": (
        "one against the rest",
        "estimators_.0.intercept_",
        np.zeros(5),
        "is 5, expected at most 1",
    ),
    "an intercept of rows": (
        "one against the rest",
        "estimators_.0.intercept_",
        np.zeros((5, 1)),
        "is 5, expected 1",
    ),
    "more lines": (
        "one against the rest",
        "estimators_.1",
        lambda old: _lines(),
        "outputs.one. is 3, expected 1",
    ),
    "more lines in a pipeline": (
        "pipelines against the rest",
        "estimators_.1.steps.1",
        ("b", _lines()),
        "outputs.one. is 3, expected 1",
    ),
    "more lines that are frozen": (
        "one against the rest",
        "estimators_.1",
        lambda old: FrozenEstimator(_lines()),
        "is 3, expected 1",
    ),
    "more vectors": (
        "one against the rest",
        "estimators_.1",
        lambda old: honest("vectors"),
        "is 3, expected 1",
    ),
    "a constant of many": (
        "one against the rest, always",
        "estimators_.2.y_",
        np.ones(5, int),
        "is 5, expected 1",
    ),
    "fewer classes of vectors": (
        "vectors",
        "classes_",
        lambda old: old[:2],
        r"len._n_support. is 3, expected at most 2",
    ),
    "fewer classes boosted": ("boosted", "classes_", lambda old: old[:2], "n_classes_ is 3, expected 2"),
    "more trees": (
        "a line boosted by histograms",
        "n_trees_per_iteration_",
        FAR,
        f"n_trees_per_iteration_ is {FAR}, expected 1",
    ),
    "more classes counted": ("bagged", "n_classes_", FAR, f"n_classes_ is {FAR}, expected 3"),
    "more columns drawn": ("bagged", "_max_features", FAR, f"_max_features is {FAR}, not an int from 1 to 5"),
    "more rows drawn": ("bagged", "_max_samples", FAR, f"_max_samples is {FAR}, not an int from 0"),
    "more parts": ("parts", "_n_components", FAR, f"_n_components is {FAR}, expected 5"),
    "more parts of a code": ("a code", "n_components_", FAR, f"n_components_ is {FAR}, not an int from 0"),
    "a cluster behind": ("clusters", "labels_", moved(0, FAR), f"labels_ has values from 0 to {FAR}"),
    "trees of more outputs": ("a forest", "n_outputs_", FAR, f"n_outputs_ is {FAR}, expected 1"),
    "more rows in a forest": ("a forest", "_n_samples_bootstrap", FAR, f"is {FAR}, not an int from 0"),
    "more outputs": ("a middle", "n_outputs_", FAR, f"n_outputs_ is {FAR}, expected 1"),
    "more products": ("products", "_n_out_full", FAR, f"_n_out_full is {FAR}, expected 21"),
    "products of more columns": ("products", "n_features_in_", 9999, "_n_out_full is 21, expected 50005000"),
    "more columns of splines": ("splines", "n_features_out_", FAR, f"n_features_out_ is {FAR}, not an int"),
    "more columns than have names": (
        "columns without an array",
        "n_features_in_",
        FAR,
        f"n_features_in_ is {FAR}, not an int from 0",
    ),
}


@one_test
@pytest.mark.parametrize(("name", "path", "value", "message"), CHANGES.values(), ids=CHANGES)
def test_an_attribute_that_does_not_fit_is_refused(name: str, path: str, value: Any, message: str) -> None:
    with pytest.raises(ObjectBuildError, match=message):
        round_trip(at(name, path, value))
