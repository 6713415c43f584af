"""The text that LightGBM writes of a model, checked line by line before the library reads it.

The library believes it: it follows children, takes sets of categories from where a threshold says, and cuts
the text into trees by the sizes that stand in its head. So the whole text is read here, by its own spelling
and no other: each tree lies where the sizes say, its arrays are as long as it has leaves, every node but
the root is the child of one node before it, and features are those of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from packager.archive import MAX_TREE_DEPTH
from packager.codecs import expect, require_tree

_MOST_LEAVES: Final = 1 << 24
_MOST_CLASSES: Final = 1 << 20
_INT: Final = r"-?[0-9]{1,19}"
_REAL: Final = r"-?(?:[0-9]{1,25}(?:\.[0-9]{1,25})?(?:e[+-]?[0-9]{1,3})?|inf|nan)"
_INTS: Final = re.compile(rf"(?:{_INT}(?: {_INT})*)?")
_REALS: Final = re.compile(rf"(?:{_REAL}(?: {_REAL})*)?")
# In lists of lists there are more spaces.
_LOOSE_INTS: Final = re.compile(rf" *(?:{_INT}(?: +{_INT})*)? *")
_LOOSE_REALS: Final = re.compile(rf" *(?:{_REAL}(?: +{_REAL})*)? *")

# The head of a model: names that must be there, and those that may.
_HEAD: Final = "version num_class num_tree_per_iteration label_index max_feature_idx".split()
_MAY_HEAD: Final = "objective average_output monotone_constraints".split()
_VERSIONS: Final = ("v2", "v3", "v4")
_INFO: Final = re.compile(rf"none|\[{_REAL}:{_REAL}\]|{_INT}(?::{_INT})*")
_OBJECTIVES: Final = """
    regression regression_l1 huber fair poisson quantile mape gamma tweedie binary multiclass multiclassova
    cross_entropy cross_entropy_lambda lambdarank rank_xendcg
""".split()
_OPTION: Final = re.compile(rf"sqrt|[a-z_]{{1,40}}:{_REAL}")
# What an objective computes with; by another number of classes it would write beside its room.
_CLASSES: Final = re.compile(r"num_class:([0-9]+)")
_WITH_CLASSES: Final = frozenset({"multiclass", "multiclassova"})
_PARAMETER: Final = re.compile(r"\[[a-z0-9_]+: [^\n\r\0]*\]")

_BITS_OF_DECISION: Final = 16
_CATEGORICAL: Final = 1
_MISSING: Final = 12  # of three kinds, in these bits
_WORD: Final = 1 << 32


def check_model(text: str) -> None:
    """Raise ValueError unless a text is a model as LightGBM writes it, and every index in it lies inside."""
    expect("\0" not in text and "\r" not in text, "a text without NUL and carriage returns")
    lines = text.split("\n")
    at, model = _head(lines)
    trees = model["tree_sizes"]
    expect(len(trees) % model["num_tree_per_iteration"] == 0, "whole iterations of trees")
    for number, size in enumerate(trees):
        at = _tree(lines, at, number, size, model["max_feature_idx"] + 1)
    _tail(lines, at)


def _head(lines: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the number of the line after the head, and what the head says."""
    expect(lines[0] == "tree", "'tree' as the first line")
    found: dict[str, str] = {}
    at = 1
    while at < len(lines) and lines[at]:
        name, sign, value = lines[at].partition("=")
        known = name in _HEAD or name in _MAY_HEAD or name in ("feature_names", "feature_infos", "tree_sizes")
        expect(known and name not in found, "each name of the head of a model once", name[:40])
        expect(bool(sign) == (name != "average_output"), f"a value of {name}")
        found[name] = value
        at += 1
    for name in (*_HEAD, "feature_names", "feature_infos", "tree_sizes"):
        expect(name in found, f"{name} in the head of a model")
    expect(found["version"] in _VERSIONS, f"version {' or '.join(_VERSIONS)}", found["version"][:10])
    classes = _number(found["num_class"], "num_class", 1, _MOST_CLASSES)
    rows = _number(found["num_tree_per_iteration"], "num_tree_per_iteration", 1, _MOST_CLASSES)
    expect(rows == classes, f"num_tree_per_iteration={classes}, as there are classes", rows)
    _number(found["label_index"], "label_index", 0, 1 << 31)
    last = _number(found["max_feature_idx"], "max_feature_idx", 0, (1 << 31) - 1)
    names = found["feature_names"].split(" ")
    expect(len(names) == last + 1, f"{last + 1} feature_names", len(names))
    infos = found["feature_infos"].split(" ")
    expect(len(infos) == last + 1, f"{last + 1} feature_infos", len(infos))
    expect(all(map(_INFO.fullmatch, infos)), "ranges or categories as feature_infos")
    if "monotone_constraints" in found:
        signs = _ints(found["monotone_constraints"], "monotone_constraints", -1, 2)
        expect(len(signs) == last + 1, f"{last + 1} monotone_constraints", len(signs))
    _check_objective(found.get("objective"), classes)
    sizes = _ints(found["tree_sizes"], "tree_sizes", 1, 1 << 62)
    # Two empty lines where there are no trees.
    return at + 1, {"num_tree_per_iteration": rows, "max_feature_idx": last, "tree_sizes": sizes}


def _check_objective(objective: str | None, classes: int) -> None:
    if objective is None:
        return
    name, *options = objective.split(" ")
    expect(name in _OBJECTIVES and all(map(_OPTION.fullmatch, options)), "a known objective", objective[:80])
    said = _CLASSES.findall(objective)
    if name in _WITH_CLASSES:
        expect(said == [str(classes)], f"num_class:{classes} of the objective", objective[:80])
    else:
        expect(not said and classes >= 1, "no classes of this objective", objective[:80])
        expect(classes == 1, "one class of this objective", classes)


# --- one tree ---

_ARRAYS: Final = {
    "split_feature": "ints",
    "split_gain": "reals",
    "threshold": "reals",
    "decision_type": "ints",
    "left_child": "ints",
    "right_child": "ints",
    "leaf_value": "reals",
    "leaf_weight": "reals",
    "leaf_count": "ints",
    "internal_value": "reals",
    "internal_weight": "reals",
    "internal_count": "ints",
}
_AT_LEAVES: Final = frozenset("leaf_value leaf_weight leaf_count".split())
_ORDER: Final = (
    *("num_leaves", "num_cat"),
    *_ARRAYS,
    *("cat_boundaries", "cat_threshold", "is_linear", "leaf_const", "num_features", "leaf_features"),
    *("leaf_coeff", "shrinkage"),
)
_PLACE: Final = {name: place for place, name in enumerate(_ORDER)}


def _tree(lines: Sequence[str], at: int, number: int, size: int, features: int) -> int:
    """Check the tree that begins at a line. Returns the number of the line after it."""
    what = f"tree {number}"
    expect(at < len(lines) and lines[at] == f"Tree={number}", f"Tree={number}")
    length, found, place = len(lines[at]) + 1, {}, -1
    at += 1
    while at < len(lines) and lines[at]:
        name, sign, value = lines[at].partition("=")
        known = bool(sign) and _PLACE.get(name, -1) > place
        expect(known and value.isascii(), f"the parts of {what} in their order", name[:40])
        found[name], place = value, _PLACE[name]
        length += len(lines[at]) + 1
        at += 1
    expect(lines[at : at + 2] == ["", ""], f"two empty lines after {what}")
    expect(length + 2 == size, f"{what} of {size} bytes, as tree_sizes says", length + 2)
    for name in ("num_leaves", "num_cat", *_ARRAYS, "shrinkage"):
        expect(name in found, f"{name} of {what}")
    _check_tree(found, what, features)
    return at + 2


def _check_tree(found: dict[str, str], what: str, features: int) -> None:
    leaves = _number(found["num_leaves"], f"num_leaves of {what}", 1, _MOST_LEAVES)
    sets = _number(found["num_cat"], f"num_cat of {what}", 0, leaves)
    _real(found["shrinkage"], f"shrinkage of {what}")
    arrays = {name: _array(found[name], f"{name} of {what}", kind) for name, kind in _ARRAYS.items()}
    for name, values in arrays.items():
        expected = leaves if name in _AT_LEAVES else leaves - 1
        # A tree that never split says its value alone.
        alone = leaves == 1 and name in ("leaf_weight", "leaf_count") and len(values) in (0, 1)
        expect(alone or len(values) == expected, f"{expected} numbers as {name} of {what}", len(values))
    _check_children(arrays["left_child"], arrays["right_child"], leaves, what)
    _inside(arrays["split_feature"], f"split_feature of {what}", features)
    _check_sets(found, arrays, sets, what)
    linear = _number(found.get("is_linear", "0"), f"is_linear of {what}", 0, 2)
    if linear:
        _check_linear(found, leaves, features, what)
    for name in ("leaf_const", "num_features", "leaf_features", "leaf_coeff"):
        expect(bool(linear) == (name in found), f"{name} in {what} where it is linear")


def _check_children(left: Any, right: Any, leaves: int, what: str) -> None:
    """Leaves are numbers below zero, -1 the first. Raises ValueError unless the nodes are one tree."""
    import numpy

    if leaves == 1:
        return
    inner = leaves - 1
    for children in (left, right):
        _inside(children, f"children of {what}", inner, -leaves)
    # Leaf l stands for node inner + l, behind all that have children.
    left, right = left.copy(), right.copy()
    for side in (left, right):
        side[side < 0] = inner - 1 - side[side < 0]
    try:
        require_tree(numpy.arange(inner), left, right, inner + leaves)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    _require_depth(left, right, inner, what)


def _require_depth(left: Any, right: Any, inner: int, what: str) -> None:
    """Raise ValueError for a tree so deep that the library, which calls itself, would run out of stack."""
    import numpy

    level, depth = numpy.zeros(1, numpy.int64), 0
    while level.size:
        expect(depth <= MAX_TREE_DEPTH, f"{what} of at most {MAX_TREE_DEPTH} levels")
        level = numpy.concatenate([left[level], right[level]])
        level, depth = level[level < inner], depth + 1


def _check_sets(found: dict[str, str], arrays: dict[str, Any], sets: int, what: str) -> None:
    import numpy

    decisions = arrays["decision_type"]
    _inside(decisions, f"decision_type of {what}", _BITS_OF_DECISION)
    expect(bool(((decisions & _MISSING) != _MISSING).all()), f"decision_type of {what} of a known kind")
    categorical = (decisions & _CATEGORICAL) != 0
    expect((sets > 0) == ("cat_boundaries" in found), f"cat_boundaries in {what} where there are sets")
    expect((sets > 0) == ("cat_threshold" in found), f"cat_threshold in {what} where there are sets")
    chosen = arrays["threshold"][categorical]
    whole = bool((numpy.floor(chosen) == chosen).all() and ((chosen >= 0) & (chosen < max(sets, 0))).all())
    expect(whole, f"thresholds of {what} that name one of its {sets} sets")
    if sets:
        bounds = _array(found["cat_boundaries"], f"cat_boundaries of {what}", "ints")
        words = _array(found["cat_threshold"], f"cat_threshold of {what}", "ints")
        _inside(words, f"cat_threshold of {what}", _WORD)
        whole = len(bounds) == sets + 1 and bounds[0] == 0 and bounds[-1] == len(words)
        grows = whole and bool((bounds[1:] > bounds[:-1]).all())
        expect(grows, f"cat_boundaries of {what} that divide its {len(words)} words into {sets} sets")


def _check_linear(found: dict[str, str], leaves: int, features: int, what: str) -> None:
    names = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")
    for name in names:
        expect(name in found, f"{name} of {what}")
    constants = _array(found["leaf_const"], f"leaf_const of {what}", "reals")
    counts = _array(found["num_features"], f"num_features of {what}", "ints")
    expect(
        len(constants) == leaves == len(counts), f"{leaves} numbers as leaf_const and num_features of {what}"
    )
    _inside(counts, f"num_features of {what}", features + 1)
    total = int(counts.sum())
    used = _loose(found["leaf_features"], f"leaf_features of {what}", _LOOSE_INTS, int)
    weights = _loose(found["leaf_coeff"], f"leaf_coeff of {what}", _LOOSE_REALS, float)
    expect(len(used) == total == len(weights), f"{total} numbers as leaf_features and leaf_coeff of {what}")
    _inside(used, f"leaf_features of {what}", features)


# --- what follows the trees ---


def _tail(lines: Sequence[str], at: int) -> None:
    """Check the end of a model: importances, parameters, and categories of pandas as JSON."""
    rest = iter(lines[at:])
    if next(rest, None) == "":  # there are no trees
        expect(next(rest, None) == "end of trees", "'end of trees'")
    else:
        expect(lines[at : at + 1] == ["end of trees"], "'end of trees'", "".join(lines[at : at + 1])[:40])
    expect(next(rest, None) == "" and next(rest, None) == "feature_importances:", "'feature_importances:'")
    for line in rest:
        if not line:
            break
        expect(re.fullmatch(rf"[^\n]*={_REAL}", line) is not None, "importances of features", line[:40])
    _parameters(rest)


def _parameters(rest: Iterator[str]) -> None:
    line = next(rest, None)
    if line == "parameters:":
        for line in rest:
            if not line:
                break
            expect(_PARAMETER.fullmatch(line) is not None, "parameters of a model", line[:40])
        expect(next(rest, None) == "end of parameters", "'end of parameters'")
        line = next(rest, None)
    if line == "":
        line = next(rest, None)
    categories = "pandas_categorical:"
    expect(line is not None and line.startswith(categories), "the categories of pandas at the end")
    _check_categories(str(line)[len(categories) :])
    expect(list(rest) in ([], [""]), "nothing behind the categories of pandas")


def _check_categories(text: str) -> None:
    from packager.codecs import parsed_json

    value = parsed_json(text)
    plain = value is None or (
        type(value) is list
        and all(
            type(column) is list and all(type(one) in (str, int, float, bool, type(None)) for one in column)
            for column in value
        )
    )
    expect(plain, "lists of names and numbers as categories of pandas")


# --- numbers ---


def _number(text: str, what: str, low: int, stop: int) -> int:
    fits = re.fullmatch(_INT, text) is not None
    expect(fits and low <= int(text) < stop, f"{what} from {low} to {stop - 1}", text[:40])
    return int(text)


def _real(text: str, what: str) -> None:
    expect(re.fullmatch(_REAL, text) is not None, f"a number as {what}", text[:40])


def _ints(text: str, what: str, low: int, stop: int) -> list[int]:
    expect(_INTS.fullmatch(text) is not None, f"ints as {what}", text[:40])
    found = [*map(int, text.split())]
    expect(all(low <= one < stop for one in found), f"{what} from {low} to {stop - 1}")
    return found


def _array(text: str, what: str, kind: str) -> Any:
    """Return the numbers of a line, separated by one space each, as an array."""
    pattern = _INTS if kind == "ints" else _REALS
    return _loose(text, what, pattern, int if kind == "ints" else float)


def _loose(text: str, what: str, pattern: re.Pattern[str], number: Any) -> Any:
    import numpy

    expect(pattern.fullmatch(text) is not None, f"numbers as {what}", text[:40])
    try:
        return numpy.array([*map(number, text.split())], numpy.int64 if number is int else numpy.float64)
    except OverflowError:
        raise ValueError(f"{what} has an int of more than 64 bits") from None


def _inside(values: Any, what: str, stop: int, low: int = 0) -> None:
    if len(values) and (values.min() < low or values.max() >= stop):
        raise ValueError(f"{what} from {values.min()} to {values.max()}, expected {low} to {stop - 1}")
