"""The line to paste against a failure of a proof is one that mends it."""

from __future__ import annotations

import io

import pytest

from packager import PackageExporter
from packager._proving.proof import ProofFailure, ProofFrame
from packager._proving.refusing import Mends

pytestmark = pytest.mark.processes(share=3)

TREE = {
    "fern/__init__.py": "",
    "fern/net.py": "class Net: pass\n",
    "reed.py": "",
}


@pytest.fixture
def mends(project, monkeypatch):
    root = project(TREE)
    (root / "fern" / ".env").write_text("KEY=1")
    (root / "fern" / "key.pem").write_text("-----BEGIN PRIVATE KEY-----")
    monkeypatch.chdir(root)
    exporter = PackageExporter(io.BytesIO(), policy="auto")
    for name in ("fern", "fern.net", "reed"):
        exporter.save_module(name)
    return Mends(exporter.plan())


def missing(name: str) -> ProofFailure:
    return ProofFailure(
        "import", "module fern", "", (ProofFrame("fern/__init__.py", 9, "get", "", True),), name
    )


def unopened(file: str, entry: str) -> ProofFailure:
    return ProofFailure("import", "module fern", "", (ProofFrame(entry, 1, "", "", True),), "", file)


@pytest.mark.parametrize(
    ("name", "advice", "fix"),
    [
        ("fern.root", "there is no module fern.root in fern, which is stored: correct the name", ""),
        ("lichen.core", "there is no module lichen.core in this environment: correct the name", ""),
        ("fern.net", "a library imported fern.net by this name", ""),
        ("importlib", "importlib has no file to store: require it", 'exporter.extern("importlib.**")'),
    ],
)
def test_a_module_that_an_import_did_not_find(mends, name, advice, fix):
    found, paste = mends.of(missing(name))
    assert found.startswith(advice)
    assert paste == fix


@pytest.mark.parametrize("file", ["names.txt", "../data/names.txt"])
def test_a_file_is_named_by_where_it_lies(mends, file):
    advice, found = mends.of(unopened(file, "fern/net.py"))
    assert found == 'open(os.path.join(os.path.dirname(__file__), "names.txt"))  # import os'
    assert advice.startswith(f"{file!r} is relative to the working directory")
    assert advice.endswith("or put it beside fern/net.py and open it as below")


@pytest.mark.parametrize(
    ("missing_file", "advice", "call"),
    [
        (
            "fern/key.pem",
            "fern/key.pem is in your project, but is not stored: it holds a",
            '"fern", "key.pem"',
        ),
        ("fern/leaf/gone.bin", "there is no fern/leaf/gone.bin in your project", ""),
        ("fern/../../a.bin", "", ""),
    ],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_beside_the_code_that_the_archive_lacks(mends, tmp_path, missing_file, advice, call, as_text):
    here = str(tmp_path / "project" / "fern" / "key.pem")
    path = f"/tmp/proving-1/cache/code/{'ab' * 32}/{missing_file}"
    said = f"OSError: {path}: cannot open shared object file" if as_text else "FileNotFoundError"
    found, paste = mends.of(ProofFailure("import", "module fern", said, (), "", "" if as_text else path))
    assert found.startswith(advice)
    assert paste == (f'exporter.save_binary({call}, open({here!r}, "rb").read())' if call else "")
