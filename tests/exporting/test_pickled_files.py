"""Pickles beside stored code: the modules that only they name are stored, or joblib is warned of."""

from __future__ import annotations

import gzip
import io
import pickle
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from packager import PackageExporter, PackageImporter

Project = Callable[[Mapping[str, str]], Path]
LOUD = """
class Loud:
    def __init__(self, text): self.text = text
    def said(self):
        import lex.ends
        return self.text.upper() + lex.ends.END
"""
READER = """
import gzip, os, pickle
HERE = os.path.dirname(__file__)
def word(name):
    with (gzip.open if name.endswith("gz") else open)(os.path.join(HERE, name), "rb") as file:
        return pickle.load(file)["a"].said()
"""
LEX = {
    "lex/__init__.py": "",
    "lex/reader.py": READER,
    "lex/kinds/__init__.py": "",
    "lex/kinds/loud.py": LOUD,
    "lex/ends.py": "END = '!'\n",
    "lex/unnamed.py": "",
    "lex/plain.dat": "\nclex.unnamed\nSome lines, and no pickle",
}


def exporter_of(module: str, file: io.BytesIO) -> PackageExporter:
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_module(module)
    return exporter


def stored_of(exporter: PackageExporter) -> list[str]:
    return sorted(one.name for one in exporter.plan().modules if one.action == "intern")


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("words.pkl", 5), ("words.p", 4), ("fr.DAT", 2), ("words.pickle", 0), ("w.pkl.gz", 3)],
)
def test_modules_that_only_a_pickle_names_come_along_where_code_reads_pickles(
    project: Project, name: str, protocol: int
) -> None:
    """What the methods of its classes import, too; no others, and nothing for a file that is no pickle."""
    folder = project(LEX)
    loud = import_module("lex.kinds.loud").Loud("oui")
    data = pickle.dumps({"a": loud, "lex.unnamed": "Text"}, protocol)
    (folder / "lex" / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    file = io.BytesIO()
    with exporter_of("lex.reader", file) as exporter:
        assert stored_of(exporter) == ["lex", "lex.ends", "lex.kinds", "lex.kinds.loud", "lex.reader"]
        assert exporter.why("lex.kinds.loud").uses == (f"pickle lex/{name}",)
    again = io.BytesIO()
    with PackageImporter(file) as importer:
        assert importer.import_module("lex.reader").word(name) == "OUI!"
        with PackageExporter(again, policy="auto", importer=importer, prove=False) as exporter:
            exporter.save_module("lex.reader")
    with PackageImporter(again) as importer:
        assert importer.import_module("lex.reader").word(name) == "OUI!"


def test_a_pickle_that_code_of_no_package_names_brings_the_modules_that_it_names(project: Project) -> None:
    folder = project({"reader.py": READER + "PATH = HERE + '/w.pkl'\n", "calm.py": "class Calm: pass\n"})
    (folder / "w.pkl").write_bytes(pickle.dumps(import_module("calm").Calm()))
    assert stored_of(exporter_of("reader", io.BytesIO())) == ["calm", "reader"]


@pytest.mark.parametrize("why", ["no code reads pickles", "a rule leaves the module to the target"])
def test_a_pickle_brings_nothing_where(project: Project, why: str) -> None:
    reads = why != "no code reads pickles"
    folder = project({"lex/__init__.py": "import pickle\n" if reads else "import os\n", "lex/loud.py": LOUD})
    (folder / "lex" / "w.pkl").write_bytes(pickle.dumps(import_module("lex.loud").Loud("oui")))
    exporter = exporter_of("lex", io.BytesIO())
    if reads:
        exporter.extern("lex.loud", allow_empty=True)
    assert stored_of(exporter) == ["lex"]


@pytest.mark.parametrize("how", [{}, {"compress": 3}, {"compress": "gzip"}, {"protocol": 2}])
def test_a_file_of_joblib_that_holds_packaged_objects_is_warned_of(
    project: Project, how: Mapping[str, Any]
) -> None:
    folder = project(
        {
            "till/__init__.py": "",
            "till/bags.py": "class Bag:\n    def __init__(self, held): self.held = held\n",
            "till/net.py": "import os, joblib\nfrom till import bags\nHERE = os.path.dirname(__file__)\n"
            "def bag(): return joblib.load(os.path.join(HERE, 'bag.joblib'))\n",
        }
    )
    bags = import_module("till.bags")
    joblib.dump({"a": bags.Bag(np.arange(3000.0)), "b": [bags.Bag(1)]}, folder / "till" / "bag.joblib", **how)
    joblib.dump({"till.bags": np.ones(3), "text": "till.bags.Bag"}, folder / "till" / "plain.joblib", **how)
    (folder / "till" / "none.joblib").write_bytes(b"x\x9c no file of joblib")
    (warning,) = (
        one for one in exporter_of("till.net", io.BytesIO()).plan().warnings if "joblib looks for" in one
    )
    assert warning == (
        "till/bag.joblib holds objects of till.bags, which joblib looks for in the process, and not in the "
        "archive: keep the object with save_object, or load the archive with install()"
    )
