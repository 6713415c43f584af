"""`kellet suggest-migration`: a first draft of what takes an old checkpoint to today's model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .migrate_command import add_unwrap, target_state
from .outputs import add_output, output_of, write_output
from .screen import print_lines
from .suggestions import target_or_file

EPILOG = """\
examples:
  kellet suggest-migration old.safetensors mypkg:build -o migration.toml
  kellet suggest-migration last.ckpt new.safetensors --unwrap state_dict

Names and shapes are compared, no values. Read the draft before you use it: each step has its reason, and keys
that could not be placed stand at the end. Then: kellet migrate OLD --with migration.toml --plan
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument("old", metavar="OLD", help="the file with the old weights")
    parser.add_argument(
        "target",
        type=target_or_file,
        metavar="TARGET",
        help="package.module:name of the model or what makes it; or another file",
    )
    add_output(parser)
    add_unwrap(parser)


def run(options: argparse.Namespace) -> int:
    """Write the draft; 1 where something could not be placed."""
    from packager._drafting import suggest_migration
    from packager._migrations import WRAPPERS, open_wrapped
    from packager._texts import counted, one_line

    with output_of(options.output) as output:
        checkpoint = open_wrapped(
            options.old, (WRAPPERS,), unwrap=options.unwrap, skip_unknown=options.skip_unknown
        )
        name = "suggested" if options.output == "-" else one_line(Path(options.output).stem)
        draft = suggest_migration(checkpoint, target_state(options.target), name)
        write_output(output, [str(draft)])
    if draft.beside:
        (taken,) = draft.migration.unwrap
        told = "the draft lists the others (--unwrap takes one of them)"
        print_lines(f"kellet: took {taken!r} of the file; {told}", to=sys.stderr)
    if draft.is_complete:
        return 0
    print(
        f"kellet: {counted(len(draft.unplaced), 'old key')} could not be placed, "
        f"{counted(len(draft.missing), 'new key')} got no value; both are listed at the end of the draft",
        file=sys.stderr,
    )
    return 1
