"""Files that code runs by their paths go along, and what they import is asked about by name."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter

Project = Callable[[Mapping[str, str]], Path]

PLUG = """
import importlib.util, os, runpy
FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "filters")
def discover():
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".py"):
            path = os.path.join(FOLDER, name)
            found[name] = %s
    return found
"""
LOOKS = {
    "spec": "load(importlib.util.spec_from_file_location('filters_' + name[:-3], path))['run']",
    "runpy": "runpy.run_path(path)['run']",
}
LOAD = """
def load(spec):
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)
"""


def tree(look: str, files: Mapping[str, str]) -> dict[str, str]:
    return {
        "host/__init__.py": "",
        "host/helper.py": "def halve(x): return x / 2\n",
        "host/plug.py": PLUG % LOOKS[look] + LOAD,
        "aside.py": "def turn(x): return -x\n",
        **{f"filters/{name}": text for name, text in files.items()},
    }


def exported(exporter: PackageExporter, buffer: io.BytesIO, root: Path) -> dict[str, float]:
    """Close the exporter, take the project away, and return what the plugins give where they are loaded."""
    exporter.close()
    for path in sorted(root.rglob("*.py")):
        path.unlink()
    with PackageImporter(buffer) as importer:
        return {name: run(4) for name, run in importer.import_module("host.plug").discover().items()}


@pytest.mark.parametrize("look", ["spec", "runpy"])
def test_files_that_import_nothing_but_what_is_in_are_no_question(project: Project, look: str) -> None:
    files = {
        "blur.py": "import math\nfrom host.helper import halve\ndef run(x): return math.floor(halve(x))\n",
        "edge.py": "def run(x): return x - 1\n",
    }
    root = project(tree(look, files))
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("host.plug")
    exporter.save_module("host.helper")
    assert exporter.plan().questions == ()
    assert exported(exporter, buffer, root) == {"blur.py": 2, "edge.py": 3}


@pytest.mark.parametrize("look", ["spec", "runpy"])
def test_what_such_files_import_is_asked_about_and_pasting_the_answer_mends_it(
    project: Project, look: str
) -> None:
    files = {
        "blur.py": "from host import helper\ndef run(x): return helper.halve(x)\n",
        "edge.py": "def run(x):\n    import aside\n    return aside.turn(x)\n",
    }
    root = project(tree(look, files))
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("host.plug")
    [question] = exporter.plan().questions
    assert [one.name for one in question.candidates] == ["aside", "host.helper"]
    _, _, paste = exporter.plan().concerns().strip().rpartition("To paste: ")
    assert paste == f'exporter.answer("{question.id}", ["aside", "host.helper"])'
    exec(paste)
    assert exporter.plan().questions == ()
    assert exported(exporter, buffer, root) == {"blur.py": 2, "edge.py": -4}


@pytest.mark.parametrize(
    "text", ["from . import other\n", "from .other import run\n", "def run(x: return\n"], ids=repr
)
def test_files_whose_imports_cannot_be_told_stay_a_question(project: Project, text: str) -> None:
    project(tree("spec", {"blur.py": text}))
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("host.plug")
    [question] = exporter.plan().questions
    assert (question.function, question.candidates) == ("discover", ())


def test_a_module_that_runs_files_in_two_places_is_asked_of_both(project: Project) -> None:
    other = "def one(path): return load(importlib.util.spec_from_file_location('one', path))\n"
    files = tree("spec", {"blur.py": "def run(x): return x\n"})
    project({**files, "host/plug.py": files["host/plug.py"] + other})
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("host.plug")
    assert sorted(one.function for one in exporter.plan().questions) == ["discover", "one"]


GLOBBED = """
import importlib.util
from pathlib import Path
FOLDER = Path(__file__).parent{folder}
def discover():
    found = {{}}
    for path in sorted(FOLDER.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"plug_{{path.stem}}", path)
        found[path.name] = load(spec)
    return {{name: one["run"] for name, one in found.items() if "run" in one}}
"""


@pytest.mark.parametrize(
    ("folder", "plugin"),
    [
        (' / "plugins"', "host/plugins/blur.py"),
        ("; FOLDER = Path(__file__).with_name('plugins')", "host/plugins/blur.py"),
        ("; FOLDER = Path(str(FOLDER) + '/plugins')", "host/plugins/blur.py"),
        ("; FOLDER = Path(f'{FOLDER}/plugins')", "host/plugins/blur.py"),
        ('.parent / "plugins"', "plugins/blur.py"),
        (".parent", "blur.py"),
    ],
)
def test_a_pattern_stores_the_files_of_the_folder_that_it_is_looked_for_in(
    project: Project, folder: str, plugin: str
) -> None:
    """Scripts beside the package are none of its plugins, unless it looks there."""
    files = {
        "host/__init__.py": "",
        "host/plug.py": GLOBBED.format(folder=folder) + LOAD,
        "train.py": "import colorsys\nSECRET = 1\n",
        plugin: "def run(x): return x + 1\n",
    }
    root = project(files)
    buffer = io.BytesIO()
    exporter = PackageExporter(buffer, policy="auto", prove=False)
    exporter.save_module("host.plug")
    stored = {entry.name for entry in exporter.plan().data_files}
    assert stored == ({plugin} if "/" in plugin else {plugin, "train.py"})
    assert exported(exporter, buffer, root) == {"blur.py": 5}
