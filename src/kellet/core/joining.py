"""Functions of several tensors: joined, stacked, brought to one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.variable import Variable
from ..errors import ShapeError
from ..rules import RULES
from .axes import axis_of
from .dispatch import apply
from .tensor import Tensor

__all__ = [
    "broadcast_tensors",
    "cat",
    "concat",
    "concatenate",
    "hstack",
    "is_tensor",
    "meshgrid",
    "numel",
    "stack",
    "vstack",
]


def is_tensor(value: object) -> bool:
    """Say whether `value` is a tensor."""
    return isinstance(value, Tensor)


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


# --- joined ---------------------------------------------------------------------------------------


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Put tensors one after another along an axis that they have; the other sizes agree.

    Raises ShapeError for tensors of shape (), and for none.

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
    """Stack tensors of one shape along a new axis."""
    parts = _parts("stack", tensors)
    return apply(RULES["stack"], parts, {"axis": axis_of(dim, parts[0]._array.ndim + 1)})


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors one below the other; vectors count as rows."""
    return cat([one if one.ndim > 1 else one.reshape(1, -1) for one in _parts("vstack", tensors)], 0)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Put tensors beside each other; vectors one after another."""
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
    """
    try:
        shape = np.broadcast_shapes(*[one._array.shape for one in tensors])
    except ValueError as error:
        raise ShapeError(f"broadcast_tensors: {error}") from error
    return tuple(one.expand(shape) for one in tensors)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Stretch each vector over the axes of all: the coordinates of a grid.

    `indexing` "ij" gives the axes in the order of the vectors, "xy" swaps the first two.

    Raises ValueError for another `indexing`.

    Source: torch.meshgrid, which warns unless `indexing` is given.
    """
    vectors = [one.reshape(-1) for one in (tensors[0] if isinstance(tensors[0], list | tuple) else tensors)]
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
