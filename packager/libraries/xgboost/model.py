"""A model of XGBoost, checked before the library reads it: trees, linear models, and trees that drop out.

The library follows children and parents, and reads features, categories and leaves where they say. So each
tree is walked here once from its root; every array is as long as there are nodes, every parent is the one
that the children name, features are those of the model, and all counts agree: of trees, of classes and of
targets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from packager.archive import MAX_TREE_DEPTH, largest_view
from packager.codecs import Fields, expect

_MOST_FEATURES: Final = 1 << 26
_MOST_GROUPS: Final = 1 << 20
_MOST_NODES: Final = 1 << 30
_MOST_CATEGORY: Final = 1 << 24
_ROOT: Final = (-1, (1 << 31) - 1)
_DELETED: Final = (1 << 31) - 1
_NUMBER: Final = r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?(?:[eE][+-]?[0-9]{1,3})?|inf|nan|NaN|Infinity)"
_NUMBERS: Final = re.compile(rf"(?:{_NUMBER}|\[(?:{_NUMBER}(?:,{_NUMBER})*)?\])")
_WORD: Final = re.compile(r"[A-Za-z0-9_:@.+-]{1,64}")


def check_model(value: Any) -> None:
    """Raise ValueError unless a parsed value is a model as XGBoost writes it, and every index lies inside."""
    root = Fields(value, "model")
    version = root.take("version")
    expect(
        type(version) is list and len(version) == 3 and all(type(one) is int for one in version), "a version"
    )
    learner = Fields(root.take("learner"), "learner")
    root.done()
    features, groups = _parameters(learner)
    for name in ("feature_names", "feature_types"):
        found = learner.take(name, [])
        texts = type(found) is list and all(type(one) is str for one in found)
        expect(texts and len(found) in (0, features), f"{features} texts as {name}")
    _texts(learner.take("attributes", {}), "attributes")
    booster = learner.take("gradient_booster")
    learner.done()
    _booster(booster, features, groups)


def _parameters(learner: Fields) -> tuple[int, int]:
    """Return the number of features, and that of outputs: classes, or targets."""
    found = Fields(learner.take("learner_model_param"), "learner_model_param")
    features = _count(found, "num_feature", 0, _MOST_FEATURES)
    classes = _count(found, "num_class", 0, _MOST_GROUPS)
    targets = _count(found, "num_target", 0, _MOST_GROUPS, default="1")
    _count(found, "boost_from_average", 0, 2, default="1")
    scores = found.text("base_score") or ""
    found.done()
    expect(classes <= 1 or targets <= 1, "classes or targets, not both")
    groups = max(1, classes, targets)
    expect(_numbers(scores, "base_score") in (1, groups), f"1 or {groups} numbers as base_score", scores[:40])
    _objective(Fields(learner.take("objective"), "objective"), classes, groups)
    return features, groups


def _objective(found: Fields, classes: int, groups: int) -> None:
    name = found.text("name", "") or ""
    expect(_WORD.fullmatch(name) is not None, "the name of an objective", name[:40])
    softmax = found.take("softmax_multiclass_param")
    quantiles = found.take("quantile_loss_param")
    # By another number of classes an objective would write beside its room.
    if name.startswith("multi:"):
        _texts(softmax, "softmax_multiclass_param")
        expect(
            softmax.get("num_class") == str(classes) and classes > 1, f"num_class={classes} of the objective"
        )
    else:
        expect(softmax is None and classes <= 1, "no classes of this objective", name[:40])
    if name == "reg:quantileerror":
        _texts(quantiles, "quantile_loss_param")
        said = _numbers(str(quantiles.get("quantile_alpha", "")), "quantile_alpha")
        expect(groups % max(said, 1) == 0, f"quantile_alpha for {groups} targets", said)
    else:
        expect(quantiles is None, "no quantiles of this objective", name[:40])
    for part in _OF_OBJECTIVES:
        values = found.take(part)
        if values is not None:
            _texts(values, part)
    for part in ("ti+", "tj-"):
        ranks = found.take(part)
        expect(ranks is None or _is_array(ranks, "f4"), f"numbers as {part}")
    found.done()


_OF_OBJECTIVES: Final = """
    reg_loss_param poisson_regression_param tweedie_regression_param lambda_rank_param lambdarank_param
    pseudo_huber_param aft_loss_param expectile_loss_param
""".split()


# --- boosters ---


def _booster(value: Any, features: int, groups: int) -> None:
    found = Fields(value, "gradient_booster")
    name = found.word("name", ("gbtree", "dart", "gblinear"))
    if name == "gblinear":
        model = Fields(found.take("model"), "model")
        model.number("boosted_rounds", 0, 1 << 31)
        weights = model.take("weights")
        expect(_is_array(weights, "f4") or (type(weights) is list and not weights), "numbers as weights")
        expect(
            len(weights) in (0, (features + 1) * groups), f"{(features + 1) * groups} weights", len(weights)
        )
        model.done()
    elif name == "dart":
        inner = Fields(found.take("gbtree"), "gbtree")
        inner.word("name", ("gbtree",))
        count = _trees(inner.take("model"), features, groups)
        inner.done()
        drops = found.take("weight_drop")
        numbers = _is_array(drops, "f4") or (
            type(drops) is list and all(type(one) in (int, float) for one in drops)
        )
        expect(numbers and len(drops) == count, f"{count} numbers as weight_drop")
    else:
        expect(name is not None, "the name of a booster")
        _trees(found.take("model"), features, groups)
    found.done()


def _trees(value: Any, features: int, groups: int) -> int:
    """Check trees and what counts them. Returns how many there are."""
    model = Fields(value, "model")
    parameters = Fields(model.take("gbtree_model_param"), "gbtree_model_param")
    count = _count(parameters, "num_trees", 0, _MOST_NODES)
    _count(parameters, "num_parallel_tree", 0, _MOST_NODES, default="1")
    _count(parameters, "size_leaf_vector", 0, _MOST_GROUPS, default="0")
    parameters.done()
    trees, outputs = model.take("trees"), _ints(model.take("tree_info"), "tree_info")
    expect(
        type(trees) is list and len(trees) == count == len(outputs), f"{count} trees, and as many tree_info"
    )
    expect(all(0 <= one < groups for one in outputs), f"tree_info from 0 to {groups - 1}")
    starts = _ints(model.take("iteration_indptr", [0, count]), "iteration_indptr")
    grows = bool(starts) and starts[0] == 0 and starts[-1] == count
    expect(
        grows and all(one <= other for one, other in pairwise(starts)), f"iteration_indptr from 0 to {count}"
    )
    categories = model.take("cats")
    if categories is not None:
        _check_categories(categories, features)
    model.done()
    room = 0
    for number, tree in enumerate(trees):
        room += _tree(tree, number, features, groups)
    stored = sum(tree["left_children"].nbytes for tree in trees)
    expect(room <= largest_view(stored), f"sets of categories of at most {largest_view(stored)} bytes", room)
    return count


# --- one tree ---

_DTYPES: Final = {
    "default_left": "u1",
    "left_children": "i4",
    "loss_changes": "f4",
    "parents": "i4",
    "right_children": "i4",
    "split_conditions": "f4",
    "split_indices": "i4",
    "split_type": "u1",
    "sum_hessian": "f4",
}
_SETS: Final = {
    "categories": "i4",
    "categories_nodes": "i4",
    "categories_segments": "i8",
    "categories_sizes": "i8",
}


def _tree(value: Any, number: int, features: int, groups: int) -> int:
    """Check a tree. Returns how many bytes its sets of categories will take."""
    what = f"trees[{number}]"
    found = Fields(value, what)
    expect(found.number("id", 0, 1 << 31) == number, f"{number} as the id of {what}")
    parameters = Fields(found.take("tree_param"), "tree_param")
    count = _count(parameters, "num_nodes", 1, _MOST_NODES)
    removed = _count(parameters, "num_deleted", 0, count, default="0")
    size = max(1, _count(parameters, "size_leaf_vector", 0, _MOST_GROUPS, default="1"))
    _count(parameters, "num_feature", 0, _MOST_FEATURES)
    parameters.done()
    expect(size in (1, groups), f"leaves of 1 or {groups} values in {what}", size)
    arrays = {name: found.take(name) for name in _DTYPES}
    if _is_array(arrays["split_indices"], "i8"):  # of many features
        _inside(arrays["split_indices"], f"split_indices of {what}", 1 << 31)
        arrays["split_indices"] = arrays["split_indices"].astype("i4")
    for name, dtype in _DTYPES.items():
        fits = _is_array(arrays[name], dtype) and len(arrays[name]) == count
        expect(fits, f"{count} numbers ({dtype}) as {name} of {what}")
    leaves = _walk(arrays, count, removed, what, vector=size > 1)
    inner = arrays["left_children"] != -1
    _inside(
        arrays["split_indices"][inner & (arrays["split_indices"] != _DELETED)],
        f"split_indices of {what}",
        features,
    )
    _inside(arrays["split_type"], f"split_type of {what}", 2)
    weights, vectors = found.take("base_weights"), found.take("leaf_weights")
    fits = _is_array(weights, "f4") and len(weights) == count * size
    expect(fits, f"{count * size} numbers (f4) as base_weights of {what}")
    expect((vectors is None) == (size == 1), f"leaf_weights of {what} where leaves are vectors")
    if vectors is not None:
        fits = _is_array(vectors, "f4") and len(vectors) == leaves * size
        expect(fits, f"{leaves * size} numbers (f4) as leaf_weights of {what}")
    room = _tree_sets({name: found.take(name) for name in _SETS}, arrays["split_type"], inner, what)
    found.done()
    return room


def _walk(arrays: Mapping[str, Any], count: int, removed: int, what: str, *, vector: bool) -> int:
    """Follow a tree from its root, a level at a time. Returns how many leaves it has."""
    import numpy

    left, right, parents = (arrays[name] for name in ("left_children", "right_children", "parents"))
    _inside(left, f"left_children of {what}", count, -1)
    _inside(right, f"right_children of {what}", count, -1)
    expect(int(parents[0]) in _ROOT, f"no parent of the root of {what}", int(parents[0]))
    times = numpy.zeros(count, numpy.int64)
    level, depth, leaves = numpy.zeros(1, numpy.int64), 0, 0
    while level.size:
        expect(depth <= MAX_TREE_DEPTH, f"{what} of at most {MAX_TREE_DEPTH} levels")
        numpy.add.at(times, level, 1)
        expect(int(times.max()) == 1, f"each node of {what} met once")
        ends = left[level] == -1
        of_leaves = right[level[ends]]
        if vector:  # leaves say where their values lie
            _inside(of_leaves, f"leaves of {what}", count)
        else:
            expect(bool((of_leaves == -1).all()), f"leaves of {what} without children")
        leaves += int(ends.sum())
        above = level[~ends]
        level = numpy.concatenate([left[above], right[above]]).astype(numpy.int64)
        expect(bool((level > 0).all()), f"two children of each node of {what}")
        expect(bool((parents[level] == numpy.concatenate([above, above])).all()), f"parents in {what}")
        depth += 1
    if vector:
        expect(bool((right[(left == -1)] < leaves).all()), f"leaves of {what} inside leaf_weights")
    unmet = times == 0
    deleted = arrays["split_indices"] == _DELETED
    expect(
        int(unmet.sum()) == removed and bool((deleted == unmet).all()),
        f"{removed} nodes of {what} that are deleted, and all others met",
        int(unmet.sum()),
    )
    # Depths of nodes are counted by way of parents, also of those that are deleted.
    around = parents[unmet]
    expect(bool(((around >= 0) & (around < count)).all()), f"parents of deleted nodes in {what}")
    expect(_ends(parents, unmet.nonzero()[0], times), f"parents of deleted nodes in {what} that end")
    return leaves


def _ends(parents: Any, nodes: Any, times: Any) -> bool:
    """Whether following parents from these nodes leads to one that was met."""
    for _ in range(MAX_TREE_DEPTH):
        if not nodes.size:
            return True
        nodes = parents[nodes]
        if ((nodes < 0) | (nodes >= len(times))).any():
            return False
        nodes = nodes[times[nodes] == 0]
    return not nodes.size


def _tree_sets(found: Mapping[str, Any], kinds: Any, inner: Any, what: str) -> int:
    import numpy

    for name, dtype in _SETS.items():
        missing = found[name] is None or (type(found[name]) is list and not found[name])
        expect(missing or _is_array(found[name], dtype), f"ints ({dtype}) as {name} of {what}")
    values, nodes, starts, sizes = (
        numpy.zeros(0, numpy.int64) if found[name] is None else numpy.asarray(found[name], numpy.int64)
        for name in _SETS
    )
    asked = ((kinds == 1) & inner).nonzero()[0]
    same = len(nodes) == len(asked) and bool((nodes == asked).all())
    expect(
        same and bool((kinds[~inner] == 0).all()), f"a set for each node of {what} that asks for categories"
    )
    expect(len(starts) == len(sizes) == len(nodes), f"a segment for each set of {what}")
    if not len(nodes):
        expect(not len(values), f"no categories in {what}")
        return 0
    _inside(values, f"categories of {what}", _MOST_CATEGORY)
    follow = starts[0] == 0 and bool((sizes > 0).all()) and bool((sizes <= len(values)).all())
    follow = follow and bool((starts[1:] == starts[:-1] + sizes[:-1]).all())
    expect(
        bool(follow) and int(starts[-1] + sizes[-1]) == len(values),
        f"segments that divide categories of {what}",
    )
    return int(numpy.maximum.reduceat(values, starts).sum()) // 8 + 8 * len(nodes)


# --- names of categories ---


def _check_categories(value: Any, features: int) -> None:
    found = Fields(value, "cats")
    columns, starts, order = found.take("enc"), found.take("feature_segments"), found.take("sorted_idx")
    found.done()
    expect(type(columns) is list and len(columns) in (0, features), f"0 or {features} columns of categories")
    expect(_is_array(starts, "i4") and _is_array(order, "i4"), "ints (i4) as feature_segments and sorted_idx")
    counts = [_names_of(column, f"enc[{at}]") for at, column in enumerate(columns)]
    ends = [*accumulate(counts, initial=0)] if columns else []
    expect(starts.tolist() == ends, "feature_segments as there are names of categories")
    total = ends[-1] if ends else 0
    expect(len(order) == total, f"{total} numbers as sorted_idx", len(order))
    for start, end in pairwise(ends):
        expect(
            sorted(order[start:end].tolist()) == [*range(end - start)],
            "sorted_idx that orders the names of each column",
        )


def _names_of(value: Any, what: str) -> int:
    """Check the names of the categories of a column: texts, or numbers. Returns how many there are."""
    found = Fields(value, what)
    offsets, values, kind = found.take("offsets"), found.take("values"), found.take("type")
    found.done()
    if offsets is None:
        expect(type(kind) is int and 0 <= kind < 16 and _is_array(values), f"numbers as names in {what}")
        return len(values)
    expect(kind is None or type(kind) is int, f"a kind of names in {what}")
    expect(_is_array(offsets, "i4") and _is_array(values, "i1"), f"offsets and bytes of names in {what}")
    if not len(offsets):
        expect(not len(values), f"no bytes of names in {what}")
        return 0
    grows = offsets[0] == 0 and offsets[-1] == len(values) and bool((offsets[1:] >= offsets[:-1]).all())
    expect(bool(grows), f"offsets of names in {what} that divide its bytes")
    return len(offsets) - 1


# --- words of these checks ---


def _is_array(value: Any, dtype: str = "") -> bool:
    import numpy

    return type(value) is numpy.ndarray and value.ndim == 1 and dtype in ("", value.dtype.str[1:])


def _ints(value: Any, what: str) -> Sequence[int]:
    if _is_array(value) and value.dtype.kind in "iu":
        found: list[int] = value.tolist()
        return found
    expect(type(value) is list and all(type(one) is int for one in value), f"ints as {what}")
    ints: list[int] = value
    return ints


def _inside(values: Any, what: str, stop: int, low: int = 0) -> None:
    if len(values) and (values.min() < low or values.max() >= stop):
        raise ValueError(f"{what} from {values.min()} to {values.max()}, expected {low} to {stop - 1}")


def _texts(value: Any, what: str) -> None:
    expect(type(value) is dict and all(type(one) is str for one in value.values()), f"texts as {what}")


def _numbers(text: str, what: str) -> int:
    """Return how many numbers a text has. Raises ValueError for another text."""
    expect(_NUMBERS.fullmatch(text) is not None, f"numbers as {what}", text[:40])
    return 0 if text == "[]" else text.count(",") + 1


def _count(found: Fields, name: str, low: int, stop: int, default: str | None = None) -> int:
    """Take a number that is written as a text."""
    text = found.text(name, default) or ""
    fits = re.fullmatch("[0-9]{1,12}", text) is not None
    expect(fits and low <= int(text) < stop, f"an int from {low} to {stop - 1} as {name}", text[:40])
    return int(text)
