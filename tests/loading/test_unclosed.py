"""Importers that are never closed: a warning with the file's name, no descriptor left, code that goes on."""

from __future__ import annotations

import gc
import io
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from tests import processes


def write(target: Path | io.BytesIO) -> None:
    with PackageExporter(target, prove=False) as exporter:
        exporter.save_source_string(
            "lazypkg", "def late():\n    from . import more\n    return more.answer\n", True
        )
        exporter.save_source_string("lazypkg.more", "answer = 42\n")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    write(tmp_path / "lazy.kellet")
    return tmp_path / "lazy.kellet"


def descriptors_of(file: Path) -> int:
    """How many descriptors of this process lead to `file`."""
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{number}") == str(file)
        except OSError:  # the one that lists
            continue
    return found


def collect(held: list[PackageImporter]) -> None:
    """Let the last reference go."""
    held.clear()
    gc.collect()


def drop(importer: PackageImporter) -> None:
    """Do nothing with the last reference."""


def in_a_cycle(importer: PackageImporter) -> None:
    importer.myself = importer  # type: ignore[attr-defined]  # an attribute of the caller's


@pytest.mark.parametrize("hold", [drop, in_a_cycle])
@pytest.mark.parametrize("code", [False, True])
def test_one_that_is_collected_warns_and_lets_the_file_go(
    archive: Path, hold: Callable[[PackageImporter], None], code: bool
) -> None:
    importer = PackageImporter(archive)
    modules = [importer.import_module("lazypkg")] if code else []
    assert descriptors_of(archive) >= 1
    hold(importer)
    held = [importer]
    del importer
    with pytest.warns(ResourceWarning, match=r"unclosed archive .*lazy\.kellet"):
        collect(held)
    assert descriptors_of(archive) == 0
    del modules


def test_its_code_goes_on_importing(archive: Path) -> None:
    importer = PackageImporter(archive)
    module = importer.import_module("lazypkg")
    held = [importer]
    del importer
    with pytest.warns(ResourceWarning):
        collect(held)
    assert module.late() == 42


def test_what_was_handed_out_keeps_the_file(tmp_path: Path) -> None:
    with PackageExporter(tmp_path / "w.kellet", prove=False) as exporter:
        exporter.save_state_dict("net", "w", {"scale": np.ones(3)})
    held = [PackageImporter(tmp_path / "w.kellet")]
    state = held[0].load_state_dict("net", "w")
    with pytest.warns(ResourceWarning):
        collect(held)
    assert state["scale"].tolist() == [1, 1, 1]
    del state
    gc.collect()
    assert descriptors_of(tmp_path / "w.kellet") == 0


def test_one_without_a_path_stays_open_for_its_code() -> None:
    write(file := io.BytesIO())
    importer = PackageImporter(file)
    module = importer.import_module("lazypkg")
    held = [importer]
    del importer
    with pytest.warns(ResourceWarning, match="unclosed archive <BytesIO>"):
        collect(held)
    assert module.late() == 42


def test_one_that_was_closed_says_nothing(archive: Path) -> None:
    importer = PackageImporter(archive)
    importer.import_module("lazypkg")
    importer.close()
    del importer
    gc.collect()  # warnings are errors
    with pytest.raises(ValueError, match="bytes"):
        PackageImporter(b"bytes")
    gc.collect()


def run(script: str, *arguments: str) -> processes.CompletedProcess[str]:
    command = [sys.executable, *arguments[:-1], "-c", textwrap.dedent(script), arguments[-1]]
    return processes.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_tracemalloc_says_where_it_was_opened(archive: Path) -> None:
    done = run(
        """
        import sys, tracemalloc
        from packager import PackageImporter
        tracemalloc.start(5)
        importer = PackageImporter(sys.argv[1])
        del importer
        """,
        *("-W", "always::ResourceWarning", str(archive)),
    )
    assert "lazy.kellet" in done.stderr
    assert "Object allocated at" in done.stderr
    assert 'File "<string>", lineno 5' in done.stderr, done.stderr


MANY = """
import multiprocessing, resource, subprocess, sys
from packager import PackageImporter
from packager._loading import verify

if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, hard), hard))
    path = sys.argv[1]
    data = open(path, "rb").read()
    importers = [PackageImporter(path) for _ in range(600)]
    late = [importer.import_module("lazypkg").late for importer in importers]
    subprocess.run([sys.executable, "-c", "print('a child', flush=True)"], check=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for n in (0, 300, 599):
            print(pool.apply_async(late[n]).get(timeout=60), flush=True)
    print(verify(path, deep=True).ok, flush=True)
    for importer in importers:
        importer.close()
"""


@pytest.mark.long
def test_600_open_archives_do_not_keep_processes_from_starting(archive: Path, tmp_path: Path) -> None:
    (script := tmp_path / "many.py").write_text(MANY)
    done = processes.run(
        [sys.executable, str(script), str(archive)],
        cold=True,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout == "a child\n42\n42\n42\nTrue\n", done.stderr


def test_an_open_archive_takes_two_descriptors_at_most(archive: Path) -> None:
    with PackageImporter(archive) as importer:
        importer.import_module("lazypkg").late()
        assert descriptors_of(archive) == (1 if sys.version_info >= (3, 13) else 2)
    assert descriptors_of(archive) == 0
