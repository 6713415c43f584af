"""The ZIP form of an archive: the one way to spell its records, and a reader that takes no other.

The writer writes what the functions here return; the reader computes what they would return for what it has
found, and demands those very bytes, so that every byte of a file is accounted for. Local headers are not
read when a file is opened: where they stand, how long they are and every byte of them follow from the
central directory, so one is compared with its canonical form when its entry is used. Sections 2 and 3
of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import Struct, unpack_from

from packager._quick_dataclasses import dataclass
from packager.errors import IntegrityError

from .archive_errors import DAMAGED, damaged
from .bounds import CHUNK, MAX_ENTRIES, MAX_NAME_BYTES
from .byte_sources import ChangeStamp, Source
from .digesting import sha256
from .entries import ALIGNMENT, EntryRecord, Listing, crc32
from .entry_names import check_names, check_order, check_reserved_size, shown_name

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Final


ZIP64_LIMIT: Final = 0xFFFFFFFF
"""Sizes and offsets from here on are written in ZIP64 fields; tests lower it."""

_SATURATED: Final = 0xFFFFFFFF
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
_CENTRAL: Final = Struct("<16sIIIHH10sI")
_USUAL_HEAD: Final = b"PK\x01\x02" + _MADE_BY + _FIXED[20]
_CENTRAL_TAIL: Final = Struct("<HHHI").pack(0, 0, 0, 0o100644 << 16)
_END: Final = Struct("<4sHHHHIIH")
_ZIP64_END: Final = Struct("<4sQHHIIQQQQ")
_ZIP64_LOCATOR: Final = Struct("<4sIQI")
_FACTS: Final = 4 << 20  # bytes behind the tensors that are fetched together
_BEFORE: Final = 2 << 20  # bytes before a directory that is longer than what opening fetches
_LONGEST_END: Final = _END.size + 20 + _ZIP64_END.size
_LONGEST_RECORD: Final = _CENTRAL.size + MAX_NAME_BYTES + 28

Read = Callable[[int, int], memoryview]
"""Gives the bytes of the file between two positions that lie inside it."""


class ZipContainer:
    """An archive in one file."""

    is_one_file = True

    def __init__(self, source: Source, limit: int = ZIP64_LIMIT, name: str = "") -> None:
        self._source = source
        self.fetches = source.fetches
        self._limit = limit
        read = self._read_with_facts if self.fetches else source.view
        self._directory = read_directory(read, source.size, limit, name)
        self._listed = check_order(self._directory.names)
        if ALIGNMENT in self._directory.aligns[self._listed :]:
            raise damaged(f"{name or 'archive'}", "padding before a reserved entry", "none")
        self._checked = bytearray(len(self._directory.names))  # whose local headers have been compared
        if self.fetches:
            self._fetch_facts()

    def _read_with_facts(self, start: int, stop: int) -> memoryview:
        """Return bytes of a long directory, having fetched with them what lies before it."""
        first = max(start - _BEFORE, 0) if self._source.size - start > _BEFORE >> 3 else start
        return self._source.view(first, stop)[start - first :]

    def _fetch_facts(self) -> None:
        """Fetch the manifest, and all that lies behind the tensors where that is little, by one request."""
        directory = self._directory
        firsts = [at for at, align in enumerate(directory.aligns) if align == 1]
        start = directory.offsets[firsts[0]]
        if self._source.size - start > _FACTS:
            start = directory.offsets[self._listed]
        self._source.view(start, self._source.size)

    def reserved(self, name: str) -> bytes:
        """Return the bytes of the manifest, its digest or a signature; IntegrityError for a wrong CRC-32."""
        index = self._directory.names.index(name)
        check_reserved_size(name, self._directory.sizes[index])
        source, start = self.locate(index)
        self.check_header(index)
        data = bytes(source.view(start, start + self._directory.sizes[index]))
        if crc32(data) != self._directory.crcs[index]:
            raise IntegrityError(
                f"entry {name!r}: its bytes do not have the CRC-32 of the ZIP; the file is {DAMAGED}"
            )
        return data

    def signatures(self) -> list[str]:
        """Return the names of the signatures."""
        return self._directory.names[self._listed + 2 :]

    def with_signatures(self, held: Mapping[str, bytes]) -> tuple[int, bytes]:
        """Return how many bytes stay, and what follows them, with these signatures in the place of all."""
        last = self._listed + 1
        check_names([*self._directory.names[: last + 1], *held])
        records = [self._directory.entry(index) for index in range(last + 1)]
        kept = position = self._directory.starts[last] + self._directory.sizes[last]
        pieces = []
        for name, data in sorted(held.items()):
            records.append(ZipEntry(name.encode(), len(data), crc32(data), 1, position))
            pieces += [local_header(records[-1], self._limit), data]
            position += len(pieces[-2]) + len(data)
        return kept, b"".join([*pieces, central_directory(records, position, self._limit)])

    def match(self, listing: Listing) -> None:
        """Demand that the entries here and in the manifest are the same; called once, before `locate`."""
        directory, listed = self._directory, self._listed
        found = directory.names[:listed], directory.sizes[:listed], bytes(directory.aligns[:listed])
        if found != (listing.names, listing.sizes, listing.aligns):
            raise listing.difference(dict(zip(found[0], found[1], strict=True)))

    def locate(self, index: int) -> tuple[Source, int]:
        """Return where the bytes of a listed entry are, its local header having been checked.

        Where a header costs a request, it is checked by `check_header` alone: nothing is read from it.
        """
        if not self.fetches:
            self.check_header(index)
        return self._source, self._directory.starts[index]

    def check_header(self, index: int) -> None:
        """Raise ArchiveError unless the local header of an entry is as the directory says."""
        if not self._checked[index]:
            start = self._directory.starts[index]
            offset = self._directory.offsets[index]
            expected = local_header(self._directory.entry(index), self._limit)
            if self._source.view(offset, start) != expected:
                name = self._directory.names[index]
                raise damaged(
                    f"entry {name!r}, byte {offset}", "another local header", "the fields of the directory"
                )
            self._checked[index] = 1

    def check_crc(self, index: int, entry: EntryRecord) -> None:
        """Raise IntegrityError unless the ZIP and the manifest's `entry` give the same CRC-32."""
        expected, found = entry.crc, self._directory.crcs[index]
        if expected != found:
            raise IntegrityError(
                f"entry {self._directory.names[index]!r}: the ZIP gives CRC-32 {found:08x}, the manifest "
                f"{expected:08x}; the file was damaged or tampered with: get another copy"
            )

    def size(self) -> int:
        """Return how many bytes the archive takes."""
        return self._source.size

    def file_sha256(self) -> str | None:
        """Return the sha256 of all bytes of the file; None where all would have to be fetched again."""
        if self.fetches:
            return None
        size, view = self._source.size, self._source.view
        digest = sha256(view(0, min(CHUNK, size)))
        for start in range(CHUNK, size, CHUNK):
            digest.update(view(start, min(start + CHUNK, size)))
        return digest.hexdigest()

    def change_stamp(self) -> ChangeStamp:
        """Return the change stamp of the file."""
        return self._source.change_stamp()

    def close(self) -> None:
        """Release the file."""
        self._source.close()


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One entry as the ZIP sees it; `offset` is where its local header starts."""

    name: bytes
    size: int
    crc: int
    align: int
    offset: int


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
        """Return one entry, as the records describe it."""
        return ZipEntry(
            self.names[index].encode(),
            self.sizes[index],
            self.crcs[index],
            self.aligns[index],
            self.offsets[index],
        )


def read_directory(read: Read, size: int, limit: int = ZIP64_LIMIT, name: str = "") -> ZipDirectory:
    """Read the central directory of a file of `size` bytes, which errors call by `name`, where it has one.

    Raises ArchiveError when a record is not in canonical form, when records and bytes do
    not fill the file exactly, and for names that are illegal or collide.
    """
    in_file = f"{name}, " if name else ""
    count, start, length = _read_end(read, size, limit, f"{in_file}end of the archive")
    directory = _read_records(bytes(read(start, start + length)), count, limit, f"{in_file}central directory")
    _lay_out(directory, start, limit)
    check_names(directory.names)
    return directory


def _read_end(read: Read, size: int, limit: int, where: str) -> tuple[int, int, int]:
    """Return the number of records, and start and length of the central directory."""
    tail = bytes(read(max(0, size - _LONGEST_END), size))
    if len(tail) < _END.size or not tail[-_END.size :].startswith(b"PK\x05\x06"):
        raise damaged(
            where,
            f"{tail[-_END.size :][:4]!r}",
            "the end record of a ZIP in the last 22 bytes",
        )
    count, length, start = _END.unpack_from(tail, len(tail) - _END.size)[4:7]
    if len(tail) == _LONGEST_END and (count == 0xFFFF or _SATURATED in (length, start)):
        count, length, start = _ZIP64_END.unpack_from(tail)[7:]
    possible = max(count, start, length) <= size
    end = end_records(count, start, length, limit) if possible else b""
    if possible and (count > MAX_ENTRIES or length > count * _LONGEST_RECORD):
        raise damaged(
            where,
            f"a directory of {count} entries in {length} bytes",
            f"at most {MAX_ENTRIES} entries, of at most {_LONGEST_RECORD} bytes each",
        )
    if not possible or start + length + len(end) != size or not tail.endswith(end):
        raise damaged(
            where,
            f"end records for {count} entries and {length} bytes of directory at byte {start} of {size}",
            "canonical end records right behind the central directory",
        )
    return count, start, length


def _read_records(records: bytes, count: int, limit: int, where: str) -> ZipDirectory:
    """Read the records of the central directory one after another; layout and names come later."""
    if count * _CENTRAL.size > len(records):
        raise damaged(where, f"{len(records)} bytes for {count} records", "at least 46 for each")
    names: list[str] = []
    sizes, crcs, offsets = [], [], []
    position = 0
    for _ in range(count):
        size, crc, offset, name_end, after = _read_record(records, position, limit, where)
        name = records[position + _CENTRAL.size : name_end]
        try:
            names.append(name.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise damaged(f"{where}, byte {position}", f"the name {shown_name(name)}", "UTF-8") from error
        sizes.append(size)
        crcs.append(crc)
        offsets.append(offset)
        position = after
    if position != len(records):
        raise damaged(where, f"{len(records) - position} bytes behind the last record", "none")
    return ZipDirectory(names, sizes, crcs, [], offsets, [])


def _read_record(records: bytes, position: int, limit: int, where: str) -> tuple[int, int, int, int, int]:
    """Read one record: size, CRC-32, offset, where its name ends and where the next record starts."""
    after = name_end = position + _CENTRAL.size
    if after <= len(records):
        fields = _CENTRAL.unpack_from(records, position)
        head, crc, packed_size, size, name_length, extra_length, tail, offset = fields
        name_end += name_length
        after = name_end + extra_length
    if after > len(records):
        there = len(records) - position
        raise damaged(
            f"{where}, byte {position}",
            f"a record of {after - position} bytes",
            f"at most the {there} bytes that are left",
        )
    usual = head == _USUAL_HEAD and tail == _CENTRAL_TAIL and packed_size == size and not extra_length
    if not usual or size >= limit or offset >= limit:
        size, offset = _read_zip64(records, position, name_end, after, limit, where)
    return size, crc, offset, name_end, after


def _read_zip64(
    records: bytes, position: int, name_end: int, after: int, limit: int, where: str
) -> tuple[int, int]:
    """Return size and offset of a record with a ZIP64 field, which must be in canonical form."""
    _, crc, _, size, _, extra_length, _, offset = _CENTRAL.unpack_from(records, position)
    words = extra_length // 8 if extra_length in (12, 20, 28) else 0
    long = unpack_from(f"<4x{words}Q", records[name_end:after]) if words else ()
    if len(long) >= 2:
        size, offset = long[0], long[2] if len(long) == 3 else offset
    elif long:
        offset = long[0]
    entry = ZipEntry(records[position + _CENTRAL.size : name_end], size, crc, 1, offset)
    # One comparison stands for all the fields: signature, versions, flags, method, date, lengths,
    # attributes, ZIP64.
    if central_record(entry, limit) != records[position:after]:
        raise damaged(
            f"{where}, byte {position}",
            f"a record of entry {shown_name(entry.name)}",
            "the canonical record of this entry",
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
                f"it at byte {position}, right behind the entry before, with the header of its fields",
            )
        directory.aligns.append(1 if found == plain else ALIGNMENT)
        directory.starts.append(after - size)
        position = after
    if position != end:
        raise damaged("archive", f"{end} bytes before the central directory", "entries that fill these bytes")


def header_length(offset: int, name_length: int, size: int, align: int, limit: int = ZIP64_LIMIT) -> int:
    """Return how long the local header at `offset` is, padding included; the bytes of the entry follow it.

    >>> header_length(0, 3, 10, 1), header_length(0, 3, 10, 64), header_length(2, 25, 10, 64)
    (33, 64, 62)
    """
    length = _LOCAL.size + name_length + (20 if size >= limit else 0)
    if align == 1:
        return length
    return length + _SMALLEST_PADDING + -(offset + length + _SMALLEST_PADDING) % align


def local_header(entry: ZipEntry, limit: int = ZIP64_LIMIT) -> bytes:
    """Return the local header of an entry, with its name, ZIP64 field and padding."""
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
    """Return the record of an entry in the central directory."""
    long = [entry.size, entry.size] if entry.size >= limit else []
    if entry.offset >= limit:
        long.append(entry.offset)
    extra = Struct(f"<HH{len(long)}Q").pack(_ZIP64_FIELD, 8 * len(long), *long) if long else b""
    size = _short(entry.size, limit)
    head = b"PK\x01\x02" + _MADE_BY + _FIXED[_version(entry, limit)]
    offset = _short(entry.offset, limit)
    fields = (head, entry.crc, size, size, len(entry.name), len(extra), _CENTRAL_TAIL, offset)
    return _CENTRAL.pack(*fields) + entry.name + extra


def end_records(count: int, start: int, size: int, limit: int = ZIP64_LIMIT) -> bytes:
    """Return the end records for a central directory of `count` records and `size` bytes at `start`."""
    long = b""
    if count >= _COUNT_LIMIT or start >= limit or size >= limit:
        long = _ZIP64_END.pack(b"PK\x06\x06", _ZIP64_END.size - 12, 45, 45, 0, 0, count, count, size, start)
        long += _ZIP64_LOCATOR.pack(b"PK\x06\x07", 0, start + size, 1)
    short_count = min(count, _COUNT_LIMIT)
    short = (short_count, short_count, _short(size, limit), _short(start, limit))
    return long + _END.pack(b"PK\x05\x06", 0, 0, *short, 0)


def central_directory(entries: Sequence[ZipEntry], start: int, limit: int = ZIP64_LIMIT) -> bytes:
    """Return everything that follows the last entry: the central directory and the records at the end."""
    records = b"".join(central_record(entry, limit) for entry in entries)
    return records + end_records(len(entries), start, len(records), limit)


def _short(value: int, limit: int) -> int:
    return _SATURATED if value >= limit else value


def _version(entry: ZipEntry, limit: int) -> int:
    """Return the version needed to extract: 4.5 where a ZIP64 field stands in the central record."""
    return 45 if entry.size >= limit or entry.offset >= limit else 20
