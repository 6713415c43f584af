"""Signing an archive: in it, beside it, and for the verifiers of others."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from packager._archive import SIGNATURES, ArchiveReader, add_signature
from packager._arguments import check_by, check_no_address, forbid_secret
from packager._atomic import replaced_file
from packager._quick_dataclasses import dataclass
from packager._texts import shown_place, without_address
from packager.errors import ArgumentError, SignatureWarning, SignersError

from .bundles import signed_bytes, spell_bundle
from .model_files import spell_files
from .signers import BESIDE, claims_of
from .statements import spell_statement

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final

    from packager._archive import Manifest

    from .keys import PrivateKey

KEYLESS: Final = "keyless"
"""What a key may be to sign as the identity of this process."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"


@dataclass(frozen=True)
class Signer:
    """A signer: a key, with its certificates if it has any, or None for the identity of this process.

    `name` is that of the signature in an archive; `by` stands in what is signed, as the author or team.

    >>> Signer.of("keyless", by="vision team").name
    'keyless'
    """

    key: PrivateKey | None
    name: str
    by: str = ""

    @classmethod
    def of(cls, key: str | Path, *, cert: str | Path | None = None, name: str = "", by: str = "") -> Signer:
        """Return the signer with a private key (PEM), or for "keyless" with the identity of this process.

        `cert` is a PEM file with the certificates of that key, its own first. The password of an encrypted
        key is that of `$KELLET_KEY_PASSWORD`. Raises SignersError for a file without a key, for certificates
        that belong to another key or are not valid now, and for an invalid name; ArgumentError for a `by` of
        more than 200 characters, or without a UTF-8 form.
        """
        check_by(by)
        if name.strip(_LETTERS) or len(name) > 64:
            raise SignersError(f"name={name!r}: expected at most 64 ASCII letters, digits, - and _")
        for one in (key, cert or ""):
            check_no_address(os.fspath(one))
        named = [forbid_secret(shown_place(os.fspath(one))) for one in (key, cert) if one]
        if key == KEYLESS:
            return cls(None, name or KEYLESS, by)
        from .keys import ODD, read_private

        password = os.environ.get("KELLET_KEY_PASSWORD", "").encode() or None
        try:
            chain = b"" if cert is None else Path(cert).read_bytes()
            private = read_private(Path(key).read_bytes(), password, chain)
        except (OSError, *ODD) as error:
            raise SignersError(
                f"{' with '.join(named)}: it cannot be signed with: {without_address(error)}"
            ) from error
        return cls(private, name or f"key-{private.public.fingerprint[:16]}", by)

    def bundle(self, payload: bytes) -> bytes:
        """Return the bundle over a statement."""
        if self.key is None:
            from .keyless import sign_keyless

            return sign_keyless(payload)
        hint, signature = self.key.public.fingerprint, self.key.sign(signed_bytes(payload))
        return spell_bundle(payload, signature, hint=hint, chain=self.key.chain)

    def signatures(self, manifest: Manifest, identity: str, name: str, told: Any) -> dict[str, bytes]:
        """Return the entry with the signature of an archive; `told` says where its code comes from."""
        payload = spell_statement(manifest, identity, name, {**told, **({"by": self.by} if self.by else {})})
        return {f"{SIGNATURES}{self.name}{BESIDE}": self.bundle(payload)}

    def kept(self, reader: ArchiveReader, path: str) -> dict[str, str | bool]:
        """Return where the code comes from, as the manifest and signatures by this same key say.

        Warns of statements that only other keys signed: they are not signed again.
        """
        found, claims = reader.manifest.environment.get("provenance"), claims_of(reader, path)
        kept, others = {**found} if type(found) is dict else {}, set[str]()
        for _, bundle, statement in claims if isinstance(claims, list) else ():
            if self.key and self.key.public.verifies(bundle.signature, signed_bytes(bundle.payload)):
                kept |= statement.provenance
            others |= statement.provenance.keys()
        if lost := ", ".join(sorted(others - {*kept, "by"})):
            told = f"{path}: the new signature does not repeat {lost}: other keys have signed that"
            warnings.warn(SignatureWarning(f"{told}; export with --provenance to keep it"), stacklevel=3)
        return kept


def sign_archive(path: str, signer: Signer, *, detached: bool = False, replace: bool = False) -> str:
    """Write a signature in an archive or, `detached`, beside it; return its name or path.

    Nothing but the manifest is read, and no entry changes but the signature: the file is written anew and
    renamed. What the manifest and signatures by the same key say of where the code comes from is signed, too;
    a SignatureWarning tells what only signatures of others say.

    Raises ArchiveError for a damaged archive and, without `replace`, where it has a signature of that name,
    and ArchiveIOError where it cannot be written (FileExistsError and OSError beside it).
    """
    check_no_address(path)
    with ArchiveReader(path, mmap=False) as reader:
        identity, told = reader.identity, signer.kept(reader, path)
        ((name, data),) = signer.signatures(reader.manifest, identity, os.path.basename(path), told).items()
    if not detached:
        add_signature(path, name, data, identity=identity, replace=replace)
        return name
    return _written(path + BESIDE, data, replace)


def sign_files(path: str, signer: Signer, *, replace: bool = False) -> str:
    """Write a signature of a file, read once, for OpenSSF Model Signing; return its path, `.sig`.

    Raises ArgumentError for a folder, FileExistsError where one is there and it is not to `replace` it,
    OSError where that cannot be written, or the file not read.
    """
    if os.path.isdir(path):
        raise ArgumentError(f"{path}: it is a folder; expected one file to sign for OpenSSF Model Signing")
    return _written(f"{path}.sig", signer.bundle(spell_files(path)), replace)


def _written(path: str, data: bytes, replace: bool) -> str:
    with replaced_file(path) if replace else open(path, "xb") as file:
        file.write(data)
    return path
