"""Trees of points of SciPy: the codec for them, and the check that looks at their state first.

Nodes are ranges of one array of row numbers. Queries write what they find into room for every row once, so
that the two ranges below a node must be those of the node, without a rest and without a repetition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.archive import MAX_TREE_DEPTH
from packager.codecs import (
    Child,
    Node,
    Parts,
    StateCheck,
    require,
    require_array,
    require_inside,
    require_int,
    require_permutation,
    require_tree,
    state_checks,
    stored_state,
    words,
)

_MOST: Final = 1 << 31
_HOMES: Final = ("._ckdtree:cKDTree", "._kdtree:KDTree", ":cKDTree", ":KDTree")


def _tree(kind: str, *parts: Any) -> Any:
    from scipy import spatial

    cls = getattr(spatial, kind)
    made = cls.__new__(cls)
    for check in state_checks(cls):
        check.check_state(made, parts)
    made.__setstate__(parts)
    return made


def _are_plain(kind: str, children: Sequence[Child]) -> bool:
    return all(child.codec or type(child.value) in (int, type(None)) for child in children)


CODECS: Final = (
    Parts("scipy.kd_tree",
          tuple(f"scipy.spatial{home}" for home in _HOMES), " ".join(["scalar|numpy.ndarray"] * 10),
          "a kind of tree, and ten parts: arrays, ints and None",
          lambda obj: Node(type(obj).__name__, stored_state(type(obj), obj.__getstate__())), _tree,
          words(("KDTree", "cKDTree")), also=_are_plain, is_data="library"),
)  # fmt: skip

# --- the state ---

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
            require_permutation(order, "indices")
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


CHECKS: Final = (SpatialTreeCheck(),)
