"""What the `.metadata` of a folder of torch.distributed.checkpoint (DCP) says: tensors, their chunks, places.

It is a pickle, which PyTorch runs. Here the machine for pickles of data reads it, with a list of names of its
own. What it says is checked before it is believed: chunks lie inside their tensor, fill it and never overlap,
and files are named by names in the folder.

Source: metadata.py, filesystem.py and _nested_dict.py of `torch.distributed.checkpoint`, PyTorch 2.13. Files
since 2.0 have this form.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from packager._archive import MAX_TENSORS
from packager._byte_ranges import ByteRanges
from packager._quick_dataclasses import dataclass
from packager._texts import listed
from packager.errors import LegacyFormatError

from .legacy_bounds import (
    DCP_BYTES_PER_PART,
    DCP_MEMORY_PER_BYTE,
    DCP_NODES_PER_VALUE,
    MAX_CUTS,
    MAX_DCP_MEMORY,
    MAX_DEPTH,
)
from .legacy_tensors import LegacyFile, is_name_beside
from .pickle_machine import Handler, Named, Opaque, Record
from .pickle_opcodes import read_pickle
from .torch_names import DATA_NAMES, checked_shape, named_dtype

METADATA: Final = ".metadata"

_BUFFER: Final = 1 << 16
AGAIN: Final = "copy the folder again, or save it again with torch.distributed.checkpoint"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece lies: the name of a file in the folder, the first byte, and one past the last."""

    file: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A box of a tensor, and where its elements lie."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ChunkedTensor:
    """A tensor in chunks that fill it and never overlap; chunks without elements are not among them."""

    dtype: str
    shape: tuple[int, ...]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class DcpMetadata:
    """What a folder holds by flat key, in order: tensors, places of other values, Opaque for unknown dtypes.

    `paths` are the names under which each key lies in the nested state dict; numbers are places in a list.
    """

    values: Mapping[str, ChunkedTensor | Place | Opaque]
    paths: Mapping[str, tuple[str | int, ...]]


def read_metadata(file: LegacyFile, *, opaque: bool) -> DcpMetadata:
    """Read a `.metadata`. With `opaque=True` names that are no part of it are no error where nothing is lost.

    Raises LegacyFormatError for what cannot be, CheckpointPickleError for a pickle of more than this.
    """
    root = read_pickle(
        io.BufferedReader(ByteRanges(file.read, file.size), _BUFFER),
        _NAMES,
        None,
        file.name,
        opaque=opaque,
        size=file.size,
        memory_per_byte=DCP_MEMORY_PER_BYTE,
        most=MAX_DCP_MEMORY,
    )
    return _Reading(file.name, file.size // DCP_BYTES_PER_PART).metadata(root)


class _Metadata(Record):
    __slots__ = ()


class _TensorStorageMetadata(Record):
    __slots__ = ()


class _BytesStorageMetadata(Record):
    __slots__ = ()


class _TensorProperties(Record):
    __slots__ = ()


class _ChunkStorageMetadata(Record):
    __slots__ = ()


class _MetadataIndex(Record):
    __slots__ = ()


class _StorageInfo(Record):
    __slots__ = ()


def _number(value: int) -> int:
    """Return a memory format, which says nothing of a file."""
    return value


def _path(*parts: str) -> str:
    """Return where the folder once was."""
    return "/".join(parts)


_MODULE: Final = "torch.distributed.checkpoint"
_BEFORE_2_3: Final = "torch.distributed._shard.sharded_tensor.metadata"
_NAMES: Final[Mapping[str, Handler | None]] = {
    **{
        name: made for name, made in DATA_NAMES.items() if name.startswith(("torch ", "torch.serialization "))
    },
    f"{_MODULE}.metadata Metadata": _Metadata,
    f"{_MODULE}.metadata TensorStorageMetadata": _TensorStorageMetadata,
    f"{_MODULE}.metadata BytesStorageMetadata": _BytesStorageMetadata,
    f"{_MODULE}.metadata TensorProperties": _TensorProperties,
    f"{_MODULE}.metadata _MEM_FORMAT_ENCODING": _number,
    f"{_MODULE}.metadata ChunkStorageMetadata": _ChunkStorageMetadata,
    f"{_MODULE}.metadata MetadataIndex": _MetadataIndex,
    f"{_MODULE}.metadata StorageMeta": Record,
    f"{_MODULE}.filesystem _StorageInfo": _StorageInfo,
    f"{_BEFORE_2_3} TensorProperties": _TensorProperties,
    f"{_BEFORE_2_3} MEM_FORMAT_ENCODING": _number,
    **{
        f"{module} {kind}Path": _path
        for module in ("pathlib", "pathlib._local")
        for kind in ("Posix", "Windows")
    },
}


_Box = tuple[tuple[int, ...], tuple[int, ...]]  # offsets and sizes
_Places = Mapping[tuple[str, str | None], Place]


class _Reading:
    """One `.metadata` on its way from records to what they mean, with at most so many values and chunks."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = self._left = most

    def metadata(self, root: object) -> DcpMetadata:
        """Return what the outermost record says."""
        facts = self._facts("", root, _Metadata, "state_dict_metadata", "storage_data")
        values, storage = facts["state_dict_metadata"], facts["storage_data"]
        if (
            type(values) is not dict
            or type(storage) is not dict
            or not all(type(key) is str for key in values)
        ):
            self._fail("", "found no keys with their places; expected those of a state dict")
        if len(values) > MAX_TENSORS:
            self._fail("", f"{len(values)} keys; at most {MAX_TENSORS} are read")
        self._spend("", len(values))
        places = dict(self._places(storage))
        found = {key: self._value(key, value, places) for key, value in values.items()}
        return DcpMetadata(found, self._paths(found, facts.get("planner_data")))

    def _value(self, key: str, value: object, places: _Places) -> ChunkedTensor | Place | Opaque:
        if isinstance(value, _BytesStorageMetadata):
            return self._place(key, None, places)
        facts = self._facts(key, value, _TensorStorageMetadata, "properties", "size", "chunks")
        properties, shape = facts["properties"], self._shape(key, facts["size"])
        state = properties.attributes if isinstance(properties, _TensorProperties) else None
        named: Any = state[0] if type(state) is tuple and state else None
        if isinstance(named, Named) and not named.known:  # or it would have been refused
            return Opaque(named.name.replace(" ", "."), 0)
        try:
            dtype = named_dtype(named)
        except (AttributeError, KeyError):
            self._fail(key, f"found the dtype {_said(named)}; expected one of numbers")
        if type(facts["chunks"]) is not list:
            self._fail(key, "found no list of chunks")
        self._spend(key, len(facts["chunks"]))
        boxes = [self._box(key, shape, chunk) for chunk in facts["chunks"]]
        filled = [(offsets, sizes) for offsets, sizes in boxes if 0 not in sizes]
        self._require_filled(key, shape, filled)
        chunks = [Chunk(*box, self._place(key, box[0], places)) for box in filled]
        return ChunkedTensor(dtype, shape, tuple(chunks))

    def _box(
        self, key: str, shape: tuple[int, ...], chunk: object
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the offsets and sizes of a chunk, which lies inside its tensor."""
        facts = self._facts(key, chunk, _ChunkStorageMetadata, "offsets", "sizes")
        offsets, sizes = self._shape(key, facts["offsets"]), self._shape(key, facts["sizes"])
        inside = len(offsets) == len(sizes) == len(shape)
        if not inside or any(at + size > most for at, size, most in zip(offsets, sizes, shape, strict=True)):
            self._fail(key, f"a chunk at {_shown(offsets)} of {_shown(sizes)} reaches out of {_shown(shape)}")
        return offsets, sizes

    def _require_filled(self, key: str, shape: tuple[int, ...], boxes: list[_Box]) -> None:
        """Raise LegacyFormatError where boxes do not fill a tensor, or overlap.

        They are parted by cuts along each axis in turn until each is alone, as shards of meshes can be. What
        no cut parts overlaps, or is arranged as no sharding does it.
        """
        held, whole = sum(math.prod(sizes) for _, sizes in boxes), math.prod(shape)
        if held != whole:
            self._fail(key, f"chunks of {held} elements; the tensor {_shown(shape)} has {whole}")
        work = [(boxes, 0)]
        while work:
            group, cuts = work.pop()
            if len(group) < 2:
                continue
            if cuts == MAX_CUTS or not shape:
                self._fail(key, f"{len(group)} chunks overlap, the first at {_shown(min(group)[0])}")
            work += [(part, cuts + 1) for part in _cut(group, cuts % len(shape))]

    def _places(self, storage: dict[Any, Any]) -> Iterator[tuple[tuple[str, str | None], Place]]:
        """Yield the place of each chunk, by key and offsets, and of other values, by key and None."""
        seen = set()  # offsets are texts in it: tuples of numbers can be made to collide
        for index, info in storage.items():
            named = self._facts("", index, _MetadataIndex, "fqn")
            key, offsets = named["fqn"], named.get("offset")
            if type(key) is not str:
                self._fail("", "a place of something that has no key")
            part = key, None if offsets is None else _shown(self._shape(key, offsets))
            if part in seen:
                self._fail(key, "two places for one chunk")
            seen.add(part)
            yield part, self._at(key, info)

    def _at(self, key: str, info: object) -> Place:
        facts = self._facts(key, info, _StorageInfo, "relative_path", "offset", "length")
        name, start, length = facts["relative_path"], facts["offset"], facts["length"]
        if facts.get("transform_descriptors"):
            self._fail(
                key,
                "its bytes are compressed or encrypted by an extension (transform_descriptors)",
                "load it with PyTorch and that extension, and save it again without one",
            )
        if type(name) is not str or not is_name_beside(name):
            self._fail(key, f"{_said(name)} is not the name of a file in the folder")
        if not all(type(n) is int and 0 <= n < 1 << 63 for n in (start, length)) or not length:
            self._fail(key, f"{_said(length)} bytes at {_said(start)} of {_said(name)}; expected some inside")
        return Place(name, start, start + length)

    def _place(self, key: str, offsets: tuple[int, ...] | None, places: _Places) -> Place:
        chunk = None if offsets is None else _shown(offsets)
        found = places.get((key, chunk))
        if found is None:
            self._fail(key, "no place" + (f" for the chunk at {chunk}" if chunk else ""))
        return found

    def _paths(self, values: Mapping[str, object], planned: Any) -> dict[str, tuple[str | int, ...]]:
        """Return the names under which values lie; those that are not planned lie under their keys."""
        if planned is not None and type(planned) is not dict:
            self._fail("", f"planner_data of type {type(planned).__name__}; expected a dict of paths")
        paths: dict[str, tuple[str | int, ...]] = {}
        for key in values:
            path = (planned or {}).get(key, (key,))
            short = type(path) is tuple and 0 < len(path) <= MAX_DEPTH
            if not short or type(path[0]) is not str or not all(map(_is_step, path)):
                self._fail(key, "a path that is not made of names, and of places in lists")
            paths[key] = path
        return paths

    def _spend(self, key: str, count: int) -> None:
        """Count values or chunks. Raises LegacyFormatError for far more than the file can describe."""
        self._left -= count
        if self._left < 0:
            found = self._most - self._left
            self._fail(key, f"{found} keys and chunks; a file of its size can describe {self._most}")

    def _shape(self, key: str, shape: object) -> tuple[int, ...]:
        try:
            return checked_shape(shape)
        except ValueError as error:
            self._fail(key, str(error))

    def _facts(self, key: str, record: object, kind: type[Record], *names: str) -> dict[str, Any]:
        """Return the attributes of a record, which has these among them."""
        facts = record.attributes if isinstance(record, kind) else None
        if type(facts) is not dict or not all(name in facts for name in names):
            found = "another" if isinstance(record, kind) else type(record).__name__.strip("_")
            self._fail(key, f"found {found}; expected a {kind.__name__.strip('_')} with {listed(names)}")
        return facts

    def _fail(self, key: str, found: str, advice: str = AGAIN) -> NoReturn:
        where = f"{self._name}: {key[:200]!r}" if key else self._name
        raise LegacyFormatError(f"{where}: {found}; {advice}")


def nested(metadata: DcpMetadata, values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return values at their paths: dicts for names, lists for places. A place that no path has is None.

    Raises LegacyFormatError for paths that contradict each other, and for far more places than values.
    """
    root, room = _Node(), DCP_NODES_PER_VALUE * len(values) + MAX_DEPTH
    for key, value in values.items():
        node, path = root, metadata.paths[key]
        for name in path[:-1]:
            room -= name not in node
            node = node.setdefault(name, _Node())
            if type(node) is not _Node or room < 0:
                raise LegacyFormatError(f"{what}: {key[:200]!r} lies in another value, or too deep; {AGAIN}")
        if path[-1] in node:
            raise LegacyFormatError(f"{what}: two values lie at {key[:200]!r}; {AGAIN}")
        node[path[-1]] = value
    return _with_lists(root, room, what)


class _Node(dict[Any, Any]):
    """A dict or list on the way to a value."""


def _with_lists(root: _Node, room: int, what: str) -> dict[str, Any]:
    """Return plain dicts and lists instead of nodes, the outermost first."""
    whole: dict[str, Any] = {}
    work: list[tuple[Any, _Node]] = [(whole, root)]
    while work:
        target, node = work.pop()
        places = sum(type(name) is int for name in node)
        if places != (len(node) if type(target) is list else 0):
            raise LegacyFormatError(f"{what}: names and places in one list or dict; {AGAIN}")
        if type(target) is list:
            room -= max(node) + 1 - len(node)
            if room < 0:
                raise LegacyFormatError(f"{what}: a list of {max(node) + 1} for {len(node)} values; {AGAIN}")
            target += [None] * (max(node) + 1)
        for name, value in node.items():
            if type(value) is _Node:
                inner: Any = [] if type(next(iter(value))) is int else {}
                work.append((inner, value))
                value = inner
            target[name] = value
    return whole


def _cut(boxes: list[_Box], axis: int) -> list[list[_Box]]:
    """Return boxes in the groups between which cuts across an axis go."""
    parts: list[list[_Box]] = []
    end = -1
    for box in sorted(boxes, key=lambda box: box[0][axis]):
        if box[0][axis] >= end:
            parts.append([])
        parts[-1].append(box)
        end = max(end, box[0][axis] + box[1][axis])
    return parts


def _is_step(name: object) -> bool:
    return type(name) is str or (type(name) is int and 0 <= name < MAX_TENSORS)


def _shown(sizes: Sequence[int]) -> str:
    return str(list(sizes))


def _said(value: object) -> str:
    """Return a name or number as it is, and of anything else its type: data may be endless when written."""
    if isinstance(value, Named):
        return repr(value.name[:80])
    return f"{value!r:.80}" if type(value) in (str, int) else type(value).__name__
