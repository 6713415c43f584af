"""`kellet suggest`: a policy file that says what a target needs, with the reason on every line."""

from __future__ import annotations

import argparse
import io
import sys

from .building import (
    add_policy_options,
    add_target,
    add_trace_options,
    exporter_for,
    policy_of,
    request_target,
    trace_and_prune,
)
from .outputs import add_output, output_of, write_output
from .screen import print_lines, stages

EPILOG = """\
examples:
  kellet suggest mypkg.models:build -o policy.toml
  kellet suggest mypkg.models:build --trace --kwargs '{"width": 64}' --input x.npz

The file is a strict policy: a module that it does not name is an error, and so is a rule that
matches nothing. Give it to `kellet export --policy policy.toml`. If an export would fail, the
reasons are printed, too, and the exit code is 1.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command."""
    add_target(parser)
    add_policy_options(parser)
    add_output(parser)
    add_trace_options(parser)


def run(options: argparse.Namespace) -> int:
    """Suggest a policy from the plan, or from a trace where one was asked for."""
    from packager._drafting import suggested_policy
    from packager._exporting import problems_text

    exporter = exporter_for(options, io.BytesIO())
    with output_of(options.output) as output:
        with stages() as exporter.progress:
            request_target(exporter, options.target)
            plan = exporter.plan()
        if options.trace:
            comparison, text = trace_and_prune(
                plan, options, lambda other: request_target(other, options.target)
            )
            print_lines(str(comparison), to=sys.stderr)
        else:
            text = suggested_policy(plan, of=options.target, like=policy_of(options))
        write_output(output, [text])
    against = (*problems_text(plan.problems), *(f"* {rule} matched nothing." for rule in plan.empty_rules))
    if against:
        print_lines(*against, to=sys.stderr)
    return 0 if plan.ok else 1
