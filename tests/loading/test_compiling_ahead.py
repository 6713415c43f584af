"""All code of an archive can be compiled ahead, and none of it is run for that."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveIOError
from packager._loading import NothingKeptError

COUNT = 6


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with PackageExporter(tmp_path / "net.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("aheadpkg", "value = 1\n", is_package=True)
        for number in range(1, COUNT):
            text = f"def f{number}(): return {number}\n" * number + "raise RuntimeError('it was run')\n"
            exporter.save_source_string(f"aheadpkg.m{number}", text)
    return tmp_path / "net.kellet"


def kept(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "cache" / "bytecode").glob("*")}


def test_it_is_compiled_once_and_nothing_runs(archive: Path, tmp_path: Path) -> None:
    compiled: list[object] = []
    watching = [True]
    sys.addaudithook(
        lambda event, args: compiled.append(args[1]) if watching and event == "compile" else None
    )
    with PackageImporter(archive) as importer:
        assert importer.compile_all() == COUNT
        alone = kept(tmp_path)
        assert (len(alone), importer.modules) == (1, {})
        assert importer.compile_all() == 0
        assert kept(tmp_path) == alone
        before = len(compiled)
        module = importer.import_module("aheadpkg")
        watching.clear()
        assert [one for one in compiled[before:] if str(one) == module.__file__] == []
        assert (module.value, module.__spec__.loader.get_code("").co_filename) == (1, module.__file__)


def test_a_source_that_does_not_compile_is_left_to_its_import(tmp_path: Path, archive: Path) -> None:
    with PackageExporter(tmp_path / "odd.kellet", policy="auto", prove=False) as exporter:
        exporter.save_source_string("aheadodd", "value = '\\d'\n", is_package=True)
        exporter.save_source_string("aheadodd.bad", "def f(:\n", dependencies=False)
        deep = "if 1: pass\n" + "elif 0: pass\n" * 20_000  # the parser has no stack for it
        exporter.save_source_string("aheadodd.deep", deep, dependencies=False)
    with PackageImporter(tmp_path / "odd.kellet") as importer:
        assert importer.compile_all() == 1  # and no SyntaxWarning is shown for the escape
        with pytest.raises(SyntaxError):
            importer.import_module("aheadodd.bad")


def test_where_nothing_is_kept_or_can_be_that_is_said(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = r"no compiled code is kept.*bytecode=FOLDER"
    with PackageImporter(archive, bytecode=None) as importer, pytest.raises(NothingKeptError, match=message):
        importer.compile_all()
    message = r"cannot be kept in /proc/nowhere.*set KELLET_CACHE"
    with (
        PackageImporter(archive, bytecode="/proc/nowhere") as importer,
        pytest.raises(ArchiveIOError, match=message),
    ):
        importer.compile_all()
