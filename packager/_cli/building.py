"""What plan, export, suggest and why share: their options, and the exporter that these describe."""

from __future__ import annotations

import argparse
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from .suggestions import target, target_or_file

if TYPE_CHECKING:
    from packager._analysis import TraceComparison
    from packager._exporting import ExportPlan
    from packager._policy import Policy
    from packager.package_exporter import PackageExporter


def add_target(parser: argparse.ArgumentParser, *, or_file: bool = False, or_nothing: bool = False) -> None:
    """Declare the target, which for some commands may be a file instead, or be left out."""
    parser.add_argument(
        "target",
        nargs="?" if or_nothing else None,
        type=target_or_file if or_file else target,
        metavar="TARGET",
        help="package.module:name of an object, or of a class or function that makes it, or the name of a "
        "module",
    )


def add_find_links(parser: argparse.ArgumentParser) -> None:
    """Declare where wheels may come from, besides the index that pip is configured with."""
    parser.add_argument(
        "--find-links",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder with more wheels; repeatable",
    )


def add_loosen(parser: argparse.ArgumentParser) -> None:
    """Declare which versions will do at the target, where others than what follows from those here."""
    parser.add_argument(
        "--loosen",
        type=requirement,
        action="append",
        default=[],
        metavar="REQUIREMENT",
        help="a version range that the target may have, as 'numpy>=1.26', or numpy for any version; "
        "repeatable",
    )


def declared_type(text: str) -> tuple[str, str]:
    """Read an argument that declares the type of a value: name and type. Raises ValueError."""
    from packager._calls import ValueType

    name, equals, found = text.partition("=")
    if not equals or not name:
        raise ValueError(f"expected a name and a type, as 'x=float32[*, 3]', got {text}")
    return name, str(ValueType.parse(found))


def requirement(text: str) -> str:
    """Check an argument that is a requirement of what is installed. Raises ValueError."""
    from packager._environment import Distributions, Requirement
    from packager._names import normalized_name
    from packager._texts import did_you_mean

    name = Requirement.parse(text).name
    installed = Distributions()
    if name not in installed:
        near = did_you_mean(normalized_name(name), installed.versions())
        raise ValueError(f"{text!r}: no distribution {name} is installed here{near}")
    return text


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that decide what goes into the archive."""
    group = parser.add_argument_group(
        "what goes in",
        "Rules are tried in the order given, before the policy; the first that matches decides.",
    )
    group.add_argument(
        "--policy",
        type=policy_name,
        default="auto",
        metavar="NAME|FILE",
        help="auto (default), hermetic, strict, none, or a policy file (.toml)",
    )
    for action, text in (
        ("intern", "store modules that match"),
        ("extern", "require modules that match at the target"),
        ("mock", "replace modules that match by mocks"),
        ("deny", "refuse modules that match"),
    ):
        group.add_argument(
            f"--{action}",
            action=_RuleOption,
            dest="rules",
            type=pattern,
            default=[],
            metavar="PATTERN",
            help=f"{text}, as 'mypkg.**'",
        )
    group.add_argument(
        "--exclude-data",
        type=pattern,
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out data files, as 'pkg/tests/**'",
    )
    group.add_argument(
        "--variable",
        type=variable,
        action="append",
        default=[],
        metavar="NAME",
        help="an environment variable that code may read, because each target sets it or does not need it, "
        "as SHOP_MODE",
    )


def exporter_for(
    options: argparse.Namespace,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    policy: Policy | None = None,
    **more: Any,
) -> PackageExporter:
    """Return the exporter that the options describe, or with another policy; it was asked nothing yet."""
    from packager._calls import put_folder_on_path
    from packager.package_exporter import PackageExporter

    put_folder_on_path()
    return PackageExporter(
        target,
        policy=policy_of(options) if policy is None else policy,
        loosen=getattr(options, "loosen", ()),
        **more,
    )


def policy_of(options: argparse.Namespace) -> Policy:
    """Return the policy that was named, and before it what the command line says."""
    from packager._exporting import as_policy
    from packager._policy import GlobGroup, Rule

    given = [
        Rule(action, GlobGroup(pattern), because="given on the command line")
        for action, pattern in options.rules
    ]
    named = as_policy(options.policy)
    return named.before(given, exclude_data=options.exclude_data, variables=options.variable)


def request_target(exporter: PackageExporter, target: str) -> None:
    """Ask for the module of a target; nothing of it is run."""
    from packager._calls import split_target

    module, _ = split_target(target)
    exporter.save_module(module)


def add_trace_options(parser: argparse.ArgumentParser) -> Any:
    """Declare what a traced call needs; the group of options is returned."""
    group = parser.add_argument_group(
        "trace", "Run the target once in a fresh process, and record what it uses."
    )
    group.add_argument("--trace", action="store_true", help="trace a call, and compare it with the plan")
    group.add_argument(
        "--kwargs", type=json_object, default={}, metavar="JSON", help="arguments of the factory"
    )
    group.add_argument(
        "--input",
        metavar="FILE",
        help="inputs to call the object with (.npz, .json, .txt): by name, or arg0, arg1, ...",
    )
    return group


def trace_and_prune(
    plan: ExportPlan, options: argparse.Namespace, save: Callable[[PackageExporter], None]
) -> tuple[TraceComparison, str]:
    """Trace the call, compare it with `plan`, and make a policy for that call alone, as TOML.

    `save` asks another exporter for what `plan` is the plan of: what is left out brings less with it.
    Raises TraceError where the call fails.
    """
    from packager._analysis import compare_trace, pruned, trace_call
    from packager._drafting import suggested_policy

    comparison = compare_trace(plan, trace_call(options.target, options.kwargs, options.input))
    policy = pruned(policy_of(options), comparison)
    exporter = exporter_for(options, io.BytesIO(), policy=policy)
    save(exporter)
    unread = dict.fromkeys(comparison.unused_files, "the trace did not open it")
    text = suggested_policy(exporter.plan(), of=options.target, like=policy, notes=unread)
    return comparison, text


def json_object(text: str) -> Mapping[str, Any]:
    """Read an argument that is a JSON object. Raises ValueError for others."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, as '{{\"width\": 64}}', got {text}")
    return value


def policy_name(text: str) -> str | None:
    """Check an argument that names a policy or a policy file; None for `none`. Raises ValueError."""
    from packager._policy import require_preset

    if text == "none" or text.endswith(".toml"):
        return None if text == "none" else text
    return require_preset(text)


def pattern(text: str) -> str:
    """Check an argument that is a glob pattern. Raises ValueError for others."""
    from packager._policy import GlobGroup

    GlobGroup(text)
    return text


def variable(text: str) -> str:
    """Read an argument that names a variable of the environment. Raises ValueError."""
    from packager._policy import checked_variables

    (name,) = checked_variables([text])
    return name


class _RuleOption(argparse.Action):
    """Collects rules of all four actions in one list, in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        assert option_string is not None
        rules = [*getattr(namespace, self.dest), (option_string.removeprefix("--"), values)]
        setattr(namespace, self.dest, rules)
