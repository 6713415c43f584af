"""`packager verify`: every byte of an archive against every rule, and nothing of it is run."""

from __future__ import annotations

import argparse
from typing import Any

from .screen import print_json, print_text, progress

__all__ = ["add"]

_EXAMPLES = """\
examples:
  packager verify net.kedge
  packager verify net.kedge --json

The exit code is 0 when everything holds, 1 when something is wrong inside, 3 when the file is no
archive at all.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "verify",
        help="check every digest and every inner format of an archive, running nothing",
        description="Check every digest, the layout and the inner formats of an archive, running nothing.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the archive, or the folder of an unzipped one")
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Verify, print every problem, and say by the exit code whether there was one."""
    from packager.archive import ArchiveReader, verify
    from packager.exporting.printing import size_text

    with progress("verifying") as show, ArchiveReader(options.file) as reader:
        outcome = verify(reader, progress=show)
    if options.json:
        print_json(
            {"ok": outcome.ok, **{name: getattr(outcome, name) for name in outcome.__dataclass_fields__}}
        )
    else:
        lines = [f"{problem.entry or 'archive'}: {problem.message}" for problem in outcome.problems]
        state = "everything holds" if outcome.ok else f"{len(lines)} problems"
        lines.append(
            f"{options.file}: {state}; {outcome.entries} entries, {size_text(outcome.size)}, "
            f"digests {outcome.digests}, identity {outcome.identity}"
        )
        print_text("\n".join(lines))
    return 0 if outcome.ok else 1
