"""What the writer does with bytes on their way: chunks, digests, and how much of it is in memory."""

from __future__ import annotations

import io
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, output_files
from packager._archive.archive_body import PendingEntry, _chunks_of
from packager._archive.entries import crcs_of, flat_view, sha256s_of
from packager._archive.output_files import FileTarget, OutputFile

CHUNK = 1 << 20


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[OutputFile, Callable[[], bytes], list[int]]]:
    told: list[int] = []
    with open(tmp_path / "x", "w+b", buffering=0) as file:
        yield OutputFile(file.fileno(), told.append), (tmp_path / "x").read_bytes, told


def test_small_pieces_are_gathered_and_long_ones_are_not(written: Any) -> None:
    file, content, told = written
    file.write(b"ab")
    file.write(b"")
    assert (content(), told, file.position) == (b"", [], 2)
    file.write(bytes(CHUNK - 1))
    assert (content(), told, file.position) == (b"ab", [2], CHUNK + 1)
    file.write(bytes(2 * CHUNK))
    assert (len(content()), told) == (3 * CHUNK + 1, [2, CHUNK + 1, 3 * CHUNK + 1])
    file.write(b"e")
    file.flush()
    assert (content()[-1:], told[-1]) == (b"e", 3 * CHUNK + 2)


@pytest.mark.parametrize("sizes", [[], [0], [1], [CHUNK], [CHUNK - 1, 1], [CHUNK + 1], [5, 3 * CHUNK, 0, 7]])
@pytest.mark.parametrize("sha256", [True, False])
def test_chunks_are_digested_and_written_in_their_order(written: Any, sizes: list[int], sha256: bool) -> None:
    file, content, told = written
    parts = [bytes([n + 1]) * size for n, size in enumerate(sizes)]
    whole = memoryview(b"".join(parts))
    entry = PendingEntry("w", "tensors", 64, len(whole), parts, sizes)
    file.write(b"before")
    found = file.write_chunks(_chunks_of(entry), len(whole), sha256=sha256)
    assert found == (crcs_of(whole), sha256s_of(whole) if sha256 else b"")
    file.write(b"behind")
    file.flush()
    assert content() == b"before" + whole + b"behind"
    assert told == sorted(told)
    assert told[-1] == file.position == len(content())


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_stream_is_never_held_in_memory(
    written: Any, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """No chunk more is asked for than threads write one."""
    file, content, _ = written
    monkeypatch.setattr(output_files, "writer_count", lambda: threads)
    given, done = [0], [0]

    def stream() -> Iterator[list[bytes]]:
        for number in range(30):
            given[0] += 1
            assert given[0] - done[0] <= threads
            yield [bytes([number]) * CHUNK]

    write_at = output_files.write_at

    def counted(*arguments: Any) -> None:
        write_at(*arguments)
        done[0] += 1

    monkeypatch.setattr(output_files, "write_at", counted)
    done[0] -= 1  # what waits is written first
    file.write_chunks(stream(), 30 * CHUNK, sha256=False)
    assert content() == b"".join(bytes([number]) * CHUNK for number in range(30))


def test_what_is_changed_by_others_is_digested_as_it_is_written(tmp_path: Path) -> None:
    data = bytearray(40 * CHUNK)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for at in range(0, len(data), 1 << 16):
                data[at] = (data[at] + 1) % 256

    changing = threading.Thread(target=change)
    changing.start()
    with ArchiveWriter(tmp_path / "x.kellet", fsync=False) as writer:
        writer.add("w", data, kind="tensors", align=64)
        writer.seal(Manifest())
    stop.set()
    changing.join()
    with ArchiveReader(tmp_path / "x.kellet") as reader:
        assert len(reader.read("w")) == len(data)  # against its digests


@pytest.mark.unix
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 7, 100])
def test_a_system_may_take_less_than_it_is_given(
    written: Any, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    file, content, told = written
    given = [b"abc", b"d", b"efgh", b"ij"]

    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:most], at))
    for part in given:
        file.write(part)
    file.flush()
    assert (content(), told) == (b"abcdefghij", [10])


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
