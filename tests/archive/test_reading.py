"""Section 10: opening, what is checked when, and what stays valid."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from packager._archive import (
    ArchiveClosedError,
    ArchiveIOError,
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    MissingEntryError,
    verify,
)
from packager._archive.entries import ALIGNMENT
from packager.errors import ArchiveError, IntegrityError
from tests import processes

CHUNK = 1 << 20
BIG = bytes(range(256)) * (3 * CHUNK // 256) + b"tail"


@pytest.fixture
def big_path(tmp_path: Path) -> Path:
    path = tmp_path / "big.kellet"
    with ArchiveWriter(path) as writer:
        writer.add("big", BIG, kind="tensors", align=ALIGNMENT)
        writer.add("small", b"small", kind="resource")
        writer.seal(Manifest())
    return path


def streams(path: Path) -> Iterator[tuple[str, Any]]:
    yield "str", str(path)
    yield "Path", path
    yield "bytes", path.read_bytes()
    yield "bytearray", bytearray(path.read_bytes())
    yield "memoryview", memoryview(path.read_bytes())
    yield "BytesIO", io.BytesIO(path.read_bytes())


@pytest.mark.parametrize("mapped", [True, False])
def test_paths_bytes_and_memory_files_are_read(big_path: Path, mapped: bool) -> None:
    for kind, source in streams(big_path):
        with ArchiveReader(source, mmap=mapped) as reader:
            assert reader.read("big") == BIG, kind
            assert reader.size == big_path.stat().st_size


class Unusual(io.RawIOBase):
    """A file object that is neither a real file nor BytesIO, such as a member of another archive."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = 0) -> int:
        return self.file.seek(position, whence)

    def readinto(self, buffer: Any) -> int:
        return self.file.readinto(buffer)


@pytest.mark.parametrize("mode", ["rb", "r+b"])
@pytest.mark.parametrize("buffering", [0, -1])
def test_open_files_are_read_from_their_start_and_left_where_they_stand(
    big_path: Path, mode: str, buffering: int
) -> None:
    with open(big_path, mode, buffering=buffering) as file:
        file.seek(100)
        reader = ArchiveReader(file)  # type: ignore[arg-type]  # raw files and buffered ones alike
        assert reader.read("small") == b"small"
        assert file.tell() == 100
    assert reader.read("big") == BIG


def test_unusual_file_objects_are_read_as_their_bytes_are_used(big_path: Path) -> None:
    file = Unusual(big_path.read_bytes())
    file.seek(7)
    reader = ArchiveReader(file)  # type: ignore[arg-type]  # any binary file object
    assert file.tell() == 7
    assert reader.read("big") == BIG
    file.file.close()
    assert reader.view("big") == BIG


def test_pipes_are_copied_first(big_path: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    feeder = threading.Thread(target=lambda: fifo.write_bytes(big_path.read_bytes()))
    feeder.start()
    with ArchiveReader(fifo) as reader:
        feeder.join()
        assert reader.read("big") == BIG
    with processes.Popen(["cat", str(big_path)], stdout=processes.PIPE) as cat:
        assert cat.stdout is not None
        with ArchiveReader(cat.stdout) as reader:  # type: ignore[arg-type]  # a pipe is a binary file object
            assert reader.read("big") == BIG


def test_endless_pipe_of_something_else_is_refused_at_once() -> None:
    with processes.Popen(["cat", "/dev/zero"], stdout=processes.PIPE) as cat:
        assert cat.stdout is not None
        with pytest.raises(ArchiveError, match="at the start; expected an archive"):
            ArchiveReader(cat.stdout)  # type: ignore[arg-type]  # a pipe is a binary file object
        cat.kill()


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_devices_are_refused(device: str) -> None:
    with pytest.raises(ArchiveError, match="a device or folder; expected a file"):
        ArchiveReader(device)


def test_paths_that_cannot_be_opened_raise_what_open_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ArchiveReader(tmp_path / "nothing.kellet")
    with pytest.raises(NotADirectoryError):
        ArchiveReader("/dev/null/x.kellet")


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not an archive at all, but long enough to be one, or so it seems"]
)
def test_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    path.write_bytes(content)
    for source in (path, content, io.BytesIO(content)):
        with pytest.raises(ArchiveError, match="expected the end record of a ZIP"):
            ArchiveReader(source)


def test_archive_packed_anew_by_another_tool_says_what_to_do(small_path: Path, tmp_path: Path) -> None:
    processes.run(["unzip", "-q", str(small_path), "-d", str(tmp_path / "x")], check=True)
    processes.run(["jar", "cf0M", str(tmp_path / "y.kellet"), "-C", str(tmp_path / "x"), "."], check=True)
    with pytest.raises(ArchiveError, match="canonical"):
        ArchiveReader(tmp_path / "y.kellet")


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("digests", ["crc", "sha256", "none"])
def test_ranges_are_what_they_are_of_the_whole(big_path: Path, mapped: bool, digests: str) -> None:
    with ArchiveReader(big_path, mmap=mapped, digests=digests) as reader:
        for start, stop in (
            (0, 0),
            (0, 1),
            (5, CHUNK),
            (CHUNK, CHUNK),
            (CHUNK - 1, CHUNK + 1),
            (10, 3 * CHUNK + 4),
        ):
            view = reader.view("big", start, stop)
            assert view == BIG[start:stop]
            assert view.readonly
        assert reader.view("big", 3 * CHUNK) == b"tail"
        for start, stop in ((-1, 5), (5, 4), (0, len(BIG) + 1), (len(BIG) + 1, None)):
            with pytest.raises(IndexError, match=f"it has {len(BIG)}"):
                reader.view("big", start, stop)


def flip(path: Path, position: int) -> None:
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("digests", ["crc", "sha256"])
def test_changed_bit_is_found_before_a_view_of_it_is_handed_out(
    big_path: Path, mapped: bool, digests: str
) -> None:
    flip(big_path, big_path.read_bytes().index(b"tail") - CHUNK - 1)
    with ArchiveReader(big_path, mmap=mapped, digests=digests) as reader:
        assert reader.view("big", 0, CHUNK) == BIG[:CHUNK]
        assert reader.view("big", 2 * CHUNK) == BIG[2 * CHUNK :]
        for _ in range(2):
            with pytest.raises(
                IntegrityError, match=rf"bytes {CHUNK} to {2 * CHUNK} do not have the {digests}"
            ):
                reader.view("big", CHUNK, CHUNK + 1)
        with pytest.raises(IntegrityError, match="do not have the sha256"):
            reader.read("big")
        assert [problem.entry for problem in verify(reader).problems] == ["big"]
    with ArchiveReader(big_path, mmap=mapped, digests="none") as reader:
        assert len(reader.view("big")) == len(BIG)
        with pytest.raises(IntegrityError, match="do not have the sha256"):
            reader.read("big")
        assert not verify(reader).ok


def test_local_header_is_read_when_its_entry_is(small_path: Path) -> None:
    position = small_path.read_bytes().index(b"net/__init__.py") - 16  # its CRC-32
    flip(small_path, position)
    with ArchiveReader(small_path, digests="none") as reader:
        assert reader.read("net/weights")
        with pytest.raises(
            ArchiveError, match=r"entry 'net/__init__.py', byte \d+: found another local header"
        ):
            reader.read("net/__init__.py")


def test_bounded_reader_reports_a_file_that_was_cut_short(big_path: Path) -> None:
    with ArchiveReader(big_path, mmap=False) as reader:
        os.truncate(big_path, CHUNK)
        with pytest.raises(ArchiveError, match=rf"found {CHUNK} bytes; expected \d+, as when it was opened"):
            reader.read("big")


def test_mapped_reader_checks_the_size_before_each_view(big_path: Path) -> None:
    with ArchiveReader(big_path) as reader:
        assert reader.view("big", 0, 10) == BIG[:10]
        os.truncate(big_path, CHUNK)
        for start in (0, 2 * CHUNK):
            with pytest.raises(ArchiveError, match="as when it was opened"):
                reader.view("big", start)


@pytest.mark.unix
@pytest.mark.parametrize("mapped", [True, False])
def test_replaced_file_stays_readable_to_the_end(big_path: Path, mapped: bool) -> None:
    with ArchiveReader(big_path, mmap=mapped) as reader:
        view = reader.view("big", 0, 10)
        with ArchiveWriter(big_path) as writer:
            writer.seal(Manifest())
        assert reader.read("big") == BIG
        assert view == BIG[:10]
    assert ArchiveReader(big_path).names() == ()


def open_files(path: Path) -> int:
    """How many descriptors and maps of this process name the file."""
    descriptors = sum(
        os.readlink(f"/proc/self/fd/{fd}") == str(path)
        for fd in os.listdir("/proc/self/fd")
        if os.path.islink(f"/proc/self/fd/{fd}")
    )
    return descriptors + Path("/proc/self/maps").read_text().count(str(path))


def test_views_outlive_the_reader_and_the_file_goes_with_the_last(big_path: Path) -> None:
    reader = ArchiveReader(big_path)
    view, private = reader.view("big", 0, 100), reader.private("big").view(50, 150)
    private[0] = 255
    assert bytes(reader.private("big").view()[:51]) == BIG[:51]
    reader.close()
    reader.close()
    del reader
    gc.collect()
    assert (view, private[1:]) == (BIG[:100], BIG[51:150])
    assert open_files(big_path) > 0
    del view, private
    gc.collect()
    assert open_files(big_path) == 0


def test_reader_that_is_not_closed_is_freed_without_a_warning(big_path: Path) -> None:
    reader = ArchiveReader(big_path)
    dead = weakref.ref(reader)
    del reader
    gc.collect()
    assert dead() is None
    assert open_files(big_path) == 0


def test_closed_reader_says_so(small: bytes, small_path: Path) -> None:
    with open(small_path, "rb") as opened:
        relative = os.path.relpath(small_path)
        sources: list[tuple[Any, str]] = [
            (small, "the archive"),
            (io.BytesIO(small), "the archive"),
            (small_path, str(small_path)),
            (relative, relative),
            (opened, str(small_path)),
        ]
        for source, name in sources:
            reader = ArchiveReader(source)
            reader.close()
            calls: list[Callable[[], object]] = [
                lambda r=reader: r.read("net/notes.txt"),
                lambda r=reader: r.private("net/weights"),
                lambda r=reader: r.check("net/weights"),
                lambda r=reader: r.signatures(),
            ]
            for call in calls:
                with pytest.raises(
                    ArchiveClosedError, match=f"^{re.escape(name)} is closed; open it again to read more$"
                ):
                    call()
            assert reader.entry("net/weights").kind == "tensors"


def test_failed_open_leaves_no_file_open(small_path: Path) -> None:
    flip(small_path, 200)
    small_path.write_bytes(small_path.read_bytes()[:-1])
    for mapped in (True, False):
        with pytest.raises(ArchiveError):
            ArchiveReader(small_path, mmap=mapped)
    gc.collect()
    assert open_files(small_path) == 0


def test_missing_entry_is_a_key_error_that_reads_well(small: bytes) -> None:
    reader = ArchiveReader(small)
    for call in (reader.read, reader.entry, reader.view, reader.private, reader.check):
        with pytest.raises(MissingEntryError) as missing:
            call("nope")
        assert str(missing.value) == "the archive has no entry 'nope'; names() lists its 4"
    assert "nope" not in reader
    assert "net/weights" in reader
    with pytest.raises(KeyError):
        reader.read(".data/manifest.msgpack")


def test_unknown_digests_are_an_argument_error(small: bytes) -> None:
    with pytest.raises(ValueError, match="digests='md5' is unknown; choose one of 'crc', 'none', 'sha256'"):
        ArchiveReader(small, digests="md5")


@pytest.mark.parametrize("missing", [[], ["preadv"], ["preadv", "pread"]], ids=["", "macOS 10", "Windows"])
def test_64_threads_read_one_archive(
    big_path: Path, missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.delattr(os, name)
    for mapped in (True, False):
        with ArchiveReader(big_path, mmap=mapped, digests="sha256") as reader:
            failures: list[object] = []
            private = reader.private("big")

            def read(number: int, reader: ArchiveReader = reader, private: Any = private) -> None:
                try:
                    start = number * 50_000
                    assert reader.view("big", start, start + 60_000) == BIG[start : start + 60_000]
                    assert private.view(start, start + 10) == BIG[start : start + 10]
                    assert reader.read("small") == b"small"
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=read, args=(number,)) for number in range(60)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []


def test_empty_entries_have_views(tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    with ArchiveWriter(path) as writer:
        writer.add("empty", b"", kind="tensors", align=64)
        writer.add("gone", [], kind="resource")
        writer.seal(Manifest())
    for mapped in (True, False):
        for source in (path, path.read_bytes()):
            with ArchiveReader(source, mmap=mapped, digests="sha256") as reader:
                assert (bytes(reader.view("empty")), bytes(reader.private("empty").view())) == (b"", b"")
                assert reader.read("gone") == b""
                reader.check("empty")


def test_archive_is_read_while_descriptors_run_out(big_path: Path) -> None:
    code = (
        "import os, resource, sys\n"
        "from packager._archive import ArchiveReader, TensorReader\n"
        "reader = ArchiveReader(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        "assert len(reader.read('big')) > 3_000_000\n"
        "try:\n"
        "    ArchiveReader(sys.argv[1])\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
    )
    done = processes.run(
        [sys.executable, "-c", code, str(big_path)], cold=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "24\n"


def test_map_that_is_refused_is_read_with_bounds_instead(
    big_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("packager._archive.byte_sources.mmap.mmap", refuse)
    with ArchiveReader(big_path) as reader:
        assert reader.read("big") == BIG


@pytest.mark.parametrize("digests", ["crc", "sha256"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_many_chunks_are_checked_on_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digests: str, threads: int
) -> None:
    monkeypatch.setattr("packager._archive.entries.thread_count", lambda: threads)
    path = tmp_path / "x.kellet"
    with ArchiveWriter(path, fsync=False) as writer:
        writer.add("x", bytes(33 * CHUNK + 5), kind="resource")
        writer.seal(Manifest())
    with ArchiveReader(path, digests=digests) as reader:
        assert reader.read("x") == bytes(33 * CHUNK + 5)
    start = path.read_bytes().index(b"x") + 1
    for chunk in (3, 17, 33):
        flip(path, start + chunk * CHUNK + 1)
    expected = ", ".join(
        f"{chunk * CHUNK} to {min(chunk + 1, 33) * CHUNK + 5 * (chunk == 33)}" for chunk in (3, 17, 33)
    )
    with (
        ArchiveReader(path, digests=digests) as reader,
        pytest.raises(IntegrityError, match=f"bytes {expected} do not"),
    ):
        reader.read("x")


def test_error_on_another_thread_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.kellet"
    with ArchiveWriter(path, fsync=False) as writer:
        writer.add("x", bytes(20 * CHUNK), kind="tensors", align=64)
        writer.seal(Manifest())

    def fail(data: memoryview) -> int:
        raise MemoryError

    monkeypatch.setattr("packager._archive.entries.thread_count", lambda: 2)
    with ArchiveReader(path) as reader:
        monkeypatch.setattr("packager._archive.entries.crc32", fail)
        with pytest.raises(MemoryError):
            reader.view("x")


@pytest.mark.unix
def test_input_errors_are_typed(big_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with ArchiveReader(big_path, mmap=False) as reader:
        monkeypatch.setattr(os, "preadv", fail)
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(ArchiveIOError, match="cannot be read at byte") as failed:
            reader.read("big")
    assert (failed.value.errno, failed.value.filename) == (errno.EIO, str(big_path))
    assert isinstance(failed.value, OSError)


@pytest.mark.unix
def test_file_that_ends_while_it_is_read_is_an_archive_error(
    big_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ArchiveReader(big_path, mmap=False) as reader:
        monkeypatch.setattr(os, "preadv", lambda *arguments: 0)
        monkeypatch.setattr(os, "pread", lambda *arguments: b"")
        with pytest.raises(ArchiveError, match="as when it was opened"):
            reader.read("big")


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_no_archive_is_closed_while_its_error_is_still_held(tmp_path: Path, mapped: bool) -> None:
    (tmp_path / "x").write_bytes(b"something else")
    gc.collect()  # what earlier tests have left in cycles
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ArchiveError, match="expected the end record") as held:
        ArchiveReader(tmp_path / "x", mmap=mapped)
    assert len(os.listdir("/proc/self/fd")) == before
    assert held.value.__traceback__ is not None
