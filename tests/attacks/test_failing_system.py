"""Calls of the system fail in turn: a typed error, the old file, nothing left over, nothing left open."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager import PackageExporter, PackageImporter
from packager._archive import ArchiveReader, ArchiveWriter, Manifest
from packager._archive.archive_errors import ArchiveIOError
from packager._caches import keep_file
from packager._cli import main
from packager._weights import write_checkpoint
from tests import processes

pytestmark = pytest.mark.processes(share=4)

OLD, NEW = b"the old content", b"the new content"


def save(path: Path, content: bytes) -> None:
    with ArchiveWriter(path) as writer:
        writer.add("entry", content, kind="resource")
        writer.seal(Manifest())


def open_descriptors(expected: int = 0) -> int:
    """Count them; where there are too many, after cycles that refer to files of weights are freed."""
    if (count := len(os.listdir("/proc/self/fd"))) <= expected:
        return count
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, at: int) -> Iterator[list[int]]:
    """Let the call number `at` of `os.<name>` fail; `close` closes all the same, as the system does."""
    real: Callable[..., Any] = getattr(os, name)
    calls = [0]

    def call(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] - 1 == at:
            if name == "close":
                real(*arguments)
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, call)
        yield calls


CALLS = [
    ("open", errno.EMFILE),
    ("open", errno.ENFILE),
    ("dup", errno.EMFILE),
    ("close", errno.EIO),
    ("close", errno.ENOSPC),
    ("fsync", errno.EIO),
    ("replace", errno.EIO),
    pytest.param("pwrite", errno.ENOSPC, marks=pytest.mark.unix),
]


@pytest.mark.parametrize(("name", "number"), CALLS, ids=lambda part: str(part))
def test_a_writer_leaves_the_old_file_or_the_new_one(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.kellet"
    save(path, OLD)
    before, failed = open_descriptors(), 0
    for at in range(8):
        error: OSError | None = None
        with failing(monkeypatch, name, number, at) as calls:
            try:
                save(path, NEW)
            except OSError as raised:
                error = raised
        with ArchiveReader(path) as reader:
            found = reader.read("entry")
        assert os.listdir(tmp_path) == ["net.kellet"]
        assert open_descriptors(before) == before
        if calls[0] <= at:
            break
        if error is None:
            assert found == NEW
        else:
            failed += 1
            assert isinstance(error, ArchiveIOError)
            assert error.errno == number
            # After the rename only the folder remains to be synchronised, and the message says so.
            assert found == (NEW if "is written, but its folder" in str(error) else OLD)
        save(path, OLD)
    assert failed >= 1


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
def test_what_is_said_at_the_close_is_heard_before_the_rename(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS does it: write and fsync take everything, and close says that there was no room."""
    path = tmp_path / "net.kellet"
    save(path, OLD)
    real = os.close

    def close(descriptor: int) -> None:
        is_part = ".kellet-part" in os.readlink(f"/proc/self/fd/{descriptor}")
        real(descriptor)
        if is_part:
            raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close)
        with pytest.raises(ArchiveIOError, match="an old file is as it was") as caught:
            save(path, NEW)
    assert caught.value.errno == number
    with ArchiveReader(path) as reader:
        assert reader.read("entry") == OLD
    assert os.listdir(tmp_path) == ["net.kellet"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO])
def test_a_reader_says_what_to_do(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "net.kellet", OLD)
    before = open_descriptors()
    for use in (ArchiveReader, PackageImporter):
        with (
            failing(monkeypatch, "open", number, 0),
            pytest.raises(ArchiveIOError, match="cannot be opened") as caught,
        ):
            use(tmp_path / "net.kellet")
        assert caught.value.errno == number
        assert caught.value.filename == str(tmp_path / "net.kellet")
    with pytest.raises(FileNotFoundError):
        ArchiveReader(tmp_path / "not there")
    assert open_descriptors(before) == before


@pytest.mark.parametrize(
    ("name", "number"), [("open", errno.EMFILE), ("mkdir", errno.EMFILE), ("close", errno.EIO)]
)
def test_an_importer_works_or_says_so(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is only kept for another time may fail; the code runs all the same."""
    monkeypatch.setenv("KELLET_CACHE", str(tmp_path / "cache"))
    with PackageExporter(tmp_path / "net.kellet", prove=False) as exporter:
        exporter.save_source_string("failpkg", "answer = 42\n")
    with PackageImporter(tmp_path / "net.kellet") as importer:
        importer.import_module("failpkg")
    before = open_descriptors()
    for at in range(12):
        with (
            failing(monkeypatch, name, number, at),
            suppress(ArchiveIOError),  # any other error fails the test
            PackageImporter(tmp_path / "net.kellet") as importer,
        ):
            assert importer.import_module("failpkg").answer == 42
        assert open_descriptors(before) <= before
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith("kellet-part")]


@pytest.mark.parametrize(("name", "number"), [*CALLS[:2], ("mkdir", errno.ENOSPC), ("replace", errno.EIO)])
def test_extract_and_convert_leave_nothing(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    file, out = tmp_path / "w.kellet", tmp_path / "out"
    write_checkpoint(file, {"a": np.ones(3, "f4"), "b": np.ones(3, "i8")})
    before = open_descriptors()
    for command in (["extract", str(file), str(out)], ["convert", str(file), str(out) + ".safetensors"]):
        for at in range(10):
            with failing(monkeypatch, name, number, at) as calls:
                code = main(command)
            assert code in (0, 3)
            errors = capsys.readouterr().err
            assert code == 0 or os.strerror(number) in errors
            if "is written, but its folder cannot be synced" in errors:
                break
            left = sorted(path.name for path in tmp_path.iterdir())
            assert left == (["w.kellet"] if code else sorted(["w.kellet", Path(command[2]).name])), errors
            assert open_descriptors(before) == before
            if code == 0:
                break
            assert calls[0] > at
        for path in [*out.rglob("*")][::-1]:
            path.rmdir() if path.is_dir() else path.unlink()
        out.rmdir() if out.exists() else None


@pytest.mark.parametrize("name", ["open", "replace"])
def test_a_cache_file_is_whole_or_not_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_descriptors()
    with failing(monkeypatch, name, errno.EIO, 0), pytest.raises(OSError, match=os.strerror(errno.EIO)):
        keep_file(tmp_path / "kept", b"x")
    assert os.listdir(tmp_path) == []
    assert open_descriptors(before) == before


LIMITED = """
import os, resource, sys
from packager._archive import ArchiveReader, ArchiveWriter, Manifest
from packager._archive.archive_errors import ArchiveIOError

path = sys.argv[1]
used = max(map(int, os.listdir("/proc/self/fd"))) + 1
for free in range(8):
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + free, 20000))
    try:
        with ArchiveWriter(path) as writer:
            writer.add("entry", b"new", kind="resource")
            writer.seal(Manifest())
        with ArchiveReader(path) as reader:
            print(reader.read("entry").decode())
        break
    except ArchiveIOError as error:
        assert "ulimit -n" in str(error), error
        print("limit")
"""


def test_a_process_without_free_descriptors_is_told_of_ulimit(tmp_path: Path) -> None:
    save(tmp_path / "net.kellet", OLD)
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "net.kellet")]
    done = processes.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split()[0] == "limit", done.stderr
    assert done.stdout.split()[-1] == "new"
    assert os.listdir(tmp_path) == ["net.kellet"]
