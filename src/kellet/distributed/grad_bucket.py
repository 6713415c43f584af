"""What a communication hook is given: gradients of several parameters, one after another in one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.bridge import wrap
from ..errors import ShapeError

if TYPE_CHECKING:
    from ..core import Tensor


class GradBucket:
    """The gradients of some parameters of one dtype, flat in one buffer, as `register_comm_hook` hands it on.

    Every rank has the same buckets in the same order. `index` counts them within a backward pass.

    Source: torch.distributed.GradBucket; there, it is made by the reducer alone.

    >>> import kellet.distributed as dist
    >>> weight, bias = kellet.zeros(2, 2), kellet.zeros(2)
    >>> bucket = dist.GradBucket(0, kellet.arange(6).float(), [weight, bias], is_last=True)
    >>> bucket.index(), bucket.is_last(), bucket.buffer()
    (0, True, tensor([0., 1., 2., 3., 4., 5.]))
    >>> bucket.gradients()[1]
    tensor([4., 5.])
    """

    def __init__(self, index: int, buffer: Tensor, parameters: Sequence[Tensor], *, is_last: bool) -> None:
        self._index = index
        self._buffer = buffer
        self._parameters = list(parameters)
        self._is_last = is_last
        sizes = [int(parameter._array.size) for parameter in self._parameters]
        self._ends = list(accumulate(sizes))
        _check_buffer("GradBucket", buffer, (sum(sizes),))

    def index(self) -> int:
        """Return the number of the bucket, from 0, in the order in which buckets are sent."""
        return self._index

    def buffer(self) -> Tensor:
        """Return the flat gradients: 1-D, not divided by the number of ranks."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor of the same shape in the place of the buffer, for a hook that is called with it.

        Raises ShapeError for another shape, TypeError for a value that is not a tensor.
        """
        _check_buffer("set_buffer", buffer, self._buffer._array.shape)
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """Return the gradient of each parameter, in its shape; they are views of the buffer."""
        array = self._buffer._array
        starts = [0, *self._ends[:-1]]
        return [
            wrap(array[start:end].reshape(parameter._array.shape))  # type: ignore[misc]  # wrap makes Tensors
            for start, end, parameter in zip(starts, self._ends, self._parameters, strict=True)
        ]

    def parameters(self) -> list[Tensor]:
        """Return the parameters, in the order in which their gradients lie in the buffer."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Say whether this bucket is the last one of the pass."""
        return self._is_last


def _check_buffer(name: str, buffer: Any, shape: tuple[int, ...]) -> None:
    array = getattr(buffer, "_array", None)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name}: the buffer must be a Tensor, got {type(buffer).__name__}")
    if array.shape != shape:
        raise ShapeError(f"{name}: expected a buffer of shape {shape}; found {array.shape}")
