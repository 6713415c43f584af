"""Arguments of linear algebra, checked: matrices, square ones, and those that are Hermitian by promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError
from .dispatch import floating

if TYPE_CHECKING:
    from .tensor import Tensor


def matrix(where: str, value: Any) -> Tensor:
    """Return a tensor of two axes or more in a floating dtype. Raises ShapeError for fewer axes.

    >>> matrix("det", kellet.eye(2)).shape
    (2, 2)
    """
    if value._array.ndim < 2:
        raise ShapeError(
            f"linalg.{where}: The input tensor must have at least 2 dimensions, got {value._array.shape}"
        )
    return floating(value)  # type: ignore[no-any-return]  # a Tensor


def square_matrix(where: str, value: object) -> Tensor:
    """Return a tensor of square matrices in a floating dtype. Raises ShapeError for others.

    >>> square_matrix("det", kellet.eye(2)).shape
    (2, 2)
    """
    found = matrix(where, value)
    if found.shape[-2] != found.shape[-1]:
        raise ShapeError(
            f"linalg.{where}: A must be batches of square matrices, but they are {found.shape[-2]} by "
            f"{found.shape[-1]} matrices"
        )
    return found


def hermitian(where: str, value: object, uplo: str = "L") -> Tensor:
    """Return square matrices that are Hermitian; where they are not, one triangle stands for both.

    Differences of the size of rounding do not count.

    Raises ShapeError for matrices that are not square, ValueError for a triangle that is neither L nor U.

    >>> hermitian("eigh", kellet.tensor([[1.0, 9.0], [2.0, 1.0]])).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    found = square_matrix(where, value)
    if uplo.upper() not in ("L", "U"):
        raise ValueError(f"linalg.{where}: UPLO must be 'L' or 'U', got {uplo!r}")
    if _is_hermitian(found._array):
        return found
    half = found.tril(-1) if uplo.upper() == "L" else found.triu(1)
    diagonal = found.tril().triu()
    return half + half.mT.conj() + diagonal


def _is_hermitian(array: Any) -> bool:
    """Say so where a product such as `A @ A.mT` may have been rounded."""
    apart = np.abs(array - np.swapaxes(array, -1, -2).conj())
    rounding = 100 * np.finfo(array.dtype).eps * np.abs(array).max(initial=0)
    return bool((apart <= rounding).all())
