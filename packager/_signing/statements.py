"""What is signed of an archive: its identity, what it is, and where it comes from.

A statement in the form of in-toto. Its subject has the digest `kelletIdentity`, which no other reader takes
for the sha256 of the file. What it says of the archive follows from the manifest and is compared with it
again.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from packager._archive import pack, sha256
from packager._arguments import MAX_BY
from packager._quick_dataclasses import dataclass
from packager._texts import one_line

from .bundles import expect, is_digest, map_with, read_payload, shown

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from packager._archive import Manifest

PREDICATE_TYPE: Final = "https://kellet/archive/v1"
_STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
_FACTS: Final = ("format", "digests", "objects", "codeDigest", "environmentDigest")
_CODE: Final = ("source", "migration", "pickle")
_CARRIED: Final = (".data/runtime/", ".data/wheels/")
_MOST_OBJECTS: Final = 1000
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Statement:
    """What somebody signed: the file's name then, the identity, facts, when, and where it comes from.

    `provenance` may have `by`, `commit`, `dirty`, `remote`, `packager` and `python`.
    """

    name: str
    identity: str
    facts: Mapping[str, Any]
    signed: datetime
    provenance: Mapping[str, str | bool]

    @property
    def said(self) -> str:
        """By whom it is and when it was signed, as the signer says."""
        by = one_line(str(self.provenance.get("by", ""))[:MAX_BY])
        return f"statement: {f'by {by}, ' if by else ''}signed {self.signed:{_TIME}}"


def code_digest(manifest: Manifest) -> str:
    """Return the digest of the code alone: archives with other weights and the same code have the same one.

    Code is stored sources, pickles and migrations, what is carried along, and what of it is called.
    """
    entries = manifest.entries
    files = [[one.name, one.sha256] for one in entries if one.kind in _CODE or one.name.startswith(_CARRIED)]
    modules = [[one.name, one.action, one.entry, one.is_package] for one in manifest.modules]
    called = [[one.name, one.package, one.resource, one.callable] for one in manifest.entry_points]
    made = [[one.package, one.resource, one.factory] for one in manifest.objects if one.factory]
    first = [[one.package, one.resource, list(one.modules)] for one in manifest.imports]
    return sha256(pack([files, modules, called, made, first])).hexdigest()


def facts_of(manifest: Manifest) -> dict[str, Any]:
    """Return what a statement says of an archive, all of which follows from its manifest."""
    outside = [[one.name, one.distribution, one.requirement, one.optional] for one in manifest.externs]
    saved: list[Any] = [*manifest.objects, *manifest.state_dicts]
    named = sorted(f"{one.package}/{one.resource}" for one in saved)
    environment = sha256(pack([dict(manifest.environment), outside])).hexdigest()
    found = (manifest.format, manifest.digests, named[:_MOST_OBJECTS], code_digest(manifest), environment)
    return dict(zip(_FACTS, found, strict=True))


def spell_statement(manifest: Manifest, identity: str, name: str, provenance: Mapping[str, Any]) -> bytes:
    """Return the statement about an archive, to be signed now."""
    told = {"signed": datetime.now(UTC).strftime(_TIME), "provenance": dict(provenance)}
    return spelled(PREDICATE_TYPE, {**facts_of(manifest), **told}, name, {"kelletIdentity": identity})


def spelled(predicate_type: str, predicate: object, name: str, digest: Mapping[str, str]) -> bytes:
    """Return a statement of in-toto about one subject."""
    top = {"_type": _STATEMENT_TYPE, "subject": [{"name": name, "digest": digest}]}
    return json.dumps({**top, "predicateType": predicate_type, "predicate": predicate}, indent=1).encode()


def subject_of(top: Mapping[str, Any], kind: str, predicate_type: str, what: str) -> tuple[str, str]:
    """Return name and digest of the subject of a statement of this type. Raises ArchiveError for others."""
    found, subjects = (top["_type"], top["predicateType"]), top["subject"]
    is_right = found == (_STATEMENT_TYPE, predicate_type)
    expect(is_right, what, shown([*found]), f"a statement of {predicate_type}")
    is_one = type(subjects) is list and len(subjects) == 1
    expect(is_one, what, "no subject, or several", "one")
    subject = map_with(subjects[0], ("name", "digest"), f"{what}, subject")
    name, digest = subject["name"], map_with(subject["digest"], (kind,), f"{what}, digest")[kind]
    is_right = type(name) is str and name != "" and is_digest(digest)
    expect(is_right, what, f"the subject {shown(name)} with {shown(digest)}", "a name and a sha256")
    return name, digest


def read_statement(payload: bytes, what: str) -> Statement:
    """Read what a statement of ours says. Raises ArchiveError for any other."""
    top = read_payload(payload, what)
    name, identity = subject_of(top, "kelletIdentity", PREDICATE_TYPE, what)
    predicate = map_with(top["predicate"], (*_FACTS, "signed", "provenance"), f"{what}, predicate")
    told, time = predicate["provenance"], predicate["signed"]
    is_right = type(told) is dict and all(type(one) in (str, bool) for one in told.values())
    expect(is_right, what, "another provenance", "a map of texts")
    try:
        signed = datetime.strptime(str(time), _TIME).replace(tzinfo=UTC)
    except ValueError:
        signed = datetime.fromtimestamp(0, UTC)
    expect(signed.strftime(_TIME) == time, what, f"signed {shown(time)}", "a time as 2026-01-31T12:00:00Z")
    return Statement(name, identity, {one: predicate[one] for one in _FACTS}, signed, told)


def require_of(statement: Statement, manifest: Manifest, identity: str, what: str) -> None:
    """Raise ArchiveError unless a statement is about the archive with this identity, and says what it is."""
    other = f"a signature of another archive ({shown(statement.name)})"
    expect(statement.identity == identity, what, other, "one of this; remove it, or sign anew with --replace")
    wrong = [one for one, fact in facts_of(manifest).items() if repr(statement.facts[one]) != repr(fact)]
    expect(not wrong, what, f"another {', '.join(wrong)} than the archive has", "what is so")
