"""All code of an archive can be compiled ahead, by several processes, and none of it is run for that."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packager import PackageExporter, PackageImporter
from packager.archive import ArchiveIOError
from packager.errors import ArgumentError
from packager.loading import NothingKeptError, compiling_ahead
from tests import processes

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


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The processes that were started; all have ended afterwards."""
    found: list[Any] = []
    plain = compiling_ahead._started
    monkeypatch.setattr(compiling_ahead, "_started", lambda: found.append(plain()) or found[-1])  # type: ignore[func-returns-value]  # append
    yield found
    assert all(child.returncode is not None for child in found)


def kept(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "cache" / "bytecode").glob("*")}


def test_processes_keep_what_one_process_does_and_run_nothing(
    archive: Path, tmp_path: Path, started: list[Any]
) -> None:
    compiled: list[object] = []
    watching = [True]
    sys.addaudithook(
        lambda event, args: compiled.append(args[1]) if watching and event == "compile" else None
    )
    with PackageImporter(archive) as importer:
        assert importer.compile_all(workers=1) == COUNT
        alone, here = kept(tmp_path), len(compiled)
        assert (len(alone), len(started), importer.modules) == (1, 0, {})
        for name in alone:
            (tmp_path / "cache" / "bytecode" / name).unlink()
        assert importer.compile_all(workers=3) == COUNT
        assert len(started) == 2
        assert kept(tmp_path) == alone
        assert len(compiled) - here < here  # the others were compiled elsewhere
        assert importer.compile_all(workers=3) == 0
        before = len(compiled)
        module = importer.import_module("aheadpkg")
        watching.clear()
        assert [one for one in compiled[before:] if str(one) == module.__file__] == []
        assert (module.value, module.__spec__.loader.get_code("").co_filename) == (1, module.__file__)


# What it compiled would be read as ours, by every load to come.
ANOTHER_PYTHON = """
import marshal, sys
asked = marshal.loads(sys.stdin.buffer.read())
answer = (b"cpython-312", {digest: b"none of ours" for digest, _ in asked})
sys.stdout.buffer.write(marshal.dumps(answer))
"""


@pytest.mark.parametrize(
    "answer",
    [
        "raise SystemExit(3)",
        "print('no marshal')",
        "import sys; sys.stdin.close()",
        ANOTHER_PYTHON,
    ],
)
def test_what_another_process_does_not_answer_is_compiled_here(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    def started() -> processes.Popen[bytes]:
        command = [sys.executable, "-I", "-S", "-c", answer]
        pipe = processes.PIPE
        return processes.Popen(command, cold=True, stdin=pipe, stdout=pipe, stderr=processes.DEVNULL)

    monkeypatch.setattr(compiling_ahead, "_started", started)
    here = tmp_path / "here"
    with PackageImporter(archive) as importer, PackageImporter(archive, bytecode=here) as alone:
        assert importer.compile_all(workers=2) == COUNT
        assert alone.compile_all(workers=1) == COUNT
    assert kept(tmp_path) == {path.name: path.read_bytes() for path in here.iterdir()}


def test_no_process_is_started_where_none_can_or_need_be(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Any]
) -> None:
    daemonic = type("Process", (), {"daemon": True})()
    ways = [
        (None, lambda patch: None),  # so little is not worth one
        (4, lambda patch: patch.setattr(sys, "executable", "")),
        (4, lambda patch: patch.setattr(sys, "executable", "/opt/app/bin/app")),
        (4, lambda patch: patch.setattr(sys, "frozen", True, raising=False)),
        (4, lambda patch: patch.setattr(sys, "platform", "emscripten")),
        (4, lambda patch: patch.setattr(multiprocessing.process, "current_process", lambda: daemonic)),
    ]
    for number, (workers, change) in enumerate(ways):
        with (
            PackageImporter(archive, bytecode=tmp_path / str(number)) as importer,
            monkeypatch.context() as patch,
        ):
            change(patch)
            assert importer.compile_all(workers=workers) == COUNT
    assert started == []


def test_a_process_that_cannot_be_started_costs_nothing_but_time(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> Any:
        raise OSError("no room for a process")

    monkeypatch.setattr(compiling_ahead, "_started", refuse)
    with PackageImporter(archive) as importer:
        assert importer.compile_all(workers=2) == COUNT


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
    with PackageImporter(archive, bytecode="/proc/nowhere") as importer:
        with pytest.raises(ArchiveIOError, match=r"cannot be kept in /proc/nowhere.*set KELLET_CACHE"):
            importer.compile_all()
        for workers in (0, -1, True, 1.5):
            with pytest.raises(ArgumentError, match="expected a number of processes from 1 on, or None"):
                importer.compile_all(workers=workers)  # type: ignore[arg-type]  # one of them
