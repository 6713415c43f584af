"""Reading the ZIP's own list of entries, strictly: every byte of the file is accounted for.

The local headers are not touched here: where they stand, how long they are and every byte of them
follow from the central directory, so one is compared with its only legal spelling when its entry
is used. Sections 2 and 3 of the format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import unpack_from
from typing import Final

from .bounds import MAX_ENTRIES, MAX_NAME_BYTES
from .entry_names import check_names
from .errors import damaged
from .listing import ALIGNMENT
from .zip_records import (
    CENTRAL,
    CENTRAL_TAIL,
    END,
    SATURATED,
    USUAL_HEAD,
    ZIP64_END,
    ZIP64_LIMIT,
    ZipEntry,
    central_record,
    end_records,
    header_length,
)

_LONGEST_END: Final = END.size + 20 + ZIP64_END.size
_LONGEST_RECORD: Final = CENTRAL.size + MAX_NAME_BYTES + 28

Read = Callable[[int, int], memoryview]
"""Gives the bytes of the file between two positions that lie inside it."""


@dataclass(frozen=True, slots=True)
class ZipDirectory:
    """The entries of a ZIP in their order, as columns; `starts` is where their bytes begin."""

    names: list[str]
    sizes: list[int]
    crcs: list[int]
    aligns: list[int]
    offsets: list[int]
    starts: list[int]

    def entry(self, index: int) -> ZipEntry:
        """One entry, as the records describe it."""
        return ZipEntry(
            self.names[index].encode(),
            self.sizes[index],
            self.crcs[index],
            self.aligns[index],
            self.offsets[index],
        )


def read_directory(read: Read, size: int, limit: int = ZIP64_LIMIT) -> ZipDirectory:
    """Read the central directory of a file of `size` bytes.

    Raises ArchiveError when a record is not in its one legal spelling, when records and bytes do
    not fill the file exactly, and for names that are illegal or collide.
    """
    count, start, length = _read_end(read, size, limit)
    directory = _read_records(bytes(read(start, start + length)), count, limit)
    _lay_out(directory, start, limit)
    check_names(directory.names)
    return directory


def _read_end(read: Read, size: int, limit: int) -> tuple[int, int, int]:
    """The number of records, and start and length of the central directory."""
    tail = bytes(read(max(0, size - _LONGEST_END), size))
    if len(tail) < END.size or not tail[-END.size :].startswith(b"PK\x05\x06"):
        raise damaged(
            "end of the archive", f"{tail[-END.size :][:4]!r}", "the end record of a ZIP in the last 22 bytes"
        )
    count, length, start = END.unpack_from(tail, len(tail) - END.size)[4:7]
    if len(tail) == _LONGEST_END and (count == 0xFFFF or SATURATED in (length, start)):
        count, length, start = ZIP64_END.unpack_from(tail)[7:]
    possible = max(count, start, length) <= size
    end = end_records(count, start, length, limit) if possible else b""
    if possible and (count > MAX_ENTRIES or length > count * _LONGEST_RECORD):
        raise damaged(
            "end of the archive",
            f"{count} records in {length} bytes",
            f"at most {MAX_ENTRIES} records, of at most {_LONGEST_RECORD} bytes each",
        )
    if not possible or start + length + len(end) != size or not tail.endswith(end):
        raise damaged(
            "end of the archive",
            f"{count} records in {length} bytes at byte {start}, in a file of {size} bytes",
            "end records in their only legal spelling, right behind the central directory",
        )
    return count, start, length


def _read_records(records: bytes, count: int, limit: int) -> ZipDirectory:
    """Read the records of the central directory one after another; layout and names come later."""
    if count * CENTRAL.size > len(records):
        raise damaged(
            "central directory", f"{len(records)} bytes for {count} records", "46 and more for each"
        )
    names: list[str] = []
    sizes, crcs, offsets = [], [], []
    position = 0
    for _ in range(count):
        size, crc, offset, name_end, after = _read_record(records, position, limit)
        name = records[position + CENTRAL.size : name_end]
        try:
            names.append(name.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise damaged(f"central directory, byte {position}", f"the name {name!r}", "UTF-8") from error
        sizes.append(size)
        crcs.append(crc)
        offsets.append(offset)
        position = after
    if position != len(records):
        raise damaged("central directory", f"{len(records) - position} bytes behind the last record", "none")
    return ZipDirectory(names, sizes, crcs, [], offsets, [])


def _read_record(records: bytes, position: int, limit: int) -> tuple[int, int, int, int, int]:
    """Read one record: size, CRC-32, offset, where its name ends and where the next record starts."""
    after = name_end = position + CENTRAL.size
    if after <= len(records):
        fields = CENTRAL.unpack_from(records, position)
        head, crc, packed_size, size, name_length, extra_length, tail, offset = fields
        name_end += name_length
        after = name_end + extra_length
    if after > len(records):
        where, there = f"central directory, byte {position}", len(records) - position
        raise damaged(where, f"a record of {after - position} bytes", f"at most the {there} that are left")
    usual = head == USUAL_HEAD and tail == CENTRAL_TAIL and packed_size == size and not extra_length
    if not usual or size >= limit or offset >= limit:
        size, offset = _read_zip64(records, position, name_end, after, limit)
    return size, crc, offset, name_end, after


def _read_zip64(records: bytes, position: int, name_end: int, after: int, limit: int) -> tuple[int, int]:
    """Size and offset of a record with a ZIP64 field, which must be in its only legal spelling."""
    _, crc, _, size, _, extra_length, _, offset = CENTRAL.unpack_from(records, position)
    words = extra_length // 8 if extra_length in (12, 20, 28) else 0
    long = unpack_from(f"<4x{words}Q", records[name_end:after]) if words else ()
    if len(long) >= 2:
        size, offset = long[0], long[2] if len(long) == 3 else offset
    elif long:
        offset = long[0]
    entry = ZipEntry(records[position + CENTRAL.size : name_end], size, crc, 1, offset)
    # One comparison stands for all the fields: signature, versions, flags, method, date, lengths,
    # attributes, ZIP64.
    if central_record(entry, limit) != records[position:after]:
        raise damaged(
            f"central directory, byte {position}",
            f"a record of entry {entry.name!r}",
            "it in its only legal spelling",
        )
    return size, offset


def _lay_out(directory: ZipDirectory, end: int, limit: int) -> None:
    """Fill in where the bytes of each entry start, and demand that entries fill the file up to `end`."""
    position = 0
    nexts = [*directory.offsets, end][1:]
    for name, size, offset, after in zip(
        directory.names, directory.sizes, directory.offsets, nexts, strict=True
    ):
        length = len(name) if name.isascii() else len(name.encode())
        plain = header_length(offset, length, size, 1, limit)
        found = after - offset - size
        if offset != position or (
            found != plain and found != header_length(offset, length, size, ALIGNMENT, limit)
        ):
            raise damaged(
                f"entry {name!r}",
                f"{size} bytes and a header of {found} at byte {offset}",
                f"entries one after another, this one at byte {position}, with a header as its fields say",
            )
        directory.aligns.append(1 if found == plain else ALIGNMENT)
        directory.starts.append(after - size)
        position = after
    if position != end:
        raise damaged("archive", f"{end} bytes before the central directory", "entries that fill them")
