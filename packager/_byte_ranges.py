"""Ranges of bytes as a file, for readers of the standard library that want one."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


class Allowance:
    """How much several files may give together.

    >>> left = Allowance(10, "bytes of all parts")
    >>> left.spend(7)
    >>> left.spend(4)
    Traceback (most recent call last):
    ValueError: 11 bytes of all parts; the limit is 10
    """

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._spent = 0

    def spend(self, count: int) -> None:
        """Count so many. Raises ValueError where all that were counted are more than the limit."""
        self._spent += count
        if self._spent > self._most:
            raise ValueError(f"{self._spent} {self._what}; the limit is {self._most}")


class ByteRanges(io.RawIOBase):
    """Read bytes, which a function gives from one place to another, as a file.

    `most` bounds what one read may ask for: a format that says itself how long its parts are would
    otherwise ask for as much memory as it likes. `allowance` counts what is read, before it is, beside what
    other files read. Errors of the function go through.

    >>> file = ByteRanges(lambda start, stop: b"abcdef"[start:stop], 6, most=4)
    >>> file.seek(-3, io.SEEK_END), file.read(2), file.tell()
    (3, b'de', 5)
    >>> file.seek(0), file.read()
    Traceback (most recent call last):
    ValueError: a part of 6 bytes is read at once; the limit is 4 bytes
    """

    def __init__(
        self,
        read: Callable[[int, int], bytes | memoryview],
        size: int,
        *,
        most: int | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        self._range = read
        self._size = size
        self._allowance = allowance
        self._most = size if most is None else most
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place. Raises ValueError for one before the first byte."""
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if at < 0:
            raise ValueError(f"byte {at} was asked for")
        self._at = at
        return at

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes, or all that are left.

        Raises ValueError for more than `most`, and for more than the allowance has left.
        """
        start = min(self._at, self._size)
        stop = self._size if size is None or size < 0 else min(start + size, self._size)
        if stop - start > self._most:
            raise ValueError(
                f"a part of {stop - start} bytes is read at once; the limit is {self._most} bytes"
            )
        if self._allowance is not None:
            self._allowance.spend(stop - start)
        self._at = stop
        return bytes(self._range(start, stop))

    def readinto(self, target: Any) -> int:
        """Fill a buffer as far as there are bytes, and return how many there were."""
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)
