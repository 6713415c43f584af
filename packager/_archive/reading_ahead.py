"""Reading ahead: a file is brought into the page cache in large blocks, before its bytes are used.

A page of a map that is not in memory is read when it is touched, with the few neighbours that the system
adds. On a disk behind a network, and on one that is best read in large pieces, that is many short waits. Here
a thread reads blocks in order, some way ahead of the last bytes that were used, while those are checked.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final, Protocol

BLOCK: Final = 8 << 20
"""How many bytes are read at once."""

AHEAD: Final = 256 << 20
"""How far from the last use is read: what is read too early may be gone from memory before it is used."""


class ReadAhead:
    """What is read ahead of one file. `bring(start, size)` reads a block.

    An error of `bring` ends the reading, and is told by no one: the use of the same bytes meets it again,
    and raises it where somebody waits for them.

    >>> blocks = []
    >>> ahead = ReadAhead(lambda start, size: blocks.append((start, size)), 20 << 20)
    >>> ahead.use(0, 100)
    >>> ahead.wait()
    >>> [(start >> 20, size >> 20) for start, size in blocks]
    [(0, 8), (8, 8), (16, 4)]
    """

    def __init__(self, bring: Callable[[int, int], object], size: int) -> None:
        self._bring = bring
        self._size = size
        self._from = self._done = self._goal = 0  # read, or being read, from the first to the last
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def use(self, start: int, stop: int) -> None:
        """Note that bytes are about to be used: they, and as many as `AHEAD` after them, are read.

        A use elsewhere than in or right behind what was read begins anew there.
        """
        if self._from <= start and stop + AHEAD // 2 <= self._goal:
            return
        goal = min(stop + AHEAD, self._size)
        with self._lock:
            if not self._from <= start <= self._goal:
                self._from = self._done = start
                self._goal = goal
            elif goal <= self._goal:
                return
            self._goal = max(goal, self._goal)
            # A thread that is not alive may be one of the parent process, before a fork.
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._read, name="packager reads ahead", daemon=True)
                with contextlib.suppress(RuntimeError):  # no thread can be started: read when it is used
                    thread.start()
                    self._thread = thread

    def stop(self) -> None:
        """Read no further than the block that is being read."""
        with self._lock:
            self._done = self._goal

    def wait(self) -> None:
        """Wait until all is read that was to be read."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _read(self) -> None:
        while True:
            with self._lock:
                start = self._done
                size = min(BLOCK, self._goal - start)
                if size <= 0:
                    self._thread = None
                    return
                self._done = start + size
            try:
                self._bring(start, size)
            except OSError:
                return


class OpenFile(Protocol):
    """A descriptor that stays open as long as this is referred to."""

    number: int


def bring_with(
    file: OpenFile, read_into: Callable[[memoryview, int, int], int]
) -> Callable[[int, int], object]:
    """Return what brings a block of an open file into the page cache; it keeps the file open.

    The block is read, and its copy forgotten: a system that is only asked for it (`posix_fadvise`) takes
    twice as long, as it then fills the cache page by page.
    """
    scratch = memoryview(bytearray(BLOCK))

    def read(start: int, size: int) -> None:
        rest = scratch[:size]
        while rest and (done := read_into(rest, file.number, start + size - len(rest))):
            rest = rest[done:]

    return read
