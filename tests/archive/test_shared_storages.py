"""Section 7.2: bytes that several members have are stored once, and each is read as if it had its own."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from packager._archive import (
    ELSEWHERE,
    ArchiveReader,
    ArchiveWriter,
    Manifest,
    Place,
    TensorReader,
    TensorSpec,
    add_tensors,
    index_name,
    pack,
    unpack,
    verify,
)
from packager._archive.archive_body import _MOST_COMPARED, SHARED_FROM
from packager.errors import ArchiveError
from tests.tables import one_test

LONG = bytes(range(256)) * (SHARED_FROM // 256)
OTHER = LONG[::-1]


def flat(key: str, storage: int, size: int = SHARED_FROM) -> TensorSpec:
    return TensorSpec(key, "U8", (size,), (1,), 0, storage)


def written(*members: tuple[str, Sequence[TensorSpec], Sequence[bytes]], **options: Any) -> bytes:
    file = io.BytesIO()
    with ArchiveWriter(file, **options) as writer:
        for name, specs, storages in members:
            add_tensors(writer, name, specs, storages)
        writer.seal(Manifest())
    return file.getvalue()


FIRST = ("z", [flat("a", 0), flat("b", 1)], [LONG, OTHER])
SECOND = ("m", [flat("new", 0, 3), flat("same", 1)], [b"new", LONG])


@pytest.mark.parametrize("digests", ["sha256", "crc"])
def test_what_lies_in_an_earlier_member_is_not_written_again(digests: str) -> None:
    data = written(FIRST, SECOND, digests=digests)
    assert (data.count(LONG), data.count(OTHER)) == (1, 1)
    with ArchiveReader(data) as reader:
        assert reader.names() == ("z", "m", ".data/index/m", ".data/index/z")
        first, second = TensorReader(reader, "z"), TensorReader(reader, "m")
        assert [bytes(first.data(key)) for key in ("a", "b")] == [LONG, OTHER]
        assert [bytes(second.data(key)) for key in ("new", "same")] == [b"new", LONG]
        start = reader.entry("z").size - 2 * SHARED_FROM
        assert (first.elsewhere, second.elsewhere) == ((), (Place("z", start, start + SHARED_FROM),))
        assert [second.storage_size(number) for number in (0, 1)] == [3, SHARED_FROM]
        assert bytes(second.part(1, 4, 9)) == LONG[4:9]
        assert bytes(second.rows("same", 5, 7)) == LONG[5:7]
        assert list(second.contiguous()) == [("new", "U8", (3,), 0)]
        assert [spec.key for spec in second.strided()] == ["same"]
        assert bytes(second.section()) == b"new"
        assert verify(reader).problems == ()


def test_where_each_storage_lies_is_returned() -> None:
    with ArchiveWriter(io.BytesIO()) as writer:
        first = add_tensors(writer, *FIRST)
        assert add_tensors(writer, *SECOND)[1] == first[0]
        assert list(map(bytes, writer.written(reversed(first)))) == [OTHER, LONG]
        with pytest.raises(ArchiveError, match="bytes 0 to 1 of 'x': no tensors of this name were written"):
            writer.written([first[0], Place("x", 0, 1)])


@pytest.mark.parametrize("mmap", [True, False])
def test_what_is_written_to_is_seen_by_no_other_member(tmp_path: Path, mmap: bool) -> None:
    path = tmp_path / "shared.kellet"
    path.write_bytes(written(FIRST, SECOND, ("x", [flat("odd", 0, 5), flat("a", 1)], [b"12345", OTHER])))
    with ArchiveReader(path, mmap=mmap) as reader:
        first, second, again = (TensorReader(reader, name) for name in ("z", "m", "m"))
        mine = second.storage(1, private=True)
        mine[:3] = b"own"
        assert bytes(second.data("same", private=True)) == b"own" + LONG[3:]
        assert bytes(first.storage(0, private=True)) == LONG
        assert bytes(again.private_storage("same")) == LONG
        assert bytes(second.data("same")) == LONG
        third = TensorReader(reader, "x").private_storage("a")
        third[:1] = b"x"
        assert bytes(first.private_storage("b")) == OTHER
    assert path.read_bytes().count(LONG) == 1


def test_private_bytes_start_at_a_multiple_of_64_wherever_they_lie() -> None:
    odd = (
        "z",
        [TensorSpec("a", "U8", (100,), (1,), 0, 0), flat("b", 1, SHARED_FROM + 1), flat("c", 2, 5001)],
    )
    data = written(
        (*odd, [bytes(100), LONG + b"!", LONG + bytes(905)]), ("m", [flat("c", 0, 5001)], [LONG + bytes(905)])
    )
    with ArchiveReader(data) as reader:
        (place,) = TensorReader(reader, "m").elsewhere
        assert place.start % 64 != 0
        reading = TensorReader(reader, "m")
        view = reading.private_storage("c")
        assert np.frombuffer(view, "u1").ctypes.data % 64 == 0
        view[0] = 9
        assert bytes(reading.private_storage("c")[:2]) == bytes([9, 1])
        assert bytes(reading.data("c")[:2]) == bytes([0, 1])


@pytest.mark.parametrize(("size", "count"), [(SHARED_FROM - 1, 2), (SHARED_FROM, 1), (3 << 20, 1)])
def test_small_storages_are_stored_with_each_member(size: int, count: int) -> None:
    content = (LONG * (size // len(LONG) + 1))[:size]
    members = [(name, [flat("w", 0, size)], [content]) for name in "ab"]
    with ArchiveReader(written(*members)) as reader:
        assert len([name for name in "ab" if reader.entry(name).size > size]) == count
        assert bytes(TensorReader(reader, "b").data("w")) == content


@pytest.mark.parametrize("count", [_MOST_COMPARED - 1, _MOST_COMPARED])
def test_so_many_that_are_alike_are_compared(count: int) -> None:
    """In the samples they are the same: at byte 100 none is taken."""
    alike = [bytes(100) + bytes([number]) + bytes(SHARED_FROM * 4) for number in range(count + 1)]
    size = len(alike[0])
    members = [(f"m{number}", [flat("w", 0, size)], [content]) for number, content in enumerate(alike)]
    with ArchiveReader(written(*members, ("z", [flat("w", 0, size)], [alike[-1]]))) as reader:
        again = TensorReader(reader, "z")
        assert [place.member for place in again.elsewhere] == (
            [f"m{count}"] if count < _MOST_COMPARED else []
        )
        assert bytes(again.data("w")) == alike[-1]


@pytest.mark.parametrize("at", [0, 1000, (1 << 20) - 1, 1 << 20, (3 << 20) - 1])
def test_what_differs_in_one_byte_is_another(at: int) -> None:
    one = bytearray(3 << 20)
    other = bytearray(one)
    other[at] = 1
    data = written(("a", [flat("w", 0, 3 << 20)], [one]), ("b", [flat("w", 0, 3 << 20)], [other]))
    with ArchiveReader(data) as reader:
        assert [bytes(TensorReader(reader, name).data("w")) for name in "ab"] == [one, other]


def test_two_storages_that_are_equal_remain_two() -> None:
    twice = ("m", [flat("a", 0), flat("b", 1)], [LONG, LONG])
    thrice = ("o", [*twice[1], flat("c", 2)], [LONG] * 3)
    data = written(twice, ("n", *twice[1:]), thrice)
    assert data.count(LONG) == 3
    with ArchiveReader(data) as reader:
        assert verify(reader).problems == ()
        tensors = TensorReader(reader, "n")
        tensors.private_storage("a")[:1] = b"x"
        tensors.private_storage("b")[:1] = b"y"
        assert [bytes(tensors.private_storage(key)[:1]) for key in "ab"] == [b"x", b"y"]


def test_another_library_is_told_where_the_rest_lies() -> None:
    with ArchiveReader(written(FIRST, SECOND, ("x", [flat("t", 0)], [OTHER]))) as reader:
        members = {name: reader.read(name) for name in "zmx"}
    assert {key: value.tobytes() for key, value in safetensors.numpy.load(members["z"]).items()} == {
        "a": LONG,
        "b": OTHER,
    }
    assert list(safetensors.numpy.load(members["m"])) == ["new"]
    assert f'"__metadata__":{{"{ELSEWHERE}":"z"}}'.encode() in members["m"]
    assert f'{{"__metadata__":{{"{ELSEWHERE}":"z"}}}}'.encode() in members["x"]


def test_metadata_may_not_say_so_itself() -> None:
    with (
        ArchiveWriter(io.BytesIO()) as writer,
        pytest.raises(
            ArchiveError, match=r"their metadata has the key 'kellet\.elsewhere', which is reserved for"
        ),
    ):
        add_tensors(writer, *FIRST, metadata={ELSEWHERE: "z"})


def test_a_view_keeps_its_place_in_what_is_shared() -> None:
    view = TensorSpec("v", "I16", (4, 8), (-8, 1), 24 + 100, 0)
    data = written(FIRST, ("m", [view, flat("w", 0)], [LONG]))
    with ArchiveReader(data) as reader:
        tensors = TensorReader(reader, "m")
        assert tensors["v"] == view
        assert bytes(tensors.data("v")) == LONG[200:264]
        assert verify(reader).problems == ()


# --- what other writers may say ---


def forged_bytes(rows: Any, *, storage: int = 1) -> bytes:
    """The second member with other rows in the last column of its index."""
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, *FIRST)
        place = add_tensors(writer, *SECOND)[1]
    index = unpack(_index_of(written(FIRST, SECOND)), what="index")
    index[9] = rows(place) if callable(rows) else rows
    index[5] = struct.pack("<II", 0, storage)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        add_tensors(writer, *FIRST)
        with ArchiveReader(written(FIRST, SECOND)) as honest:
            writer.add("m", honest.read("m"), kind="tensors", align=64)
        writer.add(index_name("m"), pack(index), kind="index")
        writer.seal(Manifest())
    return file.getvalue()


def forged(rows: Any, *, storage: int = 1) -> ArchiveReader:
    return ArchiveReader(forged_bytes(rows, storage=storage))


def _index_of(data: bytes) -> bytes:
    with ArchiveReader(data) as reader:
        return reader.read(index_name("m"))


def places(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


NOT_ROWS = "a member, and sixteen bytes for each place"


@one_test
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["z"]], NOT_ROWS),
        ([("z")], NOT_ROWS),
        ([[1, places(1, 2)]], NOT_ROWS),
        ([["z", "12345678abcdefgh"]], NOT_ROWS),
        ([["z", b""]], NOT_ROWS),
        ([["z", places(1, 2)[:-1]]], NOT_ROWS),
        ([["z", places(1, 2), 3]], NOT_ROWS),
        ([["z", places(1, 2, 3, 4, 5, 6)]], "3 places; expected at most one for each of 2 tensors"),
        ([["z", places(2, 1)]], "a place that stops before it starts"),
        ([["z", places(1, 2, 1, 2)]], "places that do not rise; expected each once, by member and byte"),
        ([["z", places(3, 4, 1, 2)]], "places that do not rise"),
        ([["z", places(1, 2)], ["a", places(1, 2)]], "places that do not rise"),
    ],
)
def test_places_that_cannot_be_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        TensorReader(forged(rows), "m")


@one_test
@pytest.mark.parametrize(
    "rows",
    [
        [["q", places(64, 64 + SHARED_FROM)]],
        [[".data/index/z", places(0, SHARED_FROM)]],
        lambda place: [["z", places(place.start + SHARED_FROM + 1, place.stop + SHARED_FROM + 1)]],
        [["z", places(1 << 62, (1 << 62) + SHARED_FROM)]],
    ],
    ids=["no member", "no tensors", "one byte too far", "far beyond"],
)
@pytest.mark.parametrize("private", [False, True])
def test_places_outside_of_members_are_refused_when_they_are_asked_for(rows: Any, private: bool) -> None:
    tensors = TensorReader(forged(rows), "m")
    assert bytes(tensors.data("new")) == b"new"
    with pytest.raises(
        ArchiveError,
        match=r"index of 'm': found a storage in bytes \d+ to \d+ of '.*'; expected a storage within",
    ):
        tensors.storage(1, private=private)


@pytest.mark.parametrize("storage", [2, 1 << 31])
def test_a_storage_beyond_those_elsewhere_is_refused(storage: int) -> None:
    tensors = TensorReader(
        forged(lambda place: [["z", places(place.start, place.stop)]], storage=storage), "m"
    )
    with pytest.raises(ArchiveError, match=f"storage {storage}: found 2 storages; expected a lower number"):
        tensors["same"]
    with pytest.raises(ArchiveError, match=f"storage {storage}: found 2 storages"):
        list(tensors.contiguous())


@pytest.mark.parametrize(
    "rows",
    [
        lambda place: [["z", places(place.start + 1, place.stop + 1)]],
        lambda place: [["z", places(place.start, place.stop + SHARED_FROM)]],
        [["m", places(64, 64 + 3)]],
    ],
    ids=["no storage", "two storages", "itself"],
)
def test_a_verifier_refuses_what_is_no_storage_of_a_member_before(rows: Any) -> None:
    told = [str(problem) for problem in verify(forged(rows)).problems]
    assert any("which is not a storage of an earlier member" in one for one in told), told


def test_a_verifier_refuses_a_member_that_comes_later() -> None:
    honest = ArchiveReader(written(FIRST, SECOND))
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for name in ("m", "z"):
            writer.add(name, honest.read(name), kind="tensors", align=64)
            writer.add(index_name(name), honest.read(index_name(name)), kind="index")
        writer.seal(Manifest())
    (problem,) = verify(ArchiveReader(file.getvalue())).problems
    assert (problem.entry, "which is not a storage of an earlier member" in problem.message) == ("m", True)
