"""The transport over MPI, by mpi4py: arrays are sent as they lie in memory, nothing is pickled.

Operations are started without blocking and asked for until they are over, with pauses between the
questions: a rank that waits leaves its core to the others, where there are fewer cores than ranks, and sees
whether they are still there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CollectiveTimeoutError, DistributedError, MPIMissingError, RankFailedError
from .liveness import Watch
from .reduction import ReduceOp
from .transport import Array

RECORD = 256
"""Bytes in the first message of an exchange; what is longer follows in a second one."""

LOOK_EVERY = 0.2
"""Seconds between two looks for the other ranks while waiting for them."""

SPINS, SHORTEST, LONGEST = 20, 20e-6, 1e-3
"""Questions without a pause, and the pauses after these, in seconds. Measured with 64 MiB among two and
four ranks on two cores: MPI moves what it can at each question, so pauses of 1 ms cost a tenth at most."""

_OPS = {
    ReduceOp.SUM: "SUM",
    ReduceOp.PRODUCT: "PROD",
    ReduceOp.MIN: "MIN",
    ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND",
    ReduceOp.BOR: "BOR",
    ReduceOp.BXOR: "BXOR",
}


def load_mpi() -> Any:
    """Import mpi4py's MPI, which starts MPI in this process.

    Raises MPIMissingError where it cannot be imported, DistributedError where MPI allows no threads.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py finds no MPI library
        raise MPIMissingError(
            f"kellet.distributed needs mpi4py and an MPI library, and cannot import mpi4py.MPI: {error}; "
            "install both with: pip install 'kellet[mpi]'"
        ) from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistributedError(
            "kellet.distributed calls MPI from a thread of its own: expected the thread level "
            f"MPI_THREAD_MULTIPLE ({MPI.THREAD_MULTIPLE}); found {MPI.Query_thread()}; use an MPI library "
            "that supports it, and do not change mpi4py.rc.thread_level"
        )
    return MPI


class MPITransport:
    """A transport among the processes of an MPI communicator, by default all that mpiexec started.

    `timeout` is how many seconds an operation may wait for the other ranks. The communicator is duplicated,
    so that messages of the program's own are not mixed with these.

    Raises MPIMissingError where mpi4py is not there.

    >>> import kellet.distributed as dist
    >>> dist.MPITransport(timeout=60).size if dist.is_mpi_available() else 1  # not started by mpiexec
    1
    """

    def __init__(self, comm: Any = None, *, timeout: float, watch: Watch | None = None) -> None:
        self._mpi = load_mpi()
        wider = self._mpi.COMM_WORLD if comm is None else comm
        arrival = wider.Ibarrier()  # Dup waits too, but takes a core for it
        while not arrival.Test():
            time.sleep(LONGEST)
        self._comm = wider.Dup()
        self._timeout = timeout
        self._watch = Watch(self._mpi, self._comm) if watch is None else watch
        self._members = self._watch.world_ranks(self._comm)
        self._abandoned: list[Any] = []  # buffers that MPI may still write to after a failure
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()

    @property
    def watch(self) -> Watch:
        """What sees that another rank has failed or ended."""
        return self._watch

    def exchange(self, data: bytes) -> list[bytes]:
        mine = np.zeros(RECORD, np.uint8)
        mine[:8].view(np.int64)[0] = len(data)
        head = data[: RECORD - 8]
        mine[8 : 8 + len(head)] = np.frombuffer(head, np.uint8)
        records = np.empty((self.size, RECORD), np.uint8)
        self._wait(self._comm.Iallgather(mine, records), mine, records)
        lengths = [int(length) for length in records[:, :8].copy().view(np.int64)[:, 0]]
        heads = [
            record[8 : 8 + min(length, RECORD - 8)].tobytes()
            for record, length in zip(records, lengths, strict=True)
        ]
        if max(lengths) <= RECORD - 8:
            return heads
        rests = self._exchange_rests(data[RECORD - 8 :], [max(n - (RECORD - 8), 0) for n in lengths])
        return [head + rest for head, rest in zip(heads, rests, strict=True)]

    def _exchange_rests(self, rest: bytes, counts: list[int]) -> list[bytes]:
        mine = np.frombuffer(rest, np.uint8)
        found = np.empty(sum(counts), np.uint8)
        starts = [sum(counts[:rank]) for rank in range(self.size)]
        received = [found, (counts, starts), self._mpi.BYTE]
        self._wait(self._comm.Iallgatherv([mine, self._mpi.BYTE], received), mine, found)
        return [found[start : start + count].tobytes() for start, count in zip(starts, counts, strict=True)]

    def all_reduce(self, array: Array, op: ReduceOp) -> None:
        if not self._is_known(array):
            self._all_reduce_here(array, op)
            return
        request = self._comm.Iallreduce(self._mpi.IN_PLACE, array, getattr(self._mpi, _OPS[op]))
        self._wait(request, array)

    def broadcast(self, array: Array, src: int) -> None:
        plain = _bytes_of(array)
        self._wait(self._comm.Ibcast([plain, self._mpi.BYTE], src), plain)

    def all_gather(self, output: Array, array: Array) -> None:
        sent, received = _bytes_of(array), _bytes_of(output)
        request = self._comm.Iallgather([sent, self._mpi.BYTE], [received, sent.size, self._mpi.BYTE])
        self._wait(request, sent, received)

    def reduce_scatter(self, output: Array, array: Array, op: ReduceOp) -> None:
        if not self._is_known(array):
            output[...] = self._reduced_part(array, op)
            return
        request = self._comm.Ireduce_scatter_block(array, output, getattr(self._mpi, _OPS[op]))
        self._wait(request, array, output)

    def part(self, ranks: Sequence[int]) -> MPITransport | None:
        inside = self.rank in ranks
        colour = 0 if inside else self._mpi.UNDEFINED
        comm = self._comm.Split(colour, list(ranks).index(self.rank) if inside else 0)
        if not inside:
            return None
        try:
            return MPITransport(comm, timeout=self._timeout, watch=self._watch)
        finally:
            comm.Free()

    def announce_failure(self, message: str) -> None:
        self._watch.announce_failure(message)

    def abort(self) -> None:
        """End all processes that mpiexec started, with the status 1."""
        self._mpi.COMM_WORLD.Abort(1)

    def close(self) -> None:
        if not self._abandoned:  # freeing would wait for what will never end
            self._comm.Free()

    # --- dtypes that MPI does not know: 16 bits and fewer ------------------------------------------

    def _is_known(self, array: Array) -> bool:
        return array.dtype.kind in "biufc" and array.dtype.str[1:] != "f2"

    def _all_reduce_here(self, array: Array, op: ReduceOp) -> None:
        """Each rank puts one part together and gives it to all: as many bytes as MPI would send."""
        padded = np.zeros(-(-array.size // self.size) * self.size, array.dtype)
        padded[: array.size] = array
        part = self._reduced_part(padded, op)
        self.all_gather(padded, part)
        array[...] = padded[: array.size]

    def _reduced_part(self, array: Array, op: ReduceOp) -> Array:
        """Return this rank's part of all arrays put together, in float32, and rounded once."""
        sent = _bytes_of(array)
        received = np.empty_like(sent)
        count = sent.size // self.size
        request = self._comm.Ialltoall([sent, count, self._mpi.BYTE], [received, count, self._mpi.BYTE])
        self._wait(request, sent, received)
        parts = received.view(array.dtype).reshape(self.size, -1).astype(np.float32)
        with np.errstate(over="ignore"):
            reduced: Array = op.ufunc.reduce(parts, axis=0).astype(array.dtype)
        return reduced

    # --- waiting ------------------------------------------------------------------------------------

    def _wait(self, request: Any, *buffers: Any) -> None:
        for _ in range(SPINS):
            if request.Test():
                return
            os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
        pause = SHORTEST
        began = looked = time.monotonic()
        while not request.Test():
            now = time.monotonic()
            try:
                if now - looked > LOOK_EVERY:
                    looked = now
                    self._watch.check(self._members)
                if now - began > self._timeout:
                    raise CollectiveTimeoutError(
                        f"rank {self.rank} of {self.size} has waited {self._timeout:g} s for the other "
                        "ranks; look whether they hang, or pass a longer timeout= to init_process_group"
                    )
            except (RankFailedError, CollectiveTimeoutError):
                self._abandoned += [request, *buffers]
                self._watch.broken = True
                raise
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST)


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
