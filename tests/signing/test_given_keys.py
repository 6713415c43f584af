"""What a user gives in the place of a public key: the error says what it is, and what to give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography")

from packager import Signers
from packager._cli import main
from packager.errors import SignersError

if TYPE_CHECKING:
    from .signed_files import Pair

    Keys = Callable[[str], Pair]


def bytes_of(keys: Keys, kind: str) -> bytes:
    """Return a file of this kind, made of the key pairs of the session."""
    from .signed_files import PEM, pem_of, root, serialization

    der, none = serialization.Encoding.DER, serialization.NoEncryption()
    private, formats, publics = keys("ours").key, serialization.PrivateFormat, serialization.PublicFormat
    public, chain = private.public_key(), root().issue("ci", private)
    known: dict[str, Callable[[], bytes]] = {
        "private": keys("ours").pem.read_bytes,
        "private and public": lambda: keys("ours").pem.read_bytes() + keys("ours").pub.read_bytes(),
        "ssh private": lambda: private.private_bytes(PEM, formats.OpenSSH, none),
        "ssh public": lambda: public.public_bytes(serialization.Encoding.OpenSSH, publics.OpenSSH),
        "der public": lambda: public.public_bytes(der, publics.SubjectPublicKeyInfo),
        "der private": lambda: private.private_bytes(der, formats.PKCS8, none),
        "der certificate": lambda: chain.public_bytes(der),
        "two": lambda: keys("ours").pub.read_bytes() + keys("other").pub.read_bytes(),
        "certificate and public": lambda: pem_of(chain) + keys("ours").pub.read_bytes(),
        "text": lambda: b"hello",
    }
    return known[kind]()


SAID = {
    "private": ("found a private key", "openssl pkey -in {file} -pubout -out NAME.pub"),
    "private and public": ("found a private key", "openssl pkey -in {file} -pubout -out NAME.pub"),
    "ssh private": ("found a key of ssh", "ssh-keygen -e -m PKCS8 -f {file} > NAME.pub"),
    "ssh public": ("found a key of ssh", "ssh-keygen -e -m PKCS8 -f {file} > NAME.pub"),
    "der public": ("found a public key as DER", "openssl pkey -pubin -inform DER -in {file} -out NAME.pem"),
    "der private": (
        "found a private key as DER",
        "openssl pkey -pubout -inform DER -in {file} -out NAME.pem",
    ),
    "der certificate": ("found a certificate as DER", "openssl x509 -inform DER -in {file} -out NAME.pem"),
    "two": ("found 2 public keys", 'rules (.toml) list them: keys = ["a.pub", "b.pub"]'),
    "certificate and public": ("found certificate, public key", "Give each a file of its own"),
    "text": ("found no line -----BEGIN PUBLIC KEY-----", "expected one public key, or certificates, as PEM"),
}


@pytest.mark.parametrize("kind", SAID)
def test_another_file_is_named_with_what_to_give(keys: Keys, tmp_path: Path, kind: str) -> None:
    file, (found, give) = tmp_path / "given.pub", SAID[kind]
    file.write_bytes(bytes_of(keys, kind))
    with pytest.raises(SignersError) as caught:
        Signers.of(file)
    said = str(caught.value)
    assert said.startswith(f"{file}: ")
    assert found in said
    assert give.format(file=file) in said
    assert len(said.splitlines()) <= 3


@pytest.mark.parametrize("option", ["--key", "--signed-by"])
def test_the_command_says_the_same(
    archive: Path, keys: Keys, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["verify" if option == "--key" else "check", str(archive), option, str(keys("ours").pem)]
    assert main(line) == 3
    assert "found a private key" in " ".join(capsys.readouterr().err.split())


def test_a_key_that_rules_list_is_named_by_its_own_path(keys: Keys, tmp_path: Path) -> None:
    rules = tmp_path / "signers.toml"
    rules.write_text(f"[[allow]]\nkeys = ['{keys('ours').pem}']\n")
    with pytest.raises(SignersError, match=r"ours\.pem: expected one public key"):
        Signers.of(rules)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("allow = 3", "expected the line [[allow]] above the lines of each rule"),
        ("[[allow]]\nkeys = 3", 'found keys = 3; expected keys = ["team.pub"]'),
        ("[[allow]]\nauthorities = []", 'expected authorities = ["ca.pem"]'),
        ("[[allow]]\nidentities = ['me']", 'expected identities = [{identity = "me@example.org", issuer ='),
        ("[[allow]]\nkeys = ['KEY']\narchives = 1", 'expected archives = ["models/*.kellet"]'),
        (
            "[[allow]]\nkeys = ['KEY']\ncode_digest = 'a'",
            'expected code_digest = ["..."] with 64 lower-case hex',
        ),
    ],
)
def test_rules_say_the_form_that_is_expected(keys: Keys, tmp_path: Path, text: str, form: str) -> None:
    rules = tmp_path / "signers.toml"
    rules.write_text(text.replace("KEY", str(keys("ours").pub)))
    with pytest.raises(SignersError) as caught:
        Signers.of(rules)
    assert form in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_public_key_does_not_sign(keys: Keys) -> None:
    from packager import Signer

    with pytest.raises(SignersError, match="expected a private key, found a public key"):
        Signer.of(keys("ours").pub)
