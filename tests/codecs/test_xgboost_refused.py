"""Models of XGBoost in which one thing is another: each is refused before the library reads it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from packager._libraries.xgboost.model import check_model
from tests.tables import one_test


def tree() -> dict[str, Any]:
    """A root that asks for a category, and a node that asks for a number."""
    return {
        "id": 0,
        "tree_param": {"num_nodes": "5", "num_deleted": "0", "size_leaf_vector": "1", "num_feature": "2"},
        "left_children": [1, -1, 3, -1, -1],
        "right_children": [2, -1, 4, -1, -1],
        "parents": [2147483647, 0, 0, 2, 2],
        "split_indices": [0, 0, 1, 0, 0],
        "split_type": [1, 0, 0, 0, 0],
        "default_left": [0, 0, 1, 0, 0],
        "split_conditions": [0, 1, 2, 3, 4],
        "loss_changes": [*[0] * 5],
        "sum_hessian": [*[1] * 5],
        "base_weights": [*[0] * 5],
        "categories": [0, 3],
        "categories_nodes": [0],
        "categories_segments": [0],
        "categories_sizes": [2],
    }


def vectors() -> dict[str, Any]:
    """A tree whose leaves are vectors of two."""
    return {
        **tree(),
        "tree_param": {"num_nodes": "3", "num_deleted": "0", "size_leaf_vector": "2", "num_feature": "2"},
        "left_children": [1, -1, -1],
        "right_children": [2, 0, 1],
        "parents": [-1, 0, 0],
        "split_indices": [1, 0, 0],
        "split_type": [0, 0, 0],
        "default_left": [0, 0, 0],
        **{name: [0, 0, 0] for name in ("split_conditions", "loss_changes", "sum_hessian")},
        "base_weights": [*[0] * 6],
        "leaf_weights": [1, 2, 3, 4],
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }


def gbtree(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "gbtree",
        "model": {
            "gbtree_model_param": {"num_trees": "1", "num_parallel_tree": "1"},
            "trees": [one],
            "tree_info": [0],
            "iteration_indptr": [0, 1],
            "cats": {
                "enc": [
                    {"offsets": [0, 1, 2], "values": [*b"ab"]},
                    {"offsets": [], "values": []},
                ],
                "feature_segments": [0, 2, 2],
                "sorted_idx": [1, 0],
            },
        },
    }


def model(booster: Any = None, targets: int = 1) -> dict[str, Any]:
    return {
        "version": [3, 2, 0],
        "learner": {
            "attributes": {"best_iteration": "1"},
            "feature_names": ["a", "b"],
            "feature_types": ["c", "float"],
            "gradient_booster": gbtree(tree()) if booster is None else booster,
            "learner_model_param": {
                "base_score": "[5E-1]",
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": "2",
                "num_target": str(targets),
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
    }


LINEAR = {"name": "gblinear", "model": {"boosted_rounds": 2, "weights": [1, 2, 3]}}
DROPPING = {"name": "dart", "gbtree": gbtree(tree()), "weight_drop": [1]}
HONEST = {
    "trees": model(),
    "linear": model(LINEAR),
    "dropping out": model(DROPPING),
    "vectors": model(gbtree(vectors()), targets=2),
}

_TREE = ("learner", "gradient_booster", "model", "trees", 0)
_MODEL = _TREE[:3]
_PARAMETERS = ("learner", "learner_model_param")


def at(*path: Any, to: Any, of: str = "trees") -> Callable[[], Any]:
    """A model in which one value is another; `...` leaves it out."""

    def make() -> Any:
        made = copy.deepcopy(HONEST[of])
        holder = made
        for step in path[:-1]:
            holder = holder[step]
        if to is ...:
            del holder[path[-1]]
        else:
            holder[path[-1]] = to
        return made

    return make


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no model": (list, "expected an object as model, found list"),
    "something more": (at("more", to=1), "no other fields in model, found more"),
    "an odd version": (at("version", to=["3"]), "ints as version of model"),
    "a name more": (at("learner", "feature_names", to=["a", "b", "c"]), "2 texts as feature_names"),
    "an attribute that is no text": (
        at("learner", "attributes", "best_iteration", to=1),
        "texts as attributes",
    ),
    "features of a text": (at(*_PARAMETERS, "num_feature", to="x"), "as num_feature, found x"),
    "too many features": (at(*_PARAMETERS, "num_feature", to=str(1 << 27)), "as num_feature"),
    "fewer features": (at(*_PARAMETERS, "num_feature", to="1"), "1 texts as feature_names"),
    "classes and targets": (lambda: _with(num_class="3", num_target="2"), "classes or targets, not both"),
    "two scores": (at(*_PARAMETERS, "base_score", to="[1,2]"), "1 or 1 numbers as base_score"),
    "no score": (at(*_PARAMETERS, "base_score", to="x"), "numbers as base_score"),
    "classes of an objective": (at("learner", "objective", "name", to="multi:softprob"), "texts as softmax"),
    "classes of none": (
        at("learner", "objective", "softmax_multiclass_param", to={"num_class": "9"}),
        "no classes of this",
    ),
    "an odd objective": (at("learner", "objective", "name", to="a b"), "the name of an objective"),
    "quantiles of none": (
        at("learner", "objective", "quantile_loss_param", to={}),
        "no quantiles of this objective",
    ),
    "an unknown booster": (at(*_MODEL[:2], "name", to="tree"), "one of gbtree, dart, gblinear"),
    "another number of trees": (
        at(*_MODEL, "gbtree_model_param", "num_trees", to="2"),
        "2 trees",
    ),
    "a tree of no class": (at(*_MODEL, "tree_info", to=[1]), "tree_info of model from 0 to 0"),
    "iterations behind": (at(*_MODEL, "iteration_indptr", to=[0, 2]), "iteration_indptr from 0 to 1"),
    "iterations that fall": (at(*_MODEL, "iteration_indptr", to=[0, 2, 1]), "iteration_indptr from 0 to 1"),
    "no iterations": (
        at(*_MODEL, "iteration_indptr", to=[]),
        "iteration_indptr that grow from 0 to 1, found []",
    ),
    "another number of a tree": (at(*_TREE, "id", to=1), "0 as the id of trees[0]"),
    "more nodes": (
        at(*_TREE, "tree_param", "num_nodes", to="6"),
        "6 numbers as loss_changes of trees[0], found 5",
    ),
    "no nodes": (at(*_TREE, "tree_param", "num_nodes", to="0"), "from 1 to"),
    "an array of another kind": (
        at(*_TREE, "left_children", to=[1.0, -1, 3, -1, -1]),
        "ints as left_children of trees[0]",
    ),
    "a root like others": (
        at(*_TREE, "parents", to=[0, 0, 0, 2, 2]),
        "no parent of the root of trees[0], found 0",
    ),
    "a child behind": (
        at(*_TREE, "left_children", to=[5, -1, 3, -1, -1]),
        "left_children of trees[0] from -1 to 4, found [5",
    ),
    "a child before": (
        at(*_TREE, "right_children", to=[-2, -1, 4, -1, -1]),
        "right_children of trees[0] from -1 to 4, found [-2",
    ),
    "a circle": (
        at(*_TREE, "left_children", to=[1, -1, 0, -1, -1]),
        "children of trees[0] has values from 0 to 4",
    ),
    "a node met twice": (
        at(*_TREE, "left_children", to=[1, -1, 1, -1, -1]),
        "two children of each node of trees[0], as parents say",
    ),
    "half a node": (
        at(*_TREE, "right_children", to=[2, -1, -1, -1, -1]),
        "children of trees[0] has values from -1 to 3",
    ),
    "a leaf with a child": (
        at(*_TREE, "right_children", to=[2, 4, 4, -1, -1]),
        "leaves of trees[0] without children",
    ),
    "another parent": (
        at(*_TREE, "parents", to=[2147483647, 0, 0, 2, 4]),
        "two children of each node of trees[0], as parents say",
    ),
    "a root with a parent": (at(*_TREE, "parents", to=[4, 0, 0, 2, 2]), "no parent of the root"),
    "a feature behind": (
        at(*_TREE, "split_indices", to=[0, 0, 2, 0, 0]),
        "split_indices of trees[0] has values from 0 to 2",
    ),
    "a feature before": (
        at(*_TREE, "split_indices", to=[0, 0, -1, 0, 0]),
        "split_indices of trees[0] from 0",
    ),
    "a deleted node that is met": (
        at(*_TREE, "split_indices", to=[0, 0, 2147483647, 0, 0]),
        "that are deleted",
    ),
    "a node that is not met": (
        at(*_TREE, "left_children", to=[1, -1, -1, -1, -1]),
        "leaves of trees[0] without",
    ),
    "deleted nodes that are none": (
        at(*_TREE, "tree_param", "num_deleted", to="1"),
        "1 nodes of trees[0] that are deleted",
    ),
    "an odd kind of split": (at(*_TREE, "split_type", to=[2, 0, 0, 0, 0]), "split_type of trees[0]"),
    "a set of nothing": (at(*_TREE, "split_type", to=[1, 0, 1, 0, 0]), "a set for each node of trees[0]"),
    "a leaf with a set": (
        at(*_TREE, "split_type", to=[1, 1, 0, 0, 0]),
        "nodes of trees[0] that ask for categories",
    ),
    "a set behind": (
        at(*_TREE, "categories_sizes", to=[3]),
        "categories_sizes of trees[0] from 1 to 2, found [3]",
    ),
    "a set before": (
        at(*_TREE, "categories_segments", to=[-1]),
        "categories_segments of trees[0] from 0 to 2, found [-1]",
    ),
    "an empty set": (
        at(*_TREE, "categories_sizes", to=[0]),
        "categories_sizes of trees[0] from 1 to 2, found [0]",
    ),
    "a category behind": (at(*_TREE, "categories", to=[0, 1 << 24]), "categories of trees[0] from 0"),
    "a category before": (at(*_TREE, "categories", to=[-1, 3]), "categories of trees[0] from 0"),
    "fewer weights": (at(*_TREE, "base_weights", to=[0]), "5 numbers as base_weights of trees[0], found 1"),
    "vectors of one": (
        at(*_TREE, "leaf_weights", to=[0]),
        "leaf_weights of trees[0] where leaves are vectors",
    ),
    "vectors of three": (
        at(*_TREE, "tree_param", "size_leaf_vector", to="3", of="vectors"),
        "leaves of 1 or 2 values in trees[0], found 3",
    ),
    "a leaf outside its vectors": (
        at(*_TREE, "right_children", to=[2, 0, 2], of="vectors"),
        "leaves of trees[0] has values from 0 to 2",
    ),
    "fewer vectors": (
        at(*_TREE, "leaf_weights", to=[1, 2], of="vectors"),
        "all leaf_weights of trees[0]",
    ),
    "fewer weights of a line": (
        at(*_MODEL, "weights", to=[1], of="linear"),
        "3 numbers as weights of model, found 1",
    ),
    "fewer drops": (at(*_MODEL[:2], "weight_drop", to=[], of="dropping out"), "1 numbers as weight_drop"),
    "columns of others": (
        at(*_MODEL, "cats", "enc", to=[]),
        "0 numbers as feature_segments of cats, found 3",
    ),
    "names that overlap": (
        at(*_MODEL, "cats", "enc", 0, "offsets", to=[0, 3, 2]),
        "offsets of enc[0] from 0 to 2",
    ),
    "names behind": (at(*_MODEL, "cats", "enc", 0, "offsets", to=[0, 1, 9]), "offsets of enc[0] from 0 to 2"),
    "segments of others": (
        at(*_MODEL, "cats", "feature_segments", to=[0, 1, 2]),
        "feature_segments as there are",
    ),
    "an order of others": (at(*_MODEL, "cats", "sorted_idx", to=[0, 2]), "sorted_idx that orders"),
    "a longer order": (at(*_MODEL, "cats", "sorted_idx", to=[0, 1, 2]), "2 numbers as sorted_idx"),
}


def _with(**parameters: str) -> Any:
    made = copy.deepcopy(HONEST["trees"])
    made["learner"]["learner_model_param"].update(parameters)
    return made


@one_test
@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_a_model_in_which_one_thing_is_another_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_model(make())


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_model_passes(name: str) -> None:
    check_model(HONEST[name])


def test_deleted_nodes_lead_to_nodes_that_are_met() -> None:
    pruned = tree()
    pruned["tree_param"]["num_deleted"] = "2"
    pruned["left_children"] = [1, -1, -1, -1, -1]
    pruned["right_children"] = [2, -1, -1, -1, -1]
    pruned["split_indices"] = [0, 0, 0, 2147483647, 2147483647]
    check_model(model(gbtree(pruned)))
    pruned["parents"] = [2147483647, 0, 0, 4, 3]
    with pytest.raises(ValueError, match=r"parents of trees\[0\] that lead to its root"):
        check_model(model(gbtree(pruned)))


def test_sets_of_categories_take_no_more_room_than_is_paid_for() -> None:
    greedy = tree()
    count = 65_535
    inner = count // 2
    greedy["tree_param"]["num_nodes"] = str(count)
    numbers = range(count)
    greedy["left_children"] = [2 * at + 1 if at < inner else -1 for at in numbers]
    greedy["right_children"] = [2 * at + 2 if at < inner else -1 for at in numbers]
    greedy["parents"] = [2147483647, *((at - 1) // 2 for at in numbers[1:])]
    greedy["split_type"] = [int(at < inner) for at in numbers]
    for name in ("split_indices", "default_left"):
        greedy[name] = [0] * count
    for name in ("split_conditions", "loss_changes", "sum_hessian", "base_weights"):
        greedy[name] = [0.0] * count
    greedy["categories"] = [(1 << 24) - 1] * inner
    greedy["categories_nodes"] = greedy["categories_segments"] = [*range(inner)]
    greedy["categories_sizes"] = [1] * inner
    with pytest.raises(ValueError, match="sets of categories of at most"):
        check_model(model(gbtree(greedy)))
