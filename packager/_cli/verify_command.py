"""`kellet verify`: every byte of an archive against every rule, and nothing of it is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from packager._texts import counted, few_of, one_line, wrapped
from packager.errors import ArgumentError

from .archives import FILE_HELP, add_identity, add_trust, mebibytes, not_negative, source_of, unchecked_text
from .screen import print_json, print_lines, progress

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from packager._archive import Verification
    from packager._signing import Judgement, Signers

EPILOG = """\
examples:
  kellet verify net.kellet
  kellet verify net.kellet --deep
  kellet verify net.kellet --json
  curl https://models.example/net.kellet | kellet verify -

With --key, --ca, --identity-of or --signers one of these must have signed it, and the bytes must be as they
were signed. --signature takes a signature from elsewhere, or a bundle of OpenSSF Model Signing over any file
or folder.

If everything holds, the identity, the sha256 of the file, and the lines that load only this archive are
printed. Of many problems the first ten are printed; --json has all. The exit code is 0 if everything holds, 1
if something inside is wrong, 3 if the file is not an archive, or not the one of --identity. It is 5 without a
signature, 6 if others signed it, 7 if bytes or signature are not as they were signed, 8 if a rule refuses it.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    add_identity(parser)
    parser.add_argument(
        "--deep",
        action="store_true",
        help="also parse every source and object, and encode data again, in a child process with limits",
    )
    add_trust(parser, "for --deep: a type that stored objects may use (module:Class); repeatable")
    parser.add_argument(
        "--memory",
        type=mebibytes,
        default=1024,
        metavar="MIB",
        help="for --deep: MiB it may take (default: 1024)",
    )
    parser.add_argument(
        "--seconds",
        type=not_negative,
        default=120,
        metavar="N",
        help="for --deep: seconds it may take (default: 120)",
    )
    _add_signers(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")


def _add_signers(parser: argparse.ArgumentParser) -> None:
    """Declare who may have signed."""
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--key", metavar="FILE", help="require a signature by this public key (.pub, .pem)")
    who.add_argument("--ca", metavar="FILE", help="... with a certificate of this authority (.pem)")
    who.add_argument("--identity-of", metavar="NAME", help="... by this identity of sigstore; needs --issuer")
    who.add_argument("--signers", metavar="FILE", help="... as rules say (.toml; default: $KELLET_SIGNERS)")
    parser.add_argument("--issuer", metavar="URL", help="for --identity-of: who vouches for the identity")
    parser.add_argument(
        "--trust-root", metavar="FILE", help="for --identity-of: another root of trust (.json)"
    )
    parser.add_argument("--signature", metavar="FILE", help="a signature that is neither in nor beside FILE")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="PATH",
        help="for a signed folder: leave out this path",
    )


def run(options: argparse.Namespace) -> int:
    """Print every problem, and say by the exit code whether there was one."""
    from packager._loading import verify
    from packager._texts import size_text

    # An archive that is started verifies itself, and has no options for depth.
    deep = (
        {
            "deep": options.deep,
            "identity": options.identity,
            "trust": options.trust,
            "memory": options.memory << 20,
            "seconds": options.seconds,
        }
        if hasattr(options, "deep")
        else {}
    )
    source = source_of(options.file)
    signers = _signers(options) if deep else None
    if signers and options.signature:
        from packager._signing import is_of_files, judge_files

        if is_of_files(options.signature):
            of_files = judge_files(signers, options.file, options.signature, options.ignore)
            return _told(options, of_files, "every file is as it was signed")
    if signers and options.file == "-":
        source = source.read()  # it is read twice
    judgement = _judged(options, source, signers) if deep else None
    if judgement is not None and judgement.state == "unsigned" and os.path.isfile(f"{options.file}.sig"):
        beside = f"{judgement.text}; {options.file}.sig lies beside it: give --signature with that path"
        judgement = type(judgement)(judgement.state, beside)
    if judgement is not None and signers and not judgement.ok:
        return _told(options, judgement, "")
    with progress("verifying") as show:
        outcome = verify(source, progress=show, **deep)
    if options.json:
        facts = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
        said = {"signature": _facts(judgement)} if judgement is not None else {}
        print_json({"ok": outcome.ok, **facts, **said, "identity": outcome.identity if outcome.ok else None})
    else:
        told = [f"{problem.entry or 'archive'}: {problem.message}" for problem in outcome.problems]
        lines = [line for one in few_of(told) for line in wrapped(one)]
        state = "everything holds" if outcome.ok else counted(len(outcome.problems), "problem")
        lines.append(
            f"{options.file}: {state}; {counted(outcome.entries, 'entry', 'entries')}, "
            f"{size_text(outcome.size)}, digests {outcome.digests}"
        )
        if outcome.ok and judgement is not None:
            held = judgement.text.replace("signature good:", "verified:", 1)  # all bytes were read
            if judgement.state == "unverified":
                held = f"signature {unchecked_text(judgement, '--key')}"
            lines += [part for line in held.split("\n") for part in wrapped(line, "    ")]
            lines += _provenance(judgement)
        if outcome.ok:
            lines.append(f"    identity {outcome.identity}")
        if outcome.file_sha256 is not None:
            lines.append(f"    sha256   {outcome.file_sha256}")
        if outcome.ok and deep:
            lines += _to_paste(options.file, outcome)
        print_lines(*lines)
    return 0 if outcome.ok else 7 if signers else 1


def _signers(options: argparse.Namespace) -> Signers | None:
    """Return those who may have signed, as the command line names them, or `$KELLET_SIGNERS`."""
    named = options.key or options.ca or options.signers
    if options.identity_of is None and named is None and "KELLET_SIGNERS" not in os.environ:
        if options.signature:
            raise ArgumentError("--signature needs --key, --ca, --identity-of or --signers")
        return None
    from packager._signing import Rule, Signers

    if options.identity_of is None:
        return Signers.of(named)
    if options.issuer is None:
        raise ArgumentError("--identity-of needs --issuer: a name means nothing without it")
    root = None
    if options.trust_root is not None:
        with open(options.trust_root, "rb") as file:
            root = file.read()
    places = (options.trust_root,) if root else ()
    identities = ((options.identity_of, options.issuer),)
    return Signers((Rule(identities=identities, trust_root=root, places=places),))


def _judged(options: argparse.Namespace, source: Any, signers: Signers | None) -> Judgement | None:
    """Judge the signatures of an archive; without signers say what they claim. None where there is none."""
    path = None if options.file == "-" else options.file
    if signers is None and path is None:
        return None  # standard input is read once
    from packager._archive import ArchiveReader

    with ArchiveReader(source, identity=options.identity, digests="crc", mmap=False) as reader:
        if signers is not None:
            return signers.judge(reader, path, options.signature or "")
        if not reader.signatures() and not os.path.exists(f"{path}.sigstore.json"):
            return None
        from packager._signing import judged

        return judged("anyone", reader, path)


def _told(options: argparse.Namespace, judgement: Judgement, held: str) -> int:
    """Print what became of a signature alone; return the exit code."""
    if options.json:
        print_json({"ok": judgement.ok, "signature": _facts(judgement)})
    elif judgement.ok:
        print_lines(f"{options.file}: {held}", f"    {judgement.text}")
    else:
        raise judgement.error(options.file)
    return 0 if judgement.ok else judgement.error(options.file).exit_code


def _facts(judgement: Judgement) -> dict[str, Any]:
    """Return what --json says of a signature; the fingerprint is that of a key that is verified.

    A list of files says neither an identity nor when it was signed.
    """
    key = re.search(r"good: signed by key ([0-9a-f]{64})", judgement.text)
    told = judgement.statement
    return {
        "state": judgement.state,
        "text": judgement.text,
        "fingerprint": key and key[1],
        "signed": told.signed.strftime("%Y-%m-%dT%H:%M:%SZ") if told and told.identity else None,
    }


def _provenance(judgement: Judgement) -> Iterator[str]:
    """Yield where the code comes from, as the signed statement says."""
    told = judgement.statement
    if told:
        yield f"    signed at {told.signed:%Y-%m-%dT%H:%M:%SZ}, as the signer says"
    for name, value in told.provenance.items() if told else ():
        yield one_line(f"    {name} {value}")


def _has_one_object(file: str, identity: str) -> bool:
    """Say whether `packager.load` takes an archive; standard input has been read, and may hold one."""
    if file == "-":
        return True
    from packager._archive import ArchiveReader

    with ArchiveReader(file, identity=identity, digests="crc", mmap=False) as reader:
        return len(reader.manifest.objects) == 1


def _to_paste(file: str, outcome: Verification) -> Iterator[str]:
    """Yield the lines that load this archive and no other."""
    name = "FILE" if file == "-" else file
    choice = "" if outcome.digests == "sha256" else f', digests="{outcome.digests}"'
    yield "to load only this archive:"
    call = "load" if _has_one_object(file, outcome.identity) else "PackageImporter"
    yield f'    packager.{call}({name!r}, identity="{outcome.identity}"{choice})'
    if choice:
        yield "its identity does not cover the bytes of tensors, which have only a CRC-32"
    else:
        if not re.fullmatch(r"[\w./-]+", name, re.ASCII):
            import shlex

            name = shlex.quote(name)
        yield f"    kellet run {name} --identity {outcome.identity}"
