"""Trees that find neighbours: KDTree and BallTree of scikit-learn, with their metrics.

The nodes are ranges of one array of row numbers. Queries write what they find into room for every row once,
so that the two ranges below a node must be those of the node, without a rest and without a repetition.
"""

from __future__ import annotations

from typing import Any, Final

from packager.codecs import (
    StateCheck,
    attributes_of,
    require,
    require_array,
    require_int,
    require_permutation,
)
from packager.libraries.scipy.sparse_state import shape_of

_MOST: Final = 1 << 31
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

    def check_state(self, obj: Any, state: Any) -> None:
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

    def check_state(self, obj: Any, state: Any) -> None:
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

    def check_made(self, obj: Any) -> None:
        """Check an estimator that was fitted. Raises ValueError."""
        held = attributes_of(obj)
        if "_fit_X" not in held:
            return
        columns = require_int(held.get("n_features_in_"), "n_features_in_", 1, _MOST)
        rows = require_int(held.get("n_samples_fit_"), "n_samples_fit_", 1, _MOST)
        shape = shape_of(held["_fit_X"], "_fit_X")
        require(shape == (rows, columns), f"_fit_X has shape {list(shape)}, expected [{rows}, {columns}]")
        if "_y" in held:
            labels = shape_of(held["_y"], "_y")
            require(labels[:1] == (rows,), f"_y has shape {list(labels)}, and {rows} rows were fitted")
        tree: Any = held.get("_tree")
        if tree is not None:
            home = type(tree).__module__
            require(home in _TREES, f"_tree is a {type(tree).__name__}, no tree of scikit-learn")
            found = tuple(tree.data.shape)
            require(found == (rows, columns), f"_tree has data of shape {list(found)}")


CHECKS: Final = (BinaryTreeCheck(), MetricCheck(), NeighborsCheck())
