"""Products, distances and statistics of vectors and matrices, and arrangements of them; made of others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..errors import DTypeError, ShapeError
from .arranging import cat, stack
from .axes import axis_of, require_vectors
from .dispatch import floating, require_one_dtype

if TYPE_CHECKING:
    from .tensor import Tensor

# --- vectors and matrices -------------------------------------------------------------------------


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the sums of products along the last axes.

    >>> kellet.inner(kellet.tensor([1, 2]), kellet.tensor([3, 4]))
    tensor(11)
    """
    if not input._array.ndim or not other._array.ndim:
        return input * other
    found: Tensor = input.reshape(-1, input.shape[-1]) @ other.reshape(-1, other.shape[-1]).t()
    return found.reshape((*input.shape[:-1], *other.shape[:-1]))


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the sum of the products of two vectors, the first one conjugated.

    >>> kellet.vdot(kellet.tensor([1j]), kellet.tensor([1j]))
    tensor(1.+0.j)
    """
    return input.conj().dot(other)


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: each element of `input` times the whole of `other`.

    >>> kellet.kron(kellet.tensor([1, 10]), kellet.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    ndim = max(input._array.ndim, other._array.ndim)
    left, right = ((1,) * (ndim - one._array.ndim) + tuple(one._array.shape) for one in (input, other))
    wide = input.reshape(tuple(itertools.chain(*((n, 1) for n in left))))
    product: Tensor = wide * other.reshape(tuple(itertools.chain(*((1, n) for n in right))))
    return product.reshape(tuple(n * m for n, m in zip(left, right, strict=True)))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the vector product along `dim`, by default the first axis of length 3.

    Raises ShapeError where there is none, DTypeError for tensors of different dtypes.

    >>> kellet.cross(kellet.tensor([1, 0, 0]), kellet.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    require_one_dtype("cross", input, other)
    shape = np.broadcast_shapes(input._array.shape, other._array.shape)
    found = [i for i, n in enumerate(shape) if n == 3] if dim is None else [axis_of(dim, len(shape))]
    if not found or shape[found[0]] != 3:
        raise ShapeError(f"cross: no axis of length 3 to multiply along in shapes of {shape}")
    axis = found[0] - len(shape)
    product: Tensor = input.roll(-1, axis) * other.roll(-2, axis) - input.roll(-2, axis) * other.roll(
        -1, axis
    )
    return product


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the `p`-norm of the difference.

    >>> kellet.dist(kellet.tensor([1.0, 1.0]), kellet.tensor([4.0, 5.0]))
    tensor(5.)
    """
    return (input - other).norm(p)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """Return the `p`-norms of the differences between each row of `x1` and each of `x2`.

    Raises DTypeError for tensors of different dtypes, and for complex numbers.

    >>> kellet.cdist(kellet.tensor([[0.0, 0.0]]), kellet.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    require_one_dtype("cdist", x1, x2)
    if x1._array.dtype.kind == "c":
        raise DTypeError("cdist: complex numbers are not supported; take .real and .imag")
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def cov(input: Tensor, *, correction: int = 1) -> Tensor:
    """Return the covariances of rows, whose columns are observations.

    >>> kellet.cov(kellet.tensor([[0.0, 2.0], [4.0, 0.0]]))
    tensor([[ 2., -4.],
            [-4.,  8.]])
    """
    rows = floating(input)
    rows = rows.reshape(1, -1) if rows._array.ndim < 2 else rows
    centred = rows - rows.mean(1, keepdim=True)
    found = (centred @ centred.t().conj()) / max(0, rows.shape[1] - correction)
    return found if rows.shape[0] != 1 else found.reshape(())  # type: ignore[no-any-return]  # a Tensor


def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of rows, whose columns are observations.

    >>> kellet.corrcoef(kellet.tensor([[0.0, 2.0], [4.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    found = cov(input)
    if not found._array.ndim:
        return found / found
    deviation = found.diagonal().sqrt()
    return found / deviation.unsqueeze(1) / deviation.unsqueeze(0)


def block_diag(*tensors: Tensor) -> Tensor:
    """Return a matrix with the tensors along its diagonal, zeros elsewhere.

    >>> kellet.block_diag(kellet.tensor([[1]]), kellet.tensor([[2, 3]]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
    blocks = [one.reshape(1, -1) if one._array.ndim < 2 else one for one in tensors]
    width = sum(one.shape[1] for one in blocks)
    rows, at = [], 0
    for one in blocks:
        sides = (one.new_zeros(one.shape[0], at), one, one.new_zeros(one.shape[0], width - at - one.shape[1]))
        rows.append(cat(sides, 1))
        at += one.shape[1]
    return cat(rows, 0)


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: complex | Tensor = 1, dim: int = -1) -> Tensor:
    """Return the integral along `dim` by trapezoids, between the points `x` or steps of `dx`.

    >>> kellet.trapezoid(kellet.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return _trapezoids(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: complex | Tensor = 1, dim: int = -1
) -> Tensor:
    """Return the integrals up to each point along `dim` by trapezoids.

    >>> kellet.cumulative_trapezoid(kellet.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    return _trapezoids(y, x, dx, dim).cumsum(dim)


def _trapezoids(y: Tensor, x: Tensor | None, dx: complex | Tensor, dim: int) -> Tensor:
    length = y.shape[axis_of(dim, y._array.ndim)]
    count = max(0, length - 1)
    pairs: Tensor = y.narrow(dim, 0, count) + y.narrow(dim, length - count, count)
    step = dx if x is None else x.diff(dim=dim if x._array.ndim > 1 else 0)
    return pairs * step / 2


# --- arrangements ---------------------------------------------------------------------------------


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Return a matrix with all elements on its diagonal.

    >>> kellet.diagflat(kellet.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return input.reshape(-1).diag(offset)


def fliplr(input: Tensor) -> Tensor:
    """Reverse the second axis.

    >>> kellet.fliplr(kellet.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    return input.flip(1)


def flipud(input: Tensor) -> Tensor:
    """Reverse the first axis.

    >>> kellet.flipud(kellet.tensor([1, 2]))
    tensor([2, 1])
    """
    return input.flip(0)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Return all combinations of one element of each vector, one a row.

    Raises ShapeError for a tensor of more than one axis.

    >>> kellet.cartesian_prod(kellet.tensor([1, 2]), kellet.tensor([5])).tolist()
    [[1, 5], [2, 5]]
    """
    require_vectors("cartesian_prod", tensors)
    if len(tensors) == 1:
        return tensors[0]
    places = np.indices([one._array.size for one in tensors]).reshape(len(tensors), -1)
    return stack([one.take(_tensor(at)) for one, at in zip(tensors, places, strict=True)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all combinations of `r` elements of a vector, one a row, in order.

    >>> kellet.combinations(kellet.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if r == 0:
        return input.detach()[:0]
    places = np.array([*choose(range(input._array.size), r)], np.int64).reshape(-1, r)
    return input.take(_tensor(places))


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """Split into parts of these lengths along `dim`: `split` under its older name.

    >>> [part.tolist() for part in kellet.split_with_sizes(kellet.tensor([1, 2, 3]), [1, 2])]
    [[1], [2, 3]]
    """
    return input.split(split_sizes, dim)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Return how many values lie in each of `bins` equal intervals from `min` to `max`; of all where equal.

    >>> kellet.histc(kellet.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = input._array.reshape(-1)
    low, high = (min, max) if min != max or not array.size else (float(array.min()), float(array.max()))
    low, high = (low - 1, high + 1) if low == high else (low, high)
    counts, _ = np.histogram(array, bins, (low, high))
    return _tensor(counts.astype(input._array.dtype))


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the positions of the lower triangle of a matrix: a row of rows and one of columns.

    >>> kellet.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _tensor(np.stack(np.tril_indices(row, offset, col)).astype(np.int64))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the positions of the upper triangle of a matrix: a row of rows and one of columns.

    >>> kellet.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _tensor(np.stack(np.triu_indices(row, offset, col)).astype(np.int64))


def _tensor(array: Any) -> Tensor:
    return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors


class Vectors(Variable):
    """The functions of this file as methods."""

    __slots__ = ()

    inner = inner
    vdot = vdot
    kron = kron
    cross = cross
    dist = dist
    cov = cov
    corrcoef = corrcoef
    diagflat = diagflat
    fliplr = fliplr
    flipud = flipud
    split_with_sizes = split_with_sizes
    histc = histc
