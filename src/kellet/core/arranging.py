"""Diagonals, triangles, windows, values laid out again, and tensors joined."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import wrap
from ..errors import ShapeError
from ..rules import RULES
from .axes import axis_of, require_vectors, shape_of
from .dispatch import NONE, apply, tensor_of

if TYPE_CHECKING:
    from .tensor import Tensor

# --- diagonals and triangles ------------------------------------------------------------------


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """View the diagonal over two axes as a new last axis; a positive `offset` lies above the main one.

    Raises ShapeError unless there are two axes that differ.

    >>> import kellet
    >>> kellet.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    ndim = input._array.ndim
    axes = (axis_of(dim1, ndim), axis_of(dim2, ndim))
    if ndim < 2 or axes[0] == axes[1]:
        raise ShapeError(
            f"diagonal: needs two axes that differ, got {dim1} and {dim2} of shape {input._array.shape}"
        )
    return apply(RULES["diagonal"], (input,), {"offset": offset, "axes": axes})


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or the matrix with this vector on its diagonal; a copy.

    Raises ShapeError unless there are one or two axes.

    >>> kellet.diag(kellet.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input._array.ndim == 1:
        return input.diag_embed(diagonal)
    if input._array.ndim != 2:
        raise ShapeError(
            f"diag: expected a vector or a matrix, got shape {input._array.shape}; use diagonal()"
        )
    return input.diagonal(diagonal).clone()


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return zeros with the last axis on the diagonal over two new axes.

    Raises ShapeError for a tensor of shape (), and for new axes that are the same.

    >>> kellet.diag_embed(kellet.ones(3, 2)).shape
    (3, 2, 2)
    """
    shape = input._array.shape
    axes = (axis_of(dim1, len(shape) + 1), axis_of(dim2, len(shape) + 1))
    if not shape or axes[0] == axes[1]:
        raise ShapeError(f"diag_embed: needs a last axis and two new axes that differ, got {dim1} and {dim2}")
    size = shape[-1] + abs(offset)
    whole = list(shape[:-1])
    for axis in sorted(axes):
        whole.insert(axis, size)
    return apply(RULES["spread_diagonal"], (input,), {"shape": tuple(whole), "offset": offset, "axes": axes})


def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal of a matrix. Raises ShapeError for a tensor that is not a matrix.

    >>> kellet.trace(kellet.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input._array.ndim != 2:
        raise ShapeError(f"trace: expected a matrix, got shape {input._array.shape}")
    return input.diagonal().sum()


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the values on and below a diagonal of the last two axes, zeros above.

    >>> kellet.tril(kellet.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    return _under("tril", input, lambda rows, columns: np.tri(rows, columns, diagonal, dtype=bool))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the values on and above a diagonal of the last two axes, zeros below.

    >>> kellet.triu(kellet.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    return _under("triu", input, lambda rows, columns: ~np.tri(rows, columns, diagonal - 1, dtype=bool))


def _under(where: str, input: Tensor, mask: Callable[[int, int], Any]) -> Tensor:
    """The values under the mask that `mask` makes for the last two axes, zeros elsewhere."""
    shape = input._array.shape
    if len(shape) < 2:
        raise ShapeError(f"{where}: expected two axes or more, got shape {shape}")
    return apply(RULES["keep"], (input, wrap(np.broadcast_to(mask(*shape[-2:]), shape))), {})


# --- windows and pieces -----------------------------------------------------------------------


def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split into that many pieces along `dim`, the first ones longer, or between these positions; views.

    Raises ValueError for a number of pieces below 1.

    >>> kellet.tensor_split(kellet.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    size = input._array.shape[axis_of(dim, input._array.ndim)]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise ValueError(f"tensor_split: the number of pieces must be positive, got {count}")
        cuts = [(size // count) * i + min(i, size % count) for i in range(1, count)]
    else:
        cuts = [min(max(i + size if i < 0 else i, 0), size) for i in indices_or_sections]
    ends = [*cuts, size]
    starts = [0, *cuts]
    pieces = [input.narrow(dim, a, max(0, b - a)) for a, b in zip(starts, ends, strict=True)]
    return tuple(pieces)


def diff(input: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Return each value minus the one before it along `dim`, `n` times over.

    Raises ValueError for a negative `n`.

    >>> kellet.diff(kellet.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if n < 0:
        raise ValueError(f"diff: n, the number of times, must not be negative, got {n}")
    value: Any = input
    axis = axis_of(dim, input._array.ndim)
    between = RULES["logical_xor" if input._array.dtype == bool else "sub"]
    for _ in range(min(n, value.shape[axis])):
        length = value.shape[axis] - 1
        value = apply(between, (value.narrow(axis, 1, length), value.narrow(axis, 0, length)), NONE)
    return value  # type: ignore[no-any-return]  # a Tensor


# --- repetition -------------------------------------------------------------------------------


def tile(input: Tensor, *dims: Any) -> Tensor:
    """Repeat the tensor `dims` times along its axes; where `dims` are fewer, ones are put before them.

    >>> kellet.tile(kellet.tensor([1, 2]), 2)
    tensor([1, 2, 1, 2])
    """
    times = shape_of(dims)
    return input.repeat((1,) * (input._array.ndim - len(times)) + times)


def repeat_interleave(input: Tensor, repeats: int | Sequence[int] | Tensor, dim: int | None = None) -> Tensor:
    """Repeat each entry along `dim` (or each value in flat order): a number of times, or one for each entry.

    Raises ShapeError for a negative number, and for as many as fit no entries.

    >>> import kellet
    >>> kellet.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    if dim is None:
        return input.reshape(-1).repeat_interleave(repeats, 0)
    axis = axis_of(dim, input._array.ndim)
    length = input._array.shape[axis]
    times = repeats._array if isinstance(repeats, Variable) else np.asarray(repeats)
    if times.shape not in ((), (1,), (length,)) or (times < 0).any():
        raise ShapeError(
            f"repeat_interleave: repeats must be one number or {length} of them, none negative, got shape "
            f"{times.shape}"
        )
    places = wrap(np.repeat(np.arange(length), times))
    return apply(RULES["index_select"], (input, places), {"axis": axis})


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turn by `k` quarters in the plane of two axes, from the first towards the second.

    Raises ShapeError for axes that are the same, and for more or fewer than two.

    >>> kellet.rot90(kellet.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    axes = [axis_of(dim, input._array.ndim) for dim in dims]
    first, second = axes if len(axes) == 2 else (0, 0)
    if first == second:
        raise ShapeError(f"rot90: needs two axes that differ, got {tuple(dims)}")
    turns = k % 4
    if turns == 2:
        return input.flip(first, second)
    if turns == 0:
        return input.clone()
    turned = input.transpose(first, second)
    return turned.flip(first if turns == 1 else second)


# --- joined ---------------------------------------------------------------------------------------


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Put tensors one after another along an axis that they have; the other sizes agree.

    Raises ShapeError for tensors of shape (), and for an empty list.

    >>> import kellet
    >>> kellet.cat([kellet.ones(1), kellet.zeros(2)])
    tensor([1., 0., 0.])
    """
    parts = _parts("cat", tensors)
    # PyTorch lets empty tensors of shape (0,) pass, whatever the shape of the others.
    full = tuple(one for one in parts if one._array.shape != (0,)) or parts
    if full[0]._array.ndim == 0:
        raise ShapeError("cat: tensors of shape () have no axis to be joined along; use stack")
    return apply(RULES["cat"], full, {"axis": axis_of(dim, full[0]._array.ndim)})


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Stack tensors of one shape along a new axis.

    >>> kellet.stack([kellet.tensor([1, 2]), kellet.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
    """
    parts = _parts("stack", tensors)
    return apply(RULES["stack"], parts, {"axis": axis_of(dim, parts[0]._array.ndim + 1)})


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors one below the other; vectors count as rows.

    >>> kellet.vstack([kellet.tensor([1, 2]), kellet.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([one if one.ndim > 1 else one.reshape(1, -1) for one in _parts("vstack", tensors)], 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors beside each other; vectors one after another.

    >>> kellet.hstack([kellet.tensor([1, 2]), kellet.tensor([3, 4])])
    tensor([1, 2, 3, 4])
    """
    parts = [one if one.ndim else one.reshape(1) for one in _parts("hstack", tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def _parts(where: str, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    parts = tuple(tensors)
    if not parts:
        raise ShapeError(f"{where}: expected a non-empty list of Tensors; pass at least one")
    for one in parts:
        if not isinstance(one, Variable):
            raise TypeError(
                f"{where}: expected tensors, got {type(one).__name__}; make one with kellet.tensor"
            )
    return parts


# --- brought to one shape -------------------------------------------------------------------------


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return views of the tensors in the shape that broadcasting gives them together.

    Raises ShapeError for shapes that do not broadcast.

    >>> [one.shape for one in kellet.broadcast_tensors(kellet.ones(3, 1), kellet.ones(2))]
    [(3, 2), (3, 2)]
    """
    try:
        shape = np.broadcast_shapes(*[one._array.shape for one in tensors])
    except ValueError as error:
        raise ShapeError(f"broadcast_tensors: {error}") from error
    return tuple(one.expand(shape) for one in tensors)


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Stretch each vector over the axes of all: the coordinates of a grid.

    `indexing` "ij" gives the axes in the order of the vectors, "xy" swaps the first two.

    Raises ValueError for another `indexing`, ShapeError for a tensor of more than one axis.

    Source: torch.meshgrid, which warns unless `indexing` is given.

    >>> kellet.meshgrid(kellet.tensor([1, 2]), kellet.tensor([3, 4]))[0]
    tensor([[1, 1],
            [2, 2]])
    """
    given: Any = tensors[0] if tensors and isinstance(tensors[0], list | tuple) else tensors
    require_vectors("meshgrid", given)
    vectors = [one.reshape(-1) for one in given]
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    if indexing == "xy" and len(vectors) > 1:
        second, first, *rest = meshgrid(vectors[1], vectors[0], *vectors[2:])
        return (first, second, *rest)
    shape = tuple(len(one) for one in vectors)
    return tuple(
        one.reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)).expand(shape)
        for i, one in enumerate(vectors)
    )


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
    return stack([one.take(tensor_of(at)) for one, at in zip(tensors, places, strict=True)], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all combinations of `r` elements of a vector, one a row, in order.

    >>> kellet.combinations(kellet.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if r == 0:
        return input.detach()[:0]
    places = np.array([*choose(range(input._array.size), r)], np.int64).reshape(-1, r)
    return input.take(tensor_of(places))


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """Split into parts of these lengths along `dim`: `split` under its older name.

    >>> [part.tolist() for part in kellet.split_with_sizes(kellet.tensor([1, 2, 3]), [1, 2])]
    [[1], [2, 3]]
    """
    return input.split(split_sizes, dim)


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the positions of the lower triangle of a matrix: a row of rows and one of columns.

    >>> kellet.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return tensor_of(np.stack(np.tril_indices(row, offset, col)).astype(np.int64))


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Return the positions of the upper triangle of a matrix: a row of rows and one of columns.

    >>> kellet.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return tensor_of(np.stack(np.triu_indices(row, offset, col)).astype(np.int64))
