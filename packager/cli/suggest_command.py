"""`packager suggest`: a policy file that says what a target needs, with the reason on every line."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from .building import add_policy_options, add_target, exporter_for, json_object, request_target
from .screen import print_text

__all__ = ["add"]

_EXAMPLES = """\
examples:
  packager suggest mypkg.models:build -o policy.toml
  packager suggest mypkg.models:build --trace --kwargs '{"width": 64}' --input x.npz

The file is a strict policy: a module that it does not name is an error, and so is a rule that
matches nothing. Give it to `packager export --policy policy.toml`.
"""


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "suggest",
        help="write a policy file with the reason for each rule",
        description="Write a policy file (TOML) that says what a target needs, with a reason on every line.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target(parser)
    add_policy_options(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write here; standard output by default"
    )
    add_trace_options(parser)
    parser.set_defaults(run=run)


def add_trace_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a traced call needs."""
    group = parser.add_argument_group(
        "trace", "Run the target once in a fresh process, and see what it really uses."
    )
    group.add_argument("--trace", action="store_true", help="trace a call, and compare it with the plan")
    group.add_argument(
        "--kwargs", type=json_object, default={}, metavar="JSON", help="arguments of the factory"
    )
    group.add_argument(
        "--input", metavar="X.npz", help="arrays to call the object with: by name, or arg0, arg1, ..."
    )


def run(options: argparse.Namespace) -> int:
    """Suggest a policy from the plan, and from a trace where one was asked for."""
    from packager.exporting.suggesting import suggested_policy

    exporter = exporter_for(options, io.BytesIO())
    request_target(exporter, options.target)
    plan = exporter.plan()
    unused = compare_with_trace(plan, options).unused if options.trace else ()
    text = suggested_policy(plan, of=options.target, unused=unused)
    if options.output is None:
        print_text(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0 if plan.ok else 1


def compare_with_trace(plan: Any, options: argparse.Namespace) -> Any:
    """Trace the call that the options describe, and compare it with the plan."""
    from packager.analysis import compare_trace, trace_call

    return compare_trace(plan, trace_call(options.target, options.kwargs, options.input))
