"""Keys and certificates: all that is asked of `cryptography`, which the extra `sign` brings.

A key is on one of three curves, as the tools of OpenSSF have them. It is named by its fingerprint, which is
the sha256 of its public half as PEM. Importing this file raises SignersError where the library is missing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from packager.errors import SignersError

try:
    from cryptography import exceptions, x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils
except ImportError as error:
    raise SignersError("signatures need cryptography: python -m pip install 'kellet[sign]'") from error

from .given_keys import labels_in, told_instead

ODD = (ValueError, TypeError, exceptions.UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension)
"""What this library raises for keys and certificates that it cannot read."""

_HASHES = {"secp256r1": hashes.SHA256, "secp384r1": hashes.SHA384, "secp521r1": hashes.SHA512}
_KNOWN = {f"2.5.29.{number}" for number in (14, 15, 17, 19, 35, 37)}  # conditions of certificates


class PublicKey(NamedTuple):
    """The public half of a key, as PEM, and the sha256 of that in hexadecimal."""

    pem: bytes
    fingerprint: str

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Say whether the private half signed these bytes; a signature has one spelling in DER."""
        key: Any = serialization.load_pem_public_key(self.pem)
        try:
            key.verify(signature, data, _how(key))
            return bool(utils.encode_dss_signature(*utils.decode_dss_signature(signature)) == signature)
        except (exceptions.InvalidSignature, ValueError):  # the second for what is no DER
            return False


class PrivateKey(NamedTuple):
    """A key that signs bytes, with its public half. `chain` are its certificates (DER), its own first."""

    public: PublicKey
    chain: tuple[bytes, ...]
    sign: Any


def read_private(pem: bytes, password: bytes | None, chain: bytes) -> PrivateKey:
    """Read a private key, and the certificates that go with it.

    Raises ValueError and others of `ODD`, also for certificates that no reader would take now.
    """
    if b"ENCRYPTED" in pem and not password:
        raise ValueError("it is encrypted: its password is taken from KELLET_KEY_PASSWORD")
    if "PUBLIC KEY" in (labels := labels_in(pem)) and len(labels) == 1:
        raise ValueError("expected a private key, found a public key")
    key: Any = serialization.load_pem_private_key(pem, password if b"ENCRYPTED" in pem else None)
    public, how, found = _public(key), _how(key), x509.load_pem_x509_certificates(chain) if chain else []
    if found and _public(found[0]) != public:
        raise ValueError("the first certificate is that of another key")
    for one in found:
        _require_valid(one, datetime.now(UTC), for_code=one is found[0])
    ders = tuple(one.public_bytes(serialization.Encoding.DER) for one in found)
    return PrivateKey(public, ders, lambda data: bytes(key.sign(data, how)))


def read_public(pem: bytes, place: str = "") -> PublicKey | bytes:
    """Read one public key, or certificates, which stay as they are; `place` is the path for errors.

    Raises ValueError and others of `ODD` for anything else, and says what it is and what to give.
    """
    labels = labels_in(pem)
    if labels and {*labels} == {"CERTIFICATE"} and x509.load_pem_x509_certificates(pem):
        return pem
    if labels != ["PUBLIC KEY"]:
        raise ValueError(
            f"expected one public key, or certificates, as PEM; {told_instead(pem, labels, place)}"
        )
    return _public(serialization.load_pem_public_key(pem))


def certified_key(chain: tuple[bytes, ...], authorities: bytes, now: object) -> tuple[PublicKey, set[str]]:
    """Follow a chain of certificates up to one of the authorities.

    Return the key of the first, and the sha256 of each that was used. Raises ValueError, or another
    of `ODD`, where the chain does not lead there now, or the first may not sign data.
    """
    used = [x509.load_der_x509_certificate(one) for one in chain]
    _require_valid(used[0], now, for_code=True)
    roots, below = x509.load_pem_x509_certificates(authorities), 0
    while not (found := [one for one in roots if _issued(one, used[below], below, now)]):
        if below + 1 == len(used) or not _issued(used[below + 1], used[below], below, now):
            raise ValueError("its certificates do not lead to one of the authorities")
        below += 1
    used = [*used[: below + 1], found[0]]
    return _public(used[0]), {one.fingerprint(hashes.SHA256()).hex() for one in used}


def _issued(issuer: Any, certificate: Any, below: int, now: Any) -> bool:
    """Say whether an authority signed a certificate, with `below` other authorities under that."""
    basic, usage = (_extension(issuer, kind) for kind in (x509.BasicConstraints, x509.KeyUsage))
    may = basic is not None and basic.ca and usage is not None and usage.key_cert_sign
    try:
        certificate.verify_directly_issued_by(issuer)
        strong = certificate.signature_hash_algorithm.name in [one.name for one in _HASHES.values()]
    except (exceptions.InvalidSignature, AttributeError, *ODD):  # another one signed it, or without a hash
        return False
    _require_valid(issuer, now)
    return may and strong and (basic.path_length is None or basic.path_length >= below)


def _require_valid(certificate: Any, now: Any, for_code: bool = False) -> None:
    usage, purposes = (_extension(certificate, kind) for kind in (x509.KeyUsage, x509.ExtendedKeyUsage))
    is_for_code = purposes is None or x509.ExtendedKeyUsageOID.CODE_SIGNING in purposes
    is_for_data = usage is not None and usage.digital_signature and not usage.key_cert_sign
    if for_code and not (is_for_code and is_for_data):
        raise ValueError("its certificate is not one for signing code")
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= now <= last:
        raise ValueError(f"a certificate is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d} alone")
    if unknown := {one.oid.dotted_string for one in certificate.extensions if one.critical} - _KNOWN:
        raise ValueError(f"a certificate has conditions that are not known: {', '.join(sorted(unknown))}")


def _extension(certificate: Any, kind: Any) -> Any:
    return next((one.value for one in certificate.extensions if isinstance(one.value, kind)), None)


def _public(held: Any) -> PublicKey:
    key = held.public_key() if hasattr(held, "public_key") else held
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(pem, sha256(pem).hexdigest() if _how(key) else "")


def _how(key: Any) -> ec.ECDSA:
    name = getattr(getattr(key, "curve", None), "name", type(key).__name__)
    if name not in _HASHES:
        raise ValueError(f"a key of {name}; expected one on P-256, P-384 or P-521 (EC)")
    return ec.ECDSA(_HASHES[name]())
