"""Slices of tensors that lie on several processes: which part of the whole each is, and do they fill it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from packager.errors import ArgumentError
from packager.quick_dataclasses import dataclass, field

from .layouts import Box


@dataclass(frozen=True, eq=False)
class Shard:
    """A slice of a tensor, as a value of a state dict that several processes save together.

    `tensor` is an array of NumPy or a tensor of kellet or PyTorch; `shape` that of the whole tensor, and
    `offsets` says where the slice starts along each axis. The slices of all processes fill the whole.

    Raises ArgumentError where the slice does not lie inside of that shape.

    >>> import numpy
    >>> Shard(numpy.zeros((2, 3)), shape=(4, 3), offsets=(2, 0)).box
    ((2, 4), (0, 3))

    Source: torch.distributed.checkpoint.metadata.ChunkStorageMetadata, which has offsets and sizes.
    """

    tensor: Any = field(repr=False)
    shape: tuple[int, ...]
    offsets: tuple[int, ...]

    def __post_init__(self) -> None:
        sizes = getattr(self.tensor, "shape", None)
        if sizes is None or isinstance(self.tensor, Shard):
            raise ArgumentError(f"Shard: expected a tensor or an array, found {type(self.tensor).__name__}")
        for name in ("shape", "offsets"):
            object.__setattr__(self, name, tuple(int(n) for n in getattr(self, name)))
        found = tuple(int(n) for n in sizes)
        fits = len(found) == len(self.shape) == len(self.offsets) and all(
            start >= 0 and start + size <= extent
            for start, size, extent in zip(self.offsets, found, self.shape, strict=True)
        )
        if not fits:
            raise ArgumentError(
                f"Shard: a slice of shape {found} at {self.offsets} does not lie in a tensor of shape "
                f"{self.shape}; give the shape of the whole, and where the slice starts along each axis"
            )

    @property
    def box(self) -> Box:
        """From where to where the slice reaches along each axis."""
        sizes = (int(n) for n in self.tensor.shape)
        return tuple((start, start + size) for start, size in zip(self.offsets, sizes, strict=True))

    @classmethod
    def cut(cls, tensor: Any, rank: int, size: int, axis: int = 0) -> Shard:
        """Return the slice of a whole tensor that falls to one of `size` ranks; see `rank_range`.

        >>> import numpy
        >>> Shard.cut(numpy.arange(10).reshape(2, 5), rank=1, size=2, axis=1).tensor.tolist()
        [[3, 4], [8, 9]]
        """
        shape = tuple(int(n) for n in tensor.shape)
        at = require_axis(axis, shape)
        start, stop = rank_range(shape[at], rank, size)
        index = (*[slice(None)] * at, slice(start, stop))
        return cls(tensor[index], shape, tuple(start if n == at else 0 for n in range(len(shape))))


def rank_range(extent: int, rank: int, size: int) -> tuple[int, int]:
    """Return from where to where an axis of so many elements falls to one of `size` ranks.

    All have the same number of elements, but for the last of them, which have fewer, or none. Raises
    ArgumentError for a rank that there is not.

    >>> [rank_range(5, rank, 4) for rank in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]

    Source: torch.chunk, by which the shards of PyTorch's DTensor are cut.
    """
    if not 0 <= rank < size:
        raise ArgumentError(f"rank={rank}: expected a number from 0 to before size={size}")
    each = -(-extent // size)
    return min(rank * each, extent), min((rank + 1) * each, extent)


def require_axis(axis: int, shape: Sequence[int]) -> int:
    """Return an axis as a number from 0. Raises ArgumentError for one that a shape does not have.

    >>> require_axis(-1, (2, 3))
    1
    """
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(f"axis={axis}: a tensor of shape {tuple(shape)} has no such axis")
    return axis % len(shape)


@lru_cache(maxsize=4096)  # tensors share few shapes, and are cut alike
def cover_problem(shape: tuple[int, ...], parts: tuple[Box, ...]) -> str | None:
    """Say why boxes do not fill a shape, each element once; None where they do.

    >>> cover_problem((4, 2), (((0, 2), (0, 2)), ((2, 4), (0, 2))))
    >>> cover_problem((4, 2), (((0, 2), (0, 2)), ((3, 4), (0, 2))))
    'its slices hold 6 of 8 elements; there is a hole'
    >>> cover_problem((4,), (((0, 3),), ((2, 4),)))
    'the slices [0:3] and [2:4] overlap'
    """
    import numpy as np

    full = [box for box in parts if all(start < stop for start, stop in box)]
    if shape and len(full) > 1:
        ends = np.asarray(full, np.int64)
        for number in range(len(full) - 1):
            later = ends[number + 1 :]
            crosses = (ends[number, :, 0] < later[:, :, 1]) & (later[:, :, 0] < ends[number, :, 1])
            if (found := np.flatnonzero(crosses.all(axis=1))).size:
                other = full[number + 1 + int(found[0])]
                return f"the slices {box_text(full[number])} and {box_text(other)} overlap"
    held = sum(math.prod(stop - start for start, stop in box) for box in full)
    whole = math.prod(shape)
    return None if held == whole else f"its slices hold {held} of {whole} elements; there is a hole"


def box_text(box: Box) -> str:
    """Return a box as an index is written.

    >>> box_text(((0, 2), (1, 3)))
    '[0:2, 1:3]'
    """
    return f"[{', '.join(f'{start}:{stop}' for start, stop in box)}]"
