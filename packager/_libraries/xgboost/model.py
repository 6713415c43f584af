"""A model of XGBoost, checked before the library reads it: trees, linear models, and trees that drop out.

The library follows children and parents, and reads features, categories and leaves where they say. So every
list of a tree is as long as there are nodes, children name the node above as their parent, parents lead to
the root, features are those of the model, and all counts agree: of trees, of classes and of targets.
"""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import Any, Final

from packager._archive import MAX_TREE_DEPTH, largest_view
from packager._codecs import Fields, expect, require_inside

_MOST_FEATURES: Final = 1 << 26
_MOST_GROUPS: Final = 1 << 20
_MOST_NODES: Final = 1 << 30
_MOST_CATEGORY: Final = 1 << 24
_ROOT: Final = (-1, (1 << 31) - 1)
_DELETED: Final = (1 << 31) - 1
_NUMBER: Final = r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,25})?(?:[eE][+-]?[0-9]{1,3})?|inf|nan|NaN|Infinity)"
_NUMBERS: Final = re.compile(rf"(?:{_NUMBER}|\[(?:{_NUMBER}(?:,{_NUMBER})*)?\])")
_WORD: Final = re.compile(r"[A-Za-z0-9_:@.+-]{1,64}")


def check_model(value: object) -> None:
    """Raise ValueError unless a parsed value is a model as XGBoost writes it, and every index lies inside."""
    root = Fields(value, "model")
    _list(root, "version", 3, stop=_MOST_NODES)
    learner = Fields(root.take("learner"), "learner")
    root.done()
    features, groups = _parameters(learner)
    for name in ("feature_names", "feature_types"):
        found = learner.take(name, [])
        expect(type(found) is list and len(found) in (0, features), f"{features} texts as {name}")
        _texts(dict(enumerate(found)), name)
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
        _list(found, part)
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
        count = (features + 1) * groups
        _list(model, "weights", count, 0)
        model.done()
    elif name == "dart":
        inner = Fields(found.take("gbtree"), "gbtree")
        inner.word("name", ("gbtree",))
        _list(found, "weight_drop", _trees(inner.take("model"), features, groups))
        inner.done()
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
    trees = model.take("trees")
    expect(type(trees) is list and len(trees) == count, f"{count} trees")
    _list(model, "tree_info", count, stop=groups)
    starts = _ints(model.take("iteration_indptr", [0, count]), "iteration_indptr", stop=count + 1)
    _require_ends(starts.tolist(), count, "iteration_indptr")
    categories = model.take("cats")
    if categories is not None:
        _check_categories(Fields(categories, "cats"), features)
    model.done()
    room = sum(_tree(Fields(tree, f"trees[{at}]"), at, features, groups) for at, tree in enumerate(trees))
    most = largest_view(4 * sum(len(tree["left_children"]) for tree in trees))
    expect(room <= most, f"sets of categories of at most {most} bytes", room)
    return count


# --- one tree ---


def _tree(found: Fields, number: int, features: int, groups: int) -> int:
    """Check a tree. Returns how many bytes its sets of categories will take."""
    what = found.what
    expect(found.number("id", 0, 1 << 31) == number, f"{number} as the id of {what}")
    parameters = Fields(found.take("tree_param"), "tree_param")
    count = _count(parameters, "num_nodes", 1, _MOST_NODES)
    removed = _count(parameters, "num_deleted", 0, count, default="0")
    size = max(1, _count(parameters, "size_leaf_vector", 0, _MOST_GROUPS, default="1"))
    _count(parameters, "num_feature", 0, _MOST_FEATURES)
    parameters.done()
    expect(size in (1, groups), f"leaves of 1 or {groups} values in {what}", size)
    for name in ("loss_changes", "split_conditions", "sum_hessian"):
        _list(found, name, count)
    _list(found, "base_weights", count * size)
    _list(found, "default_left", count, stop=2)
    left = _list(found, "left_children", count, stop=count, low=-1)
    right = _list(found, "right_children", count, stop=count, low=-1)
    parents = _list(found, "parents", count, stop=1 << 31, low=-1)
    splits = _list(found, "split_indices", count, stop=1 << 31)
    deleted = splits == _DELETED
    inner = (left != -1) & ~deleted
    expect(not deleted[0] and int(deleted.sum()) == removed, f"{removed} nodes of {what} that are deleted")
    require_inside(splits[inner], f"split_indices of {what}", features)
    _check_nodes(left, right, parents, inner, deleted, what)
    leaves = right[(left == -1) & ~deleted]
    vectors = found.take("leaf_weights")
    expect((vectors is None) == (size == 1), f"leaf_weights of {what} where leaves are vectors")
    if vectors is None:
        expect(bool((leaves == -1).all()), f"leaves of {what} without children")
    else:  # leaves say where their values lie
        expect(len(_numbers_of(vectors, "leaf_weights")) == len(leaves) * size, f"all leaf_weights of {what}")
        require_inside(leaves, f"leaves of {what}", len(leaves))
    asked = _list(found, "split_type", count, stop=2) == 1
    expect(not (asked & ~inner).any(), f"nodes of {what} that ask for categories")
    room = _check_sets(found, asked.nonzero()[0])
    found.done()
    return room


def _check_nodes(left: Any, right: Any, parents: Any, inner: Any, deleted: Any, what: str) -> None:
    """Raise ValueError unless nodes are a tree. Their depths are counted by parents, those of all nodes."""
    import numpy

    above = inner.nonzero()[0]
    below, above = numpy.concatenate([left[inner], right[inner]]), numpy.concatenate([above, above])
    require_inside(below, f"children of {what}", len(left), 1)
    agree = (parents[below] == above).all() and (left[inner] != right[inner]).all()
    expect(bool(agree) and not deleted[below].any(), f"two children of each node of {what}, as parents say")
    expect(int(parents[0]) in _ROOT, f"no parent of the root of {what}", int(parents[0]))
    require_inside(parents[1:], f"parents of {what}", len(left))
    up = parents.copy()
    up[0] = 0
    for _ in range(MAX_TREE_DEPTH.bit_length() - 1):
        up = up[up]  # twice as many steps as before
    expect(not up.any(), f"parents of {what} that lead to its root")


def _check_sets(found: Fields, asked: Any) -> int:
    import numpy

    what = found.what
    values = _list(found, "categories", stop=_MOST_CATEGORY)
    nodes = _list(found, "categories_nodes", stop=_MOST_NODES)
    starts = _list(found, "categories_segments", len(nodes), stop=len(values) + 1)
    sizes = _list(found, "categories_sizes", len(nodes), stop=len(values) + 1, low=1)
    expect(nodes.tolist() == asked.tolist(), f"a set for each node of {what} that asks for categories")
    ends = [*accumulate(sizes.tolist(), initial=0)]
    expect([*starts.tolist(), len(values)] == ends, f"segments that divide categories of {what}")
    return int(numpy.maximum.reduceat(values, starts).sum()) // 8 + 8 * len(nodes) if len(nodes) else 0


# --- names of categories ---


def _check_categories(found: Fields, features: int) -> None:
    columns = found.take("enc")
    expect(type(columns) is list and len(columns) in (0, features), f"0 or {features} columns of categories")
    counts = [_names_of(Fields(column, f"enc[{at}]")) for at, column in enumerate(columns)]
    ends = [*accumulate(counts, initial=0)] if columns else []
    starts = _list(found, "feature_segments", len(ends), stop=_MOST_NODES)
    expect(starts.tolist() == ends, "feature_segments as there are names of categories")
    order = _list(found, "sorted_idx", sum(counts), stop=_MOST_NODES).tolist()
    for start, end in pairwise(ends):
        whole = sorted(order[start:end]) == [*range(end - start)]
        expect(whole, "sorted_idx that orders the names of each column")
    found.done()


def _names_of(found: Fields) -> int:
    """Check the names of the categories of a column: texts, or numbers. Returns how many there are."""
    offsets, values, kind = found.take("offsets"), found.take("values"), found.number("type", 0, 16)
    found.done()
    if offsets is None:
        expect(kind is not None, f"a kind of names in {found.what}")
        return len(_numbers_of(values, f"values of {found.what}"))
    stop = len(_ints(values, f"values of {found.what}", stop=1 << 7, low=-(1 << 7)))
    ends = _ints(offsets, f"offsets of {found.what}", stop=stop + 1).tolist()
    _require_ends(ends or [0], stop, f"offsets of {found.what}")
    return max(len(ends) - 1, 0)


def _require_ends(ends: list[int], stop: int, what: str) -> None:
    grows = ends == sorted(ends) and ends[:1] == [0] and ends[-1:] == [stop]
    expect(grows, f"{what} that grow from 0 to {stop}", str(ends[:8])[:60])


# --- words of these checks ---


def _list(found: Fields, name: str, *counts: int, stop: int | None = None, low: int = 0) -> Any:
    """Take a list of numbers, or of ints of a range, as an array. One that is missing is empty."""
    value, what = found.take(name, []), f"{name} of {found.what}"
    made = _numbers_of(value, what) if stop is None else _ints(value, what, stop, low)
    expect(not counts or len(made) in counts, f"{counts[0] if counts else 0} numbers as {what}", len(made))
    return made


def _numbers_of(value: Any, what: str) -> Any:
    import numpy

    expect(type(value) is list and {int, float}.issuperset(map(type, value)), f"numbers as {what}")
    return numpy.array(value, numpy.float64)


def _ints(value: Any, what: str, stop: int, low: int = 0) -> Any:
    import numpy

    expect(type(value) is list and {int}.issuperset(map(type, value)), f"ints as {what}")
    inside = not value or (min(value) >= low and max(value) < stop)
    expect(inside, f"{what} from {low} to {stop - 1}", str(value[:8])[:60])
    return numpy.array(value, numpy.int64)


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
