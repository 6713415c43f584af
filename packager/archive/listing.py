"""The list of entries inside the manifest: every name, kind, size, alignment and chunk digest.

It is kept as packed columns, so that opening an archive costs the same few values however many
entries it has; one entry's record is built when somebody asks for it. Section 5.2 of the format.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from packager.errors import ArchiveError

from .bounds import CHUNK, MAX_PACKED
from .digests import combined_crc, entry_digest

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

PACKED_KINDS: Final = ("extras", "index", "migration", "object")
"""Kinds whose entries are msgpack, and are read as a whole."""

_TENSORS: Final = KINDS.index("tensors")

DIGESTS: Final = ("crc", "sha256")
"""What an archive can be written with: CRC-32 alone for tensor entries, or sha256 as well."""


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
        return entry_digest(self.sha256s, self.size)


class Listing:
    """The entries of an archive in their order, as packed columns.

    `names`, `sizes` and `aligns` hold one value for each; the record of an entry is made when it is
    indexed.
    """

    def __init__(
        self, names: list[str], kinds: bytes, sizes: list[int], aligns: bytes, crcs: bytes, sha256s: bytes
    ) -> None:
        self.names = names
        self.sizes = sizes
        self._kinds = kinds
        self.aligns = aligns
        self._crcs = crcs
        self._sha256s = sha256s

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
        """The columns as plain data."""
        return [
            "\n".join(self.names),
            self._kinds,
            _packed_numbers(self.sizes),
            self.aligns,
            self._crcs,
            self._sha256s,
        ]

    @classmethod
    def load(cls, columns: Any, digests: str) -> Listing:
        """Check columns of plain data against each other.

        Raises ArchiveError for ragged columns, unknown codes, and digests that do not fit the sizes.
        Names are checked by whoever compares them with the ZIP's own list.
        """
        kinds_of_columns = (str, bytes, bytes, bytes, bytes, bytes)
        if type(columns) is not list or tuple(map(type, columns)) != kinds_of_columns:
            raise ArchiveError("manifest, entries: found something else than the six columns of the format")
        joined, kinds, packed_sizes, aligns, crcs, sha256s = columns
        count = joined.count("\n") + 1 if joined else 0
        if not count == len(kinds) == len(aligns) == len(packed_sizes) / 8:
            raise ArchiveError(
                f"manifest, entries: {count} names stand beside {len(kinds)} kinds, {len(aligns)} "
                f"alignments and {len(packed_sizes)} bytes of sizes; expected one of each, eight bytes a size"
            )
        if kinds.translate(None, bytes(range(len(KINDS)))) or aligns.translate(None, bytes((1, ALIGNMENT))):
            raise ArchiveError(
                "manifest, entries: a kind or an alignment has a code that the format does not know"
            )
        if any(align != ALIGNMENT for kind, align in zip(kinds, aligns, strict=True) if kind == _TENSORS):
            raise ArchiveError(
                "manifest, entries: an entry of kind tensors is not aligned; expected 64 bytes"
            )
        names = joined.split("\n") if joined else []
        listing = cls(names, kinds, _numbers(packed_sizes), aligns, crcs, sha256s)
        listing._check_lengths()
        listing._check_digests(digests)
        return listing

    def kind(self, index: int) -> str:
        """What the entry at a place is: one of `KINDS`."""
        return KINDS[self._kinds[index]]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[EntryRecord]:
        return (self[i] for i in range(len(self.names)))

    def __getitem__(self, index: int) -> EntryRecord:
        first, last = self._first_chunks[index : index + 2]
        first_sha, last_sha = self._first_sha256s[index : index + 2]
        return EntryRecord(
            self.names[index],
            KINDS[self._kinds[index]],
            self.sizes[index],
            self.aligns[index],
            self._crcs[4 * first : 4 * last],
            self._sha256s[32 * first_sha : 32 * last_sha],
        )

    @cached_property
    def _first_chunks(self) -> list[int]:
        return list(accumulate((-(-size // CHUNK) for size in self.sizes), initial=0))

    @cached_property
    def _first_sha256s(self) -> list[int]:
        """As `_first_chunks`, counting the chunks that have a sha256."""
        if 32 * self._first_chunks[-1] == len(self._sha256s):
            return self._first_chunks
        counts = (
            0 if align == ALIGNMENT else -(-size // CHUNK)
            for size, align in zip(self.sizes, self.aligns, strict=True)
        )
        return list(accumulate(counts, initial=0))

    def _check_lengths(self) -> None:
        """Demand that what is read as a whole is not longer than that allows."""
        if max(self.sizes, default=0) <= MAX_PACKED:
            return
        for name, kind, size in zip(self.names, self._kinds, self.sizes, strict=True):
            if size > MAX_PACKED and KINDS[kind] in PACKED_KINDS:
                raise ArchiveError(
                    f"entry {name!r}: {size} bytes of kind {KINDS[kind]}; at most {MAX_PACKED} are read"
                )

    def _check_digests(self, digests: str) -> None:
        """Demand four bytes of CRC per chunk, and 32 of sha256 where the archive promises them."""
        chunks, digested = self._first_chunks[-1], self._first_sha256s[-1]
        if len(self._crcs) != 4 * chunks:
            raise ArchiveError(f"manifest, entries: {len(self._crcs)} bytes of CRC; expected {4 * chunks}")
        if len(self._sha256s) != 32 * (chunks if digests == "sha256" else digested):
            raise ArchiveError(
                f"manifest, entries: {len(self._sha256s)} bytes of sha256 do not fit the sizes of the "
                f'entries and digests="{digests}"'
            )


def _packed_numbers(numbers: Iterable[int]) -> bytes:
    """Numbers as eight bytes each, little-endian."""
    packed = array("Q", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _numbers(packed: bytes) -> list[int]:
    numbers = array("Q", packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
