"""The one-cycle policy: up to the largest learning rate, down again, and momentum the other way round."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import (
    LRScheduler,
    Rate,
    one_for_each_group,
    require_optimizer,
    require_positive,
    warn_outside_of_step,
)


class OneCycleLR(LRScheduler):
    """Lead the learning rates from `max_lr / div_factor` up to `max_lr`, and down to far less, in one cycle.

    Call `step` after every batch. The cycle has `total_steps`, or `epochs * steps_per_epoch`; `pct_start` of
    it goes up, and the rest down to `max_lr / div_factor / final_div_factor`. With `three_phase` it goes down
    to where it began in as many steps as up, and then on. `anneal_strategy` is "cos" or "linear". With
    `cycle_momentum`, momentum (the first of `betas`) goes from `max_momentum` to `base_momentum` and back.

    Raises ValueError for numbers of steps that are not positive ints, other values out of range, an optimiser
    without momentum where that is cycled, and a step beyond the last.

    Source: torch.optim.lr_scheduler.OneCycleLR; Smith and Topin, Super-Convergence, 2017.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=0.1, momentum=0.9)
    >>> scheduler = kellet.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _count_steps(total_steps, epochs, steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        for group, highest in zip(
            optimizer.param_groups, one_for_each_group("max_lr", optimizer, max_lr), strict=True
        ):
            if last_epoch == -1:
                first = highest / div_factor
                group.update(initial_lr=first, max_lr=highest, min_lr=first / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, is_new=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _begin_momentum(self, lowest: Any, highest: Any, *, is_new: bool) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled; "
                "pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        lows = one_for_each_group("base_momentum", self.optimizer, lowest)
        highs = one_for_each_group("max_momentum", self.optimizer, highest)
        for group, low, high in zip(self.optimizer.param_groups, lows, highs, strict=True):
            if is_new:
                self._set_momentum(group, high)
                group.update(max_momentum=high, base_momentum=low)

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of this step, and set the momentum of it.

        Raises ValueError for a step beyond the last.
        """
        warn_outside_of_step(self)
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        phase, part = self._place()
        rates: list[Rate] = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, part))
        return rates

    def _place(self) -> tuple[dict[str, Any], float]:
        """Return the phase of this step, and which part of it is over."""
        start = 0.0
        for phase in self._schedule_phases:
            stop = phase["end_step"]
            if self.last_epoch <= stop or phase is self._schedule_phases[-1]:
                break
            start = stop
        return phase, (self.last_epoch - start) / (stop - start)

    def _between(self, start: float, stop: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (stop - start) * part + start
        return stop + (start - stop) / 2.0 * (math.cos(math.pi * part) + 1)


def _count_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        return require_positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return require_positive("epochs", epochs) * require_positive("steps_per_epoch", steps_per_epoch)


def _phases(steps: int, share: float, three_phase: bool) -> list[dict[str, Any]]:
    """Return the phases: which step each ends with, and from which options of a group to which it leads."""
    up = _phase(share * steps - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        return [up, _phase(steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    down = _phase(2 * share * steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    return [up, down, _phase(steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


def _phase(end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }
