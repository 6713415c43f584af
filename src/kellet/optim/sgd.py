"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from .stepping import ByParameter, refuse_differentiable, refuse_negative


class SGD(ByParameter):
    """Move each parameter against its gradient: `p -= lr * g`.

    With `weight_decay` w the gradient is `g + w * p`; with `momentum` m the step is along
    `b = m * b + (1 - dampening) * g`, which starts as g, and with `nesterov` along `g + m * b`.
    `maximize` turns the gradient around.

    Raises ValueError for an option out of its range, for `nesterov` without momentum or with dampening, and
    for `differentiable`.

    >>> import kellet
    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> SGD([weight], lr=0.1).step()
    >>> round(weight.item(), 4)
    0.7

    Source: torch.optim.SGD; `foreach` and `fused` are accepted and ignored.
    """

    _options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_negative(learning_rate=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        refuse_differentiable(differentiable)
        super().__init__(params, locals())

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: np.ndarray[Any, Any]) -> None:
        values = parameter._array
        values -= values.dtype.type(float(group["lr"])) * self._direction(group, parameter, gradient)

    def _direction(
        self, group: dict[str, Any], parameter: Tensor, gradient: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        if group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * parameter._array
        momentum = group["momentum"]
        if not momentum:
            return gradient
        state = self.state[parameter]
        if state.get("momentum_buffer") is None:
            state["momentum_buffer"] = wrap(gradient.copy())
            buffer: np.ndarray[Any, Any] = state["momentum_buffer"]._array
        else:
            buffer = state["momentum_buffer"]._array
            buffer *= momentum
            buffer += (1 - group["dampening"]) * gradient
        return gradient + momentum * buffer if group["nesterov"] else buffer
