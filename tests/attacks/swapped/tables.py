"""Honest archives as tables of records that can be changed in one place, and written again.

Only the format's pages are used here: a record is `[kind, operand, ...]`, a negative operand refers
backwards. Where an operand refers to a record, a `Node` stands in a decoded table; a change is a new record
for a node, so that a seed is read once and never copied.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack

from packager._archive import (
    ArchiveReader,
    ArchiveWriter,
    ExternRecord,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    TensorReader,
    TensorSpec,
    TypeUse,
    add_tensors,
)

GLOBAL, INT, STR, BYTES, TENSOR, TUPLE, LIST, DICT, SET, FROZENSET = range(10)
PACKED_TUPLE, PACKED_LIST, PACKED_DICT, SHAPE, OBJ, NEW, NEW_KW, CALL, CALL_KW, PACKAGE_CALL = range(10, 20)
METHOD, FUNCTION, CELL, CODEC, FILL, EXTEND, UPDATE, ADD, SETCELL, STATE, FINISH, RUN = range(20, 32)
EXTEND_LONG, UPDATE_LONG = 37, 38

FILLS = frozenset({FILL, EXTEND, UPDATE, ADD, SETCELL, STATE, FINISH, EXTEND_LONG, UPDATE_LONG})
_WITHOUT = frozenset({GLOBAL, INT, STR, BYTES, TENSOR, PACKED_TUPLE, PACKED_LIST, PACKED_DICT, RUN})
_ONCE = frozenset({GLOBAL, INT, STR, BYTES, SHAPE})
_CODEC_AT = {CODEC: 1, FINISH: 2, SHAPE: 2}
_LITERAL_AT = {CODEC: 2, FINISH: 3}
_ROLES = {
    SHAPE: "create",
    NEW: "create",
    NEW_KW: "create",
    CALL: "call",
    CALL_KW: "call",
    PACKAGE_CALL: "call",
}
_INLINE, _MOST = 64, 2**64 - 1


class NotInOrder(Exception):
    """A change that refers to what stands behind it; another one is drawn."""


class Node:
    """A record whose references are nodes, and whose codec is its name and version.

    `block` is, for a node of another table than the one that is written, all nodes of that table in their
    order.
    """

    __slots__ = ("block", "record")

    def __init__(self, *record: Any, block: Sequence[Node] = ()) -> None:
        self.record = list(record)
        self.block = block


@dataclass(frozen=True)
class Seed:
    """An honest object, decoded."""

    name: str
    nodes: list[Node]
    root: Any
    storages: Mapping[str, tuple[str, tuple[int, ...], bytes]]
    manifest: Manifest


@dataclass(frozen=True)
class Changed:
    """What differs from a seed: records by node, and storages that are new."""

    records: Mapping[Node, list[Any]] = field(default_factory=dict)
    storages: Mapping[str, tuple[str, tuple[int, ...], bytes]] = field(default_factory=dict)

    def over(self, other: Changed) -> Changed:
        """Return both; where they change one record, this one's change counts."""
        return Changed({**other.records, **self.records}, {**other.storages, **self.storages})


def decoded(name: str, file: bytes) -> list[Seed]:
    """Read all objects of an archive as seeds, each of which will be `m/m` of an archive of its own."""
    seeds = []
    with ArchiveReader(file) as reader:
        for number, record in enumerate(reader.manifest.objects):
            storages = {}
            if record.tensors is not None:
                tensors = TensorReader(reader, record.tensors)
                storages = {
                    key: (tensors[key].dtype, tensors[key].shape, bytes(tensors.data(key))) for key in tensors
                }
            table = msgpack.unpackb(reader.read(record.entry), strict_map_key=False)
            alone = replace(record, package="m", resource="m", entry="m/m")
            manifest = replace(reader.manifest, objects=(alone,))
            seeds.append(_decoded(f"{name}.{number}", table, storages, manifest))
    return seeds


def _decoded(name: str, table: list[Any], storages: Mapping[str, Any], manifest: Manifest) -> Seed:
    codecs, records, root = table
    nodes = [Node() for _ in records]

    def operand(value: Any) -> Any:
        return nodes[-1 - value] if type(value) is int and value < 0 else value

    for node, spelled in zip(nodes, records, strict=True):
        kind = spelled[0]
        node.record, node.block = list(spelled), nodes
        if kind == TENSOR:
            node.record[1] = f"{name}/{spelled[1]}"
        if kind in _WITHOUT:
            continue
        node.record[1:] = [operand(value) for value in spelled[1:]]
        at = _CODEC_AT.get(kind)
        if at is not None and spelled[at] is not None:
            node.record[at] = tuple(codecs[spelled[at]])
        if kind in _LITERAL_AT:
            node.record[_LITERAL_AT[kind]] = spelled[_LITERAL_AT[kind]]
    renamed = {f"{name}/{key}": value for key, value in storages.items()}
    return Seed(name, nodes, operand(root), renamed, manifest)


def as_operand(value: Any) -> Any:
    """Return a scalar as an operand: itself where it stands inline, else a node."""
    if type(value) is int and not 0 <= value <= _MOST:
        if -(2**63) <= value < 0:
            return Node(INT, value)
        return Node(INT, value.to_bytes(max(value, ~value).bit_length() // 8 + 1, "big", signed=True))
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            return Node(STR, value.encode("utf-8", "surrogatepass"))
        return value if len(value) <= _INLINE else Node(STR, value)
    return Node(BYTES, value) if type(value) is bytes else value


def unpacked(record: list[Any]) -> list[Any]:
    """Return a packed container as one of operands, and any other record as it is."""
    if record[0] not in (PACKED_TUPLE, PACKED_LIST, PACKED_DICT):
        return record
    return [record[0] - 5, *map(as_operand, record[1:])]


def children(record: Sequence[Any]) -> Iterator[Node]:
    """Yield the nodes that a record refers to."""
    return (operand for operand in record[1:] if type(operand) is Node)


class _Table:
    """A table that is being written: only what the root reaches, each value once."""

    def __init__(self, seed: Seed, changed: Changed) -> None:
        self._changes = changed.records
        self._place = {node: at for at, node in enumerate(seed.nodes)}
        self.records: list[list[Any]] = []
        self.codecs: list[list[Any]] = [["records", 1]]
        self.uses: dict[tuple[str, str], None] = {}
        self.storages: dict[str, None] = {}
        self._index: dict[Node, int] = {}
        self._once: dict[Any, int] = {}
        fills: dict[Node, list[Node]] = {}
        for node in [*seed.nodes, *self._blocks(seed)]:
            if self.record_of(node)[0] in FILLS:
                fills.setdefault(self.record_of(node)[1], []).append(node)
        self._reached: set[Node] = set()
        waiting = [seed.root] if type(seed.root) is Node else []
        while waiting:
            node = waiting.pop()
            if node not in self._reached:
                self._reached.add(node)
                waiting += [*children(self.record_of(node)), *fills.get(node, ())]
        for node in seed.nodes:
            if node in self._reached:
                self._emit(node, node)
        self.root = self._spelled(seed.root)
        if type(self.root) is int and self.root < 0 and self.records[-1 - self.root][0] == GLOBAL:
            self._use(self.records[-1 - self.root], "value")

    def record_of(self, node: Node) -> list[Any]:
        return self._changes.get(node, node.record)

    def _blocks(self, seed: Seed) -> Iterator[Node]:
        waiting, seen = list(self._changes.values()), set()
        while waiting:
            for child in children(waiting.pop()):
                if child in self._place or child in seen:
                    continue
                seen.add(child)
                yield from child.block
                seen.update(child.block)
                waiting += [self.record_of(child), *map(self.record_of, child.block)]

    def _emit(self, node: Node, below: Node) -> None:
        """Write what a record needs, and it; `below` is what of the seed itself is being written."""
        if node in self._place:
            if node is not below and self._place[node] >= self._place[below]:
                raise NotInOrder
            self._emit_one(node, below)
            return
        for other in node.block or (node,):
            self._emit_one(other, below)

    def _emit_one(self, node: Node, below: Node) -> None:
        if node in self._index or node not in self._reached:
            return
        record = self.record_of(node)
        for child in children(record):
            if child not in self._index:
                if child is below or child is node:
                    raise NotInOrder
                self._emit(child, below)
        spelled = self._spelled_record(record)
        key = (spelled[0], type(spelled[1]), repr(spelled)) if spelled[0] in _ONCE else None
        if key is not None and key in self._once:
            self._index[node] = self._once[key]
            return
        self._index[node] = len(self.records)
        if key is not None:
            self._once[key] = len(self.records)
        self.records.append(spelled)

    def _spelled(self, operand: Any) -> Any:
        if type(operand) is not Node:
            return operand
        if operand not in self._index:
            raise NotInOrder
        return -1 - self._index[operand]

    def _spelled_record(self, record: list[Any]) -> list[Any]:
        kind = record[0]
        if kind in _WITHOUT:
            if kind == TENSOR:
                self.storages[record[1]] = None
            return record
        spelled = [kind, *map(self._spelled, record[1:])]
        at = _CODEC_AT.get(kind)
        if at is not None and record[at] is not None:
            row = list(record[at])
            if row not in self.codecs:
                self.codecs.append(row)
            spelled[at] = self.codecs.index(row)
        self._note_uses(kind, spelled)
        return spelled

    def _note_uses(self, kind: int, spelled: list[Any]) -> None:
        literal = _LITERAL_AT.get(kind)
        for at, operand in enumerate(spelled[1:], 1):
            if type(operand) is int and operand < 0 and at != literal:
                referred = self.records[-1 - operand]
                if referred[0] == GLOBAL:
                    self._use(referred, _ROLES.get(kind, "value") if at == 1 else "value")

    def _use(self, named: list[Any], role: str) -> None:
        self.uses.setdefault((f"{named[1]}:{named[2]}", role))


def written(seed: Seed, changed: Changed = Changed()) -> bytes:
    """Write a changed seed as an archive, with right digests, names, roles and externs.

    Raises NotInOrder for a change that refers to what stands behind it.
    """
    table = _Table(seed, changed)
    storages = {**seed.storages, **changed.storages}
    kept = {key: storages[key] for key in table.storages}
    types = tuple(TypeUse(name, role) for name, role in table.uses)
    record = replace(
        seed.manifest.objects[0],
        tensors="m/m.safetensors" if kept else None,
        types=types,
        codecs=tuple((name, version) for name, version in table.codecs),
    )
    target = io.BytesIO()
    with ArchiveWriter(target, fsync=False) as writer:
        if kept:
            specs = [
                TensorSpec(key, dtype, shape, _strides(shape), 0, number)
                for number, (key, (dtype, shape, _)) in enumerate(kept.items())
            ]
            add_tensors(writer, "m/m.safetensors", specs, [content for _, _, content in kept.values()])
        packed = msgpack.packb([table.codecs, table.records, table.root], strict_types=True)
        writer.add(record.entry, packed, kind="object")
        writer.seal(_manifest_with(seed.manifest, record))
    return target.getvalue()


def _manifest_with(manifest: Manifest, record: ObjectRecord) -> Manifest:
    """Declare what the names of the object come from, as a forger would."""
    modules = {module.name: module for module in manifest.modules}
    externs = {extern.name: extern for extern in manifest.externs}
    for use in record.types:
        module = use.name.partition(":")[0]
        top = module.partition(".")[0]
        for name in (module, top):
            modules.setdefault(
                name, ModuleRecord(name, "extern", "preset auto", "an extern", None, name == top)
            )
        externs.setdefault(top, ExternRecord(top, "installed"))
    return replace(
        manifest,
        modules=tuple(modules.values()),
        externs=tuple(externs.values()),
        objects=(record,),
        entries=(),
    )


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
