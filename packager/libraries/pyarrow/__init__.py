"""Codecs for pyarrow: types, fields, schemas, arrays, chunked arrays, record batches and tables.

An array is its type and its buffers, as memory of the archive, which Arrow then reads in place; what lies in
them is checked by arrow_layout.py. Slices are stored without what lies around them. There are no codecs for
unions, run-end encoding, views and extension types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.codecs import (
    CannotStore,
    Child,
    Codec,
    Decoding,
    Encoding,
    Library,
    Node,
    Parts,
    expect,
    expect_payload,
    expect_sizes,
    kinds,
    payload,
    view_of,
)

from .layout import BYTES, SIMPLE, TEXTS, Layout, check_buffers, check_indices, packed_bits

_UNITS: Final = ("s", "ms", "us", "ns")
_DECIMALS: Final = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}
_LISTS: Final = {"list": 4, "large_list": 8}
_MOST: Final = 1 << 31
_INDICES: Final = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_CODES: Final = {name: f"<{name[0]}{SIMPLE[name][1] // 8}" for name in _INDICES}


def _is_of_pyarrow(cls: type, *bases: str) -> bool:
    own = cls.__module__ == "pyarrow.lib"
    return own and not any("Extension" in base.__name__ for base in cls.__mro__)


class ArrowTypeCodec(Codec):
    """Types: a name, or a name and numbers, with the types and fields inside as children."""

    name = "pyarrow.type"
    is_data = "library"
    types = ("pyarrow.lib:DataType",)

    def claims(self, cls: type) -> bool:
        return _is_of_pyarrow(cls)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the name and the parts of a type. Raises CannotStore for those that have no stored form."""
        literal, children = _parts_of_type(obj)
        return Node(literal, children, key=None if children else str(literal))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        if isinstance(literal, str):
            expect(literal in {**SIMPLE, **TEXTS, **BYTES} and not children, "the name of a type")
            return
        expect(isinstance(literal, list) and len(literal) > 0, "the parts of a type")
        kind, *parts = literal
        _check_type(kind, parts, [child.codec for child in children])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pyarrow

        if isinstance(literal, str):
            return getattr(pyarrow, {**SIMPLE, **TEXTS, **BYTES}[literal][0])()
        kind, *parts = literal
        if kind == "struct":
            return pyarrow.struct(list(children))
        if kind == "map":
            return pyarrow.map_(children[0], children[1], keys_sorted=parts[0])
        if kind == "dictionary":
            return pyarrow.dictionary(children[0], children[1], ordered=parts[0])
        if kind == "fixed_size_list":
            return pyarrow.list_(children[0], parts[0])
        if kind in _LISTS:
            return getattr(pyarrow, {"list": "list_", "large_list": "large_list"}[kind])(children[0])
        name = "binary" if kind == "fixed_size_binary" else kind
        return getattr(pyarrow, name)(*parts)


def _parts_of_type(obj: Any) -> tuple[Any, tuple[Any, ...]]:
    import pyarrow
    from pyarrow import types

    text = str(obj)
    if text in SIMPLE or text in TEXTS or text in BYTES:
        return text, ()
    if types.is_timestamp(obj):
        return ["timestamp", obj.unit, obj.tz], ()
    if types.is_time(obj) or types.is_duration(obj):
        return [text.partition("[")[0], obj.unit], ()
    if types.is_fixed_size_binary(obj) and not types.is_decimal(obj):
        return ["fixed_size_binary", obj.byte_width], ()
    if types.is_decimal(obj):
        return [text.partition("(")[0], obj.precision, obj.scale], ()
    if types.is_dictionary(obj):
        return ["dictionary", bool(obj.ordered)], (obj.index_type, obj.value_type)
    if types.is_struct(obj):
        return ["struct"], tuple(obj.field(at) for at in range(obj.num_fields))
    if types.is_map(obj):
        return ["map", bool(obj.keys_sorted)], (obj.key_field, obj.item_field)
    if types.is_fixed_size_list(obj):
        return ["fixed_size_list", obj.list_size], (obj.value_field,)
    if type(obj) in (pyarrow.ListType, pyarrow.LargeListType):
        return ["list" if type(obj) is pyarrow.ListType else "large_list"], (obj.value_field,)
    raise CannotStore(
        f"the Arrow type {text}, for which there is no codec",
        "cast it to a type of one width, text, bytes, a list, a struct, a map or a dictionary",
    )


def _check_type(kind: Any, parts: list[Any], codecs: list[str | None]) -> None:
    fields = all(codec == "pyarrow.field" for codec in codecs)
    if kind == "timestamp":
        zone = len(parts) == 2 and (parts[1] is None or (type(parts[1]) is str and len(parts[1]) <= 64))
        expect(zone and parts[0] in _UNITS and not codecs, "a unit and a zone")
    elif kind in ("time32", "time64", "duration"):
        units = {"time32": _UNITS[:2], "time64": _UNITS[2:]}.get(kind, _UNITS)
        expect(len(parts) == 1 and parts[0] in units and not codecs, "a unit of time")
    elif kind == "fixed_size_binary":
        expect(len(parts) == 1 and not codecs, "a width")
        expect_sizes(parts, "a width", _MOST)
    elif kind in _DECIMALS:
        ints = list(map(type, parts)) == [int, int]
        expect(ints and 1 <= parts[0] <= _DECIMALS[kind] and abs(parts[1]) <= 76, "a precision and a scale")
        expect(not codecs, "no children")
    elif kind == "dictionary":
        expect(list(map(type, parts)) == [bool] and codecs == ["pyarrow.type"] * 2, "a flag and two types")
    elif kind == "struct":
        expect(not parts and fields, "fields")
    elif kind == "map":
        expect(list(map(type, parts)) == [bool] and fields and len(codecs) == 2, "a flag, keys and items")
    elif kind == "fixed_size_list":
        expect(len(parts) == 1 and fields and len(codecs) == 1, "a size and a field")
        expect_sizes(parts, "a size", _MOST)
    else:
        expect(kind in _LISTS and not parts and fields and len(codecs) == 1, "a type of pyarrow")


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


class ArrowArrayCodec(Codec):
    """Arrays: length, number of nulls and of buffers; then the type, the buffers, and arrays inside.

    A dictionary array has two arrays inside, its indices and its values, and no buffers of its own.
    """

    name = "pyarrow.array"
    is_data = "library"
    types = ("pyarrow.lib:Array",)

    def claims(self, cls: type) -> bool:
        return _is_of_pyarrow(cls)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the buffers of an array. Raises CannotStore for a type without a stored form."""
        from pyarrow import types

        if types.is_dictionary(obj.type):
            return Node([len(obj), obj.null_count, 0], (obj.type, obj.indices, obj.dictionary))
        layout = _layout_of(obj.type)
        buffers, inner = _taken_apart(obj, layout)
        children = [None if one is None else payload(one) for one in buffers]
        return Node([len(obj), obj.null_count, len(buffers)], (obj.type, *children, *inner))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 3, "length, nulls and buffers")
        expect_sizes(literal, "length, nulls and buffers")
        count = literal[2]
        expect(count <= 3 and len(children) > count, "a type and buffers")
        expect(children[0].codec == "pyarrow.type", "a type")
        for at, child in enumerate(children[1 : 1 + count]):
            if at or child.kind == "tensor":
                expect_payload(child, 1 << 48)
            else:
                expect(child.kind == "scalar" and child.value is None, "bits or None")
        expect(all(child.codec == self.name for child in children[1 + count :]), "arrays inside")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pyarrow
        from pyarrow import types

        length, nulls, count = literal
        kind, *others = children
        buffers = [None if one is None else _bytes(one) for one in others[:count]]
        inner = others[count:]
        if types.is_dictionary(kind):
            return _dictionary(kind, length, nulls, buffers, inner)
        layout = _layout_of(kind)
        _check_inner(kind, inner)
        expect(len(buffers) > 0, "buffers")
        check_buffers(layout, length, nulls, buffers, list(map(len, inner)))
        parts = [None if one is None else pyarrow.py_buffer(one) for one in buffers]
        made = pyarrow.Array.from_buffers(kind, length, parts, nulls, 0, inner)
        made.validate(full=True)
        return made


def _bytes(stored: Any) -> Any:
    import numpy

    return numpy.frombuffer(view_of(stored), numpy.uint8)


def _dictionary(kind: Any, length: int, nulls: int, buffers: Sequence[Any], inner: Sequence[Any]) -> Any:
    import numpy
    import pyarrow

    expect(not buffers and len(inner) == 2, "indices and values of a dictionary")
    indices, values = inner
    expect(indices.type == kind.index_type and values.type == kind.value_type, "the types of a dictionary")
    expect(len(indices) == length and indices.null_count == nulls, f"{length} indices with {nulls} nulls")
    validity, data = (
        None if one is None else numpy.frombuffer(one, numpy.uint8) for one in indices.buffers()
    )
    there = None if validity is None else numpy.unpackbits(validity, bitorder="little")[:length].astype(bool)
    check_indices(data, _CODES[str(kind.index_type)], there, len(values))
    return pyarrow.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _check_inner(kind: Any, inner: Sequence[Any]) -> None:
    """Raise ValueError unless the arrays inside are of the types that the type has inside."""
    from pyarrow import types

    if types.is_map(kind):
        wanted = [_entries(kind)]
    else:
        wanted = [kind.field(at).type for at in range(kind.num_fields)]
    expect([one.type for one in inner] == wanted, "arrays inside of the types inside")


def _entries(kind: Any) -> Any:
    import pyarrow

    return pyarrow.struct([kind.key_field, kind.item_field])


def _layout_of(kind: Any) -> Layout:
    from pyarrow import types

    text = str(kind)
    if text in TEXTS or text in BYTES:
        return Layout("text" if text in TEXTS else "bytes", {**TEXTS, **BYTES}[text][1])
    if text in ("null", "bool"):
        return Layout({"null": "none", "bool": "bits"}[text])
    if types.is_struct(kind):
        return Layout("struct")
    if types.is_fixed_size_list(kind):
        return Layout("fixed list", kind.list_size)
    if types.is_list(kind) or types.is_map(kind) or types.is_large_list(kind):
        return Layout("list", 8 if types.is_large_list(kind) else 4)
    _parts_of_type(kind)
    return Layout("fixed", kind.bit_width // 8)


def _taken_apart(obj: Any, layout: Layout) -> tuple[list[Any], list[Any]]:
    """Return the buffers of an array, as if it began at its first element, and the arrays inside."""
    import numpy

    length, offset = len(obj), obj.offset
    raw = [None if one is None else numpy.frombuffer(one, numpy.uint8) for one in obj.buffers()]
    raw = [None if one is None else one for one in raw[:3]]
    empty = numpy.zeros(0, numpy.uint8)
    validity = None
    if obj.null_count and layout.kind != "none":
        validity = packed_bits(raw[0], offset, length)
    if layout.kind == "bits":
        return [validity, empty if raw[1] is None else packed_bits(raw[1], offset, length)], []
    if layout.kind == "fixed":
        data = empty if raw[1] is None else raw[1]
        return [validity, data[offset * layout.size : (offset + length) * layout.size]], []
    if layout.kind == "struct":
        return [validity], [obj.field(at) for at in range(obj.type.num_fields)]
    if layout.kind == "fixed list":
        return [validity], [obj.values.slice(offset * layout.size, length * layout.size)]
    if layout.kind == "none":
        return [None], []
    offsets = _offsets(raw[1], layout.size, offset, length)
    first, last = int(offsets[0]), int(offsets[-1])
    rebased = (offsets - first).astype(offsets.dtype).view(numpy.uint8)
    if layout.kind == "list":
        return [validity, rebased], [obj.values.slice(first, last - first)]
    data = empty if raw[2] is None else raw[2]
    return [validity, rebased, data[first:last]], []


def _offsets(data: Any, size: int, offset: int, length: int) -> Any:
    import numpy

    if data is None or len(data) == 0:  # Arrow leaves out the one offset of an empty array
        return numpy.zeros(1, f"<i{size}")
    return numpy.frombuffer(data, f"<i{size}")[offset : offset + length + 1]


def _chunked(kind: Any, *chunks: Any) -> Any:
    import pyarrow

    expect(all(chunk.type == kind for chunk in chunks), f"chunks of {kind}")
    return pyarrow.chunked_array(chunks, kind)


class ArrowTableCodec(Codec):
    """Tables and record batches: which, the schema, and the columns."""

    name = "pyarrow.table"
    is_data = "library"
    types = ("pyarrow.lib:Table", "pyarrow.lib:RecordBatch")

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node([type(obj).__name__, obj.num_rows], (obj.schema, *obj.columns))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        form = {"Table": "pyarrow.chunked_array", "RecordBatch": "pyarrow.array"}
        whole = isinstance(literal, list) and len(literal) == 2 and literal[0] in form
        expect(whole, "a table or a record batch, and how many rows")
        expect_sizes(literal[1:], "rows")
        schema, *columns = (child.codec for child in children)
        fits = schema == "pyarrow.schema" and all(codec == form[literal[0]] for codec in columns)
        expect(fits, "a schema and columns")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pyarrow

        schema, *columns = children
        expect(len(schema) == len(columns), f"{len(schema)} columns", len(columns))
        for field, column in zip(schema, columns, strict=True):
            expect(column.type == field.type and len(column) == literal[1], f"{literal[1]} of {field.type}")
        cls = getattr(pyarrow, literal[0])
        # Without columns a table has no rows.
        return cls.from_arrays(columns, schema=schema)


CODECS: Final = (
    ArrowTypeCodec(),
    Parts("pyarrow.field", ("pyarrow.lib:Field",), "pyarrow.type", "a name, a flag, metadata and a type",
          lambda obj: Node([obj.name, bool(obj.nullable), *_metadata_of(obj)], (obj.type,)),
          _field, _is_field, is_data="library"),
    Parts("pyarrow.schema", ("pyarrow.lib:Schema",), "pyarrow.field*", "metadata and fields",
          lambda obj: Node(_metadata_of(obj), tuple(obj)), _schema, _is_metadata, is_data="library"),
    ArrowArrayCodec(),
    Parts("pyarrow.chunked_array", ("pyarrow.lib:ChunkedArray",), "pyarrow.type pyarrow.array*",
          "a type and arrays", lambda obj: Node(None, (obj.type, *obj.chunks)), _chunked, is_data="library"),
    ArrowTableCodec(),
)  # fmt: skip

LIBRARY: Final = Library("pyarrow", "pyarrow", codecs=CODECS)
