"""A suggested policy decides as the plan did, and says why on every line."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
from packager._drafting import suggested_policy
from packager._policy import Policy, parse_policy

Project = Callable[[Mapping[str, str]], Path]

TREE = {
    "net/__init__.py": "",
    "net/model.py": "import numpy\nfrom . import layers, plots\n",
    "net/layers.py": "import numpy.linalg\nimport json\n",
    "net/plots.py": "",
}


def plan_of(project: Project, policy: object, *, mock: bool = False) -> PackageExporter:
    project(TREE)
    exporter = PackageExporter(io.BytesIO(), policy=policy, prove=False)  # type: ignore[arg-type]  # a name or a Policy
    if mock:
        exporter.mock("net.plots")
    exporter.save_module("net.model")
    return exporter


def test_every_line_has_its_reason(project: Project) -> None:
    text = suggested_policy(plan_of(project, "auto").plan(), of="net.model")
    assert text.startswith(
        "# The packages that net.model needs, one rule each. The first rule that matches decides.\n"
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


@pytest.mark.filterwarnings("ignore::packager.errors.PackagingWarning")
def test_a_policy_suggested_where_an_optional_module_is_absent_can_be_used(project: Project) -> None:
    project({"net.py": "def late():\n    import nowhere_to_be_found\n"})
    first = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    first.save_module("net")
    second = PackageExporter(
        io.BytesIO(), policy=parse_policy(suggested_policy(first.plan(), of="net")), prove=False
    )
    second.save_module("net")
    second.close()
    assert second.interned_modules() == ["net"]
    assert second.plan().warnings == first.plan().warnings != ()


def test_what_a_policy_leaves_out_and_allows_is_suggested_again(project: Project) -> None:
    project({**TREE, "net/words.txt": "", "net/model.py": "WIDTH = 1\n"})
    policy = Policy("auto", exclude_data=["net/*.txt"], variables=["NET_WIDTH"])
    first = plan_of_model(policy)
    text = suggested_policy(first.plan(), of="net.model", like=policy)
    again = parse_policy(text)
    assert '    "net/*.txt",  # left out as asked\n' in text
    assert '    "NET_WIDTH",  # as allowed\n' in text
    assert (again.preset, again.exclude_data.include) == ("strict", ("net/*.txt",))
    assert again.variables == ("NET_WIDTH",)
    second = plan_of_model(again)
    assert second.interned_modules() == first.interned_modules() == ["net", "net.model"]
    assert [entry.name for entry in second.plan().entries if entry.kind == "resource"] == []


def plan_of_model(policy: Policy) -> PackageExporter:
    exporter = PackageExporter(io.BytesIO(), policy=policy, prove=False)
    exporter.save_module("net.model")
    return exporter
