"""`DistributedSampler`: each rank its part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from ..core import Generator, randperm
from ..distributed import get_rank, get_world_size
from .sampler import Sampler


class DistributedSampler(Sampler):
    """The samples of one rank: every `num_replicas`-th one, beginning with number `rank`.

    Both are by default those of the group of all processes. With `shuffle` the order is drawn from `seed`
    plus the epoch, the same on all ranks: `set_epoch` before each pass makes the passes differ. All ranks get
    equally many samples: some are repeated where the dataset cannot be divided, or left out with `drop_last`.

    Raises ValueError for a rank that is not below `num_replicas`, DistributedError where both have to be
    found out and no group has been made.

    Source: torch.utils.data.distributed.DistributedSampler, whose order is that of another generator.

    >>> sampler = kellet.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler), len(sampler)
    ([1, 3, 0], 3)
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]"
            )
        self.dataset = dataset
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed

    @property
    def num_samples(self) -> int:
        """How many samples each rank has."""
        total = len(self.dataset)
        return total // self.num_replicas if self.drop_last else math.ceil(total / self.num_replicas)

    @property
    def total_size(self) -> int:
        """How many samples all ranks have, repeated ones among them."""
        return self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        order = self._order()
        if order and len(order) < self.total_size:
            order *= math.ceil(self.total_size / len(order))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass have the order of this epoch, on all ranks."""
        self.epoch = epoch

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(len(self.dataset)))
        generator = Generator().manual_seed(self.seed + self.epoch)
        order: list[int] = randperm(len(self.dataset), generator=generator).tolist()
        return order
