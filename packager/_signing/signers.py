"""Who may sign: keys, authorities and identities, in rules that the loader's side keeps; and the decision.

An archive never brings its own rules. They are an argument, or the file that `$KELLET_SIGNERS` names. The
decision reads the manifest and the signatures, and nothing else of the archive.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from packager import errors
from packager._arguments import forbid_secret
from packager._caches import may_come_with, others_may_write, read_own
from packager._globs import Glob
from packager._quick_dataclasses import dataclass
from packager._texts import in_lines, one_line
from packager._toml_text import parse_toml
from packager.errors import ArchiveError, SignatureError, SignersError

from .bundles import MAX_BUNDLE, Bundle, expect, is_digest, map_with, read_bundle, shown, signed_bytes
from .statements import Statement, read_statement, require_of

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, TypeAlias

    from packager._archive import ArchiveReader

    from .keys import PublicKey

    Claim: TypeAlias = tuple[str, Bundle, Statement]

ANYONE: Final = "anyone"
"""What `signed_by` may be to ask for no signature, whatever `$KELLET_SIGNERS` says."""

BESIDE: Final = ".sigstore.json"
_MAX_PEM: Final = 1 << 18
_STATES: Final = ("broken", "signed", "refused", "foreign")  # the first that is found counts
_ERRORS: Final = {"unsigned": "UnsignedError", "foreign": "OtherSignerError", "refused": "RefusedByRuleError"}
_FORMS: Final = {
    "allow": "the line [[allow]] above the lines of each rule",
    "keys": 'keys = ["team.pub"]',
    "authorities": 'authorities = ["ca.pem"]',
    "identities": 'identities = [{identity = "me@example.org", issuer = "https://issuer.example"}]',
    "archives": 'archives = ["models/*.kellet"]',
}
_WHO: Final = ("keys", "authorities", "identities")
_MORE: Final = ("archives", "trust_root", "code_digest", "not_before", "revoked")


@dataclass(frozen=True)
class Rule:
    """One rule: archives whose path fits `archives` (all, where there is none) may be signed by these.

    `keys` are public keys, `authorities` certificates as PEM, `identities` pairs of an identity and its
    issuer. With `code_digests` the code must be one of those that were approved; with `not_before` it must
    have been signed since then. `revoked` are fingerprints of keys and certificates, and identities of
    archives, and hold for all rules beside this one. `places` are the files that it was read from.
    """

    archives: tuple[str, ...] = ()
    keys: tuple[PublicKey, ...] = ()
    authorities: bytes = b""
    identities: tuple[tuple[str, str], ...] = ()
    trust_root: bytes | None = None
    code_digests: tuple[str, ...] | None = None
    not_before: datetime | None = None
    revoked: frozenset[str] = frozenset()
    places: tuple[str, ...] = ()

    def is_for(self, path: str | None) -> bool:
        """Say whether the rule is about the archive at a path; a pattern fits the end of one."""
        name = "" if path is None else os.path.abspath(path).replace(os.sep, "/").lstrip("/")
        patterns = (one.lstrip("/") if one.startswith("/") else f"**/{one}" for one in self.archives)
        return not self.archives or any(Glob(one, "/").matches(name) for one in patterns)

    def refusal(self, statement: Statement) -> str:
        """Return why the rule refuses what one of its signers signed, "" where it does not."""
        digest, signed = statement.facts["codeDigest"], statement.signed
        if self.not_before and signed < self.not_before:
            when = f"{signed:%Y-%m-%d %H:%M}" if statement.identity else "at a time it does not tell"
            return f"signed {when}, and the rule says not_before {self.not_before:%Y-%m-%d %H:%M}"
        is_approved = self.code_digests is None or digest in self.code_digests
        return "" if is_approved else f"its code {digest} is not approved: see `kellet approve`"


@dataclass(frozen=True)
class Judgement:
    """What became of the question who signed: `state` and `text` say it, `rule` counts from 1.

    `state` is "signed", "unsigned", "foreign" (by others), "refused" (by a rule), "broken", or "unverified"
    where nothing says who may sign. `statement` is that of the signature that counts.
    """

    state: str
    text: str
    rule: int = 0
    statement: Statement | None = None

    @property
    def ok(self) -> bool:
        """Whether one of ours signed it."""
        return self.state == "signed"

    def error(self, what: str) -> SignatureError:
        """Return the error that refuses the archive."""
        kind: type[SignatureError] = getattr(errors, _ERRORS.get(self.state, "NotAsSignedError"))
        return kind(in_lines(*f"{what}: {self.text}".split("\n")))


@dataclass(frozen=True)
class Signers:
    """The allowed signers. With `mode="warn"` a loader only warns if none of them signed.

    `where` is the file that the rules came from, or "".

    >>> Signers.of("anyone") is None
    True
    """

    rules: tuple[Rule, ...]
    mode: str = "require"
    where: str = ""

    @classmethod
    def of(cls, given: Signers | str | os.PathLike[str] | None) -> Signers | None:
        """Return the signers of an argument, or of `$KELLET_SIGNERS` for None; None without either.

        `given` is a public key as PEM, the path of one or of a certificate of an authority, or the path of a
        file of rules (.toml). Raises SignersError for a file that cannot be read, or that other users may
        change, ArgumentError for another kind.
        """
        given = os.environ.get("KELLET_SIGNERS") or ANYONE if given is None else given
        if given == ANYONE or isinstance(given, Signers):
            return given if isinstance(given, Signers) else None
        name = forbid_secret(os.fspath(given))
        path = name if name.startswith("-----BEGIN ") else os.path.abspath(name)
        from .keys import ODD

        try:
            expect(name != "", "signed_by", "an empty text", "a key, its path, or that of rules")
            return _rules(path) if path.endswith(".toml") else cls((_named([path], "signed_by"),))
        except ODD as error:
            told = str(error) if str(error).startswith((path, "signed_by")) else f"{path}: {error}"
            raise (error if isinstance(error, SignersError) else SignersError(told)) from None

    def only_warn(self, judgement: Judgement) -> bool:
        """Say whether a loader only warns; it never loads an archive that a rule refuses, or that differs
        from its signature."""
        return self.mode == "warn" and judgement.state in ("unsigned", "foreign")

    def judge(self, reader: ArchiveReader, path: str | None, signature: str = "") -> Judgement:
        """Decide by the manifest and the signatures of an open archive, whose path is `path`.

        `signature` is a file with another one, by default beside the archive. Raises SignersError if the
        rules are beside or inside the archive.
        """
        self.require_apart(path)
        claims = claims_of(reader, path, signature)
        return claims if isinstance(claims, Judgement) else self.decide(claims, reader.identity, path)

    def decide(self, claims: list[Claim], identity: str, path: str | None) -> Judgement:
        """Decide by signatures that were read, and by the path of the signed file."""
        every = [(number, claim) for number in range(1, len(self.rules) + 1) for claim in claims]
        found = [self._judged(number, claim, identity, path) for number, claim in every]
        found = found or [Judgement("foreign", "there are no rules, so nobody may sign")]
        found.sort(key=lambda one: _STATES.index(one.state))
        whole = in_lines(*dict.fromkeys(one.text for one in found))
        return found[0] if found[0].ok else Judgement(found[0].state, whole, found[0].rule)

    def _judged(self, number: int, claim: Claim, identity: str, path: str | None) -> Judgement:
        (what, bundle, statement), rule = claim, self.rules[number - 1]
        by = f" (rule {number} of {self.where})" if self.where else ""
        if not rule.is_for(path):
            return Judgement("foreign", f"{claimed(bundle)}: the rule is about other archives{by}", number)
        try:
            signer, marks = signer_of(bundle, rule, what)
        except ArchiveError as error:
            return Judgement("broken", str(error), number)
        except SignersError as error:  # who signed is not known; another rule may know
            return Judgement("foreign", f"{error}{by}", number)
        except ValueError as error:
            return Judgement("foreign", f"{error}, but this signer is not allowed{by}", number)
        is_revoked = any(one.revoked & (marks | {identity}) for one in self.rules)
        if refusal := "the signer or the archive is revoked" if is_revoked else rule.refusal(statement):
            return Judgement("refused", f"signed by {signer}, and refused: {refusal}{by}", number)
        return Judgement("signed", f"signature good: signed by {signer}{by}", number, statement)

    def require_apart(self, path: str | None) -> None:
        """Raise SignersError for rules or keys beside, below or inside the signed file.

        They may have arrived with it.
        """
        for place in (place for rule in self.rules for place in (self.where, *rule.places) if path):
            if place and may_come_with(place, path or ""):
                why = "what lies beside, below or in an archive may have come with it; keep it elsewhere"
                raise SignersError(f"{place}: {why}, as in ~/.config, or the archive in a folder of its own")


def judged(given: Any, reader: ArchiveReader, path: str | None) -> Judgement:
    """Judge an archive by those who may sign, as `Signers.of` takes them.

    Without any it says what the archive claims, of which nothing is verified. Raises SignersError.
    """
    if signers := Signers.of(given):
        return signers.judge(reader, path)
    claims = claims_of(reader, path)
    if isinstance(claims, Judgement):
        return claims
    texts = [f"{claimed(one)} ({statement.said})" for _, one, statement in claims]
    return Judgement("unverified", f"not checked: {', and '.join(texts)}", 0, claims[0][2])


def claims_of(reader: ArchiveReader, path: str | None, signature: str = "") -> list[Claim] | Judgement:
    """Return the signatures in and beside an archive, each with its name and what it says.

    A Judgement stands for none, for too many, and for one that is damaged or of another archive.
    """
    beside = signature or f"{path}{BESIDE}"
    try:
        held = reader.signatures()
        expect(len(held) <= 16, "it", f"{len(held)} signatures", "at most 16")
        if signature or (path is not None and os.path.isfile(beside)):
            held[beside] = bundle_file(beside)
        bundles = [(name, read_bundle(data, name)) for name, data in held.items()]
        claims = [(name, one, read_statement(one.payload, name)) for name, one in bundles]
        for name, _, statement in claims:
            require_of(statement, reader.manifest, reader.identity, name)
    except ArchiveError as error:
        return Judgement("broken", str(error))
    return claims or Judgement(
        "unsigned", "it has no signature; its maker adds one: kellet sign FILE --key team.pem"
    )


def bundle_file(path: str) -> bytes:
    """Return the bytes of a bundle beside what it signs; no more than one byte too many."""
    with open(path, "rb") as file:
        return file.read(MAX_BUNDLE + 1)


def signer_of(bundle: Bundle, rule: Rule, what: str) -> tuple[str, set[str]]:
    """Return who of a rule signed a bundle, with fingerprints.

    Raises ArchiveError where it names one of them who did not sign it, ValueError where it names none of
    them.
    """
    data, reason = signed_bytes(bundle.payload), claimed(bundle)
    for key in rule.keys if bundle.method == "key" else ():
        if bundle.hint in ("", key.fingerprint) and key.verifies(bundle.signature, data):
            return f"key {key.fingerprint}", {key.fingerprint}
        expect(bundle.hint != key.fingerprint, what, "a signature that its key did not make", "one it made")
    if bundle.method == "certificate" and rule.authorities:
        from .keys import ODD, certified_key

        try:
            key, marks = certified_key(bundle.chain, rule.authorities, datetime.now(UTC))
        except ODD as error:
            raise ValueError(f"{reason} ({one_line(str(error))})") from error
        is_right = key.verifies(bundle.signature, data)
        expect(is_right, what, "a signature that the key of its certificate did not make", "one it made")
        return f"key {key.fingerprint} with a certificate", marks | {key.fingerprint}
    for identity, issuer in rule.identities if bundle.method == "sigstore" else ():
        from .keyless import verify_keyless

        try:
            verify_keyless(bundle, identity, issuer, rule.trust_root)
        except SignersError:  # a ValueError, too
            raise
        except ValueError as error:
            reason = f"{claimed(bundle)} ({one_line(str(error))})"
        else:
            return f"{identity} ({issuer})", {identity}
    raise ValueError(reason)


def claimed(bundle: Bundle) -> str:
    """Return who is said to have signed."""
    key = f"key {one_line(bundle.hint)}" if bundle.hint else "a key without a name"
    return f"it claims {key if bundle.method == 'key' else 'a ' + bundle.method}"


# --- files of rules ---


def _rules(path: str) -> Signers:
    """Return the signers of a file of rules; paths in it start from its folder."""
    top = map_with(parse_toml(_own_bytes(path).decode()), ("allow",), path, ("mode", "revoked"))
    mode, revoked = top.get("mode", "require"), _list(top, "revoked", is_digest, path)
    expect(mode in ("require", "warn"), path, f"mode = {shown(mode)}", '"require" or "warn"')
    allowed = _list(top, "allow", lambda one: type(one) is dict, path)
    return Signers(tuple(_rule(one, revoked, path) for one in allowed), mode, path)


def _rule(found: dict[str, Any], revoked: list[str], path: str) -> Rule:
    rule = map_with(found, (), f"{path}, allow", (*_WHO, *_MORE))
    expect(any(one in rule for one in _WHO), path, "an [[allow]] that names nobody", " or ".join(_WHO))
    pairs = _list(rule, "identities", lambda one: type(one) is dict, path)
    pairs = [map_with(one, ("identity", "issuer"), f"{path}, identities") for one in pairs]
    files = [*_list(rule, "keys", _is_text, path), *_list(rule, "authorities", _is_text, path)]
    who, since = _named(files, path), rule.get("not_before")
    root = _place_of(str(rule["trust_root"]), path) if "trust_root" in rule else ""
    since = datetime(since.year, since.month, since.day, tzinfo=UTC) if type(since) is date else since
    is_time = since is None or (type(since) is datetime and since.tzinfo is not None)
    expect(is_time, path, f"not_before = {shown(since)}", "a date, or a time with its zone")
    return Rule(
        tuple(_list(rule, "archives", lambda one: _is_text(one) and Glob(one, "/"), path)),
        who.keys,
        who.authorities,
        tuple((str(one["identity"]), str(one["issuer"])) for one in pairs),
        _own_bytes(root) if root else None,
        tuple(_list(rule, "code_digest", is_digest, path)) if "code_digest" in rule else None,
        since,
        frozenset({*revoked, *_list(rule, "revoked", is_digest, path)}),
        (*who.places, *([root] if root else [])),
    )


def _named(named: list[str], path: str) -> Rule:
    """Return a rule for public keys and certificates: each the PEM itself, or a file with it."""
    from .keys import ODD, PublicKey, read_public

    places, read = [_place_of(one, path) for one in named], list[PublicKey | bytes]()
    for one, place in zip(named, places, strict=True):
        pem = _own_bytes(place) if place else one.encode()
        try:
            read.append(read_public(pem, place))
        except ODD as error:
            raise SignersError(in_lines(*f"{place or path}: {error}".split("\n"))) from None
    keys = tuple(one for one in read if isinstance(one, PublicKey))
    authorities = b"\n".join(one for one in read if isinstance(one, bytes))
    return Rule(keys=keys, authorities=authorities, places=tuple(filter(None, places)))


def _list(held: dict[str, Any], name: str, is_right: Callable[[Any], object], path: str) -> list[Any]:
    """Return a list of a file of rules, or of one thing; one that is there has something in it."""
    found = held.get(name, [])
    several = found if type(found) is list else [found]
    is_fine = all(map(is_right, several)) and (several != [] or name not in held)
    form = _FORMS.get(name, f'{name} = ["..."] with 64 lower-case hex digits each')
    expect(is_fine, path, f"{name} = {shown(found)}", form)
    return several


def _is_text(value: object) -> bool:
    return type(value) is str and value != "" and "\0" not in value


def _place_of(named: str, path: str) -> str:
    """Return the path of what a file of rules names, "" for a key that stands in it as text."""
    return "" if named.startswith("-----BEGIN ") else os.path.join(os.path.dirname(path), named)


def _own_bytes(path: str) -> bytes:
    """Return the bytes of a file that this user or root wrote. Raises SignersError for any other."""
    fault = others_may_write(path)
    try:
        data = b"" if fault else read_own(path)
    except OSError as error:
        fault = error.strerror or str(error).removeprefix(f"{path}: ")
    if fault or len(data) > _MAX_PEM:
        raise SignersError(f"{path}: not taken as a key or as rules: {fault or 'it is too long'}")
    return data
