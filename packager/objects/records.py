"""The table of records: what kinds there are, and how a table becomes bytes and back.

An object graph is `[codec table, [record, ...], root]` in msgpack. A record is `[kind, operand, ...]`,
its index is its position. None, bool, float, a str of at most `INLINE` characters and an int from 0
to 2**64-1 are operands and stand for themselves; **a negative int is a reference**, -1-i to record i;
everything else is a record of its own. Every reference points backwards, so that building is one
plain loop and auditing one pass. The root is an operand.

The codec table has a row `[name, version]` for every codec in use. Its first row is this format
itself, `["records", VERSION]`.

Cycles are closed by fills: an object that something inside it refers to is written with what is
known by then, and FILL, EXTEND, UPDATE, ADD, SETCELL, STATE or FINISH give it the rest.

There is one spelling for each thing: no maps, no extension types, ints shortest, floats float64,
strings and bytes above the inline length once per value, sets sorted (steps.py), packed containers
where every item is a scalar.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgpack

from packager.archive import MAX_RECORD_DEPTH, unpack

VERSION: Final = 1
"""The version of the record format that is written.

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


KIND_NAMES: Final = {value: name for name, value in vars(Kind).items() if type(value) is int}


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


def is_packable(values: Any) -> bool:
    """Return whether all values may stand in a packed container: scalars, negative ints among them."""
    kinds = set(map(type, values))
    if not kinds <= _PACKABLE:
        return False
    if int in kinds and not all(MIN_INT <= value <= MAX_INT for value in values if type(value) is int):
        return False
    return str not in kinds or all(is_inline(value) for value in values if type(value) is str)


def pack_table(codecs: list[list[Any]], records: list[Record], root: Operand) -> bytes:
    """Spell a table of records in msgpack."""
    packed: bytes = msgpack.packb([codecs, records, root], strict_types=True)
    return packed


def unpack_table(data: bytes | bytearray | memoryview, what: str) -> Any:
    """Read the bytes of a table back, strictly, and cost-bounded by their number.

    Only the msgpack is checked here: one canonical value without maps or extension types, nested
    four deep at most. The table itself is checked by the audit. Raises ArchiveError.
    """
    return unpack(data, what=what, max_nodes=len(data), max_depth=MAX_RECORD_DEPTH)


_PACKABLE: Final = frozenset({type(None), bool, int, float, str})


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
