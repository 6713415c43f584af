"""The part of a state dict that one of several processes has: laid out here, and told to the others.

A part holds whole tensors and slices (`Shard`). What one rank tells the others of its part is plain data;
from what all have told each puts together the same whole, in `whole_states`. Values that are no tensors are
those of rank 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from packager.archive import TensorSpec
from packager.codecs import default_registry
from packager.graph import Importer
from packager.quick_dataclasses import dataclass, field
from packager.tensors import (
    ITEMSIZE,
    Box,
    Shard,
    TensorData,
    box_text,
    bytes_in_order,
    contiguous_strides,
    lay_out,
    overlapping,
    span_of,
)

from .encoder import Encoder
from .encoding import KINDS
from .recording import Finding
from .state_dicts import libraries_of, mapping_of, metadata_columns, sorted_out

_OVERLAPS = "shares memory with {other}, and one of them is a slice of a tensor that several processes have"
_COPY = "pass a copy of one of them; slices of tied tensors are the same slice of each"


@dataclass(frozen=True)
class Unit:
    """Bytes of a part that belong together: a storage, or this rank's slice of one.

    `tensors` are those that lie in the whole storage, of `nbytes`; `box` is what the slice is of the first of
    them, None for all of it. `data` is C-contiguous.
    """

    tensors: tuple[TensorSpec, ...]
    nbytes: int
    box: Box | None
    data: memoryview = field(repr=False)


@dataclass(frozen=True)
class StatePart:
    """What one rank has of a state dict.

    `raw` names dtypes that safetensors has no word for, `others` are values that are no tensors, `metadata`
    is what is known of modules, `libraries` are those of the tensors.
    """

    keys: tuple[str, ...]
    units: tuple[Unit, ...]
    raw: Mapping[str, str]
    others: Mapping[str, Any] = field(repr=False)
    versions: tuple[tuple[str, int], ...]
    metadata: Mapping[str, Any] | None
    libraries: tuple[str, ...]
    warnings: tuple[Finding, ...]
    refusals: tuple[Finding, ...]

    def told(self) -> dict[str, Any]:
        """Return what the other ranks need to know, as plain data."""
        return {
            "keys": list(self.keys),
            "units": [[list(map(told_tensor, unit.tensors)), unit.nbytes, unit.box] for unit in self.units],
            "raw": list(self.raw.items()),
            "others": list(self.others),
            "metadata": None if self.metadata is None else _told_metadata(self.metadata),
            "libraries": list(self.libraries),
            "warnings": [told_finding(one) for one in self.warnings],
            "refusals": [told_finding(one) for one in self.refusals],
        }


def lay_out_part(source: Any, *, importer: Importer, exporter: Any, root: str) -> StatePart:
    """Lay out the tensors of this rank's part. Nothing is changed; slices with gaps are copied.

    Raises ArgumentError for what is neither a mapping nor has `state_dict()`.
    """
    registry = default_registry()
    registry.load_all()
    given = mapping_of(source)
    state = dict(given.items())  # a lazy one makes its values anew each time
    bare = {key: value.tensor if isinstance(value, Shard) else value for key, value in state.items()}
    context = Encoder(importer, exporter, registry, root, KINDS)
    tensors, raw, others, refusals, warnings = sorted_out(bare, context, root)
    shards = {key: value for key, value in state.items() if isinstance(value, Shard) and key in tensors}
    refusals += [
        Finding(f"{root}[{key!r}]", "is a slice of what is no tensor", ("pass a tensor or an array",))
        for key, value in state.items()
        if isinstance(value, Shard) and key in others
    ]
    units, overlaps = _units(tensors, shards, root)
    versions, metadata = metadata_columns(getattr(given, "_metadata", None))
    return StatePart(
        tuple(key for key in state if type(key) is str),
        units,
        raw,
        others,
        versions,
        metadata,
        tuple(sorted(libraries_of(bare[key] for key in tensors))),
        tuple(warnings),
        (*refusals, *overlaps),
    )


def digest_of_value(value: Any, *, importer: Importer, exporter: Any, root: str) -> bytes:
    """Return a digest of a value that is no tensor, as it would be stored alone."""
    encoded = Encoder(importer, exporter, default_registry(), root, KINDS).encode(value)
    digest = hashlib.sha256(encoded.records)
    for storage in encoded.storages:
        digest.update(storage.buffer)
    return digest.digest()


def told_finding(finding: Finding) -> list[Any]:
    """Return a finding as plain data."""
    return [finding.path, finding.reason, list(finding.options), finding.unless]


def heard_finding(told: list[Any]) -> Finding:
    """Return the finding that another rank has told of."""
    path, reason, options, unless = told
    return Finding(path, reason, tuple(options), unless)


def _units(
    tensors: Mapping[str, TensorData], shards: Mapping[str, Shard], root: str
) -> tuple[tuple[Unit, ...], list[Finding]]:
    """Return whole storages and slices, and what is said against slices that share memory."""
    whole = {key: data for key, data in tensors.items() if key not in shards}
    placed, storages = lay_out(list(whole.values()), by_axes=True)
    inside: list[list[TensorSpec]] = [[] for _ in storages]
    for (key, data), place in zip(whole.items(), placed, strict=True):
        offset = place.offset // ITEMSIZE[data.dtype]
        inside[place.storage].append(
            TensorSpec(key, data.dtype, data.shape, place.strides, offset, place.storage)
        )
    units = [
        Unit(tuple(specs), storage.buffer.nbytes, None, storage.buffer)
        for specs, storage in zip(inside, storages, strict=True)
    ]
    tied: dict[Any, list[str]] = {}  # the same memory as the same slice
    for key, shard in shards.items():
        data = tensors[key]
        memory = key if 0 in data.shape else (data.address, data.strides)
        tied.setdefault((memory, data.dtype, data.shape, shard.shape, shard.offsets), []).append(key)
    units += [_slice_unit(keys, tensors[keys[0]], shards[keys[0]]) for keys in tied.values()]
    return tuple(units), list(_overlaps(tensors, shards, list(tied.values()), root))


def _slice_unit(keys: list[str], data: TensorData, shard: Shard) -> Unit:
    row = data.shape[len(shard.shape) :]  # elements that are rows of bytes
    shape, box = (*shard.shape, *row), (*shard.box, *((0, extent) for extent in row))
    specs = tuple(TensorSpec(key, data.dtype, shape, contiguous_strides(shape), 0, 0) for key in keys)
    nbytes = ITEMSIZE[data.dtype]
    for extent in shape:
        nbytes *= extent
    return Unit(specs, nbytes, box, bytes_in_order(data))


def _overlaps(
    tensors: Mapping[str, TensorData], shards: Mapping[str, Shard], tied: list[list[str]], root: str
) -> list[Finding]:
    """Refuse slices that share memory with something else: it would be stored twice, and untied."""
    same = {key: keys[0] for keys in tied for key in keys}
    names = [key for key in tensors if same.get(key, key) == key]
    spans = [span_of(tensors[key]) if 0 not in tensors[key].shape else None for key in names]
    found = []
    for group in overlapping(spans):
        members = [names[number] for number in group]
        cut = [key for key in members if key in shards]
        if len(members) > 1 and cut:
            other = next(key for key in members if key != cut[0])
            found.append(Finding(f"{root}[{cut[0]!r}]", _OVERLAPS.format(other=repr(other)), (_COPY,)))
    return found


def told_tensor(spec: TensorSpec) -> list[Any]:
    """Return a tensor as plain data, but for the number of its storage."""
    return [spec.key, spec.dtype, list(spec.shape), list(spec.strides), spec.offset]


def _told_metadata(columns: Mapping[str, Any]) -> list[Any]:
    """Return paths and versions of modules; what else is known of them is told of by a digest alone."""
    versions = [version if type(version) is int else None for version in columns["versions"]]
    return [list(columns["paths"]), versions, sorted(columns["more"])]


def held_text(tensors: list[Any], box: Any) -> str:
    """Return what a rank has told of a unit as text, to be compared by eye.

    >>> held_text([["w", "F32", [4, 2], [2, 1], 0]], [[0, 2], [0, 2]])
    'w: F32 [4, 2], slice [0:2, 0:2]'
    """
    names = "; ".join(
        f"{key}: {dtype} {list(shape)}" + (f" at {offset}" if offset else "")
        for key, dtype, shape, _, offset in tensors
    )
    return names if box is None else f"{names}, slice {box_text(tuple(tuple(ends) for ends in box))}"
