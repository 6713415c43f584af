"""Keys, authorities and archives to sign; nothing here is a secret."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from packager import PackageExporter

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)
PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Pair:
    """A private key as a file, and its public half beside it."""

    pem: Path
    pub: Path
    key: Any


def pair(folder: Path, name: str, curve: Any = None) -> Pair:
    """Make a key pair."""
    key = ec.generate_private_key(curve or ec.SECP256R1())
    private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pem").write_bytes(private)
    (folder / f"{name}.pub").write_bytes(public)
    return Pair(folder / f"{name}.pem", folder / f"{name}.pub", key)


@dataclass(frozen=True)
class Authority:
    """A certificate with its key, that can issue others."""

    certificate: x509.Certificate
    key: Any

    def issue(
        self,
        name: str,
        key: Any,
        *,
        ca: bool = False,
        path_length: int | None = None,
        days: tuple[int, int] = (-1, 30),
        usage: str | None = None,
        purpose: Any = x509.ExtendedKeyUsageOID.CODE_SIGNING,
        odd: bool = False,
    ) -> x509.Certificate:
        """Return a certificate for a key; `usage` is "data", "certificates" or "none"."""
        usage = usage or ("certificates" if ca else "data")
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = self.certificate.subject if self.certificate is not None else subject
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
        builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(NOW + days[0] * DAY).not_valid_after(NOW + days[1] * DAY)
        builder = builder.add_extension(
            x509.BasicConstraints(ca=ca, path_length=path_length if ca else None), True
        )
        if usage != "none":
            flags = dict.fromkeys(
                "content_commitment key_encipherment data_encipherment key_agreement crl_sign "
                "encipher_only decipher_only".split(),
                False,
            )
            held = x509.KeyUsage(
                digital_signature=usage == "data", key_cert_sign=usage == "certificates", **flags
            )
            builder = builder.add_extension(held, True)
        if not ca and purpose is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), False)
        if odd:
            builder = builder.add_extension(
                x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\5\0"), True
            )
        return builder.sign(self.key, hashes.SHA256())


def root(name: str = "root", **more: Any) -> Authority:
    """Make an authority that vouches for itself."""
    key = ec.generate_private_key(ec.SECP384R1())
    made = Authority(None, key).issue(name, key, ca=True, **more)  # type: ignore[arg-type]  # itself
    return Authority(made, key)


def pem_of(*certificates: x509.Certificate) -> bytes:
    """Return certificates as PEM."""
    return b"".join(one.public_bytes(PEM) for one in certificates)


def save(path: Path, *, code: str | None = None, weights: float = 1.0, **more: Any) -> Path:
    """Write an archive with code and weights."""
    marker = path.parent / "ran"
    source = f"import pathlib\npathlib.Path({str(marker)!r}).write_text('ran')\nanswer = 42\n"
    with PackageExporter(path, policy="auto", prove=False, **more) as exporter:
        exporter.save_source_string("shop", source if code is None else code)
        exporter.save_state_dict("shop", "state", {"w": [weights]})
    return path
