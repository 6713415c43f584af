"""Several ranks in one process: a thread for each, and a transport that hands arrays over in memory.

What a group makes of its operations, and data parallelism on top, is the same over any transport; so most
of it is tested with this one, and what MPI adds in tests/mpi.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kellet.distributed import ProcessGroup, ReduceOp
from kellet.errors import RankFailedError

PATIENCE = 20.0


class Meeting:
    """A place where `size` threads give something and see what all have given."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.given: list[Any] = [None] * size
        self.changed = threading.Condition()
        self.here = self.round = 0
        self.failed: tuple[int, str] | None = None
        self.parts: dict[tuple[int, ...], Meeting] = {}

    def meet(self, rank: int, value: Any, use: Callable[[list[Any]], Any]) -> Any:
        """Return what `use` makes of the values of all, none of which changes meanwhile."""
        self.given[rank] = value
        self._wait()
        found = use(self.given)
        self._wait()
        return found

    def fail(self, rank: int, message: str) -> None:
        """Let all who wait, or will, raise."""
        with self.changed:
            self.failed = self.failed or (rank, message)
            self.changed.notify_all()
        for part in list(self.parts.values()):
            part.fail(rank, message)

    def _wait(self) -> None:
        with self.changed:
            mine = self.round
            self.here += 1
            if self.here == self.size:
                self.here, self.round = 0, mine + 1
                self.changed.notify_all()
            while self.round == mine:
                if self.failed is not None:
                    rank, message = self.failed
                    raise RankFailedError(f"rank {rank} has failed: {message}", rank=rank)
                assert self.changed.wait(PATIENCE), "the other ranks did not come"


class ThreadTransport:
    """A transport between threads; `sent` notes name and bytes of what each operation is given."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank, self.size = meeting, rank, meeting.size
        self.sent: list[tuple[str, int]] = []

    def exchange(self, data: bytes) -> list[bytes]:
        found: list[bytes] = self.meeting.meet(self.rank, data, list)
        return found

    def all_reduce(self, array: Any, op: ReduceOp) -> None:
        self.sent.append(("all_reduce", array.nbytes))
        array[...] = self.meeting.meet(self.rank, array, lambda all_of_them: _together(all_of_them, op))

    def broadcast(self, array: Any, src: int) -> None:
        self.sent.append(("broadcast", array.nbytes))
        array[...] = self.meeting.meet(self.rank, array, lambda all_of_them: all_of_them[src].copy())

    def all_gather(self, output: Any, array: Any) -> None:
        output[...] = self.meeting.meet(self.rank, array, np.concatenate)

    def reduce_scatter(self, output: Any, array: Any, op: ReduceOp) -> None:
        whole = self.meeting.meet(self.rank, array, lambda all_of_them: _together(all_of_them, op))
        output[...] = whole.reshape(self.size, -1)[self.rank]

    def part(self, ranks: Sequence[int]) -> ThreadTransport | None:
        if self.rank not in ranks:
            return None
        with self.meeting.changed:
            meeting = self.meeting.parts.setdefault(tuple(ranks), Meeting(len(ranks)))
        return ThreadTransport(meeting, list(ranks).index(self.rank))

    def announce_failure(self, message: str) -> None:
        self.meeting.fail(self.rank, message)

    def close(self) -> None:
        pass


def _together(arrays: Sequence[Any], op: ReduceOp) -> Any:
    wide = [array.astype(np.float32) if array.dtype.itemsize == 2 else array for array in arrays]
    return op.ufunc.reduce(np.stack(wide), axis=0).astype(arrays[0].dtype)


def on_ranks(size: int, work: Callable[[ProcessGroup], Any]) -> list[Any]:
    """Run `work(group)` on each of `size` ranks; return what they return, or raise the first error.

    The first one is that of the rank which failed by itself: the others fail because of it.
    """
    outcomes = outcomes_on_ranks(size, work)
    errors = [each for each in outcomes if isinstance(each, BaseException)]
    for error in sorted(errors, key=lambda each: isinstance(each, RankFailedError)):
        raise error
    return outcomes


def outcomes_on_ranks(size: int, work: Callable[[ProcessGroup], Any]) -> list[Any]:
    """The same, with errors among what is returned."""
    meeting = Meeting(size)
    outcomes: list[Any] = [None] * size

    def run(rank: int) -> None:
        transport = ThreadTransport(meeting, rank)
        group = ProcessGroup(transport, name="the group of threads")
        try:
            outcomes[rank] = work(group)
        except BaseException as error:
            outcomes[rank] = error
            transport.announce_failure(f"{type(error).__name__}: {error}")
        finally:
            group.close()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
        assert not thread.is_alive()
    return outcomes
