"""The base of all schedulers: the rates that the groups began with, how often they moved, and the state."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core import Tensor
from ..optimizer import Optimizer

Rate = float | Tensor


class LRScheduler:
    """The base of schedulers: a subclass defines `get_lr`, one learning rate for each group of `optimizer`.

    Making one sets the learning rates of epoch 0; each `step()` those of the next epoch. `base_lrs` are the
    rates that the groups began with, kept as `initial_lr` in the groups, so that a second scheduler, or one
    that goes on from `last_epoch`, begins there as well. A rate that is a tensor is written to in place.

    Raises TypeError for a value that is not an optimiser, KeyError where `last_epoch` is given and a group
    has no `initial_lr`.

    Source: torch.optim.lr_scheduler.LRScheduler. There, `optimizer.step` is replaced to see whether it was
    called; here the optimiser knows.

    >>> class Halved(kellet.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> weight = kellet.tensor([1.0], requires_grad=True)
    >>> optimizer = kellet.optim.SGD([weight], lr=0.8)
    >>> scheduler = Halved(optimizer)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.2]
    """

    optimizer: Optimizer

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler "
                    f"with last_epoch={last_epoch}; load the optimizer's state first, or leave last_epoch=-1"
                )
        self.base_lrs: list[Rate] = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = False
        self._get_lr_called_within_step = False
        self._last_lr: list[Rate] = []
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of epoch 0."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of `last_epoch`, one for each group; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def get_last_lr(self) -> list[Rate]:
        """Return the learning rates that were set last, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch; call it after the optimiser's own step.

        With `epoch`, which PyTorch has long deprecated, set those of that epoch. Warns where the optimiser
        has not made a step yet.
        """
        if self._step_count == 1 and not self.optimizer._has_stepped:
            warnings.warn(
                "lr_scheduler.step() was called before optimizer.step(): the first value of the schedule is "
                "skipped; call optimizer.step() first",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "the epoch argument of step() is deprecated; call step() without it, once an epoch",
                stacklevel=2,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._stepping():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._rates_of_epoch()
        self._set(rates)

    def _rates_of_epoch(self) -> list[Rate]:
        """Return the learning rates of `last_epoch` by formula, where the class has one."""
        return self.get_lr()

    def _set(self, rates: list[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = rates_of(self.optimizer)

    @contextmanager
    def _stepping(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def state_dict(self) -> dict[str, Any]:
        """Return the attributes of the scheduler, without its optimiser."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a dict that `state_dict()` returned. The rates stay: the optimiser has a state of its own."""
        vars(self).update(state_dict)


class FactorLR(LRScheduler):
    """The base of schedulers that multiply the present rates by one factor each epoch.

    A rate that was changed from outside, or by another scheduler, goes on from there. A subclass defines
    `_factor`, and `_total`, the product of all factors up to `last_epoch`.
    """

    def get_lr(self) -> list[Rate]:
        """Return the present learning rates times the factor of this epoch."""
        warn_outside_of_step(self)
        factor = self._factor()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _rates_of_epoch(self) -> list[Rate]:
        total = self._total()
        return [base * total for base in self.base_lrs]

    def _factor(self) -> float:
        raise NotImplementedError

    def _total(self) -> float:
        raise NotImplementedError


def require_optimizer(optimizer: object) -> None:
    """Raise TypeError for a value that is not an optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def warn_outside_of_step(scheduler: LRScheduler) -> None:
    """Warn where `get_lr` is not called by `step`: the rates that it gives are not those in use."""
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "get_lr() computes the rates of the next step; the last ones that were set are in get_last_lr()",
            stacklevel=3,
        )


def require_positive(name: str, value: object) -> int:
    """Return an int of one or more. Raises ValueError for anything else."""
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def rates_of(optimizer: Optimizer) -> list[Rate]:
    """Return the learning rates of an optimiser's groups; tensors are copied."""
    return [_copied(group["lr"]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], name: str, value: Rate) -> None:
    """Set an option of a group; where it is a tensor, write to that."""
    if isinstance(group[name], Tensor):
        group[name].data.fill_(float(value))
    else:
        group[name] = value


def one_for_each_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """Return an option of all groups: a list has one value for each, anything else is that of all.

    Raises ValueError for a list of another length.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups: {count}, got {len(value)}"
        )
    return list(value)


def _copied(value: Rate) -> Rate:
    return value.clone() if isinstance(value, Tensor) else value
