"""Judge a folder of foreign vectors of model signing: `make signing-vectors DIR=...` prints a line for each.

Below the folder lie a checkout of ossf/model-signing-spec (its `test-vectors`) and the `scripts/tests` of
sigstore/model-transparency, or one of both. What each must come to is what the specification says, v1.0.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from packager._signing import Rule, Signers, judge_files
from packager._signing.bundles import read_bundle
from packager._signing.keys import read_public
from packager._signing.model_files import read_signed
from packager.errors import ArchiveError

SPEC = {"valid": True, "invalid": False, "invalid-payload": False}
HISTORICAL = ("v0.2.0",)  # of a predicate that a verifier MAY read (section 11), and this one does not


def signers_of(method: str, keys: Path, bundle: Path) -> Signers:
    """Those whom the vectors mean: one key, one authority, or the identity that the certificate says."""
    if method == "elliptic-key":
        key = read_public((keys / "signing-key-pub.pem").read_bytes())
        return Signers((Rule(keys=(key,)),))  # type: ignore[arg-type]  # a key, and no certificates
    if method == "certificate":
        return Signers((Rule(authorities=(keys / "ca-cert.pem").read_bytes()),))
    from cryptography import x509

    held = json.loads(bundle.read_bytes())["verificationMaterial"]["certificate"]["rawBytes"]
    leaf = x509.load_der_x509_certificate(base64.b64decode(held))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    issuer = leaf.extensions.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1"))
    return Signers(
        (Rule(identities=((names.get_values_for_type(x509.RFC822Name)[0], issuer.value.value.decode()),)),)
    )  # type: ignore[attr-defined]  # of an extension that is not known


def judged_folders(top: Path) -> Iterator[tuple[str, bool, bool, str]]:
    """Yield of each signed folder its name, what must come of it, what came of it, and why."""
    keys = next(top.rglob("keys/certificate"), None)
    for signature in sorted(top.rglob("v*-*/model.sig")):
        folder = signature.parent
        version, _, method = folder.name.partition("-")
        assert keys is not None, "the vectors have no keys"
        single = method == "elliptic-key" and version in ("v0.3.1", "v1.0.0")
        about = folder / "signme-1" if single else folder
        signers = signers_of(method, keys, signature)
        found = judge_files(signers, str(about), str(signature), ignore=("ignore-me",))
        yield f"{version} {method}", version not in HISTORICAL, found.ok, found.text


def judged_bundles(top: Path) -> Iterator[tuple[str, bool, bool, str]]:
    """Yield the same of each bundle of the specification: whether bundle and statement can be read."""
    for file in sorted(top.rglob("*.bundle.json")):
        try:
            read_signed(read_bundle(file.read_bytes(), file.name).payload, file.name)
        except ArchiveError as error:
            yield f"{file.parent.name} {file.name}", SPEC[file.parent.name], False, str(error)
        else:
            yield f"{file.parent.name} {file.name}", SPEC[file.parent.name], True, "read"


def main(folder: str) -> int:
    """Print a line for each vector; return 1 where one is judged otherwise, or there are none."""
    top = Path(folder)
    rows = [*judged_bundles(top), *judged_folders(top)]
    for name, wanted, found, why in rows:
        sys.stdout.write(
            f"{'ok   ' if wanted is found else 'WRONG'} {'accepted' if found else 'refused '} {name}: {why}\n"
        )
    wrong = sum(wanted is not found for _, wanted, found, _ in rows)
    sys.stdout.write(f"{len(rows)} vectors, {wrong} judged otherwise than the specification says\n")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
