"""Classes that functions make, and whose module is given by its text, are told with what to write instead."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter
from tests import processes

Project = Callable[[Mapping[str, str]], Path]

HEAD = "import collections, enum\nfrom dataclasses import make_dataclass\nHERE = 'reef.made'\n"


def warnings_of(project: Project, body: str) -> list[str]:
    project({"reef/__init__.py": "", "reef/made.py": HEAD + body, "reef/other.py": "from . import made\n"})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("reef.other")
    exporter.save_module("reef.made")
    return list(exporter.plan().warnings)


@pytest.mark.parametrize(
    ("body", "line", "named", "mend"),
    [
        (
            "def a(): return collections.namedtuple('Row', 'x', module='reef.made')",
            4,
            "reef.made",
            "__name__",
        ),
        ("def b():\n    return enum.Enum('K', 'A B', module=HERE)", 5, "reef.made", "__name__"),
        (
            "class C:\n    def d(self):\n        return make_dataclass('D', ['x'], module='reef.other')",
            6,
            "reef.other",
            "the __name__ of reef.other",
        ),
        ("async def e():\n    return type('E', (), {'__module__': 'reef.made'})", 5, "reef.made", "__name__"),
        (
            "def f():\n    class F:\n        __module__ = 'reef'\n    return F",
            6,
            "reef",
            "the __name__ of reef",
        ),
    ],
)
def test_the_line_and_what_to_give_instead_are_told(
    project: Project, body: str, line: int, named: str, mend: str
) -> None:
    [told] = warnings_of(project, body)
    assert told == (
        f"reef/made.py:{line} says that a class which a function makes is of {named!r}: in an archive that "
        "module has another name, and a class made once it is imported is not found there, so its "
        f"instances cannot be pickled; give {mend}"
    )


@pytest.mark.parametrize(
    "body",
    [
        "Row = collections.namedtuple('Row', 'x', module='reef.made')",  # named once imported
        "def a(): return collections.namedtuple('Row', 'x', module=__name__)",
        "def b(): return collections.namedtuple('Row', 'x', module='elsewhere')",
        "def c(): return dict(module='reef.made')",
        "def d(cls):\n    cls.__module__ = 'reef.made'\n    return cls",
    ],
)
def test_nothing_is_told_of_what_is_found(project: Project, body: str) -> None:
    assert warnings_of(project, body) == []


def test_what_is_given_instead_can_be_pickled_in_a_fresh_process(project: Project, tmp_path: Path) -> None:
    body = """
import pickle
def kind(module):
    global Row
    Row = collections.namedtuple("Row", "x y", module=module)
    return pickle.loads(pickle.dumps(Row(1, 2)))
"""
    project({"reefkind.py": HEAD + body})
    with PackageExporter(tmp_path / "kind.kellet", policy="auto", prove=False) as exporter:
        exporter.save_module("reefkind")
    script = """
import sys
from packager import PackageImporter
with PackageImporter("kind.kellet") as importer:
    kind = importer.import_module("reefkind").kind
    print(kind(kind.__module__))
    try:
        kind("reefkind")
    except Exception as error:
        print(type(error).__name__)
"""
    done = processes.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("Row(x=1, y=2)\nPicklingError\n", "")
