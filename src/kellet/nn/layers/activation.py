"""Activations: functions of each value, softmax over a dimension; and dropout."""

from __future__ import annotations

from ...core import Tensor
from .. import functional as F
from ..module import Module


class ReLU(Module):
    """`max(x, 0)`; with `inplace` written into the input.

    Source: torch.nn.ReLU.

    >>> kellet.nn.ReLU()(kellet.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class SiLU(Module):
    """`x * sigmoid(x)`; with `inplace` written into the input.

    Source: torch.nn.SiLU.

    >>> kellet.nn.SiLU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class GELU(Module):
    """`x * P(X <= x)` for a standard normal X; with `approximate="tanh"` its tanh form.

    Source: torch.nn.GELU.

    >>> kellet.nn.GELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    """The hyperbolic tangent of each value.

    Source: torch.nn.Tanh.

    >>> kellet.nn.Tanh()(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class Sigmoid(Module):
    """`1 / (1 + exp(-x))` of each value.

    Source: torch.nn.Sigmoid.

    >>> kellet.nn.Sigmoid()(kellet.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class _OverDimension(Module):
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_OverDimension):
    """`exp(x) / sum(exp(x))` over `dim`.

    Source: torch.nn.Softmax.

    >>> kellet.nn.Softmax(dim=-1)(kellet.tensor([0.0, 1.0]))
    tensor([0.2689, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(_OverDimension):
    """Softmax of the negative values over `dim`.

    Source: torch.nn.Softmin.

    >>> kellet.nn.Softmin(dim=-1)(kellet.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(_OverDimension):
    """The logarithm of Softmax, computed without leaving the range of the dtype.

    Source: torch.nn.LogSoftmax.

    >>> kellet.nn.LogSoftmax(dim=-1)(kellet.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class _Dropout(Module):
    """What all kinds of dropout share."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training set each value to zero with probability `p` and scale the rest by 1 / (1 - p).

    In evaluation the input is returned. Source: torch.nn.Dropout.

    Raises ValueError for a `p` outside 0 to 1.

    >>> kellet.nn.Dropout(0.5).eval()(kellet.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """In training set whole channels of (N, C, L) or (C, L) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout1d.

    >>> kellet.nn.Dropout1d()(kellet.ones(1, 2, 3)).shape
    (1, 2, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """In training set whole channels of (N, C, H, W) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout2d.

    >>> kellet.nn.Dropout2d()(kellet.ones(1, 2, 3, 3)).shape
    (1, 2, 3, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """In training set whole channels of (N, C, D, H, W) to zero with probability `p`, and scale the rest.

    Source: torch.nn.Dropout3d.

    >>> kellet.nn.Dropout3d()(kellet.ones(1, 2, 3, 3, 3)).shape
    (1, 2, 3, 3, 3)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)
