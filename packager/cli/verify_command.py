"""`packager verify`: every byte of an archive against every rule, and nothing of it is run."""

from __future__ import annotations

from collections.abc import Iterator

from packager.texts import counted, few_of, wrapped

from .archives import FILE_HELP, add_identity, add_trust, mebibytes, not_negative, source_of
from .screen import print_json, print_lines, progress

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    import argparse
    from typing import Any, Final

    from packager.archive import Verification

_EXAMPLES = """\
examples:
  packager verify net.kellet
  packager verify net.kellet --deep
  packager verify net.kellet --json
  curl https://models.example/net.kellet | packager verify -

Where everything holds, the lines to load this archive and no other are printed, with its identity and the
sha256 of the file. Of many problems the first ten are printed; --json has all. The exit code is 0 when
everything holds, 1 when something is wrong inside, 3 when the file is no archive at all, or another than
that of --identity.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        description="Check every digest, the layout and the inner formats of an archive, running nothing.",
        epilog=_EXAMPLES,
    )
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
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print every problem, and say by the exit code whether there was one."""
    from packager.loading import verify
    from packager.sizes import size_text

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
    with progress("verifying") as show:
        outcome = verify(source_of(options.file), progress=show, **deep)
    if options.json:
        facts = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__}
        print_json({"ok": outcome.ok, **facts, "identity": outcome.identity if outcome.ok else None})
    else:
        told = [f"{problem.entry or 'archive'}: {problem.message}" for problem in outcome.problems]
        lines = [line for one in few_of(told) for line in wrapped(one)]
        state = "everything holds" if outcome.ok else counted(len(outcome.problems), "problem")
        lines.append(
            f"{options.file}: {state}; {counted(outcome.entries, 'entry', 'entries')}, "
            f"{size_text(outcome.size)}, digests {outcome.digests}"
        )
        if outcome.ok:
            lines.append(f"    identity {outcome.identity}")
        if outcome.file_sha256 is not None:
            lines.append(f"    sha256   {outcome.file_sha256}")
        if outcome.ok and deep:
            lines += _to_paste(options.file, outcome)
        print_lines(*lines)
    return 0 if outcome.ok else 1


def _to_paste(file: str, outcome: Verification) -> Iterator[str]:
    """Yield the lines that load this archive and no other."""
    name = "FILE" if file == "-" else file
    choice = "" if outcome.digests == "sha256" else f', digests="{outcome.digests}"'
    yield "to load this archive and no other:"
    yield f'    PackageImporter({name!r}, identity="{outcome.identity}"{choice})'
    if choice:
        yield "its identity does not bind the bytes of tensors, which have CRC-32 alone"
    else:
        yield f"    packager run {_quoted(name)} --identity {outcome.identity}"


def _quoted(name: str) -> str:
    """Return a name as a shell takes it for one word."""
    if name.isascii() and name.translate(_OF_WORDS).isalnum():
        return name
    import shlex  # needs `re`

    return shlex.quote(name)


_OF_WORDS: Final = str.maketrans(dict.fromkeys("_./-", "x"))
"""Takes the signs that names of files have, and that mean nothing to a shell, for letters."""
