"""Ways in which a rank fails, each under an mpiexec of its own: `failing.py SCENARIO`."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.nn.parallel import DistributedDataParallel


def killed(rank: int) -> None:
    """Rank 1 is killed while the others wait for its gradients."""
    model = DistributedDataParallel(nn.Linear(200, 200))
    for step in range(1000):
        if rank == 1 and step == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        model(kellet.ones(2, 200)).sum().backward()


def raises(rank: int) -> None:
    """Rank 1 raises an error of its own while the others wait."""
    dist.barrier()
    if rank == 1:
        raise ValueError("no such file of data")
    dist.all_reduce(kellet.ones(3))


def uneven(rank: int) -> None:
    """Rank 1 has fewer batches, and its script ends."""
    model = DistributedDataParallel(nn.Linear(2, 2))
    for _ in range(3 - (rank == 1)):
        model(kellet.ones(2, 2)).sum().backward()


def late(rank: int) -> None:
    """Rank 1 does not come in time."""
    if rank == 1:
        time.sleep(8)
    dist.barrier()


def leaves(rank: int) -> None:
    """Rank 1 ends the group while the others are in a group of their own with it."""
    part = dist.new_group([0, 1])
    if rank == 1:
        sys.exit(0)
    if rank == 0:
        dist.all_reduce(kellet.ones(1), group=part)


def main(scenario: str) -> None:
    dist.init_process_group(timeout=timedelta(seconds=2 if scenario == "late" else 600))
    globals()[scenario](dist.get_rank())


if __name__ == "__main__":
    main(sys.argv[1])
