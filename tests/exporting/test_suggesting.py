"""A suggested policy decides as the plan did, and says why on every line."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from packager import PackageExporter
from packager.exporting.suggesting import suggested_policy
from packager.policy import parse_policy

Project = Callable[[Mapping[str, str]], Path]

TREE = {
    "net/__init__.py": "",
    "net/model.py": "import numpy\nfrom . import layers, plots\n",
    "net/layers.py": "import numpy.linalg\nimport json\n",
    "net/plots.py": "",
}


def plan_of(project: Project, policy: object, *, mock: bool = False) -> PackageExporter:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy=policy)  # type: ignore[arg-type]  # a name or a Policy
    if mock:
        exporter.mock("net.plots")
    exporter.save_module("net.model")
    return exporter


def test_every_line_has_its_reason(project: Project) -> None:
    text = suggested_policy(plan_of(project, "auto").plan(), of="net.model")
    assert text.startswith(
        "# What net.model needs, one rule for each package. The first rule that matches decides.\n"
    )
    lines = [line for line in text.splitlines() if "action" in line]
    assert len(lines) == 2
    assert "# project code: 4 modules, imported at net/model.py:2 and 2 more" in lines[0]
    assert '{ action = "extern", include = "numpy.**" }' in lines[1]
    assert "compiled distribution numpy " in lines[1]


def test_the_suggested_policy_makes_the_same_decisions(project: Project) -> None:
    first = plan_of(project, "auto", mock=True)
    policy = parse_policy(suggested_policy(first.plan(), of="net.model"))
    second = plan_of(project, policy)
    second.close()  # strict: no rule may be dead
    for question in ("interned_modules", "externed_modules", "mocked_modules"):
        assert getattr(second, question)() == getattr(first, question)()


def test_what_a_trace_did_not_use_gets_a_mock_first(project: Project) -> None:
    text = suggested_policy(
        plan_of(project, "auto").plan(), of="net.model", unused=["net.plots", "elsewhere"]
    )
    policy = parse_policy(text)
    assert next(str(rule) for rule in policy.rules) == "mock('net.plots')"
    assert "elsewhere" not in text
