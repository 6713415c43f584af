"""Factors of matrices: QR, eigenvalues of Hermitian ones, singular values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from ..core.dispatch import NONE, apply_all
from ..core.matrix_arguments import hermitian, matrix, square_matrix
from ..dtypes import complex_partner
from ..errors import GradientError
from ..rules import RULES


class QR(NamedTuple):
    """Columns that are orthogonal, and a triangle."""

    Q: Tensor
    R: Tensor


class Eigen(NamedTuple):
    """Eigenvalues and the vectors that belong to them, as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class SVD(NamedTuple):
    """Singular values between two matrices of orthogonal columns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def qr(A: Tensor, mode: str = "reduced") -> QR:
    """Return Q, of orthogonal columns, and the upper triangle R with `A = Q @ R`.

    `mode` is "reduced"; or "complete", with a square Q; or "r", without Q. Signs are those that LAPACK finds.

    Raises ValueError for another mode, GradientError for a complete Q of a tall matrix that requires a
    gradient: it has no derivative.

    Source: torch.linalg.qr.

    >>> qr(kellet.tensor([[2.0, 0.0], [0.0, 3.0]])).R.abs().tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced', 'r', 'complete'"
        )
    found = matrix("qr", A)
    if mode != "complete" or found.shape[-2] <= found.shape[-1]:
        q, r = apply_all(RULES["qr"], (found,), NONE)
        return QR(q if mode != "r" else r.new_empty(0), r)
    if found.requires_grad:
        raise GradientError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols; use 'reduced'"
        )
    return QR(*(_tensor(one) for one in np.linalg.qr(found._array, "complete")))


def eigh(A: Tensor, UPLO: str = "L") -> Eigen:
    """Return the eigenvalues of Hermitian matrices, the smallest first, and their vectors, as columns.

    Of a matrix that is not Hermitian the triangle `UPLO` stands for both. Vectors of equal values have no
    derivative.

    Raises ShapeError for matrices that are not square, ValueError for another triangle.

    Source: torch.linalg.eigh.

    >>> eigh(kellet.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 3.])
    """
    return Eigen(*apply_all(RULES["eigh"], (hermitian("eigh", A, UPLO),), NONE))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues of `eigh`.

    >>> eigvalsh(kellet.tensor([[3.0, 0.0], [0.0, 1.0]]))
    tensor([1., 3.])
    """
    return eigh(A, UPLO).eigenvalues


def eig(A: Tensor) -> Eigen:
    """Return the complex eigenvalues of square matrices, and their vectors, as columns; without derivatives.

    Raises ShapeError for matrices that are not square, GradientError for one that requires a gradient.

    >>> eig(kellet.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.imag.abs()
    tensor([1., 1.])
    """
    found = square_matrix("eig", A)
    if found.requires_grad:
        raise GradientError("linalg.eig has no derivative here; detach() the matrix, or use eigh")
    kind = complex_partner(found._array.dtype) if found._array.dtype.kind != "c" else found._array.dtype
    return Eigen(*(_tensor(one.astype(kind)) for one in np.linalg.eig(found._array)))


def eigvals(A: Tensor) -> Tensor:
    """Return the eigenvalues of `eig`.

    >>> eigvals(kellet.tensor([[2.0, 0.0], [0.0, 2.0]])).real
    tensor([2., 2.])
    """
    return eig(A).eigenvalues


def svd(A: Tensor, full_matrices: bool = True) -> SVD:
    """Return U, the singular values, the largest first, and Vh, with `A = U @ diag(S) @ Vh`.

    With `full_matrices` U and Vh are square, and of a matrix that is not have no derivatives.

    Raises GradientError for that, where a gradient is required.

    Source: torch.linalg.svd.

    >>> svd(kellet.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    found = matrix("svd", A)
    if not full_matrices or found.shape[-2] == found.shape[-1]:
        return SVD(*apply_all(RULES["svd"], (found,), NONE))
    if found.requires_grad:
        raise GradientError(
            "linalg.svd: the columns that full_matrices adds have no derivative; pass full_matrices=False"
        )
    return SVD(*(_tensor(one) for one in np.linalg.svd(found._array)))


def svdvals(A: Tensor) -> Tensor:
    """Return the singular values of matrices, the largest first.

    >>> svdvals(kellet.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    return svd(A, full_matrices=False).S


def _tensor(array: object) -> Tensor:
    return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors
