"""Servers that never come to an end: each wait of a reader has one, and so has what it takes in."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable

import pytest

from packager import PackageImporter
from packager._remote import http_ranges
from packager.errors import RemoteError
from tests.remote.serving import FileServer, in_time, talking
from tests.remote.test_faults import read

LIMIT = 15.0  # for what ends after about a second
START = b"HTTP/1.1 206 Partial Content\r\n"
CHUNKED = START + b"Content-Range: bytes 0-99/100\r\nTransfer-Encoding: chunked\r\n\r\n"


def endless(first: bytes, piece: bytes, pause: float = 0.0) -> Callable[[socket.socket, bytes], None]:
    """Return what answers with a beginning, and then with a piece again and again."""

    def talk(connection: socket.socket, request: bytes) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return talk


ENDLESS = {
    "silent": endless(b"", b"", 0.01),
    "status line, byte by byte": endless(b"HTTP/1.1 ", b"2", 0.01),
    "header, byte by byte": endless(START + b"A: ", b"x", 0.01),
    "headers, byte by byte": endless(START, b"A: b\r\n", 0.01),
    "headers, at once": endless(START, b"A: " + b"x" * 65_000 + b"\r\n"),
    "100 Continue": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "100 Continue, one by one": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    "redirects, slowly": endless(b"HTTP/1.1 302 Found\r\nLocation: /a\r\nA: ", b"x", 0.01),
    "body, byte by byte": endless(
        START + b"Content-Range: bytes 0-99/100\r\nContent-Length: 100\r\n\r\n", b"", 1
    ),
    "size of a chunk, byte by byte": endless(CHUNKED, b"0", 0.01),
    "extension of a chunk, byte by byte": endless(CHUNKED + b"a;", b"x", 0.01),
    "extensions of chunks": endless(CHUNKED, b"1;" + b"x" * 60_000 + b"\r\nx\r\n"),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_ranges, "TIMEOUT", 0.4)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ENDLESS)
def test_answer_that_does_not_end_is_given_up(how: str) -> None:
    with talking(ENDLESS[how]) as address:
        assert isinstance(in_time(LIMIT, lambda: read(address)), RemoteError)


@pytest.mark.parametrize("pause", [0.0, 0.01])
def test_trailers_that_do_not_end_hold_up_nobody(small: bytes, pause: float) -> None:
    def talk(connection: socket.socket, request: bytes) -> None:
        first, last = request.partition(b"bytes=")[2].split()[0].split(b"-")
        start = int(first) if first else max(len(small) - int(last), 0)
        data = small[start : int(last) + 1 if first else len(small)]
        said = f"Content-Range: bytes {start}-{start + len(data) - 1}/{len(small)}\r\n"
        head = START + said.encode() + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(data)
        endless(head + data + b"\r\n0\r\n", b"A: b\r\n", pause)(connection, request)

    with talking(talk) as address:
        assert in_time(LIMIT, lambda: read(address)) == 3


@pytest.mark.usefixtures("impatient")
def test_greeting_of_tls_that_does_not_end_is_given_up() -> None:
    with talking(endless(b"\x16\x03\x03\x40\x00", b"x", 0.01), "https") as address:
        found = in_time(LIMIT, lambda: read(address))
    assert isinstance(found, RemoteError)
    assert not isinstance(found.__context__, ssl.SSLError)


def test_silent_server_is_given_up_after_half_a_minute() -> None:
    assert http_ranges.TIMEOUT * http_ranges.LATE_ATTEMPTS == 30


@pytest.mark.usefixtures("impatient")
def test_server_that_falls_silent_is_given_up(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        server.delay = 3600
        found = in_time(LIMIT, state.copy)
    assert isinstance(found, RemoteError)
    assert "timed out" in str(found)


def test_connections_are_used_again(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = []
    taken = server.get_request
    monkeypatch.setattr(server, "get_request", lambda: accepted.append(1) or taken())
    with PackageImporter(server.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        assert all(state[key].shape == (64, 4096) for key in state)
        assert len(accepted) < len(server.asked)
