"""Products, inverses, distances and statistics of vectors and matrices; sums of products by index letters."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..errors import DTypeError, ShapeError
from ..rules import RULES
from .arranging import cat
from .axes import axis_of
from .dispatch import NONE, apply, apply_all, floating, require_one_dtype, scaled
from .matrix_arguments import hermitian, matrix, square_matrix

if TYPE_CHECKING:
    from .tensor import Tensor

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
PRIVATE = 0x100
"""The letters of an ellipsis start here, beyond all that an equation may hold."""


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices.

    >>> kellet.mm(kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([[1], [1]]))
    tensor([[3],
            [7]])
    """
    return _product("mm", input, mat2, 2, 2)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector.

    >>> kellet.mv(kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([1, 1]))
    tensor([3, 7])
    """
    return _product("mv", input, vec, 2, 1)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the sum of the products of two vectors (complex numbers are not conjugated).

    >>> kellet.dot(kellet.tensor([1, 2]), kellet.tensor([3, 4]))
    tensor(11)
    """
    return _product("dot", input, tensor, 1, 1)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two lists of matrices of the same length.

    Raises ShapeError for lists of another length.

    >>> kellet.bmm(kellet.ones(5, 2, 3), kellet.ones(5, 3, 4)).shape
    (5, 2, 4)
    """
    if input._array.ndim == mat2._array.ndim == 3 and input._array.shape[0] != mat2._array.shape[0]:
        raise ShapeError(
            f"bmm: {input._array.shape[0]} matrices do not fit {mat2._array.shape[0]}; pass equal numbers"
        )
    return _product("bmm", input, mat2, 3, 3)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the product of each value of one vector with each of the other.

    >>> kellet.outer(kellet.tensor([1, 2]), kellet.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    _expect("outer", (input, 1), (vec2, 1))
    return apply(RULES["contract"], (input, vec2), {"left": "i", "right": "j", "result": "ij"})


def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex | Tensor = 1, alpha: complex | Tensor = 1
) -> Tensor:
    """Return `beta * input + alpha * (mat1 @ mat2)`.

    >>> kellet.addmm(kellet.tensor([10, 20]), kellet.tensor([[1, 2]]), kellet.tensor([[1, 0], [0, 1]]))
    tensor([[11, 22]])
    """
    return _added("addmm", input, _product("addmm", mat1, mat2, 2, 2), beta, alpha)


def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex | Tensor = 1, alpha: complex | Tensor = 1
) -> Tensor:
    """Return `beta * input + alpha * (mat @ vec)`.

    >>> kellet.addmv(kellet.tensor([10, 20]), kellet.tensor([[1, 2], [3, 4]]), kellet.tensor([1, 1]))
    tensor([13, 27])
    """
    return _added("addmv", input, _product("addmv", mat, vec, 2, 1), beta, alpha)


def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex | Tensor = 1, alpha: complex | Tensor = 1
) -> Tensor:
    """Return `beta * input + alpha * (batch1 @ batch2)`, for lists of matrices.

    >>> kellet.baddbmm(kellet.ones(5, 2, 4), kellet.ones(5, 2, 3), kellet.ones(5, 3, 4)).shape
    (5, 2, 4)
    """
    return _added("baddbmm", input, _product("baddbmm", batch1, batch2, 3, 3), beta, alpha)


def _product(where: str, a: Any, b: Any, a_axes: int, b_axes: int) -> Tensor:
    _expect(where, (a, a_axes), (b, b_axes))
    return apply(RULES["matmul"], (a, b), {})


def _expect(where: str, *pairs: tuple[Any, int]) -> None:
    for value, axes in pairs:
        if value._array.ndim != axes:
            raise ShapeError(f"{where}: expected a tensor of {axes} axes, got shape {value._array.shape}")


def _added(where: str, value: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    require_one_dtype(where, value, product, than="a tensor and a product")
    result: Tensor = scaled(product, alpha)
    if isinstance(beta, int | float | complex | np.number) and beta == 0:
        return result
    added: Tensor = scaled(value, beta)
    return result + added


# --- by index letters -----------------------------------------------------------------------------


def einsum(equation: str, *operands: Any) -> Tensor:
    """Multiply tensors and sum, by naming their axes: `einsum("ij,jk->ik", a, b)` is `a @ b`.

    Axes with one letter have one length (or 1). A letter that the result does not name is summed; one
    that an operand names twice is its diagonal. "..." stands for further axes, which broadcast.
    Without "->" the result has, in alphabetical order, the letters that occur once. Longer lists are
    multiplied from left to right.

    Raises ShapeError where the equation does not fit the shapes, ValueError for one that cannot be read,
    DTypeError where axes are summed that two operands of different dtypes share.

    Source: torch.einsum; lists of numbers in the place of letters are not taken here.

    >>> import kellet
    >>> einsum("ij->j", kellet.tensor([[1, 2], [3, 4]]))
    tensor([4, 6])
    """
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    terms, result = _read(equation, [value._array.ndim for value in operands])
    sizes = _sizes(equation, terms, operands)
    parts = [_single(value, term, sizes) for value, term in zip(operands, terms, strict=True)]
    value, letters = parts[0]
    for i in range(1, len(parts)):
        other, other_letters = parts[i]
        later = set(result).union(*(letters for _, letters in parts[i + 1 :]))
        value, letters = _pair(
            value, letters, other, other_letters, later, result if i + 1 == len(parts) else None
        )
    value, letters = _summed(value, letters, set(result))
    return value if letters == result else value.permute([letters.index(letter) for letter in result])


def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Sum the products over the last `dims` axes of `a` and the first of `b`, or over the axes in two lists.

    Raises ShapeError where the axes differ in number or length.

    Source: torch.tensordot.

    >>> kellet.tensordot(kellet.ones(2, 3), kellet.ones(3, 4), dims=1).shape
    (2, 4)
    """
    require_one_dtype("tensordot", a, b)
    if isinstance(dims, int):
        first, second = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first = [axis_of(dim, a.ndim) for dim in dims[0]]
        second = [axis_of(dim, b.ndim) for dim in dims[1]]
    lengths = ([tensor.shape[i] for i in axes] for tensor, axes in ((a, first), (b, second)))
    if len(first) != len(second) or next(lengths) != next(lengths):
        raise ShapeError(
            f"tensordot: axes {first} of shape {a.shape} do not fit axes {second} of shape {b.shape}; they "
            "must match in number and length"
        )
    left = [chr(PRIVATE + i) for i in range(a.ndim)]
    right = [
        left[first[second.index(i)]] if i in second else chr(PRIVATE + a.ndim + i) for i in range(b.ndim)
    ]
    result = [x for i, x in enumerate(left) if i not in first] + [x for x in right if x not in left]
    options = {"left": "".join(left), "right": "".join(right), "result": "".join(result)}
    return apply(RULES["contract"], (a, b), options)


def _read(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, an ellipsis spelt out in letters of its own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {equation!r} names {len(terms)} operands, but {len(ndims)} were given")
    for term in (*terms, right):
        if not set(term.replace("...", "", 1)) <= _LETTERS:
            raise ValueError(f"einsum: {term!r} in {equation!r} is not made of letters and at most one '...'")
    named = [len(term.replace("...", "")) for term in terms]
    more = [ndim - n if "..." in term else 0 for ndim, n, term in zip(ndims, named, terms, strict=True)]
    for term, ndim, n, extra in zip(terms, ndims, named, more, strict=True):
        if extra < 0 or n + extra != ndim:
            raise ShapeError(f"einsum: {term!r} in {equation!r} does not fit a tensor of {ndim} axes")
    rest = "".join(chr(PRIVATE + i) for i in range(max(more)))
    spelt = [term.replace("...", rest[len(rest) - n :]) for term, n in zip(terms, more, strict=True)]
    if not arrow:
        letters = "".join(terms).replace(".", "")
        return spelt, rest + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    result = right.replace("...", rest)
    if len(set(result)) != len(result) or not set(result) <= set("".join(spelt)):
        raise ValueError(f"einsum: the result of {equation!r} must name letters of the operands, each once")
    return spelt, result


def _sizes(equation: str, terms: list[str], operands: Sequence[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, value in zip(terms, operands, strict=True):
        for letter, size in zip(term, value._array.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                shapes = ", ".join(str(one._array.shape) for one in operands)
                raise ShapeError(
                    f"einsum: {equation!r} does not fit shapes {shapes}: {letter!r} has lengths {known} "
                    f"and {size}"
                )
    return sizes


def _single(value: Any, term: str, sizes: dict[str, int]) -> tuple[Tensor, str]:
    """An operand stretched to the sizes, with repeated letters read along the diagonal."""
    shape = tuple(sizes[letter] for letter in term)
    if value._array.shape != shape:
        value = value.expand(shape)
    while len(set(term)) < len(term):
        again = next(letter for letter in term if term.count(letter) > 1)
        first = term.index(again)
        second = term.index(again, first + 1)
        value = value.diagonal(0, first, second)
        term = term[:first] + term[first + 1 : second] + term[second + 1 :] + again
    return value, term


def _summed(value: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    """`value` with the letters summed that are not needed any more."""
    lone = [i for i, letter in enumerate(letters) if letter not in needed]
    if not lone:
        return value, letters
    return value.sum(lone, dtype=value.dtype), "".join(letter for letter in letters if letter in needed)


def _pair(
    a: Tensor, left: str, b: Tensor, right: str, later: set[str], result: str | None
) -> tuple[Tensor, str]:
    """Two operands as one: the letters of `later` stay, in the order `result` where that is given."""
    if not (set(left) & set(right)) <= later:
        require_one_dtype("einsum", a, b)  # as in PyTorch, where what is only multiplied may differ
    a, left = _summed(a, left, later | set(right))
    b, right = _summed(b, right, later | set(left))
    if result is None:
        result = "".join(letter for letter in dict.fromkeys(left + right) if letter in later)
    return apply(RULES["contract"], (a, b), {"left": left, "right": right, "result": result}), result


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

    Raises ShapeError for matrices that are not square, LinAlgError for one without an inverse.

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


def _trapezoids(y: Tensor, x: Tensor | None, dx: complex | Tensor, dim: int) -> Tensor:
    length = y.shape[axis_of(dim, y._array.ndim)]
    count = max(0, length - 1)
    pairs: Tensor = y.narrow(dim, 0, count) + y.narrow(dim, length - count, count)
    step = dx if x is None else x.diff(dim=dim if x._array.ndim > 1 else 0)
    return pairs * step / 2


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

    Raises ShapeError without an axis of length 3, DTypeError for tensors of different dtypes.

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


class Products(Variable):
    """The products of this file as methods."""

    __slots__ = ()

    mm = mm
    mv = mv
    dot = dot
    bmm = bmm
    outer = outer
    addmm = addmm
    addmv = addmv
    baddbmm = baddbmm

    det = det
    slogdet = slogdet
    logdet = logdet
    inverse = inverse
    pinverse = pinverse
    matrix_power = matrix_power
    cholesky = cholesky

    inner = inner
    vdot = vdot
    kron = kron
    cross = cross
    dist = dist
    cov = cov
    corrcoef = corrcoef
