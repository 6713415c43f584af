"""The line of a notebook: there while an export is proved, empty when it is over, nowhere else."""

from __future__ import annotations

import io
import json
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from packager import PackageExporter
from packager import _notebook_line as notebook_line
from tests import processes
from tests.flows.test_notebooks import RUN

NET = "class Net:\n    def __call__(self, x):\n        return x + 1\n"
EXPORT = """
from packager import PackageExporter
with PackageExporter("out.kellet", policy="auto") as exporter:
    exporter.save_object("model", "model", model, example=1)
"""


class Handle:
    def __init__(self, shown: list[str], first: str) -> None:
        self.shown = shown
        shown.append(first)

    def update(self, content, raw):
        self.shown.append(content["text/plain"])


def ipython(shown: list[str], **shell: object) -> SimpleNamespace:
    def display(content, raw, display_id):
        return Handle(shown, content["text/plain"])

    return SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(**shell), display=SimpleNamespace(display=display)
    )


@pytest.fixture
def export(project):
    """Save and prove an object of a class of the project."""
    project({"linenet.py": NET})

    def write(progress=None):
        with PackageExporter(io.BytesIO(), policy="auto") as exporter:
            exporter.progress = progress
            exporter.save_object("model", "model", import_module("linenet").Net(), example=1)

    return write


def test_a_kernel_shows_one_line_that_is_empty_at_the_end(export, monkeypatch):
    shown: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", ipython(shown, kernel=object()))
    monkeypatch.setattr(notebook_line, "_INTERVAL", 0.0)
    export()
    assert shown[0] == "opening it in a clean process (0 of 2)"
    assert shown[-1] == ""


def test_a_terminal_and_a_program_show_nothing(export, monkeypatch, capsys):
    shown: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", ipython(shown))
    export()
    monkeypatch.delitem(sys.modules, "IPython")
    export()
    assert shown == []
    assert capsys.readouterr() == ("", "")


def test_progress_of_ones_own_comes_first(export, monkeypatch):
    shown: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", ipython(shown, kernel=object()))
    told: list[str] = []
    export(lambda step, done, total: told.append(step))
    assert "proving" in told
    assert shown == []


@pytest.mark.long
def test_a_real_kernel_leaves_an_empty_output_and_no_text(tmp_path):
    cells = [f"{NET}model = Net()", EXPORT]
    tell = "import os\nopen('told', 'w').write(json.dumps([dict(one) for one in notebook.cells[1].outputs]))"
    command = [sys.executable, "-c", RUN + tell, json.dumps(cells), "[0, 1]"]
    processes.run(command, cwd=tmp_path, check=True)
    [output] = json.loads((tmp_path / "told").read_text("utf-8"))
    assert (output["output_type"], output["data"]) == ("display_data", {"text/plain": ""})
