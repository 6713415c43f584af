"""Where bytes come from: what a file, a map and memory give, and what each of them leaves open."""

from __future__ import annotations

import errno
import gc
import io
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packager._archive import ArchiveClosedError, ArchiveIOError, byte_sources
from packager._archive.archive_errors import ArchiveChangedError
from packager._archive.byte_sources import BoundedFile, MappedFile, Memory, anonymous, open_file, open_source
from packager.errors import ArchiveError

DATA = b"PK\x03\x04" + bytes(range(256)) * 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "x").write_bytes(DATA)
    return tmp_path / "x"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


Make = Callable[[Path], Any]
SOURCES: list[Make] = [
    lambda path: Memory(DATA),
    lambda path: BoundedFile(os.open(path, os.O_RDONLY), "x"),
    lambda path: MappedFile(os.open(path, os.O_RDONLY), "x"),
]


@pytest.mark.parametrize("make", SOURCES, ids=["memory", "bounded", "mapped"])
@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0), (0, 5), (100, 5000), (4096, 4097), (5000, 9000), (9000, 9000), (0, len(DATA))]
)
def test_sources_give_the_bytes_between_two_places(path: Path, make: Make, start: int, stop: int) -> None:
    source = make(path)
    view, private = source.view(start, stop), source.private(start, stop)
    assert (source.size, bytes(view), view.readonly) == (len(DATA), DATA[start:stop], True)
    assert bytes(source.copy(start, stop)) == DATA[start:stop]
    assert bytes(private) == (DATA[start:stop] if source.steady else bytes(stop - start))
    if stop > start:
        private[0] ^= 1
        assert bytes(source.view(start, stop)) == DATA[start:stop]
    source.close()
    assert bytes(view) == DATA[start:stop]


@pytest.mark.parametrize("make", SOURCES[1:], ids=["bounded", "mapped"])
def test_a_closed_file_gives_nothing_more_and_leaves_nothing_open(path: Path, make: Make) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = descriptors()
    source = make(path)
    source.close()
    assert descriptors() == before
    for call in (source.view, source.copy, lambda start, stop: source.change_stamp()):
        with pytest.raises(ArchiveClosedError, match=r"^x is closed; open it again to read more$"):
            call(0, 1)


@pytest.mark.parametrize("size", [0, 5, len(DATA) + 1])
@pytest.mark.parametrize("make", SOURCES[1:], ids=["bounded", "mapped"])
def test_a_file_of_another_size_gives_nothing_more(path: Path, make: Make, size: int) -> None:
    source = make(path)
    os.truncate(path, size)
    calls = [source.view, source.copy] + ([source.private] if source.steady else [])
    for call in calls:
        with pytest.raises(
            ArchiveChangedError, match=f"x: found {size} bytes; expected {len(DATA)}, as when"
        ):
            call(0, 3)


def test_private_memory_is_as_large_as_it_is_asked_for() -> None:
    assert [len(anonymous(size)) for size in (0, 1, 5000)] == [0, 1, 5000]


# --- streams ---


class Stream(io.RawIOBase):
    """A file object of our own, that can seek or not."""

    def __init__(self, data: bytes, seekable: bool) -> None:
        self.file = io.BytesIO(data)
        self.can_seek = seekable

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.can_seek

    def tell(self) -> int:
        return self.file.tell()

    def seek(self, position: int, whence: int = 0) -> int:
        assert self.can_seek
        return self.file.seek(position, whence)

    def readinto(self, buffer: Any) -> int:
        return self.file.readinto(buffer)


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("seekable", [True, False])
def test_a_stream_is_copied_from_its_start_and_left_where_it_stood(mapped: bool, seekable: bool) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = descriptors()
    stream = Stream(DATA, seekable)
    if seekable:
        stream.seek(7)
    source = open_source(stream, mapped=mapped)  # type: ignore[arg-type]  # any binary file object
    assert (bytes(source.view(0, source.size)), source.steady) == (DATA, mapped)
    assert stream.tell() == (7 if seekable else len(DATA))
    assert descriptors() == before + (2 if mapped else 1) - (1 if mapped and byte_sources.UNTRACKED else 0)
    source.close()
    del source
    assert descriptors() == before


@pytest.mark.parametrize("start", [b"PK\x03\x05", b"PQ", b"x" * 5000, b"QK\x03\x04"])
def test_a_stream_of_something_else_is_refused_by_its_first_bytes(start: bytes) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = descriptors()
    stream = Stream(start + bytes(3 << 20), True)
    with pytest.raises(ArchiveError, match="at the start; expected an archive"):
        open_source(stream, mapped=True)  # type: ignore[arg-type]  # any binary file object
    assert stream.tell() <= 1 << 20
    assert descriptors() == before


@pytest.mark.parametrize("length", range(5))
def test_a_short_stream_may_still_become_one(length: int) -> None:
    source = open_source(Stream(DATA[:length], True), mapped=False)  # type: ignore[arg-type]  # any binary file object
    assert bytes(source.view(0, length)) == DATA[:length]


def test_later_pieces_of_a_stream_may_begin_with_anything() -> None:
    long = DATA + bytes(2 << 20) + b"not an archive"
    source = open_source(Stream(long, True), mapped=False)  # type: ignore[arg-type]  # any binary file object
    assert bytes(source.view(0, len(long))) == long


def test_a_stream_that_finds_no_room_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(byte_sources, "_write_all", full)
    with pytest.raises(ArchiveIOError, match="cannot be copied to the folder for temporary files") as failed:
        open_source(Stream(DATA, True), mapped=False)  # type: ignore[arg-type]  # any binary file object
    assert failed.value.errno == 28


def test_a_pipe_is_copied_and_closed(tmp_path: Path) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = descriptors()
    reading, writing = os.pipe()
    feeder = threading.Thread(target=lambda: (os.write(writing, DATA[:5000]), os.close(writing)))
    feeder.start()
    source = open_file(reading, "pipe", mapped=False)
    feeder.join()
    assert bytes(source.view(0, source.size)) == DATA[:5000]
    assert descriptors() == before + 1
    source.close()
    assert descriptors() == before


def test_a_descriptor_of_something_else_is_closed(tmp_path: Path) -> None:
    gc.collect()  # what earlier tests have left in cycles
    before = descriptors()
    for place in (tmp_path, "/dev/null"):
        with pytest.raises(ArchiveError, match="found a device or folder; expected a file"):
            open_file(os.open(place, os.O_RDONLY), "x", mapped=True)
    assert descriptors() == before


def test_an_empty_file_is_not_mapped(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    source = open_source(tmp_path / "empty", mapped=True)
    assert (source.size, source.steady, bytes(source.view(0, 0))) == (0, False, b"")


def test_what_waits_in_a_file_object_is_written_first(tmp_path: Path) -> None:
    with open(tmp_path / "x", "w+b") as file:
        file.write(DATA[:100])
        source = open_source(file, mapped=False)
        assert bytes(source.view(0, source.size)) == DATA[:100]


def test_a_file_object_of_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with (
        open(tmp_path / "x", encoding="utf-8") as file,
        pytest.raises(TypeError, match=r"x is open for text; open it with mode 'rb'$"),
    ):
        open_source(file, mapped=False)  # type: ignore[arg-type]  # what is tried


def test_a_device_is_not_even_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("os.open", lambda *given: opened.append(given))
    with pytest.raises(ArchiveError, match=r"^/dev/null: found a device or folder; expected a file"):
        open_source("/dev/null", mapped=False)
    assert opened == []


def test_a_file_that_ends_while_it_is_read_gives_nothing_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([10, 0])
    monkeypatch.setattr(byte_sources, "read_into", lambda target, number, at: next(counts))
    with pytest.raises(ArchiveChangedError, match=f"x: found 110 bytes; expected {len(DATA)}, as when"):
        SOURCES[1](path).view(100, 200)


@pytest.mark.unix
@pytest.mark.parametrize(("platform", "flag"), [("linux", 0x4000), ("darwin", 0)])
def test_private_maps_reserve_no_memory_where_that_can_be_said(
    path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, flag: int
) -> None:
    source = MappedFile(os.open(path, os.O_RDONLY), "x")
    asked: list[dict[str, Any]] = []

    def mapped(descriptor: int, size: int, **options: Any) -> bytearray:
        asked.append({"size": size, **options})
        return bytearray(size)

    monkeypatch.setattr(byte_sources.sys, "platform", platform)
    monkeypatch.delattr(mmap, "MAP_NORESERVE", raising=False)
    monkeypatch.setattr(mmap, "mmap", mapped)
    assert len(source.private(5000, 9000)) == 4000
    first = 5000 - 5000 % mmap.ALLOCATIONGRANULARITY
    access = {"flags": mmap.MAP_PRIVATE | flag, "prot": mmap.PROT_READ | mmap.PROT_WRITE}
    assert asked == [{"size": 9000 - first, "offset": first, **access}]


def test_a_map_that_cannot_be_made_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    source = open_source(path, mapped=True)

    def refuse(*given: object, **options: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("mmap.mmap", refuse)
    with pytest.raises(
        ArchiveIOError, match=r"file: 7 bytes from byte 3 cannot be mapped: Too many.*ulimit"
    ) as caught:
        source.private(3, 10)
    assert caught.value.errno == errno.EMFILE
    source.close()


@pytest.mark.unix  # others start processes anew
def test_a_child_that_is_forked_while_a_place_is_gone_to_can_go_to_one() -> None:
    with byte_sources.SEEKING:
        child = os.fork()
        if not child:
            os._exit(not byte_sources.SEEKING.acquire(timeout=5))
    assert os.waitpid(child, 0)[1] == 0
