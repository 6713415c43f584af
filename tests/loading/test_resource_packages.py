"""Packages that hold files and no code, and names that are not there: asked for from outside."""

from __future__ import annotations

import importlib.resources
import sys
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager.errors import UndeclaredImportError
from tests import processes


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_text("res.words", "a.txt", "hello")
        exporter.save_binary("res", "b.bin", b"12")
        exporter.save_text("json", "c.txt", "a package whose name is one of Python's")
        exporter.save_source_string("shop", "found = __import__('importlib').util.find_spec('res')\n")
    return tmp_path / "net.kellet"


def test_a_package_of_resources_is_imported_and_read(archive: Path) -> None:
    """As torch.package has it: `importlib.resources` works on what was saved as text or bytes."""
    with PackageImporter(archive) as importer:
        words, res = importer.import_module("res.words"), importer.import_module("res")
        assert importlib.resources.files(words).joinpath("a.txt").read_text() == "hello"
        assert sorted(path.name for path in importlib.resources.files(res).iterdir()) == ["b.bin", "words"]
        reader = res.__loader__.get_resource_reader(res.__name__)  # type: ignore[union-attr]  # it is ours
        assert reader.files().joinpath("words", "a.txt").read_bytes() == b"hello"
        assert importer.import_module(".words", "res") is words
        assert res.__spec__ is not None
        assert res.__spec__.name not in sys.modules


def test_packaged_code_that_was_exported_without_it_finds_nothing(archive: Path) -> None:
    """What the code could not find at export it cannot find here; nor is Python's own hidden."""
    with PackageImporter(archive) as importer:
        assert importer.import_module("res").__name__.startswith("res__w")
        assert importer.import_module("shop").found is None
        assert importer.import_module("json") is sys.modules["json"]


def test_it_is_so_in_a_fresh_process_and_installed(archive: Path) -> None:
    code = (
        "import importlib.resources as r, sys\nfrom packager import PackageImporter\n"
        "importer = PackageImporter(sys.argv[1]).install()\n"
        "print(r.files(importer.import_module('res.words')).joinpath('a.txt').read_text())\n"
    )
    done = processes.run(
        [sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "hello\n"


@pytest.mark.parametrize(
    "name", ["missing", "missing.sub", "numpy", "a b", "res.nope", "res/words", "res..x"]
)
def test_a_name_that_is_not_there_blames_no_code(archive: Path, name: str) -> None:
    top = name.partition(".")[0]
    with PackageImporter(archive) as importer, pytest.raises(UndeclaredImportError) as caught:
        importer.import_module(name)
    assert str(caught.value) == (
        f"no module {name!r} is in {archive}, which has shop, and {top!r} was not declared extern when it "
        f'was made. Export again with intern("{top}.**") or extern("{top}.**"), or load with '
        'undeclared="allow"'
    )
    assert caught.value.name == top
