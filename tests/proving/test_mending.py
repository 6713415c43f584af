"""The line to paste against a failure of a proof is one that mends it."""

from __future__ import annotations

import io

import pytest

from packager import PackageExporter
from packager.proving.mending import Mends
from packager.proving.proof import ProofFailure, ProofFrame

pytestmark = pytest.mark.processes(share=3)

TREE = {
    "fern/__init__.py": "import importlib\ndef get(n):\n    return importlib.import_module('fern.' + n)",
    "fern/net.py": "class Net: pass\n",
    "fern/leaf/__init__.py": "",
    "fern/leaf/thin.py": "",
    "fern/leaf/broad.py": "",
    "fern/data/names.txt": "a",
    "moss.py": "",
    "reed.py": "",
    "names.txt": "b",
}


@pytest.fixture
def mends(project, monkeypatch):
    root = project(TREE)
    monkeypatch.chdir(root)
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    exporter.save_module("fern")
    exporter.save_module("fern.net")
    exporter.save_module("reed")
    return Mends(exporter.plan())


def missing(name: str, line: int = 9) -> ProofFailure:
    return ProofFailure(
        "import", "module fern", "", (ProofFrame("fern/__init__.py", line, "get", "", True),), name
    )


def unopened(file: str, entry: str) -> ProofFailure:
    return ProofFailure("import", "module fern", "", (ProofFrame(entry, 1, "", "", True),), "", file)


@pytest.mark.parametrize(
    ("name", "advice", "fix"),
    [
        ("fern.leaf", "it is a module of the project, and nothing", 'exporter.save_module("fern.leaf")'),
        ("moss", "it is a module of the project, and nothing", 'exporter.save_module("moss")'),
        ("fern.root", "fern is stored, with no module of that name here: correct the name", ""),
        ("lichen.core", "there is no module of that name here: correct the name", ""),
        ("msgpack.ext", "it is not in the archive, and no rule", 'exporter.extern("msgpack.**")'),
        ("importlib", "importlib is extern by", 'exporter.intern("importlib")'),
    ],
)
def test_ones_own_module_is_never_left_to_the_target(mends, name, advice, fix):
    found, paste = mends.missing_module(missing(name))
    assert found.startswith(advice)
    assert paste == fix


def test_a_module_that_was_imported_here_is_saved(mends):
    import fern.leaf.thin

    assert fern.leaf.thin
    advice, paste = mends.missing_module(missing("fern.leaf.thin", line=3))
    assert advice == "it was imported here, and nothing that is stored imports it by name"
    assert paste == 'exporter.save_module("fern.leaf.thin")'


@pytest.mark.parametrize(
    ("file", "entry", "paste"),
    [
        ("names.txt", "reed.py", 'open(os.path.join(os.path.dirname(__file__), "names.txt"))'),
        (
            "fern/data/names.txt",
            "fern/net.py",
            'open(os.path.join(os.path.dirname(__file__), "data", "names.txt"))',
        ),
        (
            "names.txt",
            "fern/net.py",
            'open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "names.txt"))',
        ),
        ("absent.txt", "fern/net.py", 'open(os.path.join(os.path.dirname(__file__), "absent.txt"))'),
        ("../cache", "fern/net.py", 'open(os.path.join(os.path.dirname(__file__), "cache"))'),
    ],
)
def test_a_file_is_named_by_where_it_lies(mends, file, entry, paste):
    advice, found = mends.relative_file(unopened(file, entry))
    assert found == paste
    assert advice.startswith(f"{file!r} is opened relative to the working directory")
    assert ("keep the file beside" in advice) == file.startswith(("absent", ".."))


@pytest.mark.parametrize(
    ("missing_file", "advice", "stored"),
    [
        ("fern/leaf/table.bin", "fern/leaf/table.bin is here beside the code, and is not stored", True),
        ("fern/leaf/gone.bin", "fern/leaf/gone.bin is not here either, where the code", False),
    ],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_beside_the_code_that_the_archive_lacks(
    mends, tmp_path, missing_file, advice, stored, as_text
):
    root = tmp_path / "project"
    (root / "fern" / "leaf" / "table.bin").write_bytes(b"1")
    path = f"/tmp/proving-1/cache/code/{'ab' * 32}/{missing_file}"
    said = f"OSError: {path}: cannot open shared object file" if as_text else "FileNotFoundError"
    failure = ProofFailure("call", "check model", said, (), "", "" if as_text else path)
    found, paste = mends.stored_file(failure)
    assert found.startswith(advice)
    here = str(root / "fern" / "leaf" / "table.bin")
    line = f'exporter.save_binary("fern.leaf", "table.bin", open({here!r}, "rb").read())'
    assert paste == (line if stored else "")


@pytest.mark.parametrize("path", ["/data/a.bin", f"/tmp/proving-1/cache/code/{'ab' * 32}/fern/../../a.bin"])
def test_a_file_elsewhere_is_none_of_them(mends, tmp_path, path):
    (tmp_path / "a.bin").write_bytes(b"1")
    assert mends.stored_file(ProofFailure("call", "check model", "", (), "", path)) == ("", "")


@pytest.mark.parametrize(
    ("missing_file", "place", "said", "call"),
    [
        ("fern/../conf/.env", "conf/.env", "it looks like a secret; store it where", '"conf", ".env"'),
        (".env", ".env", "it looks like a secret; store it where", '"", ".env"'),
        ("names.txt", "names.txt", "store it", '"", "names.txt"'),
        ("fern/data.v1/b.bin", "fern/data.v1/b.bin", "store it", '"", "fern/data.v1/b.bin"'),
    ],
)
def test_the_line_that_stores_a_file_stores_it_where_it_is_looked_for(
    mends, tmp_path, missing_file, place, said, call
):
    here = tmp_path / "project" / place
    here.parent.mkdir(exist_ok=True)
    here.write_bytes(b"1")
    path = f"/tmp/proving-1/cache/code/{'ab' * 32}/{missing_file}"
    advice, paste = mends.stored_file(ProofFailure("call", "check model", "FileNotFoundError", (), "", path))
    assert advice.startswith(f"{place} is here beside the code, and is not stored: {said}")
    assert paste == f'exporter.save_binary({call}, open({str(here)!r}, "rb").read())'
    exporter = PackageExporter(io.BytesIO(), prove=False)
    exec(f"exporter.save_binary({call}, b'')")
    assert [one.name for one in exporter.plan().entries] == [place]
