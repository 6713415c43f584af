"""Schedulers that multiply the learning rates by a factor that the epoch decides."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from ..optimizer import Optimizer
from .scheduler import FactorLR


class StepLR(FactorLR):
    """Multiply the learning rates by `gamma` every `step_size` epochs.

    Source: torch.optim.lr_scheduler.StepLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        is_due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self.gamma if is_due else 1.0

    def _total(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(FactorLR):
    """Multiply the learning rates by `gamma` at each of the `milestones`, which are numbers of epochs.

    Source: torch.optim.lr_scheduler.MultiStepLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [2.0]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])

    def _total(self) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(FactorLR):
    """Multiply the learning rates by `factor` until `total_iters` epochs are over.

    Raises ValueError for a factor outside of 0 to 1.

    Source: torch.optim.lr_scheduler.ConstantLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> kellet.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4).get_last_lr()
    [4.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError(
                f"factor is {factor}; constant multiplicative factor expected to be between 0 and 1"
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _total(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(FactorLR):
    """Multiply the learning rates by a factor from `start_factor` to `end_factor` in `total_iters` epochs.

    Raises ValueError for factors outside of 0 to 1, and a `start_factor` of 0.

    Source: torch.optim.lr_scheduler.LinearLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [5.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError(
                f"start_factor is {start_factor}; starting multiplicative factor expected to be greater "
                "than 0 and less or equal to 1"
            )
        if not 0 <= end_factor <= 1.0:
            raise ValueError(
                f"end_factor is {end_factor}; ending multiplicative factor expected to be between 0 and 1"
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        growth = self.end_factor - self.start_factor
        return 1.0 + growth / (self.total_iters * self.start_factor + (self.last_epoch - 1) * growth)

    def _total(self) -> float:
        growth = self.end_factor - self.start_factor
        return self.start_factor + growth * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(FactorLR):
    """Multiply the learning rates by `gamma` every epoch.

    Source: torch.optim.lr_scheduler.ExponentialLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _total(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(FactorLR):
    """Let the learning rates fall to zero in `total_iters` epochs, as `(1 - epoch / total_iters) ** power`.

    Source: torch.optim.lr_scheduler.PolynomialLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> scheduler = kellet.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [6.0]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return float((left / before) ** self.power)

    def _total(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
