"""Decision trees of scikit-learn, and the forests and boosted models that are made of them.

Their code in C follows children and features without a look at any bound, and a path of decisions is written
into as much room as the greatest depth says. A forest hands its input to each tree unchecked, so that all
trees must have the features of the forest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.codecs import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
    require_tree,
)

_MOST: Final = 1 << 31
_BITSET_WORDS: Final = 8
_SETS: Final = ("raw_left_cat_bitsets", "binned_left_cat_bitsets")


class TreeCheck(StateCheck):
    """`Tree`: its arguments, the arrays of its state, then the way from the root to every leaf."""

    types = ("sklearn.tree._tree:Tree",)

    def check_arguments(self, args: Sequence[Any]) -> None:
        """Check the numbers of features, classes and outputs. Raises ValueError."""
        if len(args) != 3:
            raise ValueError(f"a Tree is made from 3 arguments, found {len(args)}")
        features, classes, outputs = args
        require_int(features, "n_features", 1, _MOST)
        require_int(outputs, "n_outputs", 1, _MOST)
        require_array(classes, "n_classes", dtypes=("int64", "int32"), shape=(int(outputs),))
        for number in classes.tolist():
            require_int(number, "n_classes", 1, _MOST)

    def check_state(self, obj: Any, state: Any) -> None:
        """Check that there are as many nodes as are counted. Raises ValueError."""
        require(type(state) is dict, "the state of a Tree is no dict")
        nodes = require_array(state.get("nodes"), "nodes", kinds="V", shape=(None,))
        require_array(state.get("values"), "values", dtypes=("float64",), shape=(len(nodes), None, None))
        count = require_int(state.get("node_count"), "node_count", 1, _MOST)
        require(count == len(nodes), f"node_count is {count}, and there are {len(nodes)} nodes")
        require_int(state.get("max_depth"), "max_depth", 0, count)

    def check_made(self, obj: Any) -> None:
        """Check children, features and depth. Raises ValueError."""
        import numpy

        count = require_int(obj.node_count, "node_count", 1, _MOST)
        left, right = obj.children_left, obj.children_right
        inner = numpy.flatnonzero(left != -1)
        require_tree(inner, left[inner], right[inner], count)
        require_inside(obj.feature[inner], "feature", obj.n_features)
        # From here on following children is safe.
        depth = int(obj.compute_node_depths().max()) - 1
        require(obj.max_depth == depth, f"max_depth is {obj.max_depth}, and the deepest leaf is at {depth}")


class PredictorCheck(StateCheck):
    """One tree of histogram gradient boosting: nodes, and the sets of categories that they refer to."""

    types = ("sklearn.ensemble._hist_gradient_boosting.predictor:TreePredictor",)

    def check_made(self, obj: Any) -> None:
        """Check children and sets. Raises ValueError."""
        import numpy

        held = attributes_of(obj)
        nodes = _nodes_of(held)
        require(len(nodes) > 0, "nodes is empty")
        leaf, left, right, features, categorical, sets_used = (
            _field_of_all([nodes], name)
            for name in ("is_leaf", "left", "right", "feature_idx", "is_categorical", "bitset_idx")
        )
        inner = numpy.flatnonzero(leaf == 0)
        require_tree(inner, left[inner], right[inner], len(nodes))
        require_inside(features[inner], "feature_idx", _MOST)
        used = sets_used[inner][categorical[inner] != 0]
        for name in _SETS:
            sets = require_array(held.get(name), name, dtypes=("uint32",), shape=(None, _BITSET_WORDS))
            require_inside(used, "bitset_idx", len(sets))


class HistogramBoostingCheck(StateCheck):
    """Histogram gradient boosting: all predictors have the features and categories of the model."""

    types = ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting:BaseHistGradientBoosting",)

    def check_made(self, obj: Any) -> None:
        """Check a model that was fitted. Raises ValueError."""
        import numpy

        held = attributes_of(obj)
        if "_predictors" not in held:
            return
        count = require_int(held.get("_n_features"), "_n_features", 1, _MOST)
        categories = attributes_of(held.get("_bin_mapper")).get("is_categorical_")
        categorical = require_array(categories, "is_categorical_", kinds="biu", shape=(count,)) != 0
        rows = held["_predictors"]
        require(type(rows) is list and all(type(row) is list for row in rows), "_predictors are no lists")
        predictors = [predictor for row in rows for predictor in row]
        for predictor in predictors:
            _require_type(predictor, PredictorCheck.types[0])
        if not predictors:
            return
        # Of all trees at once: calls of NumPy cost more than the nodes of a small one.
        nodes = [_nodes_of(attributes_of(predictor)) for predictor in predictors]
        inner = _field_of_all(nodes, "is_leaf") == 0
        features = _field_of_all(nodes, "feature_idx")[inner]
        require_inside(features, "feature_idx", count)
        asked = features[_field_of_all(nodes, "is_categorical")[inner] != 0]
        known = bool(numpy.all(categorical[asked]))
        require(known, "a node asks for categories of a feature that has none")


def _nodes_of(held: dict[str, Any]) -> Any:
    return require_array(held.get("nodes"), "nodes", kinds="V", shape=(None,))


def _field_of_all(nodes: Sequence[Any], name: str) -> Any:
    """Return a field of the nodes of many trees, one after another.

    Raises ValueError for one that is no integer, or not the same in all trees.
    """
    import numpy

    fields = [one[name] for one in nodes]
    dtypes = {field.dtype for field in fields}
    require(
        len(dtypes) == 1 and dtypes.pop().kind in "biu",
        f"{name} of nodes is no integer, or of many dtypes",
    )
    return numpy.concatenate(fields)


def tree_of(value: Any) -> Any:
    """Return the part in C of a decision tree that was fitted. Raises ValueError for anything else."""
    held = attributes_of(value)
    require("tree_" in held, f"a {type(value).__qualname__} is no decision tree that was fitted")
    _require_type(held["tree_"], TreeCheck.types[0])
    return held["tree_"]


def require_first_predictions(init: Any, width: int) -> None:
    """Raise ValueError unless what predictions start from has a column for each class."""
    if width == 1 or (type(init) is str and init == "zero"):
        return
    name = f"{type(init).__module__}:{type(init).__qualname__}"
    if name != "sklearn.dummy:DummyClassifier":
        raise ValueError(
            f"init_ is a {name}, and whether it predicts {width} classes cannot be seen; expected 'zero' or "
            "a DummyClassifier"
        )
    held = attributes_of(init)
    _require_equal(held.get("n_classes_"), "n_classes_ of init_", width)
    _require_equal(held.get("n_outputs_"), "n_outputs_ of init_", 1)
    require_array(held.get("class_prior_"), "class_prior_ of init_", kinds="f", shape=(width,))


def require_features(tree: Any, features: Any) -> None:
    """Raise ValueError unless something is a decision tree over so many features."""
    _require_equal(features, "n_features_in_", tree_of(tree).n_features)


def _require_type(obj: Any, name: str) -> None:
    found = f"{type(obj).__module__}:{type(obj).__qualname__}"
    require(found == name, f"found an object of {found}, expected {name}")


def _require_equal(value: Any, what: str, expected: Any) -> None:
    fits = is_int(value) and int(value) == int(expected)
    require(fits, f"{what} is {value if is_int(value) else type(value).__name__}, expected {expected}")


CHECKS: Final = (
    TreeCheck(),
    PredictorCheck(),
    HistogramBoostingCheck(),
)
