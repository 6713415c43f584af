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
where every item is a scalar.

Long containers of scalars of one type hold runs: numbers as one array, texts as one text and their lengths.
Three hundred thousand numbers cost hundreds of bytes each if they are scanned, checked and built one by one.
A run is `[form, part, ...]`:

- `u1 i1 u2 i2 i4 i8 f8`: ints, or floats, little-endian, one after the other;
- `text`: lengths, and the different texts, joined; then, if one of them comes twice, the place of each among
  these.

Each value takes a byte at least: no run is more than its bytes are worth. NumPy is imported inside the
functions: most objects have no runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import accumulate, count

import msgpack

from packager._archive import texts_have_bytes

TYPE_CHECKING = False  # as in packager._lazy
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
Run: TypeAlias = "list[Any]"


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
    LONG_TUPLE: Final = 31  # run: scalars of one type, see below
    LONG_LIST: Final = 32  # run
    LONG_DICT: Final = 33  # run, run: keys and values
    LONG_SET: Final = 34  # run
    LONG_FROZENSET: Final = 35  # run
    EXTEND_LONG: Final = 36  # what a codec made, run
    UPDATE_LONG: Final = 37  # what a codec made, run, run


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


_PACKABLE: Final = frozenset({type(None), bool, int, float, str})


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def typed(value: object, kind: type) -> Any:
    """Return a value whose type is exactly `kind`; raise ValueError for any other."""
    if type(value) is not kind:
        raise ValueError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


MISSING: Final = object()
"""What stands for nothing where None may stand for something."""

SCALARS: Final = frozenset({type(None), bool, int, float, str})


def is_reference(operand: object) -> bool:
    """Return whether an operand refers to a record."""
    return type(operand) is int and operand < 0


# --- runs ---

RUN_FROM: Final = 1024
"""How many scalars a container must hold, in all, for its items to be runs."""

_INTS: Final = ("u1", "i1", "u2", "i2", "i4", "i8")
_NUMBERS: Final = (*_INTS, "f8")
_COUNTS: Final = ("u1", "u2", "u4")
_KINDS: Final = frozenset({int, float, str})


def runs_of(*parts: Collection[Any]) -> list[Run] | None:
    """Return a run for each part of a container; None unless it holds many scalars, each part of one type.

    A run holds ints of 64 bits, floats, or texts that have a UTF-8 form.

    >>> runs_of([1, 2]) is None, runs_of([1] * 1023 + [2.5]) is None
    (True, True)
    >>> runs_of([258] * 512, [0.5] * 512)[0][:1]
    ['u2']
    """
    if sum(map(len, parts)) < RUN_FROM:
        return None
    runs: list[Run] = []
    for part in parts:
        kinds = {type(next(iter(part)))}
        if not kinds <= _KINDS or set(map(type, part)) != kinds:
            return None
        try:
            runs.append(_SPELLED[kinds.pop()](part))
        except (OverflowError, UnicodeEncodeError):
            return None
    return runs


def _spelled_floats(values: Collection[float]) -> list[Any]:
    import numpy

    return ["f8", numpy.fromiter(values, "<f8", len(values)).tobytes()]


def _spelled_ints(values: Collection[int]) -> list[Any]:
    import numpy

    return _narrowest(numpy.fromiter(values, numpy.int64, len(values)), _INTS)


def _spelled_texts(values: Collection[str]) -> list[Any]:
    import numpy

    places = dict(zip(dict.fromkeys(values), count()))
    lengths = numpy.fromiter(map(len, places), numpy.int64, len(places))
    spelled = ["text", *_narrowest(lengths, _COUNTS), "".join(places).encode()]
    if len(places) == len(values):
        return [*spelled, None, None]
    numbers = numpy.fromiter(map(places.__getitem__, values), numpy.int64, len(values))
    return [*spelled, *_narrowest(numbers, _COUNTS)]


_SPELLED: Final[dict[type, Callable[[Collection[Any]], list[Any]]]] = {
    int: _spelled_ints,
    float: _spelled_floats,
    str: _spelled_texts,
}


def _narrowest(numbers: Any, forms: Collection[str]) -> list[Any]:
    """Return the first form of ints that holds all numbers, and their bytes in it."""
    import numpy

    low, high = int(numbers.min()), int(numbers.max())
    form = next(form for form in forms if numpy.iinfo(form).min <= low and high <= numpy.iinfo(form).max)
    return [form, numbers.astype(f"<{form}").tobytes()]


def checked_size(run: Run) -> int:
    """Return how many values a run has. Raises ValueError for one that cannot be read.

    >>> checked_size(["i4", bytes(8)])
    2
    """
    form, *parts = run
    if typed(form, str) in _NUMBERS:
        (data,) = parts
        return len(_array(form, data, _NUMBERS))
    if form != "text":
        raise ValueError(f"there is no form {form!r:.40} of runs")
    length_form, lengths, joined, place_form, places = parts
    sizes, text = _array(length_form, lengths, _COUNTS), typed(joined, bytes).decode()
    if int(sizes.sum(dtype="u8")) != len(text):
        raise ValueError(f"the lengths of texts do not add up to {len(text)} characters")
    if place_form is None and places is None:
        return len(sizes)
    numbers = _array(place_form, places, _COUNTS)
    if len(numbers) and int(numbers.max()) >= len(sizes):
        raise ValueError(f"a place of texts beyond the {len(sizes)} texts")
    return len(numbers)


def _array(form: Any, data: Any, forms: Collection[str]) -> Any:
    import numpy

    if type(form) is not str or form not in forms or len(typed(data, bytes)) % int(form[1]):
        raise ValueError(f"{form!r:.40} is no form of whole numbers")
    return numpy.frombuffer(data, f"<{form}")


def values_of(run: Run) -> list[Any]:
    """Return the values of a run that was checked.

    >>> values_of(["text", "u1", bytes([1, 2]), b"abc", "u1", bytes([1, 0, 1])])
    ['bc', 'a', 'bc']
    """
    import numpy

    form, *parts = run
    if form != "text":
        return numpy.frombuffer(parts[0], f"<{form}").tolist()  # type: ignore[no-any-return]  # a list
    length_form, lengths, joined, place_form, places = parts
    text, sizes = joined.decode(), numpy.frombuffer(lengths, f"<{length_form}").tolist()
    texts = [text[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]
    if places is None:
        return texts
    return list(map(texts.__getitem__, numpy.frombuffer(places, f"<{place_form}").tolist()))
