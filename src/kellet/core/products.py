"""Products of matrices and vectors, and sums of products by index letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..errors import ShapeError
from ..rules import RULES
from .axes import axis_of
from .dispatch import apply, require_one_dtype, scaled

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
    """Return the sum of the products of two vectors (of complex numbers too, none conjugated).

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
            f"bmm: {input._array.shape[0]} matrices do not fit {mat2._array.shape[0]}; give as many"
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
            "must be as many and as long"
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
