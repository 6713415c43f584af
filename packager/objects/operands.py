"""Operands of records: what they may be, what they refer to, what is known of that unbuilt, and paths to it.

Everything here is read off the table. Paths are attribute paths, found when there is something to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from packager.archive import MAX_EXTENT, MAX_RANK
from packager.codecs import Child, Codec, Role

from .records import INLINE, MAX_INT, Kind, Record


class Operands:
    """A table of which the first records have been checked.

    `classes` says of each record what a reference to it is: "none" for fills, "shape", "tensor" and
    "cell" for what only certain operands may refer to, else a kind of value. `uses` maps
    (module, qualified name, role) to the record that names it.
    """

    def __init__(
        self,
        records: list[Record],
        root: Any,
        codecs: list[tuple[Codec, int] | None],
        storages: Mapping[str, tuple[str, int]],
        what: str,
    ) -> None:
        self.records = records
        self.root = root
        self.codecs = codecs
        self.what = what
        self.classes: list[str] = []
        self.uses: dict[tuple[str, str, Role], int] = {}
        self._storages = storages
        self._unused = set(storages)
        self._spelled: set[tuple[Any, ...]] = set()
        self._class_of: dict[int, int] = {}  # object -> the GLOBAL of its class
        self._codec_of: dict[int, int] = {}  # object -> the number of its codec

    # --- what is known of a checked record ---

    def is_global(self, operand: Any) -> bool:
        """Return whether an operand refers to a name."""
        return is_reference(operand) and self.classes[-1 - operand] == "global"

    def name_of(self, index: int) -> str:
        """Return the name that a record leads to or is made by, as "module:name"; "" where there is none."""
        record = self.records[index]
        if self.classes[index] == "method":
            return f"{self.name_of(-1 - record[1])}.{record[2]}"
        if self.classes[index] != "global":
            if index not in self._class_of:
                return ""
            record = self.records[self._class_of[index]]
        return f"{record[1]}:{record[2]}"

    def codec_name(self, index: int) -> str | None:
        """Return the name of the codec that makes what a record stands for."""
        number = self._codec_of.get(index)
        known = None if number is None else self.codecs[number]
        return None if known is None else known[0].name

    def scalar(self, operand: Any) -> Any:
        """Return the scalar that an operand stands for; None for anything else."""
        if not is_reference(operand):
            return operand
        return self.records[-1 - operand][1] if self.classes[-1 - operand] == "scalar" else None

    def described(self, index: int) -> str:
        """Return what a record stands for, in words."""
        found, name = self.classes[index], self.name_of(index)
        if found == "codec":
            return f"what the codec {self.codec_name(index)!r} makes"
        words = {"global": name, "method": f"the bound method {name}", "object": f"an object of {name}"}
        return words.get(found, f"a {found}")

    # --- checks of operands ---

    def _only_once(self, record: Record) -> None:
        """What is a value is written once, however often it is used."""
        # The type tells a string from the bytes that stand for another, and 1 from True.
        key = (type(record[1]), *record)
        if key in self._spelled:
            raise ValueError("the same value in two records")
        self._spelled.add(key)

    def _value(self, operand: Any) -> None:
        """An operand that stands for a value."""
        kind = type(operand)
        if kind is int:
            if operand < 0:
                self._value_reference(operand)
            elif operand > MAX_INT:
                raise ValueError("an int of more than 64 bits")
        elif kind is str:
            if len(operand) > INLINE:
                raise ValueError("a long string stands inline; it should be a record")
        elif operand is not None and kind is not float and kind is not bool:
            raise ValueError(f"{kind.__name__} is no operand")

    def _value_reference(self, operand: int) -> None:
        found = self._class(operand)
        if found == "global":
            self._use_global(operand, "value")
        elif found in _NO_VALUES:
            raise ValueError(f"a reference to a {found} where a value is expected")

    def _class(self, operand: Any) -> str:
        """What a reference refers to."""
        if type(operand) is not int or operand >= 0:
            raise ValueError(f"expected a reference, found {operand!r:.40}")
        index = -1 - operand
        if index >= len(self.classes):
            raise ValueError("a reference that does not point backwards")
        return self.classes[index]

    def _refers(self, operand: Any, *classes: str) -> int:
        """The index of a record that an operand must refer to."""
        found = self._class(operand)
        if found not in classes:
            raise ValueError(f"a reference to a {found}, expected {' or '.join(classes)}")
        return -1 - int(operand)

    def _use_global(self, operand: Any, role: Role) -> int:
        index = self._refers(operand, "global")
        _, module, qualname = self.records[index]
        self.uses.setdefault((module, qualname, role), index)
        return index

    def _child(self, operand: Any) -> Child:
        """What a codec may know of an operand."""
        if type(operand) is not int or operand >= 0:
            return Child("scalar", value=operand)
        found = self._class(operand)
        index = -1 - operand
        if found == "tensor":
            return Child("tensor", value=tuple(self.records[index][2:]))
        number = self._codec_of.get(index)
        known = None if number is None else self.codecs[number]
        if found == "codec" and known is not None:
            return Child("codec", codec=known[0].name)
        if found == "scalar":
            return Child("scalar", value=self.records[index][1])
        return Child(found)

    def _codec(self, number: Any) -> tuple[Codec, int]:
        if type(number) is not int or not 1 <= number < len(self.codecs):
            raise ValueError(f"there is no codec {number!r:.40}")
        found = self.codecs[number]
        assert found is not None
        return found


def typed(value: Any, kind: type) -> Any:
    """Return a value whose type is exactly `kind`; raise ValueError for any other."""
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def check_shape(shape: Any) -> None:
    """Raise ValueError unless a value is a list of at most MAX_RANK sizes, each below MAX_EXTENT."""
    if (
        type(shape) is not list
        or len(shape) > MAX_RANK
        or not all(type(n) is int and 0 <= n < MAX_EXTENT for n in shape)
    ):
        raise ValueError("a shape is a list of sizes")


def check_literal(literal: Any) -> None:
    """Raise ValueError unless the literal of a codec is a scalar, bytes, or a flat list of those."""
    parts = literal if type(literal) is list else [literal]
    for part in parts:
        if type(part) not in SCALARS and type(part) is not bytes:
            raise ValueError("a literal is a scalar or a flat list of scalars")


def check_names(names: list[Any]) -> None:
    """Raise ValueError unless names of attributes are strings, each once."""
    if not all(type(name) is str for name in names) or len(set(names)) != len(names):
        raise ValueError("names of attributes are strings, each once")


SCALARS: Final = frozenset({type(None), bool, int, float, str})
_NO_VALUES: Final = frozenset({"none", "shape", "tensor", "cell"})


def is_reference(operand: Any) -> bool:
    """Return whether an operand refers to a record."""
    return type(operand) is int and operand < 0


def paths_to(
    records: Sequence[Record], root: Any, wanted: set[int], start: str = "obj", limit: int = 200_000
) -> dict[int, str]:
    """Return the shortest attribute path from the root to each wanted record.

    A record that the root does not reach is called by its number. At most `limit` records are
    looked at, breadth first.
    """
    found: dict[int, str] = {}
    fills = fills_by_target(records)
    queue: list[tuple[int, str]] = [(-1 - root, start)] if is_reference(root) else []
    seen = {record for record, _ in queue}
    for index, path in queue:
        if index in wanted:
            found[index] = path
        if len(found) == len(wanted) or len(queue) > limit:
            break
        for child, step in _children(records, index, fills):
            if child not in seen:
                seen.add(child)
                queue.append((child, _short(path + step)))
    return {index: found.get(index, f"record {index}") for index in wanted}


def _children(
    records: Sequence[Record], index: int, fills: dict[int, list[int]]
) -> Iterator[tuple[int, str]]:
    for record in [records[index], *(records[fill] for fill in fills.get(index, ()))]:
        for operand, step in _operands(records, record):
            if is_reference(operand):
                yield -1 - operand, step


def _operands(records: Sequence[Record], record: Record) -> Iterator[tuple[Any, str]]:
    kind, *operands = record
    if kind in (Kind.DICT, Kind.UPDATE):
        pairs = operands[kind == Kind.UPDATE :]
        for key, value in zip(pairs[::2], pairs[1::2], strict=False):
            yield key, "<key>"
            yield value, f"[{key!r}]" if not is_reference(key) else "[<key>]"
    elif kind == Kind.OBJ:
        shape = records[-1 - operands[0]]
        yield shape[1], ""
        for name, value in zip(shape[3:], operands[1:], strict=False):
            yield value, f".{name}"
    elif kind == Kind.FILL:
        for name, value in zip(operands[1::2], operands[2::2], strict=False):
            yield value, f".{name}"
    elif kind in (Kind.LIST, Kind.TUPLE):
        yield from ((operand, f"[{at}]") for at, operand in enumerate(operands))
    elif kind not in _WITHOUT_OPERANDS:
        yield from ((operand, "") for operand in operands if is_reference(operand))


_WITHOUT_OPERANDS = frozenset(
    {
        Kind.GLOBAL,
        Kind.INT,
        Kind.STR,
        Kind.BYTES,
        Kind.TENSOR,
        Kind.PACKED_TUPLE,
        Kind.PACKED_LIST,
        Kind.PACKED_DICT,
    }
)
FILLS = frozenset({Kind.FILL, Kind.EXTEND, Kind.UPDATE, Kind.ADD, Kind.SETCELL, Kind.STATE, Kind.FINISH})


def fills_by_target(records: Sequence[Record]) -> dict[int, list[int]]:
    """Return the fills of a table by the record that they fill."""
    fills: dict[int, list[int]] = {}
    for index, record in enumerate(records):
        if record[0] in FILLS:
            fills.setdefault(-1 - record[1], []).append(index)
    return fills


def _short(path: str) -> str:
    """Return a path without the tables of modules, and a long one without its middle."""
    for table in ("._modules['", "._parameters['", "._buffers['"):
        if table in path:
            head, tail = path.rsplit(table, 1)
            path = f"{head}.{tail.removesuffix(chr(39) + ']')}"
    return path if len(path) <= 240 else f"{path[:120]} ... {path[-100:]}"
