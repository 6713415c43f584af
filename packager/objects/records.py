"""The table of records: what kinds there are, what their operands refer to, and how a table becomes bytes.

An object graph is `[codec table, [record, ...], root]` in msgpack. A record is `[kind, operand, ...]`,
its index is its position. None, bool, float, a str of at most `INLINE` characters and an int from 0
to 2**64-1 are operands and stand for themselves; **a negative int is a reference**, -1-i to record i;
everything else is a record of its own. Every reference points backwards, so that building is one
plain loop and auditing one pass. The root is an operand.

The codec table has a row `[name, version]` for every codec in use. Its first row is this format
itself, `["records", VERSION]`.

Cycles are closed by fills: an object that something inside it refers to is written with what is
known by then, and FILL, EXTEND, UPDATE, ADD, SETCELL, STATE or FINISH give it the rest.

The encoder has one spelling for each thing: no maps, no extension types, ints shortest, floats float64,
strings and bytes above the inline length once per value, sets sorted (encoding.py), packed containers
where every item is a scalar. Long containers of scalars of one type hold runs (runs.py).

What is known of an operand unbuilt, and the attribute paths to records, are read off the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgpack

from packager.archive import MAX_EXTENT, MAX_RANK, MAX_RECORD_DEPTH, texts_have_bytes, unpack
from packager.codecs import Child, Codec, CodecRegistry, Role

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

VERSION: Final = 1
"""The version of the record format.

It changes when a table that a released reader would misread or refuse becomes legal. Then: raise it;
keep the rules of the old version in auditing.py and building.py readable; add an object of the old version
to `tests/golden` and never make it anew; describe the change in the format document.
"""

INLINE: Final = 64
"""Strings up to this length are written where they are used; longer ones once, as a record."""

MAX_INT: Final = 2**64 - 1
MIN_INT: Final = -(2**63)

Operand: TypeAlias = "bool | int | float | str | None"
Record: TypeAlias = "list[Any]"


class Kind:
    """The kinds of records, with their operands. `op` is any operand, `*` repeats, names are strings.

    Plain ints, not an enumeration: msgpack writes them as they are, and the builder's loop is hot.
    """

    GLOBAL: Final = 0  # module, qualified name ("" is the module itself)
    INT: Final = 1  # a negative int of 64 bits, or bytes: a longer one, signed, big-endian
    STR: Final = 2  # a longer string, or bytes: one with lone surrogates, as UTF-8 would spell them
    BYTES: Final = 3  # bytes
    TENSOR: Final = 4  # storage, dtype, [shape], [strides] or None where C-contiguous, offset in bytes
    TUPLE: Final = 5  # op*
    LIST: Final = 6  # op*
    DICT: Final = 7  # (op op)*
    SET: Final = 8  # op*
    FROZENSET: Final = 9  # op*
    PACKED_TUPLE: Final = 10  # scalar*: here an int may be negative, and stands for itself
    PACKED_LIST: Final = 11  # scalar*
    PACKED_DICT: Final = 12  # (scalar scalar)*
    SHAPE: Final = 13  # class, codec or None, name*
    OBJ: Final = 14  # shape, op*: an instance that is made, and has these attributes set
    NEW: Final = 15  # class, op*: cls.__new__(cls, *args)
    NEW_KW: Final = 16  # class, args (a tuple), kwargs (a dict)
    CALL: Final = 17  # GLOBAL, op*: f(*args)
    CALL_KW: Final = 18  # GLOBAL, args, kwargs
    PACKAGE_CALL: Final = 19  # GLOBAL, op*: f(importer, *args), from __reduce_package__
    METHOD: Final = 20  # object, name: a bound method
    # module, qualified name, digest of its source, its own name and qualified name where they differ
    # from those of the code, docstring, defaults, keyword defaults, cell*
    FUNCTION: Final = 21
    CELL: Final = 22  # [op]: the cell of a closure
    CODEC: Final = 23  # codec, literal, op*
    FILL: Final = 24  # object, (name op)*: attributes
    EXTEND: Final = 25  # object, op*: a list, or anything with append
    UPDATE: Final = 26  # object, (op op)*: a dict, or anything with item assignment
    ADD: Final = 27  # set, op*
    SETCELL: Final = 28  # cell, op
    STATE: Final = 29  # object, op: __setstate__
    FINISH: Final = 30  # object, codec, literal, op*: the second phase of a codec
    RUN: Final = 31  # form, part*: scalars of one type, see runs.py
    LONG_TUPLE: Final = 32  # RUN
    LONG_LIST: Final = 33  # RUN
    LONG_DICT: Final = 34  # RUN, RUN: keys and values
    LONG_SET: Final = 35  # RUN
    LONG_FROZENSET: Final = 36  # RUN
    EXTEND_LONG: Final = 37  # what a codec made, RUN
    UPDATE_LONG: Final = 38  # what a codec made, RUN, RUN


KIND_NAMES: Final = {value: name for name, value in vars(Kind).items() if name.isupper()}


def is_inline(value: object) -> bool:
    """Return whether a value stands for itself as an operand.

    >>> [is_inline(value) for value in (None, 1.5, "short", 2**63, -1, b"", "long" * 20)]
    [True, True, True, True, False, False, False]
    """
    kind = type(value)
    if kind is str:
        return len(value) <= INLINE and (value.isascii() or _is_encodable(value))  # type: ignore[arg-type, attr-defined]  # a str
    if kind is int:
        return 0 <= value <= MAX_INT  # type: ignore[operator]  # an int
    return value is None or kind is float or kind is bool


def is_packable(values: Iterable[Any]) -> bool:
    """Return whether all values may stand in a packed container: scalars, negative ints among them.

    >>> [is_packable(values) for values in ([None, True, -1, 0.5, "a"], [2**64], ["long" * 20], [b""], [()])]
    [True, False, False, False, False]
    """
    for value in values:
        kind = type(value)
        if kind is str:
            if len(value) > INLINE or not (value.isascii() or _is_encodable(value)):
                return False
        elif kind is int:
            if not MIN_INT <= value <= MAX_INT:
                return False
        elif kind not in _PACKABLE:
            return False
    return True


def spelled_int(value: int) -> int | bytes:
    """Return what stands in the record of an int: itself, or the fewest bytes where it has more than 64 bits.

    >>> spelled_int(-1), spelled_int(1 << 64)
    (-1, b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    if MIN_INT <= value <= MAX_INT:
        return value
    return value.to_bytes(max(value, ~value).bit_length() // 8 + 1, "big", signed=True)


def pack_table(codecs: list[list[Any]], records: list[Record], root: Operand) -> bytes:
    """Spell a table of records in msgpack. Raises ArchiveError for a name that has no UTF-8 form."""
    with texts_have_bytes():
        packed: bytes = msgpack.packb([codecs, records, root], strict_types=True)
    return packed


def unpack_table(data: bytes | bytearray | memoryview, what: str) -> Any:
    """Read the bytes of a table back, strictly, and cost-bounded by their number.

    Only the msgpack is checked here: one canonical value without maps or extension types, nested
    four deep at most. The table itself is checked by the audit. Raises ArchiveError.
    """
    return unpack(data, what=what, max_depth=MAX_RECORD_DEPTH, is_table=True)


_PACKABLE: Final = frozenset({type(None), bool, int, float, str})


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        registry: CodecRegistry,
    ) -> None:
        self.registry = registry
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

    def codec(self, index: int) -> Codec | None:
        """Return the codec that makes what a record stands for."""
        number = self._codec_of.get(index)
        known = None if number is None else self.codecs[number]
        return None if known is None else known[0]

    def codec_name(self, index: int) -> str | None:
        """Return the name of the codec that makes what a record stands for."""
        codec = self.codec(index)
        return None if codec is None else codec.name

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
            if operand < 0:  # msgpack itself has no int of more than 64 bits
                self._value_reference(operand)
        elif kind is str:
            if len(operand) > INLINE:
                raise ValueError("a long string stands inline; it should be a record")
        elif operand is not None and kind is not float and kind is not bool:
            raise ValueError(f"{kind.__name__} is no operand")

    def _values(self, operands: Sequence[Any]) -> None:
        """Operands that stand for values: the same of each, for records of many."""
        classes, known = self.classes, len(self.classes)
        for operand in operands:
            kind = type(operand)
            if kind is int:
                if operand < 0 and (operand < -known or classes[-1 - operand] in _NO_MERE_VALUES):
                    self._value_reference(operand)
            elif (kind is str and len(operand) > INLINE) or kind not in SCALARS:
                self._value(operand)

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
    if type(shape) is not list:
        raise ValueError(f"a shape is a list of sizes, found {type(shape).__name__}")
    if len(shape) > MAX_RANK:
        raise ValueError(f"a shape is a list of sizes, at most {MAX_RANK}, found {len(shape)}")
    for size in shape:
        if type(size) is not int or not 0 <= size < MAX_EXTENT:
            raise ValueError(f"a shape is a list of sizes from 0 to {MAX_EXTENT - 1}, found {size!r:.40}")


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


MISSING: Final = object()
"""What stands for nothing where None may stand for something."""

SCALARS: Final = frozenset({type(None), bool, int, float, str})
_NO_VALUES: Final = frozenset({"none", "shape", "tensor", "cell", "run"})
_NO_MERE_VALUES: Final = _NO_VALUES | {"global"}


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
    if not wanted:
        return {}
    first = -1 - root if is_reference(root) else -1
    fills = fills_by_target(records)
    came_from = _shortest_ways(records, first, fills, wanted, limit)
    return {
        index: _path_to(records, fills, _way_to(index, came_from), start)
        if index in came_from
        else f"record {index}"
        for index in wanted
    }


def _shortest_ways(
    records: Sequence[Record], first: int, fills: Mapping[int, list[int]], wanted: set[int], limit: int
) -> dict[int, int]:
    """Return, of each record that was met, which one led to it first; the root leads to itself."""
    came_from = {first: first} if first >= 0 else {}
    missing = wanted - came_from.keys()
    queue = list(came_from)
    for index in queue:
        if not missing or len(queue) > limit:
            break
        for record in _records_of(records, index, fills):
            for operand in _referring(record, records):
                child = -1 - operand
                if child not in came_from:
                    came_from[child] = index
                    queue.append(child)
                    missing.discard(child)
    return came_from


def _way_to(index: int, came_from: Mapping[int, int]) -> list[int]:
    """The records from the root to one that was met."""
    way = [index]
    while came_from[way[-1]] != way[-1]:
        way.append(came_from[way[-1]])
    return way[::-1]


def _path_to(
    records: Sequence[Record], fills: Mapping[int, list[int]], way: Sequence[int], start: str
) -> str:
    path = start
    for parent, child in itertools.pairwise(way):
        steps = (
            step
            for record in _records_of(records, parent, fills)
            for operand, step in _operands(records, record)
            if is_reference(operand) and operand == -1 - child
        )
        path = _short(path + next(steps))
    return path


def _records_of(records: Sequence[Record], index: int, fills: Mapping[int, list[int]]) -> list[Record]:
    return [records[index], *(records[fill] for fill in fills.get(index, ()))]


def _referring(record: Record, records: Sequence[Record]) -> list[int]:
    """The references in a record, in the order in which `_operands` has them."""
    kind = record[0]
    if kind in _WITHOUT_OPERANDS:
        return []
    if kind == Kind.OBJ:
        parts = [records[-1 - record[1]][1], *record[2:]]
    elif kind == Kind.FILL:
        parts = record[3::2]
    else:
        parts = record[2:] if kind == Kind.UPDATE else record[1:]
    return [operand for operand in parts if type(operand) is int and operand < 0]


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
        Kind.RUN,
    }
)
FILLS = frozenset(
    {Kind.FILL, Kind.EXTEND, Kind.UPDATE, Kind.ADD, Kind.SETCELL, Kind.STATE, Kind.FINISH}
    | {Kind.EXTEND_LONG, Kind.UPDATE_LONG}
)


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
            head, _, tail = path.rpartition(table)
            path = f"{head}.{tail.removesuffix(chr(39) + ']')}"
    return path if len(path) <= 240 else f"{path[:120]} ... {path[-100:]}"
