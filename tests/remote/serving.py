"""A server on loopback that gives ranges of files, counts requests, and makes the mistakes it is told to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Talks(dict[threading.Thread, socket.socket]):
    """The connections of a server that are open, by the thread that answers on each."""

    @contextmanager
    def on(self, connection: socket.socket) -> Iterator[None]:
        """Note a connection while this thread answers on it."""
        self[threading.current_thread()] = connection
        try:
            yield
        finally:
            del self[threading.current_thread()]

    def end(self) -> None:
        """End all of them: what a test leaves open would be counted by others."""
        for thread, connection in [*self.items()]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(2)


class FileServer(ThreadingHTTPServer):
    """Serves `files` by path. `asked` are the ranges of all requests, `sent` the bytes of all bodies.

    `fault(handler, number)` may answer the request of that number itself, and says by True that it did.
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes], host: str = "127.0.0.1") -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, 0), Handler)
        self.host = host
        self.files = files
        self.tag: str | None = '"one"'
        self.modified: str | None = None
        self.delay = 0.0
        self.fault: Callable[[Any, int], bool] | None = None
        self.scheme = "http"
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.sent = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.talks = Talks()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self.talks.on(request):
            super().process_request_thread(request, client_address)

    def end(self) -> None:
        """Wait for none that is late, and let go of all connections."""
        self.shutdown()
        self.ended.set()
        self.talks.end()

    def address(self, name: str = "net.kellet", host: str | None = None) -> str:
        """Return the address of a file."""
        shown = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{self.scheme}://{shown}:{self.server_address[1]}/{name}"

    def clear(self) -> None:
        """Forget what was asked."""
        self.asked, self.headers, self.sent = [], [], 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            number = len(server.asked)
            server.asked.append(self.headers.get("Range", ""))
            server.headers.append(dict(self.headers))
        server.ended.wait(server.delay)
        if server.fault is not None and server.fault(self, number):
            return
        data = server.files.get(self.path)
        if data is None:
            self.answer(404)
            return
        start, stop = self.span(len(data))
        self.answer(206, data[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"})

    def span(self, size: int) -> tuple[int, int]:
        """Return the range that is asked for."""
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        if not first:
            return max(size - int(last), 0), size
        return int(first), min(int(last) + 1, size)

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Send an answer; headers with an empty value are left out."""
        known = {
            "Content-Length": str(len(body)),
            "ETag": self.server.tag,
            "Last-Modified": self.server.modified,
        }
        self.send_response(status)
        for name, value in {**known, **(headers or {})}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        with self.server.lock:
            self.server.sent += len(body)
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(files: dict[str, bytes], host: str = "127.0.0.1") -> Iterator[FileServer]:
    """Serve files until the block ends."""
    with FileServer(files, host) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.end()
            thread.join()


@contextmanager
def talking(talk: Callable[[socket.socket, bytes], None], scheme: str = "http") -> Iterator[str]:
    """Give the address of a server that reads a request on each connection, and answers by `talk`."""

    talks = Talks()

    def one(connection: socket.socket) -> None:
        with talks.on(connection), connection, suppress(OSError):
            while request := connection.recv(1 << 16):
                talk(connection, request)

    def accept(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        threading.Thread(target=accept, args=(listening,), daemon=True).start()
        yield f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/net.kellet"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # ends what accepts
        talks.end()


def in_time(seconds: float, call: Callable[[], object]) -> object:
    """Return what a call gives, or the error that it raises. Fails where it takes longer."""
    found: list[object] = []

    def watched() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=watched, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"not over after {seconds} s"
    return found[0]
