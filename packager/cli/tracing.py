"""What `export` and `suggest` share: a trace of the call, and the policy that it makes possible."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .building import exporter_for, json_object, policy_of

if TYPE_CHECKING:
    from packager.analysis import TraceComparison
    from packager.exporting import ExportPlan
    from packager.package_exporter import PackageExporter


def add_trace_options(parser: argparse.ArgumentParser) -> Any:
    """Declare what a traced call needs; the group of options is returned."""
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
    return group


def trace_and_prune(
    plan: ExportPlan, options: argparse.Namespace, save: Callable[[PackageExporter], None]
) -> tuple[TraceComparison, str]:
    """Trace the call, compare it with `plan`, and make a policy for that call alone, as TOML.

    `save` asks another exporter for what `plan` is the plan of: what is left out brings less with it,
    and answers bring more. Raises TraceError where the call fails.
    """
    from packager.analysis import compare_trace, pruned, trace_call
    from packager.drafting import suggested_policy

    comparison = compare_trace(plan, trace_call(options.target, options.kwargs, options.input))
    policy = pruned(policy_of(options), comparison)
    exporter = exporter_for(options, io.BytesIO(), policy=policy)
    save(exporter)
    unread = dict.fromkeys(comparison.unused_files, "the trace did not open it")
    loaded = {place.id: f"the trace loaded it: {place.text}" for place in comparison.imports if place.id}
    text = suggested_policy(exporter.plan(), of=options.target, like=policy, notes={**unread, **loaded})
    return comparison, text
