"""The ranks that work together, and the order that their operations are held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import RankMismatchError
from ..listing import first_of
from .transport import Transport
from .work import Work, WorkQueue


class ProcessGroup:
    """Processes that do the same operations in the same order, each with a number from 0: its rank.

    `init_process_group` makes the one of all processes, `new_group` one of some of them. Made by hand, it
    takes any `Transport`. Before each operation the ranks tell each other which one it is, with shape and
    dtype: where they differ, all of them raise RankMismatchError, and nothing has been exchanged.

    Operations run one after another on a thread of the group; a rank that is alone runs them at once.

    Source: torch.distributed.ProcessGroup.

    >>> import kellet.distributed as dist
    >>> group = dist.ProcessGroup(dist.AloneTransport())
    >>> group.rank(), group.size(), group.all_gather_bytes(b"shard 0")
    (0, 1, [b'shard 0'])
    """

    def __init__(
        self,
        transport: Transport,
        *,
        name: str = "the process group",
        ranks: Sequence[int] | None = None,
    ) -> None:
        self._transport = transport
        self.ranks = tuple(range(transport.size) if ranks is None else ranks)
        self._queue = WorkQueue(name, inline=transport.size == 1)
        self._name = name
        self._count = 0  # of operations, touched by the thread that runs them alone

    def rank(self) -> int:
        """Return the number of this process in the group."""
        return self._transport.rank

    def size(self) -> int:
        """Return how many processes the group has."""
        return self._transport.size

    @property
    def transport(self) -> Transport:
        """What carries the bytes."""
        return self._transport

    def barrier(self) -> None:
        """Wait until every rank is here.

        Raises RankMismatchError where another rank is at another operation, RankFailedError where one has
        ended, CollectiveTimeoutError where one does not come; so does every operation of a group.
        """
        self.start("barrier", lambda transport: []).wait()

    def all_gather_bytes(self, data: bytes) -> list[bytes]:
        """Return the bytes of every rank, in the order of ranks; lengths may differ. Nothing is pickled.

        >>> import kellet.distributed as dist
        >>> dist.ProcessGroup(dist.AloneTransport()).all_gather_bytes(b"")
        [b'']
        """
        found: list[bytes] = self.start("all_gather_bytes", lambda transport: transport.exchange(data)).wait()
        return found

    def broadcast_bytes(self, data: bytes | None, src: int = 0) -> bytes:
        """Return the bytes of rank `src` of the group on every rank; the bytes of the others are ignored.

        Raises TypeError where rank `src` gives None, ValueError for a rank that is not there.

        >>> import kellet.distributed as dist
        >>> dist.ProcessGroup(dist.AloneTransport()).broadcast_bytes(b"commit")
        b'commit'
        """
        require_rank(self, src)
        if self.rank() == src and data is None:
            raise TypeError(f"broadcast_bytes: rank {src} has to give bytes, got None")
        mine = data if self.rank() == src and data is not None else b""
        found = self.start(f"broadcast_bytes from {src}", lambda transport: transport.exchange(mine)).wait()
        sent: bytes = found[src]
        return sent

    def new_group(self, ranks: Sequence[int]) -> ProcessGroup | None:
        """Return a group of some ranks of this one, in this order; None for a rank that is not one of them.

        Every rank of this group has to call it, with the same ranks.

        Raises ValueError for ranks that are not there, or twice.
        """
        for rank in ranks:
            require_rank(self, rank)
        if len(set(ranks)) != len(ranks) or not ranks:
            raise ValueError(f"new_group: expected different ranks, at least one; found {list(ranks)}")
        name = f"the process group of ranks {list(ranks)}"
        part = self.start(f"new_group {list(ranks)}", lambda transport: transport.part(ranks)).wait()
        if part is None:
            return None
        return ProcessGroup(part, name=name, ranks=[self.ranks[rank] for rank in ranks])

    def start(self, description: str, call: Callable[[Transport], Any]) -> Work:
        """Put an operation into the queue; return its work, whose value is that of `call(transport)`.

        `description` is what all ranks have to agree on.
        """
        return self._queue.put(lambda: self._run(description, call))

    def close(self) -> None:
        """Wait for the queued operations, and take no more. The other ranks are not waited for."""
        self._queue.close()
        self._transport.close()

    def _run(self, description: str, call: Callable[[Transport], Any]) -> Any:
        self._count += 1
        if self.size() > 1:
            self._agree(f"{description}, as operation {self._count}")
        return call(self._transport)

    def _agree(self, description: str) -> None:
        found = [each.decode() for each in self._transport.exchange(description.encode())]
        if len(set(found)) > 1:
            asked = [f"  rank {rank}: {text}" for rank, text in enumerate(found)]
            raise RankMismatchError(
                f"{self._name}: its ranks do not ask for the same operation; found\n"
                + "\n".join(first_of(asked))
                + "\nEvery rank has to call the same operations in the same order, with equal shapes and "
                "dtypes; for unequal numbers of batches see DistributedDataParallel.join"
            ).holding(asked)


def require_rank(group: ProcessGroup, rank: int) -> None:
    """Raise ValueError for a rank that the group does not have."""
    if not 0 <= rank < group.size():
        raise ValueError(f"rank {rank} is not in the group: expected 0 to {group.size() - 1}")
