"""What training with several processes costs: the all-reduce, what backward hides of it, and what is sent.

The all-reduce runs under mpiexec. The other rows are about what data parallelism makes of a transport, so
they take one that they know: it pretends that a second rank has the same gradients, counts bytes, and
sleeps, which takes no core, for as long as it is told.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks.row import Contender, Goal, Row, is_small
from kellet import from_numpy, nn
from kellet.distributed import ProcessGroup, ReduceOp
from kellet.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks, powerSGD_hook
from kellet.nn.parallel import DistributedDataParallel

SECTION = "Several processes"
MIB = 2**20
LATENCY = 0.01


def rows() -> list[Row]:
    small = is_small()
    size, layers, width = (MIB, 2, 64) if small else (64 * MIB, 12, 1024)
    reduced = [
        Row(
            SECTION,
            f"all-reduce of {size // MIB} MiB among {ranks} ranks",
            "ms",
            _all_reduces(size, ranks, 1 if small else 10),
            (Goal(1.1, "mpi4py"),),
            why="each operation begins with a short one, in which the ranks compare what they ask for.",
            most_rounds=5,
        )
        for ranks in (2, 4)
    ]
    overlap = Row(
        SECTION,
        f"share of {LATENCY * 1e3:g} ms per bucket that backward does not hide, {layers} layers of {width}",
        "%",
        {"kellet": lambda: Contender(_Overlap(layers, width).exposed_share, times_itself=True)},
        (Goal(30),),
        why="the last bucket leaves when backward is over.",
        most_rounds=7,
    )
    sent = Row(
        SECTION,
        f"sent by each rank in one pass, {layers} layers of {width}",
        "MB",
        {name: _sending(name, layers, width) for name in _HOOKS},
        (Goal(0.51, "no hook"),),
        subject="fp16",
        most_rounds=1,
    )
    return [*reduced, overlap, sent]


# --- the all-reduce ----------------------------------------------------------------------------------


def _all_reduces(size: int, ranks: int, turns: int) -> dict[str, Callable[[], Contender]]:
    """Both contenders are timed by the same processes; each round starts them anew."""
    pending: dict[str, list[float]] = {"kellet": [], "mpi4py": []}

    def timed(name: str) -> float:
        if not pending[name]:
            for other, seconds in _measured(size, ranks, turns).items():
                pending[other].append(seconds)
        return pending[name].pop()

    return {
        name: lambda name=name: Contender(lambda: timed(name), times_itself=True)  # type: ignore[misc]  # a default
        for name in pending
    }


def _measured(size: int, ranks: int, turns: int) -> dict[str, float]:
    program = Path(__file__).with_name("all_reduce_process.py")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [mpiexec, "-n", str(ranks), sys.executable, program, str(size), str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the ranks of the all-reduce have failed:\n{done.stdout}{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


# --- what data parallelism makes of a transport ------------------------------------------------------


class Twin:
    """A transport to a second rank that has the same arrays, `latency` seconds away."""

    rank, size = 0, 2

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.sent = 0

    def exchange(self, data: bytes) -> list[bytes]:
        return [data, data]

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        self.sent += array.nbytes
        sleep(self.latency)
        if op is ReduceOp.SUM:
            array += array

    def broadcast(self, array: Any, src: int) -> None:
        pass

    def all_gather(self, output: Any, array: Any) -> None:
        output.reshape(2, -1)[...] = array

    def reduce_scatter(self, output: Any, array: Any, op: ReduceOp) -> None:
        output[...] = 2 * array[: output.size]

    def part(self, ranks: Sequence[int]) -> None:
        return None

    def announce_failure(self, message: str) -> None:
        pass

    def close(self) -> None:
        pass


def _net(layers: int, width: int) -> nn.Module:
    made = [nn.Linear(width, width) if even else nn.ReLU() for _ in range(layers) for even in (True, False)]
    return nn.Sequential(*made)


class _Overlap:
    """Backward with the other rank near and far, a known time away for each bucket: one for each layer."""

    def __init__(self, layers: int, width: int) -> None:
        net = _net(layers, width)
        self.twin = Twin(LATENCY)
        cap = 0.9 * net[0].weight.nbytes / MIB
        self.model = DistributedDataParallel(net, ProcessGroup(self.twin), bucket_cap_mb=cap)
        draw = np.random.default_rng(0)
        self.x = from_numpy(draw.standard_normal((128, width)).astype(np.float32))
        self._backward()  # the second pass has its own buckets
        self._backward()
        self.buckets = len(self.model._reducer._buckets)

    def exposed_share(self) -> float:
        """By how much longer backward takes for the way to the other rank, as a share of all ways."""
        self.twin.latency = 0.0
        near = self._backward()
        self.twin.latency = LATENCY
        return (self._backward() - near) / (self.buckets * LATENCY)

    def _backward(self) -> float:
        self.model.zero_grad()
        loss = self.model(self.x).square().mean()
        start = perf_counter()
        loss.backward()
        return perf_counter() - start


_HOOKS: dict[str, Callable[[ProcessGroup], tuple[Any, Any] | None]] = {
    "no hook": lambda group: None,
    "fp16": lambda group: (group, default_hooks.fp16_compress_hook),
    "bf16": lambda group: (group, default_hooks.bf16_compress_hook),
    "PowerSGD rank 4": lambda group: (
        powerSGD_hook.PowerSGDState(group, 4, start_powerSGD_iter=2),
        powerSGD_hook.powerSGD_hook,
    ),
    "PowerSGD rank 1": lambda group: (
        powerSGD_hook.PowerSGDState(group, 1, start_powerSGD_iter=2),
        powerSGD_hook.powerSGD_hook,
    ),
    "noop": lambda group: (None, debugging_hooks.noop_hook),
}


def _sending(name: str, layers: int, width: int) -> Callable[[], Contender]:
    def megabytes() -> float:
        twin = Twin()
        group = ProcessGroup(twin)
        model = DistributedDataParallel(_net(layers, width), group)
        registered = _HOOKS[name](group)
        if registered is not None:
            model.register_comm_hook(*registered)
        x = from_numpy(np.ones((2, width), np.float32))
        for _ in range(3):  # PowerSGD begins with the third pass
            model.zero_grad()
            twin.sent = 0
            model(x).square().mean().backward()
        return twin.sent / 1e6

    return lambda: Contender(megabytes, times_itself=True)
