"""Libraries stand at the edge: nothing elsewhere names one, and without their folder the rest works."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

import pytest

from packager._libraries import HOMES
from tests import processes
from tests.architecture.rooms import PACKAGES, modules_of, room_of

# Rooms that are about a library by their nature, and tables of words that are read as they are, by the file:
# names that no archive may have, and what code of libraries does when it is imported (lazy modules).
ABOUT_LIBRARIES = {"_libraries", "_pretrained"}
TABLES = {
    "packager._calls.tables": "pandas",  # what a call is given, and no object that is stored
    "packager._cli.export_command": "transformers",  # whose folders are packed: pretrained/
    "packager._objects.naming": "scipy",  # where functions in C are looked for that say nothing of their home
    "packager._proving.differences": "sklearn",  # settings that the proof compares
}
NAMES = re.compile(rf"(?<![\w.])({'|'.join(HOMES)})(?![\w-])")


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield what code says in strings and imports; what is said of code is no part of it."""
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.lineno, node.module


def named(source: str) -> list[tuple[int, str]]:
    """Return the libraries that code names, with the line of each."""
    return [
        (line, found)
        for line, text in _texts(ast.parse(source))
        for found in sorted(set(NAMES.findall(text)))
    ]


def test_no_name_of_a_library_stands_outside_of_their_room() -> None:
    found = {}
    for module, path in modules_of("packager", PACKAGES["packager"]).items():
        if room_of(module) not in ABOUT_LIBRARIES:
            names = {name for _, name in named(path.read_text(encoding="utf-8"))}
            if names - set(TABLES.get(module, "").split()):
                found[module] = sorted(names)
    assert found == {}, "what is known of a library stands in packager/_libraries"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import sklearn.svm", ["sklearn"]),
        ("def f():\n    from pandas.core import frame", ["pandas"]),
        ("x = {'river.linear_model': 1}", ["river"]),
        ('"""Estimators of sklearn."""\nx = "a river"', ["river"]),
        ("x = 'xpandas', 'packager.polars', 'scipy-like'", []),
    ],
)
def test_a_name_of_a_library_is_seen(source: str, found: list[str]) -> None:
    assert [name for _, name in named(source)] == found


WITHOUT = """
import importlib.abc, io, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "packager._libraries":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
import numpy
import kellet
from kellet import nn
from packager import PackageExporter, PackageImporter

file = io.BytesIO()
with PackageExporter(file, policy="auto") as exporter:
    exporter.save_object("m", "data", {"a": [1, (2,)], "w": numpy.arange(3), "t": kellet.ones(2)})
    exporter.save_object("m", "net", nn.Linear(2, 1))
    exporter.save_state_dict("m", "state", nn.Linear(2, 1))
with PackageImporter(file) as importer:
    data = importer.load_object("m", "data")
    net = importer.load_object("m", "net")
    print(data["a"], data["w"].tolist(), data["t"].tolist(), tuple(net(kellet.ones(1, 2)).shape))
    print(sorted(importer.load_state_dict("m", "state")))
print([name for name in sys.modules if name.startswith("packager._libraries")])
"""


def test_without_the_folder_of_libraries_the_rest_works() -> None:
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT]
    out = processes.run(command, cold=True, capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["[1, (2,)] [0, 1, 2] [1.0, 1.0] (1, 1)", "['bias', 'weight']", "[]"]
