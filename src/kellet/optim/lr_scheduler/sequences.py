"""Schedulers made of others: one after another, and all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, rates_of, set_option


class _OfSchedulers(LRScheduler):
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """Return the attributes of the scheduler and of those in it, without the optimiser."""
        state = {name: value for name, value in super().state_dict().items() if name != "_schedulers"}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a dict that `state_dict()` returned. Raises ValueError for another number of schedulers."""
        states = state_dict["_schedulers"]
        if len(states) != len(self._schedulers):
            raise ValueError(
                f"found the states of {len(states)} schedulers; expected {len(self._schedulers)}"
            )
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_OfSchedulers):
    """Let one scheduler follow another: from the epoch of each of the `milestones` on the next one.

    All are of this `optimizer`, and there is one more of them than of milestones; ValueError otherwise, and
    for ReduceLROnPlateau, whose step takes a measure.

    Source: torch.optim.lr_scheduler.SequentialLR.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> warm = kellet.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=1)
    >>> down = kellet.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = kellet.optim.lr_scheduler.SequentialLR(optimizer, [warm, down], milestones=[1])
    >>> rates = scheduler.get_last_lr()
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     rates = rates + scheduler.get_last_lr()
    >>> rates
    [4.0, 8.0, 4.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        _check(self, optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got number of schedulers {len(schedulers)} and the number of "
                f"milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each of them has set the rates of its own first epoch when it was made: begin anew.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _undo(scheduler)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch. Raises TypeError for an `epoch`: it takes none."""
        _refuse_epoch(self, epoch)
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """Let several schedulers step together, each from the rates that the one before has set.

    All are of one optimiser; ValueError otherwise, and for ReduceLROnPlateau, whose step takes a measure.

    Source: torch.optim.lr_scheduler.ChainedScheduler.

    >>> optimizer = kellet.optim.SGD([kellet.tensor([1.0], requires_grad=True)], lr=8.0)
    >>> half = kellet.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
    >>> down = kellet.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = kellet.optim.lr_scheduler.ChainedScheduler([half, down])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [2.0]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        several = list(schedulers)
        _check(self, optimizer or (several[0].optimizer if several else None), several)
        self._schedulers = several
        self.optimizer = several[0].optimizer
        self._last_lr = rates_of(self.optimizer)

    def step(self, epoch: int | None = None) -> None:
        """Let each step once. Raises TypeError for an `epoch`, which it does not take."""
        _refuse_epoch(self, epoch)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates_of(self.optimizer)


def _undo(scheduler: LRScheduler) -> None:
    """Take back the step that a scheduler, and those in it, made when it was made."""
    if isinstance(scheduler, _OfSchedulers):
        for inner in scheduler._schedulers:
            _undo(inner)
    else:
        scheduler.last_epoch -= 1


def _refuse_epoch(scheduler: LRScheduler, epoch: object) -> None:
    if epoch is not None:
        raise TypeError(f"{type(scheduler).__name__}.step() takes no epoch, but got {epoch!r}")


def _check(scheduler: LRScheduler, optimizer: Any, schedulers: list[LRScheduler]) -> None:
    name = type(scheduler).__name__
    if not schedulers:
        raise ValueError(f"{name} expects at least one scheduler, but got no scheduler")
    for place, inner in enumerate(schedulers):
        if not hasattr(inner, "optimizer"):
            raise TypeError(f"{name} at index {place} should have `optimizer` as its attribute")
        if isinstance(inner, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` at index {place}: its step takes a measure; "
                "step it by itself"
            )
        if inner.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but {type(inner).__name__} "
                f"at index {place} belongs to another one"
            )
