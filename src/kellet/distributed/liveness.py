"""Whether the other ranks are still there, asked while this one waits for them.

Three things tell of it: a rank that raises announces its failure; the process of a rank on this machine is
looked for; and a rank that has left is given a moment, as it may have left after its part was done.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RankFailedError

LEFT_GRACE = 5.0
"""Seconds after which a rank that has left is missing: what it took part in is over by then."""

FAILED, LEFT = b"F", b"L"
LONGEST_MESSAGE = 2000


class Watch:
    """Sees that a rank of the communicator of all processes has failed, left, or ended.

    `broken` says that an operation has been given up, so that MPI cannot be ended in good order.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi = mpi
        self._comm = comm.Dup()  # for announcements alone
        self._rank = self._comm.Get_rank()
        self._size = self._comm.Get_size()
        self._processes = self._learn_processes()
        self._sent: list[Any] = []
        self._heard: dict[int, tuple[bytes, str, float]] = {}
        self.broken = False

    def world_ranks(self, comm: Any) -> list[int]:
        """Return the ranks, in the group of all, of the members of `comm` besides this process."""
        theirs = comm.Get_group()
        ours = self._comm.Get_group()
        ranks = self._mpi.Group.Translate_ranks(theirs, list(range(comm.Get_size())), ours)
        return [rank for rank in ranks if rank != self._rank]

    def check(self, members: Sequence[int]) -> None:
        """Raise RankFailedError where one of these ranks cannot come any more.

        Ranks that leave still come to the last operation of all ranks: among all of them that is no failure.
        """
        now = time.monotonic()
        self._listen()
        for rank in members:
            kind, message, heard = self._heard.get(rank, (b"", "", 0.0))
            if kind == FAILED:
                first, _, sentence = message.partition(" ")
                raise RankFailedError(sentence, rank=int(first))
            if kind == LEFT and len(members) < self._size - 1 and now - heard > LEFT_GRACE:
                raise RankFailedError(
                    f"rank {rank} has ended its work while rank {self._rank} waits for it; every rank has "
                    "to call the same operations",
                    rank=rank,
                )
            if not kind and not self._lives(rank):
                raise RankFailedError(
                    f"rank {rank} has ended unexpectedly: its process {self._processes[rank][1]} is gone; "
                    "look whether it was killed, for lack of memory for example",
                    rank=rank,
                )

    def announce_failure(self, message: str, cause: BaseException | None = None) -> None:
        """Tell all ranks that this one cannot go on, or which other rank was the first."""
        if isinstance(cause, RankFailedError):
            self._announce(FAILED, f"{cause.rank} {cause}")
        else:
            self._announce(FAILED, f"{self._rank} rank {self._rank} has failed: {message}")

    def announce_leaving(self) -> None:
        """Tell all ranks that this one calls no more operations."""
        self._announce(LEFT, "")

    def wait_for_the_others(self, seconds: float) -> None:
        """Wait until all other ranks have told of a failure, too, or ended, but not longer."""
        until = time.monotonic() + seconds
        others = [rank for rank in range(self._size) if rank != self._rank]
        while time.monotonic() < until:
            self._listen()
            if all(self._has_failed(rank) or not self._lives(rank) for rank in others):
                return
            time.sleep(0.02)

    def _has_failed(self, rank: int) -> bool:
        return rank in self._heard and self._heard[rank][0] == FAILED

    def _announce(self, kind: bytes, message: str) -> None:
        data = np.frombuffer(kind + message.encode()[:LONGEST_MESSAGE], np.uint8)
        for rank in range(self._size):
            if rank != self._rank:
                self._sent.append((self._comm.Isend([data, self._mpi.BYTE], rank), data))

    def _listen(self) -> None:
        status = self._mpi.Status()
        # A matched probe: threads of several groups listen, and each message is for one of them.
        while (found := self._comm.Improbe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status)) is not None:
            data = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
            found.Recv([data, self._mpi.BYTE])
            text = data.tobytes()
            known = self._heard.get(status.Get_source())
            if known is None or known[0] == LEFT:
                heard = (text[:1], text[1:].decode(errors="replace"), time.monotonic())
                self._heard[status.Get_source()] = heard

    def _learn_processes(self) -> list[tuple[str, int]]:
        """Return machine and process number of every rank."""
        mine = f"{_machine()}\n{os.getpid()}".encode()[:512].ljust(512, b"\0")
        all_of_them = np.empty((self._size, 512), np.uint8)
        self._comm.Allgather(np.frombuffer(mine, np.uint8), all_of_them)
        found = []
        for row in all_of_them:
            machine, _, process = row.tobytes().rstrip(b"\0").decode().rpartition("\n")
            found.append((machine, int(process)))
        return found

    def _lives(self, rank: int) -> bool:
        """Say whether the process of a rank is there; one on another machine is taken to be."""
        machine, process = self._processes[rank]
        return machine != self._processes[self._rank][0] or _is_running(process)


def _machine() -> str:
    """Name the machine, and the set of process numbers: containers on one machine have different ones."""
    try:
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbers = ""
    return f"{socket.gethostname()} {numbers}"


def _is_running(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self/stat").exists()
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")  # a zombie has ended
