"""The reader: opens an archive strictly, and hands out bytes that have been checked.

Opening reads the ZIP's list of entries and the manifest, and compares the two. The rest is checked
when it is used: a local header when its entry is, a chunk's digest when one of its bytes is. Nothing
is executed, imported or compiled, and nothing is allocated that the size of the file does not allow.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import TracebackType

from packager._arguments import check_identity, check_path, is_address
from packager._texts import shown_place
from packager.errors import ArchiveError, ArgumentError, IdentityMismatchError, IntegrityError

from .archive_errors import DAMAGED, ArchiveChangedError, MissingEntryError, changed, closed
from .bounds import CHUNK
from .byte_sources import ChangeStamp, Mapped, Opened, Source, has_ranges, open_source
from .digesting import sha256
from .entries import EntryRecord
from .entry_names import DIGEST, MANIFEST, digest_line
from .manifest import Manifest, load_manifest
from .zip_container import ZIP64_LIMIT, ZipContainer

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    from .folder_container import FolderContainer


Container: TypeAlias = "ZipContainer | FolderContainer"

_CHECKS: Final = ("crc", "none", "sha256")
_AT_ONCE: Final = 64  # chunks that are read and checked at a time


_UNSEEN: Final[tuple[ChangeStamp | None, bytearray]] = (None, bytearray())  # of an entry that was not used


class ArchiveReader:
    """An open archive: a path (of a file or an unzipped archive), an address, a file object, or bytes.

    Opening checks the layout and the manifest and runs nothing. Before bytes are handed out their chunks
    are checked by sha256, because they may be run or interpreted; for tensors alone `digests` may choose
    `"crc"` (CRC-32) or `"none"` in the place of `"sha256"`.
    `mmap=False` reads with bounds instead of mapping, for files that others may cut short in place;
    `mmap="prefetch"` maps, and reads tensors ahead of their use.
    `identity` admits one archive alone: the sha256 of the manifest is compared with it here, and what the
    manifest has digests of is checked when it is used. Tensors are then checked by sha256, unless `digests`
    chooses something else; those at an address always are, where they have one. A reader may be used by any
    number of threads.

    A file that is written to, or a folder that is replaced, while it is open, is found out at the next use:
    by the time of its last change, its size and its inode. Then the manifest must be the one that was
    opened, and all bytes are checked anew. A file that another one takes the place of stays readable.

    Raises ArchiveError for anything that is not an archive as the format demands, IdentityMismatchError for
    another archive than that of `identity`, IntegrityError for wrong digests, and for tensors without sha256
    beside an `identity`, ArgumentError for an `identity` that is none, and for unknown `digests` or
    `mmap`, RemoteError for an address that cannot be read, and what `open` raises for a path that cannot be
    opened. Later calls raise ArchiveChangedError, an
    IntegrityError, for an archive that was changed meanwhile.

    >>> import io
    >>> from packager._archive import ArchiveWriter, Manifest
    >>> file = io.BytesIO()
    >>> with ArchiveWriter(file) as writer:
    ...     writer.add("net/data.txt", b"some text", kind="resource")
    ...     identity = writer.seal(Manifest())
    >>> with ArchiveReader(file) as reader:
    ...     reader.names(), bytes(reader.view("net/data.txt", 5)), reader.identity == identity
    (('net/data.txt',), b'text', True)
    """

    progress: Callable[[int, int], None] | None = None
    """Called while bytes are checked as they are used, with how many are, and the size of the archive."""

    identity: str
    """The sha256 of the manifest, in hexadecimal: what identifies the archive."""

    name: str
    """The path it was opened by, or that of the file object; "the archive" where there is none."""

    tensor_digests: str
    """What tensors are checked by here: `"crc"`, `"sha256"` or `"none"`."""

    def __init__(
        self,
        source: Opened,
        *,
        digests: str | None = None,
        identity: str | None = None,
        mmap: bool | str = True,
        zip64_limit: int = ZIP64_LIMIT,
    ) -> None:
        """Open and check; `zip64_limit` is for tests, and the same as the writer's."""
        if digests not in (None, *_CHECKS):
            raise ArgumentError(
                f"digests={digests!r} is unknown; choose one of {', '.join(map(repr, _CHECKS))}"
            )
        if mmap not in (True, False, "prefetch"):
            raise ArgumentError(f"mmap={mmap!r} is unknown; choose True, False or 'prefetch'")
        wanted = check_identity("identity", identity)
        if isinstance(source, str) and is_address(source):
            from packager._remote import address_in

            address: Any = address_in(source)  # from here on in the place of what was given
            source = address
        elif isinstance(source, str | os.PathLike):
            check_path("source", source, or_address=True)
        wanted = _pinned(source, wanted)
        self.tensor_digests = digests or ("crc" if wanted is None else "sha256")
        self._seen = 0
        self._closed = False
        self.name = _name_of(source)
        self._container = _open(source, mmap, zip64_limit)
        try:
            self._stamp = self._first_stamp = self._container.change_stamp()
            self._open_manifest(wanted)
            are_said = digests is not None and not (digests == "crc" and self._sealed.entries.all_have_sha256)
            if (wanted is not None and digests is None) or (self._container.fetches and not are_said):
                self.bind()
        except BaseException:
            self._container.close()
            raise

    def _open_manifest(self, wanted: str | None) -> None:
        """Digest before parse: the manifest is read only when it is the one that its digest names."""
        data = self._container.reserved(MANIFEST)
        self.identity = sha256(data).hexdigest()
        if self._container.reserved(DIGEST) != digest_line(self.identity):
            raise IntegrityError(
                f"{DIGEST}: expected {self.identity}, the sha256 of {MANIFEST}; the archive is {DAMAGED}"
            )
        if wanted not in (None, self.identity):
            raise IdentityMismatchError(
                f"{self.name}: found identity {self.identity}, expected {wanted}. Get the archive that was "
                "asked for, or, if you mean this one, pass its identity",
                str(wanted),
                self.identity,
            )
        self._sealed = load_manifest(data)
        self._container.match(self._sealed.entries)
        self._index = {name: i for i, name in enumerate(self._sealed.entries.names)}
        # Per entry a flag for each chunk that was found right, as long as the file is not modified. Two
        # threads may check the same chunk at once, which costs time and nothing else.
        self._right: dict[int, tuple[ChangeStamp, bytearray]] = {}

    def bind(self) -> None:
        """Check tensors by sha256 from now on: the identity is vouched for.

        Raises IntegrityError where the identity does not cover the tensors.
        """
        self.tensor_digests = "sha256"
        if not self._sealed.entries.all_have_sha256:
            raise IntegrityError(
                f'{self.name}: its identity does not cover the tensors: it was written with digests="crc". '
                'Export it again with digests="sha256", or pass digests="crc" too: a CRC-32 finds damage to '
                "tensors, but no tampering"
            )

    @property
    def digests(self) -> str:
        """What the archive was written with: `"sha256"`, or `"crc"`, where tensors have CRC-32 alone."""
        return self._sealed.digests

    @cached_property
    def manifest(self) -> Manifest:
        """Everything the archive says about itself.

        Raises ArchiveError when one of its sections is not as the format demands.
        """
        return self._sealed.open()

    @property
    def size(self) -> int:
        """The bytes that the archive takes."""
        return self._container.size()

    @property
    def has_code(self) -> bool:
        """Whether sources are stored, which run where they are imported."""
        return "source" in map(self._sealed.entries.kind, range(len(self._index)))

    def names(self) -> tuple[str, ...]:
        """Return the entries that the manifest lists, in their order in the file."""
        return tuple(self._sealed.entries.names)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def entry(self, name: str) -> EntryRecord:
        """Return the record of an entry. Raises MissingEntryError (also KeyError) when there is none."""
        return self._sealed.entries[self._find(name)]

    def read(self, name: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return a copy of an entry's bytes from `start` to `stop`, checked by sha256 whatever the entry is.

        This is the way to what is run or interpreted: it is the copy that is checked, so that a file which
        is written to meanwhile cannot bring in other bytes.

        Raises what `view` raises, and IntegrityError for an entry that has no sha256: tensors of an
        archive that was written with `digests="crc"`.
        """
        index, stop = self._range(name, start, stop)
        source, offset, _ = self._locate(index)
        entry = self._sealed.entries[index]
        if start == stop:
            return b""
        if source.steady:
            self._container.check_crc(index, entry)
        first, last = start // CHUNK, -(-stop // CHUNK)
        # Not out of a map, which ends the process where the file is cut short meanwhile.
        copy = source.copy(offset + first * CHUNK, offset + min(last * CHUNK, entry.size))
        view = memoryview(copy)
        self._check(entry, view, range(first, last), "sha256")
        self._tell(len(view))
        return bytes(view[start - first * CHUNK : stop - first * CHUNK])

    def view(self, name: str, start: int = 0, stop: int | None = None) -> memoryview:
        """Return checked bytes of an entry: read-only, not copied, valid after `close`.

        Tensors are checked as the reader was told, everything else by sha256.

        Raises MissingEntryError for an unknown name, IndexError for a range outside the entry,
        IntegrityError when a chunk does not have its digest, and ArchiveChangedError when the file
        is another since it was opened, or has become shorter.
        """
        index, stop = self._range(name, start, stop)
        source, offset, change = self._locate(index)
        digests = self._digests_of(index)
        if digests == "none" or start == stop or source.steady:
            if source.reads_ahead and start < stop:
                source.will_use(offset + start, offset + stop)
            if start < stop:
                following = [(stop, self._sealed.entries.sizes[index])] if source.reads_ahead else ()
                self._require(index, source, offset, change, (start, stop), following, _AT_ONCE)
            return source.view(offset + start, offset + stop)
        # What is read twice may differ, so whole chunks are read once, checked, and cut to size.
        entry = self._sealed.entries[index]
        first, last = start // CHUNK, -(-stop // CHUNK)
        chunks = source.view(offset + first * CHUNK, offset + min(last * CHUNK, entry.size))
        self._check(entry, chunks, range(first, last), digests)
        return chunks[start - first * CHUNK : stop - first * CHUNK]

    def steady_memory(self, name: str) -> memoryview | None:
        """Return the bytes of an entry, none of them checked, where all views of it show the same memory.

        What is used of them is to be checked by `require`, unless `right_in` says so. None where bytes are
        read anew for every view, where they are read ahead, where they are to be fetched and none is checked,
        and for an unzipped archive.
        """
        index = self._find(name)
        source, offset, stamp = self._locate(index)
        if stamp is None or not source.steady or source.reads_ahead:
            return None
        if source.fetches and self.tensor_digests == "none":  # `right_in` would ask for no bytes
            return None
        return source.room(offset, offset + self._sealed.entries.sizes[index])

    def right_in(self, name: str) -> Callable[[int, int], bool]:
        """Return what says whether a range of steady memory may be used, with nothing left to check.

        That is so while the file has not been modified since it was opened, and all chunks were found right.
        """
        index, checked = self._find(name), self.tensor_digests != "none"
        source, _, _ = self._locate(index)
        stamp_now, unmodified, flags = source.change_stamp, self._first_stamp, self._right

        def is_right(start: int, stop: int) -> bool:
            if self._closed:
                return False
            stamp = stamp_now()
            if stamp != unmodified:  # it may be shorter than its map
                return False
            if not checked:
                return True
            seen, right = flags.get(index, _UNSEEN)
            return seen == stamp and not right.count(0, start // CHUNK, -(-stop // CHUNK))

        return is_right

    def require(
        self, name: str, start: int, stop: int, following: Iterable[tuple[int, int]] = (), most: int = 0
    ) -> int:
        """Check a range of an entry's steady memory as `view` does; return how many chunks were not yet.

        At most so many chunks of `following` ranges are checked with it, on all cores. What is wrong in those
        is raised when it is used. Raises what `view` raises.
        """
        index = self._find(name)
        source, offset, stamp = self._locate(index)
        source.view(offset, offset)  # raises ArchiveChangedError for a file that has become shorter
        return self._require(index, source, offset, stamp, (start, stop), following, most)

    def will_use(self, name: str, ranges: Iterable[tuple[int, int]]) -> None:
        """Note that ranges of an entry are about to be used: what costs requests is fetched from now on."""
        if not self._container.fetches:
            return
        size = self.entry(name).size
        source, offset, _ = self._locate(self._find(name))
        joined: list[tuple[int, int]] = []
        for start, stop in ranges:
            first, last = start // CHUNK * CHUNK, min(-(-stop // CHUNK) * CHUNK, size)
            if joined and joined[-1][0] <= first <= joined[-1][1]:
                first, last = joined[-1][0], max(last, joined.pop()[1])
            joined.append((first, last))
        for first, last in joined:
            source.will_use(offset + first, offset + last)

    def private(self, name: str) -> PrivateEntry:
        """Return memory with the content of an entry that may be written to, copy on write; see PrivateEntry.

        Each call makes memory of its own. Nothing is read or copied until it is used.
        """
        size = self.entry(name).size
        source, offset, _ = self._locate(self._find(name))
        memory = source.private(offset, offset + size)
        return PrivateEntry(self, name, memory, filled=source.steady)

    def _range(self, name: str, start: int, stop: int | None) -> tuple[int, int]:
        """Return the place of an entry in the list, and where a range that lies inside it ends."""
        index = self._find(name)
        size = self._sealed.entries.sizes[index]
        stop = size if stop is None else stop
        if not 0 <= start <= stop <= size:
            raise IndexError(f"entry {name!r}: bytes {start} to {stop} were asked for; it has {size}")
        return index, stop

    def _digests_of(self, index: int) -> str:
        return self.tensor_digests if self._sealed.entries.kind(index) == "tensors" else "sha256"

    def _require(
        self,
        index: int,
        source: Source,
        offset: int,
        stamp: ChangeStamp | None,
        wanted: tuple[int, int],
        following: Iterable[tuple[int, int]],
        most: int,
    ) -> int:
        """Check the chunks of a range that have not been found right before; see `require`."""
        digests = self._digests_of(index)
        if digests == "none":
            return 0
        right = self._flags(index, source.change_stamp() if stamp is None else stamp)
        needed = list(_unknown(right, *wanted))
        if not needed:
            return 0
        chosen = {*needed}
        ahead = (chunk for one in following for chunk in _unknown(right, *one) if chunk not in chosen)
        chosen.update(islice(ahead, most))
        entry, chunks = self._sealed.entries[index], sorted(chosen)
        data = source.view(offset + chunks[0] * CHUNK, offset + min((chunks[-1] + 1) * CHUNK, entry.size))
        for chunk, is_right in zip(chunks, entry.found_right(data, chunks, digests), strict=True):
            right[chunk] = is_right
        self._naming_changes(
            lambda some: entry.demand([right[chunk] == 1 for chunk in some], some, digests), needed
        )
        self._tell(sum(min(entry.size - chunk * CHUNK, CHUNK) for chunk in chunks if right[chunk]))
        return len(chunks)

    def _flags(self, index: int, change: ChangeStamp) -> bytearray:
        """Return a flag for each chunk of an entry that was found right since the file was `change`d last."""
        seen, right = self._right.get(index, _UNSEEN)
        if seen != change:
            entry = self._sealed.entries[index]
            self._container.check_crc(index, entry)
            right = bytearray(entry.chunks)
            self._right[index] = (change, right)
        return right

    def _check(self, entry: EntryRecord, data: memoryview, chunks: Sequence[int], digests: str) -> None:
        """Demand that chunks have their digests."""
        self._naming_changes(lambda some: entry.check(data, some, digests), chunks)

    def _naming_changes(self, check: Callable[[Sequence[int]], None], chunks: Sequence[int]) -> None:
        """Check chunks, and say where they have not their digests because of a change since."""
        try:
            check(chunks)
        except IntegrityError as error:
            if self._stamp == self._first_stamp:
                raise
            raise changed(self.name, str(error)) from error

    def _tell(self, checked: int) -> None:
        """Count bytes that have been checked."""
        if self.progress is not None:
            self._seen += checked
            self.progress(min(self._seen, self.size), self.size)

    def check(self, name: str, progress: Callable[[int], None] | None = None) -> None:
        """Check everything about one entry's bytes: header, CRC-32 and sha256, whatever `digests` says.

        Of a long entry `progress` is told along the way how many bytes are checked. Raises
        MissingEntryError for an unknown name, and ArchiveError for what is wrong.
        """
        index = self._find(name)
        entry = self._sealed.entries[index]
        source, offset, _ = self._locate(index)
        self._container.check_header(index)
        self._container.check_crc(index, entry)

        def read(chunk: int) -> memoryview:
            return source.view(offset + chunk * CHUNK, offset + min((chunk + 1) * CHUNK, entry.size))

        for first in range(0, entry.chunks, _AT_ONCE):
            last = min(first + _AT_ONCE, entry.chunks)
            self._naming_changes(lambda chunks: entry.check_both(read, chunks), range(first, last))
            if progress is not None and last < entry.chunks:
                progress(last * CHUNK)

    def signatures(self) -> dict[str, bytes]:
        """Return the signatures that lie in the archive, by name. The format reserves their place."""
        container = self._opened()
        return {name: container.reserved(name) for name in container.signatures()}

    def with_signatures(self, held: Mapping[str, bytes]) -> tuple[int, bytes]:
        """Return how many bytes of the file stay, and what follows them, with these signatures alone."""
        container: Any = self._opened()  # a folder has its signatures as files
        found: tuple[int, bytes] = container.with_signatures(held)
        return found

    def reserved(self) -> dict[str, bytes]:
        """Return the entries that the manifest does not list: itself, its digest, and signatures."""
        own = {name: self._opened().reserved(name) for name in (MANIFEST, DIGEST)}
        if sha256(own[MANIFEST]).hexdigest() != self.identity:
            raise changed(self.name, "its manifest was replaced")
        return {**own, **self.signatures()}

    def file_sha256(self) -> str | None:
        """Return the sha256 of the whole file, in hexadecimal.

        None for an unzipped archive, which is no file, for one at an address, which would be fetched again,
        and where another file has taken its place.

        Raises ArchiveChangedError for a file that was modified since it was opened.
        """
        container = self._opened()
        found = container.file_sha256()
        now, before = container.change_stamp(), self._first_stamp
        if now == before:
            return found
        if (now[:1], now[2:]) == (before[:1], before[2:]):  # its status alone: it has lost its name
            return None
        raise changed(self.name, "it has been modified")

    def close(self) -> None:
        """Release the file. It is closed with the last view that was handed out."""
        self._closed = True
        self._container.close()

    def _locate(self, index: int) -> tuple[Source, int, ChangeStamp | None]:
        """Return where an entry lies, and the stamp of its file, if that has been asked for already."""
        container = self._opened()
        stamp = container.change_stamp()
        if stamp != self._stamp:
            self._require_same_manifest(container)
            self._stamp = stamp
        source, offset = container.locate(index)
        return source, offset, stamp if container.is_one_file else None

    def _require_same_manifest(self, container: Container) -> None:
        """Raise ArchiveChangedError unless the manifest is the one that was opened."""
        try:
            found = sha256(container.reserved(MANIFEST)).hexdigest()
        except ArchiveChangedError:
            raise
        except ArchiveError as error:
            raise changed(self.name, f"its manifest was replaced: {error}") from error
        if found != self.identity:
            raise changed(self.name, f"its manifest was replaced: found {found}, expected {self.identity}")

    def _opened(self) -> Container:
        if self._closed:
            raise closed(self.name)
        return self._container

    def _find(self, name: str) -> int:
        try:
            return self._index[name]
        except KeyError:
            raise MissingEntryError(
                f"the archive has no entry {name!r}; names() lists its {len(self._index)}"
            ) from None

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PrivateEntry:
    """Writable memory with an entry's content: all its views show the same memory, the file never sees it.

    Bytes are checked, or read, before the first view of them is handed out; what was written to
    them since is left alone.
    """

    def __init__(self, reader: ArchiveReader, name: str, memory: memoryview, *, filled: bool) -> None:
        self._reader = reader
        self._name = name
        self._memory = memory
        # Which chunks are in memory; None for a private map, where the system brings in pages itself.
        self._present = None if filled else bytearray(-(-len(memory) // CHUNK))
        self._lock = allocate_lock()

    def view(self, start: int = 0, stop: int | None = None) -> memoryview:
        """Return the bytes between `start` and `stop`. Raises what `ArchiveReader.view` raises."""
        stop = len(self._memory) if stop is None else stop
        if self._present is None:
            self._reader.view(self._name, start, stop)  # checks what has not been checked
            return self._memory[start:stop]
        with self._lock:
            last = -(-stop // CHUNK)
            first = self._present.find(0, start // CHUNK, last)
            while first >= 0:  # missing neighbours are read, and checked, together
                end = self._present.find(1, first, min(first + _AT_ONCE, last))
                end = min(first + _AT_ONCE, last) if end < 0 else end
                place = slice(first * CHUNK, min(end * CHUNK, len(self._memory)))
                self._memory[place] = self._reader.view(self._name, place.start, place.stop)
                self._present[first:end] = b"\x01" * (end - first)
                first = self._present.find(0, end, last)
        return self._memory[start:stop]


def _unknown(right: bytearray, start: int, stop: int) -> Iterator[int]:
    """Yield the chunks of a range that have not been found right."""
    chunk, last = right.find(0, start // CHUNK, -(-stop // CHUNK)), -(-stop // CHUNK)
    while chunk >= 0:
        yield chunk
        chunk = right.find(0, chunk + 1, last)


def _pinned(source: object, wanted: str | None) -> str | None:
    """Return the identity that is asked for: by the caller, or by the address."""
    pinned: str | None = getattr(source, "identity", None)
    if None not in (pinned, wanted) and pinned != wanted:
        raise ArgumentError(
            f"{source}: identity={wanted!r}, but the address has #sha256={pinned}; give one of them"
        )
    return wanted or pinned


def _name_of(source: object, unnamed: str = "the archive") -> str:
    if hasattr(source, "shown"):  # an address
        return str(source)
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    named = getattr(source, "name", None)
    return shown_place(os.fsdecode(named)) if isinstance(named, str | os.PathLike) else unnamed


def _open(source: Opened, mapped: Mapped, limit: int) -> Container:
    """Find out which form of archive this is. Raises ArchiveError for what is none: see `foreign_files`."""
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        from pathlib import Path  # most archives are files

        from .folder_container import FolderContainer

        try:
            return FolderContainer(Path(source), mapped=mapped)
        except ArchiveError as error:
            if type(error) is ArchiveError:
                from .foreign_files import check_folder

                check_folder(Path(source))
            raise
    if has_ranges(source):
        from .fetched_file import open_fetched  # few are

        opened: Source = open_fetched(source, mapped=mapped)
    else:
        opened = open_source(source, mapped=mapped)
    try:
        name = _name_of(source, "")
        try:
            return ZipContainer(opened, limit, name)
        except ArchiveError as error:
            if type(error) is ArchiveError:  # a file that could be read, and is not as it should be
                from .foreign_files import check_file

                check_file(opened, name)
            raise
    except BaseException:
        opened.close()
        raise
