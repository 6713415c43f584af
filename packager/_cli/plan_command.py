"""`kellet plan`: what an export would do, and everything that is wrong with it."""

from __future__ import annotations

import argparse
import io

from .building import add_loosen, add_policy_options, add_target, exporter_for, request_target
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_json, print_plan, stages

EPILOG = """\
examples:
  kellet plan mypkg.models:build
  kellet plan mypkg.models --policy hermetic --mock 'mypkg.plots.**'
  kellet plan mypkg.models:build --json | jq '.modules[].name'
  kellet plan mypkg.models:build --html plan.html

Only --prove runs code of the model, in a clean process. The exit code is 1 if the plan has problems.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_target(parser)
    add_policy_options(parser)
    add_loosen(parser)
    parser.add_argument(
        "--prove",
        action="store_true",
        help="also write a temporary file, and open it in a clean process; this runs code of the model",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write the plan as a page of HTML" + OR_STANDARD_OUTPUT
    )
    parser.add_argument("--all", action="store_true", help="also list what the plan only counts")
    parser.add_argument("--json", action="store_true", help="print the plan for machines")


def run(options: argparse.Namespace) -> int:
    """Print the plan, and say by the exit code whether an export would go through."""
    exporter = exporter_for(options, io.BytesIO())
    with output_of(options.html) as html:
        with stages() as exporter.progress:
            request_target(exporter, options.target)
            plan = exporter.plan(prove=options.prove)
        if html is not None:
            from packager._report import page_html, page_of_plan

            write_output(html, page_html(page_of_plan(plan, options.target)))
        if options.json:
            print_json({"ok": plan.ok, "size": plan.size, "cost": plan.cost(), **vars(plan)})
        else:
            print_plan(plan.text(whole=options.all))
    return 0 if plan.ok else 1
