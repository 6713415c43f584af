"""Reading ahead: blocks in order, some way before the last use; what is used is checked as without it."""

import threading
from pathlib import Path

import numpy as np
import pytest

from packager import ArgumentError, IntegrityError, PackageExporter, PackageImporter
from packager._archive import ArchiveReader, byte_sources
from packager._archive.reading_ahead import AHEAD, BLOCK, ReadAhead

MIB = 1 << 20
Blocks = list[tuple[int, int]]


def recording(size: int) -> tuple[ReadAhead, Blocks]:
    blocks: Blocks = []
    return ReadAhead(lambda start, length: blocks.append((start, start + length)), size), blocks


def test_blocks_are_read_in_order_up_to_a_window_behind_the_use() -> None:
    ahead, blocks = recording(10 * AHEAD)
    ahead.use(100, 200)
    ahead.wait()
    assert blocks[0] == (100, 100 + BLOCK)
    assert [start for start, _ in blocks[1:]] == [stop for _, stop in blocks[:-1]]
    assert blocks[-1][1] == 200 + AHEAD


def test_a_use_inside_the_window_reads_nothing_twice() -> None:
    ahead, blocks = recording(10 * AHEAD)
    for start in range(0, AHEAD, MIB):
        ahead.use(start, start + MIB)
        ahead.wait()
    assert sum(stop - start for start, stop in blocks) == blocks[-1][1] - blocks[0][0]
    assert AHEAD + AHEAD // 2 <= blocks[-1][1] <= 2 * AHEAD


@pytest.mark.parametrize("place", [5 * AHEAD, 10])
def test_a_use_elsewhere_begins_anew_there(place: int) -> None:
    ahead, blocks = recording(10 * AHEAD)
    ahead.use(2 * AHEAD, 2 * AHEAD + 1)
    ahead.wait()
    blocks.clear()
    ahead.use(place, place + 1)
    ahead.wait()
    assert blocks[0][0] == place
    assert blocks[-1][1] == place + 1 + AHEAD


def test_a_use_near_the_end_starts_no_thread_once_all_is_read() -> None:
    ahead, blocks = recording(AHEAD)
    ahead.use(0, 1)
    ahead.wait()
    threads = [ahead._thread]
    ahead.use(AHEAD - 2, AHEAD - 1)
    assert [ahead._thread] == threads
    assert blocks[-1][1] == AHEAD


def test_what_is_stopped_reads_no_further_block() -> None:
    entered, leave = threading.Event(), threading.Event()
    blocks: Blocks = []

    def bring(start: int, size: int) -> None:
        blocks.append((start, size))
        entered.set()
        assert leave.wait(10)

    ahead = ReadAhead(bring, 10 * BLOCK)
    ahead.use(0, 1)
    assert entered.wait(10)
    ahead.stop()
    leave.set()
    ahead.wait()
    assert blocks == [(0, BLOCK)]


def test_an_error_ends_the_reading_and_is_left_to_the_use() -> None:
    calls: list[int] = []

    def bring(start: int, size: int) -> None:
        calls.append(start)
        raise OSError(5, "Input/output error")

    ahead = ReadAhead(bring, 10 * BLOCK)
    ahead.use(0, 1)
    ahead.wait()
    assert calls == [0]


def test_where_no_thread_can_be_started_nothing_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ahead, blocks = recording(BLOCK)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    ahead.use(0, 1)
    ahead.wait()
    assert blocks == []


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "net.kellet"
    with PackageExporter(path, prove=False) as exporter:
        state = {f"w{n}": np.full(MIB // 4, n, np.float32) for n in range(20)}
        exporter.save_state_dict("net", "weights", state)
    return path


def test_tensors_are_read_ahead_of_their_use(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Blocks = []
    real = byte_sources.read_into

    def read_into(target: memoryview, number: int, at: int) -> int:
        done = real(target, number, at)
        read.append((at, at + done))
        return done

    monkeypatch.setattr(byte_sources, "read_into", read_into)
    with PackageImporter(archive, mmap="prefetch") as importer:
        loaded = importer.load_state_dict("net", "weights")
        read.clear()
        assert loaded["w0"][0] == 0
        ahead = importer.archive._container._source._ahead  # type: ignore[union-attr]  # of a file, or of a folder
        assert isinstance(ahead, ReadAhead)
        ahead.wait()
        assert read[0][0] < MIB
        assert read[-1][1] == archive.stat().st_size
        assert [float(loaded[f"w{n}"][-1]) for n in range(20)] == list(range(20))


def test_what_is_read_ahead_is_checked_ahead_and_damage_raised_where_it_is_used(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    data[data.index(np.full(MIB // 4, 15, np.float32).tobytes()) + MIB // 2] ^= 1
    archive.write_bytes(data)
    with PackageImporter(archive, mmap="prefetch", digests="sha256") as importer:
        loaded = importer.load_state_dict("net", "weights")
        assert loaded["w0"][0] == 0
        with pytest.raises(IntegrityError, match=r"bytes \d+ to \d+ do not have the sha256"):
            loaded["w15"]
        assert loaded["w19"][0] == 19


def test_chunks_ahead_are_checked_with_the_first_that_is_used(archive: Path) -> None:
    with PackageImporter(archive, mmap="prefetch") as importer:
        loaded = importer.load_state_dict("net", "weights")
        seen: list[int] = []
        importer.archive.progress = lambda done, size: seen.append(done)
        assert loaded["w0"][0] == 0
        assert seen[-1] > 20 * MIB
        before = len(seen)
        assert loaded["w12"][0] == 12
        assert len(seen) == before


def test_a_closed_archive_reads_no_further_and_lets_its_file_go(archive: Path) -> None:
    importer = PackageImporter(archive, mmap="prefetch")
    value = importer.load_state_dict("net", "weights")["w3"]
    ahead = importer.archive._container._source._ahead  # type: ignore[union-attr]  # of a file, or of a folder
    assert ahead is not None
    thread = ahead._thread
    importer.close()
    if thread is not None:
        thread.join(10)
        assert not thread.is_alive()
    assert value[0] == 3


def test_an_unpacked_archive_is_read_ahead_file_by_file(archive: Path, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "folder")
    with PackageImporter(tmp_path / "folder", mmap="prefetch") as importer:
        loaded = importer.load_state_dict("net", "weights")
        assert {float(value[0]) for value in loaded.many(loaded).values()} == set(range(20))
        maps = importer.archive._container._maps  # type: ignore[union-attr]  # of a file, or of a folder
        assert [source.reads_ahead for source in maps.values()] == [True]


def test_another_word_for_how_to_read_is_refused(archive: Path) -> None:
    with pytest.raises(ArgumentError, match="mmap='ahead': expected True, False or 'prefetch', found str"):
        PackageImporter(archive, mmap="ahead")
    with pytest.raises(ValueError, match="mmap='ahead' is unknown; choose True, False or 'prefetch'"):
        ArchiveReader(archive, mmap="ahead")
