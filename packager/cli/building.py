"""What plan, export, suggest and why share: their options, and the exporter that these describe."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from packager.package_exporter import PackageExporter
    from packager.policy import Answer, Policy


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the target."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="package.module:name of an object, or of a class or function that makes it; or a module",
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
        ("extern", "leave modules that match to the target"),
        ("mock", "put mocks in the place of modules that match"),
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
        "--answer",
        type=answer,
        action="append",
        default=[],
        metavar="QUESTION=NAMES",
        help="which modules a computed import loads: the question's place, then names, all or none, as "
        "'pkg/io.py:12:load=pkg.fast,pkg.slow'",
    )
    group.add_argument(
        "--guards",
        choices=("here", "all"),
        default="here",
        help="follow imports that this environment would run (here, default), or those of every branch",
    )
    group.add_argument(
        "--parents",
        choices=("eager", "lazy"),
        default="eager",
        help="lazy: leave out what packages import only to pass it on",
    )


def exporter_for(
    options: argparse.Namespace,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    policy: Policy | None = None,
    **more: Any,
) -> PackageExporter:
    """The exporter that the options describe, or with another policy; nothing has been asked of it yet."""
    from packager.calls import put_folder_on_path
    from packager.package_exporter import PackageExporter

    put_folder_on_path()
    return PackageExporter(
        target,
        policy=policy_of(options) if policy is None else policy,
        guards=options.guards,
        parents=options.parents,
        **more,
    )


def policy_of(options: argparse.Namespace) -> Policy:
    """The policy that was named, and before it what the command line says."""
    from packager.policy import GlobGroup, Rule, as_policy

    given = [
        Rule(action, GlobGroup(pattern), because="given on the command line")
        for action, pattern in options.rules
    ]
    named = as_policy(options.policy)
    return named.before(given, exclude_data=options.exclude_data, answers=dict(options.answer))


def request_target(exporter: PackageExporter, target: str) -> None:
    """Ask for the module of a target, as far as its name is used; nothing of it is run."""
    from packager.calls import split_target

    module, name = split_target(target)
    exporter.save_module(module, names=[name.partition(".")[0]] if name else None)


def json_object(text: str) -> Mapping[str, Any]:
    """An argument that is a JSON object, for argparse."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, as '{{\"width\": 64}}', got {text}")
    return value


def policy_name(text: str) -> str | None:
    """An argument that names a policy or a policy file, for argparse; None for `none`."""
    from packager.policy import require_preset

    if text == "none" or text.endswith(".toml"):
        return None if text == "none" else text
    try:
        return require_preset(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def pattern(text: str) -> str:
    """An argument that is a glob pattern, for argparse."""
    from packager.policy import GlobGroup

    try:
        GlobGroup(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def answer(text: str) -> tuple[str, Answer]:
    """An argument that answers a question of the plan, for argparse: the question's id, and names."""
    question, equals, names = text.rpartition("=")
    if not equals or not names or ":" not in question:
        raise argparse.ArgumentTypeError(
            f"expected a question's place and names, as 'pkg/io.py:12:load=pkg.fast', got {text}"
        )
    if names == "all" or names == "none":
        return question, names
    return question, tuple(names.split(","))


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
