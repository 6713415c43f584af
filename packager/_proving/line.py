"""The line between the clean process and the exporter: a message and its answer, each by its own connection.

It is a socket with a name in the folder of the process; on Windows one of this machine alone. Nothing is kept
between two messages: threads, and processes that stored code forks, connect by themselves, and no lock is
held while one waits. Messages are plain data and the records of this room: what comes out of stored code
cannot be made into anything else. Each run has a token: what outlives a run is not heard in the next one.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgpack

from packager._quick_dataclasses import dataclass, field_names

from .proof import RECORDS

if TYPE_CHECKING:
    import socket

Address = str | tuple[str, int]

_UNIX: int | None = getattr(_socket, "AF_UNIX", None) if hasattr(os, "fork") else None
_AT_ONCE: Final = 1 << 18
_LONGEST: Final = 100
"""Bytes of a socket's name: Linux takes 107, macOS 103."""
_PATIENCE: Final = 60
"""Seconds that one message, or one answer, may take on its way."""


def packed(value: object) -> bytes:
    """Return plain data, and records in it, as bytes. Names of files may hold halves of surrogate pairs.

    >>> from packager._proving import Question
    >>> unpacked(packed([Question("file", "caf\\udce9"), {"rate": 0.5}]))
    (Question(kind='file', name='caf\\udce9', place=None), {'rate': 0.5})
    """
    data: bytes = msgpack.packb(value, default=_fields, unicode_errors="surrogatepass")
    return data


def unpacked(data: bytes) -> Any:
    """Return what was packed; lists come back as tuples."""
    return msgpack.unpackb(data, ext_hook=_record, use_list=False, unicode_errors="surrogatepass")


def _fields(record: Any) -> msgpack.ExtType:
    fields = [getattr(record, name) for name in field_names(record)]
    return msgpack.ExtType(RECORDS.index(type(record)), packed(fields))


def _record(number: int, fields: bytes) -> Any:
    return RECORDS[number](*unpacked(fields))


@dataclass(frozen=True)
class Line:
    """The run's end; `ask` returns what the exporter answers, None where it does not listen any more."""

    address: Address
    token: str

    def ask(self, message: object) -> Any:
        """Send a message, and return the answer. Nothing is imported, opened or logged meanwhile."""
        with contextlib.suppress(OSError), _reachable(self.address) as address:
            line = _socket.socket(_socket.AF_INET if isinstance(address, tuple) else _UNIX or -1)
            try:
                line.connect(address)
                line.sendall(packed([self.token, message]))
                line.shutdown(_socket.SHUT_WR)
                data = b"".join(iter(lambda: line.recv(_AT_ONCE), b""))
                return unpacked(data) if data else None
            finally:
                line.close()
        return None  # the run is over, and this is a process that outlives it


class Listener:
    """The exporter's end: it hears every process of a run. `address` is where, `token` that of the run."""

    def __init__(self, folder: str) -> None:
        import socket

        self.token = ""
        self._socket = socket.socket(socket.AF_INET if _UNIX is None else _UNIX)
        try:
            named: Address = ("127.0.0.1", 0) if _UNIX is None else os.path.join(folder, "line")
            with _reachable(named) as name:
                self._socket.bind(name)
            self._socket.listen()
        except BaseException:
            self._socket.close()
            raise
        self.address: Address = self._socket.getsockname() if _UNIX is None else named

    def begin(self) -> None:
        """Begin to hear another run."""
        self.token = secrets.token_hex()

    def wait(self, seconds: float) -> socket.socket | None:
        """Wait so long for a message, and return the connection that it comes by."""
        self._socket.settimeout(seconds)
        try:
            return self._socket.accept()[0]
        except TimeoutError:
            return None

    def hear(self, connection: socket.socket, answer: Callable[[Any], Any]) -> None:
        """Read a message, and send what `answer` says to it."""
        connection.settimeout(_PATIENCE)
        with connection:
            try:
                token, message = unpacked(b"".join(iter(lambda: connection.recv(_AT_ONCE), b"")))
            except (OSError, ValueError, TypeError):  # a process that was killed, or one that is not ours
                return
            if token == self.token:
                answered = packed(answer(message))
                with contextlib.suppress(OSError):
                    connection.sendall(answered)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


@contextlib.contextmanager
def _reachable(address: Address) -> Iterator[Address]:
    """Give a name of a socket that is short enough; temporary folders may have long ones."""
    if not isinstance(address, str) or len(os.fsencode(address)) <= _LONGEST:
        yield address
        return
    folder = os.open(os.path.dirname(address), os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{os.path.basename(address)}"
    finally:
        os.close(folder)
