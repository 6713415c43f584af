"""Schedulers along a cosine: down once, down and up again, and with restarts."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, rates_of, require_positive, warn_outside_of_step


class CosineAnnealingLR(LRScheduler):
    """Lead the learning rates along half a cosine, to `eta_min` in `T_max` epochs, and up again in as many.

    Source: torch.optim.lr_scheduler.CosineAnnealingLR, step by step from the rates as they are.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
    [4.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of this epoch."""
        warn_outside_of_step(self)
        groups, low = self.optimizer.param_groups, self.eta_min
        if self._is_initial:
            return rates_of(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._rates_of_epoch()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the bottom the ratio below would be a division by zero.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - low) * rise for group, base in zip(groups, self.base_lrs, strict=True)
            ]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [low + ratio * (group["lr"] - low) for group in groups]

    def _rates_of_epoch(self) -> list[Rate]:
        low = self.eta_min
        return [low + (base - low) * self._height(self.last_epoch) / 2 for base in self.base_lrs]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lead the learning rates along half a cosine to `eta_min`, and begin anew.

    The first time after `T_0` epochs, and each time after `T_mult` times as many as the time before.

    Raises ValueError for a `T_0` or `T_mult` that is not a positive int.

    Source: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [8.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_0 = require_positive("T_0", T_0)
        self.T_i = T_0
        self.T_mult = require_positive("T_mult", T_mult)
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of this place in the cycle."""
        warn_outside_of_step(self)
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next epoch, or of `epoch`, which may be a part of one.

        Raises ValueError for a negative epoch.
        """
        if epoch is None and self.last_epoch >= 0:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
            self.last_epoch += 1
        else:
            self._go_to(0 if epoch is None else epoch)
        with self._stepping():
            self._set(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.last_epoch = math.floor(epoch)
        self.T_i = self.T_0
        self.T_cur = epoch
        if self.T_cur >= self.T_i and self.T_mult != 1:
            self.T_cur = float(self.T_cur)  # as PyTorch's division leaves it
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
