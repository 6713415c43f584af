"""Norms of vectors and of matrices, and the condition of a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core import Tensor
from ..core.axes import Axes, axis_of
from ..core.matrix_arguments import matrix
from ..dtypes import DTypeLike
from ..errors import ShapeError
from .factors import svdvals
from .solving import inv


def vector_norm(
    x: Tensor, ord: float = 2, dim: Axes = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """Return `sum(abs(x) ** ord) ** (1 / ord)` over `dim`; for 0 and the infinities, its limits.

    >>> vector_norm(kellet.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return x.norm(ord, dim, keepdim, dtype)


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return norms of the matrices over the two axes `dim`.

    `ord` is "fro" (the root of the squares), "nuc" (the sum of the singular values), 2 or -2 (the largest
    or smallest of them), 1 or -1 (of the sums of columns), inf or -inf (of the sums of rows).

    Raises ValueError for another `ord`, ShapeError unless two axes are named.

    Source: torch.linalg.matrix_norm.

    >>> matrix_norm(kellet.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    value = matrix("matrix_norm", A if dtype is None else A.to(dtype))
    axes = [axis_of(one, value._array.ndim) for one in dim]
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"linalg.matrix_norm: dim must be two axes that differ, got {tuple(dim)}")
    if ord == "fro":
        return value.norm(2, axes, keepdim)
    moved = value.movedim(axes, (-2, -1))
    found = _over_last_two(moved, ord)
    if keepdim:
        for axis in sorted(axes):
            found = found.unsqueeze(axis)
    return found


def _over_last_two(moved: Tensor, ord: float | str) -> Tensor:
    if ord == "nuc":
        return svdvals(moved).sum(-1)
    if ord in (2, -2):
        values = svdvals(moved)
        if ord == 2 and not values.shape[-1]:
            return values.sum(-1)  # of nothing: zeros
        return values.amax(-1) if ord == 2 else values.amin(-1)
    if ord in (1, -1, math.inf, -math.inf):
        sums = moved.abs().sum(-2 if ord in (1, -1) else -1)
        return sums.amax(-1) if ord in (1, math.inf) else sums.amin(-1)
    raise ValueError(
        f"linalg.matrix_norm: Order {ord!r} not supported; there are fro, nuc, 1, 2, inf, -1, -2, -inf"
    )


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Axes = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return `matrix_norm` over two axes and `vector_norm` over others; without `ord` always the latter of 2.

    Without `dim`, the axes of the tensor. Raises ShapeError for an `ord` with more than two of them.

    Source: torch.linalg.norm.

    >>> norm(kellet.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    axes = range(A._array.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    if dim is None and len(axes) not in (1, 2):
        raise ShapeError(
            f"linalg.norm: the tensor must be a vector or a matrix where ord is given; got {A.shape}"
        )
    if len(axes) == 2:
        return matrix_norm(A, ord, tuple(axes), keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise ShapeError(f"linalg.norm: {ord!r} is a norm of matrices; name two axes")
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """Return the condition of matrices: the norm `p` times that of the inverse; 2 unless told.

    >>> cond(kellet.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    if p is None or p in (2, -2):
        values = svdvals(A)
        ratio: Tensor = values[..., 0] / values[..., -1]
        return ratio if p != -2 else 1 / ratio
    return matrix_norm(A, p) * matrix_norm(inv(A), p)
