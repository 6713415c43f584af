"""Files that are read in ranges: what they have in common, and the error of one that cannot be read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from packager._texts import one_line, shown_place, without_address
from packager.errors import PackageError

LARGEST: Final = 1 << 42
"""The most bytes that a file may be said to have."""

OPENING: Final = 1 << 18
"""How many bytes the first request asks for, of the end of a file or of its start."""


TIMEOUT: Final = 15.0
"""Seconds until the last header of an answer has to have come, and until its body goes on."""


class RemoteError(PackageError, OSError):
    """A file at an address cannot be read; the text says what to do.

    `address` has no user, password or query. `status` is that of HTTP, where the server answered; `asked` is
    the range of bytes that was asked for.
    """

    __module__ = "packager.errors"  # where users find it

    def __init__(self, message: str, address: str, status: int | None = None, asked: str = "") -> None:
        super().__init__(message)
        self.address = address
        self.status = status
        self.asked = asked


Landed = Callable[[int], None]
"""Is told how many bytes of a range are in memory; they are not written again."""


class Ranges(Protocol):
    """A file that is read in ranges, by several threads at once if `parallel` is above 1.

    `opening` is what came with the first request: from which byte on, and the bytes. Each range comes from
    the same version of the file, or `read` raises RemoteError.
    """

    name: str
    size: int
    parallel: int
    opening: tuple[int, bytes]

    def read(self, start: int, target: memoryview, landed: Landed) -> None:
        """Fill memory with the bytes from `start` on; say along the way how many are there.

        Raises RemoteError.
        """

    def close(self) -> None:
        """Let go of what is open."""


def checked_size(size: int, name: str) -> int:
    """Return the size of a file. Raises RemoteError for one that no file has."""
    if not 0 <= size <= LARGEST:
        raise RemoteError(
            f"{name}: found a size that is not from 0 to {LARGEST} bytes, the most that is read. "
            "Download the file, and open it by its path",
            name,
        )
    return size


def changed_error(name: str, found: str, expected: str, asked: str = "") -> RemoteError:
    """Return the error for a file that is another than at the first request."""
    return RemoteError(
        f"{name}: the file was changed while it was read: found {found}, expected {expected}; open it again, "
        "and pin what is meant by #sha256=IDENTITY",
        name,
        asked=asked,
    )


class FileRanges:
    """A file object that can seek, as those of obstore and fsspec; it stands afterwards where it stood.

    Raises RemoteError for one whose size cannot be found.
    """

    parallel = 1

    def __init__(self, file: Any) -> None:
        self.name = one_line(shown_place(str(getattr(file, "name", type(file).__name__))))
        self._file = file
        self._lock = threading.Lock()
        try:
            before = file.tell()
            found = file.seek(0, 2)
            size = int(file.tell() if found is None else found)
            file.seek(before)
        except Exception as error:
            raise RemoteError(
                f"{self.name}: its size cannot be found: {without_address(error)}", self.name
            ) from error
        self.size = checked_size(size, self.name)
        self.opening = 0, b""

    def read(self, start: int, target: memoryview, landed: Landed) -> None:
        """Fill memory as Ranges says. Raises RemoteError, an OSError, for a file that is closed or cut."""
        with self._lock:
            try:
                before, rest = self._file.tell(), target
                self._file.seek(start)
                while rest:
                    piece = memoryview(self._file.read(len(rest))).cast("B")
                    if not 0 < len(piece) <= len(rest):
                        raise OSError(f"{len(piece)} bytes came at byte {start + len(target) - len(rest)}")
                    rest[: len(piece)] = piece
                    rest = rest[len(piece) :]
                    landed(len(target) - len(rest))
                self._file.seek(before)
            except Exception as error:  # closed, or of text, or whatever a class of its own raises
                asked, said = f"bytes {start} to {start + len(target)} of {self.size}", without_address(error)
                raise RemoteError(
                    f"{self.name}: {asked} cannot be read: {said}; keep the file object open and unchanged "
                    "as long as it is used",
                    self.name,
                    asked=asked,
                ) from error

    def close(self) -> None:
        """Do nothing: the file is the caller's."""
