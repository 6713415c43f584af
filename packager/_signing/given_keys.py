"""What a file is that was given in the place of a public key, and how to make the public key."""

from __future__ import annotations

import re
import shlex

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

_LABEL: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----")
_SSH: Final = (b"ssh-", b"ecdsa-sha2-", b"sk-ssh-", b"sk-ecdsa-", b"---- BEGIN SSH2 PUBLIC KEY")


def labels_in(pem: bytes) -> list[str]:
    """Return what the blocks of a PEM file are, in their order.

    >>> labels_in(b"-----BEGIN PUBLIC KEY-----")
    ['PUBLIC KEY']
    """
    return [one.decode() for one in _LABEL.findall(pem)]


def told_instead(data: bytes, labels: Sequence[str], place: str) -> str:
    """Return what the bytes of a file are, and what to give in their place."""
    file = shlex.quote(place) if place else "FILE"
    if data.startswith(_SSH) or "OPENSSH PRIVATE KEY" in labels:
        make = f"ssh-keygen -e -m PKCS8 -f {file} > NAME.pub"
        return f"found a key of ssh\nGive a public key as PEM; of an ECDSA key: {make}"
    if any("PRIVATE KEY" in one for one in labels):
        return f"found a private key\nGive its public key: openssl pkey -in {file} -pubout -out NAME.pub"
    if (count := labels.count("PUBLIC KEY")) > 1:
        advice = 'Give each a file of its own; rules (.toml) list them: keys = ["a.pub", "b.pub"]'
        return f"found {count} public keys\n{advice}"
    if len(labels) > 1:
        return f"found {', '.join(one.lower() for one in labels)}\nGive each a file of its own"
    if der := _der_kind(data):
        kind, make = der
        return f"found {kind} as DER\nGive it as PEM: openssl {make} -in {file} -out NAME.pem"
    return "found no line -----BEGIN PUBLIC KEY-----"


def _der_kind(data: bytes) -> tuple[str, str] | None:
    """Return what a file is in DER, and the arguments of openssl that write it as PEM, or None."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    for load, kind, make in (
        (serialization.load_der_public_key, "a public key", "pkey -pubin -inform DER"),
        (x509.load_der_x509_certificate, "a certificate", "x509 -inform DER"),
        (
            lambda data: serialization.load_der_private_key(data, None),
            "a private key",
            "pkey -pubout -inform DER",
        ),
    ):
        try:
            load(data)
        except (ValueError, TypeError):  # the second for a private key with a password
            continue
        return kind, make
    return None
