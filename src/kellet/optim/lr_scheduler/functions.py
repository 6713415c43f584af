"""Schedulers whose factor is computed by a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, one_for_each_group, warn_outside_of_step

Factor = Callable[[int], float]


class _OfFunctions(LRScheduler):
    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Factor] = one_for_each_group("lr_lambda", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all that the scheduler knows but its optimiser and functions.

        Of callable objects the attributes are kept, of functions nothing.
        """
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        state["lr_lambdas"] = [
            None
            if isinstance(factor, FunctionType) or not hasattr(factor, "__dict__")
            else vars(factor).copy()
            for factor in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a dict that `state_dict()` returned; callable objects get their attributes, functions stay."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for factor, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                vars(factor).update(attributes)


class LambdaLR(_OfFunctions):
    """Set the learning rates to `lr_lambda(epoch)` times those that the groups began with.

    `lr_lambda` is one function, or a list with one for each group; ValueError for a list of another length.

    Source: torch.optim.lr_scheduler.LambdaLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of this epoch."""
        warn_outside_of_step(self)
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * factor(self.last_epoch) for base, factor in pairs]


class MultiplicativeLR(_OfFunctions):
    """Multiply the learning rates, as they are, by `lr_lambda(epoch)`, from epoch 1 on.

    `lr_lambda` is one function, or a list with one for each group; ValueError for a list of another length.

    Source: torch.optim.lr_scheduler.MultiplicativeLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of this epoch."""
        warn_outside_of_step(self)
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        pairs = zip(groups, self.lr_lambdas, strict=True)
        return [group["lr"] * factor(self.last_epoch) for group, factor in pairs]
