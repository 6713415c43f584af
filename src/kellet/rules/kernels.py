"""Kernels on arrays that several families share: selecting by masks, and sums of rows.

Masks select on the bits of floating numbers: exact, and as fast as a multiplication. `a * mask` would turn
infinity into NaN, and `np.where` takes ten times as long on a mask without order, because it branches at
every element. `np.sum` along short rows takes four times as long as the product with a vector of ones,
which goes through BLAS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# --- selecting by masks ---------------------------------------------------------------------------


INTEGER_OF_SIZE: dict[int, np.dtype[Any]] = {
    2: np.dtype(np.int16),
    4: np.dtype(np.int32),
    8: np.dtype(np.int64),
}


def keep(a: Any, mask: Array) -> Any:
    """Return `a` where the bool array `mask` is True, and zero elsewhere."""
    integer = _integer_for(a)
    if integer is None:
        return np.where(mask, a, a.dtype.type(0))
    bits = _all_bits(mask, integer)
    out = bits if bits.shape == a.shape and a.ndim else None
    return np.bitwise_and(a.view(integer), bits, out=out).view(a.dtype)


def choose(mask: Array, a: Any, b: Any) -> Any:
    """Return `a` where `mask` is True and `b` elsewhere; arrays or numbers, as `np.where` takes them."""
    integer = _integer_for(a) if isinstance(a, np.ndarray) else _integer_for(b)
    if integer is None:
        return np.where(mask, a, b)
    dtype = a.dtype if isinstance(a, np.ndarray) else b.dtype
    if isinstance(a, int | float):
        a = np.asarray(a, dtype)
    if isinstance(b, int | float):
        b = np.asarray(b, dtype)
    if a.dtype != b.dtype:
        return np.where(mask, a, b)
    first, second = a.view(integer), b.view(integer)
    changed = np.bitwise_and(np.bitwise_xor(first, second), _all_bits(mask, integer))
    return np.bitwise_xor(second, changed).view(dtype)


def _integer_for(a: Any) -> np.dtype[Any] | None:
    """The integer dtype of the same size, for arrays of real floating numbers."""
    if isinstance(a, np.ndarray) and a.dtype.kind == "f":
        return INTEGER_OF_SIZE.get(int(a.dtype.itemsize))
    return None


def _all_bits(mask: Any, integer: np.dtype[Any]) -> Any:
    """All bits set where True (the number -1), none where False."""
    return np.negative(mask.view(np.int8)).astype(integer)


# --- rows -----------------------------------------------------------------------------------------


def as_rows(a: Array, axes: int = 1) -> Any:
    """Return `a` as a matrix whose rows are its last `axes` axes."""
    split = a.ndim - axes
    return a.reshape(math.prod(a.shape[:split]), math.prod(a.shape[split:]))


def row_sums(matrix: Array) -> Any:
    """Return the sum of each row, as a column."""
    return matrix @ np.ones((matrix.shape[1], 1), dtype=matrix.dtype)


def row_dots(a: Array, b: Array) -> Any:
    """Return the sum of the products of each pair of rows, as a column."""
    return np.matmul(a[:, None, :], b[:, :, None])[:, 0]


def column_sums(matrix: Array) -> Any:
    """Return the sum of each column."""
    return np.ones(matrix.shape[0], dtype=matrix.dtype) @ matrix
