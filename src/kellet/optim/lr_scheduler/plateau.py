"""A scheduler that looks at a measure: the learning rates fall when it does not get better."""

from __future__ import annotations

import math
import warnings
from typing import Any, SupportsFloat

from ..optimizer import Optimizer
from .scheduler import LRScheduler, rates_of, require_optimizer, set_option


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rates by `factor` when the measure has not got better for `patience` epochs.

    `mode` "min" means that less is better, "max" that more is. Only an improvement by more than
    `threshold` counts: a share of the best so far for `threshold_mode` "rel", a difference for "abs". For
    `cooldown` epochs after a reduction nothing is counted. No rate falls below `min_lr`, one number or one
    for each group, and changes of less than `eps` are left out.

    Raises ValueError for a factor of 1 or more, other modes, and a list of another length than the groups.

    Source: torch.optim.lr_scheduler.ReduceLROnPlateau.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in [1.0, 1.0, 1.0]:
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        require_optimizer(optimizer)
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, but got {factor}")
        _check_modes(mode, threshold_mode)
        count = len(optimizer.param_groups)
        several = isinstance(min_lr, list | tuple)
        if several and len(min_lr) != count:  # type: ignore[arg-type]  # a list, as was asked
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")  # type: ignore[arg-type]  # the same
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr: Any = None if several else min_lr
        self.min_lrs: list[Any] = list(min_lr) if several else [min_lr] * count  # type: ignore[arg-type]  # the same
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates_of(optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]  # as in PyTorch
        """Look at the measure of an epoch, and reduce the learning rates where it is time to.

        Raises RuntimeError where groups came to the optimiser and `min_lr` was a list.
        """
        if epoch is not None:
            warnings.warn("the epoch argument of step() is deprecated; call step(metrics)", stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        current = float(metrics)
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates_of(self.optimizer)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not counted yet after a reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, current: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * current > sign * (self.best * (1.0 + sign * self.threshold))
        return sign * current > sign * (self.best + sign * self.threshold)

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"the optimizer has {len(groups)} param groups, and there are {len(self.min_lrs)} "
                    "min_lrs; add one to scheduler.min_lrs for each group that was added"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, lowest in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, lowest)
            if before - after > self.eps:
                set_option(group, "lr", after)


def _check_modes(mode: str, threshold_mode: str) -> None:
    if mode not in ("min", "max"):
        raise ValueError(f"mode {mode} is unknown! Expected 'min' or 'max'")
    if threshold_mode not in ("rel", "abs"):
        raise ValueError(f"threshold mode {threshold_mode} is unknown! Expected 'rel' or 'abs'")
