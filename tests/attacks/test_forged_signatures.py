"""Forged signatures: each is a small program that makes a file, with an honest twin that loads.

A forgery begins with what is honest and changes one thing. None of them loads or runs anything, and each is
refused with the exit code and the sentence of its row.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from packager import PackageImporter
from packager._archive import SIGNATURES, ArchiveReader, add_signature
from packager._cli import main
from packager._signing import Signer, sign_archive, sign_files
from packager._signing.bundles import signed_bytes, spell_bundle
from packager._signing.statements import spell_statement
from packager.errors import IntegrityError, PackageError, SignatureError, SignersError
from tests.signing.signed_files import Authority, Pair, pair, pem_of, root, save


@dataclass
class Place:
    """A folder of models and one of rules, with keys of ours and of mallory, and an honest archive."""

    folder: Path
    ours: Pair
    mallory: Pair
    authority: Authority
    mode: str = "key"

    @property
    def archive(self) -> Path:
        return self.folder / "models" / "net.kellet"

    @property
    def rules(self) -> Path:
        return self.folder / "conf" / "signers.toml"

    def make(self, name: str = "net.kellet", **more: Any) -> Path:
        return save(self.folder / "models" / name, **more)

    def allow(self, *lines: str, top: str = "") -> None:
        who = (
            f'keys = ["{self.ours.pub}"]' if self.mode == "key" else f'authorities = ["{self.folder}/ca.pem"]'
        )
        self.rules.write_text("\n".join([top, "[[allow]]", who, *lines, ""]))

    def statement(self, archive: Path | None = None, **more: Any) -> dict[str, Any]:
        """What an honest signer says of an archive, as a map that a forgery changes."""
        path = archive or self.archive
        with ArchiveReader(path) as reader:
            payload = spell_statement(reader.manifest, reader.identity, path.name, more)
        found: dict[str, Any] = json.loads(payload)
        return found

    def signed(self, statement: Any, by: Pair | None = None, **change: Any) -> dict[str, Any]:
        """A bundle over a statement, as a map that a forgery changes."""
        payload = statement if isinstance(statement, bytes) else json.dumps(statement).encode()
        signer = Signer.of((by or self.ours).pem)
        found: dict[str, Any] = json.loads(signer.bundle(payload))
        return {**found, **change}

    def put(self, bundle: Any, name: str = "key", archive: Path | None = None) -> None:
        """Put a bundle into the archive, whatever it is."""
        data = bundle if isinstance(bundle, bytes) else json.dumps(bundle).encode()
        path = archive or self.archive
        with ArchiveReader(path) as reader:
            identity = reader.identity
        add_signature(str(path), f"{SIGNATURES}{name}.sigstore.json", data, identity=identity, replace=True)

    def certified(self, *chain: x509.Certificate, by: Pair | None = None, statement: Any = None) -> None:
        """Put a signature with certificates into the archive."""
        (self.folder / "ca.pem").write_bytes(pem_of(self.authority.certificate))
        self.mode = "certificate"
        payload = json.dumps(statement or self.statement()).encode()
        key = Signer.of((by or self.ours).pem).key
        assert key is not None
        from cryptography.hazmat.primitives.serialization import Encoding

        ders = [one.public_bytes(Encoding.DER) for one in chain]
        self.put(spell_bundle(payload, key.sign(signed_bytes(payload)), chain=ders))


Forge = Callable[[Place], None]


@dataclass(frozen=True)
class Forgery:
    """How it is made, how its honest twin is, the exit code, and a piece of the sentence."""

    forge: Forge
    honest: Forge
    code: int
    said: str


FORGERIES: dict[str, Forgery] = {}


def honest(place: Place) -> None:
    """What all forgeries begin with: an archive that we signed, and rules that name us."""
    place.put(place.signed(place.statement()))


def forgery(code: int, said: str, twin: Forge = honest) -> Callable[[Forge], Forge]:
    def add(forge: Forge) -> Forge:
        FORGERIES[forge.__name__] = Forgery(forge, twin, code, said)
        return forge

    return add


def edited(code: int, said: str, name: str, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Add a forgery that changes an honest bundle after it was signed."""

    def forge(place: Place) -> None:
        bundle = place.signed(place.statement())
        place.put(edit(bundle) or bundle)

    FORGERIES[name] = Forgery(forge, honest, code, said)


def restated(code: int, said: str, name: str, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Add a forgery whose statement we signed, and which says what it may not."""

    def forge(place: Place) -> None:
        statement = place.statement()
        place.put(place.signed(edit(statement) or statement))

    FORGERIES[name] = Forgery(forge, honest, code, said)


# --- no signature of ours ---


@forgery(5, "it has no signature")
def nothing_is_signed(place: Place) -> None:
    pass


@forgery(6, "this signer is not allowed")
def another_signed_it(place: Place) -> None:
    place.put(place.signed(place.statement(), by=place.mallory))


@forgery(7, "a signature that its key did not make")
def the_hint_lies(place: Place) -> None:
    bundle = place.signed(place.statement(), by=place.mallory)
    bundle["verificationMaterial"] = place.signed(place.statement())["verificationMaterial"]
    place.put(bundle)


@forgery(6, "this signer is not allowed")
def the_hint_of_ours_names_another(place: Place) -> None:
    bundle = place.signed(place.statement())
    bundle["verificationMaterial"] = place.signed(place.statement(), by=place.mallory)["verificationMaterial"]
    place.put(bundle)


@forgery(6, "a key without a name")
def the_key_of_another_goes_along(place: Place) -> None:
    bundle = place.signed(place.statement(), by=place.mallory)
    raw = base64.b64encode(place.mallory.pub.read_bytes()).decode()
    bundle["verificationMaterial"]["publicKey"] = {"rawBytes": raw, "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
    place.put(bundle)


@forgery(7, "a signature of another archive")
def the_signature_of_another_archive(place: Place) -> None:
    other = place.make("other.kellet", code="answer = 1\n")
    place.put(place.signed(place.statement(other)))


@forgery(7, "a signature of another archive")
def another_archive_takes_the_name(place: Place) -> None:
    place.put(place.signed(place.statement()))
    with ArchiveReader(place.archive) as reader:
        held = reader.signatures()
    place.make(code="import os\nos.makedirs('ran')\n")
    for name, data in held.items():
        with ArchiveReader(place.archive) as reader:
            identity = reader.identity
        add_signature(str(place.archive), name, data, identity=identity)


@forgery(7, "a signature of another archive")
def a_detached_signature_of_another(place: Place) -> None:
    other = place.make("other.kellet", code="answer = 1\n")
    sign_archive(str(other), Signer.of(place.ours.pem), detached=True)
    shutil.move(f"{other}.sigstore.json", f"{place.archive}.sigstore.json")


@forgery(7, "signatures; expected at most 16")
def very_many_signatures(place: Place) -> None:
    for number in range(17):
        place.put(place.signed(place.statement()), name=f"key{number}")


@forgery(7, "a signature that its key did not make")
def one_of_two_signatures_is_bad(place: Place) -> None:
    place.put(place.signed(place.statement()), name="good")
    bundle = place.signed(place.statement(), by=place.mallory)
    bundle["verificationMaterial"] = place.signed(place.statement())["verificationMaterial"]
    place.put(bundle, name="bad")


@forgery(7, "found invalid JSON")
def junk_beside_a_good_signature(place: Place) -> None:
    place.put(place.signed(place.statement()), name="good")
    place.put(b"junk", name="junk")


# --- the bundle ---


def _deep(bundle: dict[str, Any]) -> bytes:
    return json.dumps(bundle).encode()[:-1] + b', "x": ' + b"[" * 2000 + b"]" * 2000 + b"}"


edited(7, "invalid JSON", "cut_short", lambda bundle: json.dumps(bundle).encode()[:-1])
edited(7, "invalid JSON", "more_behind_it", lambda bundle: json.dumps(bundle).encode() + b"{}")
edited(
    7,
    "invalid JSON (the key ",
    "a_payload_twice",
    lambda b: json.dumps(b).encode().replace(b'"payload":', b'"payload": "", "payload":'),
)
edited(
    7,
    "invalid JSON (the key ",
    "a_signature_twice",
    lambda b: json.dumps(b).encode().replace(b'"sig":', b'"sig": "", "sig":'),
)
edited(
    7,
    "invalid JSON (the key ",
    "two_envelopes",
    lambda b: json.dumps(b).encode()[:-1] + b', "dsseEnvelope": {}}',
)
edited(7, "nested deeper than 64 levels", "nested_deep", _deep)
edited(7, "at most", "very_many_values", lambda b: {**b, "x": [0] * 100_000})
edited(7, "an unknown 'policy'", "an_unknown_key", lambda b: {**b, "policy": "anyone"})
edited(7, "found no dsseEnvelope", "no_envelope", lambda b: b.pop("dsseEnvelope") and None)
edited(7, "no signer, or several", "no_material", lambda b: b.update(verificationMaterial={}))
edited(
    7,
    "application/vnd.dev.sigstore.bundle.v0.1+json",
    "an_older_media_type",
    lambda b: b.update(mediaType="application/vnd.dev.sigstore.bundle.v0.1+json"),
)
edited(
    7,
    "no signer, or several",
    "two_kinds_of_signers",
    lambda b: b["verificationMaterial"].update(certificate={"rawBytes": "AAAA"}),
)
edited(
    7, "other tlogEntries", "a_log_for_a_key", lambda b: b["verificationMaterial"].update(tlogEntries=[{}])
)
edited(
    7,
    "other tlogEntries, or times",
    "a_timestamp_for_a_key",
    lambda b: b["verificationMaterial"].update(timestampVerificationData={"rfc3161Timestamps": [{}]}),
)
edited(7, "the hint", "no_hint_and_no_key", lambda b: b["verificationMaterial"].update(publicKey={}))
edited(
    7, "the hint", "a_hint_that_is_no_text", lambda b: b["verificationMaterial"].update(publicKey={"hint": 7})
)
edited(
    7,
    "the hint",
    "a_hint_without_end",
    lambda b: b["verificationMaterial"].update(publicKey={"hint": "a" * 1000}),
)
edited(7, "keyid", "a_keyid_that_lies", lambda b: b["dsseEnvelope"]["signatures"][0].update(keyid="ours"))
edited(
    7,
    "no signature, or several",
    "two_signatures_in_one",
    lambda b: b["dsseEnvelope"]["signatures"].append(b["dsseEnvelope"]["signatures"][0]),
)
edited(
    7, "no signature, or several", "no_signatures_in_it", lambda b: b["dsseEnvelope"].update(signatures=[])
)
edited(7, "text/plain", "another_payload_type", lambda b: b["dsseEnvelope"].update(payloadType="text/plain"))
edited(7, "a map", "a_list_for_an_envelope", lambda b: b.update(dsseEnvelope=[]))
edited(7, "a map", "a_list_for_a_bundle", lambda b: [b])
edited(
    7,
    "unpaired surrogate",
    "half_a_character",
    lambda b: json.dumps({**b, "mediaType": "\ud800"}).encode(),
)


def _in_envelope(name: str, change: Callable[[str], str]) -> Callable[[dict[str, Any]], None]:
    def edit(bundle: dict[str, Any]) -> None:
        held = bundle["dsseEnvelope"] if name == "payload" else bundle["dsseEnvelope"]["signatures"][0]
        held[name] = change(held[name])

    return edit


BASE64 = "base64 in its one spelling"
for spelt, change in {
    "with_a_line_end": lambda text: text + "\n",
    "with_a_space": lambda text: text[:4] + " " + text[4:],
    "without_padding": lambda text: (text.rstrip("=") + "A")[: len(text.rstrip("=")) | 1],
    "for_addresses": lambda text: text[:-4] + "-_-_",
    "with_bits_left_over": lambda text: text[:-4] + "AB==",
    "twice_padded": lambda text: text + "====",
    "that_is_empty": lambda text: "",
}.items():
    edited(7, BASE64, f"a_signature_{spelt}", _in_envelope("sig", change))
    edited(7, BASE64, f"a_payload_{spelt}", _in_envelope("payload", change))


def _der(change: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], None]:
    def edit(bundle: dict[str, Any]) -> None:
        held = bundle["dsseEnvelope"]["signatures"][0]
        held["sig"] = base64.b64encode(change(base64.b64decode(held["sig"]))).decode()

    return edit


def _long_form(signature: bytes) -> bytes:
    """DER with a length of two bytes, where one will do."""
    return signature[:1] + b"\x81" + signature[1:]


def _padded_number(signature: bytes) -> bytes:
    """DER with a zero before the first number."""
    size = signature[3]
    return bytes([0x30, signature[1] + 1, 2, size + 1, 0]) + signature[4:]


NOT_MADE = "a signature that its key did not make"
edited(7, NOT_MADE, "der_with_a_long_length", _der(_long_form))
edited(7, NOT_MADE, "der_with_a_padded_number", _der(_padded_number))
edited(7, NOT_MADE, "der_with_more_behind", _der(lambda one: one + b"\0"))
edited(7, NOT_MADE, "a_signature_of_zeros", _der(lambda one: utils.encode_dss_signature(0, 0)))
edited(7, NOT_MADE, "a_signature_with_one_bit_changed", _der(lambda one: one[:-1] + bytes([one[-1] ^ 1])))
edited(7, NOT_MADE, "a_signature_that_is_no_der", _der(lambda one: b"junk" * 16))


def _repaid(edit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], None]:
    """A payload that is exchanged after it was signed."""

    def change(bundle: dict[str, Any]) -> None:
        statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
        edit(statement)
        bundle["dsseEnvelope"]["payload"] = base64.b64encode(
            json.dumps(statement, indent=2).encode()
        ).decode()

    return change


edited(
    7,
    NOT_MADE,
    "a_payload_that_was_exchanged",
    _repaid(lambda s: s["predicate"]["provenance"].update(by="ours")),
)
edited(7, NOT_MADE, "a_payload_spelt_anew", _repaid(lambda s: None))


# --- the statement, signed by us ---

restated(
    7, "a statement of", "a_statement_of_another_type", lambda s: s.update(predicateType="https://other/v1")
)
restated(
    7,
    "a statement of",
    "a_statement_of_files",
    lambda s: s.update(predicateType="https://model_signing/signature/v1.0"),
)
restated(
    7, "a statement of", "an_older_statement", lambda s: s.update(_type="https://in-toto.io/Statement/v0.1")
)
restated(7, "no subject, or several", "two_subjects", lambda s: s["subject"].append(s["subject"][0]))
restated(7, "no subject, or several", "no_subject", lambda s: s.update(subject=[]))
restated(
    7,
    "found no kelletIdentity, an unknown 'sha256'",
    "the_digest_of_the_file",
    lambda s: s["subject"][0].update(digest={"sha256": "0" * 64}),
)
restated(7, "an unknown 'sha256'", "two_digests", lambda s: s["subject"][0]["digest"].update(sha256="0" * 64))
restated(
    7,
    "the subject",
    "an_identity_in_capitals",
    lambda s: s["subject"][0]["digest"].update(
        kelletIdentity=s["subject"][0]["digest"]["kelletIdentity"].upper()
    ),
)
restated(
    7,
    "a signature of another archive",
    "another_identity",
    lambda s: s["subject"][0]["digest"].update(kelletIdentity="0" * 64),
)
restated(
    7, "another codeDigest", "code_that_is_other_code", lambda s: s["predicate"].update(codeDigest="0" * 64)
)
restated(7, "another digests", "digests_that_are_weaker", lambda s: s["predicate"].update(digests="crc"))
restated(7, "another objects", "other_objects", lambda s: s["predicate"].update(objects=[]))
restated(7, "another format", "a_format_that_is_a_truth", lambda s: s["predicate"].update(format=True))
restated(7, "a time as", "a_time_that_is_none", lambda s: s["predicate"].update(signed="yesterday"))
restated(
    7, "a time as", "a_time_in_two_spellings", lambda s: s["predicate"].update(signed="2026-1-2T03:04:05Z")
)
restated(
    7, "another provenance", "a_provenance_that_is_deep", lambda s: s["predicate"]["provenance"].update(x={})
)
restated(
    7, "an unknown 'policy'", "a_statement_that_says_more", lambda s: s["predicate"].update(policy="anyone")
)
restated(
    7,
    "invalid JSON (the key ",
    "an_identity_twice",
    lambda s: (
        json.dumps(s).encode().replace(b'"kelletIdentity":', b'"kelletIdentity": "0", "kelletIdentity":')
    ),
)
restated(7, "invalid JSON", "a_statement_that_is_none", lambda s: b"signed")


# --- certificates ---


def certified(place: Place) -> None:
    """The honest twin: a certificate of our authority, for signing code."""
    place.certified(place.authority.issue("ci", place.ours.key))


def by_two(place: Place) -> None:
    """The honest twin: an authority between."""
    middle = _between(place)
    place.certified(middle.issue("ci", place.ours.key), middle.certificate)


def _between(place: Place, **more: Any) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    return Authority(place.authority.issue("between", key, ca=True, **more), key)


@forgery(6, "a certificate is valid from", certified)
def a_certificate_that_is_over(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key, days=(-30, -1)))


@forgery(6, "a certificate is valid from", certified)
def a_certificate_of_tomorrow(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key, days=(1, 30)))


@forgery(6, "conditions that are not known: 1.2.3", certified)
def a_certificate_on_a_condition(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key, odd=True))


@forgery(6, "do not lead to one of the authorities", certified)
def a_certificate_of_another_authority(place: Place) -> None:
    place.certified(root().issue("ci", place.ours.key))


@forgery(6, "do not lead to one of the authorities", certified)
def an_authority_of_the_same_name(place: Place) -> None:
    other = root()
    place.certified(other.issue("ci", place.ours.key), other.certificate)


@forgery(6, "is not one for signing code", by_two)
def one_between_signs_itself(place: Place) -> None:
    middle = _between(place)
    by = Pair(place.ours.pem, place.ours.pub, middle.key)
    place.certified(place.authority.issue("between", by.key, ca=True))


@forgery(6, "do not lead to one of the authorities", by_two)
def a_leaf_issues_another(place: Place) -> None:
    leaf = Authority(place.authority.issue("ci", place.mallory.key), place.mallory.key)
    place.certified(leaf.issue("more", place.ours.key), leaf.certificate)


@forgery(6, "do not lead to one of the authorities", by_two)
def one_more_between_than_is_allowed(place: Place) -> None:
    first = _between(place, path_length=0)
    key = ec.generate_private_key(ec.SECP256R1())
    second = Authority(first.issue("second", key, ca=True), key)
    place.certified(second.issue("ci", place.ours.key), second.certificate, first.certificate)


@forgery(6, "do not lead to one of the authorities", by_two)
def one_between_is_left_out(place: Place) -> None:
    place.certified(_between(place).issue("ci", place.ours.key))


@forgery(6, "a certificate is valid from", by_two)
def one_between_is_over(place: Place) -> None:
    middle = _between(place, days=(-30, -1))
    place.certified(middle.issue("ci", place.ours.key), middle.certificate)


@forgery(6, "is not one for signing code", certified)
def a_certificate_for_servers(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key, purpose=x509.ExtendedKeyUsageOID.SERVER_AUTH))


@forgery(6, "is not one for signing code", certified)
def a_certificate_without_a_use(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key, usage="none"))


@forgery(6, "do not lead to one of the authorities", certified)
def a_certificate_that_vouches_for_itself(place: Place) -> None:
    place.certified(Authority(None, place.ours.key).issue("ci", place.ours.key))  # type: ignore[arg-type]  # itself


@forgery(7, "the key of its certificate did not make", certified)
def a_certificate_of_ours_and_a_key_of_another(place: Place) -> None:
    place.certified(place.authority.issue("ci", place.ours.key), by=place.mallory)


@forgery(7, "no certificates, or too many", certified)
def a_chain_without_end(place: Place) -> None:
    place.certified(*[place.authority.issue("ci", place.ours.key)] * 9)


@forgery(6, "it claims a certificate", certified)
def a_certificate_that_is_none(place: Place) -> None:
    certified(place)
    bundle = json.loads(_held(place))
    bundle["verificationMaterial"]["x509CertificateChain"]["certificates"][0]["rawBytes"] = "AAAA"
    place.put(bundle)


@forgery(6, "it claims a certificate", certified)
def a_certificate_where_a_key_is_asked_for(place: Place) -> None:
    certified(place)
    place.mode = "key"


def _held(place: Place) -> bytes:
    with ArchiveReader(place.archive) as reader:
        return next(iter(reader.signatures().values()))


@forgery(6, "it claims a sigstore")
def an_identity_where_a_key_is_asked_for(place: Place) -> None:
    bundle = place.signed(place.statement())
    bundle["verificationMaterial"] = {"certificate": {"rawBytes": "AAAA"}, "tlogEntries": [{}]}
    place.put(bundle)


# --- rules ---

COME_WITH_IT = "what lies beside, below or in an archive may have come with it"


@forgery(3, COME_WITH_IT)
def rules_beside_the_archive(place: Place) -> None:
    honest(place)
    place.allow()
    shutil.move(place.rules, place.archive.parent / "signers.toml")
    place.rules.symlink_to(place.archive.parent / "signers.toml")


@forgery(3, COME_WITH_IT)
def rules_in_the_archive(place: Place) -> None:
    honest(place)
    zipfile.ZipFile(place.archive).extractall(place.folder / "models" / "folder")
    place.archive.unlink()
    (place.folder / "models" / "folder").rename(place.archive)
    place.allow()
    shutil.move(place.rules, place.archive / ".data" / "signatures" / "signers.toml")
    place.rules.symlink_to(place.archive / ".data" / "signatures" / "signers.toml")


@forgery(3, COME_WITH_IT)
def rules_beside_a_link_to_the_archive(place: Place) -> None:
    honest(place)
    shutil.move(place.archive, place.folder / "stored.kellet")
    place.archive.symlink_to(place.folder / "stored.kellet")
    place.allow()
    shutil.move(place.rules, place.archive.parent / "signers.toml")
    place.rules.symlink_to(place.archive.parent / "signers.toml")


@forgery(3, COME_WITH_IT)
def rules_beside_one_of_two_links(place: Place) -> None:
    honest(place)
    for folder in ("first", "last"):
        (place.folder / folder).mkdir()
    shutil.move(place.archive, place.folder / "last" / "net.kellet")
    (place.folder / "first" / "net.kellet").symlink_to("../last/net.kellet")
    place.archive.symlink_to("../first/net.kellet")
    place.allow()
    shutil.move(place.rules, place.folder / "first" / "signers.toml")
    place.rules.symlink_to(place.folder / "first" / "signers.toml")


@forgery(3, COME_WITH_IT)
def rules_in_a_folder_beside_the_archive(place: Place) -> None:
    honest(place)
    place.allow()
    (place.archive.parent / "conf").mkdir()
    shutil.move(place.rules, place.archive.parent / "conf" / "signers.toml")
    place.rules.symlink_to(place.archive.parent / "conf" / "signers.toml")


@forgery(3, COME_WITH_IT)
def rules_in_settings_that_came_along(place: Place) -> None:
    honest(place)
    place.allow()
    settings = place.archive.parent / ".config" / "kellet"
    settings.mkdir(parents=True)
    shutil.move(place.rules, settings / "signers.toml")
    place.rules.symlink_to(settings / "signers.toml")


@forgery(3, COME_WITH_IT)
def a_link_from_the_settings_to_rules_beside_the_archive(place: Place) -> None:
    """The user's own settings lead to what came along."""
    rules_beside_the_archive(place)
    os.environ["XDG_CONFIG_HOME"] = str(place.rules.parent)


@forgery(3, COME_WITH_IT)
def settings_in_an_unpacked_archive(place: Place) -> None:
    rules_in_the_archive(place)
    os.environ["XDG_CONFIG_HOME"] = str(place.archive / ".data")


@forgery(3, COME_WITH_IT)
def a_key_beside_the_archive_in_rules_elsewhere(place: Place) -> None:
    place.put(place.signed(place.statement(), by=place.mallory))
    shutil.copy(place.mallory.pub, place.archive.parent / "team.pub")
    place.rules.write_text('[[allow]]\nkeys = ["../models/team.pub"]\n')


@forgery(3, COME_WITH_IT, certified)
def an_authority_beside_the_archive(place: Place) -> None:
    certified(place)
    shutil.move(place.folder / "ca.pem", place.archive.parent / "ca.pem")
    place.rules.write_text('[[allow]]\nauthorities = ["../models/ca.pem"]\n')


@forgery(8, "revoked")
def a_key_that_another_rule_revokes(place: Place) -> None:
    honest(place)
    key = Signer.of(place.ours.pem).key
    assert key is not None
    place.allow("", "[[allow]]", f'keys = ["{place.mallory.pub}"]', f'revoked = ["{key.public.fingerprint}"]')


@forgery(8, "revoked")
def a_revoked_key_where_rules_only_warn(place: Place) -> None:
    a_key_that_was_revoked(place)
    place.rules.write_text('mode = "warn"\n' + place.rules.read_text())


@forgery(7, "a signature of another archive")
def another_archive_where_rules_only_warn(place: Place) -> None:
    another_archive_takes_the_name(place)
    place.allow(top='mode = "warn"')


@forgery(7, "a signature that its key did not make")
def a_hint_that_lies_where_rules_only_warn(place: Place) -> None:
    the_hint_lies(place)
    place.allow(top='mode = "warn"')


@forgery(3, "not taken as a key or as rules")
def rules_that_others_may_change(place: Place) -> None:
    honest(place)
    place.allow()
    place.rules.chmod(0o666)


@forgery(3, "not taken as a key or as rules")
def rules_in_a_folder_of_all(place: Place) -> None:
    honest(place)
    place.allow()
    place.rules.parent.chmod(0o777)


@forgery(3, "not taken as a key or as rules")
def a_key_that_others_may_change(place: Place) -> None:
    honest(place)
    loose = place.folder / "conf" / "loose.pub"
    shutil.copy(place.ours.pub, loose)
    loose.chmod(0o666)
    place.rules.write_text('[[allow]]\nkeys = ["loose.pub"]\n')


@forgery(5, "it has no signature")
def an_archive_that_brings_its_own_rules(place: Place) -> None:
    more = f'mode = "warn"\n[[allow]]\nkeys = ["{place.mallory.pub}"]\n'
    with zipfile.ZipFile(place.archive) as opened:
        assert opened.namelist()
    from packager import PackageExporter

    with PackageExporter(place.archive, policy="auto", prove=False) as exporter:
        exporter.save_source_string("shop", "import pathlib\npathlib.Path('ran').touch()\n")
        exporter.save_text("shop", "signers.toml", more)


@forgery(8, "is not approved")
def code_that_nobody_approved(place: Place) -> None:
    honest(place)
    place.allow(f'code_digest = ["{"0" * 64}"]')


@forgery(8, "revoked")
def a_key_that_was_revoked(place: Place) -> None:
    honest(place)
    key = Signer.of(place.ours.pem).key
    assert key is not None
    place.allow(top=f'revoked = ["{key.public.fingerprint}"]')


@forgery(8, "revoked")
def an_archive_that_was_revoked(place: Place) -> None:
    honest(place)
    with ArchiveReader(place.archive) as reader:
        identity = reader.identity
    place.allow(f'revoked = ["{identity}"]')


@forgery(8, "revoked", certified)
def a_certificate_that_was_revoked(place: Place) -> None:
    leaf = place.authority.issue("ci", place.ours.key)
    place.certified(leaf)
    place.allow(f'revoked = ["{leaf.fingerprint(hashes.SHA256()).hex()}"]')


@forgery(8, "before 2999-01-01")
def an_old_archive_is_put_back(place: Place) -> None:
    honest(place)
    place.allow("not_before = 2999-01-01")


@forgery(6, "the rule is about other archives")
def an_archive_of_another_folder(place: Place) -> None:
    honest(place)
    place.allow('archives = ["release/*.kellet"]')


# --- bytes ---


@forgery(3, "the archive is damaged")
def another_manifest_under_a_good_signature(place: Place) -> None:
    honest(place)
    data = place.archive.read_bytes()
    other = place.make("other.kellet", code="answer = 1\n").read_bytes()
    at = data.index(b".data/manifest.sha256") + len(".data/manifest.sha256")
    mine = other.index(b".data/manifest.sha256") + len(".data/manifest.sha256")
    changed = bytearray(data)
    changed[at : at + 64] = other[mine : mine + 64]
    from zlib import crc32

    line = bytes(changed[at : at + 64]) + b"  manifest.msgpack\n"
    old = data[at : at + 64] + b"  manifest.msgpack\n"
    crc, new = crc32(old).to_bytes(4, "little"), crc32(line).to_bytes(4, "little")
    place.archive.write_bytes(bytes(changed).replace(crc, new))


# --- what becomes of them ---


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("KELLET_SIGNERS", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")  # as it was, however a forgery changes it
    monkeypatch.chdir(tmp_path)
    for folder in ("models", "conf", "keys"):
        (tmp_path / folder).mkdir()
    ours, mallory = (pair(tmp_path / "keys", name) for name in ("ours", "mallory"))
    made = Place(tmp_path, ours, mallory, root())
    made.make()
    return made


def test_there_are_many() -> None:
    assert len(FORGERIES) >= 60


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_loads_and_runs_nothing(
    place: Place, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = FORGERIES[name]
    row.forge(place)
    if not place.rules.exists():
        place.allow()
    with pytest.raises(PackageError, match=re.escape(row.said)) as caught, _opened(place) as importer:
        importer.import_module("shop")
    assert row.code == 3 or isinstance(caught.value, SignatureError)
    assert main(["run", str(place.archive), "--signed-by", str(place.rules), "--text", "x"]) == row.code
    assert "".join(row.said.split()) in "".join(capsys.readouterr().err.split())
    assert not (place.archive.parent / "ran").exists()
    assert not os.path.exists("ran")


@pytest.mark.parametrize("kind", ["key", "certificate"])
def test_a_key_is_not_taken_from_beside_the_archive(
    place: Place, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (honest if kind == "key" else certified)(place)
    elsewhere = place.ours.pub if kind == "key" else place.folder / "ca.pem"
    beside = place.archive.parent / "team.pub"
    shutil.copy(elsewhere, beside)
    PackageImporter(place.archive, signed_by=elsewhere).close()
    with pytest.raises(SignersError, match=COME_WITH_IT):
        PackageImporter(place.archive, signed_by=beside)
    option = "--key" if kind == "key" else "--ca"
    assert main(["verify", str(place.archive), option, str(elsewhere)]) == 0
    assert main(["verify", str(place.archive), option, str(beside)]) == 3
    assert COME_WITH_IT in " ".join(capsys.readouterr().err.split())


def test_bytes_are_as_they_were_signed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    honest(place)
    place.allow()
    asked = ["verify", str(place.archive), "--signers", str(place.rules)]
    assert main(asked) == 0
    data = place.archive.read_bytes()
    place.archive.write_bytes(data.replace(b"answer = 42", b"answer = 43"))
    with pytest.raises(IntegrityError, match="do not have the sha256"), _opened(place) as importer:
        importer.import_module("shop")
    capsys.readouterr()
    assert main(asked) == 7
    assert "identity" not in capsys.readouterr().out
    assert not (place.archive.parent / "ran").exists()


# --- files of others ---


FILES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a_name_with_a_colon": ("a relative path", lambda s: s["resources"][0].update(name="net:0:10")),
    "a_name_that_climbs": ("a relative path", lambda s: s["resources"][0].update(name="../net.kellet")),
    "a_name_from_the_root": ("a relative path", lambda s: s["resources"][0].update(name="/net.kellet")),
    "a_name_in_two_spellings": ("a relative path", lambda s: s["resources"][0].update(name="./net.kellet")),
    "a_name_twice": ("twice", lambda s: s["resources"].append(s["resources"][0])),
    "another_algorithm": ("its sha256", lambda s: s["resources"][0].update(algorithm="md5")),
    "another_file": ("not as they were signed", lambda s: s["resources"][0].update(name="other.kellet")),
    "no_files": ("the digest of its resources", lambda s: s["resources"].clear()),
    "parts_of_files": ("method 'shards'", lambda s: s["serialization"].update(method="shards")),
    "links": ("allow_symlinks True", lambda s: s["serialization"].update(allow_symlinks=True)),
    "a_zero_for_false": ("allow_symlinks 0", lambda s: s["serialization"].update(allow_symlinks=0)),
    "ignored_by_a_climb": ("ignore_paths", lambda s: s["serialization"].update(ignore_paths=["../.."])),
    "another_root": ("the digest of its resources", lambda s: s["resources"][0].update(digest="0" * 64)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_forged_list_of_files_is_refused(
    place: Place, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said, change = FILES[name]
    signature = Path(sign_files(str(place.archive), Signer.of(place.ours.pem)))
    asked = ["verify", str(place.archive), "--key", str(place.ours.pub), "--signature", str(signature)]
    assert main(asked) == 0
    statement = json.loads(base64.b64decode(json.loads(signature.read_bytes())["dsseEnvelope"]["payload"]))
    change(statement["predicate"])
    signature.write_bytes(json.dumps(place.signed(statement)).encode())
    capsys.readouterr()
    assert main(asked) == 7
    assert "".join(said.split()) in "".join(capsys.readouterr().err.split())


def test_a_rule_on_code_or_time_is_not_met_by_a_list_of_files(place: Place) -> None:
    signature = sign_files(str(place.archive), Signer.of(place.ours.pem))
    asked = ["verify", str(place.archive), "--signers", str(place.rules), "--signature", signature]
    place.allow()
    assert main(asked) == 0
    for line in ("not_before = 2020-01-01", f'code_digest = "{"0" * 64}"'):
        place.allow(line)
        assert main(asked) == 8


@pytest.mark.parametrize("twin", {row.honest.__name__: row.honest for row in FORGERIES.values()}.values())
def test_its_honest_twin_loads(place: Place, twin: Forge) -> None:
    twin(place)
    place.allow()
    with _opened(place) as importer:
        assert importer.import_module("shop").answer == 42
    assert (place.archive.parent / "ran").exists()


def _opened(place: Place) -> PackageImporter:
    return PackageImporter(place.archive, signed_by=place.rules, environment="ignore")
