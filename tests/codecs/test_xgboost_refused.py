"""Models of XGBoost in which one thing is another: each is refused before the library reads it."""

from __future__ import annotations

import copy
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from packager.libraries.xgboost.model import check_model
from packager.libraries.xgboost.ubjson import MAX_DEPTH, parsed_ubjson
from tests.tables import one_test


def i4(*values: int) -> Any:
    return np.array(values, ">i4")


def f4(*values: float) -> Any:
    return np.array(values, ">f4")


def u1(*values: int) -> Any:
    return np.array(values, ">u1")


def i8(*values: int) -> Any:
    return np.array(values, ">i8")


def tree() -> dict[str, Any]:
    """A root that asks for a category, and a node that asks for a number."""
    return {
        "id": 0,
        "tree_param": {"num_nodes": "5", "num_deleted": "0", "size_leaf_vector": "1", "num_feature": "2"},
        "left_children": i4(1, -1, 3, -1, -1),
        "right_children": i4(2, -1, 4, -1, -1),
        "parents": i4(2147483647, 0, 0, 2, 2),
        "split_indices": i4(0, 0, 1, 0, 0),
        "split_type": u1(1, 0, 0, 0, 0),
        "default_left": u1(0, 0, 1, 0, 0),
        "split_conditions": f4(0, 1, 2, 3, 4),
        "loss_changes": f4(*[0] * 5),
        "sum_hessian": f4(*[1] * 5),
        "base_weights": f4(*[0] * 5),
        "categories": i4(0, 3),
        "categories_nodes": i4(0),
        "categories_segments": i8(0),
        "categories_sizes": i8(2),
    }


def vectors() -> dict[str, Any]:
    """A tree whose leaves are vectors of two."""
    return {
        **tree(),
        "tree_param": {"num_nodes": "3", "num_deleted": "0", "size_leaf_vector": "2", "num_feature": "2"},
        "left_children": i4(1, -1, -1),
        "right_children": i4(2, 0, 1),
        "parents": i4(-1, 0, 0),
        "split_indices": i4(1, 0, 0),
        "split_type": u1(0, 0, 0),
        "default_left": u1(0, 0, 0),
        **{name: f4(0, 0, 0) for name in ("split_conditions", "loss_changes", "sum_hessian")},
        "base_weights": f4(*[0] * 6),
        "leaf_weights": f4(1, 2, 3, 4),
        "categories": i4(),
        "categories_nodes": i4(),
        "categories_segments": i8(),
        "categories_sizes": i8(),
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
                    {"offsets": i4(0, 1, 2), "values": np.frombuffer(b"ab", ">i1")},
                    {"offsets": i4(), "values": np.zeros(0, ">i1")},
                ],
                "feature_segments": i4(0, 2, 2),
                "sorted_idx": i4(1, 0),
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


LINEAR = {"name": "gblinear", "model": {"boosted_rounds": 2, "weights": f4(1, 2, 3)}}
DROPPING = {"name": "dart", "gbtree": gbtree(tree()), "weight_drop": f4(1)}
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
    "an odd version": (at("version", to=["3"]), "a version"),
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
        "2 trees, and as many",
    ),
    "a tree of no class": (at(*_MODEL, "tree_info", to=[1]), "tree_info from 0 to 0"),
    "iterations behind": (at(*_MODEL, "iteration_indptr", to=[0, 2]), "iteration_indptr from 0 to 1"),
    "iterations that fall": (at(*_MODEL, "iteration_indptr", to=[0, 2, 1]), "iteration_indptr from 0 to 1"),
    "no iterations": (at(*_MODEL, "iteration_indptr", to=[]), "iteration_indptr from 0 to 1"),
    "another number of a tree": (at(*_TREE, "id", to=1), "0 as the id of trees[0]"),
    "more nodes": (at(*_TREE, "tree_param", "num_nodes", to="6"), "6 numbers (u1) as default_left"),
    "no nodes": (at(*_TREE, "tree_param", "num_nodes", to="0"), "from 1 to"),
    "an array of another kind": (
        at(*_TREE, "left_children", to=i8(1, -1, 3, -1, -1)),
        "5 numbers (i4) as left_children",
    ),
    "a list for an array": (at(*_TREE, "parents", to=[0, 0, 0, 2, 2]), "5 numbers (i4) as parents"),
    "a child behind": (
        at(*_TREE, "left_children", to=i4(5, -1, 3, -1, -1)),
        "left_children of trees[0] from -1 to 5",
    ),
    "a child before": (
        at(*_TREE, "right_children", to=i4(-2, -1, 4, -1, -1)),
        "right_children of trees[0] from -2",
    ),
    "a circle": (at(*_TREE, "left_children", to=i4(1, -1, 0, -1, -1)), "two children of each node"),
    "a node met twice": (at(*_TREE, "left_children", to=i4(1, -1, 1, -1, -1)), "parents in trees[0]"),
    "half a node": (at(*_TREE, "right_children", to=i4(2, -1, -1, -1, -1)), "two children of each node"),
    "a leaf with a child": (
        at(*_TREE, "right_children", to=i4(2, 4, 4, -1, -1)),
        "leaves of trees[0] without children",
    ),
    "another parent": (at(*_TREE, "parents", to=i4(2147483647, 0, 0, 2, 4)), "parents in trees[0]"),
    "a root with a parent": (at(*_TREE, "parents", to=i4(4, 0, 0, 2, 2)), "no parent of the root"),
    "a feature behind": (
        at(*_TREE, "split_indices", to=i4(0, 0, 2, 0, 0)),
        "split_indices of trees[0] from 0 to 2",
    ),
    "a feature before": (
        at(*_TREE, "split_indices", to=i4(0, 0, -1, 0, 0)),
        "split_indices of trees[0] from -1",
    ),
    "a deleted node that is met": (
        at(*_TREE, "split_indices", to=i4(0, 0, 2147483647, 0, 0)),
        "that are deleted",
    ),
    "a node that is not met": (
        at(*_TREE, "left_children", to=i4(1, -1, -1, -1, -1)),
        "leaves of trees[0] without",
    ),
    "deleted nodes that are none": (
        at(*_TREE, "tree_param", "num_deleted", to="1"),
        "1 nodes of trees[0] that are deleted",
    ),
    "an odd kind of split": (at(*_TREE, "split_type", to=u1(2, 0, 0, 0, 0)), "split_type of trees[0]"),
    "a set of nothing": (at(*_TREE, "split_type", to=u1(1, 0, 1, 0, 0)), "a set for each node of trees[0]"),
    "a leaf with a set": (at(*_TREE, "split_type", to=u1(1, 1, 0, 0, 0)), "a set for each node of trees[0]"),
    "a set behind": (at(*_TREE, "categories_sizes", to=i8(3)), "segments that divide categories"),
    "a set before": (at(*_TREE, "categories_segments", to=i8(-1)), "segments that divide categories"),
    "an empty set": (at(*_TREE, "categories_sizes", to=i8(0)), "segments that divide categories"),
    "a category behind": (at(*_TREE, "categories", to=i4(0, 1 << 24)), "categories of trees[0] from 0"),
    "a category before": (at(*_TREE, "categories", to=i4(-1, 3)), "categories of trees[0] from -1"),
    "fewer weights": (at(*_TREE, "base_weights", to=f4(0)), "5 numbers (f4) as base_weights"),
    "vectors of one": (
        at(*_TREE, "leaf_weights", to=f4(0)),
        "leaf_weights of trees[0] where leaves are vectors",
    ),
    "vectors of three": (
        at(*_TREE, "tree_param", "size_leaf_vector", to="3", of="vectors"),
        "leaves of 1 or 2 values in trees[0], found 3",
    ),
    "a leaf outside its vectors": (
        at(*_TREE, "right_children", to=i4(2, 0, 2), of="vectors"),
        "inside leaf_weights",
    ),
    "fewer vectors": (
        at(*_TREE, "leaf_weights", to=f4(1, 2), of="vectors"),
        "4 numbers (f4) as leaf_weights",
    ),
    "fewer weights of a line": (at(*_MODEL, "weights", to=f4(1), of="linear"), "3 weights, found 1"),
    "fewer drops": (at(*_MODEL[:2], "weight_drop", to=f4(), of="dropping out"), "1 numbers as weight_drop"),
    "columns of others": (at(*_MODEL, "cats", "enc", to=[]), "feature_segments as there are names"),
    "names that overlap": (
        at(*_MODEL, "cats", "enc", 0, "offsets", to=i4(0, 3, 2)),
        "offsets of names in enc[0]",
    ),
    "names behind": (at(*_MODEL, "cats", "enc", 0, "offsets", to=i4(0, 1, 9)), "offsets of names in enc[0]"),
    "segments of others": (
        at(*_MODEL, "cats", "feature_segments", to=i4(0, 1, 2)),
        "feature_segments as there are",
    ),
    "an order of others": (at(*_MODEL, "cats", "sorted_idx", to=i4(0, 2)), "sorted_idx that orders"),
    "a longer order": (at(*_MODEL, "cats", "sorted_idx", to=i4(0, 1, 2)), "2 numbers as sorted_idx"),
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
    pruned["left_children"] = i4(1, -1, -1, -1, -1)
    pruned["right_children"] = i4(2, -1, -1, -1, -1)
    pruned["split_indices"] = i4(0, 0, 0, 2147483647, 2147483647)
    check_model(model(gbtree(pruned)))
    pruned["parents"] = i4(2147483647, 0, 0, 4, 3)
    with pytest.raises(ValueError, match=r"parents of deleted nodes in trees\[0\] that end"):
        check_model(model(gbtree(pruned)))


def test_sets_of_categories_take_no_more_room_than_is_paid_for() -> None:
    greedy = tree()
    count = 65_535
    inner = count // 2
    greedy["tree_param"]["num_nodes"] = str(count)
    numbers = np.arange(count)
    greedy["left_children"] = np.where(numbers < inner, 2 * numbers + 1, -1).astype(">i4")
    greedy["right_children"] = np.where(numbers < inner, 2 * numbers + 2, -1).astype(">i4")
    greedy["parents"] = np.where(numbers > 0, (numbers - 1) // 2, 2147483647).astype(">i4")
    greedy["split_type"] = (numbers < inner).astype(">u1")
    for name in ("split_indices", "default_left"):
        greedy[name] = np.zeros(count, greedy[name].dtype)
    for name in ("split_conditions", "loss_changes", "sum_hessian", "base_weights"):
        greedy[name] = np.zeros(count, ">f4")
    greedy["categories"] = np.full(inner, (1 << 24) - 1, ">i4")
    greedy["categories_nodes"] = np.arange(inner).astype(">i4")
    greedy["categories_segments"] = np.arange(inner).astype(">i8")
    greedy["categories_sizes"] = np.ones(inner, ">i8")
    with pytest.raises(ValueError, match="sets of categories of at most"):
        check_model(model(gbtree(greedy)))


# --- the bytes ---


def length(count: int) -> bytes:
    return b"L" + struct.pack(">q", count)


BYTES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "1 more bytes at byte 0, found 0"),
    "an unknown mark": (b"Q", "a value of UBJSON at byte 0, found 'Q'"),
    "more behind": (b"ZZ", "nothing behind the value, found 1 bytes"),
    "half a number": (b"l\0\0", "4 more bytes"),
    "a length of another kind": (b"Si\1a", "a length of 64 bits at byte 1"),
    "a length below zero": (b"S" + length(-1), "a length from 0"),
    "a text that is too short": (b"S" + length(3) + b"ab", "3 more bytes"),
    "a text with a NUL": (b"S" + length(1) + b"\0", "a text without NUL"),
    "a text of no letters": (b"S" + length(1) + b"\xff", "utf-8"),
    "an open object": (b"{" + length(1) + b"aZ", "1 more bytes"),
    "a name twice": (b"{" + 2 * (length(1) + b"aZ") + b"}", "each name of an object once, found a"),
    "an array without a length": (b"[ZZ]", "the length of an array"),
    "an array of texts": (b"[$S#" + length(0), "an array of numbers"),
    "an array that is too long": (b"[$l#" + length(1 << 30), "more bytes"),
    "more elements than bytes": (b"[#" + length(9) + b"Z", "as many elements as there are bytes, found 9"),
    "too deep": (b"[#" + length(1) + (b"[#" + length(1)) * (MAX_DEPTH + 1) + b"Z", "nested at most 12 deep"),
}


@one_test
@pytest.mark.parametrize(("data", "message"), BYTES.values(), ids=BYTES)
def test_bytes_that_are_no_ubjson_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parsed_ubjson(memoryview(data))


def test_values_of_ubjson_are_plain_types_and_arrays() -> None:
    data = b"{" + length(1) + b"a[#" + length(6) + b"ZTFi\xffS" + length(1) + b"xD" + struct.pack(">d", 1.5)
    data += length(1) + b"b[$d#" + length(2) + struct.pack(">ff", 1, -2) + b"}"
    found = parsed_ubjson(memoryview(data))
    assert found["a"] == [None, True, False, -1, "x", 1.5]
    assert found["b"].tolist() == [1.0, -2.0]
