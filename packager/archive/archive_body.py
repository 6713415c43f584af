"""The bytes of one archive, in the order of the format: entries, manifest, digest, central directory."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from packager.errors import ArchiveError

from .digests import CHUNK, combined_crc, crc32, crcs_of, sha256s_of
from .entry_names import DIGEST, MANIFEST, digest_line
from .listing import EntryRecord
from .manifest import Manifest, dump_manifest, load_manifest
from .output import BatchedFile, ChunkDigests, Digester, flat_view, in_batches
from .zip_records import CRC_POSITION, ZipEntry, central_directory, local_header

__all__ = ["ArchiveBody", "PendingEntry"]


@dataclass(frozen=True, slots=True)
class PendingEntry:
    """An entry that waits to be written; `content` is a list of flat views, or a stream of buffers."""

    name: str
    kind: str
    align: int
    size: int
    content: Iterable[Any]


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry that is in the file; its digests may still be under way."""

    entry: PendingEntry
    offset: int
    digests: ChunkDigests


class ArchiveBody:
    """Writes an archive's bytes: `add` for each entry in order, then `finish`."""

    def __init__(self, file: BatchedFile, digester: Digester, digests: str, limit: int) -> None:
        self._file = file
        self._digester = digester
        self._digests = digests
        self._limit = limit
        self._written: list[_Written] = []

    def add(self, entry: PendingEntry) -> None:
        """Write one entry. A large one is digested by other threads, and its CRC-32 patched in later."""
        offset = self._file.position
        if isinstance(entry.content, list) and entry.size <= CHUNK:
            digests = self._write_small(entry, b"".join(entry.content))
        else:
            self._file.write(local_header(self._record(entry, offset, 0), self._limit))
            digests = self._write_large(entry)
        self._written.append(_Written(entry, offset, digests))

    def finish(self, manifest: Manifest) -> str:
        """Wait for the digests, write everything that follows the entries, and return the identity."""
        self._file.flush()
        entries, records = [], []
        for written in self._written:
            entry, (crcs, sha256s) = written.entry, written.digests.result()
            entries.append(EntryRecord(entry.name, entry.kind, entry.size, entry.align, crcs, sha256s))
            records.append(self._record(entry, written.offset, combined_crc(crcs, entry.size)))
            if written.digests.late:
                self._file.patch(written.offset + CRC_POSITION, records[-1].crc.to_bytes(4, "little"))
        data = dump_manifest(dataclasses.replace(manifest, entries=tuple(entries), digests=self._digests))
        load_manifest(data).open()  # what a reader would refuse is never written
        identity = hashlib.sha256(data).hexdigest()
        records += [self._write_reserved(MANIFEST, data), self._write_reserved(DIGEST, digest_line(identity))]
        self._file.write(central_directory(records, self._file.position, self._limit))
        self._file.flush()
        return identity

    def _write_small(self, entry: PendingEntry, data: bytes) -> ChunkDigests:
        view = memoryview(data)
        crcs = crcs_of(view)
        record = self._record(entry, self._file.position, combined_crc(crcs, entry.size))
        self._file.write(local_header(record, self._limit))
        self._file.write(view)
        return ChunkDigests.known(crcs, sha256s_of(view) if self._wants_sha256(entry) else b"")

    def _write_large(self, entry: PendingEntry) -> ChunkDigests:
        digests = ChunkDigests()
        with_sha256 = self._wants_sha256(entry)
        for batch in in_batches(_exactly(entry)):
            digests.append(self._digester.submit(batch, sha256=with_sha256))
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


def _exactly(entry: PendingEntry) -> Iterator[memoryview]:
    """The content of an entry, which must have the size that was said."""
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
