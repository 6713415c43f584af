"""Sparse matrices and arrays of SciPy: every index inside the shape, whatever the format.

The code in C that multiplies and converts them reads and writes wherever an index says. What a flag claims
(sorted, without duplicates) must be true as well: methods choose their way by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from packager._codecs import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
)

_Held: TypeAlias = dict[str, Any]
_Shape: TypeAlias = tuple[int, ...]
_INDEX: Final = ("int32", "int64")
_NUMBERS: Final = "biufc"
_NO_SORT: Final = ("_has_sorted_indices", "has_sorted_indices")
_NO_DUPLICATES: Final = ("_has_canonical_format", "has_canonical_format")


class SparseCheck(StateCheck):
    """A format of sparse matrices: the shape, then what `check_parts` says of the attributes beside it."""

    def __init__(
        self, word: str, check_parts: Callable[[_Held, _Shape], object], ranks: _Shape = (2,)
    ) -> None:
        self.types = (f"scipy.sparse._{word}:_{word}_base",)  # type: ignore[misc]  # each format has its own
        self._check_parts, self._ranks = check_parts, ranks

    def check_made(self, obj: object) -> None:
        """Check a complete matrix. Raises ValueError."""
        held = attributes_of(obj)
        self._check_parts(held, _shape(held.get("_shape"), self._ranks))


def _rows(held: _Held, shape: _Shape) -> None:
    """CSR: where each row begins among the indices, then indices and values side by side."""
    rows, columns = (1, *shape)[-2:]
    count = _check_compressed(held, rows, columns)
    require_array(held.get("data"), "data", kinds=_NUMBERS, shape=(count,))


def _columns(held: _Held, shape: _Shape) -> None:
    """CSC: the same by columns."""
    _rows(held, shape[::-1])


def _blocks(held: _Held, shape: _Shape) -> None:
    """BSR: the same with blocks in the place of values, of a size that divides the shape."""
    data = require_array(held.get("data"), "data", kinds=_NUMBERS, shape=(None, None, None))
    _, height, width = data.shape
    divides = height > 0 and width > 0 and shape[0] % height == 0 and shape[1] % width == 0
    require(divides, f"blocks of {height} x {width} do not divide the shape {list(shape)}")
    count = _check_compressed(held, shape[0] // height, shape[1] // width)
    require(len(data) == count, f"data has {len(data)} blocks, expected {count}")


def _check_compressed(held: _Held, rows: int, columns: int) -> int:
    """Check where rows begin, the indices, and what is claimed of them; return how many there are."""
    begins = require_array(held.get("indptr"), "indptr", dtypes=_INDEX, shape=(rows + 1,))
    indices = require_array(held.get("indices"), "indices", dtypes=_INDEX, shape=(None,))
    steps = begins[1:] >= begins[:-1]
    require(int(begins[0]) == 0 and bool(steps.all()), "indptr does not begin at 0 and grow from row to row")
    used = int(begins[-1])
    require(used <= len(indices), f"indptr ends at {used}, and there are {len(indices)} indices")
    require_inside(indices, "indices", columns)
    unique, ordered = _is_claimed(held, _NO_DUPLICATES), _is_claimed(held, _NO_SORT)
    if used > 1 and (unique or ordered):
        grows = indices[1:used] > indices[: used - 1] if unique else indices[1:used] >= indices[: used - 1]
        inner = begins[(begins > 0) & (begins < used)] - 1
        grows[inner] = True
        claim = "has_canonical_format" if unique else "has_sorted_indices"
        require(bool(grows.all()), f"{claim} is claimed, and the indices of a row do not grow")
    return len(indices)


def _coordinates(held: _Held, shape: _Shape) -> None:
    """COO, of any number of dimensions: as many coordinates as values, each inside its extent."""
    coords = held.get("coords")
    fits = type(coords) is tuple and len(coords) == len(shape)
    require(fits, f"coords are no tuple of {len(shape)} arrays")
    data = require_array(held.get("data"), "data", kinds=_NUMBERS, shape=(None,))
    for axis, (values, extent) in enumerate(zip(coords, shape, strict=True)):  # type: ignore[arg-type]  # a tuple, as was required
        require_array(values, f"coords[{axis}]", dtypes=_INDEX, shape=(len(data),))
        require_inside(values, f"coords[{axis}]", extent)
    if _is_claimed(held, _NO_DUPLICATES):
        require(not _repeats(coords), "has_canonical_format is claimed, and coordinates are there twice")


def _repeats(coords: Any) -> bool:
    """Whether some coordinates occur twice; SciPy's own conversions leave them in either order."""
    import numpy

    order = numpy.lexsort(coords)
    same = [values[order][1:] == values[order][:-1] for values in coords]
    return bool(numpy.logical_and.reduce(same).any())


def _diagonals(held: _Held, shape: _Shape) -> None:
    """DIA: a row of values for each diagonal. Offsets may lie outside of the shape, if they can be added."""
    offsets = require_array(held.get("offsets"), "offsets", dtypes=_INDEX, shape=(None,))
    require_array(held.get("data"), "data", kinds=_NUMBERS, shape=(len(offsets), None))
    room = (1 << 31 if offsets.dtype.name == "int32" else 1 << 62) - max(shape)
    require_inside(offsets, "offsets", room, 1 - room)
    require(len(set(offsets.tolist())) == len(offsets), "offsets has the same diagonal twice")


def _lists(held: _Held, shape: _Shape) -> None:
    """LIL: for each row a list of columns, growing, and a list of values."""
    _require_numbers(held.get("dtype"))
    rows = require_array(held.get("rows"), "rows", kinds="O", shape=shape[:1])
    data = require_array(held.get("data"), "data", kinds="O", shape=shape[:1])
    for number, (columns, values) in enumerate(zip(rows.tolist(), data.tolist(), strict=True)):
        pair = type(columns) is list and type(values) is list and len(columns) == len(values)
        require(pair, f"row {number} is not a list of columns beside a list of as many values")
        for column in columns:
            require_int(column, f"a column of row {number}", 0, shape[1])
        grows = all(left < right for left, right in pairwise(columns))
        require(grows, f"the columns of row {number} do not grow")
        require(all(map(_is_number, values)), f"row {number} has values that are no numbers")


def _keys(held: _Held, shape: _Shape) -> None:
    """DOK: a dict of values by coordinates. Matrices of it are made of the coordinates as they are."""
    _require_numbers(held.get("dtype"))
    values: Any = held.get("_dict")
    require(type(values) is dict, f"_dict is a {type(values).__name__}, not a dict")
    for key, value in values.items():
        parts = key if type(key) is tuple else (key,)
        require(
            len(parts) == len(shape) and (len(shape) > 1) == (type(key) is tuple), "a key of another rank"
        )
        for part, extent in zip(parts, shape, strict=True):
            require_int(part, "a coordinate", 0, extent)
        require(_is_number(value), "a value that is no number")


def _shape(shape: Any, ranks: tuple[int, ...]) -> tuple[int, ...]:
    whole = type(shape) is tuple and all(is_int(extent) and 0 <= extent < 1 << 63 for extent in shape)
    if not whole or len(shape) not in ranks:
        shown = str(shape)[:80] if whole or shape is None else f"a {type(shape).__name__}"
        raise ValueError(f"the shape of a sparse matrix is {shown}, not {ranks[0]} or more extents")
    return tuple(map(int, shape))


def _is_claimed(held: _Held, names: Sequence[str]) -> bool:
    """Whether one of these flags is set. Raises ValueError for one that is neither true nor false."""
    flags = [held[name] for name in names if held.get(name) is not None]
    for flag in flags:
        if not _is_number(flag):
            raise ValueError(f"{' or '.join(names)} is a {type(flag).__name__}, not true or false")
    return any(flags)


def _require_numbers(dtype: Any) -> None:
    import numpy

    require(isinstance(dtype, numpy.dtype) and dtype.kind in _NUMBERS, "dtype is none of numbers")


def _is_number(value: Any) -> bool:
    import numpy

    plain = type(value) in (bool, int, float, complex)
    return plain or (isinstance(value, (numpy.number, numpy.bool_)) and type(value).__module__ == "numpy")


def shape_of(value: object, what: str) -> tuple[int, ...]:
    """Return the shape of an array of NumPy's own class, or of a sparse matrix of SciPy.

    Raises ValueError for anything else, which is asked for nothing: a shape of its own may never end.
    """
    import numpy

    if type(value) is numpy.ndarray:
        return tuple(value.shape)
    is_sparse = type(value).__module__.startswith("scipy.sparse.")
    shape = attributes_of(value).get("_shape") if is_sparse else None
    if type(shape) is not tuple or not all(map(is_int, shape)):
        raise ValueError(f"{what} is a {type(value).__name__}, not an array or a sparse matrix")
    return tuple(map(int, shape))


CHECKS: Final = (
    SparseCheck("csr", _rows, (1, 2)),
    SparseCheck("csc", _columns),
    SparseCheck("bsr", _blocks),
    SparseCheck("coo", _coordinates, tuple(range(1, 65))),
    SparseCheck("dia", _diagonals),
    SparseCheck("lil", _lists),
    SparseCheck("dok", _keys, (1, 2)),
)
