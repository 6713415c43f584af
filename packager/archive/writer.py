"""The writer: tensors as they come, then everything else in the order of the format, beside the target.

Tensors are written by `add`, so that they are what they were then; everything else by `seal`, so that it
does not matter in which order it was added. Sizes are known before the first byte is written; digests are
not, and the CRC-32 of a large entry is patched into its local header afterwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, Final

from packager.arguments import check_path
from packager.errors import ArchiveError
from packager.late_dataclasses import dataclass, replace

from .bounds import CHUNK
from .entries import ALIGNMENT, DIGESTS, KINDS, EntryRecord, Place, combined_crc, crc32, crcs_of, sha256s_of
from .entry_names import DIGEST, MANIFEST, check_name, check_names, digest_line, is_reserved
from .manifest import Manifest, dump_manifest, load_manifest
from .output_files import (
    BatchedFile,
    ChunkDigests,
    Digester,
    FileTarget,
    PathTarget,
    flat_view,
    in_batches,
    reported,
)
from .zip_container import CRC_POSITION, ZIP64_LIMIT, ZipEntry, central_directory, local_header

SHARED_FROM: Final = 4096
"""How many bytes a buffer of tensors has at least, to be stored once where it is added several times."""

_SAMPLES: Final = 16
_SAMPLE: Final = 64  # bytes
_MOST_ALIKE: Final = 1024  # places that are remembered for one sample
_MOST_COMPARED: Final = 8  # of those, for one buffer: buffers that differ may be alike in their samples


class ArchiveWriter:
    """Make one archive: `add` entries, then `seal`. Tensors stand in the order in which they were added.

    `target` is a path, or a binary file object, which then receives the finished archive in one go.
    Tensors are written to a temporary file when they are added, everything else by `seal`: buffers of it
    must keep their content until then and are not copied. Leaving the `with` block without sealing leaves
    nothing behind, and so does an error while writing, which ends the writer. One thread writes at a
    time, and no other process than the one that began.

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
        zip64_limit: int = ZIP64_LIMIT,
    ) -> None:
        """Check the target; nothing is created yet.

        `progress(done, total)` is called with bytes while they are written, of those that were added so
        far. `zip64_limit` is for tests; the reader must be given the same.
        """
        if digests not in DIGESTS:
            raise ValueError(f"digests={digests!r} is unknown; choose one of {', '.join(map(repr, DIGESTS))}")
        if isinstance(target, str | os.PathLike):
            check_path("target", target)
        self._target = (
            PathTarget(target, fsync=fsync) if isinstance(target, str | os.PathLike) else FileTarget(target)
        )
        self._digests = digests
        self._progress = progress
        self._limit = zip64_limit
        self._pending: dict[str, _Pending] | None = {}
        self._body: _Body | None = None
        self._owner: int | None = None
        self._total = 0

    def __contains__(self, name: object) -> bool:
        """Return whether an entry of this name was added."""
        return name in self._open()

    def add(self, name: str, content: Any, *, kind: str, align: int = 1, size: int | None = None) -> None:
        """Add an entry: one C-contiguous buffer, or an iterable of buffers written one after another.

        `kind` is one of `KINDS`; `align=64` for bytes that will be mapped. An iterable that is not a
        list or tuple needs its total `size` in bytes; it is consumed once, when it is written, and may not
        use a buffer again that it has handed out.

        Raises ArchiveError for a name that the format refuses or that was added before, and
        ValueError for other arguments; for tensors also what `seal` raises.
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
        entry = _Pending(name, kind, align, size, content)
        self._total += size
        if kind == "tensors":
            with self._writing() as body:
                self._write(body, [entry])
        pending[name] = replace(entry, content=()) if kind == "tensors" else entry

    @property
    def is_open(self) -> bool:
        """Whether anything can be added still."""
        return self._pending is not None

    def find(self, data: memoryview, used: Container[Place] = ()) -> Place | None:
        """Return where bytes lie that were written already, as a buffer of tensors, but for places in use.

        Whoever asks for as many as `SHARED_FROM` bytes may refer to that place instead of writing them again.
        """
        return None if self._body is None else self._body.find(data, used)

    def written(self, places: Iterable[Place]) -> list[memoryview]:
        """Map places in tensors that were added, read-only, all by one map, which outlives the writer.

        Raises ArchiveError for a place in something else, ArchiveIOError where nothing can be mapped.
        """
        asked = list(places)
        unknown = [place for place in asked if self._body is None or place.member not in self._body.starts]
        if unknown:
            raise ArchiveError(f"{unknown[0]}: no tensors of this name have been written")
        if self._body is None:
            return []
        with reported(self._target.name):
            return self._body.map(asked)

    def seal(self, manifest: Manifest, *, check: Callable[[str], None] | None = None) -> str:
        """Write the archive and return its identity, the sha256 of the manifest.

        `manifest.entries` and `manifest.digests` are filled in here. The target is replaced in one
        step after everything has reached the disk. `check` is called before that with the path of the whole
        archive; where it raises, nothing is left.

        Raises ArchiveError for names that collide, a manifest that cannot be stored, and content
        that has another size than was said; ArchiveIOError (also OSError, with errno) when the
        archive cannot be written. Then nothing is left behind and an old file is untouched.
        """
        pending = self._open()
        check_names([*pending, MANIFEST, DIGEST])
        dump_manifest(replace(manifest, entries=()))  # before anything is written
        with self._writing() as body:
            self._write(body, [pending[name] for name in sorted(pending) if pending[name].kind != "tensors"])
            identity = body.finish(manifest)
        try:
            self._target.finish(check)
        finally:
            self.abort()  # nothing of it is needed any more
        return identity

    def abort(self) -> None:
        """Forget everything that was added, and remove what has been written."""
        self._pending = self._body = None
        self._target.discard()

    def _open(self) -> dict[str, _Pending]:
        if self._pending is None:
            raise ValueError("the archive is sealed or aborted; make a new writer")
        return self._pending

    @contextlib.contextmanager
    def _writing(self) -> Iterator[_Body]:
        """Give the body, begun where there is none yet; an error ends the writer.

        Raises ArchiveError in a forked process: the file belongs to the one that began it.
        """
        if self._owner not in (None, os.getpid()):
            raise ArchiveError(
                f"{self._target.name}: process {os.getpid()} cannot write what process {self._owner} began; "
                "make another archive here, or save there"
            )
        try:
            if self._body is None:
                self._owner = os.getpid()
                file = BatchedFile(self._target.begin(), self._tell)
                self._body = _Body(file, self._digests, self._limit)
            with reported(self._target.name):
                yield self._body
        except BaseException:
            self.abort()
            raise

    def _write(self, body: _Body, entries: Iterable[_Pending]) -> None:
        with Digester(sha256=self._digests == "sha256") as digester:
            for entry in entries:
                body.add(entry, digester)
            body.settle()

    def _tell(self, position: int) -> None:
        if self._progress is not None:
            self._progress(min(position, self._total), self._total)

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

    def add(self, entry: _Pending, digester: Digester) -> None:
        """Write one entry. A large one is digested by other threads, and its CRC-32 patched in later."""
        offset = self._file.position
        if isinstance(entry.content, list) and entry.size <= CHUNK:
            digests = self._write_small(entry, b"".join(entry.content))
        else:
            self._file.write(local_header(self._record(entry, offset, 0), self._limit))
            digests = self._write_large(entry, digester)
        self._unsettled.append(_Written(entry, offset, digests))
        if entry.kind == "tensors":
            self.starts[entry.name] = self._file.position - entry.size
            self._note(entry)

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
        self._file.flush()
        return identity

    def map(self, places: list[Place]) -> list[memoryview]:
        """Map places in tensors that are settled."""
        whole = self._file.map()
        firsts = [self.starts[place.member] + place.start for place in places]
        return [whole[first : first + place.nbytes] for first, place in zip(firsts, places, strict=True)]

    def find(self, data: memoryview, used: Container[Place]) -> Place | None:
        """Return where these bytes lie in tensors that are settled."""
        if len(data) in self._unsampled:
            self._sample_all()
        free = (place for place in self._shared.get((len(data), _sample(data)), ()) if place not in used)
        for place in islice(free, _MOST_COMPARED):
            if self._file.holds(self.starts[place.member] + place.start, data):
                return place
        return None

    def _note(self, entry: _Pending) -> None:
        """Remember where the buffers of tensors lie: what has the same bytes may refer to them."""
        start = 0
        for buffer in entry.content if isinstance(entry.content, list) else ():
            size = len(buffer)
            if start and size >= SHARED_FROM:  # the first is the header
                self._unsampled.setdefault(size, []).append(Place(entry.name, start, start + size))
            start += size

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

    def _write_small(self, entry: _Pending, data: bytes) -> ChunkDigests:
        view = memoryview(data)
        crcs = crcs_of(view)
        record = self._record(entry, self._file.position, combined_crc(crcs, entry.size))
        self._file.write(local_header(record, self._limit))
        self._file.write(view)
        return ChunkDigests.known(crcs, sha256s_of(view) if self._wants_sha256(entry) else b"")

    def _write_large(self, entry: _Pending, digester: Digester) -> ChunkDigests:
        digests = ChunkDigests()
        with_sha256 = self._wants_sha256(entry)
        # Others may write to the memory of tensors meanwhile: what is digested has to be what is written.
        is_watched = entry.kind == "tensors" and isinstance(entry.content, list)
        for batch in in_batches(_exactly(entry)):
            if is_watched:
                batch = [[memoryview(b"".join(chunk))] for chunk in batch]
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


def _sample(data: memoryview) -> int:
    """Return a CRC-32 of some of the bytes, from all over: a first look at whether others are the same."""
    step = max(len(data) // _SAMPLES, _SAMPLE)
    return crc32(b"".join([data[at : at + _SAMPLE] for at in range(0, len(data), step)]))


def _is_buffer(content: Any) -> bool:
    try:
        memoryview(content).release()
    except TypeError:
        return False
    return True
