"""What the walk can do, seen through an exporter: code in zip files, parents, data files."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter

Project = Callable[[Mapping[str, str]], Path]


def test_code_in_a_zip_file_is_exported_with_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = "from importlib.resources import files\nword = (files(__name__) / 'word.txt').read_text()\n"
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as file:
        file.writestr("zippedpkg/__init__.py", code)
        file.writestr("zippedpkg/word.txt", "kellet")
    monkeypatch.syspath_prepend(tmp_path / "zipped.zip")
    buffer = io.BytesIO()
    with PackageExporter(buffer, policy="auto", prove=False) as exporter:
        exporter.save_module("zippedpkg")
    (file_entry,) = exporter.plan().data_files
    assert (file_entry.name, file_entry.because) == ("zippedpkg/word.txt", "beside the code of zippedpkg")
    monkeypatch.undo()
    with PackageImporter(buffer) as importer:
        assert importer.import_module("zippedpkg").word == "kellet"
    assert "zippedpkg" not in sys.modules


LAYERED = {
    "layered/__init__.py": "from .big import Big\nfrom .small import Small\n",
    "layered/big.py": "import csv\nclass Big: pass\n",
    "layered/small.py": "class Small:\n    size = 3\n",
    "app.py": "from layered import Small\nsize = Small.size\n",
}


def test_parents_run_as_they_are(project: Project) -> None:
    project(LAYERED)
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.save_module("app")
    assert exporter.interned_modules() == ["app", "layered", "layered.big", "layered.small"]
    assert exporter.externed_modules() == ["csv"]


def test_data_files_are_captured_and_patterns_leave_them_out(project: Project) -> None:
    project(
        {
            "pkg/__init__.py": "",
            "pkg/data/deep.csv": "",
            "pkg/beside.json": "",
            "pkg/tests/case.txt": "",
        }
    )
    exporter = PackageExporter(io.BytesIO(), policy="auto", prove=False)
    exporter.exclude_data(["pkg/tests/**"])
    exporter.save_module("pkg")
    assert {file.name: file.because for file in exporter.plan().data_files} == {
        "pkg/data/deep.csv": "beside the code of pkg",
        "pkg/beside.json": "beside the code of pkg",
    }
