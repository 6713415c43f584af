"""A file server, and a proxy before it that delays what goes either way: another machine, on loopback.

    python -m benchmarks.distance FOLDER MILLISECONDS [MEGABYTES]

serves the files of a folder, prints the port of the proxy, and ends with its standard input. All connections
share the megabytes a second, where they are given.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep
from typing import Any

_PIECE = 1 << 18
_WAITING = 256  # pieces that are on their way at once


class RangeHandler(SimpleHTTPRequestHandler):
    """Sends a range of a file, by the system's own copy from file to socket."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        with open(self.translate_path(self.path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            asked = self.headers.get("Range")
            first, _, last = (asked or "bytes=0-").removeprefix("bytes=").partition("-")
            start = int(first) if first else max(size - int(last), 0)
            stop = min(int(last) + 1, size) if first and last else size
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(stop - start))
            self.send_header("ETag", '"one"')
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
            self.end_headers()
            self.wfile.flush()
            while start < stop:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, stop - start)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Line:
    """What all connections share: so many bytes a second, or no bound at 0."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free = 0.0
        self._lock = threading.Lock()

    def pass_by(self, count: int) -> None:
        """Wait until so many bytes are through."""
        if not self._rate:
            return
        with self._lock:
            self._free = due = max(self._free, monotonic()) + count / self._rate
        if (left := due - monotonic()) > 0.001:
            sleep(left)


def proxy(to: int, delay: float, rate: float = 0) -> int:
    """Start a proxy to a port of loopback that delays each piece; return its own port."""
    line = Line(rate)
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept() -> None:
        while True:
            near, _ = listening.accept()
            threading.Thread(target=connect, args=(near,), daemon=True).start()

    def connect(near: socket.socket) -> None:
        far = socket.create_connection(("127.0.0.1", to))
        for one, other in ((near, far), (far, near)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_carry, args=(one, other, delay, line), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return int(listening.getsockname()[1])


def _carry(near: socket.socket, far: socket.socket, delay: float, line: Line) -> None:
    """Carry what comes from one side to the other, so much later."""
    on_the_way: queue.Queue[tuple[float, bytes]] = queue.Queue(_WAITING)

    def deliver() -> None:
        with suppress(OSError):
            while True:
                due, data = on_the_way.get()
                if (left := due - monotonic()) > 0:
                    sleep(left)
                if not data:
                    far.shutdown(socket.SHUT_WR)
                    return
                line.pass_by(len(data))
                far.sendall(data)

    threading.Thread(target=deliver, daemon=True).start()
    data = b"-"
    while data:
        try:
            data = near.recv(_PIECE)
        except OSError:
            data = b""
        on_the_way.put((monotonic() + delay, data))


def main() -> None:
    """Serve until standard input ends."""
    folder, milliseconds, *megabytes = sys.argv[1:]
    os.chdir(folder)
    rate = float(megabytes[0]) * 1e6 if megabytes else 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(proxy(server.server_port, float(milliseconds) / 1000, rate), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
