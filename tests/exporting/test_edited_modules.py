"""A module that was edited after it was imported: what is stored would not be what made the object."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
from packager._exporting import ExportPlan

Project = Callable[[Mapping[str, str]], Path]

LOOM = """\
import functools
LIMIT = 3
def scale(x): return x * 2
def never(x): return x
class Loom:
    def __call__(self, x): return scale(x) + self.width + self.made()
    @property
    def width(self): return 1
    @classmethod
    def made(cls): return 0
    @functools.cache
    def kept(self): return [n for n in range(LIMIT)]
"""


def plan_after(project: Project, old: str, new: str, *, reload: bool = False) -> ExportPlan:
    """Return the plan of an object whose module was edited, from `old` to `new`, after it was imported."""
    folder = project({"loom.py": LOOM})
    module = importlib.import_module("loom")
    assert old in LOOM
    (folder / "loom.py").write_text(LOOM.replace(old, new))
    if reload:
        importlib.invalidate_caches()
        exec(compile((folder / "loom.py").read_text(), module.__file__ or "", "exec"), vars(module))
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "loom", module.Loom())
    return exporter.plan()


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("x * 2", "x * 3", "loom.py:3: scale "),
        ("+ self.width", "- self.width", "loom.py:6: Loom.__call__ "),
        ("return 1", "return 2", "loom.py:7: Loom.width "),
        ("return 0", "return -1", "loom.py:9: Loom.made "),
    ],
)
def test_a_function_that_has_other_code_in_memory_is_a_problem(
    project: Project, old: str, new: str, place: str
) -> None:
    (problem,) = plan_after(project, old, new).problems
    assert (problem.reason, problem.subject) == ("File of a module was edited after it was imported.", "loom")
    assert str(problem.context).startswith(place + "has other code in memory than in its file")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def scale(x): return x * 2", "def scale(x):\n    # a comment\n    return x * 2"),
        ("LIMIT = 3\n", "LIMIT = 3\ndef added(): return 1\n"),
    ],
)
def test_what_changes_no_code_is_none(project: Project, old: str, new: str) -> None:
    assert plan_after(project, old, new).problems == ()


def test_what_was_loaded_again_since_is_none(project: Project) -> None:
    assert plan_after(project, "x * 2", "x * 3", reload=True).problems == ()


def test_a_function_that_something_else_put_there_is_none(project: Project) -> None:
    folder = project({"loom.py": LOOM, "other.py": "def scale(x): return x * 9\n"})
    loom = importlib.import_module("loom")
    loom.scale = importlib.import_module("other").scale
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_object("model", "loom", loom.Loom())
    assert exporter.plan().problems == ()
    assert (folder / "loom.py").read_text() == LOOM
