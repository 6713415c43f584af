"""https, by a local authority."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from packager import PackageImporter
from packager.errors import RemoteError
from tests.remote.serving import FileServer, serving
from tests.remote.test_faults import answered


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA, small: bytes) -> Iterator[FileServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with serving({"/net.kellet": small}) as found:
        found.socket = context.wrap_socket(found.socket, server_side=True)
        found.scheme, found.host = "https", "localhost"
        yield found


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


@pytest.mark.usefixtures("trusted")
def test_archive_is_read_over_https(secure: FileServer) -> None:
    with PackageImporter(secure.address()) as importer:
        assert len(importer.load_state_dict("model", "weights").copy()) == 3


def test_unknown_authority_is_refused_at_once(secure: FileServer) -> None:
    with pytest.raises(RemoteError, match="CERTIFICATE_VERIFY_FAILED"):
        PackageImporter(secure.address())
    assert secure.asked == []


@pytest.mark.usefixtures("trusted")
def test_certificate_of_another_host_is_refused(secure: FileServer) -> None:
    with pytest.raises(RemoteError, match="CERTIFICATE_VERIFY_FAILED"):
        PackageImporter(secure.address(host="127.0.0.1"))


@pytest.mark.usefixtures("trusted")
def test_redirect_from_https_to_http_is_refused(secure: FileServer, server: FileServer) -> None:
    secure.fault = answered(302, Location=server.address())
    with pytest.raises(RemoteError, match=r"found a redirect to another scheme; expected one to .* https"):
        PackageImporter(secure.address())
    assert server.asked == []


@pytest.mark.usefixtures("trusted")
def test_redirect_from_http_to_https_is_followed(secure: FileServer, server: FileServer) -> None:
    server.fault = answered(301, Location=secure.address())
    with PackageImporter(server.address()) as importer:
        assert importer.load_text("net", "words.txt") == "one two"
