"""What the manifest says of the entries: name, kind, size, alignment, and the digests of their chunks.

An entry is cut into chunks of `CHUNK` bytes, the last one shorter. Each has its own digests, so that
several threads can digest an entry and a part of it can be checked alone; the CRC-32 of the whole, which
ZIP asks for, follows from those of the chunks without a second pass. Sections 5.2 and 5.3 of the format.
"""

from __future__ import annotations

import contextlib
import os
import sys
from _thread import allocate_lock
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from struct import unpack

from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import ArchiveError, IntegrityError

from .archive_errors import DAMAGED
from .bounds import CHUNK, MAX_PACKED
from .digesting import sha256
from .entry_names import check_listed_order

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, Literal, TypeVar

    _Item = TypeVar("_Item")
    _Made = TypeVar("_Made")
    Numbers = array[int] | memoryview[int]


try:
    from isal.isal_zlib import crc32 as _crc32
except ImportError:
    from zlib import crc32 as _crc32

crc32: Final[Callable[..., int]] = _crc32
"""CRC-32 as `zlib.crc32` computes it, several times as fast where isal is installed."""

ALIGNMENT: Final = 64
"""Tensor entries start at a multiple of this many bytes in the file."""

KINDS: Final = (
    "check",
    "extras",
    "index",
    "migration",
    "object",
    "pickle",
    "resource",
    "source",
    "tensors",
)
"""What an entry can be, in the order of its codes; section 5.2 says what each promises about its bytes."""

DIGESTS: Final = ("crc", "sha256")
"""What an archive can be written with: CRC-32 alone for tensor entries, or sha256 as well."""

_PACKED_KINDS: Final = ("extras", "index", "migration", "object")  # msgpack, read as a whole
_TENSORS: Final = KINDS.index("tensors")
_CHUNKS_PER_THREAD: Final = 8  # fewer are not worth a thread
_DIGESTED_PER_THREAD: Final = 4  # of those whose sha256 is computed, half a millisecond and more for each


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One entry: its name, kind, size, alignment and the digests of its chunks.

    `align` is 64 for entries whose bytes are mapped as tensors, otherwise 1. `crcs` holds four
    bytes for every chunk of `CHUNK` bytes (little-endian); `sha256s` thirty-two, or nothing for an
    aligned entry that was written with `digests="crc"`.
    """

    name: str
    kind: str
    size: int
    align: int
    crcs: bytes
    sha256s: bytes

    @property
    def chunks(self) -> int:
        """The number of chunks; an empty entry has none."""
        return -(-self.size // CHUNK)

    @property
    def crc(self) -> int:
        """The CRC-32 of the whole entry, as the ZIP records give it."""
        return combined_crc(self.crcs, self.size)

    @property
    def sha256(self) -> str | None:
        """The digest of the entry in hexadecimal; None where only CRCs were written.

        Up to one chunk it is the sha256 of the bytes; above, the sha256 of the chunks' sha256s.
        """
        if self.size and not self.sha256s:
            return None
        one = 0 < self.size <= CHUNK
        return self.sha256s.hex() if one else sha256(self.sha256s).hexdigest()

    def check(self, data: memoryview, chunks: Sequence[int], digests: str) -> None:
        """Demand that some chunks have their digests, on several threads where there is enough to do.

        `data` holds whole chunks of the entry, from the first of `chunks` on. `digests` is `"crc"` or
        `"sha256"`. Raises IntegrityError naming every chunk that is wrong.
        """
        self.demand(self.found_right(data, chunks, digests), chunks, digests)

    def found_right(self, data: memoryview, chunks: Sequence[int], digests: str) -> list[bool]:
        """Return of each of some chunks whether it has its digest; see `check`.

        Raises IntegrityError for an entry that has no such digests.
        """
        if digests == "sha256" and self.size and not self.sha256s:
            choice = 'view it with digests="crc", or ' if self.kind == "tensors" else ""
            raise IntegrityError(
                f'entry {self.name!r}: it has no sha256, as the archive was written with digests="crc"; '
                f'{choice}export it again with digests="sha256"'
            )

        def is_right(chunk: int) -> bool:
            piece = data[(chunk - chunks[0]) * CHUNK : (chunk - chunks[0] + 1) * CHUNK]
            if digests == "crc":
                return crc32(piece) == int.from_bytes(self.crcs[4 * chunk : 4 * chunk + 4], "little")
            return sha256(piece).digest() == self.sha256s[32 * chunk : 32 * chunk + 32]

        worth = _DIGESTED_PER_THREAD if digests == "sha256" else _CHUNKS_PER_THREAD
        return in_threads(is_right, chunks, _threads_for(len(chunks), worth))

    def check_both(self, read: Callable[[int], memoryview], chunks: Sequence[int]) -> None:
        """Demand that some chunks have their CRC-32 and, where there is one, their sha256, in one pass.

        `read(chunk)` returns the bytes of a chunk; it is called on several threads. Raises IntegrityError
        naming every chunk that is wrong, by its CRC-32 if any is.
        """

        def is_right(chunk: int) -> tuple[bool, bool]:
            piece = read(chunk)
            crc = crc32(piece) == int.from_bytes(self.crcs[4 * chunk : 4 * chunk + 4], "little")
            digest = self.sha256s[32 * chunk : 32 * chunk + 32]
            return crc, not self.sha256s or sha256(piece).digest() == digest

        found = in_threads(is_right, chunks, _threads_for(len(chunks), _DIGESTED_PER_THREAD))
        for at, digests in enumerate(DIGESTS):
            self.demand([right[at] for right in found], chunks, digests)

    def demand(self, right: Sequence[bool], chunks: Sequence[int], digests: str) -> None:
        """Raise IntegrityError for those of some chunks that are not right."""
        if all(right):
            return
        wrong = [chunk for chunk, good in zip(chunks, right, strict=True) if not good]
        ranges = [f"{chunk * CHUNK} to {min(self.size, (chunk + 1) * CHUNK)}" for chunk in wrong]
        raise IntegrityError(
            f"entry {self.name!r}: bytes {listed(ranges, 5)} do not have the {digests} that the manifest "
            "gives; the file was damaged or tampered with: get another copy"
        ).holding(ranges)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where bytes lie: in the entry `member`, from its byte `start` to before `stop`."""

    member: str
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.stop - self.start

    def __str__(self) -> str:
        return f"bytes {self.start} to {self.stop} of {self.member!r}"


@dataclass(frozen=True, eq=False)
class Listing:
    """The entries of an archive in their order, as packed columns.

    The record of one is made when it is indexed, so that opening an archive costs the same few values however
    many entries it has. `crcs` and `sha256s` hold the
    digests of all chunks, one entry after another.
    """

    names: list[str]
    kinds: bytes
    sizes: list[int]
    aligns: bytes
    crcs: bytes
    sha256s: bytes

    @classmethod
    def of(cls, entries: Iterable[EntryRecord]) -> Listing:
        """Pack records, which must stand in the archive's order."""
        rows = list(entries)
        return cls(
            [row.name for row in rows],
            bytes(KINDS.index(row.kind) for row in rows),
            [row.size for row in rows],
            bytes(row.align for row in rows),
            b"".join(row.crcs for row in rows),
            b"".join(row.sha256s for row in rows),
        )

    def dump(self) -> list[Any]:
        """Return the columns as plain data."""
        return [
            "\n".join(self.names),
            self.kinds,
            little_endian(array("Q", self.sizes)).tobytes(),
            self.aligns,
            self.crcs,
            self.sha256s,
        ]

    @classmethod
    def load(cls, columns: object, digests: str) -> Listing:
        """Check columns of plain data against each other.

        Raises ArchiveError for ragged columns, unknown codes, another order than that of the format, and
        digests that do not fit the sizes. Names are checked where they are compared with the ZIP's own list.
        """
        kinds_of_columns = (str, bytes, bytes, bytes, bytes, bytes)
        if type(columns) is not list or tuple(map(type, columns)) != kinds_of_columns:
            raise ArchiveError(
                f"manifest, entries: expected the six columns of the format. The archive is {DAMAGED}"
            )
        joined, kinds, packed_sizes, aligns, crcs, sha256s = columns
        count = joined.count("\n") + 1 if joined else 0
        if not count == len(kinds) == len(aligns) == len(packed_sizes) / 8:
            raise ArchiveError(
                f"manifest, entries: found {count} names, {len(kinds)} kinds, {len(aligns)} alignments "
                f"and {len(packed_sizes)} bytes of sizes; expected one of each for an entry, and eight bytes "
                f"a size. The archive is {DAMAGED}"
            )
        if kinds.translate(None, bytes(range(len(KINDS)))) or aligns.translate(None, bytes((1, ALIGNMENT))):
            raise ArchiveError(
                f"manifest, entries: a kind or an alignment has an unknown code. The archive is {DAMAGED}"
            )
        forms = {(kind == _TENSORS, align == ALIGNMENT) for kind, align in zip(kinds, aligns, strict=True)}
        if (True, False) in forms:
            raise ArchiveError(
                "manifest, entries: an entry of kind tensors is not aligned; expected 64 bytes. "
                f"The archive is {DAMAGED}"
            )
        if (False, True) in forms and digests == "crc":
            raise ArchiveError(
                "manifest, entries: an aligned entry is not of kind tensors, and lacks its sha256. "
                f"The archive is {DAMAGED}"
            )
        names = joined.split("\n") if joined else []
        tensors = kinds.count(_TENSORS)
        if digests == "crc" and not tensors:
            raise ArchiveError(
                'manifest, entries: digests="crc" without tensors; expected digests="sha256". '
                f"The archive is {DAMAGED}"
            )
        if kinds[:tensors].count(_TENSORS) != tensors:
            raise ArchiveError(
                "manifest, entries: an entry of another kind precedes tensors; expected tensors first. "
                f"The archive is {DAMAGED}"
            )
        check_listed_order(names, tensors)
        listing = cls(names, kinds, little_endian(array("Q", packed_sizes)).tolist(), aligns, crcs, sha256s)
        listing._check_lengths()
        listing._check_digests(digests)
        return listing

    def kind(self, index: int) -> str:
        """Return what the entry at a place is: one of `KINDS`."""
        return KINDS[self.kinds[index]]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[EntryRecord]:
        return (self[i] for i in range(len(self.names)))

    def __getitem__(self, index: int) -> EntryRecord:
        first, last = self._first_chunks[index : index + 2]
        first_sha, last_sha = self._first_sha256s[index : index + 2]
        return EntryRecord(
            self.names[index],
            KINDS[self.kinds[index]],
            self.sizes[index],
            self.aligns[index],
            self.crcs[4 * first : 4 * last],
            self.sha256s[32 * first_sha : 32 * last_sha],
        )

    def difference(self, found: Mapping[str, int]) -> ArchiveError:
        """Return the error for an archive that holds other entries than these: `found`, sizes by name."""
        expected = dict(zip(self.names, self.sizes, strict=True))
        groups = {
            "not in the manifest": [name for name in found if name not in expected],
            "missing": [name for name in expected if name not in found],
            "of another size": [name for name in found if expected.get(name, found[name]) != found[name]],
        }
        parts = [f"{what}: {listed([*map(repr, names)], 5)}" for what, names in groups.items() if names]
        return ArchiveError(
            f"the entries of the archive differ from its manifest; "
            f"{'; '.join(parts) or 'order or alignment differ'}. "
            "The archive was changed after it was written: get another copy"
        ).holding((what, name) for what, names in groups.items() for name in names)

    @cached_property
    def _first_chunks(self) -> list[int]:
        return list(accumulate((-(-size // CHUNK) for size in self.sizes), initial=0))

    @cached_property
    def _first_sha256s(self) -> list[int]:
        """As `_first_chunks`, counting the chunks that have a sha256: all, or those behind tensors."""
        bare = self._first_chunks[-1] - len(self.sha256s) // 32
        return [max(chunk - bare, 0) for chunk in self._first_chunks]

    @property
    def all_have_sha256(self) -> bool:
        """Whether every chunk has a sha256; without it, those of tensors have none."""
        return 32 * self._first_chunks[-1] == len(self.sha256s)

    def _check_lengths(self) -> None:
        """Demand that what is read as a whole is not longer than that allows."""
        if max(self.sizes, default=0) <= MAX_PACKED:
            return
        for name, kind, size in zip(self.names, self.kinds, self.sizes, strict=True):
            if size > MAX_PACKED and KINDS[kind] in _PACKED_KINDS:
                raise ArchiveError(
                    f"entry {name!r}: {size} bytes of kind {KINDS[kind]}; at most {MAX_PACKED} are read. "
                    f"The archive is {DAMAGED}"
                )

    def _check_digests(self, digests: str) -> None:
        """Demand four bytes of CRC per chunk, and 32 of sha256 where the archive promises them."""
        chunks = self._first_chunks[-1]
        if len(self.crcs) != 4 * chunks:
            raise ArchiveError(
                f"manifest, entries: {len(self.crcs)} bytes of CRC; expected {4 * chunks}. "
                f"The archive is {DAMAGED}"
            )
        bare = 0 if digests == "sha256" else self._first_chunks[self.kinds.count(_TENSORS)]
        if len(self.sha256s) != 32 * (chunks - bare):
            raise ArchiveError(
                f"manifest, entries: {len(self.sha256s)} bytes of sha256 do not fit the sizes of the "
                f'entries and digests="{digests}". The archive is {DAMAGED}'
            )


def crcs_of(view: memoryview) -> bytes:
    """Return the CRC-32 of every chunk of `view` (a flat view of bytes), four bytes each.

    >>> crcs_of(memoryview(b"")), crcs_of(memoryview(b"kellet")).hex()
    (b'', '3ff6fcfd')
    """
    return b"".join(crc32(piece).to_bytes(4, "little") for piece in _chunks(view))


def sha256s_of(view: memoryview) -> bytes:
    """Return the sha256 of every chunk of `view`, 32 bytes each."""
    return b"".join(sha256(piece).digest() for piece in _chunks(view))


def combined_crc(crcs: bytes, size: int) -> int:
    """Return the CRC-32 of a whole entry of `size` bytes, from those of its chunks.

    >>> data = bytes(range(256)) * 10_000
    >>> combined_crc(crcs_of(memoryview(data)), len(data)) == crc32(data)
    True
    """
    if size <= CHUNK:
        return int.from_bytes(crcs, "little")
    low, second, third, high = _chunk_tables()
    total = 0
    *whole, last = unpack(f"<{len(crcs) // 4}I", crcs)
    for crc in whole:
        total = (
            low[total & 255] ^ second[total >> 8 & 255] ^ third[total >> 16 & 255] ^ high[total >> 24]
        ) ^ crc
    # `total` covers all chunks but the last one, whose length is its own.
    return _times(_power_of_x(8 * (size - len(whole) * CHUNK)), total) ^ int(last)


def _chunks(view: memoryview) -> Iterator[memoryview]:
    return (view[start : start + CHUNK] for start in range(0, len(view), CHUNK))


def thread_count() -> int:
    """Return how many threads digest at once: one for each processor this process may use, at most four."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 4)


def in_threads(work: Callable[[_Item], _Made], items: Iterable[_Item], threads: int) -> list[_Made]:
    """Do `work` on every item, on so many threads, of which the calling one is one; return all, in order.

    Items are taken one at a time, by one thread at a time. Digests and writes release the interpreter lock.
    The threads live for one call only, as a pool would not survive a fork. What any of them raises is raised
    once all have ended.
    """
    if threads < 2:
        return [work(item) for item in items]
    try:
        import threading  # few entries are as long
    except (ImportError, OSError):  # no descriptor is left to import it with
        return [work(item) for item in items]

    numbered, lock = enumerate(items), allocate_lock()
    made: dict[int, _Made] = {}
    failures: list[BaseException] = []

    def run() -> None:
        try:
            while not failures:
                with lock:
                    taken = next(numbered, None)
                if taken is None:
                    return
                made[taken[0]] = work(taken[1])
        except BaseException as error:
            failures.append(error)

    helpers = [threading.Thread(target=run, daemon=True) for _ in range(threads - 1)]
    for helper in helpers:
        with contextlib.suppress(RuntimeError):  # the system has no more of them
            helper.start()
    run()
    for helper in helpers:
        while helper.is_alive():
            try:
                helper.join()
            except BaseException as error:  # a signal: nothing may be written once this returns
                failures.append(error)
    if failures:
        del failures[1:]
        raise failures.pop()  # or the error would refer to itself, by the frame of `run`
    return [made[number] for number in range(len(made))]


def _threads_for(chunks: int, worth: int) -> int:
    """Return how many threads look at so many chunks: one for each `worth` of them, and one at least."""
    return 1 if chunks < 2 * worth else min(chunks // worth, thread_count())


_POLYNOMIAL: Final = 0xEDB88320
_ONE: Final = 1 << 31  # the polynomial 1, bits reflected as CRC-32 has them


@lru_cache(maxsize=1)
def _chunk_tables() -> tuple[tuple[int, ...], ...]:
    """Return four tables of 256: for each byte of a CRC, what it becomes when a chunk of zeros follows."""
    shift = _power_of_x(8 * CHUNK)
    tables = []
    for place in (0, 8, 16, 24):
        table = [0]
        for bit in range(place, place + 8):  # products add up, bit by bit
            product = _times(shift, 1 << bit)
            table += [product ^ known for known in table]
        tables.append(tuple(table))
    return tuple(tables)


def _power_of_x(exponent: int) -> int:
    """Return x to a power, modulo the polynomial of CRC-32."""
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = _times(power, square)
        square = _times(square, square)
        exponent >>= 1
    return power


def _times(a: int, b: int) -> int:
    """Return the product of two polynomials modulo that of CRC-32, bits reflected."""
    product = 0
    for place in range(31, -1, -1):
        if a >> place & 1:
            product ^= b
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def numbers_in(column: bytes, code: Literal["I", "Q"]) -> Numbers:
    """Return the little-endian numbers of a column, of the type `code` of `array`, without a copy if it can.

    >>> list(numbers_in(bytes([1, 0, 0, 0, 2, 0, 0, 0]), "I"))
    [1, 2]
    """
    return little_endian(array(code, column)) if sys.byteorder == "big" else memoryview(column).cast(code)


def little_endian(column: array[int]) -> array[int]:
    """Turn numbers between this machine's byte order and the little-endian one of the format."""
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column


def flat_view(buffer: Any) -> memoryview:
    """Return the bytes of a C-contiguous buffer of any format, without a copy.

    Raises ValueError for a buffer that is not C-contiguous.
    """
    view = memoryview(buffer)
    if not view.c_contiguous:
        raise ValueError("the buffer is not C-contiguous; copy it to one that is first")
    try:
        return view.cast("B")
    except TypeError:  # it knows neither complex numbers nor zeros in a shape
        from pickle import PickleBuffer

        # Not of the view: one that something else was made of ends the process if it is collected as garbage.
        return PickleBuffer(buffer).raw()
