"""Servers that answer wrongly, slowly or not at all: an error that says what to do, or one more attempt."""

from __future__ import annotations

import pickle
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from packager import PackageImporter
from packager._remote import connections, http_ranges
from packager.errors import PackageError, RemoteError
from tests.remote.serving import FileServer, serving


def read(address: str) -> int:
    """Read all tensors, and return how many there are."""
    with PackageImporter(address) as importer:
        return len(importer.load_state_dict("model", "weights").copy())


def answered(status: int, body: bytes = b"", **headers: str) -> Callable[[Any, int], bool]:
    """Return a fault that answers every request in this way; `_` stands for `-` in names of headers."""

    def fault(handler: Any, number: int) -> bool:
        handler.answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return True

    return fault


TOLD = {
    "404": (answered(404), "404", "correct the address, or upload the file"),
    "401": (answered(401), "401", "user:password@host"),
    "416": (answered(416), "416", "curl -L"),
    "wrong range": (
        answered(206, b"ab", Content_Range="bytes 0-1/4000000"),
        "another range",
        "asked for",
    ),
    "range without end": (
        answered(206, b"ab", Content_Range="bytes 0-1/*"),
        "the Content-Range of another form",
        "FIRST-LAST/SIZE",
    ),
    "no range": (answered(206, b"ab"), "the Content-Range missing", "FIRST-LAST/SIZE"),
    "several ranges": (
        answered(206, b"ab", Content_Type="multipart/byteranges; boundary=x"),
        "the Content-Range missing",
        "FIRST-LAST/SIZE",
    ),
    "huge": (
        answered(
            206, b"", Content_Range=f"bytes {10**18 - (1 << 18)}-{10**18 - 1}/{10**18}", Content_Length=""
        ),
        "a size that is not from 0 to 4398046511104",
        "the most that is read",
    ),
    "compressed": (answered(200, b"ab", Content_Encoding="gzip"), "Content-Encoding", "the file as it is"),
    "endless redirect": (
        answered(302, Location="/net.kellet"),
        "more than 5 redirects",
        "give the address of the file itself",
    ),
    "redirect to a file": (
        answered(302, Location="file:///etc/passwd"),
        "another scheme",
        "to a host of http",
    ),
    "redirect to nowhere": (answered(302, Location="http://[::1"), "to no host", "to a host of http"),
    "all of a large file": (
        answered(200, b"", Content_Length=str(http_ranges.TAKEN_WHOLE + 1)),
        "200 with all",
        "give its path",
    ),
    "503": (answered(503), "503 Service Unavailable", "try again"),
    "429": (answered(429, Retry_After="3600"), "429 Too Many Requests", "longer than 10 s"),
}


@pytest.mark.parametrize("fault", TOLD)
def test_error_says_address_range_and_what_to_do(server: FileServer, fault: str) -> None:
    server.fault, found, mend = TOLD[fault]
    with pytest.raises(RemoteError) as told:
        read(server.address().replace("//", "//me:secret@") + "?token=hidden")
    text = str(told.value)
    assert text.startswith(f"{server.address()}")
    assert found in text
    assert mend in text
    assert not {"secret", "hidden"} & {*text.replace("=", " ").replace("@", " ").replace(":", " ").split()}
    assert isinstance(told.value, PackageError)
    assert isinstance(told.value, OSError)
    again = pickle.loads(pickle.dumps(told.value))
    assert (str(again), again.address, again.status) == (text, server.address(), told.value.status)


def test_answer_without_a_length_is_refused(server: FileServer) -> None:
    def fault(handler: Any, number: int) -> bool:
        handler.answer(200, b"PK", {"Content-Length": ""})
        handler.close_connection = True
        return True

    server.fault = fault
    with pytest.raises(RemoteError, match="found no length of the file; expected Content-Length"):
        read(server.address())


def test_small_file_is_taken_whole_from_a_server_without_ranges(server: FileServer, small: bytes) -> None:
    server.fault = answered(200, small)
    assert read(server.address()) == 3
    assert len(server.asked) == 1


def test_200_for_a_later_range_is_a_change(server: FileServer, small: bytes) -> None:
    with PackageImporter(server.address()) as importer:
        server.fault = answered(200, small)
        with pytest.raises(
            RemoteError, match="changed while it was read: found the answer 200, expected 206"
        ):
            importer.load_state_dict("model", "weights").copy()


@pytest.mark.parametrize("how", ["cut", "reset", "503", "429", "closed"])
def test_what_passes_is_tried_again(server: FileServer, how: str) -> None:
    def fault(handler: Any, number: int) -> bool:
        if number % 2:
            return False
        if how in ("503", "429"):
            return answered(int(how), Retry_After="0")(handler, number)
        if how == "cut":
            data = handler.server.files["/net.kellet"]
            start, stop = handler.span(len(data))
            said = {
                "Content-Range": f"bytes {start}-{stop - 1}/{len(data)}",
                "Content-Length": str(stop - start),
            }
            handler.answer(206, data[start : start + 1000], said)
        handler.close_connection = True
        if how == "reset":
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
        return True

    server.fault = fault
    assert read(server.address()) == 3


def test_attempt_goes_on_where_the_last_one_ended(server: FileServer) -> None:
    def fault(handler: Any, number: int) -> bool:
        data = handler.server.files["/net.kellet"]
        start, stop = handler.span(len(data))
        if number != 1:
            return False
        said = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}", "Content-Length": str(stop - start)}
        handler.answer(206, data[start : start + 1000], said)
        handler.close_connection = True
        return True

    server.fault = fault
    assert read(server.address()) == 3
    first, again = (int(one.removeprefix("bytes=").partition("-")[0]) for one in server.asked[1:3])
    assert again == first + 1000


def test_attempts_have_an_end(server: FileServer) -> None:
    server.fault = answered(502)
    with pytest.raises(RemoteError, match="502 Bad Gateway"):
        read(server.address())
    assert len(server.asked) == http_ranges.ATTEMPTS


def test_slow_drip_has_an_end(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_ranges, "TIMEOUT", 0.3)
    monkeypatch.setattr(http_ranges, "ATTEMPTS", 2)

    def fault(handler: Any, number: int) -> bool:
        data = handler.server.files["/net.kellet"]
        start, stop = handler.span(len(data))
        said = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}", "Content-Length": str(stop - start)}
        handler.answer(206, b"", said)
        for place in range(start, stop):
            handler.wfile.write(data[place : place + 1])
            time.sleep(0.05)
        return True

    server.fault = fault
    started = time.monotonic()
    with pytest.raises(RemoteError, match="timed out"):
        read(server.address())
    assert time.monotonic() - started < 10


def test_silent_server_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_ranges, "TIMEOUT", 0.1)
    monkeypatch.setattr(http_ranges, "ATTEMPTS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(RemoteError, match="timed out"):
        read(f"http://127.0.0.1:{silent.getsockname()[1]}/net.kellet")


@pytest.mark.parametrize(
    "answer", [b"", b"\0" * 70_000, b"HTTP/1.1 206\r\n" + b"A: b\r\n" * 200, b"SSH-2.0-x\r\n"]
)
def test_server_of_another_protocol_is_an_error(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr(http_ranges, "ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def talk() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        threading.Thread(target=talk, daemon=True).start()
        with pytest.raises(RemoteError, match="it cannot be read"):
            read(f"http://127.0.0.1:{odd.getsockname()[1]}/net.kellet")


def test_redirect_to_another_host_is_followed_without_credentials(server: FileServer) -> None:
    with serving(server.files) as other:
        server.fault = answered(302, Location=other.address(host="localhost"))
        assert read(server.address().replace("//", "//me:secret@")) == 3
        assert [headers["Authorization"] for headers in server.headers] == ["Basic bWU6c2VjcmV0"]
        assert len(other.headers) > 1  # the place is remembered
        assert not any("Authorization" in headers for headers in other.headers)


def test_expired_redirect_is_asked_for_again(server: FileServer) -> None:
    def expired(handler: Any, number: int) -> bool:
        return number == 1 and answered(403)(handler, number)

    with serving(server.files) as other:
        server.fault = answered(302, Location=other.address())
        other.fault = expired
        assert read(server.address()) == 3
        assert len(server.asked) == 2


def test_failed_fetch_is_tried_again_by_the_next_use(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        state = importer.load_state_dict("model", "weights")
        server.fault = answered(404)
        with pytest.raises(RemoteError, match="404"):
            state["layer.0"]
        server.fault = None
        assert state["layer.0"].shape == (64, 4096)


def test_connection_that_was_given_back_stays_open_after_an_interrupt(
    server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = connections.Connections.keep

    def keep(self: connections.Connections, connection: Any) -> None:
        kept(self, connection)
        monkeypatch.undo()
        raise KeyboardInterrupt

    with PackageImporter(server.address()):
        monkeypatch.setattr(connections.Connections, "keep", keep)
        with pytest.raises(KeyboardInterrupt):
            PackageImporter(server.address())
        assert read(server.address()) == 3
