"""What hosts of repositories read: workflows without a logic of their own, and one version everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def lines_of(workflow: Path, key: str) -> list[str]:
    return re.findall(rf"^ *(?:- )?{key}: (.+)$", workflow.read_text(encoding="utf-8"), re.M)


def test_there_are_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["check.yml", "release.yml"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_and_says_its_version(workflow: Path) -> None:
    uses = lines_of(workflow, "uses")
    assert uses
    assert [one for one in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_is_a_rule_of_the_makefile(workflow: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    runs = [one for one in lines_of(workflow, "run") if not one.startswith("mkdir dist && mv ")]
    rules = [re.match(r"make ([a-z-]+)", one) for one in runs]
    assert rules
    assert [one for one in rules if not one or f"\n{one[1]}:" not in makefile] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_no_more(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    assert re.search(r"^permissions:\n  contents: read\n\n", text, re.M)
    assert "secrets." not in text


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
