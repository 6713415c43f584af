"""Section 3: ZIP64, with the limit lowered so that small files need it; and by count, for real."""

from __future__ import annotations

import io
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from packager.archive import ArchiveReader, ArchiveWriter, Manifest, verify
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
    with pytest.raises(ArchiveError, match="only legal spelling"):
        ArchiveReader(file)


def test_no_zip64_where_it_is_needed_is_refused() -> None:
    file = io.BytesIO()
    write(file, {"x": 2000}, 0xFFFFFFFF)
    with pytest.raises(ArchiveError, match="only legal spelling"):
        ArchiveReader(file, zip64_limit=LIMIT)


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
