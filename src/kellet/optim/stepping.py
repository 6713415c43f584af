"""The start of each optimiser's step: the loss anew, the gradients as arrays, options checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ..autograd import enable_grad, no_grad
from ..autograd.variable import bump
from ..core import Tensor
from .optimizer import Optimizer


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """Return the value of `closure`, computed with gradients on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def gradients(group: dict[str, Any]) -> Iterator[tuple[Tensor, np.ndarray[Any, Any]]]:
    """Yield each parameter of the group that has a gradient, with the array of the direction to leave."""
    for parameter in group["params"]:
        if parameter.grad is not None:
            gradient = parameter.grad._array
            yield parameter, -gradient if group["maximize"] else gradient


def refuse_negative(**options: Any) -> None:
    """Raise ValueError for an option below zero, by its name."""
    for name, value in options.items():
        if not float(value) >= 0.0:
            raise ValueError(f"Invalid {name.replace('_', ' ')}: {value}")


def refuse_differentiable(differentiable: bool) -> None:
    """Raise ValueError where a step is to be differentiated itself."""
    if differentiable:
        raise ValueError("differentiable steps are not supported; leave differentiable=False")


def real_parts(values: np.ndarray[Any, Any]) -> tuple[Callable[[Any], Any], ...]:
    """Return what gives the parts of an array that are numbers of their own, as views.

    The real and the imaginary part of a complex parameter are two parameters, as in PyTorch.
    """
    return (np.real, np.imag) if values.dtype.kind == "c" else (np.asarray,)


class ByParameter(Optimizer):
    """An optimiser that moves one parameter after another, each by its own gradient.

    `_options` names the arguments that are the options of a group, in their order.
    """

    _options: ClassVar[str]

    def __init__(self, params: Iterable[Any], given: Mapping[str, Any]) -> None:
        super().__init__(params, {name: given[name] for name in self._options.split()})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move every parameter that has a gradient; return the value of `closure`, which is called first."""
        loss = evaluate(closure)
        with no_grad():
            for group in self.param_groups:
                for parameter, gradient in gradients(group):
                    self._update(group, parameter, gradient)
                    bump(parameter)
        return loss

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: np.ndarray[Any, Any]) -> None:
        raise NotImplementedError
