"""Layers that only change the shape."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from ..module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Make one dimension of those from `start_dim` to `end_dim`; the batch dimension stays by default.

    Source: torch.nn.Flatten.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Make dimensions of the lengths `unflattened_size` of the dimension `dim`; one may be -1.

    Raises TypeError for a `dim` that is no int.

    Source: torch.nn.Unflatten; named dimensions are not supported.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"dim must be an int, got {type(dim).__name__}")
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        shape = list(input.shape)
        position = self.dim % input.dim()
        return input.reshape(*shape[:position], *self.unflattened_size, *shape[position + 1 :])

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
