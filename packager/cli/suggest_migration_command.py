"""`packager suggest-migration`: a first draft of what takes an old checkpoint to today's model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .migrate_command import add_unwrap, target_state
from .outputs import output_of, write_output
from .screen import print_lines
from .suggestions import target_or_file

_EXAMPLES = """\
examples:
  packager suggest-migration old.safetensors mypkg:build -o migration.toml
  packager suggest-migration last.ckpt new.safetensors --unwrap state_dict

Names and shapes are compared, no values. Read the draft before you use it: each step says why it is
there, and what could not be placed stands at the end. Then: packager migrate OLD --with migration.toml --plan
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "suggest-migration",
        description="Draft a migration from an old checkpoint to a model, by names and shapes.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("old", metavar="OLD", help="the file with the old weights")
    parser.add_argument(
        "target",
        type=target_or_file,
        metavar="TARGET",
        help="package.module:name of the model or what makes it; or another file",
    )
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="write here; - (default) is standard output"
    )
    add_unwrap(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the draft; 1 where something could not be placed."""
    from packager.drafting import suggest_migration
    from packager.migrations import WRAPPERS, open_wrapped
    from packager.texts import counted, one_line

    with output_of(options.output) as output:
        checkpoint = open_wrapped(
            options.old, (WRAPPERS,), unwrap=options.unwrap, skip_unknown=options.skip_unknown
        )
        name = "suggested" if options.output == "-" else one_line(Path(options.output).stem)
        draft = suggest_migration(checkpoint, target_state(options.target), name)
        write_output(output, [str(draft)])
    if draft.beside:
        (taken,) = draft.migration.unwrap
        told = "the draft says what else is there (--unwrap takes another)"
        print_lines(f"packager: took {taken!r} of the file; {told}", to=sys.stderr)
    if draft.is_complete:
        return 0
    print(
        f"packager: {counted(len(draft.unplaced), 'old key')} could not be placed, "
        f"{counted(len(draft.missing), 'new key')} got no value; both are listed at the end of the draft",
        file=sys.stderr,
    )
    return 1
