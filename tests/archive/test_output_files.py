"""What the writer does with bytes on their way: batches, chunks, digests, and how much of it waits."""

from __future__ import annotations

import errno
import io
import mmap
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager.archive import (
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    copied_chunks,
    output_files,
    reserving,
)
from packager.archive.entries import crcs_of, flat_view, sha256s_of
from packager.archive.output_files import (
    BatchedFile,
    ChunkDigests,
    Digester,
    FileTarget,
    in_batches,
)

CHUNK = 1 << 20
WRITE_MULTIPLE = output_files.write_multiple


@pytest.fixture(autouse=True)
def two_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes end at multiples of 2 MiB, whatever this machine does with free memory."""
    monkeypatch.setattr(output_files, "write_multiple", lambda: 2 * CHUNK)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[BatchedFile, Callable[[], bytes], list[int]]]:
    told: list[int] = []
    with open(tmp_path / "x", "w+b", buffering=0) as file:
        yield BatchedFile(file.fileno(), told.append), (tmp_path / "x").read_bytes, told


def test_buffers_are_written_when_there_are_512_of_them(written: Any) -> None:
    file, content, told = written
    for _ in range(511):
        file.write(b"ab")
    file.write(b"")
    assert (content(), told, file.position) == (b"", [], 1022)
    file.write(b"cd")
    assert (content(), told, file.position) == (b"ab" * 511 + b"cd", [1024], 1024)
    file.write(b"e")
    file.flush()
    assert (content()[-3:], told) == (b"cde", [1024, 1025])


def test_what_waits_is_counted_anew_when_it_is_written(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "_BATCH", 10)
    file, content, _ = written
    file._multiple = 5
    for data, found in ((b"0123", 0), (b"456789", 10), (b"abcdefghi", 10), (b"j", 20)):
        file.write(data)
        assert len(content()) == found


def test_buffers_are_written_when_they_are_eight_chunks(written: Any) -> None:
    file, content, told = written
    file.write(bytes(8 * CHUNK - 1))
    assert (content(), told) == (b"", [])
    file.write(b"x")
    assert (len(content()), told) == (8 * CHUNK, [8 * CHUNK])
    file.patch(5, b"new")
    assert content()[4:9] == b"\0new\0"
    file.write(b"y")
    assert len(content()) == 8 * CHUNK


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 7, 100])
def test_a_system_may_take_less_than_it_is_given(
    written: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    file, content, told = written
    given = [b"abc", b"d", b"efgh", b"ij"]

    def some(descriptor: int, buffers: list[Any]) -> int:
        return os.write(descriptor, b"".join(buffers)[:most])

    monkeypatch.setattr(os, "writev", some)
    for part in given:
        file.write(part)
    file.flush()
    assert (content(), told) == (b"abcdefghij", [10])


@pytest.mark.parametrize("sizes", [[], [0], [1], [CHUNK], [CHUNK - 1, 1], [CHUNK + 1], [5, 3 * CHUNK, 0, 7]])
def test_a_stream_is_cut_into_chunks(sizes: list[int]) -> None:
    parts = [memoryview(bytes([n + 1]) * size) for n, size in enumerate(sizes)]
    chunks = [chunk for batch in in_batches(parts) for chunk in batch]
    whole = b"".join(parts)
    assert [b"".join(chunk) for chunk in chunks] == [
        whole[at : at + CHUNK] for at in range(0, len(whole), CHUNK)
    ]


@pytest.mark.parametrize(
    ("chunks", "batches"), [(7, [7]), (8, [8]), (9, [8, 1]), (16, [8, 8]), (17, [8, 8, 1])]
)
def test_a_batch_is_eight_chunks(chunks: int, batches: list[int]) -> None:
    data = memoryview(bytes(CHUNK))
    assert [len(batch) for batch in in_batches([data] * chunks)] == batches
    assert [len(batch) for batch in in_batches([memoryview(bytes(chunks * CHUNK))])] == batches


@pytest.mark.parametrize("with_sha256", [True, False])
def test_batches_are_digested_in_order(with_sha256: bool) -> None:
    data = memoryview(bytes(range(256)) * (CHUNK // 256 * 19) + b"end")
    digests = ChunkDigests()
    with Digester(sha256=with_sha256) as digester:
        for batch in in_batches([data[:100], data[100:]]):
            digests.append(digester.submit(batch, sha256=with_sha256))
        assert digests.late
        assert digests.result() == (crcs_of(data), sha256s_of(data) if with_sha256 else b"")
    known = ChunkDigests.known(b"1234", b"5")
    assert (known.late, known.result()) == (False, (b"1234", b"5"))


@pytest.mark.parametrize(("sha256", "threads"), [(True, 3), (False, 1)])
def test_so_many_batches_wait_for_their_digests(
    monkeypatch: pytest.MonkeyPatch, sha256: bool, threads: int
) -> None:
    """A stream is never held in memory: the ninth batch waits for the first, the tenth for the second."""
    waited: list[int] = []
    made: list[int] = []

    class Waiting(Future[Any]):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def result(self, timeout: float | None = None) -> Any:
            waited.append(self.number)

    class Threads:
        def __init__(self, count: int) -> None:
            made.append(count)
            self.submitted = 0

        def submit(self, *work: Any) -> Future[Any]:
            self.submitted += 1
            return Waiting(self.submitted)

        def shutdown(self, **options: Any) -> None:
            made.append(options["cancel_futures"])

    monkeypatch.setattr(output_files, "ThreadPoolExecutor", Threads)
    monkeypatch.setattr(output_files, "thread_count", lambda: 3)
    with Digester(sha256=sha256) as digester:
        for _ in range(8):
            digester.submit([], sha256=sha256)
        assert waited == []
        digester.submit([], sha256=sha256)
        assert waited == [1]
        digester.submit([], sha256=sha256)
        assert waited == [1, 2]
    assert made == [threads, True]


def test_buffers_of_any_format_are_flat_bytes() -> None:
    for value in (
        np.arange(6, dtype="f4").reshape(2, 3),
        np.ones((2, 2), "c8"),
        np.zeros((0, 3)),
        np.array(5),
        np.arange(6, dtype="u1").reshape(2, 3),
        memoryview(b"abcd").cast("b"),
        bytearray(b"abc"),
    ):
        view = flat_view(value)
        assert (view.format, view.ndim, bytes(view)) == ("B", 1, memoryview(value).tobytes())
    for strided in (np.arange(6)[::2], np.ones((2, 3)).T, memoryview(b"abcd")[::2]):
        with pytest.raises(ValueError, match="the buffer is not C-contiguous; copy it to one that is first"):
            flat_view(strided)
    whole = memoryview(b"abc")
    assert flat_view(whole) is not None
    assert flat_view(whole).obj is whole.obj


class Trickle(io.RawIOBase):
    """A file object that takes a few bytes at a time, or says nothing about how many it has taken."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.data = b""

    def write(self, data: Any) -> int | None:  # type: ignore[override]  # as raw files do that would block
        part = bytes(data[: self.most])
        self.data += part
        return None if self.most is None else len(part)


@pytest.mark.parametrize("most", [1, 3, 100, None])
def test_a_file_object_may_take_less_than_it_is_given(most: int | None) -> None:
    file = Trickle(most)
    written = FileTarget(file)  # type: ignore[arg-type]  # it writes
    os.write(written.begin(), b"abcdefgh")
    assert file.data == b""
    written.finish()
    assert file.data == b"abcdefgh"


def test_a_file_object_receives_what_was_checked_by_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[tuple[str, bytes]] = []
    target, much = io.BytesIO(), bytes(range(256)) * (3 * CHUNK // 256) + b"end"
    written = FileTarget(target)
    os.write(written.begin(), much)
    written.finish(lambda path: seen.append((path, Path(path).read_bytes())))
    assert [(os.path.basename(path), data == much) for path, data in seen] == [("archive.kellet", True)]
    assert (target.getvalue() == much, os.listdir(tmp_path)) == (True, [])


def test_a_file_object_may_keep_what_it_was_given() -> None:
    kept: list[memoryview] = []

    class Keeping:
        def write(self, data: memoryview) -> None:
            kept.append(data)

    written = FileTarget(Keeping())  # type: ignore[arg-type]  # it writes
    os.write(written.begin(), b"all of it")
    written.finish()
    assert b"".join(kept) == b"all of it"


@pytest.fixture
def ends_of_writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where in the file each write ends: only for a file that is written from its first byte on."""
    ends: list[int] = []
    write_some = output_files._write_some

    def noted(descriptor: int, buffers: list[memoryview]) -> int:
        done = write_some(descriptor, buffers)
        ends.append((ends[-1] if ends else 0) + done)
        return done

    monkeypatch.setattr(output_files, "_write_some", noted)
    return ends


@pytest.mark.unix  # elsewhere each buffer is a write of its own
def test_writes_end_at_multiples_of_two_mebibytes_until_all_is_flushed(
    written: Any, ends_of_writes: list[int]
) -> None:
    file, content, told = written
    data = random.Random(0).randbytes(19 * CHUNK + 5)
    at = 0
    for size in (100, 3 * CHUNK, 7, 5 * CHUNK - 108, 1, 2 * CHUNK - 1, 9 * CHUNK + 6):
        file.write(data[at : at + size])
        file.let_go()
        at += size
    assert ends_of_writes == told == [2 * CHUNK, 6 * CHUNK, 8 * CHUNK, 18 * CHUNK]
    assert (at, file.position, content()) == (len(data), len(data), data[: 18 * CHUNK])
    file.flush()
    assert (content(), told[-1]) == (data, len(data))


@pytest.mark.unix  # elsewhere each buffer is a write of its own
def test_many_small_buffers_are_written_wherever_they_end(written: Any, ends_of_writes: list[int]) -> None:
    file, content, _ = written
    for _ in range(600):
        file.write(b"abc")
    assert (ends_of_writes, content()) == ([3 * 512], b"abc" * 512)
    for _ in range(3):
        file.write(bytes(2 * CHUNK - 1))
    file.let_go()
    assert (ends_of_writes[1:], len(content())) == ([6 * CHUNK], 6 * CHUNK)


@pytest.mark.unix  # elsewhere each buffer is a write of its own
@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.parametrize("sizes", [[5000] * 1500, [1_330_000] * 7, [9_000_001]])
def test_tensors_of_any_size_are_written_in_aligned_pieces(
    tmp_path: Path, ends_of_writes: list[int], sizes: list[int], kind: Callable[[list[bytes]], Any]
) -> None:
    data = [random.Random(number).randbytes(size) for number, size in enumerate(sizes)]
    with ArchiveWriter(tmp_path / "x.kellet", fsync=False) as writer:
        writer.add("w", kind(data), kind="tensors", align=64, size=sum(sizes))
        assert len(ends_of_writes) >= 2
        assert {end % (2 * CHUNK) for end in ends_of_writes[:-1]} == {0}  # the last one ends the save
        writer.seal(Manifest())
    with ArchiveReader(tmp_path / "x.kellet") as reader:
        assert reader.read("w") == b"".join(data)


@pytest.mark.parametrize(
    ("said", "multiple"),
    [
        ("9\n", 1),
        ("0", 1),
        ("4294967295\n", 2 * CHUNK),
        ("-1", 2 * CHUNK),
        ("many", 2 * CHUNK),
        (None, 2 * CHUNK),
    ],
)
def test_writes_end_anywhere_where_free_memory_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, multiple: int
) -> None:
    if said is not None:
        (tmp_path / "order").write_text(said)
    monkeypatch.setattr(output_files, "_REPORTED", str(tmp_path / "order"))
    WRITE_MULTIPLE.cache_clear()
    assert WRITE_MULTIPLE() == multiple
    WRITE_MULTIPLE.cache_clear()


def test_where_writes_end_anywhere_nothing_waits_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends_of_writes: list[int]
) -> None:
    monkeypatch.setattr(output_files, "write_multiple", lambda: 1)
    data = [random.Random(number).randbytes(1_330_000) for number in range(7)]
    with ArchiveWriter(tmp_path / "x.kellet", fsync=False) as writer:
        writer.add("w", data, kind="tensors", align=64, size=7 * 1_330_000)
        assert ends_of_writes[-1] > 7 * 1_330_000
        writer.seal(Manifest())
    with ArchiveReader(tmp_path / "x.kellet") as reader:
        assert reader.read("w") == b"".join(data)


def scarce(had: int) -> Callable[[int, int], mmap.mmap]:
    """Make memory so many times, fail once, and make memory again."""
    made: list[int] = []

    def make(descriptor: int, size: int) -> mmap.mmap:
        made.append(size)
        if len(made) == had + 1:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return mmap.mmap(descriptor, size)

    return make


@pytest.mark.parametrize("had", [2, 3, 4])
def test_a_save_does_with_two_buffers_where_there_is_no_room_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    data = random.Random(1).randbytes(24 * CHUNK + 77)
    target = tmp_path / "x.kellet"
    with monkeypatch.context() as short:
        short.setattr(copied_chunks, "mmap", SimpleNamespace(mmap=scarce(had)))
        with ArchiveWriter(target, fsync=False) as writer:
            writer.add("w", [data[:1_000_003], data[1_000_003:]], kind="tensors", align=64)
            writer.seal(Manifest())
    with ArchiveReader(target) as reader:
        assert reader.read("w") == data  # against its digests


@pytest.mark.parametrize("had", [0, 1])
def test_without_room_for_two_buffers_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    monkeypatch.setattr(copied_chunks, "mmap", SimpleNamespace(mmap=scarce(had)))
    with (
        ArchiveWriter(tmp_path / "x.kellet", fsync=False) as writer,
        pytest.raises(MemoryError, match="2097152 bytes, to copy what is written"),
    ):
        writer.add("w", [bytes(5 * CHUNK)], kind="tensors", align=64)
    assert not os.listdir(tmp_path)


def test_room_is_asked_for_where_much_follows_and_nothing_depends_on_it(
    written: tuple[BatchedFile, Callable[[], bytes], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content, _ = written
    asked: list[tuple[int, ...]] = []

    def refused(descriptor: int, mode: int, position: int, size: int) -> int:
        asked.append((mode, position, size))
        return -1

    monkeypatch.setattr(reserving, "_fallocate", lambda: refused)
    file.write(b"abc")
    file.expect((8 << 20) - 1)
    file.expect(8 << 20)
    monkeypatch.setattr(reserving, "_fallocate", lambda: None)
    file.expect(8 << 20)
    file.write(b"d")
    file.flush()
    assert (asked, content()) == ([(1, 3, 8 << 20)], b"abcd")


def test_a_file_with_room_is_as_long_as_what_was_written(
    written: tuple[BatchedFile, Callable[[], bytes], list[int]],
) -> None:
    file, content, _ = written
    file.expect(9 << 20)
    assert content() == b""
    file.write(b"abc")
    file.flush()
    assert content() == b"abc"


def test_room_is_asked_for_what_others_write(
    written: tuple[BatchedFile, Callable[[], bytes], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, content, told = written
    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(reserving, "_fallocate", lambda: lambda *arguments: asked.append(arguments[1:]))
    file.write(b"abc")
    file.leave_room(9 << 20)
    file.write(b"d")
    file.flush()
    assert asked == [(1, 3, 9 << 20)]
    assert (content(), told) == (b"abc" + bytes(9 << 20) + b"d", [3, (9 << 20) + 4])


def test_a_file_object_is_given_two_mebibytes_at_a_time() -> None:
    taken: list[bytes] = []

    class Keeping(io.RawIOBase):
        def write(self, data: Any) -> int:
            taken.append(bytes(data))
            return len(data)

    data = random.Random(2).randbytes(5 * CHUNK + 3)
    target = FileTarget(Keeping())  # type: ignore[arg-type]  # it writes
    os.write(target.begin(), data)
    target.finish()
    assert (list(map(len, taken)), b"".join(taken)) == ([2 * CHUNK, 2 * CHUNK, CHUNK + 3], data)
