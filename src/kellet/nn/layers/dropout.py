"""Dropout: values set to zero at random while training."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from ..module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """In training set each value to zero with probability `p` and scale the rest by 1 / (1 - p).

    In evaluation the input is returned. Source: torch.nn.Dropout.

    Raises ValueError for a `p` outside 0 to 1.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
