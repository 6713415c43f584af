"""State that code in C of scikit-learn trusts, where no row of relations can say it.

*Decision trees*: children and features are followed without a look at any bound, and a path of decisions is
written into as much room as the greatest depth says. *Trees of neighbours*: nodes are ranges of one array of
row numbers; queries write what they find into room for every row once, so that the two ranges below a node
must be those of the node, without a rest and without a repetition. *Support vectors*: libsvm is handed
addresses and counts, by the kind of machine and of kernel. Found by giving every estimator arrays that are
too short, with nothing readable behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

from packager._codecs import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
    require_permutation,
    require_tree,
)
from packager._libraries.scipy.sparse_state import shape_of

_MOST: Final = 1 << 31

# --- decision trees, and what is made of them ---

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

    def check_state(self, obj: object, state: Any) -> None:
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

    def check_made(self, obj: object) -> None:
        """Check children and sets. Raises ValueError."""
        import numpy

        held, nodes = attributes_of(obj), _nodes_of(obj)
        require(len(nodes) > 0, "nodes is empty")
        leaf, left, right, features, categorical, sets_used = (
            _field(nodes, name)
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

    def check_made(self, obj: object) -> None:
        """Check a model that was fitted. Raises ValueError."""
        held = attributes_of(obj)
        if "_predictors" not in held:
            return
        count = require_int(held.get("_n_features"), "_n_features", 1, _MOST)
        categories = attributes_of(held.get("_bin_mapper")).get("is_categorical_")
        categorical = require_array(categories, "is_categorical_", kinds="biu", shape=(count,)) != 0
        rows = held["_predictors"]
        require(type(rows) is list and all(type(row) is list for row in rows), "_predictors are no lists")
        for predictor in chain.from_iterable(rows):
            _require_type(predictor, PredictorCheck.types[0])
            nodes = _nodes_of(predictor)
            inner = _field(nodes, "is_leaf") == 0
            features = _field(nodes, "feature_idx")[inner]
            require_inside(features, "feature_idx", count)
            asked = features[_field(nodes, "is_categorical")[inner] != 0]
            known = bool(categorical[asked].all())
            require(known, "a node asks for categories of a feature that has none")


def _nodes_of(predictor: Any) -> Any:
    return require_array(attributes_of(predictor).get("nodes"), "nodes", kinds="V", shape=(None,))


def _field(nodes: Any, name: str) -> Any:
    """Return a field of all nodes. Raises ValueError for one that is no integer."""
    found = nodes[name]
    require(found.dtype.kind in "biu", f"{name} of nodes is no integer")
    return found


def tree_of(value: object) -> Any:
    """Return the part in C of a decision tree that was fitted. Raises ValueError for anything else."""
    held = attributes_of(value)
    require("tree_" in held, f"a {type(value).__qualname__} is no decision tree that was fitted")
    _require_type(held["tree_"], TreeCheck.types[0])
    return held["tree_"]


def require_first_predictions(init: object, width: int) -> None:
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


def require_features(tree: object, features: object) -> None:
    """Raise ValueError unless something is a decision tree over so many features."""
    _require_equal(features, "n_features_in_", tree_of(tree).n_features)


def _require_type(obj: Any, name: str) -> None:
    found = f"{type(obj).__module__}:{type(obj).__qualname__}"
    require(found == name, f"found an object of {found}, expected {name}")


def _require_equal(value: Any, what: str, expected: Any) -> None:
    fits = is_int(value) and int(value) == int(expected)
    require(fits, f"{what} is {value if is_int(value) else type(value).__name__}, expected {expected}")


# --- trees of neighbours, and their metrics ---

_FLOATS: Final = ("float64", "float32")
_METRICS: Final = "sklearn.metrics._dist_metrics"
_TREES: Final = ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree")
# How many points stand for the bounds of a node: two corners, or a centre.
_BOUNDS: Final = {"_kd_tree": 2, "_ball_tree": 1}


class BinaryTreeCheck(StateCheck):
    """KDTree and BallTree: the parts of their state, and how the parts fit."""

    types = tuple(
        f"sklearn.neighbors.{module}:BinaryTree{bits}"
        for module in ("_kd_tree", "_ball_tree")
        for bits in ("64", "32")
    )

    def check_state(self, obj: object, state: Any) -> None:
        """Check the state of a tree. Raises ValueError."""
        require(type(state) is tuple and len(state) == 13, "the state of a tree of neighbours has 13 parts")
        data, order, nodes, bounds, leaf_size, levels, count, *counters, metric, weights = state
        rows, columns = require_array(data, "data", dtypes=_FLOATS, shape=(None, None)).shape
        require(rows > 0 and columns > 0, "data is empty")
        for value in counters:
            require_int(value, "a counter", -_MOST, _MOST)
        require_int(leaf_size, "leaf_size", 1, 1 << 62)
        require_int(levels, "n_levels", 1, 63)
        require_int(count, "n_nodes", 1, _MOST)
        require(count == 2**levels - 1, f"n_nodes is {count}, and {levels} levels have {2**levels - 1}")
        require_array(order, "idx_array", dtypes=("int64", "int32"), shape=(rows,))
        require_permutation(order, "idx_array")
        require_array(nodes, "node_data", kinds="V", shape=(count,))
        _require_ranges(nodes, rows)
        kind = type(obj).__module__.rpartition(".")[2]
        require_array(bounds, "node_bounds", dtypes=(data.dtype.name,), shape=(_BOUNDS[kind], count, columns))
        if weights is not None:
            require_array(weights, "sample_weight", dtypes=_FLOATS, shape=(rows,))
        _require_metric(metric, data)

    def check_made(self, obj: Any) -> None:
        """Check a tree again when its metric is complete. Raises ValueError, also for one without a state."""
        self.check_state(obj, obj.__getstate__())


def _require_ranges(nodes: Any, rows: int) -> None:
    """Raise ValueError unless the first range holds all rows, and each other pair is the one above it."""
    require(nodes.dtype.names == ("idx_start", "idx_end", "is_leaf", "radius"), "node_data has other fields")
    kinds = [nodes.dtype[name].kind for name in nodes.dtype.names]
    require(kinds == ["i", "i", "i", "f"], "node_data has fields that are no numbers")
    start, end, leaf = (nodes[name] for name in nodes.dtype.names[:3])
    inner = len(nodes) // 2
    require(bool(leaf[inner:].all()) and not leaf[:inner].any(), "node_data has leaves that are none")
    left, right = slice(1, None, 2), slice(2, None, 2)
    whole = start[0] == 0 and end[0] == rows
    halved = (start[:inner] == start[left]) & (end[left] == start[right]) & (end[right] == end[:inner])
    require(
        whole and bool(halved.all()) and bool((start <= end).all()), "node_data has ranges that do not fit"
    )


def _require_metric(metric: Any, data: Any) -> None:
    """Raise ValueError unless a metric is one of scikit-learn's own, and measures this data."""
    name = type(metric).__qualname__
    require(type(metric).__module__ == _METRICS, f"the metric is a {name}, none of scikit-learn's own")
    bits = "64" if data.dtype.name == "float64" else "32"
    require(
        name.endswith(bits) and not name.startswith("PyFunc"), f"the metric {name} does not take {data.dtype}"
    )
    metric._validate_data(data)


class MetricCheck(StateCheck):
    """A metric of scikit-learn: the weights or the matrix by which it measures."""

    types = (f"{_METRICS}:DistanceMetric",)

    def check_state(self, obj: object, state: Any) -> None:
        """Check the state of a metric. Raises ValueError."""
        require(type(state) is tuple and len(state) >= 3, "the state of a metric has three parts")
        require(type(state[0]) in (float, int), "the order of a metric is no number")
        require_array(state[1], "the weights of a metric", dtypes=("float64",), shape=(None,))
        matrix = require_array(state[2], "the matrix of a metric", dtypes=("float64",), shape=(None, None))
        require(matrix.shape[0] == matrix.shape[1], f"the matrix of a metric has shape {list(matrix.shape)}")

    def check_made(self, obj: Any) -> None:
        """Give a metric its own state: one that never got any would write into room that it does not have."""
        state = obj.__getstate__()
        self.check_state(obj, state)
        obj.__setstate__(state)


class NeighborsCheck(StateCheck):
    """Estimators of neighbours: the rows that were fitted, as wide as what is compared with them."""

    types = ("sklearn.neighbors._base:NeighborsBase",)

    def check_made(self, obj: object) -> None:
        """Check an estimator that was fitted. Raises ValueError."""
        held = attributes_of(obj)
        if "_fit_X" not in held:
            return
        columns = require_int(held.get("n_features_in_"), "n_features_in_", 1, _MOST)
        rows = require_int(held.get("n_samples_fit_"), "n_samples_fit_", 1, _MOST)
        shape = shape_of(held["_fit_X"], "_fit_X")
        require(shape == (rows, columns), f"_fit_X has shape {list(shape)}, expected [{rows}, {columns}]")
        metric = held.get("effective_metric_")
        if type(metric) is not str or metric != "nan_euclidean":  # a row without a distance has no number
            _require_finite(held["_fit_X"], "_fit_X")
        _require_distances(held.get("effective_metric_params_"))
        if "_y" in held:
            labels = shape_of(held["_y"], "_y")
            require(labels[:1] == (rows,), f"_y has shape {list(labels)}, and {rows} rows were fitted")
        tree: Any = held.get("_tree")
        if tree is not None:
            home = type(tree).__module__
            require(home in _TREES, f"_tree is a {type(tree).__name__}, no tree of scikit-learn")
            found = tuple(tree.data.shape)
            require(found == (rows, columns), f"_tree has data of shape {list(found)}")


def _require_distances(params: Any) -> None:
    """Raise ValueError for numbers by which a distance is none: an order, variances, weights."""
    import numpy

    held = params if type(params) is dict else {}
    order = held.get("p", 1)
    is_number = type(order) in (int, float) or isinstance(order, numpy.number)
    require(is_number and bool(order > 0), "p of effective_metric_params_ is no number above 0")
    for name, least in (("V", numpy.nextafter(0, 1)), ("w", 0)):
        values = held.get(name)
        if values is None or (type(values) is numpy.ndarray and values.ndim == 2):
            continue  # a covariance, which is no variance of each column
        what = f"{name} of effective_metric_params_"
        found = require_array(values, what, kinds="iuf", shape=(None,))
        require(bool((found >= least).all()), f"{what} has numbers below 0")


def _require_finite(values: Any, what: str) -> None:
    import numpy

    found = values if type(values) is numpy.ndarray else values.data  # of a sparse matrix
    expected = found.dtype.kind not in "fc" or bool(numpy.isfinite(found).all())
    require(expected, f"{what} has numbers that are not finite")


# --- support vectors ---

_CLASSIFIERS: Final = ("c_svc", "nu_svc")
_KINDS: Final = (*_CLASSIFIERS, "one_class", "epsilon_svr", "nu_svr")


class SupportVectorCheck(StateCheck):
    """SVC, SVR and their kin: as many support vectors and coefficients as libsvm counts."""

    types = ("sklearn.svm._base:BaseLibSVM",)

    def check_made(self, obj: Any) -> None:
        """Check a model that was fitted. Raises ValueError."""
        held = attributes_of(obj)
        if "support_" not in held and "_n_support" not in held:
            return
        kind = obj._impl
        require(type(kind) is str and kind in _KINDS, "_impl names no kind of support vector machine")
        vectors = require_array(held.get("support_"), "support_", dtypes=("int32",), shape=(None,))
        counts = require_array(held.get("_n_support"), "_n_support", dtypes=("int32",), shape=(None,))
        classes, count = len(counts), len(vectors)
        require(classes > 1 if kind in _CLASSIFIERS else classes == 2, f"_n_support has {classes} classes")
        require_inside(counts, "_n_support", _MOST)
        total = int(counts.sum(dtype="int64") if kind in _CLASSIFIERS else counts[0])
        require(total == count, f"_n_support counts {total} support vectors, and support_ has {count}")
        pairs = classes * (classes - 1) // 2
        require_array(held.get("_intercept_"), "_intercept_", dtypes=("float64",), shape=(pairs,))
        # libsvm reads them where it is told so.
        chances = held.get("_effective_probability", held.get("probability"))
        has_chances = chances is not None and chances is not False and type(chances) is not str
        for name in ("_probA", "_probB"):
            found = require_array(held.get(name), name, dtypes=("float64",), shape=(None,))
            wanted = f"{pairs}" if has_chances else f"none or {pairs}"
            fits = len(found) == pairs or not (len(found) or has_chances)
            require(fits, f"{name} has {len(found)} values, expected {wanted}")
        fitted = held.get("shape_fit_")
        is_given = callable(
            held.get("kernel")
        )  # then it takes what rows it likes, and these are counted alone
        require(
            type(fitted) is tuple and len(fitted) in ((1, 2) if is_given else (2,)), "shape_fit_ is no shape"
        )
        rows = require_int(fitted[0], "shape_fit_[0]", 1, _MOST)  # type: ignore[index]  # a tuple, as was required
        require_inside(vectors, "support_", rows)
        require(type(held.get("_sparse")) is bool, "_sparse is no bool")
        columns = 0 if is_given else require_int(held.get("n_features_in_"), "n_features_in_", 1, _MOST)
        form = _check_sparse if held["_sparse"] else _check_dense
        form(held, classes, count, columns)


def _check_dense(held: dict[str, Any], classes: int, count: int, columns: int) -> None:
    coefficients = held.get("_dual_coef_")
    require_array(coefficients, "_dual_coef_", dtypes=("float64",), shape=(classes - 1, count))
    # Not needed where the kernel is computed by the caller, and then left out.
    kernel, vectors = held.get("kernel"), held.get("support_vectors_")
    left_out = kernel == "precomputed" if type(kernel) is str else callable(kernel)
    shape = (0, 0) if left_out and 0 in shape_of(vectors, "support_vectors_") else (count, columns)
    require_array(vectors, "support_vectors_", dtypes=("float64",), shape=shape)


def _check_sparse(held: dict[str, Any], classes: int, count: int, columns: int) -> None:
    """Sparse ones hold CSR matrices, whose own state is checked by itself."""
    kernel = held.get("kernel")
    require(type(kernel) is str and kernel != "precomputed", "a sparse model has a kernel that is computed")
    vectors = _csr(held.get("support_vectors_"), "support_vectors_", (count, columns))
    require(len(vectors["indptr"]) == count + 1, "support_vectors_ has other rows")
    values = _csr(held.get("_dual_coef_"), "_dual_coef_", (classes - 1, count))["data"]
    require_array(values, "_dual_coef_.data", dtypes=("float64",), shape=((classes - 1) * count,))


def _csr(value: Any, what: str, shape: tuple[int, int]) -> dict[str, Any]:
    held = attributes_of(value)
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    fits = kind in ("scipy.sparse._csr:csr_matrix", "scipy.sparse._csr:csr_array")
    fits = fits and shape_of(value, what) == shape
    require(fits, f"{what} is no CSR matrix of shape {list(shape)}")
    return held


CHECKS: Final = (
    TreeCheck(),
    PredictorCheck(),
    HistogramBoostingCheck(),
    BinaryTreeCheck(),
    MetricCheck(),
    NeighborsCheck(),
    SupportVectorCheck(),
)
