"""Connections to hosts: each wait has an end, and the few that are idle are shared by all files."""

from __future__ import annotations

import io
import os
import socket
import ssl
import threading
import time
from collections import deque
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import SplitResult
from weakref import WeakValueDictionary

BESIDE: Final = 1 << 18
"""The most bytes that an answer may have besides its body: headers, sizes of chunks, trailers."""

_IDLE: Final = 8
_PORTS: Final = {"http": 80, "https": 443}


class Wire:
    """A socket for `http.client` that waits until `deadline`, and reads what there is `room` for."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.deadline = 0.0
        self.room = 0

    def sendall(self, data: bytes) -> None:
        self._socket.settimeout(_left(self.deadline))
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return what an answer is read from; it holds the socket open, as that of a socket does."""
        raw: Any = self._socket.makefile("rb", buffering=0)
        return io.BufferedReader(_Received(self, raw))

    def receive(self, raw: io.RawIOBase, target: memoryview) -> int:
        """Read what comes next. Raises TimeoutError and ConnectionError for what is beyond the bounds."""
        if not self.room:
            raise ConnectionError("more bytes came than an answer may have")
        self._socket.settimeout(_left(self.deadline))
        count = raw.readinto(target[: self.room]) or 0
        self.room -= count
        return count

    def close(self) -> None:
        self._socket.close()


class _Received(io.RawIOBase):
    """What comes on a wire."""

    def __init__(self, wire: Wire, raw: io.RawIOBase) -> None:
        self._wire = wire
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        return self._wire.receive(self._raw, memoryview(target))

    def close(self) -> None:
        self._raw.close()
        super().close()


class Connections:
    """Connections that are idle, at most a few; they are closed with the last file that uses them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: deque[HTTPConnection] = deque()
        self._secure: ssl.SSLContext | None = None

    def ask(self, place: SplitResult, headers: dict[str, str], deadline: float) -> HTTPConnection:
        """Send a request on a connection, idle or new. Its `sock` is a Wire, with this deadline at first.

        Raises OSError and ValueError, and HTTPException of `http.client`.
        """
        connection = self._taken(place) or self._connected(place, deadline)
        wire: Any = connection.sock
        wire.deadline, wire.room = deadline, BESIDE
        try:
            query = f"?{place.query}" if place.query else ""
            connection.request("GET", f"{place.path}{query}", headers=headers)
        except BaseException:
            connection.close()
            raise
        return connection

    def keep(self, connection: HTTPConnection) -> None:
        """Take back a connection whose answer was read to the end."""
        with self._lock:
            self._idle.append(connection)
            spare = self._idle.popleft() if len(self._idle) > _IDLE else None
        if spare is not None:
            spare.close()

    def close(self) -> None:
        """Close all that are idle."""
        with self._lock:
            idle, self._idle = self._idle, deque()
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        for connection in self._idle:  # without the lock, which may be held where it was forked
            connection.close()

    def _taken(self, place: SplitResult) -> HTTPConnection | None:
        wanted = place.hostname, place.port or _PORTS[place.scheme], _PORTS[place.scheme]
        with self._lock:
            for known in self._idle:
                if (known.host, known.port, known.default_port) == wanted:
                    self._idle.remove(known)
                    return known
        return None

    def _connected(self, place: SplitResult, deadline: float) -> HTTPConnection:
        """Connect to the first address of a host that answers; each has half of the time that is left."""
        host = place.hostname or ""
        connection = HTTPConnection(host, place.port or _PORTS[place.scheme])
        connection.default_port = _PORTS[place.scheme]
        failure = OSError("the host has no address")
        known: Any
        for *_, known in socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM):
            try:
                plain = socket.create_connection(known[:2], _left(deadline) / 2)
            except OSError as error:
                failure = error
                continue
            connection.sock = Wire(plain if place.scheme == "http" else self._secured(plain, host, deadline))
            return connection
        raise failure

    def _secured(self, plain: socket.socket, host: str, deadline: float) -> socket.socket:
        if self._secure is None:
            self._secure = ssl.create_default_context()
        try:
            plain.settimeout(_left(deadline))
            return self._secure.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise


def shared_connections() -> Connections:
    """Return the connections of this process, which a forked child has none of, and of its authorities."""
    key = os.getpid(), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return _SHARED.setdefault(key, Connections())


_SHARED: Final[WeakValueDictionary[object, Connections]] = WeakValueDictionary()


def _left(deadline: float) -> float:
    """Return how many seconds are left. Raises TimeoutError where there are none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
