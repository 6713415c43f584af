"""What is known of SciPy: sparse matrices, trees of points, splines, and functions that compute.

The nodes of a tree of points are ranges of one array of row numbers. Queries write what they find into room
for every row once, so that the two ranges below a node must be those of the node, without a rest and without
a repetition. Code in C reads as many coefficients of a spline as its knots and its degree ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager._audit import Row, Rows, checked, exact_dict, take_attributes
from packager._codecs import (
    Child,
    Library,
    Node,
    PartsCodec,
    StateCheck,
    attributes_of,
    met_nodes,
    require,
    require_array,
    require_inside,
    require_int,
    require_permutation,
    state_checks,
    stored_state,
    words,
)
from packager._libraries.families import ESTIMATOR, take_names
from packager._quick_dataclasses import replace

from . import sparse_state

_VALUES: Final = {
    "scipy.linalg": "cho_factor cho_solve cholesky det expm inv lstsq norm pinv qr solve sqrtm svd",
    "scipy.special": """
        boxcox digamma entr erf erfc erfcinv erfinv expit expm1 exp2 exp10 gamma gammaln inv_boxcox
        kl_div log_expit log_ndtr logit loggamma log1p log_softmax logsumexp ndtr ndtri softmax
        softplus xlog1py xlogy
    """,
    "scipy._lib.array_api_compat.numpy": "asarray",  # what a spline makes arrays with
}
_SPARSE: Final = """
    bsr_array bsr_matrix coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix
    dia_array dia_matrix dok_array dok_matrix lil_array lil_matrix
"""
_SPLINES: Final = {
    "scipy.interpolate": "Akima1DInterpolator BSpline CubicSpline PPoly PchipInterpolator",
    "scipy.interpolate._bsplines": "_BSpline",  # what a BSpline of SciPy 1.18 hands everything to
}


def _take_coordinates(made: Any, state: Any) -> None:
    """Take the attributes of a matrix; SciPy before 1.13 kept its coordinates in two of them."""
    names = dict(exact_dict(made, state))
    if "coords" not in names and {"row", "col"} <= names.keys():
        names["coords"] = (names.pop("row"), names.pop("col"))
    take_attributes(made, names)


# --- trees of points ---

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

    def stored_state(self, state: object) -> Any:
        """Return a state whose nodes hold no addresses, so that the same tree has the same bytes anywhere."""
        if type(state) is not tuple or getattr(state[0], "dtype", None) != "S1":
            return state  # of a class that gives another one; loading says what is wrong with it
        nodes = state[0].view(_NODE).copy()
        nodes["addresses"] = 0
        return (nodes.view("S1"), *state[1:])

    def check_state(self, obj: object, state: Any) -> None:
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
    require(bool(met_nodes(inner, less, greater, len(nodes)).all()), "nodes that no way leads to")
    start, end = nodes["start"], nodes["end"]
    halved = (start[inner] == start[less]) & (end[less] == start[greater]) & (end[greater] == end[inner])
    whole = start[0] == 0 and end[0] == rows
    require(
        whole and bool(halved.all()) and bool((start <= end).all()), "the nodes have ranges that do not fit"
    )
    require(not nodes["addresses"].any(), "the nodes hold addresses of another process, expected zeros")


# --- splines ---


class SplineCheck(StateCheck):
    """A spline of SciPy: as many coefficients as its knots and its degree ask for."""

    types = ("scipy.interpolate._bsplines:BSpline", "scipy.interpolate._bsplines:_BSpline")

    def check_made(self, obj: object) -> None:
        """Check a complete spline. Raises ValueError."""
        import numpy

        held = attributes_of(obj)
        if held.get("_delegate_to") is not None:  # SciPy 1.18: that is checked by itself
            inner = type(held["_delegate_to"])
            fits = (inner.__module__, inner.__qualname__) == ("scipy.interpolate._bsplines", "_BSpline")
            require(fits, "_delegate_to is no spline")
            return
        degree = require_int(held.get("k"), "k", 0, 1 << 16)
        knots = require_array(held.get("_t", held.get("t")), "t", dtypes=("float64",), shape=(None,))
        coefficients: Any = held.get("_c", held.get("c"))
        require(type(coefficients) is numpy.ndarray and coefficients.ndim > 0, "c is no array")
        require(coefficients.dtype.str[1:] in ("f8", "c16"), "c has another dtype than float64")
        count = len(knots) - degree - 1
        require(count > degree, f"t has {len(knots)} knots, expected at least {2 * degree + 2}")
        require(len(coefficients) >= count, f"c has {len(coefficients)} rows, expected {count}")
        sorted_finite = numpy.isfinite(knots).all() and (knots[1:] >= knots[:-1]).all()
        require(bool(sorted_finite), "t does not grow")


def _take_spline(made: Any, state: Any) -> None:
    """Take up the state of a BSpline: attributes, or from 1.18 on what computes, and an array.

    Raises ValueError for another one.
    """
    if type(state) is not tuple:
        take_names(made, state)
        return
    import numpy
    from scipy._lib._array_api import array_namespace
    from scipy.interpolate import _bsplines

    inner, empty = state if len(state) == 2 else (None, None)
    if type(inner) is not _bsplines._BSpline or type(empty) is not numpy.ndarray:
        raise ValueError("the state of BSpline is no spline of NumPy and an array")
    namespace = array_namespace(empty)
    attributes_of(made).update(_delegate_to=inner, _xp_internal=namespace, _xp=namespace)


CODECS: Final = (
    PartsCodec("scipy.kd_tree",
          tuple(f"scipy.spatial{home}" for home in _HOMES), " ".join(["scalar|numpy.ndarray"] * 10),
          "a kind of tree, and ten parts: arrays, ints and None",
          lambda obj: Node(type(obj).__name__, stored_state(type(obj), obj.__getstate__())), _tree,
          words(("KDTree", "cKDTree")), also=_are_plain, is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library(
    "scipy",
    "scipy",
    codecs=CODECS,
    rows=Rows(
        (Row("value"), _VALUES),
        (Row("create", kind=""), {"scipy.sparse": _SPARSE}),
        (
            Row(kind="sparse"),
            {"scipy.sparse": "coo_array coo_matrix csc_array csc_matrix csr_array csr_matrix"},
        ),
        (Row(takes_state=_take_coordinates), {"scipy.sparse": "coo_matrix"}),
        (replace(ESTIMATOR, kind=""), _SPLINES),  # a part of estimators, and none
        (Row(takes_state=_take_spline), {"scipy.interpolate": "BSpline"}),
        *checked((*sparse_state.CHECKS, SpatialTreeCheck(), SplineCheck())),
    ),
)
