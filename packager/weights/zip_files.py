"""Zip files of other programs (torch.save, torch.package, numpy.savez), read with bounds.

Stricter than most readers where a second meaning could hide, and no stricter than the writers of such
files: one directory, at the end; each name once; entries that lie one behind another and say of
themselves what the directory says of them; stored, or deflated to no more than what is said.
"""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from struct import Struct, unpack_from
from typing import IO, Final, NoReturn

from packager.archive import BoundedFile, Memory, Source, crc32
from packager.errors import LegacyFormatError
from packager.quick_dataclasses import dataclass

from .legacy_bounds import FREE_INFLATED, INFLATED_PER_BYTE, MAX_EXPANSION, MAX_ZIP_DIRECTORY
from .legacy_tensors import LegacyFile

ZIP_START: Final = b"PK\x03\x04"

_END: Final = Struct("<4sHHHHIIH")
_END64: Final = Struct("<4sQHHIIQQQQ")
_LOCATOR: Final = Struct("<4sIQI")
_CENTRAL: Final = Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL: Final = Struct("<4sHHHHHIIIHH")
_ENCRYPTED: Final = 0x2041  # encrypted, strongly encrypted, masked headers
_DESCRIPTOR: Final = 0x0008
_UTF8: Final = 0x0800
_STORED, _DEFLATED = 0, 8
_LONG: Final = 0xFFFFFFFF
_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One entry: `size` bytes once it is unpacked, `packed` in the file, from `start` on."""

    name: str
    size: int
    packed: int
    crc: int
    deflated: bool
    start: int


class ZipFile(Mapping[str, ZipMember]):
    """The entries of a zip file by name; their places have been checked, their bytes are not read.

    Raises LegacyFormatError for a directory that is damaged, lies, or says more than one thing.
    """

    def __init__(self, file: LegacyFile) -> None:
        self._file = file
        self._last: tuple[str, Source] | None = None  # the entry that was unpacked last
        self._inflated = 0  # bytes of deflated pickles so far
        records, count, start = self._directory()
        found = list(self._read_records(records))
        if len(found) != count:  # some readers go by the number, others by the length
            self._fail(f"the directory has {len(found)} records, and says that it has {count}")
        self._members = self._checked(found, start)

    def __getitem__(self, name: str) -> ZipMember:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def read(self, name: str, start: int = 0, stop: int | None = None) -> memoryview:
        """Return some bytes of an entry.

        A deflated entry is unpacked first, and no further than its size; the last one is kept.
        """
        member = self._members[name]
        stop = member.size if stop is None else stop
        if not 0 <= start <= stop <= member.size:
            self._fail(f"entry {name!r}: bytes {start} to {stop} were asked for; it has {member.size}")
        if not member.deflated:
            return self._file.read(member.start + start, member.start + stop)
        return self._unpacked(member).view(start, stop)

    def spend(self, name: str) -> None:
        """Count the bytes of a pickle that is read to its end, which takes time for each of them.

        Raises LegacyFormatError where deflated ones unpack to far more than the file has.
        """
        member = self._members[name]
        if member.deflated:
            self._inflated += member.size
            self._require_inflated(name, "a pickle", self._inflated)

    def require_inflated(self, name: str) -> None:
        """Raise LegacyFormatError for a deflated resource that unpacks to far more than the file has."""
        member = self._members[name]
        if member.deflated:
            self._require_inflated(name, "a resource", member.size)

    def _require_inflated(self, name: str, what: str, inflated: int) -> None:
        member, file = self._members[name], self._file
        most = FREE_INFLATED // file.one_of + INFLATED_PER_BYTE * file.size
        if inflated > most:
            self._fail(
                f"entry {name!r}: {member.packed} bytes unpack to {what} of {member.size}; the limit for "
                f"this file is {most}. torch.save deflates nothing: store it without compression"
            )

    def head(self, name: str, size: int) -> memoryview:
        """Return the first bytes of an entry, no more of which is unpacked; a deflated one is not checked."""
        member = self._members[name]
        size = min(size, member.size)
        if not (member.deflated and size):  # without a size, zlib unpacks all that there is
            return self._file.read(member.start, member.start + size)
        packed = self._file.read(member.start, member.start + min(member.packed, size + _CHUNK))
        try:
            return memoryview(zlib.decompressobj(-15).decompress(packed, size))
        except zlib.error as error:
            self._fail(f"entry {name!r} is damaged: {error}")

    def check(self, name: str) -> bool:
        """Return whether the bytes of an entry have the CRC-32 that the directory gives."""
        crc, size = 0, self._members[name].size
        for at in range(0, size, _CHUNK):
            crc = crc32(self.read(name, at, min(at + _CHUNK, size)), crc)
        return crc == self._members[name].crc

    def _directory(self) -> tuple[memoryview, int, int]:
        """Return the records of the directory, how many it says there are, and where it starts."""
        size = self._file.size
        if size < _END.size:
            self._fail(f"{size} bytes are no zip file")
        # The end record is the last thing in the file; a comment behind it could hide another one.
        end = self._file.read(size - _END.size, size)
        magic, disk, first, here, count, length, start, comment = _END.unpack(end)
        if magic != b"PK\x05\x06" or comment:
            self._fail(
                f"byte {size - _END.size}: found no end record; the file is cut short, or not only a zip"
            )
        stop = size - _END.size
        long = self._long_end(stop)
        if long is not None:
            # Either record may leave a field to the other by saturating it; where both have it they agree.
            shorts = ((here, 0xFFFF), (count, 0xFFFF), (length, _LONG), (start, _LONG))
            for (short, saturated), value in zip(shorts, long[1:], strict=True):
                if short not in (saturated, value):
                    self._fail("the two end records of the zip file contradict each other")
            stop, here, count, length, start = long
        if disk or first or here != count:
            self._fail("the zip file is one of several; join them first")
        if length > MAX_ZIP_DIRECTORY:
            self._fail(f"a directory of {length} bytes; at most {MAX_ZIP_DIRECTORY} are read")
        if start + length != stop or count * _CENTRAL.size > length:
            self._fail(f"the directory of {count} entries and {length} bytes does not end where it has to")
        return self._file.read(start, stop), count, start

    def _long_end(self, stop: int) -> tuple[int, int, int, int, int] | None:
        """Return where the directory ends, and its counts, length and start, of the ZIP64 end record."""
        if stop < _LOCATOR.size + _END64.size:
            return None
        magic, disk, place, disks = _LOCATOR.unpack(self._file.read(stop - _LOCATOR.size, stop))
        if magic != b"PK\x06\x07":
            return None
        if disk or disks != 1 or place + _END64.size != stop - _LOCATOR.size:
            self._fail("the ZIP64 end record is not where it has to be")
        magic, size, _, _, disk, first, here, count, length, start = _END64.unpack(
            self._file.read(place, place + _END64.size)
        )
        if magic != b"PK\x06\x06" or size != _END64.size - 12 or disk or first:
            self._fail(f"byte {place}: found no ZIP64 end record")
        return place, here, count, length, start

    def _read_records(self, records: memoryview) -> Iterator[tuple[ZipMember, int]]:
        """Yield each entry with its flags; `start` is still that of its header."""
        at = 0
        while at < len(records):
            if len(records) - at < _CENTRAL.size:
                self._fail("the directory ends inside a record")
            fields = _CENTRAL.unpack_from(records, at)
            magic, _, _, flags, method, _, _, crc, packed, size, name_size, extra_size, note_size = fields[
                :13
            ]
            disk, _, _, start = fields[13:]
            after = at + _CENTRAL.size + name_size + extra_size + note_size
            if magic != b"PK\x01\x02" or after > len(records) or disk:
                self._fail(f"the directory is damaged {at} bytes behind its start")
            name_end = at + _CENTRAL.size + name_size
            name = self._name(bytes(records[at + _CENTRAL.size : name_end]), flags)
            extra = bytes(records[name_end : name_end + extra_size])
            size, packed, start = self._long_fields(name, extra, size, packed, start)
            if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
                self._fail(
                    f"entry {name!r} is encrypted, or packed by method {method}; expected stored or deflated"
                )
            if size != packed if method == _STORED else size > packed * MAX_EXPANSION:
                self._fail(
                    f"entry {name!r}: {packed} bytes cannot hold {size}, {MAX_EXPANSION} for each at most"
                )
            yield ZipMember(name, size, packed, crc, method == _DEFLATED, start), flags
            at = after

    def _name(self, name: bytes, flags: int) -> str:
        try:
            text = name.decode("utf-8" if flags & _UTF8 else "ascii")
        except UnicodeDecodeError:
            try:  # zipfile writes UTF-8 with the flag; some writers forget it
                text = name.decode("utf-8")
            except UnicodeDecodeError:
                self._fail(f"an entry has the name {name[:80]!r}, which is no text")
        if not text or "\0" in text:
            self._fail(f"an entry has the name {text[:80]!r}")
        return text

    def _long_fields(
        self, name: str, extra: bytes, size: int, packed: int, start: int
    ) -> tuple[int, int, int]:
        """Return size, packed size and start, from the ZIP64 field where the record leaves them to it."""
        long = _extra_field(extra, 0x0001)
        wanted = [value == _LONG for value in (size, packed, start)]
        if any(wanted):
            if long is None or len(long) < 8 * sum(wanted):
                self._fail(f"entry {name!r}: its ZIP64 field is missing")
            values = iter(unpack_from(f"<{sum(wanted)}Q", long))
            size, packed, start = (
                next(values) if want else value
                for want, value in zip(wanted, (size, packed, start), strict=True)
            )
        return size, packed, start

    def _checked(self, found: list[tuple[ZipMember, int]], stop: int) -> dict[str, ZipMember]:
        """Return the entries in the order of the directory, with the places of their bytes."""
        members = {member.name: member for member, _ in found}
        if len(members) != len(found):
            twice = Counter(member.name for member, _ in found).most_common(1)[0][0]
            self._fail(f"entry {twice!r} is there twice")
        end = 0
        for member, flags in sorted(found, key=lambda pair: pair[0].start):
            if member.start < end:
                self._fail(f"entry {member.name!r} lies at byte {member.start}, inside the one before it")
            start = self._data_start(member, flags)
            end = start + member.packed
            if end > stop:
                self._fail(
                    f"entry {member.name!r} reaches byte {end}, behind the directory's start at {stop}"
                )
            members[member.name] = ZipMember(
                member.name, member.size, member.packed, member.crc, member.deflated, start
            )
        return members

    def _data_start(self, member: ZipMember, flags: int) -> int:
        """Return where an entry's bytes start; its own header must say what the directory says."""
        place = member.start
        if place + _LOCAL.size > self._file.size:
            self._fail(f"entry {member.name!r} starts at byte {place}, behind the end of the file")
        # Names are short, and padding goes up to 64 bytes: mostly one read is enough.
        head = bytes(self._file.read(place, min(place + 256, self._file.size)))
        header = _LOCAL.unpack_from(head)
        magic, _, own_flags, method, _, _, crc, packed, size, name_size, extra_size = header
        start = place + _LOCAL.size + name_size + extra_size
        if magic != ZIP_START or start > self._file.size:
            self._fail(f"byte {place}: found no header of entry {member.name!r}")
        if start - place > len(head):
            head = bytes(self._file.read(place, start))
        rest = head[_LOCAL.size : start - place]
        if _LONG in (packed, size) and (long := _extra_field(rest[name_size:], 0x0001)) and len(long) >= 16:
            size, packed = unpack_from("<2Q", long)
        # With a descriptor behind the bytes, the header may leave these out.
        open_fields = own_flags & _DESCRIPTOR and (crc, packed, size) == (0, 0, 0)
        same = open_fields or (crc, packed, size) == (member.crc, member.packed, member.size)
        if (
            self._name(rest[:name_size], own_flags) != member.name
            or method != (_DEFLATED if member.deflated else _STORED)
            or own_flags != flags
            or not same
        ):
            self._fail(f"byte {place}: the header of entry {member.name!r} contradicts the directory")
        return int(start)

    def _unpacked(self, member: ZipMember) -> Source:
        """Return the bytes of a deflated entry: in memory where they are few, else in an unnamed file."""
        last = self._last
        if last is None or last[0] != member.name:
            with io.BytesIO() if member.size <= _IN_MEMORY else tempfile.TemporaryFile() as target:
                self._unpack(member, target)
                target.flush()
                unpacked: Source = (
                    Memory(target.getvalue())
                    if isinstance(target, io.BytesIO)
                    else BoundedFile(os.dup(target.fileno()), self._file.name)
                )
            self._last = last = member.name, unpacked
        return last[1]

    def _unpack(self, member: ZipMember, target: IO[bytes]) -> None:
        machine = zlib.decompressobj(-15)
        crc = done = 0
        stop = member.start + member.packed
        try:
            for at in range(member.start, stop, _CHUNK):
                packed: bytes | memoryview = self._file.read(at, min(at + _CHUNK, stop))
                piece = b"more may wait inside"
                while packed or piece:
                    piece = machine.decompress(packed, _CHUNK)
                    packed = machine.unconsumed_tail
                    done += len(piece)
                    crc = crc32(piece, crc)
                    if done > member.size:
                        self._fail(f"entry {member.name!r} unpacks to more than its {member.size} bytes")
                    target.write(piece)
        except zlib.error as error:
            self._fail(f"entry {member.name!r} is damaged: {error}")
        if not machine.eof or machine.unused_data or done != member.size or crc != member.crc:
            self._fail(f"entry {member.name!r} is damaged: it does not unpack to what the directory says")

    def _fail(self, message: str) -> NoReturn:
        raise LegacyFormatError(f"{self._file.name}: {message}")


def _extra_field(extra: bytes, wanted: int) -> bytes | None:
    """Return the first field of this id among extra fields; padding that is no field ends them."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = unpack_from("<HH", extra, at)
        if kind == wanted and at + 4 + length <= len(extra):
            return extra[at + 4 : at + 4 + length]
        at += 4 + length
    return None
