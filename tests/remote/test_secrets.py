"""What must not be shown of an address: user, password, query; in no message, whoever wrote it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import packager
from packager import PackageImporter, Predictor
from packager._cli.main import main
from packager._remote import address_in, hide_secrets
from packager._texts import without_credentials
from packager.errors import AddressError, ArgumentError, PackageError, RemoteError
from tests.remote.serving import FileServer, serving, talking
from tests.remote.test_faults import answered, read

PLACE = "127.0.0.1:9"
ODD = {
    "no slash before the query": f"http://{PLACE}?sig=SECRET",
    "slash in a password": f"http://user:pa/SECRET@{PLACE}/x",
    "slash in a password of digits": f"http://user:12/SECRET@{PLACE}/x",
    "number sign in a password": f"http://user:SECRET#SECRET@{PLACE}/x",
    "question mark in a password": f"http://user:SECRET?SECRET@{PLACE}/x",
    "at and slash in a password": f"http://user:SECRET@SECRET/SECRET@{PLACE}/x",
    "token with a slash": f"http://SECRET/SECRET@{PLACE}/x",
    "no host": "http:///user:SECRET@host/x",
    "password and no host": "http://user:SECRET",
    "odd port": f"http://user:SECRET@{PLACE}x/x?sig=SECRET",
    "NUL": f"http://user:SECRET@{PLACE}/x\0?sig=SECRET",
    "NUL in a password": f"http://user:SECRET\0@{PLACE}/x",
    "line feed in a password": f"http://user:SECRET\n@{PLACE}/x?sig=SECRET\r\nA: SECRET",
    "escape in the host": f"http://user:SECRET@\x1b[2J{PLACE}/x",
    "half of a character": f"http://user:SECRET@{PLACE}/\ud800?sig=SECRET",
    "byte that is no text": f"http://user:SECRET\udc80@{PLACE}/\udc80?sig=SECRET",
    "other fragment": f"http://user:SECRET@{PLACE}/x#SECRET",
    "pin with more": f"http://{PLACE}/x#sha256=SECRET",
    "address in the path": f"http://{PLACE}/http://user:SECRET@host/x",
    "bucket and a query": "s3://bucket/key?sig=SECRET",
    "bucket and a user": "s3://user:SECRET@bucket/key",
    "bucket and a password with a slash": "s3://user:pa/SECRET@bucket/key",
    "unknown scheme": f"ftp://user:SECRET/SECRET@{PLACE}/x?sig=SECRET",
    "blank before it": f" http://user:SECRET@{PLACE}/x?sig=SECRET",
    "no slash": f"http:user:SECRET@{PLACE}/x",
    "no slash, and one in a password": f"http:user:SECRET/SECRET@{PLACE}/x",
    "no scheme": f"//user:SECRET@{PLACE}/x?sig=SECRET",
    "reverse slashes": f"http:\\\\user:SECRET@{PLACE}\\x",
    "one slash": f"http:/user:SECRET@{PLACE}/x?sig=SECRET",
}


def told_by(error: BaseException) -> str:
    """Return all that may be shown of an error, and of those that it came from."""
    shown, context = f"{error} {error!r} {vars(error)}", error.__context__
    before = error.__cause__ or (None if error.__suppress_context__ else context)
    return shown + (told_by(before) if before else "")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "call",
    [
        *(PackageImporter, packager.open_checkpoint, packager.verify, packager.load, Predictor),
        *(packager.PackageExporter, lambda address: packager.compare_files(address, address)),
    ],
)
def test_odd_address_is_refused_and_not_shown(odd: str, call: Callable[[str], object]) -> None:
    with pytest.raises((PackageError, OSError)) as told:
        call(ODD[odd])
    assert not any(word in told_by(told.value) for word in ("SECRET", "pa/"))


@pytest.mark.parametrize("odd", [odd for odd in ODD if "\ud800" not in ODD[odd]])
def test_command_shows_no_odd_address(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["inspect"], ["diff", "x"], ["convert", "-o", "x.kellet"], ["verify"], ["inspect", "x"]):
        for given in (ODD[odd], f"-{ODD[odd]}", f"./{ODD[odd]}"):
            with suppress(SystemExit):
                assert main([*words, given]) != 0
            assert "SECRET" not in "".join(capsys.readouterr())


def test_command_shows_no_address_that_it_does_not_read(
    small: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.kellet").write_bytes(small)
    net, address = str(tmp_path / "net.kellet"), f"http://user:SECRET@{PLACE}/x?sig=SECRET"
    assert main(["extract", net, str(tmp_path / "out"), address]) != 0
    assert main(["sign", net, "--key", address]) != 0
    assert "SECRET" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://models.example/a@b.kellet?x=1@2", "https://models.example/a@b.kellet"),
        ("http://localhost:8080/a@b.kellet", "http://localhost:8080/a@b.kellet"),
        ("http://[::1]:8080/a@b.kellet", "http://[::1]:8080/a@b.kellet"),
        ("https://me:pass@models.example:8443/net.kellet", "https://models.example:8443/net.kellet"),
        ("https://models.example?x=1", "https://models.example/"),
        ("s3://models/me@home/net.kellet", "s3://models/me@home/net.kellet"),
    ],
)
def test_plain_address_is_shown(address: str, shown: str) -> None:
    assert str(address_in(address)) == shown


def test_password_is_sent_as_it_was_before_it_was_quoted(server: FileServer) -> None:
    assert read(server.address().replace("//", "//me:pa%2Fss%40w%23o%3Frd@")) == 3
    assert server.headers[0]["Authorization"] == "Basic bWU6cGEvc3NAdyNvP3Jk"


def test_what_a_command_was_given_stays_pinned_where_it_is_hidden(small: bytes) -> None:
    identity = packager.verify(small).identity
    hidden = hide_secrets(f"https://me:SECRET@models.example/x?sig=SECRET#sha256={identity}")
    assert hidden == f"https://models.example/x#sha256={identity}"
    found = address_in(hidden)
    assert (found.identity, found.login) == (identity, "me:SECRET")  # type: ignore[union-attr]  # an address
    with pytest.raises(ArgumentError):
        address_in(hide_secrets("https://models.example/x#SECRET"))


def test_redirect_to_a_signed_address_with_a_space_is_followed(server: FileServer, small: bytes) -> None:
    with serving({"/a%20b?sig=SECRET%20%C3%B6": small}) as other:
        server.fault = answered(302, Location=f"{other.address('a b')}?sig=SECRET \u00c3\u00b6")
        assert read(server.address()) == 3
        other.files.clear()
        with pytest.raises(RemoteError, match="404") as told:
            read(server.address())
    assert "SECRET" not in told_by(told.value)


def echoed(form: bytes) -> Callable[[socket.socket, bytes], None]:
    """Return what answers with the first line of each request, in the place of `%s`."""
    return lambda connection, request: connection.sendall(form.replace(b"%s", request.split(b"\r\n")[0]))


@pytest.mark.parametrize(
    "form",
    [
        b"%s\r\n\r\n",
        b"HTTP/1.1 404 %s\r\n\r\n",
        b"HTTP/1.1 503 %s\r\nRetry-After: %s\r\n\r\n",
        b"HTTP/1.1 206 OK\r\nContent-Range: %s\r\n\r\n",
        b"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-1/*%s\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n",
        b"HTTP/1.1 302 OK\r\nLocation: ftp://%s@x/y\r\n\r\n",
        b"HTTP/1.1 302 OK\r\nLocation: ftp://x?%s\r\n\r\n",
        b"HTTP/1.1 302 OK\r\nLocation: ftp://SECRET/SECRET\r\n\r\n",
        b"HTTP/1.1 302 OK\r\nLocation: http://127.0.0.1:SECRET/\r\n\r\n",
        b"HTTP/1.1 302 OK\r\nLocation: /SECRET\r\n\r\n",
        b"%s HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/%s 200 OK\r\n\r\n",
    ],
)
def test_server_that_repeats_what_it_is_asked_is_not_quoted(form: bytes) -> None:
    with talking(echoed(form)) as address, pytest.raises(RemoteError) as told:
        read(f"{address.replace('//', '//me:SECRET@')}?sig=SECRET")
    assert "SECRET" not in told_by(told.value)


@pytest.mark.parametrize(
    "form",
    [
        b"HTTP/1.1 206 OK\r\nContent-Range: bytes 8675309-8675309/8675309\r\n\r\n",
        b"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-0/8675309867530\r\nContent-Length: 1\r\n\r\n",
        b"HTTP/1.1 503 OK\r\nRetry-After: 8675309\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 8675309867530\r\n\r\n",
    ],
)
def test_number_that_a_server_repeats_is_not_quoted(form: bytes) -> None:
    with talking(echoed(form)) as address, pytest.raises(RemoteError) as told:
        read(f"{address}?sig=8675309")
    assert "8675309" not in told_by(told.value)


def test_other_version_is_not_quoted(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        server.tag = '"SECRET"'
        with pytest.raises(RemoteError, match="changed while it was read") as told:
            importer.load_state_dict("model", "weights").copy()
    assert "SECRET" not in told_by(told.value)


def test_file_object_is_shown_without_its_query(small: bytes) -> None:
    class Odd:
        name = "https://models.example/net.kellet?sig=SECRET"

        def read(self, size: int = -1) -> bytes:
            raise OSError(f"cannot read {self.name}")

        def seekable(self) -> bool:
            return True

        def tell(self) -> int:
            return 0

        def seek(self, offset: int, whence: int = 0) -> int:
            return 100

    odd: Any = Odd()
    with pytest.raises(RemoteError, match=r"models\.example/net\.kellet") as told:
        PackageImporter(odd)
    assert "SECRET" not in str(told.value) + repr(told.value) + told.value.address


def test_archive_that_is_converted_says_nothing_of_the_query(tmp_path: Path) -> None:
    with serving({"/net.safetensors?sig=SECRET": save({"w": np.ones(3)})}) as server:
        address = server.address("net.safetensors").replace("//", "//me:SECRET@") + "?sig=SECRET"
        assert main(["convert", address, str(tmp_path / "net.kellet")]) == 0
    assert b"SECRET" not in (tmp_path / "net.kellet").read_bytes()


@pytest.mark.parametrize(
    "remote", ["https://me:SECRET/x@h/net.git", "https://me:SECRET#x@h/net.git", "//me:SECRET@h/x"]
)
def test_remote_of_a_repository_is_stored_without_a_password(remote: str) -> None:
    assert "SECRET" not in without_credentials(remote)


def test_odd_address_is_told_how_to_spell_it() -> None:
    with pytest.raises(AddressError, match=r"^https://\.\.\.: found an @ after the host.*%2F for /"):
        PackageImporter("https://user:pa/ss@host/x")
