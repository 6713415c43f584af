"""A state dict that several processes have together, encoded: each lays out its part, all agree on the whole.

A part holds whole tensors and slices (`Shard`). What one rank tells the others of its part is plain data;
from what all have told each puts together the same whole, and says of each storage which of its bytes this
process has to write. Values that are no tensors are those of rank 0.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packager._archive import Piece, SharedStorage, TensorSpec
from packager._graph import Importer
from packager._objects import EncodedObject, Finding, NameUse, Storage, encode, encoder_for
from packager._process import gc_paused
from packager._quick_dataclasses import dataclass, field, replace
from packager._state_dicts import (
    EncodedStateDict,
    SortedState,
    extras_of,
    laid_out,
    mapping_of,
    sorted_out,
    with_extras,
)
from packager._tensors import (
    ITEMSIZE,
    Shard,
    TensorData,
    box_text,
    bytes_in_order,
    contiguous_strides,
    overlapping,
    span_of,
)

from .group import Ranks
from .whole import ToldPart, Unit, WholeState, WholeStorage, frozen, plain, put_together

_OVERLAPS = "shares memory with {other}, and one of them is a Shard"
_COPY = "pass a copy of one of them, or, if they are tied, the same slice of both"


@dataclass(frozen=True)
class Coding:
    """How values become records: where names come from, and for whom; `root` is what paths start with."""

    importer: Importer
    exporter: Any
    root: str


@dataclass(frozen=True)
class StatePart:
    """What one rank has of a state dict: `data` are the bytes of its units, C-contiguous."""

    state: SortedState
    units: tuple[Unit, ...]
    data: tuple[memoryview, ...] = field(repr=False)

    def told(self, listed: Sequence[str] | None, ran: Sequence[str]) -> Any:
        """Return what the other ranks need to know, as plain data."""
        state, columns = self.state, self.state.metadata
        metadata = None
        if columns is not None:  # what else is known of modules is told of by a digest alone
            versions = [version if type(version) is int else None for version in columns["versions"]]
            metadata = [columns["paths"], versions, sorted(columns["more"])]
        said = state.warnings, state.refusals
        libraries = sorted(state.libraries)
        return plain(
            [state.keys, self.units, state.raw, [*state.others], metadata, libraries, *said, listed, ran]
        )


def encode_shared_state(
    source: object,
    ranks: Ranks,
    *,
    listed: Sequence[str] | None,
    ran: Sequence[str],
    importer: Importer,
    exporter: object,
    root: str,
    what: str,
) -> tuple[EncodedStateDict, tuple[str, ...]]:
    """Encode the state dict of which each rank gives its part; return it, and the migrations that ran.

    All ranks get the same, but for `storages`, which say what each has to write. `listed` are all keys in
    their order, or None. `what` names it in errors.

    Raises RanksDisagreeError, on all ranks, where the parts do not make one state dict: a key with another
    dtype, shape or value on another rank, slices with a hole or an overlap, keys that `listed` does not have.
    """
    coding = Coding(importer, exporter, root)
    with gc_paused():  # what is told is many small lists, through all of which the collector would go
        part = _lay_out(source, coding)
        told = ranks.exchange(f"saving {what}", part.told(listed, ran))
        whole = put_together([*map(ToldPart.heard, told)], listed)
        if isinstance(whole, list):
            raise ranks.disagreement(what, whole)
        told = ranks.exchange("comparing values", [*_digests(part, whole, ranks, coding)])
        if problems := _differing(told):
            raise ranks.disagreement(what, problems)
        return _encoded(part, whole, ranks, coding), whole.ran


# --- the part of one rank ---


def _lay_out(source: Any, coding: Coding) -> StatePart:
    """Lay out the tensors of this rank's part. Nothing is changed; slices with gaps are copied.

    Raises ArgumentError for what is neither a mapping nor has `state_dict()`.
    """
    given, root = mapping_of(source), coding.root
    values = dict(given.items())  # a lazy one makes its values anew each time
    bare = {key: value.tensor if isinstance(value, Shard) else value for key, value in values.items()}
    encoder = encoder_for(coding.importer, coding.exporter, None, root)
    state = sorted_out(bare, getattr(given, "_metadata", None), encoder, root)
    cut = {key: value for key, value in values.items() if isinstance(value, Shard)}
    refused = [
        Finding(
            f"{root}[{key!r}]", "is a Shard of a value that is not a tensor", ("pass a tensor or an array",)
        )
        for key in cut
        if key in state.others
    ]
    shards = {key: value for key, value in cut.items() if key in state.tensors}
    tied = _tied(state.tensors, shards)
    refused += _overlaps(state.tensors, shards, tied, root)
    state = replace(state, refusals=(*state.refusals, *refused))
    specs, data = laid_out({key: data for key, data in state.tensors.items() if key not in shards})
    inside: list[list[TensorSpec]] = [[] for _ in data]
    for spec in specs:
        inside[spec.storage].append(replace(spec, storage=0))
    units = [Unit(tuple(held), one.nbytes, None) for held, one in zip(inside, data, strict=True)]
    units += [_slice_unit(keys, state.tensors[keys[0]], shards[keys[0]]) for keys in tied]
    slices = (bytes_in_order(state.tensors[keys[0]]) for keys in tied)
    return StatePart(state, tuple(units), (*data, *slices))


def _tied(tensors: Mapping[str, TensorData], shards: Mapping[str, Shard]) -> list[list[str]]:
    """Return the keys of slices, those together that are the same slice in the same memory."""
    tied: dict[Any, list[str]] = {}
    for key, shard in shards.items():
        data = tensors[key]
        memory = key if 0 in data.shape else (data.address, data.strides)
        tied.setdefault((memory, data.dtype, data.shape, shard.shape, shard.offsets), []).append(key)
    return list(tied.values())


def _slice_unit(keys: list[str], data: TensorData, shard: Shard) -> Unit:
    row = data.shape[len(shard.shape) :]  # elements that are rows of bytes
    shape, box = (*shard.shape, *row), (*shard.box, *((0, extent) for extent in row))
    specs = tuple(TensorSpec(key, data.dtype, shape, contiguous_strides(shape), 0, 0) for key in keys)
    return Unit(specs, ITEMSIZE[data.dtype] * math.prod(shape), box)


def _overlaps(
    tensors: Mapping[str, TensorData], shards: Mapping[str, Shard], tied: list[list[str]], root: str
) -> Iterator[Finding]:
    """Refuse slices that share memory with something else: it would be stored twice, and untied."""
    same = {key: keys[0] for keys in tied for key in keys}
    names = [key for key in tensors if same.get(key, key) == key]
    spans = [span_of(tensors[key]) if 0 not in tensors[key].shape else None for key in names]
    for group in overlapping(spans):
        members = [names[number] for number in group]
        cut = [key for key in members if key in shards]
        if len(members) > 1 and cut:
            other = next(key for key in members if key != cut[0])
            yield Finding(f"{root}[{cut[0]!r}]", _OVERLAPS.format(other=repr(other)), (_COPY,))


# --- what several ranks have is the same ---


def _digests(part: StatePart, whole: WholeState, ranks: Ranks, coding: Coding) -> Iterator[list[Any]]:
    """Digest what this rank has, and others have too."""
    if ranks.size == 1:
        return
    for storage in whole.storages:
        for slice in storage.slices:
            number = dict(slice.holders).get(ranks.rank)
            if number is not None and len(slice.holders) > 1:
                where = "" if slice.box is None else f" {box_text(slice.box)}"
                name = f"{', '.join(map(repr, storage.keys))}{where}"
                yield [name, hashlib.sha256(part.data[number]).digest()]
    for key in whole.others:
        if key in part.state.others:
            value = part.state.others[key]
            encoded = encode(value, importer=coding.importer, exporter=coding.exporter, root=coding.root)
            digest = hashlib.sha256(encoded.records)
            for stored in encoded.storages:
                digest.update(stored.buffer)
            yield [repr(key), digest.digest()]


def _differing(told: Sequence[Sequence[Sequence[Any]]]) -> list[str]:
    """Say of which tensors and other values that several ranks have the values differ."""
    found: dict[str, dict[int, bytes]] = {}
    for rank, digests in enumerate(told):
        for name, digest in digests:
            found.setdefault(name, {})[rank] = digest
    problems = []
    for name, by_rank in found.items():
        first = next(iter(by_rank))
        unlike = [rank for rank, digest in by_rank.items() if digest != by_rank[first]]
        if unlike:
            problems.append(f"{name}: ranks {first} and {unlike[0]} have different values")
    return problems


# --- the whole, as this rank writes it ---


def _encoded(part: StatePart, whole: WholeState, ranks: Ranks, coding: Coding) -> EncodedStateDict:
    """Return the whole, with the extras that rank 0 encodes."""
    extras = _extras(part, whole, coding) if ranks.is_first else None
    told = None
    if extras is not None:
        storages = [[one.name, one.dtype, one.shape, one.buffer.nbytes] for one in extras.storages]
        said = extras.names, extras.warnings, extras.refusals, extras.codecs
        told = [extras.records, *map(plain, (storages, *said))]
    records, inside, names, warnings, refusals, codecs = frozen(ranks.from_first("encoding", told))
    own = [SharedStorage(nbytes) for _, _, _, nbytes in inside]
    if extras is not None:
        own = [SharedStorage(n.buffer.nbytes, (_piece_of_all(n.buffer),)) for n in extras.storages]
    buffers: list[Any] = own  # in the place of memory
    heard = EncodedObject(
        records,
        tuple(
            Storage(name, dtype, shape, buffer)
            for (name, dtype, shape, _), buffer in zip(inside, buffers, strict=True)
        ),
        tuple(NameUse(*one) for one in names),
        tuple(Finding(*one) for one in warnings),
        tuple(Finding(*one) for one in refusals),
        codecs,
    )
    versions = tuple((path, n) for path, n in (whole.known or {}).items() if n is not None)
    shared = tuple(_storage(one, part, ranks.rank) for one in whole.storages)
    encoded = with_extras(
        whole.tensors, shared, heard, versions, whole.libraries, whole.warnings, whole.refusals
    )
    return replace(encoded, warnings=tuple(dict.fromkeys(encoded.warnings)))


def _extras(part: StatePart, whole: WholeState, coding: Coding) -> EncodedObject:
    """Encode what is beside the tensors, on rank 0."""
    others = {key: part.state.others[key] for key in whole.others}
    metadata = None
    if whole.known is not None:
        columns: Any = part.state.metadata or {"paths": [], "versions": [], "more": {}}
        here = dict(zip(columns["paths"], columns["versions"], strict=True))  # also what is no number
        versions = [here.get(path, version) for path, version in whole.known.items()]
        metadata = {"paths": [*whole.known], "versions": versions, "more": columns["more"]}
    encoder = encoder_for(coding.importer, coding.exporter, None, coding.root)
    return extras_of(encoder, whole.keys, others, whole.raw, metadata, coding.root)


def _storage(storage: WholeStorage, part: StatePart, rank: int) -> SharedStorage:
    """Return a storage with what this rank writes of it."""
    mine = [number for by, number in (slice.writer for slice in storage.slices) if by == rank]
    return SharedStorage(storage.nbytes, tuple(_piece(part.units[n], part.data[n]) for n in mine))


def _piece(unit: Unit, data: memoryview) -> Piece:
    if unit.box is None:
        return _piece_of_all(data)
    spec = unit.tensors[0]
    return Piece(data, spec.shape, unit.box, ITEMSIZE[spec.dtype])


def _piece_of_all(data: memoryview) -> Piece:
    return Piece(data, (data.nbytes,), ((0, data.nbytes),), 1)
