"""Why a module is in, who imports it, and by which paths: usable while the exporter is open."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter

Project = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def exporter(project: Project) -> PackageExporter:
    project(
        {
            "app.py": "import left\nimport right\n",
            "left.py": "\nimport bottom\n",
            "right.py": "import bottom\n",
            "bottom.py": "import json\n",
        }
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    return exporter


def test_why_gives_the_decision_the_chain_and_all_importers(exporter: PackageExporter) -> None:
    why = exporter.why("bottom")
    assert why.decision.rule == "preset auto"
    assert [(edge.target, edge.file, edge.line) for edge in why.chain] == [
        ("app", "", 0),
        ("left", "app.py", 1),
        ("bottom", "left.py", 2),
    ]
    assert [edge.importer for edge in why.importers] == ["left", "right"]
    assert str(why) == (
        "bottom: intern by preset auto (project code)\n"
        "    app (asked for)\n"
        "    left (app.py:1)\n"
        "    bottom (left.py:2)\n"
        "  also imported at:\n"
        "    right.py:1 (top)"
    )


def test_why_of_a_module_that_is_not_in_is_a_key_error(exporter: PackageExporter) -> None:
    with pytest.raises(
        KeyError, match="module 'csv' is not in the plan: nothing that was asked for imports it"
    ):
        exporter.why("csv")


def test_why_of_a_module_in_a_branch_that_is_not_taken_says_so(exporter: PackageExporter) -> None:
    exporter.save_source_string(
        "m", "try:\n    import absent_one\nexcept ImportError:\n    absent_one = None\n"
    )
    with pytest.raises(KeyError, match=r"is not in .* imports it, or only in a branch that is not taken"):
        exporter.why("absent_one")


def test_why_tells_which_object_needs_a_module(project: Project) -> None:
    project({"shapes.py": "class Square:\n    pass\n"})
    import shapes  # type: ignore[import-not-found]  # written above

    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "model", [shapes.Square()])
    assert any(use.startswith("object model/model, at model[0]") for use in exporter.why("shapes").uses)


def test_rdeps_are_the_direct_importers(exporter: PackageExporter) -> None:
    assert exporter.get_rdeps("bottom") == ["left", "right"]
    assert exporter.get_rdeps("nowhere") == []


def test_paths_and_the_whole_graph_are_dot(exporter: PackageExporter) -> None:
    paths = exporter.all_paths("app", "bottom")
    for edge in ('"app" -> "left"', '"app" -> "right"', '"left" -> "bottom"', '"right" -> "bottom"'):
        assert edge in paths
    assert '"json"' not in paths
    assert '"bottom" -> "json"' in exporter.dependency_graph_string()


def test_lists_of_modules_are_sorted(exporter: PackageExporter) -> None:
    assert exporter.interned_modules() == ["app", "bottom", "left", "right"]
    assert exporter.externed_modules() == ["json"]
    assert exporter.mocked_modules() == exporter.denied_modules() == []


def test_questions_can_be_asked_after_the_end(exporter: PackageExporter) -> None:
    exporter.close()
    assert exporter.interned_modules() == ["app", "bottom", "left", "right"]
    assert exporter.why("json").chain[-1].file == "bottom.py"
