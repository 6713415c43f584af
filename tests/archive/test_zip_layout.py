"""Section 2: the file, byte by byte, and what other tools make of it."""

from __future__ import annotations

import hashlib
import io
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from packager._archive import ArchiveReader, ArchiveWriter, Manifest, archive_body, verify
from packager._archive.zip_container import ZipEntry
from packager.errors import ArchiveError
from tests.tables import one_test

ORDER = [
    "net/weights",
    ".data/index/net/weights",
    "net/__init__.py",
    "net/notes.txt",
    ".data/manifest.msgpack",
    ".data/manifest.sha256",
]


def test_zipfile_reads_it_and_sees_one_layout(small: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ORDER
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert (info.flag_bits, info.create_system, info.external_attr) == (0x800, 3, 0o100644 << 16)
            assert (info.comment, info.extra, info.internal_attr) == (b"", b"", 0)
        assert archive.comment == b""


@pytest.mark.parametrize(
    "command", [["unzip", "-tqq"], ["unzip", "-Z1"], ["jar", "tf"], ["python3", "-m", "zipfile", "-t"]]
)
def test_other_tools_read_it(command: list[str], small_path: Path) -> None:
    if shutil.which(command[0]):
        done = subprocess.run([*command, str(small_path)], check=True, capture_output=True, text=True)
        assert command[-1] not in ("-Z1", "tf") or done.stdout.split() == ORDER


def test_unpacked_manifest_has_the_digest_that_sha256sum_reads(small: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(small)) as archive:
        archive.extractall(tmp_path)
    digest, name = (tmp_path / ".data/manifest.sha256").read_text().split("  ")
    assert name == "manifest.msgpack\n"
    assert hashlib.sha256((tmp_path / ".data/manifest.msgpack").read_bytes()).hexdigest() == digest


def test_headers_and_records_fill_the_file_without_a_gap(small: bytes) -> None:
    position = 0
    for _ in ORDER:
        assert small[position : position + 4] == b"PK\x03\x04"
        size, _, name, extra = struct.unpack_from("<IIHH", small, position + 18)
        position += 30 + name + extra + size
    assert small[position : position + 4] == b"PK\x01\x02"
    count, length, start, comment = struct.unpack_from("<HIIH", small, len(small) - 12)
    assert (count, start, comment) == (len(ORDER), position, 0)
    assert start + length + 22 == len(small)


@one_test
@pytest.mark.parametrize("length", range(1, 130, 7))
def test_aligned_entry_starts_at_a_multiple_of_64_behind_one_padding_field(length: int) -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("a" * length, b"before", kind="tensors", align=64)
        writer.add("b", b"payload", kind="tensors", align=64)
        writer.seal(Manifest())
    data = file.getvalue()
    start = data.index(b"payload")
    assert start % 64 == 0
    header = data.index(b"PK\x03\x04", 4)
    extra = data[header + 31 : start]
    field, size, align = struct.unpack_from("<HHH", extra)
    assert (field, size, align) == (0xD935, len(extra) - 4, 64)
    assert 6 <= len(extra) <= 69
    assert extra[6:] == bytes(len(extra) - 6)
    assert ArchiveReader(data).entry("b").align == 64


def test_crc_of_a_large_entry_is_patched_into_its_header() -> None:
    content = bytes(range(251)) * 20_000
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.add("big", content, kind="resource")
        writer.seal(Manifest())
    local_crc = struct.unpack_from("<I", file.getvalue(), 14)[0]
    with zipfile.ZipFile(file) as archive:
        assert local_crc == archive.getinfo("big").CRC
        assert archive.read("big") == content


def test_empty_archive_is_an_archive() -> None:
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.seal(Manifest())
    assert ArchiveReader(file).names() == ()
    assert verify(ArchiveReader(file)).ok


def test_a_reserved_entry_is_not_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    def padded(name: bytes, size: int, crc: int, align: int, offset: int) -> ZipEntry:
        return ZipEntry(name, size, crc, 64, offset)

    monkeypatch.setattr(archive_body, "ZipEntry", padded)
    file = io.BytesIO()
    with ArchiveWriter(file) as writer:
        writer.seal(Manifest())
    with pytest.raises(ArchiveError, match="padding before a reserved entry"):
        ArchiveReader(file)
