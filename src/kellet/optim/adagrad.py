"""Adagrad: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.bridge import wrap
from ..core import Tensor
from .stepping import ByParameter, real_parts, refuse_differentiable, refuse_negative


class Adagrad(ByParameter):
    """`p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)`, s being the sum of g**2 so far.

    t counts steps; s starts at `initial_accumulator_value`. `weight_decay` w adds `w * p` to the
    gradient, and `maximize` turns it around. The state is there from the beginning.

    Raises ValueError for an option out of its range, and for `differentiable`.

    Source: torch.optim.Adagrad; `foreach` and `fused` are accepted and ignored.

    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> (weight * 3).sum().backward()
    >>> kellet.optim.Adagrad([weight], lr=0.1).step()
    >>> round(weight.item(), 4)
    0.9
    """

    _options = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_negative(
            learning_rate=lr,
            lr_decay_value=lr_decay,
            weight_decay_value=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon_value=eps,
        )
        refuse_differentiable(differentiable)
        super().__init__(params, locals())
        for group in self.param_groups:
            for parameter in group["params"]:
                self._begin(group, parameter)

    def _begin(self, group: dict[str, Any], parameter: Tensor) -> None:
        first, values = group["initial_accumulator_value"], parameter._array
        filled = complex(first, first) if values.dtype.kind == "c" else first
        self.state[parameter]["step"] = wrap(np.zeros((), np.float32))
        self.state[parameter]["sum"] = wrap(np.full_like(values, filled))

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: np.ndarray[Any, Any]) -> None:
        if not self.state[parameter]:  # of a group that was added later
            self._begin(group, parameter)
        values, state = parameter._array, self.state[parameter]
        state["step"] += 1
        if group["weight_decay"]:
            gradient = gradient + group["weight_decay"] * values
        rate = float(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        for part in real_parts(values):
            slope, total, target = part(gradient), part(state["sum"]._array), part(values)
            total += slope * slope
            target -= rate * slope / (np.sqrt(total) + group["eps"])
