"""What was fetched of a file: memory that is filled in grains, each of them once, by a few threads.

A grain that is there is never written again, so what was checked stays what it was.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections import deque
from typing import Any, Final

from .addresses import HTTP, Address
from .ranges import FileRanges, Ranges, RemoteError

GRAIN: Final = max(1 << 14, mmap.PAGESIZE)
"""Ranges begin and end at multiples of it, so that a page of memory is filled at once."""

PIECE: Final = 4 << 20
"""How many bytes one request asks for, up to four times as many where much is asked for at once."""

STEP: Final = 2 << 20
"""How many bytes of an answer come in before those that wait for them are told."""

AHEAD: Final = 64 << 20
"""How far a use in order is read ahead."""

KEPT: Final = 128 << 20
"""How much is kept of a file that is not to stay in memory."""

_ABSENT, _COMING, _THERE = b"\0", b"\1", b"\2"
_NEAR: Final = 4 << 20  # uses that lie so near to each other are in order
_GROWTH: Final = 4
_LONGEST_WAIT: Final = 1.0  # seconds until a waiter looks for itself: an interrupt may stop the bell


class _Waiter:
    """A thread that needs grains: its bell, a lock that is let go for it, and what failed of them."""

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.failure: Exception | None = None
        self.bell = threading.Lock()
        self.bell.acquire()


class Fetching:
    """The bytes of `ranges` in `memory`, which has room for all and is written to here alone.

    All stays, unless the map behind that memory is given as `released`: then `copy` lets go of what was
    fetched first.
    """

    def __init__(self, ranges: Ranges, memory: memoryview, released: mmap.mmap | None = None) -> None:
        self._ranges = ranges
        self._memory = memory
        self._released = released
        self._size = ranges.size
        self._process = os.getpid()
        grains = max(-(-self._size // GRAIN), 1)
        self._states = mmap.mmap(-1, grains, access=mmap.ACCESS_COPY)  # takes memory where it is written to
        self._lock = threading.Lock()  # its `with` is one step of C: no interrupt leaves it locked
        self._queue: deque[tuple[int, int]] = deque()  # from which grain to which
        self._landed: deque[tuple[int, int]] = deque()
        self._waiting: set[_Waiter] = set()
        self._threads = 0
        self._next = -_NEAR - 1
        self._window = 0
        start, data = ranges.opening
        first, last = -(-start // GRAIN), self._last(start + len(data))
        if first < last:
            low, high = first * GRAIN, min(last * GRAIN, self._size)
            memory[low:high] = data[low - start : high - start]
            self._states[first:last] = _THERE * (last - first)
            self._landed.append((first, last))

    def will_need(self, start: int, stop: int) -> None:
        """Begin to fetch what lacks of a range, in the background."""
        if os.getpid() == self._process:
            with self._lock:
                self._enqueue(start, stop)
                self._start_threads()

    def need(self, start: int, stop: int) -> None:
        """Fetch what lacks of a range, and more behind it where uses are in order. Raises RemoteError."""
        first, last = start // GRAIN, -(-stop // GRAIN)
        if start >= stop or self._is_there(first, last):
            return
        self._require_own(start, stop)
        waiter = _Waiter(first, last)
        try:
            with self._lock:
                self._waiting.add(waiter)
                self._look_ahead(start, stop)
            while True:
                with self._lock:
                    if waiter.failure is not None:
                        raise waiter.failure
                    if self._is_there(first, last):
                        return
                    self._enqueue(start, stop, at_once=True)
                    self._start_threads(besides=1)
                    piece = next((one for one in self._queue if one[0] < last and first < one[1]), None)
                if piece is None:
                    waiter.bell.acquire(timeout=_LONGEST_WAIT)
                else:
                    self._fetch(piece)
        finally:
            with self._lock:
                self._waiting.discard(waiter)

    def copy(self, start: int, target: memoryview) -> None:
        """Fill `target` with the bytes from `start` on; of what was fetched only the last stays in memory.

        Raises RemoteError.
        """
        self._require_own(start, start + len(target))
        if len(target) > PIECE:
            self.will_need(start, start + min(len(target), AHEAD))
        for at in range(0, len(target), PIECE):
            low, high = start + at, start + min(at + PIECE, len(target))
            first, last = low // GRAIN, -(-high // GRAIN)
            is_copied = False
            while not is_copied:
                self.need(low, high)
                with self._lock:
                    is_copied = self._is_there(first, last)  # another thread may have forgotten it
                    if is_copied:
                        target[at : at + high - low] = self._memory[low:high]
                        self._forget()

    def close(self) -> None:
        """Fetch nothing more. In a forked child it stays open: its locks and connections are the parent's."""
        if os.getpid() != self._process:
            return
        with self._lock:
            while self._queue:
                first, last = self._queue[0]
                absent = bytes(last - first)
                del self._queue[0]  # no call: an interrupt comes before this or after the next line
                self._states[first:last] = absent
            self._ring()
        self._ranges.close()

    def _require_own(self, start: int, stop: int) -> None:
        """Raise RemoteError in a forked child, whose memory and connections are the parent's."""
        if os.getpid() != self._process:
            raise RemoteError(
                f"{self._ranges.name}: it was opened in another process, before a fork, and bytes {start} to "
                f"{stop} were not fetched there; open it in this process, as packager.Predictor does",
                self._ranges.name,
                asked=f"bytes {start} to {stop}",
            )

    def _last(self, stop: int) -> int:
        """Return the grain that whole bytes up to `stop` reach to."""
        return len(self._states) if stop >= self._size else stop // GRAIN

    def _is_there(self, first: int, last: int) -> bool:
        return self._states[first:last].count(_THERE) == last - first  # of one moment: no lock is held

    def _look_ahead(self, start: int, stop: int) -> None:
        if abs(start - self._next) > _NEAR:
            self._window, self._next = 0, stop
        elif stop > self._next:
            self._window, self._next = min(max(_GROWTH * self._window, stop - start), AHEAD), stop
        else:  # others use the same
            return
        self._enqueue(start, min(stop + self._window, self._size))

    def _enqueue(self, start: int, stop: int, *, at_once: bool = False) -> None:
        """Put what lacks of a range into the queue, in pieces."""
        first, last = start // GRAIN, -(-stop // GRAIN)
        pieces: list[tuple[int, int]] = []
        length = min(max((stop - start) // 4, PIECE), 4 * PIECE) // GRAIN
        try:
            while (first := self._states.find(_ABSENT, first, last)) >= 0:
                most = min(first + length, last)
                end = next((at for at in range(first, most) if self._states[at]), most)
                pieces.append((first, end))
                self._states[first:end] = _COMING * (end - first)
                first = end
            if at_once:
                self._queue.extendleft(reversed(pieces))
            else:
                self._queue.extend(pieces)
        except BaseException:  # an interrupt: what is not in the queue is not coming
            for low, high in pieces:
                if (low, high) not in self._queue:
                    self._states[low:high] = _ABSENT * (high - low)
            raise

    def _start_threads(self, besides: int = 0) -> None:
        while self._threads < min(self._ranges.parallel - besides, len(self._queue) - besides):
            thread = threading.Thread(target=self._work, name="packager fetches", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # none can be started: all is fetched where it is needed
                return
            self._threads += 1

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._threads -= 1
                    return
                piece = self._queue[0]
            self._fetch(piece)

    def _fetch(self, piece: tuple[int, int]) -> None:
        """Fetch grains, unless another thread does; a failure is told to all that wait for one of them.

        An interrupt at any place leaves them in the queue, or absent.
        """
        first, last = piece
        start, stop = first * GRAIN, min(last * GRAIN, self._size)
        there, failure, taken, absent = first, None, False, bytes(last - first)

        def landed(count: int) -> None:
            nonlocal there
            now = self._last(start + count)
            if (now - there) * GRAIN >= STEP or now == last > there:
                with self._lock:
                    begun, states = there, _THERE * (now - there)
                    self._states[begun:now] = states
                    there = now
                    self._landed.append((begun, now))
                    self._ring()

        try:
            with self._lock:
                if piece not in self._queue:
                    return
                taken = True
                self._queue.remove(piece)
            self._ranges.read(start, self._memory[start:stop], landed)
        except Exception as error:
            failure = error
        finally:
            if taken and there < last:
                with self._lock:
                    self._states[there:last] = absent[there - first :]  # no call before it, as in `close`
                    for waiter in self._waiting:
                        if waiter.first < last and there < waiter.last:
                            waiter.failure = waiter.failure or failure
                    self._ring()

    def _ring(self) -> None:
        for waiter in self._waiting:
            if waiter.bell.locked():
                waiter.bell.release()

    def _forget(self) -> None:
        """Release what was fetched first, where that is asked for."""
        if self._released is None:
            return
        kept = sum(last - first for first, last in self._landed) * GRAIN
        while kept > KEPT:
            first, last = self._landed.popleft()
            self._states[first:last] = bytes(last - first)
            kept -= (last - first) * GRAIN
            with contextlib.suppress(AttributeError, OSError):  # a system that keeps it until the end
                place = first * GRAIN
                self._released.madvise(mmap.MADV_REMOVE, place, min(last * GRAIN, self._size) - place)


def open_ranges(source: Address | Any, *, from_end: bool) -> Ranges:
    """Open the file at an address, or a file object that can seek, by one request for its end or its start.

    Raises RemoteError, and AddressError where a package is needed for the scheme.
    """
    if not isinstance(source, Address):
        return FileRanges(source)
    if source.scheme in HTTP:
        from .http_ranges import HttpRanges

        return HttpRanges(source, from_end=from_end)
    from .store_ranges import StoreRanges

    return StoreRanges(source, from_end=from_end)
