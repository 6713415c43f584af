"""One rank of the all-reduce benchmark, started by mpiexec: prints the seconds of one operation of each kind.

Both kinds take turns on the same array, after a barrier; the slowest rank counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from mpi4py import MPI

import kellet.distributed as dist


def main(size: int, turns: int) -> None:
    dist.init_process_group("mpi")
    world = MPI.COMM_WORLD
    array = np.ones(size // 4, np.float32)
    kinds: dict[str, Callable[[], object]] = {
        "kellet": lambda: dist.all_reduce(array),
        "mpi4py": lambda: world.Allreduce(MPI.IN_PLACE, array),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for turn in range(turns + 1):  # the first one touches the memory
        for name, run in kinds.items():
            array.fill(1)
            world.Barrier()
            start = perf_counter()
            run()
            spent = world.allreduce(perf_counter() - start, MPI.MAX)
            assert array[0] == array[-1] == world.size
            if turn:
                seconds[name].append(spent)
    if world.rank == 0:
        print(json.dumps({name: median(spent) for name, spent in seconds.items()}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
