"""Layers of weighted sums (Linear), and layers that compute nothing: Identity, Flatten, Unflatten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


class Identity(Module):
    """Return the input; arguments to the constructor are ignored, so that it can stand in for any layer.

    >>> kellet.nn.Identity()(kellet.tensor([1, 2]))
    tensor([1, 2])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """`x @ weight.T + bias` over the last dimension.

    Input (..., in_features), output (..., out_features); `weight` (out_features, in_features) and
    `bias` (out_features,) start uniform in +-1/sqrt(in_features).

    >>> import kellet
    >>> from kellet import nn
    >>> nn.Linear(3, 2)(kellet.ones(5, 3)).shape
    (5, 2)

    Source: torch.nn.Linear.
    """

    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(core.empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(core.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class Flatten(Module):
    """Make one dimension of those from `start_dim` to `end_dim`; the batch dimension stays by default.

    Source: torch.nn.Flatten.

    >>> kellet.nn.Flatten()(kellet.ones(2, 3, 4)).shape
    (2, 12)
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

    Raises TypeError for a `dim` that is not an int.

    Source: torch.nn.Unflatten; named dimensions are not supported.

    >>> kellet.nn.Unflatten(1, (3, -1))(kellet.ones(2, 12)).shape
    (2, 3, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"dim must be an int, got {type(dim).__name__}")
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
