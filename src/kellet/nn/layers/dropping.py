"""Dropout: values, or whole channels, set to zero by chance in training."""

from __future__ import annotations

from collections.abc import Callable

from ...core import Tensor
from .. import functional as F
from ..module import Module


class _Dropout(Module):
    """The base of all kinds of dropout."""

    _function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training set each value to zero with probability `p` and scale the rest by 1 / (1 - p).

    In evaluation the input is returned. Source: torch.nn.Dropout.

    Raises ValueError for a `p` outside 0 to 1.

    >>> kellet.nn.Dropout(0.5).eval()(kellet.ones(3))
    tensor([1., 1., 1.])
    """

    _function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """In training set whole channels of (N, C, L) or (C, L) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout1d.

    >>> kellet.nn.Dropout1d()(kellet.ones(1, 2, 3)).shape
    (1, 2, 3)
    """

    _function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """In training set whole channels of (N, C, H, W) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout2d.

    >>> kellet.nn.Dropout2d()(kellet.ones(1, 2, 3, 3)).shape
    (1, 2, 3, 3)
    """

    _function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """In training set whole channels of (N, C, D, H, W) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout3d.

    >>> kellet.nn.Dropout3d()(kellet.ones(1, 2, 3, 3, 3)).shape
    (1, 2, 3, 3, 3)
    """

    _function = staticmethod(F.dropout3d)
