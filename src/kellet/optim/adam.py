"""Adam and AdamW: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from .stepping import ByParameter, real_parts, refuse_differentiable, refuse_negative

Array = np.ndarray[Any, Any]


class Adam(ByParameter):
    """`p -= lr * m / (sqrt(v) + eps)`, m and v being running means of g and g**2 without their bias.

    `betas` are how much of the old means is kept. `weight_decay` w adds `w * p` to the gradient; with
    `decoupled_weight_decay` the parameter is multiplied by `1 - lr * w` instead. `amsgrad` divides by
    the largest v so far; `maximize` turns the gradient around.

    Raises ValueError for an option out of its range, and for `differentiable`.

    Source: torch.optim.Adam; `foreach`, `capturable` and `fused` are accepted and ignored.

    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> kellet.optim.Adam([weight], lr=0.1).step()
    >>> round(weight.item(), 4)
    0.9
    """

    _options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_negative(learning_rate=lr, epsilon_value=eps, weight_decay_value=weight_decay)
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        refuse_differentiable(differentiable)
        super().__init__(params, locals())

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Array) -> None:
        values, lr, decay = parameter._array, float(group["lr"]), group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            values *= 1 - lr * decay
        elif decay:
            gradient = gradient + decay * values
        state = self.state[parameter]
        if not state:
            self._start(state, values, group["amsgrad"])
        state["step"] += 1
        for part in real_parts(values):
            mean, square = part(state["exp_avg"]._array), part(state["exp_avg_sq"]._array)
            largest = part(state["max_exp_avg_sq"]._array) if group["amsgrad"] else None
            target = part(values)
            target -= self._change(group, state["step"].item(), part(gradient), mean, square, largest)

    @staticmethod
    def _change(
        group: dict[str, Any], t: float, gradient: Array, mean: Array, square: Array, largest: Array | None
    ) -> Array:
        """Move the running means, in place, and return the change of the parameter in step `t`."""
        beta1, beta2 = group["betas"]
        mean += (1 - beta1) * (gradient - mean)
        square *= beta2
        square += (1 - beta2) * (gradient * gradient)
        if largest is not None:
            np.maximum(largest, square, out=largest)
            square = largest
        scale = np.sqrt(square, out=np.empty_like(square))
        scale /= math.sqrt(1 - beta2**t)
        scale += group["eps"]
        np.divide(mean, scale, out=scale)
        scale *= float(group["lr"]) / (1 - beta1**t)
        return scale

    @staticmethod
    def _start(state: dict[str, Any], values: Array, amsgrad: bool) -> None:
        state["step"] = wrap(np.zeros((), np.float32))
        state["exp_avg"] = wrap(np.zeros_like(values))
        state["exp_avg_sq"] = wrap(np.zeros_like(values))
        if amsgrad:
            state["max_exp_avg_sq"] = wrap(np.zeros_like(values))


class AdamW(Adam):
    """Adam with decoupled weight decay: each step multiplies the parameter by `1 - lr * weight_decay`.

    Source: torch.optim.AdamW.

    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> kellet.optim.AdamW([weight], lr=0.1, weight_decay=0.5).step()
    >>> round(weight.item(), 4)
    0.85
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # States saved before the option had its name.
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
