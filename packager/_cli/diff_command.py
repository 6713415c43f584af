"""`kellet diff`: what differs between two archives, or two files of weights; runs nothing, unless asked."""

from __future__ import annotations

import argparse

from .archives import add_trust_options
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_changes, print_json

EPILOG = """\
examples:
  kellet diff old.kellet new.kellet
  kellet diff old.kellet new.kellet --json | jq '.tensors[] | select(.ulps > 4)'
  kellet diff last.ckpt model.safetensors            weights of PyTorch, safetensors and NumPy, too
  kellet diff old.kellet new.kellet --html diff.html
  kellet diff old.kellet net/ --run                  also repeats the examples of both on both

Signs: + added, - removed, ~ changed, > moved or renamed. Only --run runs code of the files. The exit code is
0 if nothing differs, 1 if something does, 3 if a file cannot be read.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    parser.add_argument(
        "before", metavar="BEFORE", help="an archive, the folder of an unzipped one, or a file of weights"
    )
    parser.add_argument("after", metavar="AFTER", help="the same, to compare it with")
    parser.add_argument("--unwrap", metavar="NAME", help="the state dict to compare if a file holds several")
    parser.add_argument(
        "--run",
        dest="run_calls",
        action="store_true",
        help="also repeat the examples of both on both, and compare the outputs; this runs the code of both",
    )
    add_trust_options(parser)
    parser.add_argument(
        "--html", metavar="FILE", help="also write the differences as a page of HTML" + OR_STANDARD_OUTPUT
    )
    parser.add_argument("--all", action="store_true", help="print long lists whole")
    parser.add_argument("--json", action="store_true", help="print the differences for machines")


def run(options: argparse.Namespace) -> int:
    """Print what differs, and say by the exit code whether anything does."""
    from packager._differences import compare_files

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
            from packager._report import page_html, page_of_differences

            write_output(html, page_html(page_of_differences(found)))
        if options.json:
            print_json({"equal": not found, **vars(found)})
        else:
            print_changes(found.lines(whole=options.all))
    return 1 if found else 0
