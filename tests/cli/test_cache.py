"""How large the cache is, and how it goes: its own parts alone, and never what a link leads to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from packager import PackageExporter
from packager._cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    (cache / "scans" / "a").mkdir(parents=True)
    (cache / "scans" / "a" / "one").write_bytes(b"x" * 3000)
    (cache / "scans" / "two").write_bytes(b"x" * 72)
    (cache / "bytecode").mkdir()
    (cache / "bytecode" / "three").write_bytes(b"x" * 1024)
    (cache / "mine.txt").write_text("no part of it")
    monkeypatch.setenv("KELLET_CACHE", str(cache))
    return cache


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        return main(arguments), *capsys.readouterr()

    return call


def test_the_parts_are_told_with_their_sizes(cache: Path, run: Run) -> None:
    assert run("cache")[1] == (
        f"{cache}: 4.0 KiB\nkept between runs:\n"
        "    bytecode  1 file   1.0 KiB  compiled code of archives\n"
        "    code      0 files  0 B      files of archives that their code opens\n"
        "    scans     2 files  3.0 KiB  the imports found in sources of projects\n"
        "    wheels    0 files  0 B      wheels that printed lock files name\n\n"
    )
    code, out, _ = run("cache", "--json")
    found = json.loads(out)
    assert (code, found["folder"], found["bytes"]) == (0, str(cache), 4096)
    assert found["parts"]["scans"] == {"files": 2, "bytes": 3072}


def test_clear_removes_the_parts_alone(cache: Path, run: Run) -> None:
    assert run("cache", "clear", "scans") == (0, f"{cache}: 3.0 KiB removed\n", "")
    assert sorted(path.name for path in cache.iterdir()) == ["bytecode", "mine.txt"]
    assert run("cache", "clear") == (0, f"{cache}: 1.0 KiB removed\n", "")
    assert [path.name for path in cache.iterdir()] == ["mine.txt"]
    assert run("cache", "clear") == (0, f"{cache}: 0 B removed\n", "")


def test_what_a_link_leads_to_stays(cache: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("somebody else's")
    (cache / "code").symlink_to(tmp_path / "other")
    (cache / "bytecode" / "link").symlink_to(tmp_path / "other")
    assert run("cache", "clear")[0] == 0
    assert (tmp_path / "other" / "file").exists()
    assert [path.name for path in cache.iterdir()] == ["mine.txt"]


def test_what_is_no_part_is_told_and_nothing_goes(cache: Path, run: Run) -> None:
    code, out, err = run("cache", "clear", "scans", "mine.txt", "byte-code")
    assert (code, out) == (1, "")
    assert err == (
        "kellet: mine.txt, byte-code: no part of the cache; it has bytecode, code, scans, wheels\n"
    )
    assert run("cache", "clear", "scns")[2].endswith("; did you mean scans?\n")
    assert (cache / "scans" / "two").exists()


def test_a_cache_that_is_nowhere_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KELLET_CACHE", "relative")
    assert run("cache")[2].startswith("kellet: KELLET_CACHE='relative': expected an absolute path")
    monkeypatch.delenv("KELLET_CACHE")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    said = "kellet: no home folder of this user is known; set KELLET_CACHE to a folder\n"
    assert run("cache", "clear") == (1, "", said)


def test_an_archive_is_compiled_ahead_and_none_of_it_runs(cache: Path, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "net.kellet"
    with PackageExporter(file, policy="auto", prove=False) as exporter:
        exporter.save_source_string("cachepkg", "from .a import x\n", is_package=True)
        exporter.save_source_string("cachepkg.a", "raise RuntimeError('it was run')\n")
    assert run("cache", "compile", str(file)) == (0, f"{cache}: 2 sources of {file} compiled\n", "")
    assert run("cache", "compile", str(file)) == (
        0,
        f"{cache}: 0 sources of {file} compiled\n",
        "",
    )
    assert len(list((cache / "bytecode").iterdir())) == 2  # beside what was there
    code, out, errors = run("cache", "compile", str(file), "--identity", "0" * 64)
    assert (code, out) == (3, "")
    assert errors.startswith(f"kellet: {file}: found identity ")
