"""A table of records while it is put together: what is written once is, and parts of other tables fit in."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgpack

from packager._objects.records import KIND_NAMES, MAX_INT, VERSION, is_inline, is_reference
from packager._objects.records import Kind as K

Records = list[list[Any]]

STORAGE = "0"
"""The one storage that tensors of a composed graph lie in."""
STORAGE_SIZE = 4096

ONCE = frozenset({K.GLOBAL, K.INT, K.STR, K.BYTES, K.SHAPE})
LEAVES = frozenset({K.GLOBAL, K.INT, K.STR, K.BYTES, K.TENSOR, K.PACKED_TUPLE, K.PACKED_LIST, K.PACKED_DICT})
# Where operands begin that may be references; what stands before is a number, a name or a literal.
_FIRST_OPERAND = {K.CODEC: 3, K.SHAPE: 1, K.FUNCTION: 4}
_NOT_OPERANDS = {K.FINISH: (2, 3), K.SHAPE: (2,)}


def operand_places(record: Sequence[Any]) -> list[int]:
    """Return the places of a record at which a negative int is a reference."""
    kind = record[0]
    if kind in LEAVES:
        return []
    skipped = _NOT_OPERANDS.get(kind, ())
    return [
        at
        for at in range(_FIRST_OPERAND.get(kind, 1), len(record))
        if at not in skipped and is_reference(record[at])
    ]


class Table:
    """Records, codecs and what is known of them while a graph is composed."""

    def __init__(self, rng: random.Random, *, with_storage: bool) -> None:
        self.rng = rng
        self.with_storage = with_storage
        self.records: Records = []
        self.codecs: list[list[Any]] = [["records", 1]]
        self._once: dict[Any, int] = {}

    def add(self, *record: Any) -> int:
        """Write a record, or find the one that says the same where it must be written once."""
        kind = record[0]
        if kind in ONCE:
            key = (type(record[1]), *record)
            if key in self._once:
                return self._once[key]
        self.records.append(list(record))
        reference = -len(self.records)
        if kind in ONCE:
            self._once[key] = reference
        return reference

    def codec(self, name: str) -> int:
        """Return the number of a codec."""
        if [name, 1] not in self.codecs:
            self.codecs.append([name, 1])
        return self.codecs.index([name, 1])

    def node(self, name: str, literal: Any = None, *children: Any) -> int:
        """Write what a codec makes."""
        return self.add(K.CODEC, self.codec(name), literal, *children)

    def name(self, module: str, qualname: str) -> int:
        """Write a name."""
        return self.add(K.GLOBAL, module, qualname)

    def scalar(self, value: Any) -> Any:
        """Spell a scalar, bytes among them: inline, or as a record."""
        if type(value) is bytes:
            return self.add(K.BYTES, value)
        if type(value) is int and not 0 <= value <= MAX_INT:
            if -(2**63) <= value < 0:
                return self.add(K.INT, value)
            return self.add(
                K.INT, value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)
            )
        if type(value) is str and not is_inline(value):
            return self.add(K.STR, value if value.isascii() else value.encode("utf-8", "surrogatepass"))
        return value

    def splice(self, codecs: list[list[Any]], records: Records, root: Any) -> Any:
        """Write the records of another table into this one; return its root here."""
        moved: dict[int, int] = {}
        numbers = [self.codec(row[0]) if number else 0 for number, row in enumerate(codecs)]
        for index, record in enumerate(records):
            copied = [list(part) if type(part) is list else part for part in record]
            for at in operand_places(record):
                copied[at] = moved[-1 - record[at]]
            if copied[0] == K.CODEC:
                copied[1] = numbers[record[1]]
            elif copied[0] in (K.SHAPE, K.FINISH) and record[2] is not None:
                copied[2] = numbers[record[2]]
            elif copied[0] == K.TENSOR:
                copied[1] = STORAGE
            moved[index] = self.add(*copied)
        return moved[-1 - root] if is_reference(root) else root

    def packed(self, root: Any) -> bytes:
        """Spell the table in msgpack, which has no longer numbers than of 64 bits."""
        packed: bytes = msgpack.packb(
            [[["records", VERSION], *self.codecs[1:]], self.records, root],
            default=lambda number: number % 2**64,
        )
        return packed


def parts_of(record: Sequence[Any], codecs: Sequence[Sequence[Any]]) -> str:
    """Return what kind of thing a record is, with the codec or the name that makes it."""
    kind = KIND_NAMES.get(record[0], "?") if type(record[0]) is int else "?"
    try:
        if kind == "GLOBAL":
            return f"{record[1]}:{record[2]}"
        if kind in ("CODEC", "FINISH"):
            return f"{kind} {codecs[record[1 if kind == 'CODEC' else 2]][0]}"
        if kind == "SHAPE" and record[2] is not None:
            return f"SHAPE {codecs[record[2]][0]}"
    except (IndexError, TypeError):
        return kind
    return kind


def edges_of(codecs: Sequence[Sequence[Any]], records: Records) -> frozenset[tuple[str, str]]:
    """Return the pairs of a parent and a child in a table: what is composed with what."""
    parts = [parts_of(record, codecs) for record in records]
    return frozenset(
        (parts[index], parts[-1 - record[at]])
        for index, record in enumerate(records)
        for at in operand_places(record)
        if -1 - record[at] < len(parts)
    )
