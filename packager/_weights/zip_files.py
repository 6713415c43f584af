"""Zip files of other programs (torch.save, torch.package, numpy.savez), by the standard library, with bounds.

`zipfile` reads the directory. What could hide a second meaning is checked here: one directory, at the end;
each name once; entries that lie one behind another and say of themselves what the directory says of them;
stored, or deflated to no more than what is said.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from struct import Struct, error, pack
from typing import IO, Final, NoReturn
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from packager._archive import BoundedFile, Memory, Source, crc32
from packager._byte_ranges import ByteRanges
from packager.errors import LegacyFormatError

from .legacy_bounds import FREE_INFLATED, INFLATED_PER_BYTE, MAX_EXPANSION, MAX_ZIP_DIRECTORY
from .legacy_tensors import LegacyFile

ZIP_START: Final = b"PK\x03\x04"

_END: Final = Struct("<4sHHHHIIH")
_LONG_END: Final = Struct("<4sQHHIIQQQQ4sIQI")  # the ZIP64 end record, and its locator
_RECORD: Final = 46  # bytes of a record of the directory, without its texts
_LOCAL: Final = Struct("<4sHHHHHIIIHH")
_ENCRYPTED: Final = 0x2041  # encrypted, strongly encrypted, masked headers
_DESCRIPTOR: Final = 0x0008
_LONG: Final = 0xFFFFFFFF
_SEVERAL: Final = "the zip file is one of several; join them first"
_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 4 << 20


class ZipFile(Mapping[str, ZipInfo]):
    """The entries of a zip file by name; their places have been checked, their bytes are not read.

    Raises LegacyFormatError for a directory that is damaged, lies, or says more than one thing.
    """

    def __init__(self, file: LegacyFile) -> None:
        self._file = file
        self._last: tuple[str, Source] | None = None  # the entry that was unpacked last
        self._inflated = 0  # bytes of deflated pickles so far
        count, start = self._directory()
        stream = io.BufferedReader(ByteRanges(file.read, file.size), _CHUNK)
        try:
            found = zipfile.ZipFile(stream, metadata_encoding="utf-8").infolist() if count else []
        except (zipfile.BadZipFile, NotImplementedError, ValueError, error) as problem:
            self._fail(f"the directory is damaged: {problem}")
        if len(found) != count:  # some readers go by the number, others by the length
            self._fail(f"the directory has {len(found)} records, and says that it has {count}")
        self._members: dict[str, ZipInfo] = {}
        for info in found:
            name = info.orig_filename  # UTF-8, with its flag or without: some writers forget it
            if not name or "\0" in name:
                self._fail(f"an entry has the name {name[:80]!r}")
            if name in self._members:
                self._fail(f"entry {name!r} is there twice")
            self._members[name] = info
            self._check(name, info)
        self._starts = self._places(start)

    def __getitem__(self, name: str) -> ZipInfo:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def read(self, name: str, start: int = 0, stop: int | None = None) -> memoryview:
        """Return some bytes of an entry.

        A deflated entry is unpacked first, and no further than its size; the last one is kept.
        """
        size, first = self._members[name].file_size, self._starts[name]
        stop = size if stop is None else stop
        if not 0 <= start <= stop <= size:
            self._fail(f"entry {name!r}: bytes {start} to {stop} were asked for; it has {size}")
        if not self._is_deflated(name):
            return self._file.read(first + start, first + stop)
        return self._unpacked(name).view(start, stop)

    def spend(self, name: str) -> None:
        """Count the bytes of a pickle that is read to its end, which takes time for each of them.

        Raises LegacyFormatError where deflated ones unpack to far more than the file has.
        """
        if self._is_deflated(name):
            self._inflated += self._members[name].file_size
            self._require_inflated(name, "a pickle", self._inflated)

    def require_inflated(self, name: str) -> None:
        """Raise LegacyFormatError for a deflated resource that unpacks to far more than the file has."""
        if self._is_deflated(name):
            self._require_inflated(name, "a resource", self._members[name].file_size)

    def _require_inflated(self, name: str, what: str, inflated: int) -> None:
        member, file = self._members[name], self._file
        most = FREE_INFLATED // file.one_of + INFLATED_PER_BYTE * file.size
        if inflated > most:
            self._fail(
                f"entry {name!r}: {member.compress_size} bytes unpack to {what} of {member.file_size}; the "
                f"limit for this file is {most}. torch.save deflates nothing: store it without compression"
            )

    def _is_deflated(self, name: str) -> bool:
        return self._members[name].compress_type == ZIP_DEFLATED

    def head(self, name: str, size: int) -> memoryview:
        """Return the first bytes of an entry, no more of which is unpacked; a deflated one is not checked."""
        member, start = self._members[name], self._starts[name]
        size = min(size, member.file_size)
        if not (self._is_deflated(name) and size):  # without a size, zlib unpacks all that there is
            return self._file.read(start, start + size)
        packed = self._file.read(start, start + min(member.compress_size, size + _CHUNK))
        try:
            return memoryview(zlib.decompressobj(-15).decompress(packed, size))
        except zlib.error as error:
            self._fail(f"entry {name!r} is damaged: {error}")

    def check(self, name: str) -> bool:
        """Return whether the bytes of an entry have the CRC-32 that the directory gives."""
        crc, size = 0, self._members[name].file_size
        for at in range(0, size, _CHUNK):
            crc = crc32(self.read(name, at, min(at + _CHUNK, size)), crc)
        return crc == self._members[name].CRC

    def _directory(self) -> tuple[int, int]:
        """Return how many records the directory has, as it says, and where it starts; it ends the file."""
        size = self._file.size
        if size < _END.size:
            self._fail(f"{size} bytes are no zip file")
        # The end record is the last thing in the file; a comment behind it could hide another one.
        stop = size - _END.size
        magic, disk, first, here, count, length, start, comment = _END.unpack(self._file.read(stop, size))
        if magic != b"PK\x05\x06" or comment:
            self._fail(
                f"byte {stop}: found no end record; the file is incomplete, or has bytes behind its ZIP: "
                "get another copy"
            )
        place = stop - _LONG_END.size
        if place >= 0 and bytes(self._file.read(stop - 20, stop - 16)) == b"PK\x06\x07":
            own, nbytes, _, _, *disks, long_here, long_count, long_length, long_start, _, on, said, parts = (
                _LONG_END.unpack(self._file.read(place, stop))
            )
            if (own, nbytes, *disks, on, said, parts) != (b"PK\x06\x06", 44, 0, 0, 0, place, 1):
                self._fail(f"byte {place}: found no ZIP64 end record of one file")
            # Either record may leave a field to the other by saturating it; where both have it they agree.
            short, long = (here, count, length, start), (long_here, long_count, long_length, long_start)
            saturated = 0xFFFF, 0xFFFF, _LONG, _LONG
            if any(one not in pair for one, *pair in zip(short, saturated, long, strict=True)):
                self._fail("the two end records of the zip file contradict each other")
            stop, here, count, length, start = place, *long
        if disk or first or here != count:
            self._fail(_SEVERAL)
        if length > MAX_ZIP_DIRECTORY:
            self._fail(f"a directory of {length} bytes; at most {MAX_ZIP_DIRECTORY} are read")
        if start + length != stop or count * _RECORD > length:
            self._fail(f"the directory of {count} entries and {length} bytes does not end where it has to")
        return count, start

    def _check(self, name: str, info: ZipInfo) -> None:
        """Raise LegacyFormatError for an entry in another file, of another method, or of another size."""
        size, packed, method = info.file_size, info.compress_size, info.compress_type
        if info.volume:
            self._fail(_SEVERAL)
        if info.flag_bits & _ENCRYPTED or method not in (ZIP_STORED, ZIP_DEFLATED):
            self._fail(
                f"entry {name!r} is encrypted, or packed by method {method}; expected stored or deflated"
            )
        if size != packed if method == ZIP_STORED else size > packed * MAX_EXPANSION:
            self._fail(f"entry {name!r}: {packed} bytes cannot hold {size}, {MAX_EXPANSION} for each at most")

    def _places(self, stop: int) -> dict[str, int]:
        """Return where the bytes of each entry start; no two entries overlap, nor one the directory."""
        starts, end = {}, 0
        for name, info in sorted(self._members.items(), key=lambda item: item[1].header_offset):
            if info.header_offset < end:
                self._fail(f"entry {name!r} lies at byte {info.header_offset}, inside the one before it")
            starts[name] = self._data_start(name, info)
            end = starts[name] + info.compress_size
            if end > stop:
                self._fail(f"entry {name!r} reaches byte {end}, behind the directory's start at {stop}")
        return starts

    def _data_start(self, name: str, info: ZipInfo) -> int:
        """Return where an entry's bytes start; its own header must say what the directory says."""
        place, file = info.header_offset, self._file
        behind = place + _LOCAL.size
        if behind > file.size:
            self._fail(f"entry {name!r} starts at byte {place}, behind the end of the file")
        magic, _, flags, method, _, _, *own, length, more = _LOCAL.unpack(file.read(place, behind))
        start = int(behind + length + more)
        if magic != ZIP_START or start > file.size:
            self._fail(f"byte {place}: found no header of entry {name!r}")
        text = bytes(file.read(behind, start))
        said = [info.CRC, info.compress_size, info.file_size]
        if _LONG in own[1:] and pack("<2Q", info.file_size, info.compress_size) in text[length:]:
            own[1:] = said[1:]  # both stand in its ZIP64 field
        if flags & _DESCRIPTOR and own == [0, 0, 0]:
            own = said  # they stand behind the bytes
        same = own == said and method == info.compress_type and flags == info.flag_bits
        if not same or text[:length] != name.encode("utf-8"):
            self._fail(f"byte {place}: the header of entry {name!r} contradicts the directory")
        return start

    def _unpacked(self, name: str) -> Source:
        """Return the bytes of a deflated entry: in memory where they are few, else in an unnamed file."""
        last = self._last
        if last is None or last[0] != name:
            with (
                io.BytesIO()
                if self._members[name].file_size <= _IN_MEMORY
                else tempfile.TemporaryFile() as target
            ):
                self._unpack(name, target)
                target.flush()
                unpacked: Source = (
                    Memory(target.getvalue())
                    if isinstance(target, io.BytesIO)
                    else BoundedFile(os.dup(target.fileno()), self._file.name)
                )
            self._last = last = name, unpacked
        return last[1]

    def _unpack(self, name: str, target: IO[bytes]) -> None:
        member, start = self._members[name], self._starts[name]
        machine = zlib.decompressobj(-15)
        crc = done = 0
        stop = start + member.compress_size
        try:
            for at in range(start, stop, _CHUNK):
                packed: bytes | memoryview = self._file.read(at, min(at + _CHUNK, stop))
                piece = b"more may wait inside"
                while packed or piece:
                    piece = machine.decompress(packed, _CHUNK)
                    packed = machine.unconsumed_tail
                    done += len(piece)
                    crc = crc32(piece, crc)
                    if done > member.file_size:
                        self._fail(f"entry {name!r} unpacks to more than its {member.file_size} bytes")
                    target.write(piece)
        except zlib.error as error:
            self._fail(f"entry {name!r} is damaged: {error}")
        if not machine.eof or machine.unused_data or done != member.file_size or crc != member.CRC:
            self._fail(f"entry {name!r} is damaged: it does not unpack to what the directory says")

    def _fail(self, message: str) -> NoReturn:
        raise LegacyFormatError(f"{self._file.name}: {message}")
