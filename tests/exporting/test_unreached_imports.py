"""Computed imports that no run came to are of the project, unless a distribution brings their module."""

from __future__ import annotations

import io

from packager import PackageExporter


def test_a_source_that_is_given_as_text_counts_as_the_projects() -> None:
    with PackageExporter(io.BytesIO(), policy="auto") as exporter:
        exporter.save_source_string("parts", "import importlib\nimportlib.import_module('js' + 'on')\n")
    plan = exporter.plan()
    assert [(one.file, one.line) for one in plan.unreached] == [("parts.py", 2)]
    assert plan.library_unreached == ()
