"""RMSprop: steps scaled by a running mean of the squared gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from .stepping import ByParameter, real_parts, refuse_differentiable, refuse_negative

Array = np.ndarray[Any, Any]


class RMSprop(ByParameter):
    """`p -= lr * g / (sqrt(v) + eps)`, v being a running mean of g**2.

    `alpha` is how much of the old mean is kept. `weight_decay` w adds `w * p` to the gradient. With
    `momentum` m the step is along `b = m * b + g / (sqrt(v) + eps)`; with `centered` v is less the square of
    a running mean of g, which makes it a variance. `maximize` turns the gradient around.

    Raises ValueError for an option out of its range, and for `differentiable`.

    Source: torch.optim.RMSprop; `foreach` and `capturable` are accepted and ignored.

    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> kellet.optim.RMSprop([weight], lr=0.01).step()
    >>> round(weight.item(), 4)
    0.9
    """

    _options = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        refuse_negative(
            learning_rate=lr,
            epsilon_value=eps,
            momentum_value=momentum,
            weight_decay_value=weight_decay,
            alpha_value=alpha,
        )
        refuse_differentiable(differentiable)
        super().__init__(params, locals())

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Array) -> None:
        values = parameter._array
        if group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * values
        state = self.state[parameter]
        if not state:
            _start(state, values, group)
        state["step"] += 1
        for part in real_parts(values):
            target = part(values)
            target -= float(group["lr"]) * _direction(group, state, part, part(gradient))


def _direction(group: dict[str, Any], state: dict[str, Any], part: Any, gradient: Array) -> Array:
    """Move the running means, in place, and return the step of the parameter, without the rate."""
    alpha = group["alpha"]
    square = part(state["square_avg"]._array)
    square *= alpha
    square += (1 - alpha) * (gradient * gradient)
    variance = square
    if group["centered"]:
        mean = part(state["grad_avg"]._array)
        mean += (1 - alpha) * (gradient - mean)
        variance = square - mean * mean
    direction: Array = gradient / (np.sqrt(variance) + group["eps"])
    if not group["momentum"]:
        return direction
    buffer: Array = part(state["momentum_buffer"]._array)
    buffer *= group["momentum"]
    buffer += direction
    return buffer


def _start(state: dict[str, Any], values: Array, group: dict[str, Any]) -> None:
    state["step"] = wrap(np.zeros((), np.float32))
    state["square_avg"] = wrap(np.zeros_like(values))
    if group["momentum"]:
        state["momentum_buffer"] = wrap(np.zeros_like(values))
    if group["centered"]:
        state["grad_avg"] = wrap(np.zeros_like(values))
