"""What `fixtures.real_packages.observed` finds of a small project, and what it calls worse than before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.real_packages.observed import Outcome, observe, without
from fixtures.real_packages.projects import Place, ProcessFailed, Project, required_externs, site_with

PROJECT = Project(
    "probing",
    "One library is needed, one is used where it is there, and one module is imported by no call.",
    {
        "train.py": "from probing import Probing\n\nmodel = Probing()\n",
        "probing/__init__.py": """
import numpy

try:
    import networkx
except ImportError:
    networkx = None

class Probing:
    def __call__(self, value):
        return [float(numpy.sqrt(value)), networkx is not None]

    def other(self):
        from . import never
""",
        "probing/never.py": "",
    },
    "(4.0,)",
    [2.0, True],
)


@pytest.mark.processes(share=2)
@pytest.mark.parametrize(
    ("answers", "required"),
    [("True", ("numpy",)), ("networkx is not None", ("networkx", "numpy"))],
)
def test_modules_and_externs_of_a_project_are_found(
    tmp_path: Path, answers: str, required: tuple[str, ...]
) -> None:
    name = "probing/__init__.py"
    files = {**PROJECT.files, name: PROJECT.files[name].replace("networkx is not None", answers)}
    assert observe(replace(PROJECT, files=files), tmp_path) == Outcome(
        "probing",
        planned=("probing", "probing.never"),
        stored=("probing", "probing.never"),
        observed=("probing",),
        required=required,
    )


def test_what_is_hidden_is_absent_for_stored_code(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.export(PROJECT)
    everything = required_externs(place.file, optional=True)
    assert sorted(everything) == ["networkx", "numpy"]
    site = site_with(everything.values(), tmp_path / "site")
    assert place.load(PROJECT.load, site) == [[2.0, True], True, ["probing"]]
    assert place.load(without("networkx", PROJECT.load), site) == [[2.0, False], False, ["probing"]]
    with pytest.raises(ProcessFailed, match="No module named 'hidden_numpy'"):
        place.load(without("numpy", PROJECT.load), site)


def test_a_site_has_the_named_distributions_and_nothing_else(tmp_path: Path) -> None:
    site = site_with(["networkx"], tmp_path / "site")
    program = """
from importlib.util import find_spec
names = "kellet packager numpy networkx scipy sklearn pytest".split()
print("ANSWER " + str([find_spec(name) is not None for name in names]).lower())
"""
    assert Place(tmp_path).load(program, site) == [True, True, True, True, False, False, False]


BEFORE = Outcome("net", "", ("a", "b"), ("a", "b"), ("a", "b"), ("numpy",))


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (BEFORE, []),
        (replace(BEFORE, planned=("a",)), ["net: more modules are observed and not in plan A"]),
        (replace(BEFORE, stored=("a", "b", "c")), ["net: 3 modules stored, 2 before"]),
        (replace(BEFORE, trouble="gives 1"), ["net: gives 1"]),
        (replace(BEFORE, required=("numpy", "scipy")), []),
        (
            replace(BEFORE, required=("numpy", "scipy"), unneeded=("scipy",)),
            ["net: required, though neither needed nor required before: scipy"],
        ),
        (replace(BEFORE, required=()), []),
    ],
)
def test_what_got_worse_is_told(after: Outcome, told: list[str]) -> None:
    assert list(after.worse_than(BEFORE)) == told


def test_observed_modules_that_a_plan_lacks_are_counted_and_named() -> None:
    outcome = replace(BEFORE, planned=("a",), observed=("a", "b", "c"))
    assert outcome.row() == "| net | 1 | 2 | 3 | 1 | 2 | 0 | numpy | - |"
    assert list(outcome.details()) == [
        "net: observed and not in plan B: c",
        "net: observed and not in plan A: b, c",
    ]
