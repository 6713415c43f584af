"""The writer: collects entries, then writes one canonical archive beside the target and renames it.

Everything is written by `seal`, in the order of the format, so that it does not matter in which
order entries were added. Sizes are known before the first byte is written; digests are not, and the
CRC-32 of a large entry is patched into its local header afterwards.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO

from packager.arguments import check_path
from packager.errors import ArchiveError

from .bounds import CHUNK
from .entries import ALIGNMENT, DIGESTS, KINDS, EntryRecord, combined_crc, crc32, crcs_of, sha256s_of
from .entry_names import DIGEST, MANIFEST, check_name, check_names, digest_line, is_reserved
from .manifest import Manifest, dump_manifest, load_manifest
from .output_files import BatchedFile, ChunkDigests, Digester, FileTarget, PathTarget, flat_view, in_batches
from .zip_container import CRC_POSITION, ZIP64_LIMIT, ZipEntry, central_directory, local_header


class ArchiveWriter:
    """Make one archive: `add` entries in any order, then `seal`.

    `target` is a path, or a binary file object, which then receives the finished archive in one go.
    Nothing is written before `seal`; buffers given to `add` must keep their content until then and
    are not copied. Leaving the `with` block without sealing writes nothing.

    `digests="crc"` leaves out the sha256 of aligned (tensor) entries, which is faster; the
    archive's identity then does not cover the tensors. `fsync=False` skips waiting for the disk.

    Raises ArchiveIOError for a target that cannot be written to, ValueError for unknown `digests`.

    >>> import io
    >>> file = io.BytesIO()
    >>> with ArchiveWriter(file) as writer:
    ...     writer.add("net/__init__.py", b"", kind="source")
    ...     identity = writer.seal(Manifest())
    >>> file.getvalue()[:4]
    b'PK\\x03\\x04'
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        digests: str = "sha256",
        fsync: bool = True,
        progress: Callable[[int, int], None] | None = None,
        check: Callable[[str], None] | None = None,
        zip64_limit: int = ZIP64_LIMIT,
    ) -> None:
        """Check the target; nothing is created yet.

        `progress(done, total)` is called with bytes while they are written, `check(path)` with the whole
        archive before it takes its name, or is copied to a file object: where it raises, nothing is left.
        `zip64_limit` is for
        tests; the reader must be given the same.
        """
        if digests not in DIGESTS:
            raise ValueError(f"digests={digests!r} is unknown; choose one of {', '.join(map(repr, DIGESTS))}")
        if isinstance(target, str | os.PathLike):
            check_path("target", target)
        self._target = (
            PathTarget(target, fsync=fsync, check=check)
            if isinstance(target, (str, os.PathLike))
            else FileTarget(target, check=check)
        )
        self._digests = digests
        self._progress = progress
        self._limit = zip64_limit
        self._pending: dict[str, _Pending] | None = {}

    def __contains__(self, name: object) -> bool:
        """Return whether an entry of this name was added."""
        return name in self._open()

    def add(self, name: str, content: Any, *, kind: str, align: int = 1, size: int | None = None) -> None:
        """Add an entry: one C-contiguous buffer, or an iterable of buffers written one after another.

        `kind` is one of `KINDS`; `align=64` for bytes that will be mapped. An iterable that is not a
        list or tuple needs its total `size` in bytes; it is consumed once, by `seal`, and may not
        use a buffer again that it has handed out.

        Raises ArchiveError for a name that the format refuses or that was added before, and
        ValueError for other arguments.
        """
        pending = self._open()
        check_name(name)
        if name in pending or is_reserved(name):
            reason = "was added before" if name in pending else "belongs to the manifest and its signatures"
            raise ArchiveError(f"entry {name!r}: this name {reason}; choose another one")
        if kind not in KINDS or align not in (1, ALIGNMENT) or (kind == "tensors" and align == 1):
            raise ValueError(
                f"entry {name!r}: kind {kind!r} with align={align} cannot be; kinds are {', '.join(KINDS)}, "
                f"alignments 1 and {ALIGNMENT}, and tensors must be aligned"
            )
        if align != 1 and kind != "tensors" and self._digests != "sha256":
            raise ValueError(
                f"entry {name!r}: kind {kind!r} with align={align} has no sha256 in an archive written with "
                'digests="crc", and only tensors are read without; take align=1 or digests="sha256"'
            )
        if isinstance(content, (list, tuple)):
            content = [flat_view(buffer) for buffer in content]
        elif not isinstance(content, Iterable) or _is_buffer(content):
            content = [flat_view(content)]
        if isinstance(content, list):
            found = sum(map(len, content))
            if size not in (None, found):
                raise ValueError(f"entry {name!r}: its buffers have {found} bytes; size={size} was given")
            size = found
        if size is None:
            raise ValueError(f"entry {name!r}: the content is an iterable; give its size in bytes")
        pending[name] = _Pending(name, kind, align, size, content)

    def seal(self, manifest: Manifest) -> str:
        """Write the archive and return its identity, the sha256 of the manifest.

        `manifest.entries` and `manifest.digests` are filled in here. The target is replaced in one
        step after everything has reached the disk.

        Raises ArchiveError for names that collide, a manifest that cannot be stored, and content
        that has another size than was said; ArchiveIOError (also OSError, with errno) when the
        archive cannot be written. Then nothing is left behind and an old file is untouched.
        """
        pending = self._open()
        ordered = [pending[name] for name in sorted(pending)]
        check_names([*pending, MANIFEST, DIGEST])
        dump_manifest(dataclasses.replace(manifest, entries=()))  # before anything is written
        total = sum(entry.size for entry in ordered)
        report = self._progress or (lambda done, total: None)
        with self._target.open() as descriptor, Digester(sha256=self._digests == "sha256") as digester:
            file = BatchedFile(descriptor, lambda done: report(min(done, total), total))
            body = _Body(file, digester, self._digests, self._limit)
            for entry in ordered:
                body.add(entry)
            identity = body.finish(manifest)
        self._pending = None
        return identity

    def abort(self) -> None:
        """Forget everything that was added. Nothing has been written."""
        self._pending = None

    def _open(self) -> dict[str, _Pending]:
        if self._pending is None:
            raise ValueError("the archive is sealed or aborted; make a new writer")
        return self._pending

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()


@dataclass(frozen=True, slots=True)
class _Pending:
    """An entry that waits to be written; `content` is a list of flat views, or a stream of buffers."""

    name: str
    kind: str
    align: int
    size: int
    content: Iterable[Any]


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry that is in the file; its digests may still be under way."""

    entry: _Pending
    offset: int
    digests: ChunkDigests


class _Body:
    """The bytes of one archive, in the order of the format: `add` for each entry in order, then `finish`."""

    def __init__(self, file: BatchedFile, digester: Digester, digests: str, limit: int) -> None:
        self._file = file
        self._digester = digester
        self._digests = digests
        self._limit = limit
        self._written: list[_Written] = []

    def add(self, entry: _Pending) -> None:
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

    def _write_small(self, entry: _Pending, data: bytes) -> ChunkDigests:
        view = memoryview(data)
        crcs = crcs_of(view)
        record = self._record(entry, self._file.position, combined_crc(crcs, entry.size))
        self._file.write(local_header(record, self._limit))
        self._file.write(view)
        return ChunkDigests.known(crcs, sha256s_of(view) if self._wants_sha256(entry) else b"")

    def _write_large(self, entry: _Pending) -> ChunkDigests:
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

    def _record(self, entry: _Pending, offset: int, crc: int) -> ZipEntry:
        return ZipEntry(entry.name.encode(), entry.size, crc, entry.align, offset)

    def _wants_sha256(self, entry: _Pending) -> bool:
        return self._digests == "sha256" or entry.align == 1


def _exactly(entry: _Pending) -> Iterator[memoryview]:
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


def _is_buffer(content: Any) -> bool:
    try:
        memoryview(content).release()
    except TypeError:
        return False
    return True
