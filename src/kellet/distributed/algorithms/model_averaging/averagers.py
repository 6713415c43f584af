"""When the parameters of all ranks become their average."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....autograd.variable import bump
from ....core import Tensor
from ...collectives import all_reduce
from ...process_group import ProcessGroup
from ...reduction import ReduceOp
from ...world import resolve_group

__all__ = ["PeriodicModelAverager"]


class PeriodicModelAverager:
    """Averages parameters over a group every `period` steps, from step `warmup_steps` on.

    `average_parameters` is called after each step of the optimizer, on all ranks; `step` counts the calls.

    Raises ValueError for a period below 1 or a negative warm-up.

    Source: torch.distributed.algorithms.model_averaging.averagers.PeriodicModelAverager, and section 3 of
    Don't Use Large Mini-Batches, Use Local SGD (Lin et al., ICLR 2020).

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> averager = dist.algorithms.model_averaging.PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters(kellet.nn.Linear(1, 1).parameters())
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None) -> None:
        if period < 1:
            raise ValueError(f"period must be a positive value, got {period}")
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps must be a non-negative number, got {warmup_steps}")
        self.period = period
        self.warmup_steps = warmup_steps
        self.process_group = resolve_group(process_group)
        self.step = 0

    def average_parameters(self, params: Iterable[Tensor]) -> None:
        """Count a step; where its turn has come, write the average of all ranks to the parameters."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            for dtype_group in _by_dtype(params):
                _average(dtype_group, self.process_group)
        self.step += 1


def _by_dtype(params: Iterable[Tensor]) -> Iterable[list[Tensor]]:
    found: dict[object, list[Tensor]] = {}
    for parameter in params:
        found.setdefault(parameter._array.dtype, []).append(parameter)
    return found.values()


def _average(parameters: list[Tensor], group: ProcessGroup) -> None:
    flat = np.concatenate([parameter._array.reshape(-1) for parameter in parameters])
    all_reduce(flat, ReduceOp.AVG, group)
    start = 0
    for parameter in parameters:
        end = start + parameter._array.size
        parameter._array[...] = flat[start:end].reshape(parameter._array.shape)
        bump(parameter)
        start = end
