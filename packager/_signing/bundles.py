"""Bundles: a signature as a file (Sigstore bundle 0.3, DSSE inside), in one spelling and within bounds.

Nothing here is trusted yet: a bundle says what was signed, and by which kind of signer.
Section 14 of `docs/spec/archive-format.md`.
"""

from __future__ import annotations

import json
from binascii import Error, a2b_base64, b2a_base64

from packager._archive import read_json
from packager._quick_dataclasses import dataclass
from packager._texts import shortened
from packager.errors import ArchiveError

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, Final

MAX_BUNDLE: Final = 1 << 24
"""Bytes of a bundle beside what it signs: one of OMS lists every file. In an archive it has 1 MiB at most."""

_MEDIA_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"
_PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
_METHODS: Final = {"publicKey": "key", "x509CertificateChain": "certificate", "certificate": "sigstore"}
_MOST: Final = (1 << 10, 1 << 12, 1 << 12)  # maps and lists, texts, commas
_MOST_IN_PAYLOAD: Final = (1 << 16, 1 << 19, 1 << 19)
_MAX_CHAIN: Final = 8


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle says: the payload and its signature, and who is said to have signed.

    `method` is "key", "certificate" or "sigstore". `hint` is the fingerprint of a key, "" where none is
    given; `chain` are certificates (DER), the signer's first; `text` is the whole bundle as it was read.
    """

    method: str
    payload: bytes
    signature: bytes
    hint: str
    chain: tuple[bytes, ...]
    text: bytes


def signed_bytes(payload: bytes) -> bytes:
    """Return the bytes that a signature is over: the payload with its type (the PAE of DSSE)."""
    return b"DSSEv1 %d %s %d " % (len(_PAYLOAD_TYPE), _PAYLOAD_TYPE.encode(), len(payload)) + payload


def spell_bundle(payload: bytes, signature: bytes, *, hint: str = "", chain: Sequence[bytes] = ()) -> bytes:
    """Return the bundle of a signature by a key, named by its fingerprint, or by a chain of certificates."""
    certificates = [{"rawBytes": _spelled(one)} for one in chain]
    who = {"x509CertificateChain": {"certificates": certificates}} if chain else {"publicKey": {"hint": hint}}
    signed = {"sig": _spelled(signature), "keyid": ""}
    envelope = {"payload": _spelled(payload), "payloadType": _PAYLOAD_TYPE, "signatures": [signed]}
    material = {**who, "tlogEntries": []}
    top = {"mediaType": _MEDIA_TYPE, "verificationMaterial": material, "dsseEnvelope": envelope}
    return json.dumps(top, indent=1).encode() + b"\n"


def read_bundle(data: bytes, what: str) -> Bundle:
    """Read a bundle, which errors call `what`. No signature is checked.

    Raises ArchiveError for anything but one bundle with one signature, in the one spelling of its base64,
    within the bounds, and without keys that are unknown or stand twice.
    """
    expect(len(data) <= MAX_BUNDLE, what, f"{len(data):,} bytes", f"at most {MAX_BUNDLE:,}")
    top = read_json(data, what=what, most=_MOST)
    map_with(top, ("mediaType", "verificationMaterial", "dsseEnvelope"), what)
    _same(top["mediaType"], _MEDIA_TYPE, what)
    envelope = map_with(top["dsseEnvelope"], ("payload", "payloadType", "signatures"), what)
    _same(envelope["payloadType"], _PAYLOAD_TYPE, what)
    signatures = envelope["signatures"]
    is_one = type(signatures) is list and len(signatures) == 1
    expect(is_one, what, "no signature, or several", "one signature in a bundle")
    signed = map_with(signatures[0], ("sig",), what, ("keyid",))
    keyid = signed.get("keyid")
    expect(keyid is None or keyid == "", what, f"keyid {shown(keyid)}", "none: the key is named elsewhere")
    method, held = _signer(top["verificationMaterial"], f"{what}, verificationMaterial")
    hint = _hint(held, what) if method == "key" else ""
    chain = [held] if method == "sigstore" else []
    if method == "certificate":
        chain = map_with(held, ("certificates",), what)["certificates"]
        is_chain = type(chain) is list and 1 <= len(chain) <= _MAX_CHAIN
        expect(is_chain, what, "no certificates, or too many", f"one to {_MAX_CHAIN}")
    ders = tuple(_bytes(map_with(one, ("rawBytes",), what)["rawBytes"], what) for one in chain)
    return Bundle(method, _bytes(envelope["payload"], what), _bytes(signed["sig"], what), hint, ders, data)


def read_payload(payload: bytes, what: str) -> dict[str, Any]:
    """Read the JSON object that was signed. Raises ArchiveError where it is another thing, or too much."""
    found = read_json(payload, what=f"{what}, statement", most=_MOST_IN_PAYLOAD)
    return map_with(found, ("_type", "subject", "predicateType", "predicate"), f"{what}, statement")


def map_with(value: Any, keys: Collection[str], what: str, optional: Collection[str] = ()) -> dict[str, Any]:
    """Return a map that has these keys and no others. Raises ArchiveError for anything else."""
    expect(type(value) is dict, what, shown(value), "a map")
    wrong = [f"no {one}" for one in keys if one not in value]
    wrong += [f"an unknown {shown(one)}" for one in sorted(value.keys() - {*keys, *optional})]
    expect(not wrong, what, shortened(", ".join(wrong), 300), ", ".join((*keys, *optional)))
    return dict(value)


def expect(is_so: bool, what: str, found: str, expected: str) -> None:
    """Raise ArchiveError unless something is so."""
    if not is_so:
        raise ArchiveError(f"{what}: found {found}; expected {expected}")


def is_digest(value: object) -> bool:
    """Say whether a value is a sha256 in hexadecimal."""
    return type(value) is str and len(value) == 64 and not value.strip("0123456789abcdef")


def shown(value: object) -> str:
    """Return a value that was read as errors show it."""
    text = repr(value) if type(value) in (str, list, int, bool) else type(value).__name__
    return "a private key" if "PRIVATE KEY" in text else shortened(text, 120)


def _same(value: Any, expected: str, what: str) -> None:
    expect(type(value) is str and value == expected, what, shown(value), expected)


def _signer(value: Any, what: str) -> tuple[str, Any]:
    """Return by which method it was signed, and what names the signer."""
    named = [name for name in _METHODS if type(value) is dict and name in value]
    expect(len(named) == 1, what, "no signer, or several", f"one of {', '.join(_METHODS)}")
    map_with(value, named, what, ("tlogEntries", "timestampVerificationData"))
    method, entries = _METHODS[named[0]], value.get("tlogEntries", [])
    # A log says nothing of keys and certificates that live long, and of others it says everything.
    is_odd = method != "sigstore" and value.get("timestampVerificationData")
    is_right = type(entries) is list and len(entries) == (method == "sigstore") and not is_odd
    expect(is_right, what, "other tlogEntries, or times", "one with `certificate`, none with other signers")
    return method, value[named[0]]


def _hint(held: Any, what: str) -> str:
    """Return the fingerprint of the key; bundles of before 1.1 have the key itself, which proves nothing."""
    hint = map_with(held, (), f"{what}, publicKey", ("hint", "rawBytes", "keyDetails")).get("hint") or ""
    is_right = type(hint) is str and len(hint) <= 256 and bool(hint or "rawBytes" in held)
    expect(is_right, what, f"the hint {shown(hint)}", "the fingerprint of a key")
    return str(hint)


def _bytes(text: Any, what: str) -> bytes:
    """Return what base64 spells; it has one spelling: padded, without line ends, no bits left over."""
    try:
        data = a2b_base64(text.encode("ascii"), strict_mode=True) if type(text) is str else b""
    except (Error, UnicodeEncodeError):
        data = b""
    expect(data != b"" and _spelled(data) == text, what, shown(text), "base64 in its one spelling")
    return data


def _spelled(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")
