"""Equations: inverses, solutions, least squares, and products of several matrices or of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from ..core import chain_matmul as _product
from ..core import cross as _cross
from ..core import inverse as _inverse
from ..core.dispatch import NONE, apply, require_one_dtype
from ..core.matrix_arguments import matrix, square_matrix
from ..dtypes import dtype_name, finfo_dtype, is_differentiable
from ..errors import DTypeError, ShapeError
from ..rules import RULES


class LeastSquares(NamedTuple):
    """The result of `lstsq`."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def inv(A: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Raises ShapeError for matrices that are not square, LinAlgError for one without an inverse.

    >>> inv(kellet.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _inverse(A)


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Return X with `A @ X = B` (or `X @ A = B` where not `left`); B is a vector, or matrices.

    Raises ShapeError where the shapes do not fit, LinAlgError for an A that has no inverse, DTypeError for
    matrices of different dtypes.

    Source: torch.linalg.solve.

    >>> solve(kellet.tensor([[2.0, 0.0], [0.0, 4.0]]), kellet.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    factor = square_matrix("solve", A)
    require_one_dtype("solve", factor, B)
    vector = B._array.ndim == 1 or B._array.shape == A._array.shape[:-1]
    if not left:
        return B @ inv(factor) if vector else solve(factor.mT, B.mT).mT
    columns = B.unsqueeze(-1) if vector else B
    if columns.shape[-2] != factor.shape[-1]:
        raise ShapeError(f"linalg.solve: B of shape {B.shape} does not fit A of shape {A.shape}")
    found = apply(RULES["solve"], (factor, columns), NONE)
    return found.squeeze(-1) if vector else found


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """Return X with `A @ X = B`, reading one triangle of A; with `unitriangular`, ones for its diagonal.

    >>> A = kellet.tensor([[2.0, 9.0], [1.0, 1.0]])
    >>> solve_triangular(A, kellet.tensor([[2.0], [3.0]]), upper=False).tolist()
    [[1.0], [2.0]]
    """
    factor = square_matrix("solve_triangular", A)
    if unitriangular:
        half: Tensor = factor.triu(1) if upper else factor.tril(-1)
        factor = half + wrap(np.eye(factor.shape[-1], dtype=half._array.dtype))
    else:
        factor = factor.triu() if upper else factor.tril()
    return solve(factor, B, left=left)


def pinv(A: Tensor, *, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """Return pseudo-inverses; singular values up to `rtol` times the largest count as 0.

    Without `rtol`, the larger side times the precision of the dtype.

    >>> pinv(kellet.tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    found = matrix("pinv", A)
    options = {"rcond": _tolerance(found) if rtol is None else rtol, "hermitian": hermitian}
    return apply(RULES["pinv"], (found,), options)


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None) -> LeastSquares:
    """Return the X for which `A @ X - B` is the smallest, with its squares, the rank and singular values.

    Raises ShapeError where the shapes do not fit.

    Source: torch.linalg.lstsq; the solution uses the pseudo-inverse, for any rank.

    >>> A = kellet.tensor([[1.0], [1.0]])
    >>> lstsq(A, kellet.tensor([[1.0], [3.0]])).solution.round().tolist()
    [[2.0]]
    """
    found = matrix("lstsq", A)
    vector = B._array.ndim == 1
    columns = B.unsqueeze(-1) if vector else B
    solution = pinv(found, rtol=rcond) @ columns
    rows, width = found.shape[-2:]
    rank = matrix_rank(found, rtol=rcond)
    rest = (found @ solution - columns).abs().square().sum(-2)
    whole = rows > width and bool((rank._array == width).all())
    residuals = rest if whole else rest.new_empty(0)
    values: Tensor = wrap(np.linalg.svd(found._array, compute_uv=False))  # type: ignore[assignment]  # a Tensor
    return LeastSquares(solution.squeeze(-1) if vector else solution, residuals, rank, values)


def matrix_rank(A: Tensor, *, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """Return how many singular values are above `rtol` times the largest.

    >>> matrix_rank(kellet.tensor([[1.0, 1.0], [1.0, 1.0]]))
    tensor(1)
    """
    found = matrix("matrix_rank", A)
    sizes = np.linalg.svd(found._array, compute_uv=False, hermitian=hermitian)
    limit = sizes.max(axis=-1, keepdims=True, initial=0) * (_tolerance(found) if rtol is None else rtol)
    return wrap((sizes > limit).sum(axis=-1))  # type: ignore[return-value]  # wrap makes Tensors


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Return the product of two or more matrices; the first and the last may be vectors.

    Raises ShapeError for fewer.

    >>> multi_dot([kellet.ones(2, 3), kellet.ones(3, 4), kellet.ones(4)])
    tensor([12., 12.])
    """
    if len(tensors) < 2:
        raise ShapeError(f"linalg.multi_dot: expected at least 2 tensors, got {len(tensors)}")
    return _product(*tensors)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the sums of products along `dim`, the first vectors conjugated.

    Raises DTypeError for tensors of different dtypes, and for integers.

    >>> vecdot(kellet.tensor([[1.0, 2.0]]), kellet.tensor([[3.0, 4.0]]))
    tensor([11.])
    """
    require_one_dtype("vecdot", x, y)
    if not is_differentiable(x.dtype):
        raise DTypeError(
            f"vecdot: expected floating or complex tensors, got {dtype_name(x.dtype)}; use .float()"
        )
    product: Tensor = x.conj() * y
    return product.sum(dim)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the vector products along `dim`. Raises ShapeError unless that has length 3.

    >>> cross(kellet.tensor([1, 0, 0]), kellet.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    return _cross(input, other, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """View the diagonals of matrices.

    >>> diagonal(kellet.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


def _tolerance(value: Any) -> float:
    return float(max(value.shape[-2:]) * np.finfo(finfo_dtype(value._array.dtype)).eps)
