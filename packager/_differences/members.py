"""Tensors of two archives: what recorded digests say is equal is not read.

Where two members have the same layout, a chunk with the same digest on both sides has the same bytes; only
tensors in other chunks are looked at. Where the layout is another, tensors that begin at the same byte of
chunks that are all equal are known to be the same, too; the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from packager._archive import CHUNK, ArchiveReader, EntryRecord, TensorReader, TensorSpec, index_name
from packager._state_dicts import open_state_dict
from packager._weights import stored_tensor
from packager.errors import LegacyFormatError

from .changes import KeyChange, TensorChange
from .states import compare_states, compare_values


class Member(Mapping[str, Any]):
    """The tensors of one state dict or object of an archive; values are read when they are looked at."""

    def __init__(
        self,
        reader: ArchiveReader,
        entry: str,
        extras: str | None = None,
        tensors: TensorReader | None = None,
    ) -> None:
        """Read the index of the member, unless its `tensors` are there already."""
        self.reader = reader
        self.entry = entry
        self.tensors = TensorReader(reader, entry) if tensors is None else tensors
        self._extras = extras
        self._storages: dict[Any, Any] = {}

    @cached_property
    def raw_dtypes(self) -> Mapping[str, str]:
        """Dtypes that safetensors has no word for, as the extras of a state dict name them."""
        if self._extras is None:
            return {}
        data = self.reader.read(self._extras)
        return open_state_dict(self.tensors, data, what=f"state dict {self.entry}").raw_dtypes

    def __getitem__(self, key: str) -> Any:
        try:
            return stored_tensor(self.tensors, key, self.raw_dtypes.get(key), self._storages)
        except LegacyFormatError:  # elements of fewer than eight bits: their bytes are compared
            return _Packed(self.tensors, self.tensors[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(self.tensors)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def record(self, name: str) -> EntryRecord:
        """Return the record of an entry of the archive."""
        return self.reader.entry(name)


class _Packed:
    """A tensor whose elements share bytes, as one of bytes."""

    def __init__(self, tensors: TensorReader, spec: TensorSpec) -> None:
        import numpy as np

        self._data = np.frombuffer(tensors.data_of(spec), np.uint8)
        self.shape, self.dtype = self._data.shape, self._data.dtype

    def __getitem__(self, index: Any) -> Any:
        return self._data[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._data


def compare_members(state: str, before: Member, after: Member) -> tuple[list[KeyChange], list[TensorChange]]:
    """Return how the tensors of two members differ; nothing is read of what is known to be equal."""
    if _same_layout(before, after):
        suspects = before.tensors.keys_in(_other_storages(before, after))
        return [], compare_values(before, after, suspects, state=state)
    equal = _EqualChunks(before.reader, after.reader)
    common = [key for key in before if key in after]
    suspects = [key for key in common if not equal.hold(before.tensors, after.tensors, key)]
    return compare_states(before, after, state=state, suspects=suspects)


def _other_storages(before: Member, after: Member) -> set[int]:
    """Return the storages with other bytes, of two members with one layout; other chunks alone are read."""
    found: set[int] = set()
    size = before.record(before.entry).size
    for chunk in other_chunks(before.record(before.entry), after.record(after.entry)):
        low, high = chunk * CHUNK, min((chunk + 1) * CHUNK, size)
        parts = [part for part in before.tensors.storages_in(low, high) if part[0] not in found]
        if parts:
            one, other = (bytes(side.reader.view(side.entry, low, high)) for side in (before, after))
            found |= {
                number
                for number, start, stop in parts
                if one[start - low : stop - low] != other[start - low : stop - low]
            }
    return found


def _same_layout(before: Member, after: Member) -> bool:
    """Say whether both say the same of where tensors lie, all of them in the member itself."""
    if before.tensors.elsewhere or after.tensors.elsewhere:
        return False
    indexes = (one.record(index_name(one.entry)) for one in (before, after))
    sizes = {one.record(one.entry).size for one in (before, after)}
    return len(sizes) == 1 and same_content(*indexes) and before.raw_dtypes == after.raw_dtypes


def same_content(before: EntryRecord, after: EntryRecord) -> bool:
    """Say whether two entries have the same bytes, as their recorded digests say."""
    return before.size == after.size and not any(True for _ in other_chunks(before, after))


def other_chunks(before: EntryRecord, after: EntryRecord) -> Iterator[int]:
    """Yield the chunks of two entries that are not known to be equal.

    They are compared by sha256 where both have it, else by CRC-32, as an archive that was written with that
    alone is read. A chunk that one entry alone has, or that is shorter in one, counts as another.
    """
    by_sha256 = bool(before.sha256s and after.sha256s)
    width = 32 if by_sha256 else 4
    one, other = (entry.sha256s if by_sha256 else entry.crcs for entry in (before, after))
    if one == other and before.size == after.size:
        return
    whole = min(before.size, after.size) // CHUNK
    for chunk in range(max(before.chunks, after.chunks)):
        place = slice(chunk * width, (chunk + 1) * width)
        if one[place] != other[place] or (chunk >= whole and before.size != after.size):
            yield chunk


class _EqualChunks:
    """Which tensors lie at the same bytes of chunks that are equal on both sides."""

    def __init__(self, before: ArchiveReader, after: ArchiveReader) -> None:
        self._before = before
        self._after = after
        self._other: dict[tuple[str, str], frozenset[int]] = {}

    def hold(self, before: TensorReader, after: TensorReader, key: str) -> bool:
        """Say whether a tensor is known to be the same without reading it."""
        one, other = before[key], after[key]
        if (one.dtype, one.shape, one.strides, one.offset) != (
            other.dtype,
            other.shape,
            other.strides,
            other.offset,
        ):
            return False
        places = before.storage_place(one.storage), after.storage_place(other.storage)
        if (places[0].start, places[0].stop) != (places[1].start, places[1].stop):
            return False
        differing = self._differing(places[0].member, places[1].member)
        chunks = range(places[0].start // CHUNK, -(-places[0].stop // CHUNK))
        return differing.isdisjoint(chunks)

    def _differing(self, before: str, after: str) -> frozenset[int]:
        """Return the chunks that differ between two entries."""
        if (before, after) not in self._other:
            entries = self._before.entry(before), self._after.entry(after)
            self._other[before, after] = frozenset(other_chunks(*entries))
        return self._other[before, after]
