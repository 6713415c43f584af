"""Trees that find neighbours: KDTree and BallTree of scikit-learn with their metrics, KDTree of SciPy.

The nodes are ranges of one array of row numbers. Queries write what they find into room for every row once,
so that the two ranges below a node must be those of the node, without a rest and without a repetition.
"""

from __future__ import annotations

from typing import Any, Final

from packager.archive import MAX_TREE_DEPTH

from .c_state import (
    StateCheck,
    attributes_of,
    require,
    require_array,
    require_inside,
    require_int,
    require_tree,
    shape_of,
)

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
        _require_permutation(order, "idx_array")
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


def _require_permutation(values: Any, what: str) -> None:
    """Raise ValueError unless an array has every number from 0 to its length once."""
    import numpy

    require_inside(values, what, len(values))
    require(int(numpy.bincount(values).max()) == 1, f"{what} has a row twice")


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


# --- SciPy ---

_SMALLEST_BOX: Final = 1e-100

# A node in memory: dimension (-1 for a leaf), count, split, range, two addresses, and two numbers of nodes,
# from which SciPy makes the addresses anew.
_NODE: Final = [
    ("split_dim", "<i8"),
    ("children", "<i8"),
    ("split", "<f8"),
    ("start", "<i8"),
    ("end", "<i8"),
    ("addresses", "<i8", (2,)),
    ("less", "<i8"),
    ("greater", "<i8"),
]


class SpatialTreeCheck(StateCheck):
    """KDTree and cKDTree of SciPy: nodes as bytes, which are followed while the state is taken up."""

    types = ("scipy.spatial._ckdtree:cKDTree",)

    def stored_state(self, state: Any) -> Any:
        """Return a state whose nodes hold no addresses, so that the same tree has the same bytes anywhere."""
        if type(state) is not tuple or getattr(state[0], "dtype", None) != "S1":
            return state  # of a class that gives another one; loading says what is wrong with it
        nodes = state[0].view(_NODE).copy()
        nodes["addresses"] = 0
        return (nodes.view("S1"), *state[1:])

    def check_state(self, obj: Any, state: Any) -> None:
        """Check the state of a tree. Raises ValueError."""
        import numpy

        require(type(state) is tuple and len(state) == 10, "the state of a KDTree has 10 parts")
        buffer, data, rows, columns, leaf_size, most, least, order, box, box_data = state
        require_int(rows, "n", 0, _MOST)
        require_int(columns, "m", 1, _MOST)
        require_int(leaf_size, "leafsize", 1, 1 << 62)
        _plain(data, "data", (rows, columns))
        _plain(most, "maxes", (columns,))
        _plain(least, "mins", (columns,))
        require_array(order, "indices", dtypes=("int64",), shape=(rows,))
        require(order.flags.c_contiguous, "indices has gaps")
        require((box is None) == (box_data is None), "boxsize without boxsize_data")
        if box is not None:
            _plain(box, "boxsize", (columns,))
            _plain(box_data, "boxsize_data", (2 * columns,))
            _require_box(box, box_data)
        if rows:
            _require_permutation(order, "indices")
        raw = require_array(buffer, "the nodes", kinds="SVui", shape=(None,))
        whole = raw.flags.c_contiguous and raw.nbytes % numpy.dtype(_NODE).itemsize == 0 and raw.nbytes > 0
        require(raw.dtype.itemsize == 1 and whole, "the nodes are not whole ones")
        _require_nodes(raw.view(numpy.uint8).view(_NODE), rows, columns)

    def check_made(self, obj: Any) -> None:
        """Check that a tree was given a state. Raises ValueError."""
        import numpy

        require(
            type(obj.data) is numpy.ndarray and type(obj.indices) is numpy.ndarray, "a KDTree without state"
        )


def _require_box(box: Any, both: Any) -> None:
    """Raise ValueError unless a periodic box is one by which places can be divided.

    SciPy moves each place into the box, and goes on for ever where that is smaller than what it can count.
    """
    import numpy

    sizes = bool(((box == 0) | ((box >= _SMALLEST_BOX) & numpy.isfinite(box))).all())
    require(sizes, f"boxsize is neither 0 nor at least {_SMALLEST_BOX}")
    halved = numpy.concatenate([box, box / 2])
    require(bool((both == halved).all()), "boxsize_data is not boxsize and its half")


def _plain(value: Any, what: str, shape: tuple[int, ...]) -> None:
    require_array(value, what, dtypes=("float64",), shape=shape)
    require(value.flags.c_contiguous, f"{what} has gaps")


def _require_nodes(nodes: Any, rows: int, columns: int) -> None:
    """Raise ValueError unless nodes are a tree in which each pair of ranges is the one above it."""
    import numpy

    require_inside(nodes["split_dim"], "split_dim", columns, -1)
    inner = numpy.flatnonzero(nodes["split_dim"] != -1)
    less, greater = nodes["less"][inner], nodes["greater"][inner]
    require_tree(inner, less, greater, len(nodes))
    _require_depth(inner, less, greater, len(nodes))
    start, end = nodes["start"], nodes["end"]
    halved = (start[inner] == start[less]) & (end[less] == start[greater]) & (end[greater] == end[inner])
    whole = start[0] == 0 and end[0] == rows
    require(
        whole and bool(halved.all()) and bool((start <= end).all()), "the nodes have ranges that do not fit"
    )
    require(not nodes["addresses"].any(), "the nodes hold addresses of another process, expected zeros")


def _require_depth(inner: Any, less: Any, greater: Any, count: int) -> None:
    """Raise ValueError for a tree so deep that walking it, which calls itself, would run out of stack."""
    import numpy

    below = numpy.zeros((2, count), numpy.int64)
    below[0, inner], below[1, inner] = less, greater
    level, depth = numpy.zeros(1, numpy.int64), 0
    while level.size:
        require(depth <= MAX_TREE_DEPTH, f"the tree is {depth} nodes deep, expected at most {MAX_TREE_DEPTH}")
        level = below[:, level].ravel()
        level, depth = level[level > 0], depth + 1


CHECKS: Final = (BinaryTreeCheck(), MetricCheck(), NeighborsCheck(), SpatialTreeCheck())
