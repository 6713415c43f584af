"""Each part of a decision tree, and of what is made of trees, wrong by itself: the words of its refusal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager._libraries.scikit_learn import c_state
from packager._libraries.scikit_learn.c_state import (
    HistogramBoostingCheck,
    PredictorCheck,
    TreeCheck,
)
from tests.codecs.parts import refuses, rows_of

FAR = 1 << 31
NONE = f"is a NoneType, not an int from 1 to {FAR - 1}"


def changed(obj: SimpleNamespace, parts: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(obj), **parts})


# --- one tree: arguments and state ---

CLASSES = np.array([2, 1])
ARGUMENTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "two": ((1, CLASSES), "a Tree is made from 3 arguments, found 2"),
    "four": ((1, CLASSES, 2, 0), "a Tree is made from 3 arguments, found 4"),
    "no features": ((0, CLASSES, 2), f"n_features is 0, not an int from 1 to {FAR - 1}"),
    "no outputs": ((1, CLASSES, 0), f"n_outputs is 0, not an int from 1 to {FAR - 1}"),
    "fewer outputs": ((1, CLASSES, 1), "n_classes has shape [2], expected [1]"),
    "classes as floats": ((1, CLASSES * 1.0, 2), "n_classes has dtype float64, expected int64 or int32"),
    "no classes": ((1, CLASSES - 1, 2), f"n_classes is 0, not an int from 1 to {FAR - 1}"),
}


@pytest.mark.parametrize(("args", "message"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_a_tree_is_made_from_numbers_in_range(args: tuple[Any, ...], message: str) -> None:
    refuses(lambda: TreeCheck().check_arguments(args), message)


def test_a_tree_is_made_from_the_smallest_numbers_and_the_largest() -> None:
    TreeCheck().check_arguments((1, np.array([1], np.int32), 1))
    TreeCheck().check_arguments((FAR - 1, np.array([FAR - 1]), np.int64(1)))


NODES = np.zeros(3, [("left_child", "<i8")])
STATE: dict[str, Any] = {"nodes": NODES, "values": np.zeros((3, 1, 2)), "node_count": 3, "max_depth": 1}
STATES: dict[str, tuple[Any, str]] = {
    "a list": ([], "the state of a Tree is no dict"),
    "nodes of numbers": ({**STATE, "nodes": np.zeros(3)}, "nodes has dtype float64, expected a kind of 'V'"),
    "nodes of two axes": ({**STATE, "nodes": NODES[None]}, "nodes has shape [1, 3], expected [any]"),
    "values of one axis": (
        {**STATE, "values": np.zeros(3)},
        "values has shape [3], expected [3, any, any]",
    ),
    "none counted": ({**STATE, "node_count": 0}, f"node_count is 0, not an int from 1 to {FAR - 1}"),
    "one more counted": ({**STATE, "node_count": 4}, "node_count is 4, and there are 3 nodes"),
    "depth below": ({**STATE, "max_depth": -1}, "max_depth is -1, not an int from 0 to 2"),
    "depth of all nodes": ({**STATE, "max_depth": 3}, "max_depth is 3, not an int from 0 to 2"),
}


@pytest.mark.parametrize(("state", "message"), STATES.values(), ids=STATES.keys())
def test_the_state_of_a_tree_counts_its_nodes(state: Any, message: str) -> None:
    TreeCheck().check_state(None, STATE)
    TreeCheck().check_state(None, {**STATE, "max_depth": 0})
    refuses(lambda: TreeCheck().check_state(None, state), message)


# --- trees that are made, by themselves and at once ---


def tree(**parts: Any) -> Any:
    """A root, a leaf, and below its right child two more."""
    made = SimpleNamespace(
        node_count=5,
        n_features=2,
        max_depth=2,
        n_outputs=1,
        children_left=np.array([1, -1, 3, -1, -1]),
        children_right=np.array([2, -1, 4, -1, -1]),
        feature=np.array([0, -2, 1, -2, -2]),
        compute_node_depths=lambda: np.array([1, 2, 2, 3, 3]),
    )
    return changed(made, parts)


def leaf(**parts: Any) -> Any:
    single = np.array([-1])
    made = tree(
        node_count=1,
        max_depth=0,
        children_left=single,
        children_right=single,
        feature=single,
        compute_node_depths=lambda: np.array([1]),
    )
    return changed(made, parts)


ONE_AND_TWO = "5 nodes have 4 children, expected each but the root once"
MADE: dict[str, tuple[dict[str, Any], str]] = {
    "no nodes": (
        {"node_count": 0, "children_left": np.array([], int), "children_right": np.array([], int)},
        f"node_count is 0, not an int from 1 to {FAR - 1}",
    ),
    "a child that is its parent": (
        {"children_left": np.array([1, -1, 2, -1, -1])},
        "children stand before their parents",
    ),
    "a child on the right that is its parent": (
        {"children_right": np.array([2, -1, 2, -1, -1])},
        "children stand before their parents",
    ),
    "the root as a child": (
        {"children_right": np.array([2, -1, 0, -1, -1])},
        "children has values from 0 to 3, expected 1 to 4",
    ),
    "a child behind": (
        {"children_left": np.array([1, -1, 5, -1, -1])},
        "children has values from 1 to 5, expected 1 to 4",
    ),
    "a child of two": ({"children_left": np.array([1, -1, 4, -1, -1])}, ONE_AND_TWO),
    "a node that none leads to": (
        {"children_left": np.array([1, -1, -1, -1, -1]), "children_right": np.array([2, -1, -1, -1, -1])},
        "5 nodes have 2 children, expected each but the root once",
    ),
    "a feature behind": (
        {"feature": np.array([2, -2, 1, -2, -2])},
        "feature has values from 1 to 2, expected 0 to 1",
    ),
    "a feature before": (
        {"feature": np.array([-1, -2, 1, -2, -2])},
        "feature has values from -1 to 1, expected 0 to 1",
    ),
    "a greater depth": ({"max_depth": 3}, "max_depth is 3, and the deepest leaf is at 2"),
    "a smaller depth": ({"max_depth": 1}, "max_depth is 1, and the deepest leaf is at 2"),
}


@pytest.mark.parametrize(("parts", "message"), MADE.values(), ids=MADE.keys())
def test_a_tree_leads_to_each_of_its_nodes_once(parts: dict[str, Any], message: str) -> None:
    refuses(lambda: TreeCheck().check_made(tree(**parts)), message)


def test_trees_that_fit_pass() -> None:
    for made in (tree(), leaf()):
        TreeCheck().check_made(made)


# --- what is made of trees; these have a type of the name that is asked for ---


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a namespace stand for a tree and a predictor; another class does not."""
    monkeypatch.setattr(TreeCheck, "types", ("types:SimpleNamespace",))
    monkeypatch.setattr(PredictorCheck, "types", ("types:SimpleNamespace",))


def estimator(**parts: Any) -> Any:
    return changed(SimpleNamespace(tree_=tree(), n_features_in_=2, n_outputs_=1), parts)


OTHER = "found an object of builtins:dict, expected types:SimpleNamespace"
ESTIMATORS: dict[str, tuple[dict[str, Any], str]] = {
    "features": ({"n_features_in_": 3}, "n_features_in_ is 3, expected 2"),
    "features as a float": ({"n_features_in_": 2.0}, "n_features_in_ is float, expected 2"),
    "no outputs": ({"n_outputs_": None}, "n_outputs_ is NoneType, expected 1"),
    "outputs": ({"n_outputs_": 2}, "n_outputs_ is 2, expected 1"),
    "another object": ({"tree_": {}}, OTHER),
}


@pytest.mark.parametrize(("parts", "message"), ESTIMATORS.values(), ids=ESTIMATORS.keys())
def test_an_estimator_has_the_features_and_outputs_of_its_tree(parts: dict[str, Any], message: str) -> None:
    rows_of("sklearn.tree._classes:BaseDecisionTree").check_made(estimator(n_features_in_=np.int32(2)))
    rows_of("sklearn.tree._classes:BaseDecisionTree").check_made(SimpleNamespace(n_outputs_=9))  # not fitted
    refuses(lambda: rows_of("sklearn.tree._classes:BaseDecisionTree").check_made(estimator(**parts)), message)


def test_a_forest_has_trees_of_its_features() -> None:
    check = rows_of("sklearn.ensemble._forest:BaseForest").check_made
    check(SimpleNamespace())  # not fitted
    check(SimpleNamespace(estimators_=[estimator(), estimator()], n_features_in_=2, n_outputs_=1))
    trees = [estimator(), estimator(tree_=tree(n_features=3))]
    refuses(
        lambda: check(SimpleNamespace(estimators_=trees, n_features_in_=2, n_outputs_=1)),
        "n_features_in_ is 2, expected 3",
    )
    refuses(
        lambda: check(SimpleNamespace(estimators_={}, n_features_in_=2)), "estimators_ is a dict, not a list"
    )
    refuses(
        lambda: check(SimpleNamespace(estimators_=[SimpleNamespace()], n_features_in_=2)),
        "a SimpleNamespace is no decision tree that was fitted",
    )


LISTS = "estimators_ and estimators_features_ are of lengths 1 and 2"
ISOLATED: dict[str, tuple[dict[str, Any], str]] = {
    "trees in a dict": ({"estimators_": {}}, "estimators_ is a dict, not a list"),
    "more columns": ({"estimators_features_": [np.array([0, 1])] * 2}, LISTS),
    "no features": ({"n_features_in_": 0}, "_max_features is 2, not an int from 1 to 0"),
    "no features used": ({"_max_features": 0}, "_max_features is 0, not an int from 1 to 3"),
    "more features used": ({"_max_features": 4}, "_max_features is 4, not an int from 1 to 3"),
    "another number used": ({"_max_features": 3}, "n_features_in_ is 3, expected 2"),
    "fewer columns": (
        {"estimators_features_": [np.array([0])]},
        "estimators_features_ has shape [1], expected [2]",
    ),
    "columns that are floats": (
        {"estimators_features_": [np.array([0.0, 1.0])]},
        "estimators_features_ has dtype float64, expected a kind of 'iu'",
    ),
    "a column behind": (
        {"estimators_features_": [np.array([0, 3])]},
        "estimators_features_ has values from 0 to 3, expected 0 to 2",
    ),
}
ISOLATION = SimpleNamespace(
    estimators_=[estimator()], estimators_features_=[np.array([2, 0])], n_features_in_=3, _max_features=2
)


@pytest.mark.parametrize(("parts", "message"), ISOLATED.values(), ids=ISOLATED.keys())
def test_an_isolation_forest_hands_out_columns_that_there_are(parts: dict[str, Any], message: str) -> None:
    check = rows_of("sklearn.ensemble._iforest:IsolationForest").check_made
    check(ISOLATION)
    check(SimpleNamespace(_max_features=0))  # not fitted
    refuses(lambda: check(changed(ISOLATION, parts)), message)


def table(*rows: list[Any]) -> Any:
    made = np.empty((len(rows), len(rows[0]) if rows else 0), object)
    for at, row in enumerate(rows):
        made[at, :] = row
    return made


def first_guess(**parts: Any) -> Any:
    kind = type("DummyClassifier", (), {"__module__": "sklearn.dummy"})
    made = kind()
    vars(made).update({"n_classes_": 3, "n_outputs_": 1, "class_prior_": np.ones(3) / 3, **parts})
    return made


_BOOSTED = "sklearn.ensemble._gb:BaseGradientBoosting"
BOOSTED = SimpleNamespace(
    estimators_=table([estimator()] * 3),
    classes_=np.arange(3),
    n_trees_per_iteration_=3,
    n_features_in_=2,
    init_=first_guess(),
)
GUESS = "and whether it predicts 3 classes cannot be seen; expected 'zero' or a DummyClassifier"
BOOSTERS: dict[str, tuple[dict[str, Any], str]] = {
    "a list": ({"estimators_": []}, "estimators_ is a list, not an array"),
    "one axis": (
        {"estimators_": BOOSTED.estimators_[0]},
        "estimators_ has shape [3], expected [any, any]",
    ),
    "no trees": ({"estimators_": table()}, "len(estimators_) is 0, expected more than 0"),
    "a wider table": ({"n_trees_per_iteration_": 4}, "n_trees_per_iteration_ is 4, expected 3"),
    "other features": ({"n_features_in_": 3}, "n_features_in_ is 3, expected 2"),
    "trees of two outputs": (
        {"estimators_": table([estimator(tree_=tree(n_outputs=2))] * 3)},
        "tree_outputs(tree) is 2, expected 1",
    ),
    "another guess": ({"init_": "one"}, f"init_ is a builtins:str, {GUESS}"),
    "fewer classes": ({"classes_": np.arange(2)}, "width(estimators_) is 3, expected 1"),
    "a guess of fewer classes": (
        {"init_": first_guess(n_classes_=2)},
        "n_classes_ of init_ is 2, expected 3",
    ),
    "a guess of two outputs": ({"init_": first_guess(n_outputs_=2)}, "n_outputs_ of init_ is 2, expected 1"),
    "a guess without chances": (
        {"init_": first_guess(class_prior_=None)},
        "class_prior_ of init_ is a NoneType, not an array",
    ),
    "a guess of three chances": (
        {"init_": first_guess(class_prior_=np.ones(2))},
        "class_prior_ of init_ has shape [2], expected [3]",
    ),
}


@pytest.mark.parametrize(("parts", "message"), BOOSTERS.values(), ids=BOOSTERS.keys())
def test_a_boosted_model_is_as_wide_as_its_table(parts: dict[str, Any], message: str) -> None:
    refuses(lambda: rows_of(_BOOSTED).check_made(changed(BOOSTED, parts)), message)


def test_a_boosted_model_that_fits_passes() -> None:
    check = rows_of(_BOOSTED).check_made
    check(SimpleNamespace())
    check(BOOSTED)
    check(changed(BOOSTED, {"init_": "zero"}))
    narrow = {
        "classes_": np.arange(2),
        "estimators_": table([estimator()], [estimator()]),
        "n_trees_per_iteration_": 1,
        "init_": None,
    }
    check(changed(BOOSTED, narrow))  # one column: whatever predictions start from has one, too
    check(changed(BOOSTED, {**narrow, "estimators_": table([estimator()])}))


# --- histograms ---

FIELDS = [
    ("left", "<u4"),
    ("right", "<u4"),
    ("is_leaf", "u1"),
    ("feature_idx", "<i8"),
    ("is_categorical", "u1"),
    ("bitset_idx", "<u4"),
]
SETS = np.zeros((1, 8), np.uint32)


def predictor(sets: dict[str, Any] | None = None, **fields: dict[int, Any]) -> Any:
    """A root that asks feature 1, a leaf, and a node that asks feature 0 with two leaves below."""
    rows = [
        (1, 2, 0, 1, 0, 0),
        (0, 0, 1, 0, 0, 0),
        (3, 4, 0, 0, 0, 0),
        (0, 0, 1, 0, 0, 0),
        (0, 0, 1, 0, 0, 0),
    ]
    nodes = np.array(rows, FIELDS)
    for name, values in fields.items():
        for at, value in values.items():
            nodes[name][at] = value
    both = {"raw_left_cat_bitsets": SETS, "binned_left_cat_bitsets": SETS}
    return SimpleNamespace(nodes=nodes, **{**both, **(sets or {})})


PREDICTORS: dict[str, tuple[Any, str]] = {
    "no nodes": (SimpleNamespace(nodes=predictor().nodes[:0]), "nodes is empty"),
    "nodes of two axes": (
        SimpleNamespace(nodes=predictor().nodes[None]),
        "nodes has shape [1, 5], expected [any]",
    ),
    "a child of two": (predictor(left={2: 4}), ONE_AND_TWO),
    "a feature before": (
        predictor(feature_idx={0: -1}),
        f"feature_idx has values from -1 to 0, expected 0 to {FAR - 1}",
    ),
    "a feature without end": (
        predictor(feature_idx={0: FAR}),
        f"feature_idx has values from 0 to {FAR}, expected 0 to {FAR - 1}",
    ),
    "a set behind": (
        predictor(is_categorical={0: 1}, bitset_idx={0: 1}),
        "bitset_idx has values from 1 to 1, expected 0 to 0",
    ),
    "a set behind of the binned ones": (
        predictor({"raw_left_cat_bitsets": np.r_[SETS, SETS]}, is_categorical={0: 1}, bitset_idx={0: 1}),
        "bitset_idx has values from 1 to 1, expected 0 to 0",
    ),
    "no raw sets": (
        predictor({"raw_left_cat_bitsets": None}),
        "raw_left_cat_bitsets is a NoneType, not an array",
    ),
    "short sets": (
        predictor({"binned_left_cat_bitsets": SETS[:, :7]}),
        "binned_left_cat_bitsets has shape [1, 7], expected [any, 8]",
    ),
    "sets of wide words": (
        predictor({"binned_left_cat_bitsets": SETS.astype(np.uint64)}),
        "binned_left_cat_bitsets has dtype uint64, expected uint32",
    ),
}


@pytest.mark.parametrize(("made", "message"), PREDICTORS.values(), ids=PREDICTORS.keys())
def test_a_predictor_asks_for_sets_that_there_are(made: Any, message: str) -> None:
    refuses(lambda: PredictorCheck().check_made(made), message)


def test_predictors_that_fit_pass() -> None:
    only = SimpleNamespace(**{**vars(predictor()), "nodes": predictor().nodes[1:2]})
    for made in (predictor(), predictor(feature_idx={0: FAR - 1}), only):
        PredictorCheck().check_made(made)
    PredictorCheck().check_made(predictor(is_categorical={0: 1}))
    # What a leaf says is not followed.
    PredictorCheck().check_made(predictor(is_categorical={1: 1}, bitset_idx={1: 9}, feature_idx={1: -1}))


def histogram(*predictors: Any, **parts: Any) -> Any:
    mapper = SimpleNamespace(is_categorical_=np.array([True, False]))
    made = SimpleNamespace(_n_features=2, _bin_mapper=mapper, _predictors=[[one] for one in predictors])
    return changed(made, parts)


FLOATS = [(name, "<f8" if name == "feature_idx" else kind) for name, kind in FIELDS]
CATEGORIES = "a node asks for categories of a feature that has none"
HISTOGRAMS: dict[str, tuple[Any, str]] = {
    "no features": (histogram(_n_features=0), f"_n_features is 0, not an int from 1 to {FAR - 1}"),
    "a feature more": (histogram(_n_features=3), "is_categorical_ has shape [2], expected [3]"),
    "no mapper": (histogram(_bin_mapper=None), "is_categorical_ is a NoneType, not an array"),
    "a tuple of rows": (histogram(_predictors=()), "_predictors are no lists"),
    "rows that are tuples": (histogram(_predictors=[(predictor(),)]), "_predictors are no lists"),
    "a row among others": (histogram(_predictors=[[predictor()], ()]), "_predictors are no lists"),
    "another object": (histogram({}), OTHER),
    "a feature behind": (
        histogram(predictor(feature_idx={0: 2})),
        "feature_idx has values from 0 to 2, expected 0 to 1",
    ),
    "categories of numbers": (histogram(predictor(is_categorical={0: 1})), CATEGORIES),
    "categories of the last": (histogram(predictor(), predictor(is_categorical={0: 1})), CATEGORIES),
    "features of floats": (
        histogram(SimpleNamespace(nodes=predictor().nodes.astype(FLOATS))),
        "feature_idx of nodes is no integer",
    ),
}


@pytest.mark.parametrize(("made", "message"), HISTOGRAMS.values(), ids=HISTOGRAMS.keys())
def test_a_histogram_model_has_the_features_of_its_predictors(made: Any, message: str) -> None:
    refuses(lambda: HistogramBoostingCheck().check_made(made), message)


def test_histogram_models_that_fit_pass() -> None:
    check = HistogramBoostingCheck().check_made
    check(SimpleNamespace(_n_features=0))  # not fitted
    check(histogram())
    check(histogram(predictor(), predictor(is_categorical={2: 1})))
    one = SimpleNamespace(is_categorical_=np.array([0], np.uint8))
    check(histogram(predictor(feature_idx={0: 0}), _n_features=1, _bin_mapper=one))
    check(histogram(predictor(is_categorical={1: 1}, feature_idx={1: 9})))  # a leaf asks nothing


def test_the_words_of_sets_are_those_of_scikit_learn() -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import X_BITSET_INNER_DTYPE

    assert c_state._BITSET_WORDS * np.dtype(X_BITSET_INNER_DTYPE).itemsize * 8 == 256
