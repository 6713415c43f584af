"""Signers without a key, as far as no network is needed; `make signing-vectors` verifies real ones."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from packager import SignatureError, Signer, Signers
from packager._signing import Rule, judge_files
from packager._signing.bundles import Bundle, read_bundle
from packager.errors import SignersError

from .signed_files import Pair, root

pytest.importorskip("sigstore")
from packager._signing.keyless import verify_keyless

Keys = Callable[[str], Pair]


def bundle_of(keys: Keys) -> Bundle:
    """A bundle that has the form of one by an identity, and a certificate of no use."""
    from cryptography.hazmat.primitives.serialization import Encoding

    raw = base64.b64encode(root().issue("me", keys("ours").key).public_bytes(Encoding.DER)).decode()
    text = (
        '{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": '
        f'{{"certificate": {{"rawBytes": "{raw}"}}, "tlogEntries": [{{}}]}}, "dsseEnvelope": '
        '{"payload": "AAAA", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "AAAA"}]}}'
    )
    return read_bundle(text.encode(), "bundle")


def test_the_root_of_the_wheel_is_asked_without_a_network(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def refused(*given: object) -> None:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    with pytest.raises(ValueError, match="sigstore: "):
        verify_keyless(bundle_of(keys), "me", "https://example.org", None)


def test_what_is_no_root_of_trust_is_told(keys: Keys) -> None:
    for given in (b"{}", b"[]", b"junk", b'{"trustedRoot": {}}'):
        with pytest.raises(SignersError, match="no root of trust for sigstore"):
            verify_keyless(bundle_of(keys), "me", "https://example.org", given)


def test_a_root_of_trust_that_is_none_is_told_of_no_signer(keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "model.sig").write_bytes(bundle_of(keys).text)
    (tmp_path / "model").write_bytes(b"")
    signers = Signers((Rule(identities=(("me", "https://example.org"),), trust_root=b"[]"),))
    found = judge_files(signers, str(tmp_path / "model"), str(tmp_path / "model.sig"))
    assert found.text.startswith("trust_root, --trust-root: no root of trust for sigstore (")
    assert found.text.endswith("Give its trusted_root.json, or leave the option out")


def test_a_bundle_of_no_identity_admits_nothing(keys: Keys, tmp_path: Path) -> None:
    (tmp_path / "model.sig").write_bytes(bundle_of(keys).text)
    (tmp_path / "model").write_bytes(b"")
    signers = Signers((Rule(identities=(("me", "https://example.org"),)),))
    found = judge_files(signers, str(tmp_path / "model"), str(tmp_path / "model.sig"))
    assert found.state == "foreign"
    assert "it claims a sigstore (sigstore: " in found.text


def test_without_an_identity_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._signing.keyless.detect_credential", lambda: None)
    with pytest.raises(SignatureError, match="this process has no identity to sign as"):
        Signer.of("keyless").bundle(b"{}")
