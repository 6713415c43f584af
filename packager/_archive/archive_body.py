"""The bytes of an archive as they are written: entries in their order, the manifest, the directory.

A buffer of tensors that is written is remembered, so that the same bytes need not be written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from packager._quick_dataclasses import dataclass, replace
from packager.errors import ArchiveError

from .bounds import CHUNK
from .entries import EntryRecord, Place, combined_crc, crc32, crcs_of, flat_view, sha256s_of
from .entry_names import DIGEST, MANIFEST, digest_line
from .manifest import Manifest, dump_manifest, load_manifest
from .output_files import OutputFile
from .zip_container import ZipEntry, central_directory, header_length, local_header

SHARED_FROM: Final = 4096
"""How many bytes a buffer of tensors has at least, to be stored once where it is added several times."""

Sign = Callable[[Manifest, str], Mapping[str, bytes]]
"""Makes the signatures, by name, of an archive with this manifest and identity."""

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


class ArchiveBody:
    """The bytes of one archive: `add` for entries in the order of the format, then `finish`.

    `starts` says where the bytes of each entry of tensors begin.
    """

    def __init__(self, file: OutputFile, digests: str, limit: int) -> None:
        self.starts: dict[str, int] = {}
        self._file = file
        self._digests = digests
        self._limit = limit
        self._entries: list[EntryRecord] = []
        self._records: list[ZipEntry] = []
        self._shared: dict[tuple[int, int], list[Place]] = {}
        self._unsampled: dict[int, list[Place]] = {}
        self._unlisted: list[tuple[str, Sequence[int]]] = []

    def add(self, entry: PendingEntry) -> None:
        """Write one entry; its buffers are not needed any more. A large one is written on all cores."""
        with_sha256 = self._digests == "sha256" or entry.align == 1
        chunks = _chunks_of(entry)
        if entry.size <= CHUNK:
            data = b"".join(chain.from_iterable(chunks))  # copied, as others may write to it meanwhile
            self._list(entry, crcs_of(memoryview(data)), sha256s_of(memoryview(data)) if with_sha256 else b"")
            self._file.write(data)
        else:
            header = self._leave_header(entry)
            self._list(entry, *self._file.write_chunks(chunks, entry.size, sha256=with_sha256), header)
        if entry.kind == "tensors":
            self._file.flush()
            self._note(entry.name, self._file.position - entry.size, entry.sizes)

    def leave_room(self, entry: PendingEntry, header: bytes) -> tuple[int, int]:
        """Leave room for tensors that others write behind `header`; return where their entry begins.

        The first place is that of the local header, which `fill` needs, the second that of the bytes.
        """
        offset = self._leave_header(entry)
        start = self._file.position
        self._file.write(header)
        self._file.leave_room(entry.size - len(header))
        return offset, start

    def fill(self, entry: PendingEntry, offset: int, digests: tuple[bytes, bytes]) -> None:
        """Take the digests of the entry that room was left for, and is written now."""
        self._list(entry, *digests, offset)
        self._note(entry.name, self._file.position - entry.size, entry.sizes)

    def finish(self, manifest: Manifest, sign: Sign | None = None) -> str:
        """Write everything that follows the entries, and return the identity."""
        entries = tuple(self._entries)
        tensors = any(entry.kind == "tensors" for entry in entries)
        digests = self._digests if tensors else "sha256"  # as all have one then
        data = dump_manifest(replace(manifest, entries=entries, digests=digests))
        whole = load_manifest(data).open()  # what a reader would refuse is never written
        identity = hashlib.sha256(data).hexdigest()
        records = [
            *self._records,
            self._write_reserved(MANIFEST, data),
            self._write_reserved(DIGEST, digest_line(identity)),
        ]
        for name, signature in sorted(sign(whole, identity).items()) if sign is not None else ():
            records.append(self._write_reserved(name, signature))
        self._file.write(central_directory(records, self._file.position, self._limit))
        self._file.end()
        return identity

    def mark(self) -> tuple[int, int]:
        """Return where what follows begins, for `go_back`; everything before is in the file."""
        self._file.flush()
        return len(self._records), self._file.position

    def go_back(self, mark: tuple[int, int]) -> None:
        """Forget what came after a mark, and write over it from now on; the file has it until then."""
        count, position = mark
        del self._entries[count:], self._records[count:]
        self._file.go_back(position)

    def map(self, places: list[Place]) -> list[memoryview]:
        """Map places in tensors that were added."""
        whole = self._file.map()
        firsts = [self.starts[place.member] + place.start for place in places]
        return [whole[first : first + place.nbytes] for first, place in zip(firsts, places, strict=True)]

    def find(self, data: memoryview, used: Container[Place]) -> Place | None:
        """Return where these bytes lie in tensors that were added."""
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

    def _note(self, name: str, start: int, sizes: Sequence[int]) -> None:
        """Remember where the buffers of tensors lie: what has the same bytes may refer to them."""
        self.starts[name] = start
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

    def _leave_header(self, entry: PendingEntry) -> int:
        """Leave room for a local header, whose CRC-32 is not known yet; return where it stands."""
        offset = self._file.position
        self._file.leave_room(
            header_length(offset, len(entry.name.encode()), entry.size, entry.align, self._limit)
        )
        return offset

    def _list(self, entry: PendingEntry, crcs: bytes, sha256s: bytes, offset: int | None = None) -> None:
        """List an entry by its digests, and write its local header: here, or where room was left for it."""
        self._entries.append(EntryRecord(entry.name, entry.kind, entry.size, entry.align, crcs, sha256s))
        here = self._file.position if offset is None else offset
        crc = combined_crc(crcs, entry.size)
        self._records.append(ZipEntry(entry.name.encode(), entry.size, crc, entry.align, here))
        header = local_header(self._records[-1], self._limit)
        if offset is None:
            self._file.write(header)
        else:
            self._file.patch(offset, header)

    def _write_reserved(self, name: str, data: bytes) -> ZipEntry:
        record = ZipEntry(name.encode(), len(data), crc32(data), 1, self._file.position)
        self._file.write(local_header(record, self._limit))
        self._file.write(data)
        return record


def _chunks_of(entry: PendingEntry) -> Iterator[list[memoryview]]:
    """Yield the pieces of each chunk of an entry, which must have the size that was said."""
    pieces: list[memoryview] = []
    missing, left = CHUNK, entry.size
    for buffer in entry.content:
        view = flat_view(buffer)
        left -= len(view)
        if left < 0:
            break
        while len(view) >= missing:
            yield [*pieces, view[:missing]]
            view, pieces, missing = view[missing:], [], CHUNK
        if len(view):
            pieces.append(view)
            missing -= len(view)
    if left:
        found = "more" if left < 0 else f"{entry.size - left} bytes"
        raise ArchiveError(
            f"entry {entry.name!r}: its content has {found}; expected the {entry.size} bytes that were said"
        )
    if pieces:
        yield pieces


def _sample(data: memoryview) -> int:
    """Return a CRC-32 of some of the bytes, from all over: a first look at whether others are the same."""
    step = max(len(data) // _SAMPLES, _SAMPLE)
    return crc32(b"".join([data[at : at + _SAMPLE] for at in range(0, len(data), step)]))
