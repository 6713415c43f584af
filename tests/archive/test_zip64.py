"""Section 3: ZIP64, with the limit lowered so that small files need it; and by count, for real."""

from __future__ import annotations

import io
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, verify
from packager._archive.zip_container import (
    ZIP64_LIMIT,
    ZipEntry,
    central_record,
    end_records,
    header_length,
    local_header,
    read_directory,
)
from packager.errors import ArchiveError

LIMIT = 1000


def write(file: object, sizes: dict[str, int], limit: int) -> None:
    with ArchiveWriter(file, zip64_limit=limit) as writer:  # type: ignore[arg-type]  # paths and file objects alike
        for name, size in sizes.items():
            writer.add(name, bytes(size), kind="resource", align=64 if name.startswith("t") else 1)
        writer.seal(Manifest())


def test_large_sizes_and_offsets_are_read_by_us_and_by_others(tmp_path: Path) -> None:
    path = tmp_path / "x.kellet"
    write(path, {"a": 10, "big": 5000, "small-but-far": 3, "t-far-and-big": 2000}, LIMIT)
    with ArchiveReader(path, zip64_limit=LIMIT) as reader:
        assert verify(reader).ok
        assert [len(reader.read(name)) for name in reader.names()] == [10, 5000, 3, 2000]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert [info.extract_version for info in archive.infolist()][:4] == [20, 45, 45, 45]
    subprocess.run(["unzip", "-tqq", str(path)], check=True)


@pytest.mark.parametrize(("size", "fields"), [(LIMIT - 1, 0), (LIMIT, 20), (LIMIT + 1, 20)])
def test_the_field_is_there_from_the_limit_on_and_not_before(size: int, fields: int) -> None:
    file = io.BytesIO()
    write(file, {"x": size}, LIMIT)
    short, extra = (
        struct.unpack_from("<I", file.getvalue(), 22)[0],
        struct.unpack_from("<H", file.getvalue(), 28)[0],
    )
    assert extra == fields
    assert short == (0xFFFFFFFF if fields else size)


def test_zip64_where_it_is_not_needed_is_refused() -> None:
    file = io.BytesIO()
    write(file, {"x": 2000}, LIMIT)
    with pytest.raises(ArchiveError, match="canonical"):
        ArchiveReader(file)


def test_no_zip64_where_it_is_needed_is_refused() -> None:
    file = io.BytesIO()
    write(file, {"x": 2000}, 0xFFFFFFFF)
    with pytest.raises(ArchiveError, match="canonical"):
        ArchiveReader(file, zip64_limit=LIMIT)


@pytest.mark.long
@pytest.mark.parametrize("count", [0xFFFF - 3, 0xFFFF - 2])
def test_many_entries_are_counted_in_zip64(count: int) -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        for i in range(count):
            writer.add(f"{i:05}", b"", kind="resource")
        writer.seal(Manifest())
    data = file.getvalue()
    assert (b"PK\x06\x06" in data[-100:]) == (count + 2 >= 0xFFFF)
    assert len(ArchiveReader(data).names()) == count
    with zipfile.ZipFile(file) as archive:
        assert len(archive.namelist()) == count + 2


# --- at the limit itself, by planned sizes: no file of four gigabytes is written ---

LAST = (1 << 32) - 2  # the last size that fits; the next one is what a saturated field says


@pytest.mark.parametrize(("size", "long"), [(LAST, False), (LAST + 1, True), (LAST + 2, True)])
def test_an_entry_of_the_limit_itself_has_its_size_in_the_long_field(size: int, long: bool) -> None:
    entry = ZipEntry(b"x", size, 7, 1, 0)
    local, central = local_header(entry), central_record(entry)
    assert ZIP64_LIMIT == LAST + 1
    assert header_length(0, 1, size, 1) == len(local) == 31 + 20 * long
    version, short = (45, 0xFFFFFFFF) if long else (20, size)
    assert struct.unpack_from("<H", local, 4) == struct.unpack_from("<H", central, 6) == (version,)
    assert struct.unpack_from("<IIHH", local, 18) == (short, short, 1, 20 * long)
    assert struct.unpack_from("<IIHH", central, 20) == (short, short, 1, 20 * long)
    field = struct.pack("<HHQQ", 1, 16, size, size) if long else b""
    assert local[31:] == central[47:] == field


@pytest.mark.parametrize(("offset", "long"), [(LAST, False), (LAST + 1, True), (LAST + 2, True)])
def test_an_entry_that_starts_at_the_limit_has_its_place_in_the_long_field(offset: int, long: bool) -> None:
    record = central_record(ZipEntry(b"x", 5, 7, 1, offset))
    assert struct.unpack_from("<H", record, 6) == (45 if long else 20,)
    assert struct.unpack_from("<I", record, 42) == (0xFFFFFFFF if long else offset,)
    assert record[47:] == (struct.pack("<HHQ", 1, 8, offset) if long else b"")


@pytest.mark.parametrize(("start", "size"), [(LAST, 0), (LAST + 1, 0), (0, LAST), (0, LAST + 1)])
def test_a_directory_at_the_limit_has_the_long_end_records(start: int, size: int) -> None:
    records = end_records(1, start, size)
    long = LAST + 1 in (start, size)
    assert len(records) == 22 + 76 * long
    assert records[-22:] == struct.pack(
        "<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, size, start, 0
    )  # what is saturated is the limit itself
    head = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
    assert records[:-22] == (head + locator if long else b"")


@pytest.mark.parametrize("count", [0xFFFE, 0xFFFF, 0x10000])
def test_a_count_at_the_limit_has_the_long_end_records(count: int) -> None:
    records = end_records(count, 0, 0)
    assert len(records) == (22 if count < 0xFFFF else 98)
    assert struct.unpack_from("<HH", records[-22:], 8) == (min(count, 0xFFFF),) * 2


def planned(size: int, limit: int) -> tuple[object, int]:
    """The directory of a file with one entry of so many bytes, written by another limit; and its size."""
    name = b".data/manifest.msgpack"
    entry = ZipEntry(name, size, 0, 1, 0)
    start = len(local_header(entry, limit)) + size
    after = ZipEntry(b".data/manifest.sha256", 0, 0, 1, start)
    end = start + len(local_header(after, limit))
    directory = central_record(entry, limit) + central_record(after, limit)
    tail = directory + end_records(2, end, len(directory), limit)
    total = end + len(tail)
    return lambda low, high: memoryview(tail[low - end : high - end]), total


@pytest.mark.parametrize("size", [LAST - 1, LAST, LAST + 1, LAST + 2])
def test_the_reader_takes_sizes_at_the_limit_in_their_one_spelling(size: int) -> None:
    read, total = planned(size, ZIP64_LIMIT)
    found = read_directory(read, total, ZIP64_LIMIT)  # type: ignore[arg-type] # it is such a function
    assert found.sizes == [size, 0]
    assert found.starts[0] == 30 + 22 + 20 * (size > LAST)
    assert found.offsets[1] == found.starts[0] + size


@pytest.mark.parametrize(
    ("size", "limit"),
    # The last two are those of an entry behind this one, which starts 52 bytes later.
    [(LAST, LAST), (LAST + 1, LAST + 2), (LAST - 52, LAST), (LAST + 1 - 52, LAST + 2)],
)
def test_the_reader_refuses_sizes_at_the_limit_in_another_spelling(size: int, limit: int) -> None:
    read, total = planned(size, limit)
    with pytest.raises(ArchiveError, match="canonical"):
        read_directory(read, total, ZIP64_LIMIT)  # type: ignore[arg-type] # it is such a function
