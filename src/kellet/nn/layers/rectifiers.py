"""Activations that bend a line: straight on one side or beyond a bound, and those that shrink."""

from __future__ import annotations

from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init as initial
from ..module import Module
from ..parameter import Parameter


class LeakyReLU(Module):
    """`max(x, 0) + negative_slope * min(x, 0)`; with `inplace` written into the input.

    Source: torch.nn.LeakyReLU.

    >>> kellet.nn.LeakyReLU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class ELU(Module):
    """`x` above zero, `alpha * (exp(x) - 1)` below; with `inplace` written into the input.

    Source: torch.nn.ELU.

    >>> kellet.nn.ELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class SELU(Module):
    """ELU times a scale, with the constants that keep mean zero and variance one.

    Source: torch.nn.SELU.

    >>> kellet.nn.SELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class CELU(Module):
    """`max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)`; with `inplace` written into the input.

    Source: torch.nn.CELU.

    >>> kellet.nn.CELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class Hardtanh(Module):
    """`x` between `min_val` and `max_val`, those beyond; with `inplace` written into the input.

    Raises ValueError unless `min_val` is less than `max_val`.

    Source: torch.nn.Hardtanh.

    >>> kellet.nn.Hardtanh()(kellet.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if not min_val < max_val:
            raise ValueError(f"min_val has to be less than max_val, but got {min_val} and {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """`min(max(x, 0), 6)`; with `inplace` written into the input.

    Source: torch.nn.ReLU6.

    >>> kellet.nn.ReLU6()(kellet.tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """`x * tanh(softplus(x))`; with `inplace` written into the input.

    Source: torch.nn.Mish.

    >>> kellet.nn.Mish()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`; x itself where `beta * x` is above `threshold`.

    Source: torch.nn.Softplus.

    >>> kellet.nn.Softplus()(kellet.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softsign(Module):
    """`x / (1 + |x|)`.

    Source: torch.nn.Softsign.

    >>> kellet.nn.Softsign()(kellet.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class LogSigmoid(Module):
    """`log(1 / (1 + exp(-x)))`, computed without leaving the range of the dtype.

    Source: torch.nn.LogSigmoid.

    >>> kellet.nn.LogSigmoid()(kellet.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Hardsigmoid(Module):
    """`min(max(x + 3, 0), 6) / 6`; with `inplace` written into the input.

    Source: torch.nn.Hardsigmoid.

    >>> kellet.nn.Hardsigmoid()(kellet.tensor([0.0, 4.0]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """`x * min(max(x + 3, 0), 6) / 6`; with `inplace` written into the input.

    Source: torch.nn.Hardswish.

    >>> kellet.nn.Hardswish()(kellet.tensor([-4.0, 1.5]))
    tensor([-0.0000,  1.1250])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Tanhshrink(Module):
    """`x - tanh(x)`.

    Source: torch.nn.Tanhshrink.

    >>> kellet.nn.Tanhshrink()(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input - input.tanh()


class Hardshrink(Module):
    """`x` where its absolute value is above `lambd`, else zero.

    Source: torch.nn.Hardshrink.

    >>> kellet.nn.Hardshrink()(kellet.tensor([0.25, -1.0]))
    tensor([ 0., -1.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        values: Tensor = core.where(input.abs() > self.lambd, input, core.zeros_like(input))
        return values

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """`x` less `lambd` towards zero, zero between `-lambd` and `lambd`.

    Source: torch.nn.Softshrink.

    >>> kellet.nn.Softshrink()(kellet.tensor([0.25, -1.0]))
    tensor([ 0.0000, -0.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input - self.lambd) - F.relu(-input - self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Threshold(Module):
    """`x` where it is above `threshold`, else `value`; with `inplace` written into the input.

    Source: torch.nn.Threshold.

    >>> kellet.nn.Threshold(1.0, -7.0)(kellet.tensor([1.0, 2.0]))
    tensor([-7.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._put(input, core.where(input > self.threshold, input, core.full_like(input, self.value)))

    def extra_repr(self) -> str:
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)

    def _put(self, input: Tensor, values: Tensor) -> Tensor:
        if self.inplace:
            input.copy_(values)
            return input
        return values


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second.

    Source: torch.nn.GLU.

    >>> kellet.nn.GLU()(kellet.tensor([4.0, 0.0]))
    tensor([2.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PReLU(Module):
    """`max(x, 0) + weight * min(x, 0)`, with one weight, or one for each channel, that is learnt.

    Source: torch.nn.PReLU.

    >>> kellet.nn.PReLU()(kellet.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(core.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all weights to `init`."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


def _with_inplace(text: str, inplace: bool) -> str:
    return f"{text}, inplace=True" if inplace else text
