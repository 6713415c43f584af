"""Bytes that others may write to, copied piece by piece into a few buffers, digested and written there.

What is digested has to be what is written, though a tensor's memory may change meanwhile. Buffers that are
used again stay in the processor's cache: new ones take as long for the system to find as writing does.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from itertools import accumulate
from typing import Any, Final

from packager.errors import ArchiveError

from .bounds import CHUNK
from .entries import flat_view
from .output_files import Digester

_BATCH: Final = 2 * CHUNK


def copied_batches(
    name: str, buffers: Sequence[Any], sizes: Sequence[int], digester: Digester, *, sha256: bool
) -> Iterator[tuple[memoryview, Future[tuple[bytes, bytes]]]]:
    """Yield the bytes of an entry in batches of whole chunks, and the digests of each that are under way.

    `buffers` are C-contiguous, of these sizes. A batch has to be written before the one after the next is
    asked for: what is behind the place where a write should end may be written with what follows.

    Raises ArchiveError where a buffer has got another size meanwhile, MemoryError where there is no room for
    two batches.
    """
    ends = list(accumulate(sizes))
    whole = ends[-1] if ends else 0
    slots: list[_Slot] = []
    # One is filled, the end of one waits to be written, one for each thread, and one waits for those.
    wanted = digester.threads + 3
    for number, low in enumerate(range(0, whole, _BATCH)):
        high = min(low + _BATCH, whole)
        if number < wanted and (found := _new_slot(high - low, needed=number < 2)):
            slots.append(found)
        else:
            wanted = len(slots)  # and not another one later, which would change the turns
        slot = slots[number % len(slots)]
        view = slot.fill(_between(buffers, ends, low, high), high - low)
        if view is None:
            raise changed_size(name, low, high)
        chunks = [[view[at : at + CHUNK]] for at in range(0, len(view), CHUNK)]
        slot.digests = digester.submit(chunks, sha256=sha256)
        yield view, slot.digests


def changed_size(name: str, low: int, high: int) -> ArchiveError:
    """Return the error for a buffer that has not the size any more that it had."""
    return ArchiveError(
        f"entry {name!r}: a buffer of it was made larger or smaller while it was saved; expected "
        f"{high - low} bytes from byte {low} on; save it while nothing else changes it"
    )


def _new_slot(size: int, *, needed: bool) -> _Slot | None:
    """Return memory for a batch; None where there is none and others can be waited for."""
    try:
        return _Slot(size)
    except OSError as error:  # no disk has to do with it
        if needed:
            raise MemoryError(f"{size} bytes, to copy what is written") from error
        return None


class _Slot:
    """Memory for a batch, free again when that has been written and its digests are known."""

    def __init__(self, size: int) -> None:
        self.digests: Future[tuple[bytes, bytes]] | None = None
        self._memory = mmap.mmap(-1, size)

    def fill(self, pieces: Sequence[Any], size: int) -> memoryview | None:
        """Copy pieces behind each other, once the place is free; None where they have another size."""
        if self.digests is not None:
            self.digests.result()
        self._memory.seek(0)
        try:
            deque(map(self._memory.write, pieces), maxlen=0)
        except ValueError:  # more than there is room for
            return None
        return memoryview(self._memory)[:size] if self._memory.tell() == size else None


def _between(buffers: Sequence[Any], ends: Sequence[int], low: int, high: int) -> list[Any]:
    """Return what lies from one byte to another of buffers that stand one after another."""
    first, last = bisect_right(ends, low), bisect_left(ends, high)
    pieces = list(buffers[first : last + 1])
    start, stop = ends[first - 1] if first else 0, ends[last]
    if stop > high:
        pieces[-1] = flat_view(pieces[-1])[: high - stop]
    if start < low:
        pieces[0] = flat_view(pieces[0])[low - start :]
    return pieces
