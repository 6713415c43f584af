"""Ranks with unequal numbers of batches: those without inputs take part with zeros.

Before each forward every rank says whether it still has inputs, and what it is about to do. A rank that has
joined answers in the same place, and follows: it takes the buffers of the others, and gives zeros to every
bucket. When no rank has inputs left, all take the model of one that has had the most.

Source: torch.distributed.algorithms.join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...distributed import ProcessGroup
from ...errors import DistributedError


@dataclass(frozen=True)
class Round:
    """What the ranks are about to do: which of them have inputs, whether buffers and gradients are sent."""

    active: tuple[int, ...]
    buffers: bool
    gradients: bool


class Joining:
    """One `with` block of `DistributedDataParallel.join`."""

    def __init__(self, group: ProcessGroup, *, by_initial_size: bool, throw: bool) -> None:
        self._group = group
        self._by_initial_size = by_initial_size
        self._throw = throw
        self._last_active: tuple[int, ...] = tuple(range(group.size()))

    def announce(self, *, buffers: bool, gradients: bool) -> Round:
        """Say that this rank has inputs; return what all of them do.

        Raises DistributedError, where that is wanted, when another rank has none any more.
        """
        return self._round(bytes([1, buffers, gradients]))

    def divisor(self, about: Round) -> int:
        """Return by how much the sum of gradients is divided in this round."""
        return self._group.size() if self._by_initial_size else len(about.active)

    def rounds_of_the_others(self) -> Iterator[Round]:
        """Yield what the other ranks do, each time before they do it, until none has inputs."""
        while (about := self._round(bytes([0, 0, 0]))).active:
            yield about

    @property
    def last_active(self) -> int:
        """A rank that has had the most batches."""
        return self._last_active[0]

    def _round(self, mine: bytes) -> Round:
        found = self._group.all_gather_bytes(mine)
        active = tuple(rank for rank, flags in enumerate(found) if flags[0])
        if self._throw and len(active) < self._group.size():
            raise DistributedError(
                "Detected at least one rank that exhausted inputs: "
                f"{sorted(set(range(self._group.size())) - set(active))}. Throwing across all ranks"
            )
        if active:
            self._last_active = active
        return Round(
            active,
            buffers=any(flags[1] for flags in found),
            gradients=any(flags[2] for flags in found),
        )
