"""Files of PyTorch, pandas and dill that hold objects of stored modules: refused, or read by `pickle`."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("torch")

import io
import pickle
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

import pandas  # noqa: F401  # what the project imports has to be here
import torch

from packager import PackageExporter, PackageImporter, PackagingError

Project = Callable[[Mapping[str, str]], Path]
HEAD = "import pickle\nfrom pathlib import Path\n"
TILL = {
    "till/__init__.py": "",
    "till/bags.py": "class Bag:\n    def __init__(self, held): self.held = held\n",
}


def written(project: Project, code: str, name: str, **how: bool) -> tuple[PackageExporter, io.BytesIO]:
    """Return an exporter of `till.net`, beside which a file of PyTorch or a pickle lies, and its file."""
    folder = project({**TILL, "till/net.py": HEAD + code})
    bag = import_module("till.bags").Bag(torch.arange(3.0))
    if name.endswith(".pt"):
        torch.save({"bag": bag}, folder / "till" / name, **how)
        torch.save({"a": torch.ones(2)}, folder / "till" / "weights.pt")
    else:
        (folder / "till" / name).write_bytes(pickle.dumps({"bag": bag}))
    file = io.BytesIO()
    exporter = PackageExporter(file, policy="auto", prove=False)
    exporter.save_module("till.net")
    return exporter, file


@pytest.mark.parametrize("how", [{}, {"_use_new_zipfile_serialization": False}])
def test_what_torch_would_look_for_in_the_process_is_refused_until_it_is_given_pickle(
    project: Project, how: Mapping[str, bool]
) -> None:
    code = (
        "import torch as t\ndef bag(name): return t.load(Path(__file__).parent / name, weights_only=False)\n"
    )
    exporter, _ = written(project, code, "bag.pt", **how)
    with exporter:
        (problem,) = exporter.plan().problems
        exporter.answer("till/bag.pt", "none")
        assert (exporter.plan().problems, exporter.plan().warnings) == ((), ())
    assert (problem.subject, problem.fix) == ("till/bag.pt", 'exporter.exclude_data("till/bag.pt")')
    assert "it holds objects of till.bags, which torch.load (" in problem.context
    assert (
        "net.py:4) looks for in the process, and not in the archive: give torch.load a pickle_module that "
        "finds them (`import pickle` at the top of the file, and weights_only=False, pickle_module=pickle); "
    ) in problem.context
    mended = code.replace("weights_only=False", "weights_only=False, pickle_module=pickle")
    exporter, file = written(project, mended, "bag.pt", **how)
    with exporter:
        assert exporter.plan().problems == ()
    with PackageImporter(file) as importer:
        found = importer.import_module("till.net").bag("bag.pt")["bag"]
        assert type(found) is importer.import_module("till.bags").Bag
        assert found.held.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("pandas", "import pandas as pd\ndef bag(name): return pd.read_pickle(name)\n"),
        ("pandas", "from pandas import read_pickle\ndef bag(name, read=read_pickle): return read(name)\n"),
        ("dill", "def bag(name):\n    import dill\n    return dill.load(open(name, 'rb'))\n"),
    ],
)
def test_a_pickle_that_pandas_or_dill_may_read_is_refused(project: Project, library: str, code: str) -> None:
    exporter, _ = written(project, code, "bag.pkl")
    exporter.extern("dill.**", allow_empty=True)
    (problem,) = exporter.plan().problems
    with pytest.raises(PackagingError, match=r"till/bag\.pkl(.|\n)*read it with\s+pickle\.load"):
        exporter.close()
    assert f"it holds objects of till.bags, which {library}." in problem.context


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ndef bag(name): return torch.load(name, weights_only=True)\n",
        "import torch\ndef bag(name): return torch.save({}, name)\n",
        "from .torch import load\ndef bag(name): return load(name)\n",
    ],
)
def test_nothing_is_refused_where_nothing_of_torch_reads_objects(project: Project, code: str) -> None:
    project({"till/torch.py": "def load(name): return name\n"})
    exporter, _ = written(project, code, "bag.pt")
    assert exporter.plan().problems == ()


def test_a_file_of_torch_that_no_code_of_the_project_reads_is_warned_of(project: Project) -> None:
    exporter, _ = written(
        project, "from till import bags\ndef bag(reader, name): return reader(name)\n", "bag.pt"
    )
    assert exporter.plan().problems == ()
    (warning,) = (one for one in exporter.plan().warnings if "bag.pt" in one)
    assert warning == (
        "till/bag.pt is of torch, and it holds objects of till.bags; no code of the project reads it, and a "
        "library that does so looks for them in the process, and not in the archive: leave it out "
        '(exporter.exclude_data("till/bag.pt")), keep the object with save_object, or say that it is right '
        'so: exporter.answer("till/bag.pt", "none")'
    )
    exporter.answer("till/bag.pt", "none")
    assert not any("bag.pt" in one for one in exporter.plan().warnings)
