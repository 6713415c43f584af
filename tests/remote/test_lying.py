"""A server that lies in any byte is seen: by digests, by the identity, by the layout."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import packager
from packager import PackageExporter, PackageImporter
from packager._cli.main import main
from packager.errors import (
    ArchiveError,
    ArgumentError,
    IdentityMismatchError,
    IntegrityError,
    OtherSignerError,
    PackageError,
    RemoteError,
    UnsignedError,
)
from tests.remote.conftest import archive_of
from tests.remote.serving import FileServer, serving

CHUNK = 1 << 20


def read_all(address: str, **options: str) -> None:
    """Read all that an archive holds."""
    with PackageImporter(address, **options) as importer:
        importer.load_state_dict("model", "weights").copy()
        importer.import_module("net")
        for name in importer.archive.names():
            importer.archive.read(name)


def test_flipped_byte_in_any_chunk_or_entry_is_refused(server: FileServer, small: bytes) -> None:
    identity = packager.verify(small).identity
    read_all(server.address(), identity=identity)
    step = 1 << 16
    places = [*range(200, len(small), step), *range(len(small) - 4000, len(small), 37)]
    accepted = []
    for place in places:
        changed = bytearray(small)
        changed[place] ^= 1
        server.files["/net.kellet"] = bytes(changed)
        try:
            read_all(f"{server.address()}#sha256={identity}")
        except ArchiveError:
            continue
        if packager.verify(
            server.address(), identity=identity
        ).ok:  # a local header, which nothing is read from
            accepted.append(place)
    assert accepted == []


def test_every_byte_of_a_tiny_archive_is_seen_by_verify() -> None:
    data = archive_of({"w": np.ones(2, np.float32)})
    accepted = []
    with serving({}) as server:
        for place in range(0, len(data), 7):
            changed = bytearray(data)
            changed[place] ^= 0x10
            server.files["/net.kellet"] = bytes(changed)
            try:
                if packager.verify(server.address()).ok:
                    accepted.append(place)
            except PackageError:
                continue
    assert accepted == []


def test_tensors_are_checked_by_sha256_without_an_identity(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        assert importer.archive.tensor_digests == "sha256"
    with PackageImporter(server.address(), digests="crc") as importer:
        assert importer.archive.tensor_digests == "sha256"


def test_archive_without_sha256_of_tensors_has_to_be_asked_for() -> None:
    file = io.BytesIO()
    with PackageExporter(file, digests="crc", prove=False) as exporter:
        exporter.save_state_dict("model", "weights", {"w": np.ones(2)})
    with serving({"/net.kellet": file.getvalue()}) as server:
        with pytest.raises(IntegrityError, match="its identity does not cover the tensors"):
            PackageImporter(server.address())
        with PackageImporter(server.address(), digests="crc") as importer:
            assert importer.load_state_dict("model", "weights")["w"].tolist() == [1, 1]


def test_identity_in_the_address_admits_one_archive(server: FileServer, small: bytes) -> None:
    identity = packager.verify(small).identity
    with PackageImporter(f"{server.address()}#sha256={identity}") as importer:
        assert importer.identity == identity
    with pytest.raises(IdentityMismatchError, match="Get the archive that was asked for, or, if"):
        PackageImporter(f"{server.address()}#sha256={'0' * 64}")
    with pytest.raises(ArgumentError, match="give one"):
        PackageImporter(f"{server.address()}#sha256={identity}", identity="0" * 64)
    with pytest.raises(ArgumentError, match="64 lower-case"):
        PackageImporter(f"{server.address()}#sha256=12")
    with pytest.raises(ArgumentError, match="another text than sha256=IDENTITY"):
        PackageImporter(f"{server.address()}#{identity}")


def test_file_that_changes_between_two_requests_is_an_error(server: FileServer, small: bytes) -> None:
    for change in ("tag", "modified", "size", "tag that is not repeated", "no tag"):
        server.tag, server.modified, server.files["/net.kellet"] = '"one"', None, small
        if change == "modified":
            server.tag, server.modified = None, "Mon, 30 Nov 2026 11:00:00 GMT"
        with PackageImporter(server.address()) as importer:
            if change == "tag":
                server.tag = '"two"'
            elif change == "modified":
                server.modified = "Mon, 30 Nov 2026 11:00:01 GMT"
            else:
                server.tag = None
                server.files["/net.kellet"] = small if change == "no tag" else small + b"more"
            with pytest.raises(RemoteError, match="the file was changed while it was read") as told:
                importer.load_state_dict("model", "weights").copy()
            assert "open it again" in str(told.value)


def test_range_is_asked_for_on_the_condition_of_the_first_version(server: FileServer) -> None:
    with PackageImporter(server.address()) as importer:
        importer.load_state_dict("model", "weights").copy()
    conditions = [headers.get("If-Range") for headers in server.headers]
    assert conditions[0] is None
    assert {*conditions[1:]} == {'"one"'}
    assert {headers["Accept-Encoding"] for headers in server.headers} == {"identity"}


def test_server_without_versions_is_held_by_the_digests(server: FileServer, small: bytes) -> None:
    server.tag = None
    with PackageImporter(server.address()) as importer:
        changed = bytearray(small)
        changed[CHUNK + 5] ^= 1
        server.files["/net.kellet"] = bytes(changed)
        with pytest.raises(IntegrityError):
            importer.load_state_dict("model", "weights").copy()


def test_signature_counts_as_for_files(server: FileServer, small: bytes, tmp_path: Path) -> None:
    own, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    with pytest.raises(UnsignedError, match=r"net\.kellet"):
        PackageImporter(server.address(), signed_by=public(own))
    (tmp_path / "net.kellet").write_bytes(small)
    form = serialization.PrivateFormat.PKCS8
    key = own.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (tmp_path / "own.pem").write_bytes(key)
    assert main(["sign", str(tmp_path / "net.kellet"), "--key", str(tmp_path / "own.pem")]) == 0
    server.files["/net.kellet"] = (tmp_path / "net.kellet").read_bytes()
    server.clear()
    with PackageImporter(server.address(), signed_by=public(own)) as importer:
        assert len(server.asked) == 1
        assert len(importer.load_state_dict("model", "weights").copy()) == 3
    with pytest.raises(OtherSignerError):
        PackageImporter(server.address(), signed_by=public(other))


def public(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public key of a key, as text."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()
