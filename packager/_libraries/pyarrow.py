"""Codecs for pyarrow: types, fields, schemas, arrays, chunked arrays, record batches and tables.

An array is its type and its buffers, as memory of the archive, which Arrow then reads in place: its own
`validate(full=True)` looks at sizes, indices and texts, before anything else does. Here stands what Arrow
asserts before that, where it would end the process, and offsets. Slices are stored without what lies around
them. There are no codecs for unions, run-end encoding, views and extension types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final

from packager._archive import largest_view
from packager._codecs import (
    CannotStore,
    Child,
    Choice,
    Library,
    Node,
    PartsCodec,
    expect,
    expect_payload,
    expect_sizes,
    kinds,
    one_of,
    payload,
    view_of,
)

_SIMPLE: Final = {
    **{name: name for sign in ("", "u") for bits in (8, 16, 32, 64) for name in (f"{sign}int{bits}",)},
    **{name: name for name in "null string large_string binary large_binary".split()},
    "bool": "bool_",
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
"""The function that makes a type of no parts, by what Arrow prints of it."""

_OFFSETS: Final = {
    **dict.fromkeys("string binary list map".split(), 4),
    **dict.fromkeys("large_string large_binary large_list".split(), 8),
}
"""The bytes of an offset, by the words of types of any length."""

_UNITS: Final = {
    "time32": ("s", "ms"),
    "time64": ("us", "ns"),
    "duration": ("s", "ms", "us", "ns"),
}
_DECIMALS: Final = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}
_MOST: Final = 1 << 31


def _is_of_pyarrow(cls: type) -> bool:
    own = cls.__module__ == "pyarrow.lib"
    return own and not any("Extension" in base.__name__ for base in cls.__mro__)


# --- types ---


def _word_of(kind: Any) -> str:
    """Return the word of a type. Raises CannotStore for those that have no stored form."""
    text = str(kind)
    word = text if text in _SIMPLE else text.partition("<")[0].partition("(")[0].partition("[")[0]
    if word not in _WORDS:
        raise CannotStore(
            f"the Arrow type {text} cannot be stored",
            "cast it to numbers, string, binary, list, struct, map or dictionary: array.cast(type)",
        )
    return word


def _type_of(function: str, parts: Sequence[Any], *inside: Any) -> Any:
    return getattr(import_module("pyarrow"), function)(*inside, *parts)


def _nothing(parts: Any) -> bool:
    return parts is None


def _row(
    word: str,
    names: str = "",
    form: Callable[[Any], bool] = _nothing,
    inside: str = "",
    function: str = "",
    children: str = "pyarrow.field",
) -> PartsCodec:
    """Return the row of a type: the names of its parts, and those of the types inside."""

    def out(obj: Any) -> Node:
        types = tuple(getattr(obj, name) for name in inside.split())
        return Node([getattr(obj, name) for name in names.split()], types)

    wanted = " ".join(children for _ in inside.split())
    return PartsCodec(
        word, (), wanted, f"the parts of {word}", out, partial(_type_of, function or word), form
    )


def _has_zone(parts: Any) -> bool:
    known = kinds(str, type(None))(parts) or (kinds(str, str)(parts) and len(parts[1]) <= 64)
    return known and parts[0] in _UNITS["duration"]


def _is_size(parts: Any) -> bool:
    return kinds(int)(parts) and 0 <= parts[0] < _MOST


def _is_decimal(most: int, parts: Any) -> bool:
    return kinds(int, int)(parts) and 1 <= parts[0] <= most and abs(parts[1]) <= 76


_TYPES: Final = (
    *(_row(word, function=function) for word, function in _SIMPLE.items()),
    *(_row(word, "unit", one_of(units)) for word, units in _UNITS.items()),
    *(_row(word, "precision scale", partial(_is_decimal, most)) for word, most in _DECIMALS.items()),
    _row("timestamp", "unit tz", _has_zone),
    _row("fixed_size_binary", "byte_width", _is_size, function="binary"),
    _row("list", inside="value_field", function="list_"),
    _row("large_list", inside="value_field"),
    _row("fixed_size_list", "list_size", _is_size, "value_field", "list_"),
    _row("dictionary", "ordered", kinds(bool), "index_type value_type", children="pyarrow.type"),
    _row("map", "keys_sorted", kinds(bool), "key_field item_field", "map_"),
    PartsCodec("struct", (), "pyarrow.field*", "fields", lambda obj: Node(None, tuple(obj)),
          lambda *fields: _type_of("struct", (), list(fields))),
)  # fmt: skip
_WORDS: Final = frozenset(row.name for row in _TYPES)


# --- fields and schemas ---


def _is_field(literal: Any) -> bool:
    return isinstance(literal, list) and kinds(str, bool)(literal[:2]) and _is_metadata(literal[2:])


def _field(literal: Any, kind: Any) -> Any:
    import pyarrow

    return pyarrow.field(literal[0], kind, literal[1], _metadata(literal[2:]))


def _schema(literal: Any, *fields: Any) -> Any:
    import pyarrow

    return pyarrow.schema(list(fields), _metadata(literal))


def _metadata_of(obj: Any) -> list[Any]:
    return [part for pair in (obj.metadata or {}).items() for part in pair]


def _is_metadata(literal: Any) -> bool:
    """Check for pairs of bytes, each key once."""
    pairs = isinstance(literal, list) and len(literal) % 2 == 0 and set(map(type, literal)) <= {bytes}
    return pairs and len(set(literal[::2])) == len(literal) // 2


def _metadata(literal: list[Any]) -> dict[bytes, bytes] | None:
    return dict(zip(literal[::2], literal[1::2], strict=True)) or None


# --- arrays ---


def _array_of(obj: Any) -> Node:
    """Return the buffers of an array. Raises CannotStore for a type without a stored form."""
    if _word_of(obj.type) == "dictionary":
        return Node([len(obj), obj.null_count, 0], (obj.type, obj.indices, obj.dictionary))
    buffers, inner = _taken_apart(obj)
    children = [None if one is None else payload(one) for one in buffers]
    return Node([len(obj), obj.null_count, len(buffers)], (obj.type, *children, *inner))


def _are_sizes(literal: Any) -> bool:
    expect(kinds(int, int, int)(literal), "length, nulls and buffers")
    expect_sizes(literal, "length, nulls and buffers")
    return bool(literal[2] <= 3)


def _are_buffers(literal: Any, children: Sequence[Child]) -> bool:
    count = literal[2]
    for at, child in enumerate(children[1 : 1 + count]):
        if at or child.kind == "tensor":
            expect_payload(child, 1 << 48)
        else:
            expect(child.kind == "scalar" and child.value is None, "bits or None")
    return len(children) > count and all(child.codec == "pyarrow.array" for child in children[1 + count :])


def _array(literal: Any, kind: Any, *others: Any) -> Any:
    import pyarrow
    from pyarrow import types

    length, nulls, count = literal
    buffers: list[Any] = [None if one is None else pyarrow.py_buffer(view_of(one)) for one in others[:count]]
    inner = others[count:]
    if types.is_dictionary(kind):
        expect(len(inner) == 2 and not buffers, "indices and values of a dictionary")
        made = pyarrow.DictionaryArray.from_arrays(*inner, ordered=kind.ordered)
    else:
        _check_inner(kind, inner)
        expect(count == kind.num_buffers, f"{kind.num_buffers} buffers", count)
        if _word_of(kind) in _OFFSETS:
            _, offsets, *texts = buffers
            end = texts[0].size if texts else len(inner[0])
            _check_offsets(offsets, _OFFSETS[_word_of(kind)], length, end)
        stored = sum(one.size for one in buffers if one is not None) + sum(one.nbytes for one in inner)
        expect(length <= largest_view(stored), f"at most {largest_view(stored)} elements", length)
        made = pyarrow.Array.from_buffers(kind, length, buffers, -1, 0, inner)
        made.validate(full=True)
    fits = made.type == kind and len(made) == length and made.null_count == nulls
    expect(fits, f"{made.null_count} nulls in {len(made)} elements of {made.type}", [nulls, length])
    return made


def _check_offsets(data: Any, size: int, length: int, end: int) -> None:
    """Raise ValueError unless offsets begin at 0, never fall, and end where the data does.

    Arrow asks no more of them than that they lie inside, and nothing of those of an empty array.
    """
    import numpy

    expect(data.size == (length + 1) * size, f"{length + 1} offsets of {size} bytes", f"{data.size} bytes")
    offsets = numpy.frombuffer(data, f"<i{size}")
    grows = bool((offsets[1:] >= offsets[:-1]).all())
    expect(grows and offsets[0] == 0 and offsets[-1] == end, f"offsets that grow from 0 to {end}")


def _check_inner(kind: Any, inner: Sequence[Any]) -> None:
    """Raise ValueError for arrays inside at which Arrow would end the process: of other types, or no keys."""
    import pyarrow
    from pyarrow import types

    is_map = types.is_map(kind)
    of_entries = [pyarrow.struct([kind.key_field, kind.item_field])] if is_map else []
    wanted = of_entries or [kind.field(at).type for at in range(kind.num_fields)]
    expect([one.type for one in inner] == wanted, "arrays inside of the types inside")
    missing = sum(one.null_count + one.field(0).null_count for one in inner) if is_map else 0
    expect(missing == 0, "a key for each entry of a map", f"{missing} without")


def _taken_apart(obj: Any) -> tuple[list[Any], list[Any]]:
    """Return the buffers of an array, as if it began at its first element, and the arrays inside."""
    import numpy

    kind, length, offset, word = obj.type, len(obj), obj.offset, _word_of(obj.type)
    raw = [None if one is None else numpy.frombuffer(one, numpy.uint8) for one in obj.buffers()[:3]]
    empty = numpy.zeros(0, numpy.uint8)
    if word == "null":
        return [None], []
    validity = _packed_bits(raw[0], offset, length) if obj.null_count else None
    if word == "bool":
        return [validity, empty if raw[1] is None else _packed_bits(raw[1], offset, length)], []
    if word == "struct":
        return [validity], [obj.field(at) for at in range(kind.num_fields)]
    if word == "fixed_size_list":
        return [validity], [obj.values.slice(offset * kind.list_size, length * kind.list_size)]
    size = _OFFSETS.get(word)
    if size is None:
        width, data = kind.bit_width // 8, empty if raw[1] is None else raw[1]
        return [validity, data[offset * width : (offset + length) * width]], []
    offsets = numpy.zeros(1, f"<i{size}")  # Arrow leaves out the one offset of an empty array
    if raw[1] is not None and len(raw[1]):
        offsets = raw[1].view(f"<i{size}")[offset : offset + length + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    rebased = (offsets - first).astype(offsets.dtype).view(numpy.uint8)
    if word in ("list", "large_list", "map"):
        return [validity, rebased], [obj.values.slice(first, last - first)]
    return [validity, rebased, (empty if raw[2] is None else raw[2])[first:last]], []


def _packed_bits(bits: Any, offset: int, length: int) -> Any:
    """Return bits that begin at an offset as bytes that begin at the first of them."""
    import numpy

    found = numpy.unpackbits(bits, bitorder="little")[offset : offset + length]
    return numpy.packbits(found, bitorder="little")


def _chunked(kind: Any, *chunks: Any) -> Any:
    import pyarrow

    expect(all(chunk.type == kind for chunk in chunks), f"chunks of {kind}")
    return pyarrow.chunked_array(chunks, kind)


_COLUMNS: Final = {"Table": "pyarrow.chunked_array", "RecordBatch": "pyarrow.array"}


def _are_columns(literal: Any, children: Sequence[Child]) -> bool:
    expect_sizes(literal[1:], "rows")
    return all(child.codec == _COLUMNS[literal[0]] for child in children[1:])


def _table(literal: Any, schema: Any, *columns: Any) -> Any:
    import pyarrow

    expect(len(schema) == len(columns), f"{len(schema)} columns", len(columns))
    for field, column in zip(schema, columns, strict=True):
        expect(column.type == field.type and len(column) == literal[1], f"{literal[1]} of {field.type}")
    # Without columns a table has no rows.
    return getattr(pyarrow, literal[0]).from_arrays(list(columns), schema=schema)


CODECS: Final = (
    # A word, or a word and its parts, with the types and fields inside as children.
    Choice("pyarrow.type", *_TYPES, types=("pyarrow.lib:DataType",), claimed=_is_of_pyarrow,
           kind_of=_word_of, once=True),
    PartsCodec("pyarrow.field", ("pyarrow.lib:Field",), "pyarrow.type", "a name, a flag, metadata and a type",
          lambda obj: Node([obj.name, bool(obj.nullable), *_metadata_of(obj)], (obj.type,)),
          _field, _is_field, is_data="library"),
    PartsCodec("pyarrow.schema", ("pyarrow.lib:Schema",), "pyarrow.field*", "metadata and fields",
          lambda obj: Node(_metadata_of(obj), tuple(obj)), _schema, _is_metadata, is_data="library"),
    # Length, number of nulls and of buffers; then the type, the buffers, and arrays inside. A dictionary has
    # two arrays inside, its indices and its values, and no buffers of its own.
    PartsCodec("pyarrow.array", ("pyarrow.lib:Array",), "pyarrow.type any*",
          "a type, buffers, and arrays inside",
          _array_of, _array, _are_sizes, claimed=_is_of_pyarrow, also=_are_buffers, is_data="library"),
    PartsCodec("pyarrow.chunked_array", ("pyarrow.lib:ChunkedArray",), "pyarrow.type pyarrow.array*",
          "a type and arrays", lambda obj: Node(None, (obj.type, *obj.chunks)), _chunked, is_data="library"),
    PartsCodec("pyarrow.table", ("pyarrow.lib:Table", "pyarrow.lib:RecordBatch"), "pyarrow.schema any*",
          "a table or a record batch, how many rows, a schema and columns",
          lambda obj: Node([type(obj).__name__, obj.num_rows], (obj.schema, *obj.columns)), _table,
          lambda literal: kinds(str, int)(literal) and literal[0] in _COLUMNS,
          also=_are_columns, is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("pyarrow", "pyarrow", codecs=CODECS)
