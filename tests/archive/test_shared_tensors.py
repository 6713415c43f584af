"""Bytes that several processes write into one file: each box of a tensor lands where its elements are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager._archive import (
    CHUNK,
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    Piece,
    SharedStorage,
    TensorReader,
    TensorSpec,
    add_shared_tensors,
    add_tensors,
    crcs_of,
    digest_chunks,
    find_pieces,
    sha256s_of,
    share_of_chunks,
    write_pieces,
)
from packager.errors import ArchiveError


@st.composite
def _boxes(draw: Any) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    ends = (sorted(draw(st.tuples(st.integers(0, extent), st.integers(0, extent)))) for extent in shape)
    return shape, tuple((start, stop) for start, stop in ends)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_boxes(), st.sampled_from(["u1", "f4", "c16"]))
def test_a_box_is_written_where_its_elements_lie(
    tmp_path: Path, drawn: tuple[tuple[int, ...], tuple[tuple[int, int], ...]], dtype: str
) -> None:
    shape, box = drawn
    index = tuple(slice(*ends) for ends in box)
    whole = np.zeros(shape, dtype)
    whole[index] = np.arange(1, whole[index].size + 1).reshape(whole[index].shape)
    data = memoryview(np.ascontiguousarray(whole[index]).tobytes())
    storage = SharedStorage(whole.nbytes, (Piece(data, shape, box, whole.itemsize),))
    path = tmp_path / "file"
    path.write_bytes(bytes(7 + whole.nbytes))
    write_pieces(str(path), [(7, storage)], fsync=False)
    assert path.read_bytes()[7:] == whole.tobytes()
    assert find_pieces(str(path), [(storage, [7])]) == [b"\1"]
    if len(data):
        path.write_bytes(bytes(7 + whole.nbytes))
        assert find_pieces(str(path), [(storage, [7])]) == [b"\0"]


@pytest.mark.parametrize("size", [0, 1, CHUNK, 3 * CHUNK + 5])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_shares_of_chunks_have_the_digests_of_the_whole(tmp_path: Path, size: int, ranks: int) -> None:
    path, data = tmp_path / "file", (bytes(range(256)) * (size // 256 + 1))[:size]
    path.write_bytes(b"before" + data + b"behind")
    shares = [share_of_chunks(size, rank, ranks) for rank in range(ranks)]
    found = [digest_chunks(str(path), 6, size, share, sha256=True) for share in shares]
    view = memoryview(data)
    assert b"".join(crcs for crcs, _ in found) == crcs_of(view)
    assert b"".join(sha256s for _, sha256s in found) == sha256s_of(view)


def test_a_file_that_was_cut_short_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with pytest.raises(OSError, match="its unfinished file has no byte 3: it was truncated meanwhile"):
        digest_chunks(str(path), 1, 5, (0, 1), sha256=False)


@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_a_member_that_is_filled_is_the_member_that_is_added(tmp_path: Path, digests: str) -> None:
    large = bytes(range(256)) * (2 * CHUNK // 256 + 1)
    storages = [b"small", large, b""]
    specs = [
        TensorSpec("a", "U8", (5,), (1,), 0, 0),
        TensorSpec("b", "I16", (len(large) // 2,), (1,), 0, 1),
        TensorSpec("c", "F32", (0,), (1,), 0, 2),
    ]

    def fill(room: Any) -> tuple[bytes, bytes]:
        pieces = [
            (
                room.start + room.firsts[number],
                SharedStorage(len(data), (Piece(memoryview(data), (len(data),), ((0, len(data)),), 1),)),
            )
            for number, data in enumerate(storages)
        ]
        write_pieces(room.path, pieces, fsync=True)
        share = share_of_chunks(room.size, 0, 1)
        return digest_chunks(room.path, room.start, room.size, share, sha256=digests == "sha256")

    with ArchiveWriter(tmp_path / "a", digests=digests) as writer:
        places = add_tensors(writer, "m", specs, storages)
        again = add_tensors(writer, "n", specs, storages)
        identity = writer.seal(Manifest())
    with ArchiveWriter(tmp_path / "b", digests=digests) as writer:
        sizes = list(map(len, storages))
        assert add_shared_tensors(writer, "m", specs, sizes, fill) == places
        assert [place for place, _ in writer.places_of(len(large))] == [places[1]]
        assert add_tensors(writer, "n", specs, storages) == again
        assert writer.seal(Manifest()) == identity
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    with ArchiveReader(tmp_path / "b") as reader:
        assert bytes(TensorReader(reader, "m").data("b")) == large


def test_what_filling_raises_ends_the_writer(tmp_path: Path) -> None:
    def fill(room: Any) -> tuple[bytes, bytes]:
        raise TimeoutError("rank 1 does not come")

    writer = ArchiveWriter(tmp_path / "a")
    with pytest.raises(TimeoutError, match="rank 1 does not come"):
        add_shared_tensors(writer, "m", [TensorSpec("a", "U8", (5,), (1,), 0, 0)], [5], fill)
    assert not writer.is_open
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_refused_before_anything_is_filled(tmp_path: Path) -> None:
    with ArchiveWriter(tmp_path / "a") as writer:
        writer.add("m", b"", kind="source")
        with pytest.raises(ArchiveError, match="entry 'm': this name was added before; choose another one"):
            add_shared_tensors(writer, "m", [], [], lambda room: (b"", b""))
        assert writer.is_open
