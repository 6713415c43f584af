"""Inverses, determinants, powers and factors of matrices, as methods and functions; see `kellet.linalg`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..rules import RULES
from .dispatch import NONE, apply, apply_all
from .matrix_arguments import hermitian, matrix, square_matrix

if TYPE_CHECKING:
    from .tensor import Tensor


class SignAndLog(NamedTuple):
    """The sign of a determinant and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices. Raises ShapeError for others.

    >>> kellet.det(kellet.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return apply(RULES["det"], (square_matrix("det", input),), NONE)


def slogdet(input: Tensor) -> SignAndLog:
    """Return the signs of the determinants of square matrices, and the logarithms of their sizes.

    Raises ShapeError for matrices that are not square.

    >>> kellet.slogdet(kellet.tensor([[2.0, 0.0], [0.0, 0.5]])).sign
    tensor(1.)
    """
    return SignAndLog(*apply_all(RULES["slogdet"], (square_matrix("slogdet", input),), NONE))


def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants; NaN for a negative one.

    >>> kellet.logdet(kellet.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor(0.)
    """
    found = slogdet(input)
    return found.logabsdet.masked_fill(found.sign == -1, float("nan"))


def inverse(input: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Raises ShapeError for matrices that are not square, LinAlgError for one that has none.

    >>> kellet.inverse(kellet.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply(RULES["inv"], (square_matrix("inverse", input),), NONE)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Return the pseudo-inverses of matrices; singular values below `rcond` times the largest count as 0.

    >>> kellet.pinverse(kellet.tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    return apply(RULES["pinv"], (matrix("pinverse", input),), {"rcond": rcond})


def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return square matrices multiplied `n` times by themselves; by their inverses where `n` is negative.

    Raises ShapeError for matrices that are not square.

    >>> kellet.matrix_power(kellet.tensor([[1.0, 1.0], [0.0, 1.0]]), 3).tolist()
    [[1.0, 3.0], [0.0, 1.0]]
    """
    factor = square_matrix("matrix_power", input) if n >= 0 else inverse(input)
    if not n:
        eye = np.eye(input.shape[-1], dtype=input._array.dtype)
        return wrap(np.broadcast_to(eye, input._array.shape).copy())  # type: ignore[return-value]  # a Tensor
    result: Tensor | None = None
    for bit in reversed(bin(abs(n))[2:]):
        if bit == "1":
            result = factor if result is None else result @ factor
        factor = factor @ factor
    assert result is not None  # abs(n) has a bit that is 1
    return result


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Return the triangular factor L of Hermitian positive-definite matrices L @ L.mH, or its transpose.

    Raises ShapeError for matrices that are not square, LinAlgError for one that is not positive-definite.

    >>> kellet.cholesky(kellet.tensor([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    low = apply(RULES["cholesky"], (hermitian("cholesky", input),), NONE)
    return low.mT.conj() if upper else low


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of several matrices, from left to right.

    >>> kellet.chain_matmul(kellet.ones(2, 3), kellet.ones(3, 4), kellet.ones(4, 1)).shape
    (2, 1)
    """
    return functools.reduce(lambda a, b: a @ b, matrices)


class Matrices(Variable):
    """The functions of this file as methods."""

    __slots__ = ()

    det = det
    slogdet = slogdet
    logdet = logdet
    inverse = inverse
    pinverse = pinverse
    matrix_power = matrix_power
    cholesky = cholesky
