"""Pickles beside stored code: modules that only they name are stored; those that others read are refused."""

from __future__ import annotations

import gzip
import io
import pickle
import shelve
from collections.abc import Callable, Mapping
from functools import partial
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


BAGS = {
    "till/__init__.py": "",
    "till/bags.py": "class Bag:\n    def __init__(self, held): self.held = held\n",
    "till/net.py": "import os, joblib, shelve\nHERE = os.path.dirname(__file__)\n"
    "def bag(name): return joblib.load(os.path.join(HERE, name))\n"
    "def shelf(name):\n    with shelve.open(os.path.join(HERE, name), 'r') as kept: return kept['a']\n",
}
IN_ARRAYS = {
    "till/__init__.py": "",
    "till/bags.py": BAGS["till/bags.py"],
    "till/net.py": "from pathlib import Path\nimport numpy as np\n"
    "def bag(name): return np.load(Path(__file__).parent / name, allow_pickle=True)\n"
    "def plain(name): return np.load(Path(__file__).parent / name)\n",
}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("bag.joblib", {}),
        ("bag.z", {}),
        ("model.sav", {"compress": 3}),
        ("model", {"compress": ("xz", 1), "protocol": 2}),
        ("model.jl.gz", {}),
        ("bag.lzma", {}),
        ("model.bin", {"compress": ("bz2", 3)}),
        ("old.joblib", {"protocol": 0}),
    ],
)
def test_modules_that_only_a_file_of_joblib_names_come_along_and_are_found(
    project: Project, name: str, how: Mapping[str, Any]
) -> None:
    folder = project(BAGS)
    bags = import_module("till.bags")
    joblib.dump({"a": bags.Bag(np.arange(3000.0)), "b": [bags.Bag(1)]}, folder / "till" / name, **how)
    (folder / "till" / "none.joblib").write_bytes(b"x\x9c no file of joblib")
    joblib.dump({"till.bags": np.ones(3), "text": "till.bags.Bag"}, folder / "till" / "plain.joblib")
    file = io.BytesIO()
    with exporter_of("till.net", file) as exporter:
        assert stored_of(exporter) == ["till", "till.bags", "till.net"]
        assert exporter.why("till.bags").uses == (f"pickle till/{name}",)
    with PackageImporter(file) as importer:
        found = importer.import_module("till.net").bag(name)
        Bag = importer.import_module("till.bags").Bag
        assert (type(found["a"]), type(found["b"][0])) == (Bag, Bag) != (bags.Bag, bags.Bag)
        assert np.array_equal(found["a"].held, np.arange(3000.0))


def test_modules_that_only_a_shelf_names_come_along_and_are_found(project: Project) -> None:
    folder = project(BAGS)
    with shelve.open(str(folder / "till" / "kept")) as kept:
        kept["a"] = import_module("till.bags").Bag("held")
    file = io.BytesIO()
    with exporter_of("till.net", file) as exporter:
        assert stored_of(exporter) == ["till", "till.bags", "till.net"]
    with PackageImporter(file) as importer:
        found = importer.import_module("till.net").shelf("kept")
        assert (type(found), found.held) == (importer.import_module("till.bags").Bag, "held")


@pytest.mark.long
def test_names_behind_many_megabytes_are_seen(project: Project) -> None:
    folder = project(BAGS)
    held = [b"\x8c" * (70 << 20), import_module("till.bags").Bag(1)]
    (folder / "till" / "w.pkl").write_bytes(pickle.dumps(held))
    assert stored_of(exporter_of("till.net", io.BytesIO())) == ["till", "till.bags", "till.net"]


def bags_in_arrays(folder: Path, name: str) -> None:
    held = np.array([import_module("till.bags").Bag(1), 2], object)
    path = folder / "till" / name
    np.save(path, held) if name.endswith("npy") else np.savez_compressed(path, a=np.ones(3), b=held)


@pytest.mark.parametrize("name", ["bag.npz", "bag.npy"])
def test_objects_in_arrays_that_numpy_looks_for_in_the_process_are_refused(
    project: Project, name: str
) -> None:
    folder = project(IN_ARRAYS)
    bags_in_arrays(folder, name)
    np.savez(folder / "till" / "plain.npz", a=np.array([1, "a"], object), b=np.ones(3))
    (problem,) = exporter_of("till.net", io.BytesIO()).plan().problems
    assert problem.reason == (
        "File holds pickled objects of stored modules, and is read by what looks for them elsewhere."
    )
    assert (problem.subject, problem.fix) == (f"till/{name}", f'exporter.exclude_data("till/{name}")')
    assert problem.context == (
        "it holds objects of till.bags, which numpy.load (till/net.py:3) looks for in the process, "
        "and not in the archive: write it with pickle.dump or joblib.dump, and read it with pickle.load or "
        "joblib.load; or keep the object with save_object. Where nothing that is loaded reads it, leave it "
        "out by name; where it is read otherwise, or the archive is loaded with install(), say so: "
        f'exporter.answer("till/{name}", "none")'
    )


@pytest.mark.parametrize("way", ["leave it out", "say so", "read it otherwise", "keep the object"])
def test_each_way_out_that_is_named_is_one(project: Project, way: str) -> None:
    tree = dict(IN_ARRAYS)
    if way == "read it otherwise":
        tree["till/net.py"] = (
            "from pathlib import Path\nimport joblib\nimport numpy as np\n"
            "def bag(name): return joblib.load(Path(__file__).parent / name)\n"
        )
    folder = project(tree)
    bag = import_module("till.bags").Bag(1)
    if way == "read it otherwise":
        joblib.dump(np.array([bag, 2], object), folder / "till" / "bag.npz")
    elif way != "keep the object":
        bags_in_arrays(folder, "bag.npz")
    file = io.BytesIO()
    with exporter_of("till.net", file) as exporter:
        if way == "leave it out":
            exporter.exclude_data("till/bag.npz")
        elif way == "say so":
            exporter.answer("till/bag.npz", "none")
        elif way == "keep the object":
            exporter.save_object("till", "bag", bag)
        assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())
    with PackageImporter(file) as importer:
        net = importer.import_module("till.net")
        Bag = importer.import_module("till.bags").Bag
        if way == "leave it out":
            with pytest.raises(FileNotFoundError, match=r"bag\.npz"):
                net.bag("bag.npz")
        elif way == "say so":
            assert type(net.bag("bag.npz")["b"][0]) is type(bag) is not Bag  # of the process, as was said
        else:
            way_back = partial(importer.load_object, "till", "bag")
            held = way_back() if way == "keep the object" else net.bag("bag.npz")[0]
            assert (type(held), held.held) == (Bag, 1)


def test_a_pickle_that_only_numpy_can_read_is_refused(project: Project) -> None:
    code = "import numpy\nfrom till import bags\ndef bag(name): return numpy.load(name, allow_pickle=True)\n"
    folder = project({**IN_ARRAYS, "till/net.py": code})
    (folder / "till" / "w.pkl").write_bytes(pickle.dumps(import_module("till.bags").Bag(1)))
    (problem,) = exporter_of("till.net", io.BytesIO()).plan().problems
    assert (problem.subject, "numpy.load (till/net.py:3)" in problem.context) == ("till/w.pkl", True)


@pytest.mark.parametrize(("head", "name"), [(b"\x04\x22\x4d\x18", "lz4"), (b"\x28\xb5\x2f\xfd", "zstd")])
def test_what_cannot_be_looked_through_is_told(project: Project, head: bytes, name: str) -> None:
    folder = project({**BAGS, "till/notes.lz4": "no pickle by its name"})
    (folder / "till" / "bag.joblib").write_bytes(head + b"and more")
    (warning,) = (one for one in exporter_of("till.net", io.BytesIO()).plan().warnings)
    assert warning == (
        f"till/bag.joblib is compressed by {name}, and was not looked through: a module that it alone names "
        "is stored where save_module asks for it, and a golden call that reads it shows before the file is "
        'written what is missing; exporter.answer("till/bag.joblib", "none") says that nothing is'
    )


@pytest.mark.parametrize("why", ["it cannot run", "it reads no objects", "an installed name"])
def test_objects_in_arrays_are_no_matter_where(project: Project, why: str) -> None:
    net = {
        "it cannot run": IN_ARRAYS["till/net.py"].replace("def bag", "VALUE = 3\ndef bag"),
        "it reads no objects": IN_ARRAYS["till/net.py"].replace("allow_pickle=True", "allow_pickle=False"),
        "an installed name": IN_ARRAYS["till/net.py"],
    }[why]
    folder = project({**IN_ARRAYS, "till/net.py": net, "till/use.py": "from till.net import VALUE\n"})
    if why == "an installed name":
        np.save(folder / "till" / "bag.npy", np.array([Path("a"), np.ones], object))
    else:
        bags_in_arrays(folder, "bag.npz")
    exporter = exporter_of("till.use" if why == "it cannot run" else "till.net", io.BytesIO())
    assert exporter.plan().problems == ()
