"""Section 3: the end records of an archive and the records before them, one number wrong at a time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial

import pytest

from packager._archive import zip_container
from packager._archive.bounds import MAX_ENTRIES
from packager._archive.zip_container import (
    ZipDirectory,
    ZipEntry,
    central_directory,
    central_record,
    end_records,
    header_length,
    local_header,
    read_directory,
)
from packager.errors import ArchiveError
from tests.tables import one_test

LIMIT = 60  # tests lower that of ZIP64


def entries(
    *sizes: int, aligns: Sequence[int] = (), limit: int = zip_container.ZIP64_LIMIT
) -> list[ZipEntry]:
    found, position = [], 0
    for n, size in enumerate(sizes):
        align = aligns[n] if aligns else 1
        found.append(ZipEntry(f"e{n}".encode(), size, 7 + n, align, position))
        position += len(local_header(found[-1], limit)) + size
    return found


def body_of(found: Sequence[ZipEntry], limit: int = zip_container.ZIP64_LIMIT) -> bytes:
    return b"".join(local_header(entry, limit) + bytes(entry.size) for entry in found)


def read(data: bytes, limit: int = zip_container.ZIP64_LIMIT) -> ZipDirectory:
    view = memoryview(data)
    return read_directory(lambda start, stop: view[start:stop], len(data), limit)


@pytest.mark.parametrize("limit", [zip_container.ZIP64_LIMIT, LIMIT])
@pytest.mark.parametrize("aligns", [(), (64, 1, 64)])
def test_what_is_written_is_read(limit: int, aligns: Sequence[int]) -> None:
    found = entries(5, 100, 0, aligns=aligns, limit=limit)
    body = body_of(found, limit)
    directory = read(body + central_directory(found, len(body), limit), limit)
    assert [directory.entry(n) for n in range(3)] == found
    for n, entry in enumerate(found):
        header = len(local_header(entry, limit))
        assert header == header_length(entry.offset, 2, entry.size, entry.align, limit)
        assert directory.starts[n] == entry.offset + header
        assert entry.align == 1 or directory.starts[n] % 64 == 0
        assert body[directory.starts[n] : directory.starts[n] + entry.size] == bytes(entry.size)


def test_an_empty_zip_is_read_in_its_one_spelling() -> None:
    assert read(end_records(0, 0, 0)).names == []
    for size in range(22):
        with pytest.raises(ArchiveError, match="expected the end record of a ZIP in the last 22 bytes"):
            read(end_records(0, 0, 0)[22 - size :])
    with pytest.raises(ArchiveError, match="0 entries and 0 bytes of directory at byte 0 of 23; expected"):
        read(b"x" + end_records(0, 0, 0))


FOUND = entries(5, 6)
BODY = body_of(FOUND)
RECORDS = b"".join(central_record(entry) for entry in FOUND)


@one_test
@pytest.mark.parametrize(
    ("count", "start", "size"),
    [
        (1, 0, 0),
        (3, 0, 0),
        (2, 1, 0),
        (2, -1, 0),
        (2, 0, 1),
        (2, 0, -1),
        (2, 1, -1),
        (2, -1, 1),
        (0xFFFF, 0, 0),
    ],
)
def test_the_end_record_says_what_lies_before_it(count: int, start: int, size: int) -> None:
    assert len(read(BODY + RECORDS + end_records(2, len(BODY), len(RECORDS))).names) == 2
    data = BODY + RECORDS + end_records(count, len(BODY) + start, len(RECORDS) + size)
    with pytest.raises(ArchiveError, match=r"end of the archive|central directory|entry 'e\d'"):
        read(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((4, "<H", 1), "canonical end records right behind"),
        ((6, "<H", 1), "canonical end records right behind"),
        ((8, "<H", 1), "canonical end records right behind"),
        ((20, "<H", 1), "canonical end records right behind"),
        ((0, "<I", 0), "the end record of a ZIP in the last 22 bytes"),
    ],
)
def test_the_end_record_has_one_spelling(change: tuple[int, str, int], message: str) -> None:
    end = bytearray(end_records(2, len(BODY), len(RECORDS)))
    struct.pack_into(change[1], end, change[0], change[2])
    with pytest.raises(ArchiveError, match=message):
        read(BODY + RECORDS + end)


def test_records_are_so_many_and_so_long_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    data = BODY + RECORDS + end_records(2, len(BODY), len(RECORDS))
    monkeypatch.setattr(zip_container, "MAX_ENTRIES", 2)
    monkeypatch.setattr(zip_container, "_LONGEST_RECORD", 48)
    assert len(read(data).names) == 2
    monkeypatch.setattr(zip_container, "_LONGEST_RECORD", 47)
    with pytest.raises(
        ArchiveError, match="a directory of 2 entries in 96 bytes; expected at most 2 entries, of at most 47"
    ):
        read(data)
    monkeypatch.setattr(zip_container, "_LONGEST_RECORD", 48)
    monkeypatch.setattr(zip_container, "MAX_ENTRIES", 1)
    with pytest.raises(
        ArchiveError, match="found a directory of 2 entries in 96 bytes; expected at most 1 entries"
    ):
        read(data)
    assert zip_container._LONGEST_END == 98
    assert MAX_ENTRIES == 1 << 20


@one_test
@pytest.mark.parametrize(
    ("records", "count", "message"),
    [
        (RECORDS[:-1], 2, r"central directory, byte 48: found a record of 48 bytes; expected at most the 47"),
        (RECORDS + b"x", 2, "central directory: found 1 bytes behind the last record; expected none"),
        (RECORDS, 3, "central directory: found 96 bytes for 3 records; expected at least 46 for each"),
        (
            bytes(92),
            2,
            "central directory, byte 0: found a record of entry ''; expected the canonical",
        ),
        (
            RECORDS.replace(b"PK\x01\x02", b"PK\x01\x03", 1),
            2,
            "central directory, byte 0: found a record of entry 'e0'; expected the canonical record",
        ),
        (
            RECORDS.replace(b"e1", b"\xff1"),
            2,
            r"central directory, byte 48: found the name '\\xff1'; expected UTF-8",
        ),
        (central_record(FOUND[1]) + central_record(FOUND[0]), 2, "entry 'e1': found 6 bytes and a header of"),
    ],
)
def test_records_are_whole_and_in_order(records: bytes, count: int, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        read(BODY + records + end_records(count, len(BODY), len(records)))


@one_test
@pytest.mark.parametrize("place", range(46))
def test_every_byte_of_a_record_has_one_value(place: int) -> None:
    """But for the CRC-32, which the entry is compared with when it is used."""
    for change in (1, 0x80):
        records = bytearray(RECORDS)
        records[48 + place] ^= change
        data = BODY + bytes(records) + end_records(2, len(BODY), len(RECORDS))
        if place in range(16, 20):
            assert read(data).crcs[1] != FOUND[1].crc
        else:
            with pytest.raises(ArchiveError, match="expected"):
                read(data)


@pytest.mark.parametrize("gap", [1, 34, 64])
def test_entries_fill_the_file(gap: int) -> None:
    moved = [FOUND[0], ZipEntry(b"e1", 6, 8, 1, FOUND[1].offset + gap)]
    body = body_of(FOUND[:1]) + bytes(gap) + body_of(FOUND)[FOUND[1].offset :]
    with pytest.raises(ArchiveError, match="entry 'e0': found 5 bytes and a header of"):
        read(body + central_directory(moved, len(body)))
    with pytest.raises(
        ArchiveError, match=f"entry 'e1': found 6 bytes and a header of {32 + gap} at byte 37"
    ):
        read(BODY + bytes(gap) + central_directory(FOUND, len(BODY) + gap))
    first = [ZipEntry(b"e0", 5, 7, 1, gap)]
    with pytest.raises(
        ArchiveError, match=f"entry 'e0': found 5 bytes and a header of 32 at byte {gap}; .* byte 0"
    ):
        read(bytes(gap) + body_of(first) + central_directory(first, gap + 37))


def test_bytes_before_a_directory_without_records_are_refused() -> None:
    with pytest.raises(
        ArchiveError, match="archive: found 3 bytes before the central directory; expected entries"
    ):
        read(b"abc" + end_records(0, 3, 0))


def test_a_record_has_so_many_bytes_at_most() -> None:
    """46 of its own, 1,024 of its name, and 28 of its ZIP64 field."""
    limit = zip_container.ZIP64_LIMIT
    for length in (1098, 1099):
        data = memoryview(bytes(length) + end_records(1, 0, length, limit))
        ask = partial(zip_container._read_end, lambda start, stop, data=data: data[start:stop], len(data))
        if length == 1098:
            assert ask(limit, "x") == (1, 0, 1098)
        else:
            with pytest.raises(ArchiveError, match=r"1 entries in 1099 bytes; .* of at most 1098 bytes each"):
                ask(limit, "x")
