"""The writer: tensors as they come, then everything else in the order of the format, beside the target.

Tensors are written by `add`, so that they are what they were then; everything else by `seal`, so that it
does not matter in which order it was added. Sizes are known before the first byte is written; digests are
not, and the CRC-32 of a large entry is patched into its local header afterwards.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, BinaryIO

from packager._arguments import check_path
from packager._quick_dataclasses import replace
from packager.errors import ArchiveError, ArgumentError

from .archive_body import ArchiveBody, PendingEntry, Sign
from .entries import ALIGNMENT, DIGESTS, KINDS, Place, flat_view
from .entry_names import DIGEST, MANIFEST, check_name, check_names, is_reserved
from .manifest import Manifest, dump_manifest
from .output_files import (
    FileTarget,
    OutputFile,
    PathTarget,
    reported,
)
from .zip_container import ZIP64_LIMIT


class ArchiveWriter:
    """Make one archive: `add` entries, then `seal`. Tensors stand in the order in which they were added.

    `target` is a path, or a binary file object, which then receives the finished archive in one go.
    Tensors are written to a temporary file when they are added, everything else by `seal`: buffers of it
    must keep their content until then and are not copied. Leaving the `with` block without sealing leaves
    nothing behind, and so does an error while writing, which ends the writer. One thread writes at a
    time, and no other process than the one that began.

    `digests="crc"` leaves out the sha256 of aligned (tensor) entries, which is faster; the
    archive's identity then does not cover the tensors. `fsync=False` skips waiting for the disk.

    Raises ArchiveIOError for a target that cannot be written to, ArgumentError for unknown `digests`.

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
            raise ArgumentError(
                f"digests={digests!r} is unknown; choose one of {', '.join(map(repr, DIGESTS))}"
            )
        if isinstance(target, str | os.PathLike):
            check_path("target", target)
        self._target = (
            PathTarget(target, fsync=fsync) if isinstance(target, str | os.PathLike) else FileTarget(target)
        )
        self._digests = digests
        self._progress = progress
        self._limit = zip64_limit
        self._pending: dict[str, PendingEntry] | None = {}
        self._body: ArchiveBody | None = None
        self._owner: int | None = None
        self._total = 0

    def __contains__(self, name: object) -> bool:
        """Return whether an entry of this name was added."""
        return name in self._open()

    def add(self, name: str, content: object, *, kind: str, align: int = 1, size: int | None = None) -> None:
        """Add an entry: one C-contiguous buffer, or an iterable of buffers written one after another.

        `kind` is one of `KINDS`; `align=64` for bytes that will be mapped. An iterable that is not a
        list or tuple needs its total `size` in bytes; it is consumed once, when it is written, and may not
        use a buffer again that it has handed out.

        Raises ArchiveError for a name that the format refuses or that was added before, and
        ValueError for other arguments; for tensors also what `seal` raises.
        """
        pending = self._open()
        self._check_free(name)
        if kind not in KINDS or align not in (1, ALIGNMENT) or (kind == "tensors" and align == 1):
            raise ValueError(
                f"entry {name!r}: kind {kind!r} with align={align} is not allowed; kinds are "
                f"{', '.join(KINDS)}, alignments 1 and {ALIGNMENT}, and tensors must be aligned"
            )
        if align != 1 and kind != "tensors" and self._digests != "sha256":
            raise ValueError(
                f"entry {name!r}: kind {kind!r} with align={align} has no sha256 in an archive written with "
                'digests="crc", and only tensors are read without; take align=1 or digests="sha256"'
            )
        sizes: Sequence[int] = ()
        if isinstance(content, (list, tuple)) or not isinstance(content, Iterable) or _is_buffer(content):
            buffers = content if isinstance(content, (list, tuple)) else [content]
            content = list(map(flat_view, buffers))
            sizes = list(map(len, content))
            found = sum(sizes)
            if size not in (None, found):
                raise ValueError(f"entry {name!r}: its buffers have {found} bytes; size={size} was given")
            size = found
        if size is None:
            raise ValueError(f"entry {name!r}: the content is an iterable; give its size in bytes")
        entry = PendingEntry(name, kind, align, size, content, sizes)
        self._total += size
        if kind == "tensors":
            with self._writing() as body:
                body.add(entry)
        pending[name] = replace(entry, content=()) if kind == "tensors" else entry

    def add_filled(
        self, name: str, header: bytes, sizes: Sequence[int], fill: Callable[[str, int], tuple[bytes, bytes]]
    ) -> None:
        """Add tensors that others write into the file: `header`, and behind it buffers of these sizes.

        `fill` is called with the path of the unfinished file and where in it the entry starts. It has the
        buffers written, and returns CRC-32 and sha256 of all chunks of the entry, as `EntryRecord` has them.

        Raises ArchiveError for a name as `add` does, and ArchiveIOError; what `fill` raises goes through, and
        is the end of the writer.
        """
        pending = self._open()
        self._check_free(name)
        sizes = [len(header), *sizes]
        entry = PendingEntry(name, "tensors", ALIGNMENT, sum(sizes), (), sizes)
        self._total += entry.size
        with self._writing() as body:
            offset, start = body.leave_room(entry, header)
        try:
            digests = fill(self._target.part, start)  # may raise an OSError that is none of the disk
        except BaseException:
            self.abort()
            raise
        with self._writing() as body:
            body.fill(entry, offset, digests)
        pending[name] = entry

    @property
    def is_open(self) -> bool:
        """Whether anything can be added still."""
        return self._pending is not None

    @property
    def has_tensors(self) -> bool:
        """Whether tensors were added before, in which bytes can be found."""
        return self._body is not None and bool(self._body.starts)

    def find(self, data: memoryview, used: Container[Place] = ()) -> Place | None:
        """Return where bytes lie that were written already, as a buffer of tensors, but for places in use.

        Whoever asks for as many as `SHARED_FROM` bytes may refer to that place instead of writing them again.
        """
        return None if self._body is None else self._body.find(data, used)

    def places_of(self, size: int) -> list[tuple[Place, int]]:
        """Return where buffers of tensors of so many bytes lie: the place, and the byte of the file."""
        return [] if self._body is None else self._body.places_of(size)

    @property
    def part(self) -> str:
        """The path of the unfinished file, once tensors were added."""
        return self._target.part

    def written(self, places: Iterable[Place]) -> list[memoryview]:
        """Map places in tensors that were added, read-only, all by one map, which outlives the writer.

        Raises ArchiveError for a place in something else, ArchiveIOError where nothing can be mapped.
        """
        asked = list(places)
        unknown = [place for place in asked if self._body is None or place.member not in self._body.starts]
        if unknown:
            raise ArchiveError(f"{unknown[0]}: no tensors of this name were written")
        if self._body is None:
            return []
        with reported(self._target.name):
            return self._body.map(asked)

    def draft(self, manifest: Manifest, forget: Iterable[str] = ()) -> str:
        """Write the whole archive as it stands, to be read before it is sealed; return the path of the file.

        What is no tensors is written anew later, and what to `forget` of it may be added anew. Raises what
        `seal` raises, and then it is the end of the writer.
        """
        pending = self._open()
        self._write_all(manifest, is_draft=True)
        for name in forget:
            self._total -= pending.pop(name).size
        return self._target.part

    def seal(
        self, manifest: Manifest, *, check: Callable[[str], None] | None = None, sign: Sign | None = None
    ) -> str:
        """Write the archive and return its identity, the sha256 of the manifest.

        `manifest.entries` and `manifest.digests` are filled in here. The target is replaced in one
        step after everything has reached the disk. `check` is called before that with the path of the whole
        archive; where it raises, nothing is left. `sign` makes the signatures that go along.

        Raises ArchiveError for names that collide, a manifest that cannot be stored, and content
        that has another size than was said; ArchiveIOError (also OSError, with errno) when the
        archive cannot be written. Then nothing is left behind and an old file is untouched.
        """
        identity = self._write_all(manifest, sign=sign)
        try:
            self._target.finish(check)
        finally:
            self.abort()  # nothing of it is needed any more
        return identity

    def _write_all(self, manifest: Manifest, *, is_draft: bool = False, sign: Sign | None = None) -> str:
        """Write what is no tensors, and what follows the entries; a draft is written over later."""
        pending = self._open()
        check_names([*pending, MANIFEST, DIGEST])
        dump_manifest(replace(manifest, entries=()))  # before anything is written
        with self._writing() as body:
            mark = body.mark()
            for name in sorted(pending):
                if pending[name].kind != "tensors":
                    body.add(pending[name])
            identity = body.finish(manifest, sign)
            if is_draft:
                body.go_back(mark)
        return identity

    def abort(self) -> None:
        """Forget everything that was added, and remove what has been written."""
        self._pending = self._body = None
        self._target.discard()

    def _check_free(self, name: str) -> None:
        """Raise ArchiveError for a name that the format refuses, or that is there already."""
        check_name(name)
        if name in self._open() or is_reserved(name):
            is_there = name in self._open()
            reason = "was added before" if is_there else "belongs to the manifest and its signatures"
            raise ArchiveError(f"entry {name!r}: this name {reason}; choose another one")

    def _open(self) -> dict[str, PendingEntry]:
        if self._pending is None:
            raise ValueError("the archive is sealed or aborted; make a new writer")
        return self._pending

    @contextlib.contextmanager
    def _writing(self) -> Iterator[ArchiveBody]:
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
                file = OutputFile(self._target.begin(), self._tell)
                self._body = ArchiveBody(file, self._digests, self._limit)
            with reported(self._target.name):
                yield self._body
        except BaseException:
            self.abort()
            raise

    def _tell(self, position: int) -> None:
        if self._progress is not None:
            self._progress(min(position, self._total), self._total)

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()


def _is_buffer(content: Any) -> bool:
    try:
        memoryview(content).release()
    except TypeError:
        return False
    return True
