"""Decision trees, forests and boosted models of scikit-learn whose numbers lead out of their arrays."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tests.attacks.c_state import FAR, Case, Reduced, X, Y, cases, changed, reduced, refusal


@cache
def decision_tree() -> Any:
    return DecisionTreeClassifier(random_state=0).fit(X, Y)


def with_tree(**state: Any) -> Any:
    live = decision_tree()
    return changed(live, tree_=reduced(live.tree_, **state))


def nodes_with(**fields: tuple[int, Any]) -> Any:
    """The nodes of the tree, with one field of one node changed."""
    nodes = decision_tree().tree_.__getstate__()["nodes"].copy()
    for name, (at, value) in fields.items():
        nodes[name][at] = value
    return nodes


def _inner() -> int:
    """A node below the root that has children."""
    return int(np.flatnonzero(decision_tree().tree_.children_left != -1)[1])


def _arguments(*args: Any) -> Any:
    live = decision_tree()
    made, before, state = live.tree_.__reduce__()
    args = tuple(before[at] if arg is None else arg for at, arg in enumerate(args))
    return changed(live, tree_=Reduced(made, args, state))


TREES: dict[str, Case] = {
    "child behind": (
        lambda: with_tree(nodes=nodes_with(left_child=(0, FAR))),
        f"children has values from .* to {FAR}",
    ),
    "child before": (
        lambda: with_tree(nodes=nodes_with(right_child=(0, -5))),
        "children has values from -5 to",
    ),
    "cycle": (
        lambda: with_tree(nodes=nodes_with(left_child=(_inner(), 0))),
        "children has values from 0 to",
    ),
    "child of itself": (
        lambda: with_tree(nodes=nodes_with(left_child=(_inner(), _inner()))),
        "children stand before their parents",
    ),
    "child of two": (
        lambda: with_tree(nodes=nodes_with(left_child=(0, decision_tree().tree_.children_right[0]))),
        "expected each but the root once",
    ),
    "feature behind": (
        lambda: with_tree(nodes=nodes_with(feature=(0, FAR))),
        f"feature has values from .* to {FAR}",
    ),
    "feature before": (lambda: with_tree(nodes=nodes_with(feature=(0, -2))), "feature has values from -2 to"),
    "feature at the end": (
        lambda: with_tree(nodes=nodes_with(feature=(0, 5))),
        "feature has .* expected 0 to 4",
    ),
    "more nodes counted": (lambda: with_tree(node_count=FAR), f"node_count is {FAR}, and there are"),
    "fewer nodes counted": (lambda: with_tree(node_count=1), "node_count is 1, and there are"),
    "depth too small": (lambda: with_tree(max_depth=0), "max_depth is 0, and the deepest leaf is at"),
    "depth below": (lambda: with_tree(max_depth=-3), "max_depth is -3, not an int from 0"),
    "no nodes": (lambda: with_tree(nodes=None), "nodes is a NoneType, not an array"),
    "values of fewer nodes": (
        lambda: with_tree(values=decision_tree().tree_.value[:1].copy()),
        r"values has shape \[1, 1, 3\]",
    ),
    "values of float32": (
        lambda: with_tree(values=decision_tree().tree_.value.astype(np.float32)),
        "values has dtype float32, expected float64",
    ),
    "more outputs than classes": (
        lambda: _arguments(None, None, FAR),
        rf"n_classes has shape \[1\], expected \[{FAR}\]",
    ),
    "no classes": (lambda: _arguments(None, np.array([0]), None), "n_classes is 0, not an int from 1"),
    "features below": (lambda: _arguments(-1, None, None), "n_features is -1, not an int from 1"),
    "other features than the estimator": (
        lambda: _arguments(FAR, None, None),
        f"n_features_in_ is 5, expected {FAR}",
    ),
    "no features": (
        lambda: changed(decision_tree(), n_features_in_=None),
        "n_features_in_ is NoneType, expected 5",
    ),
    "a tree without a state": (
        lambda: changed(decision_tree(), tree_=Reduced(*decision_tree().tree_.__reduce__()[:2])),
        "node_count is 0, not an int from 1",
    ),
    "a tree that is none": (
        lambda: changed(decision_tree(), tree_=decision_tree().tree_.value),
        "found an object of numpy:ndarray, expected sklearn.tree._tree:Tree",
    ),
}


@cases(TREES)
def test_a_tree_that_leads_out_of_its_nodes_is_refused(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


@cases(TREES)
def test_one_such_tree_is_found_among_honest_ones(make: Callable[[], Any], message: str) -> None:
    first, last = forest().estimators_[:2]
    assert re.search(message, refusal(changed(forest(), estimators_=[first, make(), last])))


def test_a_tree_that_leads_into_the_next_one_is_refused() -> None:
    first, last = forest().estimators_[:2]
    count = decision_tree().tree_.node_count
    leading = with_tree(nodes=nodes_with(left_child=(0, count)))
    message = rf"children has values from \d+ to {count}, expected 1 to {count - 1}"
    assert re.search(message, refusal(changed(forest(), estimators_=[first, leading, last])))


@cache
def wide_tree() -> Any:
    """An honest tree over many features, for a forest over few."""
    rng = np.random.default_rng(0)
    return DecisionTreeClassifier(random_state=0).fit(rng.random((20, 900)), np.arange(20) % 3)


def in_forest(model: Any) -> Any:
    return changed(model, estimators_=[*model.estimators_[:-1], wide_tree()])


@cache
def forest() -> Any:
    return RandomForestClassifier(3, random_state=0).fit(X, Y)


@cache
def boosted() -> Any:
    return GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, Y)


@cache
def isolation() -> Any:
    return IsolationForest(n_estimators=3, random_state=0).fit(X)


@cache
def narrow_isolation() -> Any:
    return IsolationForest(n_estimators=3, max_features=0.6, random_state=0).fit(X)


@cache
def histogram() -> Any:
    columns = np.c_[X[:, :4], (X[:, 4] * 5).astype(int)]
    return HistGradientBoostingClassifier(max_iter=2, categorical_features=[4], min_samples_leaf=2).fit(
        columns, Y
    )


def predictor_with(model: Any = None, **changes: Any) -> Any:
    """A histogram model with one field of the nodes of its first predictor changed, or a set."""
    model = histogram() if model is None else model
    first = model._predictors[0][0]
    nodes = first.nodes.copy()
    sets = {name: changes.pop(name) for name in list(changes) if name.endswith("bitsets")}
    for name, (at, value) in changes.items():
        nodes[name][at] = value
    rows = [[changed(first, nodes=nodes, **sets), *model._predictors[0][1:]], *model._predictors[1:]]
    return changed(model, _predictors=rows)


@cache
def numeric() -> Any:
    """A histogram model without categories, whose trees are looked at together."""
    return HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(X, Y)


PREDICTORS: dict[str, Case] = {
    "child behind": (
        lambda: predictor_with(numeric(), left=(0, FAR)),
        f"children has values from .* to {FAR}",
    ),
    "child of the next tree": (
        lambda: predictor_with(numeric(), right=(0, len(numeric()._predictors[0][0].nodes))),
        "children has values from",
    ),
    "child before": (lambda: predictor_with(numeric(), left=(0, 0)), "children has values from 0"),
    "the same child twice": (
        lambda: predictor_with(numeric(), left=(0, numeric()._predictors[0][0].nodes["right"][0])),
        "expected each but the root once",
    ),
    "no feature": (lambda: predictor_with(numeric(), feature_idx=(0, -1)), "feature_idx has values from -1"),
    "a feature behind": (
        lambda: predictor_with(numeric(), feature_idx=(0, X.shape[1])),
        f"feature_idx has values from .* to {X.shape[1]}",
    ),
    "a set of categories that is not there": (
        lambda: predictor_with(numeric(), is_categorical=(0, 1)),
        "bitset_idx has values from|asks for categories of a feature that has none",
    ),
    "sets of another width": (
        lambda: predictor_with(numeric(), raw_left_cat_bitsets=np.zeros((1, 3), "uint32")),
        r"raw_left_cat_bitsets has shape \[1, 3\]",
    ),
}


@cases(PREDICTORS)
def test_one_predictor_is_found_among_honest_ones(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))


def boosted_with(trees: Any, **attributes: Any) -> Any:
    return changed(boosted(), estimators_=trees, **attributes)


FORESTS: dict[str, Case] = {
    "a tree over other features": (lambda: in_forest(forest()), "n_features_in_ is 5, expected 900"),
    "no features": (lambda: changed(forest(), n_features_in_=None), "n_features_in_ is NoneType, expected 5"),
    "trees that are none": (
        lambda: changed(forest(), estimators_=[LogisticRegression()]),
        "a LogisticRegression is no decision tree that was fitted",
    ),
    "isolation over other features": (lambda: in_forest(isolation()), "n_features_in_ is 5, expected 900"),
    "isolation of fewer columns": (
        lambda: changed(narrow_isolation(), _max_features=5),
        "n_features_in_ is 5, expected 3",
    ),
    "isolation of a column behind": (
        lambda: changed(narrow_isolation(), estimators_features_=[np.array([0, 1, FAR])] * 3),
        f"estimators_features_ has values from 0 to {FAR}",
    ),
    "boosting with a wider table": (
        lambda: boosted_with(np.concatenate([boosted().estimators_] * 2, axis=1)),
        "n_trees_per_iteration_ is 3, expected 6",
    ),
    "boosting with a wider table that it counts": (
        lambda: boosted_with(np.concatenate([boosted().estimators_] * 2, axis=1), n_trees_per_iteration_=6),
        "n_classes_ of init_ is 3, expected 6",
    ),
    "boosting from something else": (
        lambda: changed(boosted(), init_=LogisticRegression().fit(X, Y)),
        "init_ is a sklearn.linear_model._logistic:LogisticRegression, and whether it predicts 3 classes",
    ),
    "boosting over other features": (
        lambda: boosted_with(np.array([[wide_tree()] * 3], object)),
        "n_features_in_ is 5, expected 900",
    ),
    "predictor with a child behind": (
        lambda: predictor_with(left=(0, FAR)),
        f"children has values from .* to {FAR}, expected",
    ),
    "predictor with a cycle": (lambda: predictor_with(right=(0, 0)), "children has values from 0"),
    "predictor with a feature behind": (
        lambda: predictor_with(feature_idx=(0, 5)),
        "feature_idx has values from .* to 5, expected 0 to 4",
    ),
    "predictor with a feature before": (
        lambda: predictor_with(feature_idx=(0, -1)),
        "feature_idx has values from -1",
    ),
    "predictor without nodes": (
        lambda: changed(
            histogram(), _predictors=[[changed(histogram()._predictors[0][0], nodes=_no_nodes())]]
        ),
        "nodes is empty",
    ),
    "predictor with a set behind": (
        lambda: predictor_with(is_categorical=(0, 1), feature_idx=(0, 0), bitset_idx=(0, FAR)),
        f"bitset_idx has values from .* to {FAR}",
    ),
    "predictor with sets that are too short": (
        lambda: predictor_with(raw_left_cat_bitsets=np.zeros((9, 1), np.uint32)),
        r"raw_left_cat_bitsets has shape \[9, 1\], expected \[any, 8\]",
    ),
    "categories of a feature that has none": (
        lambda: predictor_with(
            is_categorical=(0, 1),
            feature_idx=(0, 1),
            bitset_idx=(0, 0),
            raw_left_cat_bitsets=np.zeros((9, 8), np.uint32),
            binned_left_cat_bitsets=np.zeros((9, 8), np.uint32),
        ),
        "a node asks for categories of a feature that has none",
    ),
    "fewer features mapped": (
        lambda: changed(histogram(), _n_features=9),
        r"is_categorical_ has shape \[5\], expected \[9\]",
    ),
}


def _no_nodes() -> Any:
    return histogram()._predictors[0][0].nodes[:0].copy()


@cases(FORESTS)
def test_a_model_of_trees_that_do_not_fit_is_refused(make: Callable[[], Any], message: str) -> None:
    assert re.search(message, refusal(make()))
