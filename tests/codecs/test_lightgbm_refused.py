"""Texts of LightGBM models in which one thing is another: each is refused before the library reads it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from packager._libraries.lightgbm.text import check_model
from tests.tables import one_test

TREE = """Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
split_gain=4.5 3
threshold=0 0.5
decision_type=9 2
left_child=-1 -2
right_child=1 -3
leaf_value=0.5 -1e-05 2
leaf_weight=1 2 3
leaf_count=1 2 3
internal_value=0 0.25
internal_weight=6 5
internal_count=6 5
cat_boundaries=0 2
cat_threshold=5 4294967295
is_linear=0
shrinkage=0.1


"""
LINEAR = TREE.replace(
    "is_linear=0\n",
    "is_linear=1\nleaf_const=1 2 3\nnum_features=1 0 2\nleaf_features=0  1 0 \nleaf_coeff=0.5  1 -2 \n",
)
STUMP = """Tree=0
num_leaves=1
num_cat=0
split_feature=
split_gain=
threshold=
decision_type=
left_child=
right_child=
leaf_value=1
leaf_weight=
leaf_count=3
internal_value=
internal_weight=
internal_count=
is_linear=0
shrinkage=1


"""


def model(tree: str = TREE, objective: str = "objective=binary sigmoid:1\n", size: int | None = None) -> str:
    """The text of a model of one tree."""
    return f"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
{objective}feature_names=a b
feature_infos=[0:1.5] 0:3:-1
tree_sizes={len(tree) if size is None else size}

{tree}end of trees

feature_importances:
a=1
b=1

parameters:
[boosting: gbdt]
[data: ]

end of parameters

pandas_categorical:null
"""


def of_tree(before: str, after: str) -> Callable[[], str]:
    """A model in whose tree one line is another; its size fits."""
    assert before in TREE
    return lambda: model(TREE.replace(before, after))


def elsewhere(before: str, after: str) -> Callable[[], str]:
    """A model with another line outside its tree."""
    assert before in model()
    return lambda: model().replace(before, after, 1)


END = "importances, parameters and categories of pandas behind the trees"
REFUSED: dict[str, tuple[Callable[[], str], str]] = {
    "a NUL": (elsewhere("a b", "a \0"), "without NUL"),
    "a carriage return": (elsewhere("a b", "a b\r"), "without NUL and carriage returns"),
    "another head": (elsewhere("tree\nversion", "leaf\nversion"), "'tree' as the first line"),
    "an unknown name": (
        elsewhere("label_index=0", "label_indices=0"),
        "each name of the head of a model once",
    ),
    "a name twice": (elsewhere("label_index=0", "num_class=1"), "each name of the head of a model once"),
    "no version": (elsewhere("version=v4\n", ""), "all of the head of a model, found no version"),
    "another version": (
        elsewhere("version=v4", "version=v9"),
        "a value of version of the head of a model, found v9",
    ),
    "a flag with a value": (
        elsewhere("label_index=0\n", "label_index=0\naverage_output=1\n"),
        "a value of average_output",
    ),
    "no classes": (elsewhere("num_class=1", "num_class=0"), "num_class from 1"),
    "more trees than classes": (
        elsewhere("num_tree_per_iteration=1", "num_tree_per_iteration=2"),
        "num_tree_per_iteration from 1 to 1, found 2",
    ),
    "a feature more": (elsewhere("max_feature_idx=1", "max_feature_idx=2"), "3 feature_names, found 2"),
    "a name more": (elsewhere("a b", "a b c"), "2 feature_names, found 3"),
    "an odd range": (elsewhere("[0:1.5]", "[0:x]"), "a value of feature_infos"),
    "an objective of another": (
        elsewhere("binary sigmoid:1", "magic"),
        "a value of objective of the head of a model, found magic",
    ),
    "an odd option": (elsewhere("sigmoid:1", "sigmoid:one"), "a value of objective"),
    "classes of an objective": (
        elsewhere("binary sigmoid:1", "multiclass num_class:3"),
        "an objective of 1 classes, found multiclass num_class:3",
    ),
    "classes beside": (
        elsewhere("sigmoid:1", "num_class:1"),
        "an objective of 1 classes, found binary num_class:1",
    ),
    "constraints of others": (
        elsewhere("feature_names", "monotone_constraints=1\nfeature_names"),
        "2 monotone_constraints, found 1",
    ),
    "a size less": (lambda: model(size=len(TREE) - 1), f"tree 0 of {len(TREE) - 1} bytes"),
    "two sizes": (elsewhere(f"={len(TREE)}", f"={len(TREE)} 9"), "a size of each tree|tree 1 of 9 bytes"),
    "another number": (of_tree("Tree=0", "Tree=1"), "expected tree 0 of "),
    "no leaves": (of_tree("num_leaves=3", "num_leaves=0"), "num_leaves from 1 to"),
    "more leaves": (of_tree("num_leaves=3", "num_leaves=4"), "3 numbers as split_feature of tree 0"),
    "a weight less": (of_tree("leaf_weight=1 2 3", "leaf_weight=1 2"), "3 numbers as leaf_weight"),
    "an order": (of_tree("num_cat=1\n", ""), "all of tree 0, found no num_cat"),
    "a part twice": (
        of_tree("num_cat=1\n", "num_cat=1\nnum_cat=1\n"),
        "each name of tree 0 once, found num_cat",
    ),
    "a feature behind": (
        of_tree("split_feature=0 1", "split_feature=0 2"),
        "tree 0: split_feature has values from 0 to 2",
    ),
    "a feature before": (
        of_tree("split_feature=0 1", "split_feature=0 -1"),
        "tree 0: split_feature has values from -1",
    ),
    "a child behind": (
        of_tree("right_child=1 -3", "right_child=2 -3"),
        "tree 0: right_child has values from -3 to 2",
    ),
    "a leaf behind": (
        of_tree("right_child=1 -3", "right_child=1 -4"),
        "tree 0: right_child has values from -4",
    ),
    "a child that is its parent": (
        of_tree("left_child=-1 -2", "left_child=-1 1"),
        "a node of a tree is met twice",
    ),
    "a leaf twice": (of_tree("right_child=1 -3", "right_child=1 -2"), "a node of a tree is met twice"),
    "no number": (of_tree("threshold=0 0.5", "threshold=0 0x5"), "a value of threshold of tree 0"),
    "no int": (of_tree("left_child=-1 -2", "left_child=-1 -2.0"), "a value of left_child of tree 0"),
    "a huge int": (
        of_tree("leaf_count=1 2 3", "leaf_count=1 2 9999999999999999999"),
        "a value of leaf_count of tree 0",
    ),
    "two spaces": (of_tree("threshold=0 0.5", "threshold=0  0.5"), "a value of threshold of tree 0"),
    "an odd decision": (
        of_tree("decision_type=9 2", "decision_type=9 16"),
        "decision_type has values from 9 to 16",
    ),
    "a fourth kind of missing": (
        of_tree("decision_type=9 2", "decision_type=9 14"),
        "decision_type has values from 9 to 14",
    ),
    "a set behind": (of_tree("threshold=0 0.5", "threshold=1 0.5"), "that name one of 1 sets"),
    "half a set": (of_tree("threshold=0 0.5", "threshold=0.5 0.5"), "that name one of 1 sets"),
    "a set that is none": (of_tree("threshold=0 0.5", "threshold=nan 0.5"), "that name one of 1 sets"),
    "no sets": (of_tree("cat_boundaries=0 2\n", ""), "sets of categories where some are asked"),
    "sets of no words": (of_tree("cat_boundaries=0 2", "cat_boundaries=0 0"), "divide 2 words"),
    "sets behind": (of_tree("cat_boundaries=0 2", "cat_boundaries=0 3"), "divide 2 words into 1 sets"),
    "sets before": (of_tree("cat_boundaries=0 2", "cat_boundaries=-1 2"), "divide 2 words"),
    "a word too large": (
        of_tree("4294967295", "4294967296"),
        "cat_threshold has values from 5 to 4294967296",
    ),
    "an odd shrinkage": (of_tree("shrinkage=0.1", "shrinkage=a"), "a value of shrinkage of tree 0"),
    "linear without parts": (
        of_tree("is_linear=0", "is_linear=1"),
        "coefficients of leaves where it is linear",
    ),
    "parts without linear": (
        of_tree("is_linear=0", "is_linear=0\nleaf_const=1 2 3"),
        "coefficients of leaves where it is linear",
    ),
    "features of leaves behind": (
        lambda: model(LINEAR.replace("leaf_features=0", "leaf_features=2")),
        "leaf_features",
    ),
    "fewer features of leaves": (
        lambda: model(LINEAR.replace("num_features=1 0 2", "num_features=1 0 1")),
        "leaf_features as num_features says",
    ),
    "many features of leaves": (
        lambda: model(LINEAR.replace("=1 0 2", "=0 0 3")),
        "num_features has values from 0 to 3",
    ),
    "no end of trees": (elsewhere("end of trees", "end of tree"), END),
    "an odd importance": (elsewhere("b=1\n", "b\n"), END),
    "an odd parameter": (elsewhere("[data: ]", "data: x"), END),
    "no categories": (elsewhere("pandas_categorical:null\n", ""), END),
    "odd categories": (elsewhere("categorical:null", 'categorical:{"a": 1}'), "lists of names and numbers"),
    "more behind": (elsewhere("null\n", "null\nmore\n"), END),
}


@one_test
@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_a_text_in_which_one_thing_is_another_is_refused(make: Callable[[], str], message: str) -> None:
    with pytest.raises(ValueError, match=message if "|" in message else re.escape(message)):
        check_model(make())


@one_test
@pytest.mark.parametrize(
    "text",
    [
        model(),
        model(LINEAR),
        model(STUMP),
        model(objective=""),
        model(objective="objective=regression sqrt\naverage_output\n"),
        model().replace("parameters:\n[boosting: gbdt]\n[data: ]\n\nend of parameters\n", ""),
        model().replace("null", '[["a", 1.5, null]]'),
    ],
)
def test_an_honest_text_passes(text: str) -> None:
    check_model(text)


def test_a_tree_too_deep_for_the_stack_is_refused() -> None:
    count = 10_002
    chain = {
        "num_leaves": str(count + 1),
        "num_cat": "0",
        "decision_type": " ".join(["2"] * count),
        "left_child": " ".join([*map(str, range(1, count)), "-1"]),
        "right_child": " ".join(str(-2 - at) for at in range(count)),
        **dict.fromkeys(("split_feature", "split_gain", "threshold"), " ".join(["0"] * count)),
        **dict.fromkeys(("internal_value", "internal_weight", "internal_count"), " ".join(["0"] * count)),
        **dict.fromkeys(("leaf_value", "leaf_weight", "leaf_count"), " ".join(["1"] * (count + 1))),
        "is_linear": "0",
        "shrinkage": "1",
    }
    order = [line.partition("=")[0] for line in TREE.split("\n") if "=" in line]
    lines = [f"{name}={chain[name]}" for name in order if name in chain]
    with pytest.raises(ValueError, match="tree 0: the tree is 10001 nodes deep, expected at most 10000"):
        check_model(model("Tree=0\n" + "\n".join(lines) + "\n\n\n"))
