"""Transports carry bytes between ranks: the interface, and the transport of a single rank.

A transport knows neither tensors nor order: a `ProcessGroup` calls it from one thread, with the same
operation on every rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .reduction import ReduceOp

Array: TypeAlias = NDArray[Any]


class Transport(Protocol):
    """The interface to connect the ranks of a `ProcessGroup`.

    Every method is collective: all ranks call the same ones in the same order, with arrays of the same shape
    and dtype, which the group has seen to. Arrays are one-dimensional and contiguous. A method returns when
    this rank's part is done, and raises a DistributedError when it cannot be.

    >>> isinstance(kellet.distributed.AloneTransport().rank, int)
    True
    """

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def exchange(self, data: bytes) -> list[bytes]:
        """Return the bytes of every rank, in the order of ranks; lengths may differ."""

    def all_reduce(self, array: Array, op: ReduceOp) -> None:
        """Replace each element by that of all ranks put together; AVG is not asked for."""

    def broadcast(self, array: Array, src: int) -> None:
        """Replace the elements by those of rank `src`."""

    def all_gather(self, output: Array, array: Array) -> None:
        """Fill `output`, `size` times as long, with the arrays of all ranks in their order."""

    def reduce_scatter(self, output: Array, array: Array, op: ReduceOp) -> None:
        """Fill `output` with this rank's part of the arrays of all ranks put together."""

    def part(self, ranks: Sequence[int]) -> Transport | None:
        """Return a transport among `ranks`, in this order; None where this rank is not one of them."""

    def announce_failure(self, message: str) -> None:
        """Tell the other ranks that this one cannot go on: their operations raise RankFailedError."""

    def close(self) -> None:
        """Release the resources of this rank."""


class AloneTransport:
    """The transport of one process that works alone: it sends nothing.

    >>> kellet.distributed.AloneTransport().exchange(b"mine")
    [b'mine']
    """

    rank = 0
    size = 1

    def exchange(self, data: bytes) -> list[bytes]:
        return [bytes(data)]

    def all_reduce(self, array: Array, op: ReduceOp) -> None:
        pass

    def broadcast(self, array: Array, src: int) -> None:
        pass

    def all_gather(self, output: Array, array: Array) -> None:
        np.copyto(output, array)

    def reduce_scatter(self, output: Array, array: Array, op: ReduceOp) -> None:
        np.copyto(output, array)

    def part(self, ranks: Sequence[int]) -> AloneTransport | None:
        return AloneTransport() if 0 in ranks else None

    def announce_failure(self, message: str) -> None:
        pass

    def close(self) -> None:
        pass
