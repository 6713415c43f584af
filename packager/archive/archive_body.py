"""The bytes of an archive as they are written: entries in their order, the manifest, the directory.

A buffer of tensors that is written is remembered, so that the same bytes need not be written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from packager.errors import ArchiveError
from packager.quick_dataclasses import dataclass, replace

from .bounds import CHUNK
from .copied_chunks import changed_size, copied_batches
from .entries import EntryRecord, Place, combined_crc, crc32, crcs_of, flat_view, sha256s_of
from .entry_names import DIGEST, MANIFEST, digest_line
from .manifest import Manifest, dump_manifest, load_manifest
from .output_files import BatchedFile, ChunkDigests, Digester, in_batches
from .zip_container import CRC_POSITION, ZipEntry, central_directory, local_header

SHARED_FROM: Final = 4096
"""How many bytes a buffer of tensors has at least, to be stored once where it is added several times."""

_SAMPLES: Final = 16
_SAMPLE: Final = 64  # bytes
_MOST_ALIKE: Final = 1024  # places that are remembered for one sample
_MOST_COMPARED: Final = 8  # of those, for one buffer: buffers that differ may be alike in their samples


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """An entry that waits to be written; `content` is a list of buffers of these sizes, or a stream."""

    name: str
    kind: str
    align: int
    size: int
    content: Iterable[Any]
    sizes: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry that is in the file; its digests may still be under way."""

    entry: PendingEntry
    offset: int
    digests: ChunkDigests


class ArchiveBody:
    """The bytes of one archive: `add` for entries in the order of the format and `settle`, then `finish`.

    `starts` says where the bytes of each entry of tensors begin.
    """

    def __init__(self, file: BatchedFile, digests: str, limit: int) -> None:
        self.starts: dict[str, int] = {}
        self._file = file
        self._digests = digests
        self._limit = limit
        self._unsettled: list[_Written] = []
        self._entries: list[EntryRecord] = []
        self._records: list[ZipEntry] = []
        self._shared: dict[tuple[int, int], list[Place]] = {}
        self._unsampled: dict[int, list[Place]] = {}
        self._unlisted: list[tuple[str, Sequence[int]]] = []

    def add(self, entry: PendingEntry, digester: Digester) -> None:
        """Write one entry. A large one is digested by other threads, and its CRC-32 patched in later."""
        offset = self._file.position
        if isinstance(entry.content, list) and entry.size <= CHUNK:
            digests = self._write_small(entry, _whole(entry))
        else:
            self._file.write(local_header(self._record(entry, offset, 0), self._limit))
            digests = self._write_large(entry, digester)
        self._unsettled.append(_Written(entry, offset, digests))
        if entry.kind == "tensors":
            self.starts[entry.name] = self._file.position - entry.size
            self._note(entry.name, entry.sizes)

    def leave_room(self, entry: PendingEntry, header: bytes, sizes: Sequence[int]) -> int:
        """Write where tensors begin, and go on behind them; return where in the file the entry starts."""
        offset = self._file.position
        self._file.write(local_header(self._record(entry, offset, 0), self._limit))
        start = self.starts[entry.name] = self._file.position
        self._file.write(header)
        self._unsettled.append(_Written(entry, offset, ChunkDigests()))
        self._file.leave_room(entry.size - len(header))
        self._note(entry.name, [len(header), *sizes])
        return start

    def settle_filled(self, digests: tuple[bytes, bytes]) -> None:
        """Take the digests of the entry that room was left for, and is written now."""
        self._unsettled[-1].digests.give(*digests)
        self.settle()

    def settle(self) -> None:
        """Wait for the digests of what was added; its buffers are not needed any more."""
        self._file.flush()
        for written in self._unsettled:
            entry, (crcs, sha256s) = written.entry, written.digests.result()
            self._entries.append(EntryRecord(entry.name, entry.kind, entry.size, entry.align, crcs, sha256s))
            self._records.append(self._record(entry, written.offset, combined_crc(crcs, entry.size)))
            if written.digests.late:
                crc = self._records[-1].crc.to_bytes(4, "little")
                self._file.patch(written.offset + CRC_POSITION, crc)
        self._unsettled.clear()

    def finish(self, manifest: Manifest) -> str:
        """Write everything that follows the entries, which are settled, and return the identity."""
        entries = tuple(self._entries)
        data = dump_manifest(replace(manifest, entries=entries, digests=self._digests))
        load_manifest(data).open()  # what a reader would refuse is never written
        identity = hashlib.sha256(data).hexdigest()
        records = [
            *self._records,
            self._write_reserved(MANIFEST, data),
            self._write_reserved(DIGEST, digest_line(identity)),
        ]
        self._file.write(central_directory(records, self._file.position, self._limit))
        self._file.end()
        return identity

    def mark(self) -> tuple[int, int]:
        """Return where what follows begins, for `go_back`: everything before is settled."""
        return len(self._records), self._file.position

    def go_back(self, mark: tuple[int, int]) -> None:
        """Forget what came after a mark, and write over it from now on; the file has it until then."""
        count, position = mark
        del self._entries[count:], self._records[count:]
        self._file.go_back(position)

    def map(self, places: list[Place]) -> list[memoryview]:
        """Map places in tensors that are settled."""
        whole = self._file.map()
        firsts = [self.starts[place.member] + place.start for place in places]
        return [whole[first : first + place.nbytes] for first, place in zip(firsts, places, strict=True)]

    def find(self, data: memoryview, used: Container[Place]) -> Place | None:
        """Return where these bytes lie in tensors that are settled."""
        self._list_all()
        if len(data) in self._unsampled:
            self._sample_all()
        free = (place for place in self._shared.get((len(data), _sample(data)), ()) if place not in used)
        for place in islice(free, _MOST_COMPARED):
            if self._file.holds(self.starts[place.member] + place.start, data):
                return place
        return None

    def places_of(self, size: int) -> list[tuple[Place, int]]:
        """Return where buffers of so many bytes lie, which what has the same bytes may refer to."""
        self._list_all()
        sampled = (
            place for (nbytes, _), places in self._shared.items() if nbytes == size for place in places
        )
        return [
            (place, self.starts[place.member] + place.start)
            for place in (*sampled, *self._unsampled.get(size, ()))
        ]

    def _note(self, name: str, sizes: Sequence[int]) -> None:
        """Remember where the buffers of tensors lie: what has the same bytes may refer to them."""
        self._unlisted.append((name, sizes))  # most archives have one save, and nothing is looked for

    def _list_all(self) -> None:
        for name, sizes in self._unlisted:
            start = 0
            for size in sizes:
                if start and size >= SHARED_FROM:  # the first is the header
                    self._unsampled.setdefault(size, []).append(Place(name, start, start + size))
                start += size
        self._unlisted.clear()

    def _sample_all(self) -> None:
        """Look at what lies in the file, now that something as long is added: most archives have one save."""
        with self._file.map() as whole:
            for size, places in self._unsampled.items():
                for place in places:
                    first = self.starts[place.member] + place.start
                    alike = self._shared.setdefault((size, _sample(whole[first : first + size])), [])
                    if len(alike) < _MOST_ALIKE:
                        alike.append(place)
        self._unsampled.clear()

    def _write_small(self, entry: PendingEntry, data: bytes) -> ChunkDigests:
        view = memoryview(data)
        crcs = crcs_of(view)
        record = self._record(entry, self._file.position, combined_crc(crcs, entry.size))
        self._file.write(local_header(record, self._limit))
        self._file.write(view)
        return ChunkDigests.known(crcs, sha256s_of(view) if self._wants_sha256(entry) else b"")

    def _write_large(self, entry: PendingEntry, digester: Digester) -> ChunkDigests:
        self._file.expect(entry.size)
        digests = ChunkDigests()
        with_sha256 = self._wants_sha256(entry)
        if entry.kind == "tensors" and isinstance(entry.content, list):
            for view, under_way in copied_batches(
                entry.name, entry.content, entry.sizes, digester, sha256=with_sha256
            ):
                digests.append(under_way)
                self._file.write(view)
                self._file.let_go()  # the memory of the one before is used again
            return digests
        for batch in in_batches(_exactly(entry)):
            digests.append(digester.submit(batch, sha256=with_sha256))
            for chunk in batch:
                for piece in chunk:
                    self._file.write(piece)
        return digests

    def _write_reserved(self, name: str, data: bytes) -> ZipEntry:
        record = ZipEntry(name.encode(), len(data), crc32(data), 1, self._file.position)
        self._file.write(local_header(record, self._limit))
        self._file.write(data)
        return record

    def _record(self, entry: PendingEntry, offset: int, crc: int) -> ZipEntry:
        return ZipEntry(entry.name.encode(), entry.size, crc, entry.align, offset)

    def _wants_sha256(self, entry: PendingEntry) -> bool:
        return self._digests == "sha256" or entry.align == 1


def _whole(entry: PendingEntry) -> bytes:
    """Return the content of a small entry, copied, as others may write to it while it is digested."""
    data = b"".join(entry.content)
    if len(data) != entry.size:
        raise changed_size(entry.name, 0, entry.size)
    return data


def _exactly(entry: PendingEntry) -> Iterator[memoryview]:
    """Yield the content of an entry, which must have the size that was said."""
    missing = entry.size
    for buffer in entry.content:
        view = flat_view(buffer)
        missing -= len(view)
        if missing < 0:
            break
        yield view
    if missing:
        found = "more" if missing < 0 else f"{entry.size - missing} bytes"
        raise ArchiveError(
            f"entry {entry.name!r}: its content has {found}; expected the {entry.size} bytes that were said"
        )


def _sample(data: memoryview) -> int:
    """Return a CRC-32 of some of the bytes, from all over: a first look at whether others are the same."""
    step = max(len(data) // _SAMPLES, _SAMPLE)
    return crc32(b"".join([data[at : at + _SAMPLE] for at in range(0, len(data), step)]))
