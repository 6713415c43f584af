"""The records of the ZIP: the one way to spell each of them. Sections 2 and 3 of the format.

The writer writes what these functions return; the reader computes what they would return for what
it has found, and demands those very bytes. Nothing here reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from .listing import ALIGNMENT

ZIP64_LIMIT: Final = 0xFFFFFFFF
"""Sizes and offsets from here on are written in ZIP64 fields; tests lower it."""

SATURATED: Final = 0xFFFFFFFF
"""What stands in a 32-bit field whose value is in a ZIP64 field."""

CRC_POSITION: Final = 14
"""Where the CRC-32 stands in a local header."""

_COUNT_LIMIT: Final = 0xFFFF
_ZIP64_FIELD: Final = 0x0001
_PADDING_FIELD: Final = (
    0xD935  # the alignment field of Android's zipalign: two bytes of alignment, then zeros
)
_SMALLEST_PADDING: Final = 6  # id, length and alignment

# Fields with one legal value are kept together as bytes: version needed, flags (UTF-8 names), method
# (stored), time and date (the first of January 1980).
_FIXED: Final = {version: Struct("<5H").pack(version, 0x0800, 0, 0, 0x0021) for version in (20, 45)}
_MADE_BY: Final = Struct("<H").pack(3 << 8 | 45)  # Unix, so that unzip gives files ordinary permissions

_LOCAL: Final = Struct("<14sIIIHH")
CENTRAL: Final = Struct("<16sIIIHH10sI")
USUAL_HEAD: Final = b"PK\x01\x02" + _MADE_BY + _FIXED[20]
CENTRAL_TAIL: Final = Struct("<HHHI").pack(0, 0, 0, 0o100644 << 16)
END: Final = Struct("<4sHHHHIIH")
ZIP64_END: Final = Struct("<4sQHHIIQQQQ")
_ZIP64_LOCATOR: Final = Struct("<4sIQI")


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One entry as the ZIP sees it; `offset` is where its local header starts."""

    name: bytes
    size: int
    crc: int
    align: int
    offset: int


def header_length(offset: int, name_length: int, size: int, align: int, limit: int = ZIP64_LIMIT) -> int:
    """How long the local header at `offset` is, padding included; the bytes of the entry follow it.

    >>> header_length(0, 3, 10, 1), header_length(0, 3, 10, 64), header_length(2, 25, 10, 64)
    (33, 64, 62)
    """
    length = _LOCAL.size + name_length + (20 if size >= limit else 0)
    if align == 1:
        return length
    return length + _SMALLEST_PADDING + -(offset + length + _SMALLEST_PADDING) % align


def local_header(entry: ZipEntry, limit: int = ZIP64_LIMIT) -> bytes:
    """The local header of an entry, with its name, ZIP64 field and padding."""
    extra = b""
    if entry.size >= limit:
        extra = Struct("<HHQQ").pack(_ZIP64_FIELD, 16, entry.size, entry.size)
    if entry.align != 1:
        length = header_length(entry.offset, len(entry.name), entry.size, entry.align, limit)
        padding = length - _LOCAL.size - len(entry.name) - len(extra)
        extra += Struct("<HHH").pack(_PADDING_FIELD, padding - 4, ALIGNMENT) + bytes(
            padding - _SMALLEST_PADDING
        )
    size = _short(entry.size, limit)
    fixed = b"PK\x03\x04" + _FIXED[_version(entry, limit)]
    return _LOCAL.pack(fixed, entry.crc, size, size, len(entry.name), len(extra)) + entry.name + extra


def central_record(entry: ZipEntry, limit: int = ZIP64_LIMIT) -> bytes:
    """The record of an entry in the central directory."""
    long = [entry.size, entry.size] if entry.size >= limit else []
    if entry.offset >= limit:
        long.append(entry.offset)
    extra = Struct(f"<HH{len(long)}Q").pack(_ZIP64_FIELD, 8 * len(long), *long) if long else b""
    size = _short(entry.size, limit)
    head = b"PK\x01\x02" + _MADE_BY + _FIXED[_version(entry, limit)]
    offset = _short(entry.offset, limit)
    fields = (head, entry.crc, size, size, len(entry.name), len(extra), CENTRAL_TAIL, offset)
    return CENTRAL.pack(*fields) + entry.name + extra


def end_records(count: int, start: int, size: int, limit: int = ZIP64_LIMIT) -> bytes:
    """The records at the end, for a central directory of `count` records and `size` bytes at `start`."""
    long = b""
    if count >= _COUNT_LIMIT or start >= limit or size >= limit:
        long = ZIP64_END.pack(b"PK\x06\x06", ZIP64_END.size - 12, 45, 45, 0, 0, count, count, size, start)
        long += _ZIP64_LOCATOR.pack(b"PK\x06\x07", 0, start + size, 1)
    short_count = min(count, _COUNT_LIMIT)
    short = (short_count, short_count, _short(size, limit), _short(start, limit))
    return long + END.pack(b"PK\x05\x06", 0, 0, *short, 0)


def central_directory(entries: Sequence[ZipEntry], start: int, limit: int = ZIP64_LIMIT) -> bytes:
    """Everything that follows the last entry: the central directory and the records at the end."""
    records = b"".join(central_record(entry, limit) for entry in entries)
    return records + end_records(len(entries), start, len(records), limit)


def _short(value: int, limit: int) -> int:
    return SATURATED if value >= limit else value


def _version(entry: ZipEntry, limit: int) -> int:
    """The version needed to extract: 4.5 where a ZIP64 field stands in the central record."""
    return 45 if entry.size >= limit or entry.offset >= limit else 20
