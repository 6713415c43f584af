"""A policy suggested from a plan: one rule for each top-level package, with the reason beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from packager._policy import Action, GlobGroup, Policy, Rule, format_policy

if TYPE_CHECKING:
    from packager._exporting import ExportPlan, PlannedModule


_WITHOUT_RULE = ("implicit", "resources")


def suggested_policy(
    plan: ExportPlan, *, of: str, like: Policy | None = None, notes: Mapping[str, str] | None = None
) -> str:
    """Return a strict policy, as TOML, that decides as `plan` does; `of` says what was planned.

    Data files that the policy `like`, by which the plan was made, leaves out, and its answers, stay;
    `notes` say why, by pattern and question, where it was not simply asked for.

    >>> import io
    >>> from packager import PackageExporter
    >>> from packager.policy import parse_policy
    >>> exporter = PackageExporter(io.BytesIO(), policy="auto")
    >>> exporter.save_source_string("net", "import numpy")
    >>> text = suggested_policy(exporter.plan(), of="net.py")
    >>> [str(rule) for rule in parse_policy(text).rules]
    ["intern('net.**')", "extern('numpy.**')"]
    """
    reasons = dict(_rules(plan))
    exclude_data = like.exclude_data.include if like is not None else ()
    variables = like.variables if like is not None else ()
    policy = Policy("strict", reasons, exclude_data=exclude_data, variables=variables)
    head = [f"The packages that {of} needs, one rule each. The first rule that matches decides."]
    asked = {
        **dict.fromkeys(exclude_data, "left out as asked"),
        **dict.fromkeys(variables, "as allowed"),
    }
    return format_policy(policy, reasons, head=head, notes={**asked, **(notes or {})})


def _rules(plan: ExportPlan) -> Iterable[tuple[Rule, str]]:
    """Yield rules for whole packages; before that of a divided one, one for each module that differs."""
    tops: dict[str, dict[Action, list[PlannedModule]]] = {}
    for module in plan.modules:
        if module.rule not in _WITHOUT_RULE:
            top = module.name.partition(".")[0]
            tops.setdefault(top, {}).setdefault(module.action, []).append(module)
    for top, actions in sorted(tops.items()):
        main = max(actions, key=lambda action: len(actions[action]))
        for action, modules in actions.items():
            for module in modules if action != main else ():
                yield Rule(action, GlobGroup(module.name)), _reason([module])
        yield Rule(main, GlobGroup(f"{top}.**")), _reason(actions[main])


def _reason(modules: list[PlannedModule]) -> str:
    first = modules[0]
    if first.action == "mock":
        return first.because
    sites = [f"{edge.file}:{edge.line}" for module in modules for edge in module.importers if edge.line]
    count = f"{len(modules)} module{'s' if len(modules) > 1 else ''}"
    place = f", imported at {sites[0]}" if sites else ""
    more = f" and {len(sites) - 1} more" if len(sites) > 1 else ""
    return f"{first.origin}: {count}{place}{more}"
