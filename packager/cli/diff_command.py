"""`packager diff`: what differs between two archives, or two files of weights; runs nothing, unless asked."""

from __future__ import annotations

import argparse
from typing import Any

from .archives import add_trust_options
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_changes, print_json

_EXAMPLES = """\
examples:
  packager diff old.kellet new.kellet
  packager diff old.kellet new.kellet --json | jq '.tensors[] | select(.ulps > 4)'
  packager diff last.ckpt model.safetensors            weights of PyTorch, safetensors and NumPy, too
  packager diff old.kellet new.kellet --html diff.html
  packager diff old.kellet net/ --run                  also runs the golden calls of both on both

Signs: + added, - removed, ~ changed, > moved or renamed. Nothing of either file is run, unless with --run.
The exit code is 0 where nothing differs, 1 where something does, 3 where a file cannot be read.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "diff",
        description="Show what differs: code, decisions, environment, objects, keys and values of tensors.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "before", metavar="BEFORE", help="an archive, the folder of an unzipped one, or a file of weights"
    )
    parser.add_argument("after", metavar="AFTER", help="the same, to compare it with")
    parser.add_argument(
        "--unwrap", metavar="NAME", help="the state dict to compare, where a file holds several"
    )
    parser.add_argument(
        "--run",
        dest="run_calls",
        action="store_true",
        help="also run the golden calls of both on both, and compare the answers: this runs the code of both",
    )
    add_trust_options(parser)
    parser.add_argument(
        "--html", metavar="FILE", help="write them as a page of HTML, too" + OR_STANDARD_OUTPUT
    )
    parser.add_argument("--all", action="store_true", help="print long lists whole")
    parser.add_argument("--json", action="store_true", help="print the differences for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what differs, and say by the exit code whether anything does."""
    from packager.differences import compare_files

    with output_of(options.html) as html:
        found = compare_files(
            options.before,
            options.after,
            unwrap=options.unwrap,
            run=options.run_calls,
            trust=options.trust,
            environment=options.environment,
        )
        if html is not None:
            from packager.report import page_html, page_of_differences

            write_output(html, page_html(page_of_differences(found)))
        if options.json:
            print_json(
                {"equal": not found, **{name: getattr(found, name) for name in found.__dataclass_fields__}}
            )
        else:
            print_changes(found.lines(whole=options.all))
    return 1 if found else 0
