"""Buckets whose server misbehaves: it sends more than was asked for, nothing, or what it was told."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from packager import PackageImporter
from packager.errors import RemoteError
from tests.remote.serving import FileServer, in_time, serving, talking
from tests.remote.test_deadlines import endless
from tests.remote.test_secrets import echoed, told_by

ADDRESS = "s3://models/net.kellet"


@pytest.fixture
def bucket(small: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """The bucket "models", whose server answers requests for ranges as S3 does."""
    with serving({"/models/net.kellet": small}) as server:
        server.modified = "Mon, 30 Nov 2026 11:00:00 GMT"
        for name, value in {
            "AWS_ENDPOINT_URL": server.address("").rstrip("/"),
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "SECRET",
            "AWS_SESSION_TOKEN": "SECRET",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def read() -> int:
    """Read all tensors, and return how many there are."""
    with PackageImporter(ADDRESS) as importer:
        return len(importer.load_state_dict("model", "weights").copy())


def longer(since: int) -> Any:
    """Return a fault: from that request on more and more bytes come behind those that were asked for."""

    def fault(handler: Any, number: int) -> bool:
        if number < since:
            return False
        data = handler.server.files[handler.path]
        start, stop = handler.span(len(data))
        said = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}", "Content-Length": str(1 << 40)}
        handler.answer(206, data[start:stop], said)
        while True:
            handler.wfile.write(bytes(1 << 16))
            handler.server.sent += 1 << 16

    return fault


def test_archive_is_read(bucket: FileServer, small: bytes) -> None:
    assert read() == 3
    assert bucket.sent <= len(small) + (1 << 18)


@pytest.mark.parametrize("since", [0, 1])
def test_no_more_is_read_than_was_asked_for(bucket: FileServer, small: bytes, since: int) -> None:
    bucket.fault = longer(since)
    found = in_time(30, read)
    assert isinstance(found, RemoteError)
    assert "of a body, expected" in str(found)
    assert bucket.sent < 4 * len(small) + (16 << 20)  # the system holds some MiB of each connection


def test_silent_bucket_is_given_up(bucket: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from packager._remote import store_ranges

    monkeypatch.setattr(store_ranges, "TIMEOUT", 1.0)
    monkeypatch.setenv("AWS_TIMEOUT", "1 s")  # obstore's own is 30 s
    with talking(endless(b"", b"", 0.01)) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address.rpartition("/")[0])
        found = in_time(15, read)
    assert isinstance(found, RemoteError)
    assert "Timeout" in str(found)


def test_bucket_is_asked_for_ranges_that_come_in_time_on_a_slow_link(bucket: FileServer) -> None:
    assert read() == 3
    asked = [part.removeprefix("bytes=").partition("-") for part in bucket.asked[1:]]
    assert max(int(last) - int(first) for first, _, last in asked) < 2 << 20


@pytest.mark.unix
def test_forked_child_of_one_that_read_a_bucket_is_told_at_once(bucket: FileServer) -> None:
    assert read() == 3
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(10)
            try:
                read()
            except RemoteError as error:
                os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with open(reading, "rb") as told:
        assert b"start workers by spawn" in told.read()


@pytest.mark.parametrize("password", ["SECRET", "SECRET/SECRET", "SECRET SECRET", "SECRET?SECRET"])
def test_endpoint_with_a_password_is_not_shown(
    bucket: FileServer, password: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{password}@127.0.0.1:9")
    monkeypatch.setattr("packager._remote.store_ranges.TIMEOUT", 0.1)
    with pytest.raises(RemoteError, match=r"^s3://models/net\.kellet, .*it cannot be read") as told:
        read()
    assert "SECRET" not in told_by(told.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize("status", [403, 404, 418])
def test_bucket_that_repeats_what_it_is_told_is_not_quoted(
    bucket: FileServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = b"HTTP/1.1 %d SECRET\r\nContent-Length: 13\r\n\r\n<Error>SECRET" % status
    with talking(echoed(answer)) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address.rpartition("/")[0])
        with pytest.raises(RemoteError, match=str(status)) as told:
            read()
    assert told.value.status == status
    assert "SECRET" not in told_by(told.value)


def test_object_that_changes_is_an_error(bucket: FileServer) -> None:
    with PackageImporter(ADDRESS) as importer:
        bucket.tag = '"SECRET"'
        with pytest.raises(RemoteError, match="changed while it was read") as told:
            importer.load_state_dict("model", "weights").copy()
    assert "SECRET" not in told_by(told.value)
