"""The text that LightGBM writes of a model, checked before the library reads it.

The library believes it: it follows children, takes sets of categories from where a threshold says, and cuts
the text into trees by the sizes that stand in its head. So the whole text is read here, by tables of what may
stand where: each tree lies where the sizes say, its arrays are as long as it has leaves, a walk from its root
meets every node once, and features are those of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from packager._codecs import expect, met_nodes, parsed_json, require_inside

_MOST_LEAVES: Final = 1 << 24
_MOST_CLASSES: Final = 1 << 20
_INT: Final = r"-?[0-9]{1,18}"
_REAL: Final = r"-?(?:[0-9]{1,25}(?:\.[0-9]{1,25})?(?:e[+-]?[0-9]{1,3})?|inf|nan)"
_INTS: Final = rf"(?:{_INT}(?: {_INT})*)?"
_REALS: Final = rf"(?:{_REAL}(?: {_REAL})*)?"
_INFO: Final = rf"(?:none|\[{_REAL}:{_REAL}\]|{_INT}(?::{_INT})*)"
_OBJECTIVES: Final = """
    regression regression_l1 huber fair poisson quantile mape gamma tweedie binary multiclass multiclassova
    cross_entropy cross_entropy_lambda lambdarank rank_xendcg
""".split()
# What an objective computes with; by another number of classes it would write beside its room.
_CLASSES: Final = re.compile(r"num_class:([0-9]+)")
_WITH_CLASSES: Final = frozenset({"multiclass", "multiclassova"})

_HEAD: Final = {
    "version": "v[234]",
    **dict.fromkeys("num_class num_tree_per_iteration label_index max_feature_idx".split(), _INT),
    "feature_names": ".*",
    "feature_infos": f"{_INFO}(?: {_INFO})*",
    "tree_sizes": _INTS,
}
_MAY_HEAD: Final = {
    "objective": rf"(?:{'|'.join(_OBJECTIVES)})(?: (?:sqrt|[a-z_]{{1,40}}:{_REAL}))*",
    "average_output": "",
    "monotone_constraints": "-?[01](?: -?[01])*",
}
_AT_NODES: Final = {
    **dict.fromkeys("split_feature decision_type left_child right_child internal_count".split(), _INTS),
    **dict.fromkeys("split_gain threshold internal_value internal_weight".split(), _REALS),
}
_AT_LEAVES: Final = {"leaf_value": _REALS, "leaf_weight": _REALS, "leaf_count": _INTS}
_TREE: Final = {"num_leaves": _INT, "num_cat": _INT, **_AT_NODES, **_AT_LEAVES, "shrinkage": _REAL}
_SETS: Final = {"cat_boundaries": _INTS, "cat_threshold": _INTS}
# Here numbers have more spaces between them.
_LINEAR: Final = {
    "leaf_const": _REALS,
    "num_features": _INTS,
    "leaf_features": rf" *(?:{_INT}(?: +{_INT})*)? *",
    "leaf_coeff": rf" *(?:{_REAL}(?: +{_REAL})*)? *",
}
_MAY_TREE: Final = {**_SETS, **_LINEAR, "is_linear": "[01]"}
_ARRAYS: Final = {**_AT_NODES, **_AT_LEAVES, **_SETS, **_LINEAR}
_END: Final = re.compile(
    r"\n?end of trees\n\nfeature_importances:\n"
    rf"(?:[^\n]*={_REAL}\n)*\n"
    r"(?:parameters:\n(?:\[[a-z0-9_]+: [^\n]*\]\n)*\nend of parameters\n)?"
    r"\n?pandas_categorical:([^\n]*)\n?"
)


def check_model(text: str) -> None:
    """Raise ValueError unless a text is a model as LightGBM writes it, and every index in it lies inside."""
    expect("\0" not in text and "\r" not in text, "a text without NUL and carriage returns")
    head, _, trees = text.partition("\n\n")
    first, _, lines = head.partition("\n")
    expect(first == "tree", "'tree' as the first line")
    found = _values(lines, _HEAD, _MAY_HEAD, "the head of a model")
    sizes, features = _check_head(found)
    at = 0
    for number, size in enumerate(sizes):
        expect(size > 0, "a size of each tree")
        _check_tree(trees[at : at + size], f"tree {number}", features)
        at += size
    end = _END.fullmatch(trees, at)
    if end is None:
        raise ValueError("expected importances, parameters and categories of pandas behind the trees")
    _check_categories(parsed_json(end[1]))


def _values(lines: str, must: Mapping[str, str], may: Mapping[str, str], what: str) -> dict[str, str]:
    """Return values by name, each of which stands there once in its form, and none of `must` is missing."""
    found: dict[str, str] = {}
    for line in lines.split("\n"):
        name, sign, value = line.partition("=")
        form = must.get(name, may.get(name))
        expect(form is not None and name not in found, f"each name of {what} once", name[:40])
        fits = re.fullmatch(form or "", value) is not None and bool(sign or not form)
        expect(fits, f"a value of {name} of {what}", value[:40])
        found[name] = value
    missing = [name for name in must if name not in found]
    expect(not missing, f"all of {what}", f"no {' '.join(missing)}")
    return found


def _check_head(found: Mapping[str, str]) -> tuple[list[int], int]:
    """Return the sizes of trees, and how many features there are."""
    classes = _number(found, "num_class", 1, _MOST_CLASSES)
    _number(found, "num_tree_per_iteration", classes, classes + 1)
    _number(found, "label_index", 0, 1 << 31)
    features = _number(found, "max_feature_idx", 0, (1 << 31) - 1) + 1
    for name in ("feature_names", "feature_infos", "monotone_constraints"):
        count = len(found[name].split(" ")) if name in found else features
        expect(count == features, f"{features} {name}", count)
    objective = found.get("objective")
    if objective is not None:
        said = _CLASSES.findall(objective)
        wanted = [str(classes)] if objective.split(" ")[0] in _WITH_CLASSES else []
        fits = said == wanted and (classes == 1 or bool(wanted))
        expect(fits, f"an objective of {classes} classes", objective[:80])
    sizes = [*map(int, found["tree_sizes"].split())]
    expect(len(sizes) % classes == 0, "whole iterations of trees")
    return sizes, features


def _check_categories(value: Any) -> None:
    columns = [] if value is None else value
    plain = type(columns) is list and all(type(column) is list for column in columns)
    expect(
        plain
        and {str, int, float, bool, type(None)}.issuperset(type(one) for column in columns for one in column),
        "lists of names and numbers as categories of pandas",
    )


# --- one tree ---


def _check_tree(text: str, what: str, features: int) -> None:
    first, _, lines = text.removesuffix("\n\n\n").partition("\n")
    begins = first == f"Tree={what.removeprefix('tree ')}" and text.endswith("\n\n\n")
    expect(begins and text.isascii(), f"{what} of {len(text)} bytes, as tree_sizes says")
    found = _values(lines, _TREE, _MAY_TREE, what)
    leaves = _number(found, "num_leaves", 1, _MOST_LEAVES)
    sets = _number(found, "num_cat", 0, leaves)
    arrays = {name: _array(found[name], form) for name, form in _ARRAYS.items() if name in found}
    for name in (*_AT_NODES, *_AT_LEAVES):
        expected = leaves if name in _AT_LEAVES else leaves - 1
        # A tree that never split says its value alone.
        alone = leaves == 1 and name in ("leaf_weight", "leaf_count") and len(arrays[name]) == 0
        expect(alone or len(arrays[name]) == expected, f"{expected} numbers as {name} of {what}")
    try:
        _check_nodes(arrays, leaves)
        require_inside(arrays["split_feature"], "split_feature", features)
        _check_sets(arrays, sets)
        _check_linear(arrays, leaves, features, linear=found.get("is_linear") == "1")
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _check_nodes(arrays: Mapping[str, Any], leaves: int) -> None:
    """Leaves are numbers below zero, -1 the first. Raises ValueError unless the nodes are one tree."""
    import numpy

    inner = leaves - 1
    for name in ("left_child", "right_child"):
        require_inside(arrays[name], name, inner, -leaves)
    # Leaf l stands for node inner + l, behind all that have children.
    left, right = arrays["left_child"].copy(), arrays["right_child"].copy()
    for side in (left, right):
        side[side < 0] = inner - 1 - side[side < 0]
    met = met_nodes(numpy.arange(inner), left, right, inner + leaves)
    expect(bool(met.all()), "nodes that a way from the root leads to")


def _check_sets(arrays: Mapping[str, Any], sets: int) -> None:
    import numpy

    decisions = arrays["decision_type"]
    require_inside(decisions, "decision_type", 12)  # of categories or not, and of three kinds of missing
    chosen = arrays["threshold"][(decisions & 1) != 0]
    whole = bool((numpy.floor(chosen) == chosen).all() and ((chosen >= 0) & (chosen < sets)).all())
    expect(whole, f"thresholds that name one of {sets} sets")
    expect(all((sets > 0) == (name in arrays) for name in _SETS), "sets of categories where some are asked")
    if sets:
        bounds, words = arrays["cat_boundaries"], arrays["cat_threshold"]
        require_inside(words, "cat_threshold", 1 << 32)
        whole = len(bounds) == sets + 1 and bounds[0] == 0 and bounds[-1] == len(words)
        grows = whole and bool((bounds[1:] > bounds[:-1]).all())
        expect(grows, f"cat_boundaries that divide {len(words)} words into {sets} sets")


def _check_linear(arrays: Mapping[str, Any], leaves: int, features: int, *, linear: bool) -> None:
    expect(all(linear == (name in arrays) for name in _LINEAR), "coefficients of leaves where it is linear")
    if linear:
        counts, total = arrays["num_features"], len(arrays["leaf_features"])
        expect(len(arrays["leaf_const"]) == len(counts) == leaves, f"{leaves} leaf_const and num_features")
        require_inside(counts, "num_features", features + 1)
        expect(total == len(arrays["leaf_coeff"]) == int(counts.sum()), "leaf_features as num_features says")
        require_inside(arrays["leaf_features"], "leaf_features", features)


# --- numbers ---


def _number(found: Mapping[str, str], name: str, low: int, stop: int) -> int:
    number = int(found[name])
    expect(low <= number < stop, f"{name} from {low} to {stop - 1}", number)
    return number


def _array(text: str, form: str) -> Any:
    import numpy

    kind, dtype = (int, "i8") if form in (_INTS, _LINEAR["leaf_features"]) else (float, "f8")
    return numpy.array([*map(kind, text.split())], dtype)
