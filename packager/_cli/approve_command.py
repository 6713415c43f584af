"""`kellet approve`: look at the code of a signed archive, and let a rule of signers.toml admit it."""

from __future__ import annotations

import os
import shlex

from packager._texts import size_text
from packager._toml_text import TomlError, parse_toml
from packager.errors import ArgumentError, OtherSignerError, SignersError

from .screen import print_changes, print_lines

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from packager._archive import Manifest

EPILOG = """\
examples:
  kellet approve net.kellet --signers ~/.config/kellet/signers.toml
  kellet approve new.kellet --against net.kellet

The first run shows the code, and prints the line that approves it. With --against it shows what changed since
an archive whose code is approved. The approval covers the code alone: new weights with the same code need no
new one. The exit code is 0 if the code is approved, 1 if it was only shown.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("file", metavar="FILE", help="the archive, signed by a key that the rules name")
    parser.add_argument(
        "--signers",
        type=_rules,
        default=os.environ.get("KELLET_SIGNERS", ""),
        metavar="FILE",
        help="the rules (default: $KELLET_SIGNERS)",
    )
    parser.add_argument("--against", metavar="OLD", help="show what differs from the code of this archive")
    parser.add_argument("--code", metavar="SHA256", help="approve the code with this digest, which was shown")


def _rules(text: str) -> str:
    if not text.endswith(".toml"):
        raise ValueError("expected a file of rules, as signers.toml, here or in KELLET_SIGNERS")
    return text


def run(options: argparse.Namespace) -> int:
    """Show the code, or approve what was shown.

    Raises the SignatureError of an archive that is not signed as a rule demands, and ArgumentError for
    another digest than was shown, and for code that is shown only --against other code.
    """
    from packager._archive import ArchiveReader
    from packager._signing import Signers, code_digest

    signers = Signers.of(options.signers)
    assert signers is not None
    with ArchiveReader(options.file, mmap=False) as reader:
        judgement, digest = signers.judge(reader, options.file), code_digest(reader.manifest)
        approved = signers.rules[judgement.rule - 1].code_digests if judgement.rule else None
        if not judgement.ok and (judgement.state != "refused" or digest in (approved or ())):
            raise judgement.error(options.file)
        if options.code not in (None, digest):
            raise ArgumentError(f"--code: expected {digest}, the code of {options.file}")
        if digest in (approved or ()):
            print_lines(
                f"{options.file}: its code {digest} is approved by rule {judgement.rule} of {signers.where}"
            )
            return 0
        if approved and options.against is None:
            raise ArgumentError(
                f"{options.file}: its code is not approved, but other code is. Give --against an archive "
                "with the approved code, or write a rule for this model alone"
            )
        if options.against is None:
            _print_code(reader.manifest)
        else:
            _print_changes(options.against, options.file, approved or ())
    if options.code is None:
        more = ["--against", options.against] if options.against else []
        line = ["kellet", "approve", options.file, "--signers", signers.where, *more, "--code", digest]
        print_lines("to approve this code:", f"    {shlex.join(line)}")
        return 1
    _approve(signers.where, judgement.rule, digest)
    print_lines(f"{signers.where}: rule {judgement.rule} admits code {digest}")
    return 0


def _print_code(manifest: Manifest) -> None:
    """Print the files of code, none of which was approved before."""
    print_lines("code that is not approved; `kellet extract` writes it:")
    for entry in manifest.entries:
        if entry.kind in ("source", "pickle", "migration"):
            print_lines(f"    {entry.name}  {size_text(entry.size)}")


def _print_changes(old: str, new: str, approved: Collection[str]) -> None:
    """Print how code differs. Raises OtherSignerError where that of the old archive is not approved."""
    from packager._archive import ArchiveReader
    from packager._differences import Differences, compare_files
    from packager._signing import code_digest

    with ArchiveReader(old, mmap=False) as reader:
        if code_digest(reader.manifest) not in approved:
            raise OtherSignerError(
                f"{old}: its code is not approved. --against needs an archive with approved code"
            )
    found = compare_files(old, new)
    print_changes(Differences(old, new, code=found.code, files=found.files, changes=found.changes).lines())


def _approve(path: str, number: int, digest: str) -> None:
    """Add the digest of a code to those that a rule of a file admits; all else in it stays as it is.

    Raises SignersError where the file cannot be changed so, with the line to write by hand.
    """
    from packager._atomic import replaced_file

    with open(path, encoding="utf-8", newline="") as file:
        lines = [*file]
    lines[-1] = f"{lines[-1].rstrip()}\n"
    top = parse_toml("".join(lines))
    rule = top["allow"][number - 1]
    old = rule.get("code_digest", [])
    rule["code_digest"] = [*dict.fromkeys([*([old] if isinstance(old, str) else old), digest])]
    line = f"code_digest = {rule['code_digest']}\n".replace("'", '"')
    heads = [at for at, one in enumerate(lines) if one.replace(" ", "").startswith("[[allow]]")]
    first = [*heads, *[0] * number][number - 1] + 1
    rest = next((at for at in range(first, len(lines)) if lines[at].startswith("[")), len(lines))
    kept = [one for one in lines[first:rest] if one.partition("=")[0].strip() != "code_digest"]
    made = "".join([*lines[:first], line, *kept, *lines[rest:]])
    try:
        is_right = parse_toml(made) == top
    except TomlError:
        is_right = False
    if not is_right:
        raise SignersError(
            f"{path}: rule {number} cannot be changed by this command. Write into it: {line.strip()}"
        )
    with replaced_file(path) as binary:
        binary.write(made.encode())
