"""`packager plan`: what an export would do, and everything that is wrong with it."""

from __future__ import annotations

import argparse
import io
from typing import Any

from .building import add_loosen, add_policy_options, add_target, exporter_for, request_target
from .outputs import OR_STANDARD_OUTPUT, output_of, write_output
from .screen import print_json, print_plan, stages

_EXAMPLES = """\
examples:
  packager plan mypkg.models:build
  packager plan mypkg.models --policy hermetic --mock 'mypkg.plots.**'
  packager plan mypkg.models:build --json | jq '.modules[].name'
  packager plan mypkg.models:build --html plan.html

Nothing of the model's code is run, unless with --prove, which imports it in a clean process.
The exit code is 1 when the plan holds problems.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "plan",
        description="Show what an export would store and why, and everything that is wrong, all at once.",
        epilog=_EXAMPLES,
    )
    add_target(parser)
    add_policy_options(parser)
    add_loosen(parser)
    parser.add_argument(
        "--prove",
        action="store_true",
        help="write a temporary file, and open it in a clean process: this runs code of the model",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write the plan as a page of HTML, too" + OR_STANDARD_OUTPUT
    )
    parser.add_argument("--all", action="store_true", help="list what the plan only counts, too")
    parser.add_argument("--json", action="store_true", help="print the plan for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the plan, and say by the exit code whether an export would go through."""
    exporter = exporter_for(options, io.BytesIO())
    with output_of(options.html) as html:
        with stages() as exporter.progress:
            request_target(exporter, options.target)
            plan = exporter.plan(prove=options.prove)
        if html is not None:
            from packager.report import page_html, page_of_plan

            write_output(html, page_html(page_of_plan(plan, options.target)))
        if options.json:
            print_json({"ok": plan.ok, "size": plan.size, "cost": plan.cost(), **_fields(plan)})
        else:
            print_plan(plan.text(whole=options.all))
    return 0 if plan.ok else 1


def _fields(plan: Any) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in plan.__dataclass_fields__}
