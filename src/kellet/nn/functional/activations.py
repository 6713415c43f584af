"""Activation functions, softmax among them, and dropout. Shapes stay as they are."""

from __future__ import annotations

from typing import Any

from ... import core
from ...core import Tensor
from ...core.dispatch import NONE, apply, apply_in_place, require_one_dtype
from ...dtypes import DTypeLike
from ...errors import ShapeError
from ...rules import RULES

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


# --- rectified ------------------------------------------------------------------------------------


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the positive part, `max(x, 0)`; with `inplace` written into `input`. The gradient at 0 is 0.

    Source: torch.nn.functional.relu.

    >>> import kellet
    >>> relu(kellet.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _run("relu", input, inplace, NONE)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return `x` where positive, `negative_slope * x` elsewhere.

    Source: torch.nn.functional.leaky_relu.

    >>> leaky_relu(kellet.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """
    return _run("leaky_relu", input, inplace, {"slope": negative_slope})


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return `x` where positive, `weight * x` elsewhere; one weight, or one per channel (dimension 1).

    Raises ShapeError for several weights that are not one per channel.

    Source: torch.nn.functional.prelu.

    >>> prelu(kellet.tensor([-1.0, 2.0]), kellet.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """
    require_one_dtype("prelu", input, weight)
    if weight.ndim == 1:
        one = weight.shape[0] == 1
        channels = input.shape[1] if input.ndim > 1 else 1
        if not one and weight.shape[0] != channels:
            raise ShapeError(
                f"prelu: weight of shape {weight.shape} does not fit input of shape {input.shape}; it needs "
                f"one element, or one for each of the {channels} channels"
            )
        weight = weight.reshape(() if one else (-1, *(1,) * (input.ndim - 2)))
    result: Tensor = core.where(input > 0, input, input * weight)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return `x` where positive, `alpha * (exp(x) - 1)` elsewhere.

    Source: torch.nn.functional.elu.

    >>> elu(kellet.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _run("elu", input, inplace, {"alpha": alpha})


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ELU with the constants that keep mean 0 and variance 1.

    Source: torch.nn.functional.selu.

    >>> selu(kellet.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    out = elu(_source(input, inplace), SELU_ALPHA) * SELU_SCALE
    return input.copy_(out) if inplace else out


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    Source: torch.nn.functional.celu.

    >>> celu(kellet.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    out = elu(input / alpha) * alpha
    return input.copy_(out) if inplace else out


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `min(max(x, 0), 6)`.

    Source: torch.nn.functional.relu6.

    >>> relu6(kellet.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return `x` clamped to [min_val, max_val]; no gradient from the bounds outwards.

    Source: torch.nn.functional.hardtanh.

    >>> hardtanh(kellet.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    source = _source(input, inplace)
    clamped = source.clamp(min_val, max_val)
    # A value that stands on a bound passes no gradient; that of `clamp` does.
    out: Tensor = core.where((source <= min_val) | (source >= max_val), clamped.detach(), clamped)
    return input.copy_(out) if inplace else out


# --- smooth ---------------------------------------------------------------------------------------


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return `x * P(X <= x)` for a standard normal X; with `approximate="tanh"` its form by tanh.

    Raises ValueError for another `approximate`.

    Source: torch.nn.functional.gelu.

    >>> import kellet
    >>> gelu(kellet.tensor([0.0, 3.0]))
    tensor([0.0000, 2.9960])
    """
    rules = {"none": "gelu", "tanh": "gelu_tanh"}
    if approximate not in rules:
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return apply(RULES[rules[approximate]], (input,), NONE)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * sigmoid(x)`, also called swish.

    Source: torch.nn.functional.silu.

    >>> silu(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """
    return _run("silu", input, inplace, NONE)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * tanh(softplus(x))`.

    Source: torch.nn.functional.mish.

    >>> mish(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """
    source = _source(input, inplace)
    out = source * softplus(source).tanh()
    return input.copy_(out) if inplace else out


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return `log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`.

    Source: torch.nn.functional.softplus.

    >>> softplus(kellet.tensor([0.0, 1.0]))
    tensor([0.6931, 1.3133])
    """
    return apply(RULES["softplus"], (input,), {"beta": beta, "threshold": threshold})


def softsign(input: Tensor) -> Tensor:
    """Return `x / (1 + |x|)`.

    Source: torch.nn.functional.softsign.

    >>> softsign(kellet.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def sigmoid(input: Tensor) -> Tensor:
    """Return `1 / (1 + exp(-x))`.

    >>> sigmoid(kellet.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """
    return input.sigmoid()


def logsigmoid(input: Tensor) -> Tensor:
    """Return the logarithm of the sigmoid, also where that rounds to 0.

    Source: torch.nn.functional.logsigmoid.

    >>> logsigmoid(kellet.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """
    return apply(RULES["log_sigmoid"], (input,), NONE)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the straight line from 0 at -3 to 1 at 3, and flat beyond.

    Source: torch.nn.functional.hardsigmoid.

    >>> hardsigmoid(kellet.tensor([0.0, 3.0]))
    tensor([0.5000, 1.0000])
    """
    out = relu6(input + 3) / 6
    return input.copy_(out) if inplace else out


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `x * hardsigmoid(x)`.

    Source: torch.nn.functional.hardswish.

    >>> hardswish(kellet.tensor([1.0, 3.0]))
    tensor([0.6667, 3.0000])
    """
    source = _source(input, inplace)
    out = source * hardsigmoid(source)
    return input.copy_(out) if inplace else out


def tanhshrink(input: Tensor) -> Tensor:
    """Return `x - tanh(x)`.

    >>> tanhshrink(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - input.tanh()


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return `x` where its absolute value is above `lambd`, else zero.

    >>> hardshrink(kellet.tensor([0.25, -1.0]))
    tensor([ 0., -1.])
    """
    values: Tensor = core.where(input.abs() > lambd, input, core.zeros_like(input))
    return values


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return `x` less `lambd` towards zero, zero between `-lambd` and `lambd`.

    >>> softshrink(kellet.tensor([0.25, -1.0]))
    tensor([ 0.0000, -0.5000])
    """
    return relu(input - lambd) - relu(-input - lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return `x` where it is above `threshold`, else `value`; with `inplace` written into `input`.

    >>> threshold(kellet.tensor([1.0, 2.0]), 1.0, -7.0)
    tensor([-7.,  2.])
    """
    values = core.where(input > threshold, input, core.full_like(input, value))
    return input.copy_(values) if inplace else values


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent.

    >>> tanh(kellet.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return input.tanh()


# --- over a dimension -----------------------------------------------------------------------------


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Return `exp(x) / sum(exp(x))` along `dim`; `dtype` is what `input` is converted to first.

    Source: torch.nn.functional.softmax, which warns where `dim` is left out: it takes the channels then.

    >>> import kellet
    >>> softmax(kellet.tensor([1.0, 1.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return input.softmax(_channels(input) if dim is None else dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Return the logarithm of softmax, without leaving the range of the dtype.

    Source: torch.nn.functional.log_softmax.

    >>> log_softmax(kellet.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return input.log_softmax(_channels(input) if dim is None else dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None
) -> Tensor:
    """Return softmax of `-x`.

    Source: torch.nn.functional.softmin.

    >>> softmin(kellet.tensor([0.0, 1.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    return (-input).softmax(_channels(input) if dim is None else dim, dtype)


def _channels(input: Tensor) -> int:
    """The default dimension of PyTorch: the channels of (C, ...) or (N, C, ...)."""
    return 0 if input.dim() in (0, 1, 3) else 1


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along `dim` times the sigmoid of the second half.

    Raises ShapeError where that length is odd.

    Source: torch.nn.functional.glu.

    >>> glu(kellet.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if input.ndim == 0:
        raise ShapeError("glu: a tensor of shape () has no halves; it needs a dimension of even length")
    if input.shape[dim] % 2:
        raise ShapeError(
            f"glu: the length of dimension {dim} must be even to be halved, got shape {input.shape}"
        )
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm of order `p` along `dim`, or by `eps` where that is larger.

    Source: torch.nn.functional.normalize.

    >>> normalize(kellet.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return input / input.norm(p, dim, keepdim=True).clamp(min=eps)


def _source(input: Tensor, inplace: bool) -> Tensor:
    """Return what to compute from: a copy where the answer overwrites `input`, which derivatives need."""
    return input.clone() if inplace else input


def _run(name: str, input: Tensor, inplace: bool, options: dict[str, Any]) -> Tensor:
    rule = RULES[name]
    if inplace:
        return apply_in_place(rule, input, (), options)  # type: ignore[no-any-return]  # it is `input`
    return apply(rule, (input,), options)
