"""Activations: functions of each value, and softmax over a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import core
from ...core import Tensor
from .. import functional as F
from .. import init as initial
from ..module import Module
from ..parameter import Parameter


class _Activation(Module):
    """A layer that calls a function with the values that it is made with, and prints them."""

    _function: Callable[..., Tensor]
    _names: tuple[str, ...] = ()

    def _keep(self, *values: Any) -> None:
        super().__init__()
        for name, value in zip(self._names, values, strict=True):
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, *[getattr(self, name) for name in self._names])

    def extra_repr(self) -> str:
        told = {name: getattr(self, name) for name in self._names}
        return ", ".join(f"{name}={value!r}" for name, value in told.items() if name != "inplace" or value)


class _Shrinking(_Activation):
    _names = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        self._keep(lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class _Hard(_Activation):
    _names = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self._keep(inplace)

    def extra_repr(self) -> str:
        return ""


class _OverDimension(_Activation):
    _names = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        self._keep(dim)


class _InPlace(_Activation):
    _names = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self._keep(inplace)


class ReLU(_InPlace):
    """`max(x, 0)`; with `inplace` written into the input.

    Source: torch.nn.ReLU.

    >>> kellet.nn.ReLU()(kellet.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    _function = staticmethod(F.relu)


class SiLU(_InPlace):
    """`x * sigmoid(x)`; with `inplace` written into the input.

    Source: torch.nn.SiLU.

    >>> kellet.nn.SiLU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    _function = staticmethod(F.silu)


class GELU(_Activation):
    """`x * P(X <= x)` for a standard normal X; with `approximate="tanh"` its tanh form.

    Source: torch.nn.GELU.

    >>> kellet.nn.GELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    _function = staticmethod(F.gelu)
    _names = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self._keep(approximate)


class Tanh(_Activation):
    """The hyperbolic tangent of each value.

    Source: torch.nn.Tanh.

    >>> kellet.nn.Tanh()(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    _function = staticmethod(F.tanh)


class Sigmoid(_Activation):
    """`1 / (1 + exp(-x))` of each value.

    Source: torch.nn.Sigmoid.

    >>> kellet.nn.Sigmoid()(kellet.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """

    _function = staticmethod(F.sigmoid)


class Softmax(_OverDimension):
    """`exp(x) / sum(exp(x))` over `dim`.

    Source: torch.nn.Softmax.

    >>> kellet.nn.Softmax(dim=-1)(kellet.tensor([0.0, 1.0]))
    tensor([0.2689, 0.7311])
    """

    _function = staticmethod(F.softmax)


class Softmin(_OverDimension):
    """Softmax of the negative values over `dim`.

    Source: torch.nn.Softmin.

    >>> kellet.nn.Softmin(dim=-1)(kellet.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    _function = staticmethod(F.softmin)


class LogSoftmax(_OverDimension):
    """The logarithm of Softmax, computed without leaving the range of the dtype.

    Source: torch.nn.LogSoftmax.

    >>> kellet.nn.LogSoftmax(dim=-1)(kellet.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    _function = staticmethod(F.log_softmax)


class LeakyReLU(_Activation):
    """`max(x, 0) + negative_slope * min(x, 0)`; with `inplace` written into the input.

    Source: torch.nn.LeakyReLU.

    >>> kellet.nn.LeakyReLU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """

    _function = staticmethod(F.leaky_relu)
    _names = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._keep(negative_slope, inplace)


class ELU(_Activation):
    """`x` above zero, `alpha * (exp(x) - 1)` below; with `inplace` written into the input.

    Source: torch.nn.ELU.

    >>> kellet.nn.ELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    _function = staticmethod(F.elu)
    _names = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._keep(alpha, inplace)


class SELU(_InPlace):
    """ELU times a scale, with the constants that keep mean zero and variance one.

    Source: torch.nn.SELU.

    >>> kellet.nn.SELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    _function = staticmethod(F.selu)


class CELU(_Activation):
    """`max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)`; with `inplace` written into the input.

    Source: torch.nn.CELU.

    >>> kellet.nn.CELU()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    _function = staticmethod(F.celu)
    _names = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._keep(alpha, inplace)


class Hardtanh(_Activation):
    """`x` between `min_val` and `max_val`, those beyond; with `inplace` written into the input.

    Raises ValueError unless `min_val` is less than `max_val`.

    Source: torch.nn.Hardtanh.

    >>> kellet.nn.Hardtanh()(kellet.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    _function = staticmethod(F.hardtanh)
    _names = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        if not min_val < max_val:
            raise ValueError(f"min_val has to be less than max_val, but got {min_val} and {max_val}")
        self._keep(min_val, max_val, inplace)


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


class Mish(_InPlace):
    """`x * tanh(softplus(x))`; with `inplace` written into the input.

    Source: torch.nn.Mish.

    >>> kellet.nn.Mish()(kellet.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    _function = staticmethod(F.mish)


class Softplus(_Activation):
    """`log(1 + exp(beta * x)) / beta`; x itself where `beta * x` is above `threshold`.

    Source: torch.nn.Softplus.

    >>> kellet.nn.Softplus()(kellet.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    _function = staticmethod(F.softplus)
    _names = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._keep(beta, threshold)


class Softsign(_Activation):
    """`x / (1 + |x|)`.

    Source: torch.nn.Softsign.

    >>> kellet.nn.Softsign()(kellet.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    _function = staticmethod(F.softsign)


class LogSigmoid(_Activation):
    """`log(1 / (1 + exp(-x)))`, computed without leaving the range of the dtype.

    Source: torch.nn.LogSigmoid.

    >>> kellet.nn.LogSigmoid()(kellet.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """

    _function = staticmethod(F.logsigmoid)


class Hardsigmoid(_Hard):
    """`min(max(x + 3, 0), 6) / 6`; with `inplace` written into the input.

    Source: torch.nn.Hardsigmoid.

    >>> kellet.nn.Hardsigmoid()(kellet.tensor([0.0, 4.0]))
    tensor([0.5000, 1.0000])
    """

    _function = staticmethod(F.hardsigmoid)


class Hardswish(_Hard):
    """`x * min(max(x + 3, 0), 6) / 6`; with `inplace` written into the input.

    Source: torch.nn.Hardswish.

    >>> kellet.nn.Hardswish()(kellet.tensor([-4.0, 1.5]))
    tensor([-0.0000,  1.1250])
    """

    _function = staticmethod(F.hardswish)


class Tanhshrink(_Activation):
    """`x - tanh(x)`.

    Source: torch.nn.Tanhshrink.

    >>> kellet.nn.Tanhshrink()(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    _function = staticmethod(F.tanhshrink)


class Hardshrink(_Shrinking):
    """`x` where its absolute value is above `lambd`, else zero.

    Source: torch.nn.Hardshrink.

    >>> kellet.nn.Hardshrink()(kellet.tensor([0.25, -1.0]))
    tensor([ 0., -1.])
    """

    _function = staticmethod(F.hardshrink)


class Softshrink(_Shrinking):
    """`x` less `lambd` towards zero, zero between `-lambd` and `lambd`.

    Source: torch.nn.Softshrink.

    >>> kellet.nn.Softshrink()(kellet.tensor([0.25, -1.0]))
    tensor([ 0.0000, -0.5000])
    """

    _function = staticmethod(F.softshrink)


class Threshold(_Activation):
    """`x` where it is above `threshold`, else `value`; with `inplace` written into the input.

    Source: torch.nn.Threshold.

    >>> kellet.nn.Threshold(1.0, -7.0)(kellet.tensor([1.0, 2.0]))
    tensor([-7.,  2.])
    """

    _function = staticmethod(F.threshold)
    _names = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self._keep(threshold, value, inplace)


class GLU(_Activation):
    """The first half along `dim` times the sigmoid of the second.

    Source: torch.nn.GLU.

    >>> kellet.nn.GLU()(kellet.tensor([4.0, 0.0]))
    tensor([2.])
    """

    _function = staticmethod(F.glu)
    _names = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        self._keep(dim)


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
