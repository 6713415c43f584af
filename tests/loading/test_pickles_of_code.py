"""Pickles that packaged code reads: they name its own classes as the author wrote them."""

from __future__ import annotations

import io
import pickle
import shelve
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest

READ = {
    "load": "return pickle.load(io.BytesIO(data))",
    "loads": "return pickle.loads(data)",
    "the class": "return pickle.Unpickler(io.BytesIO(data)).load()",
    "the class in Python": "return pickle._Unpickler(io.BytesIO(data)).load()",
    "a class of its own": "return Own(io.BytesIO(data)).load()",
    "names that were imported": "return loads(data)",
}
CODE = """
import io, pickle
from pickle import loads
class Words:
    def __init__(self, words): self.words = words
class Own(pickle.Unpickler):
    def persistent_load(self, pid): return pid
def write(value): return pickle.dumps(value)
def read(data):
    {}
"""
Pack = Callable[[dict[str, str]], Any]
OF_AUTHOR = b"\x80\x02cvocpkg\nWords\n)\x81}X\x05\x00\x00\x00wordsK\x03sb."
"""What the author's process has written: `vocpkg.Words` with `words = 3`."""


@pytest.mark.parametrize("how", READ.values(), ids=READ.keys())
def test_classes_are_those_of_the_archive(pack: Pack, how: str) -> None:
    module = pack({"vocpkg/__init__.py": CODE.format(how)}).module("vocpkg")
    found = module.read(OF_AUTHOR)
    assert (type(found), found.words) == (module.Words, 3)
    again = module.read(module.write(module.Words([1])))
    assert (type(again), again.words) == (module.Words, [1])
    assert module.read(pickle.dumps(Path("a"))) == Path("a")


def test_what_is_not_in_the_archive_is_named_as_its_author_wrote_it(pack: Pack) -> None:
    module = pack({"vocpkg/__init__.py": CODE.format(READ["load"])}).module("vocpkg")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'vocpkg\.gone'$"):
        module.read(OF_AUTHOR.replace(b"vocpkg", b"vocpkg.gone"))


def test_the_process_reads_its_own_pickles_as_before(pack: Pack) -> None:
    pack({"vocpkg/__init__.py": CODE.format(READ["load"])}).module("vocpkg")
    with pytest.raises(ModuleNotFoundError, match="No module named 'vocpkg'"):
        pickle.load(io.BytesIO(OF_AUTHOR))


BAG = """
class Bag:
    def __init__(self, held): self.held = held
"""
READ_BY_JOBLIB = {
    "the module": "import joblib\ndef read(path): return joblib.load(path)",
    "a shorter name": "import joblib as jl\ndef read(path): return jl.load(str(path))",
    "the function": "from joblib import load\ndef read(path): return load(path)",
    "in a function": "def read(path):\n    from joblib import load as again\n    return again(path)",
    "where it is defined": "import joblib.numpy_pickle as p\ndef read(path): return p.load(path)",
    "its class": "from joblib.numpy_pickle import NumpyUnpickler\n"
    "def read(path):\n    with open(path, 'rb') as file:\n"
    "        return NumpyUnpickler(str(path), file, ensure_native_byte_order=True).load()",
    "an open file": "import joblib\n"
    "def read(path):\n    with open(path, 'rb') as file: return joblib.load(file)",
    "by name": "import importlib\ndef read(path): return importlib.import_module('joblib').load(path)",
    "mapped": "import joblib\ndef read(path): return joblib.load(path, mmap_mode='r')",
    "a class of its own": "from joblib import numpy_pickle\nclass Own(numpy_pickle.NumpyUnpickler): pass\n"
    "def read(path):\n    with open(path, 'rb') as file: return Own(str(path), file, True).load()",
}
DUMPED = [
    ("bag.joblib", {}),
    ("bag.joblib.gz", {"compress": ("gzip", 3)}),
    ("bag.z", {}),
    ("bag.pkl", {"compress": 3}),
    ("bag.jl", {"compress": ("lzma", 1)}),
    ("bag.sav", {"compress": ("bz2", 1), "protocol": 2}),
]


def of_author(monkeypatch: pytest.MonkeyPatch, write: Callable[[Any], None]) -> None:
    """Write objects of `bagpkg.bags` as its author's process does, in which the package can be imported."""
    bags = ModuleType("bagpkg.bags")
    exec(BAG, vars(bags))
    with monkeypatch.context() as here:
        here.setitem(sys.modules, "bagpkg", ModuleType("bagpkg"))
        here.setitem(sys.modules, "bagpkg.bags", bags)
        write([bags.Bag(np.arange(40.0)), bags.Bag("b"), np.arange(3), {"bags": bags.Bag}])


def same_as_of_author(found: Any, bags: Any) -> bool:
    first, second, plain, names = found
    return (type(first), type(second), names) == (bags.Bag, bags.Bag, {"bags": bags.Bag}) and (
        first.held.tolist(),
        second.held,
        plain.tolist(),
    ) == (list(range(40)), "b", [0, 1, 2])


@pytest.mark.parametrize("code", READ_BY_JOBLIB.values(), ids=READ_BY_JOBLIB.keys())
def test_joblib_finds_the_classes_of_the_archive(
    pack: Pack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str
) -> None:
    tree = {"bagpkg/__init__.py": "", "bagpkg/bags.py": BAG, "bagpkg/reader.py": code}
    loaded = pack(tree, externs=["joblib"])
    is_plain = "mmap" in code or "NumpyUnpickler" in code  # neither takes what is compressed
    for name, how in DUMPED[:1] if is_plain else DUMPED:
        path = tmp_path / name
        of_author(monkeypatch, lambda held, path=path, how=how: joblib.dump(held, path, **how))
        assert same_as_of_author(loaded.module("bagpkg.reader").read(path), loaded.module("bagpkg.bags"))


def test_cloudpickle_and_shelve_find_the_classes_of_the_archive(
    pack: Pack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write(held: Any) -> None:
        (tmp_path / "bags.cpkl").write_bytes(cloudpickle.dumps(held))
        with shelve.open(str(tmp_path / "bags")) as shelf:
            shelf["held"] = held

    of_author(monkeypatch, write)
    code = """
        import cloudpickle, cloudpickle.cloudpickle, shelve
        from shelve import open as opened
        def loads(path): return cloudpickle.loads(path.read_bytes())
        def load(path):
            with path.open("rb") as file: return cloudpickle.cloudpickle.load(file)
        def shelf(path):
            with shelve.open(str(path)) as file: return file["held"]
        def shelf_again(path):
            with opened(str(path), "r") as file: return dict(file)["held"]
        def of_pickle():
            kept = {}
            with shelve.Shelf(kept) as file: file["a"] = 3
            return isinstance(file, shelve.Shelf), kept
    """
    loaded = pack(
        {"bagpkg/__init__.py": "", "bagpkg/bags.py": BAG, "bagpkg/reader.py": textwrap.dedent(code)},
        externs=["cloudpickle"],
    )
    reader, bags = loaded.module("bagpkg.reader"), loaded.module("bagpkg.bags")
    assert same_as_of_author(reader.loads(tmp_path / "bags.cpkl"), bags)
    assert same_as_of_author(reader.load(tmp_path / "bags.cpkl"), bags)
    assert same_as_of_author(reader.shelf(tmp_path / "bags"), bags)
    assert same_as_of_author(reader.shelf_again(tmp_path / "bags"), bags)
    assert reader.of_pickle()[0]


def test_the_process_reads_by_joblib_as_before(
    pack: Pack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of_author(monkeypatch, lambda held: joblib.dump(held, tmp_path / "bag.joblib"))
    code = (
        "import joblib\n"
        "def read(path): return joblib.load(path)\n"
        "def same(): return joblib.dump, joblib.Memory"
    )
    reader = pack({"bagpkg/__init__.py": code, "bagpkg/bags.py": BAG}, externs=["joblib"]).module("bagpkg")
    reader.read(tmp_path / "bag.joblib")
    assert reader.same() == (joblib.dump, joblib.Memory)
    assert (joblib.load, joblib.numpy_pickle.load) == (joblib.numpy_pickle.load, joblib.load)
    with pytest.raises(ModuleNotFoundError, match="No module named 'bagpkg'"):
        joblib.load(tmp_path / "bag.joblib")
