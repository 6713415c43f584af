"""The activation functions of networks, but for those built on the error function (`special.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import choose
from .rule import FLOAT, OUT, rule

# --- sigmoid and its kin --------------------------------------------------------------------------


def _sigmoid_forward(a: Any) -> Any:
    out = np.empty_like(a)
    np.negative(a, out=out)
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def _sigmoid(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    out = ctx.output
    return (g * xp.conj(out * (1 - out)),)


def _log_sigmoid_forward(a: Any) -> Any:
    return np.minimum(a, 0) - np.log1p(np.exp(-np.abs(a)))


def _log_sigmoid(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (g * xp.sigmoid(-ctx.inputs[0]),)


def _silu_forward(a: Any) -> Any:
    return a * _sigmoid_forward(a)


def _silu(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    gate = xp.sigmoid(a)
    return (g * xp.conj(gate * (a * (1 - gate) + 1)),)


def _softplus_forward(a: Any, *, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta * a)) / beta; the line itself beyond the threshold, where they are one."""
    scaled = a * beta
    soft = np.log1p(np.exp(np.minimum(scaled, threshold))) / beta
    return choose(scaled > threshold, a, soft)


def _softplus(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    scaled = ctx.inputs[0] * ctx.options.get("beta", 1.0)
    beyond = scaled > ctx.options.get("threshold", 20.0)
    return (xp.where(beyond, g, g * xp.sigmoid(scaled)),)


# --- the rectified ones ---------------------------------------------------------------------------


def _relu_forward(a: Any) -> Any:
    return np.maximum(a, 0)


def _relu(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    return (xp.keep(g, ctx.output > 0),)


def _leaky_relu_forward(a: Any, *, slope: float = 0.01) -> Any:
    return np.maximum(a, 0) + np.minimum(a, 0) * slope


def _leaky_relu(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    return (xp.where(a > 0, g, g * ctx.options.get("slope", 0.01)),)


def _elu_forward(a: Any, *, alpha: float = 1.0) -> Any:
    return np.maximum(a, 0) + np.expm1(np.minimum(a, 0)) * alpha


def _elu(xp: Any, ctx: Any, g: Any) -> tuple[Any, ...]:
    a = ctx.inputs[0]
    bent = g * xp.exp(xp.minimum(a, 0)) * ctx.options.get("alpha", 1.0)
    return (xp.where(a > 0, g, bent),)


sigmoid = rule("sigmoid", _sigmoid_forward, _sigmoid, saves=((OUT,),), promote=FLOAT, fresh=True)
log_sigmoid = rule(
    "log_sigmoid", _log_sigmoid_forward, _log_sigmoid, saves=((0,),), promote=FLOAT, fresh=True
)
silu = rule("silu", _silu_forward, _silu, saves=((0,),), promote=FLOAT, fresh=True)
softplus = rule("softplus", _softplus_forward, _softplus, saves=((0,),), promote=FLOAT, fresh=True)
relu = rule("relu", _relu_forward, _relu, saves=((OUT,),), fresh=True)
leaky_relu = rule("leaky_relu", _leaky_relu_forward, _leaky_relu, saves=((0,),), fresh=True)
elu = rule("elu", _elu_forward, _elu, saves=((0,),), promote=FLOAT, fresh=True)
