"""One row a kind of record: what its operands are, what else must hold of them, and what it makes.

A reader checks each operand by its word (checking.py), then by what the row says of all of them together;
the builder calls what the row makes (building.py). Paths follow from the words: an item stands in brackets,
an attribute behind a dot.
"""

from __future__ import annotations

import math
import re
import sys
import types
from collections.abc import Callable, Sequence

from packager._archive import can_be_strides, largest_view, shape_problem
from packager._codecs import ObjectCodec, StoredTensor
from packager._quick_dataclasses import dataclass, field
from packager._tensors import ITEMSIZE, contiguous_strides, span

from .key_spread import require_once
from .records import Kind, Record, checked_size, values_of

TYPE_CHECKING = False  # as in packager._lazy
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    # Those of building.py and checking.py, which walk over these rows, and so cannot be imported here.
    Builder: TypeAlias = Any
    CheckedTable: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind: the words of its operands, what a reference to it is, what it makes, what is checked besides.

    Operands of the `repeated` words, together, are there any number of times. `is_a` is "none" where there is
    no value, and nothing refers to it. `validate(table, record)` raises ValueError for operands that do not
    fit each other.
    """

    kind: int
    fixed: tuple[str, ...]
    repeated: tuple[str, ...]
    is_a: str
    make: Callable[[Builder, Record], Any] = field(repr=False)
    validate: Callable[[CheckedTable, Record], None] | None = field(repr=False)


def _give_state(build: Builder, record: Record) -> None:
    target = build.value(record[1])
    build.gates.take_state(target, build.value(record[2]), build.object_codec(-1 - record[1]))


def _row(
    kind: int,
    operands: str,
    is_a: str,
    make: Callable[[Builder, Record], Any],
    validate: Callable[[CheckedTable, Record], None] | None = None,
) -> KindRow:
    """Return the row of a kind whose operands are written as in the format: "object (name value)*"."""
    fixed, _, repeated = operands.partition("(")
    return KindRow(kind, tuple(fixed.split()), tuple(repeated.rstrip(")*").split()), is_a, make, validate)


# --- what must hold of operands together ---


def _global(table: CheckedTable, record: Record) -> None:
    table.require_name(record[1], record[2])


def _tensor(table: CheckedTable, record: Record) -> None:
    _, storage, dtype, shape, strides, offset = record
    end = table.storage_size(storage)
    if type(dtype) is not str or dtype not in ITEMSIZE:
        raise ValueError(f"there is no dtype {dtype!r:.40}")
    size = ITEMSIZE[dtype]
    if strides is not None and (
        type(strides) is not list
        or not all(type(n) is int for n in strides)
        or not can_be_strides(strides, len(shape), 8 * size)
    ):
        raise ValueError("strides that do not fit the shape")
    low, high = span(shape, contiguous_strides(shape) if strides is None else strides, 0)
    if problem := shape_problem(tuple(shape), 8 * size):
        raise ValueError(problem)
    if math.prod(shape) * size > largest_view(end):
        raise ValueError(f"a view of {math.prod(shape)} elements over {end} bytes")
    if type(offset) is not int or offset < 0 or offset + low * size < 0 or offset + high * size > end:
        raise ValueError(f"a tensor outside its storage of {end} bytes")


def _shape(table: CheckedTable, record: Record) -> None:
    table.class_of[table.here] = table.use(record[1], "create")
    if record[2] is not None:
        if not isinstance(table.codec_numbered(record[2])[0], ObjectCodec):
            raise ValueError(f"codec {record[2]} cannot make objects with attributes")
        table.codec_of[table.here] = record[2]


def _obj(table: CheckedTable, record: Record) -> None:
    shape, here = -1 - record[1], len(table.classes)
    if len(record) + 1 != len(table.records[shape]):
        raise ValueError(f"{len(record) - 2} values for {len(table.records[shape]) - 3} attributes")
    table.class_of[here] = table.class_of[shape]
    if shape in table.codec_of:
        table.codec_of[here] = table.codec_of[shape]


def _new(table: CheckedTable, record: Record) -> None:
    table.class_of[table.here] = table.use(record[1], "call" if len(record) > 2 else "create")


def _call(table: CheckedTable, record: Record) -> None:
    table.class_of[table.here] = table.use(record[1], "call")


def _method(table: CheckedTable, record: Record) -> None:
    _, owner, name = record
    owner_class = table.class_of.get(-1 - owner)
    plain = type(name) is str and name.isidentifier() and not (name.startswith("__") and name.endswith("__"))
    if owner_class is None or not plain:
        raise ValueError("expected an object and the name of a method")
    _, module, qualname = table.records[owner_class]
    table.uses.setdefault((module, f"{qualname}.{name}", "value"), table.here)


def _function(table: CheckedTable, record: Record) -> None:
    _, module, qualname, digest, *names, _, defaults, keywords = record[:9]
    table.require_name(module, "")
    if not (type(qualname) is str and "<" in qualname and _LOCAL.fullmatch(qualname)):
        raise ValueError(f"expected the name of a function made inside another one, found {qualname!r:.80}")
    if type(digest) is not str or _DIGEST.fullmatch(digest) is None:
        raise ValueError("expected the digest of a source")
    if not all(name is None or type(name) is str for name in names):
        raise ValueError("the names of a function are strings")
    for operand, wanted in ((defaults, "tuple"), (keywords, "dict")):
        if operand is not None:
            table.refers([operand], wanted)
    table.uses.setdefault((module, qualname, "value"), table.here)


def _cell(table: CheckedTable, record: Record) -> None:
    if len(record) > 2:
        raise ValueError("a cell holds one thing")


def _node(table: CheckedTable, record: Record) -> None:
    _, number, literal, *operands = record
    codec, version = table.codec_numbered(number)
    if isinstance(codec, ObjectCodec):
        raise ValueError(f"codec {codec.name!r} makes objects, which have attributes")
    table.codec_of[table.here] = number
    children = table.children(operands, codec.roles(literal, len(operands), version), "tensor")
    codec.check(literal, children, version)


def _finish(table: CheckedTable, record: Record) -> None:
    _, made, number, literal, *operands = record
    codec, version = table.codec_numbered(number)
    if table.codec_of.get(-1 - made) != number:
        raise ValueError(f"an object that codec {codec.name!r} did not make")
    children = table.children(operands, codec.finish_roles(literal, len(operands), version))
    codec.check_finish(literal, children, version)


def _fill(table: CheckedTable, record: Record) -> None:
    if -1 - record[1] in table.codec_of:
        codec, _ = table.codec_numbered(table.codec_of[-1 - record[1]])
        if not (codec.takes_attributes or isinstance(codec, ObjectCodec)):
            raise ValueError(f"an object of codec {codec.name!r} takes no attributes")


def _given(what: str) -> Callable[[CheckedTable, Record], None]:
    """Return the check of what is given to a "list" or a "dict", to an object, or to what a codec made."""

    def check(table: CheckedTable, record: Record) -> None:
        target = -1 - record[1]
        if not table.takes(target, pairs=what == "dict"):
            table.refers(record[1:2], what, "object")
            if target in table.codec_of:
                raise ValueError("an object that a codec makes from attributes takes no items or pairs")

    return check


def _long(table: CheckedTable, record: Record) -> None:
    """Check the runs of a long container: a dict has as many keys as values."""
    if len({checked_size(run) for run in record if type(run) is list}) != 1:
        raise ValueError("a key without a value")


def _given_long(table: CheckedTable, record: Record) -> None:
    if not table.takes(-1 - record[1], pairs=record[0] == Kind.UPDATE_LONG):
        raise ValueError("an object without a codec takes items and pairs one by one")
    _long(table, record)


_LOCAL: Final = re.compile(
    r"(([^\W\d]\w*|<lambda>|<(list|set|dict)comp>|<genexpr>)\.(<locals>\.)?)*([^\W\d]\w*|<lambda>)"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


# --- what a record makes ---


def _made_int(build: Builder, record: Record) -> int:
    literal = record[1]
    if type(literal) is not bytes:
        return literal  # type: ignore[no-any-return]  # an int, as was checked
    build.gates.note_large_number()
    return int.from_bytes(literal, "big", signed=True)


def _made_str(build: Builder, record: Record) -> str:
    literal = record[1]
    return literal.decode("utf-8", "surrogatepass") if type(literal) is bytes else literal


def _made_tensor(build: Builder, record: Record) -> StoredTensor:
    _, storage, dtype, shape, strides, offset = record
    buffer, shape = build.buffer(storage), tuple(shape)
    strides = contiguous_strides(shape) if strides is None else tuple(strides)
    return StoredTensor(dtype, shape, strides, offset, buffer)


def _made_dict(build: Builder, record: Record) -> Any:
    values = build.values(record[1:])
    return build.dict_of(values[::2], values[1::2])


def _made_long_dict(build: Builder, record: Record) -> Any:
    return build.dict_of(values_of(record[1]), values_of(record[2]))


def _made_shape(build: Builder, record: Record) -> Any:
    """(class, codec and version or None, names), as OBJ needs them."""
    cls = build.built[-1 - record[1]]
    codec = None if record[2] is None else build.audited.codecs[record[2]]
    if codec is None:
        build.gates.check_maker(cls)
    build.gates.check_names(cls, record[3:])
    return cls, codec, [sys.intern(name) for name in record[3:]]


def _made_obj(build: Builder, record: Record) -> Any:
    cls, codec, names = build.built[-1 - record[1]]
    values = build.values(record[2:])
    if codec is not None:
        made = codec[0].make(cls, codec[1])
        codec[0].fill(made, dict(zip(names, values, strict=True)), codec[1])
        return made
    made = build.gates.make(cls)
    build.set_attributes(made, names, values)
    return made


def _made_new(build: Builder, record: Record) -> Any:
    cls = build.built[-1 - record[1]]
    build.gates.check_maker(cls)
    if len(record) == 2:
        return build.gates.make(cls)
    return cls.__new__(cls, *build.arguments(cls, build.values(record[2:])))


def _made_new_kw(build: Builder, record: Record) -> Any:
    cls, args, kwargs = build.values(record[1:])
    build.gates.check_maker(cls)
    return cls.__new__(cls, *build.arguments(cls, args, kwargs), **kwargs)


def _made_call(build: Builder, record: Record) -> Any:
    function = build.built[-1 - record[1]]
    return function(*build.arguments(function, build.values(record[2:])))


def _made_call_kw(build: Builder, record: Record) -> Any:
    function, args, kwargs = build.values(record[1:])
    return function(*build.arguments(function, args, kwargs), **kwargs)


def _made_package_call(build: Builder, record: Record) -> Any:
    return build.built[-1 - record[1]](build.importer, *build.values(record[2:]))


def _made_method(build: Builder, record: Record) -> Any:
    owner, name = build.built[-1 - record[1]], record[2]
    found = next((vars(cls)[name] for cls in type(owner).__mro__ if name in vars(cls)), None)
    if not isinstance(found, types.FunctionType):
        raise ValueError(f"{type(owner).__qualname__} has no method {name!r} written in Python")
    return types.MethodType(found, owner)


def _made_function(build: Builder, record: Record) -> Any:
    _, name, qualname, digest, own_name, own_qualname, *parts = record
    doc, defaults, keywords, *cells = build.values(parts)
    home = build.names[name, ""]
    code = home.code_of(qualname, digest)
    if code is None:
        raise ValueError(f"the source of {name} does not define {qualname} as it was stored")
    made = types.FunctionType(code, home.namespace, own_name or code.co_name, defaults, tuple(cells))
    made.__kwdefaults__, made.__doc__ = keywords, doc
    made.__qualname__ = own_qualname or code.co_qualname
    return made


def _made_node(build: Builder, record: Record) -> Any:
    codec = build.audited.codecs[record[1]]
    assert codec is not None
    return codec[0].decode(record[2], build.values(record[3:]), codec[1], build)


def _filled(build: Builder, record: Record) -> None:
    made = build.built[-1 - record[1]]
    names = [sys.intern(name) for name in record[2::2]]
    values = build.values(record[3::2])
    # Slots of what a codec made hold what the codec put there.
    made_by_codec = build.audited.records[-1 - record[1]][0] == Kind.CODEC
    build.gates.check_names(type(made), names, with_slots=not made_by_codec)
    codec = build.object_codec(-1 - record[1])
    if codec is not None:
        codec[0].fill(made, dict(zip(names, values, strict=True)), codec[1])
    else:
        build.set_attributes(made, names, values, anew=True)


def _extended(build: Builder, record: Record) -> None:
    target = build.built[-1 - record[1]]
    type(target).extend(target, build.values(record[2:]))


def _extended_long(build: Builder, record: Record) -> None:
    target = build.built[-1 - record[1]]
    type(target).extend(target, values_of(record[2]))


def _updated(build: Builder, record: Record) -> None:
    values = build.values(record[2:])
    build.put(build.built[-1 - record[1]], values[::2], values[1::2])


def _updated_long(build: Builder, record: Record) -> None:
    build.put(build.built[-1 - record[1]], values_of(record[2]), values_of(record[3]))


def _added(build: Builder, record: Record) -> None:
    target, values = build.built[-1 - record[1]], build.values(record[2:])
    build.gates.check_more_keys(target, values)
    before = len(target)
    target.update(values)
    require_once(values, len(target) - before)


def _set_cell(build: Builder, record: Record) -> None:
    build.built[-1 - record[1]].cell_contents = build.value(record[2])


def _finished(build: Builder, record: Record) -> None:
    codec = build.audited.codecs[record[2]]
    assert codec is not None
    target = build.built[-1 - record[1]]
    codec[0].finish(target, record[3], build.values(record[4:]), codec[1], build)


ROWS: Final = {
    row.kind: row
    for row in (
        _row(Kind.GLOBAL, "module qualname", "global", lambda b, r: b.names.get((r[1], r[2])), _global),
        _row(Kind.INT, "int", "scalar", _made_int),
        _row(Kind.STR, "str", "scalar", _made_str),
        _row(Kind.BYTES, "bytes", "scalar", lambda b, r: r[1]),
        _row(Kind.TENSOR, "storage dtype sizes strides offset", "tensor", _made_tensor, _tensor),
        _row(Kind.TUPLE, "(item)*", "tuple", lambda b, r: tuple(b.values(r[1:]))),
        _row(Kind.LIST, "(item)*", "list", lambda b, r: b.values(r[1:])),
        _row(Kind.DICT, "(key value)*", "dict", _made_dict),
        _row(Kind.SET, "(member)*", "set", lambda b, r: b.set_of(set, b.values(r[1:]))),
        _row(Kind.FROZENSET, "(member)*", "frozenset", lambda b, r: b.set_of(frozenset, b.values(r[1:]))),
        _row(Kind.PACKED_TUPLE, "(scalar)*", "tuple", lambda b, r: tuple(r[1:])),
        _row(Kind.PACKED_LIST, "(scalar)*", "list", lambda b, r: r[1:]),
        _row(Kind.PACKED_DICT, "(scalar scalar)*", "dict", lambda b, r: b.dict_of(r[1::2], r[2::2])),
        _row(Kind.SHAPE, "class maker (name)*", "shape", _made_shape, _shape),
        _row(Kind.OBJ, "shape (attribute)*", "object", _made_obj, _obj),
        _row(Kind.NEW, "class (value)*", "object", _made_new, _new),
        _row(Kind.NEW_KW, "class tuple dict", "object", _made_new_kw, _call),
        _row(Kind.CALL, "called (value)*", "object", _made_call, _call),
        _row(Kind.CALL_KW, "called tuple dict", "object", _made_call_kw, _call),
        _row(Kind.PACKAGE_CALL, "called (value)*", "object", _made_package_call, _call),
        _row(Kind.METHOD, "object method", "method", _made_method, _method),
        _row(
            Kind.FUNCTION,
            "module qualname digest own_name own_qualname value defaults keywords (cell)*",
            "function",
            _made_function,
            _function,
        ),
        _row(Kind.CELL, "(value)*", "cell", lambda b, r: types.CellType(*b.values(r[1:])), _cell),
        _row(Kind.CODEC, "codec literal (child)*", "codec", _made_node, _node),
        _row(Kind.FILL, "filled (name value)*", "none", _filled, _fill),
        _row(Kind.EXTEND, "given (value)*", "none", _extended, _given("list")),
        _row(Kind.UPDATE, "given (key value)*", "none", _updated, _given("dict")),
        _row(Kind.ADD, "set (member)*", "none", _added),
        _row(Kind.SETCELL, "cell value", "none", _set_cell),
        _row(Kind.STATE, "object value", "none", _give_state),
        _row(Kind.FINISH, "made codec literal (child)*", "none", _finished, _finish),
        _row(Kind.LONG_TUPLE, "run", "tuple", lambda b, r: tuple(values_of(r[1])), _long),
        _row(Kind.LONG_LIST, "run", "list", lambda b, r: values_of(r[1]), _long),
        _row(Kind.LONG_DICT, "run run", "dict", _made_long_dict, _long),
        _row(Kind.LONG_SET, "run", "set", lambda b, r: b.set_of(set, values_of(r[1])), _long),
        _row(
            Kind.LONG_FROZENSET, "run", "frozenset", lambda b, r: b.set_of(frozenset, values_of(r[1])), _long
        ),
        _row(Kind.EXTEND_LONG, "given run", "none", _extended_long, _given_long),
        _row(Kind.UPDATE_LONG, "given run run", "none", _updated_long, _given_long),
    )
}
"""All kinds, by their numbers."""

REFERRING: Final = frozenset(
    "item key value member attribute child class called shape object tuple dict defaults keywords cell set "
    "made given filled".split()
)
"""The words of operands that may refer to a record."""

FILLS: Final = frozenset(row.kind for row in ROWS.values() if row.is_a == "none")
"""Kinds that give more to the record which their first operand refers to."""


def fills_by_target(records: Sequence[Record]) -> dict[int, list[int]]:
    """Return the fills of a table by the record that they fill."""
    fills: dict[int, list[int]] = {}
    for index, record in enumerate(records):
        if record[0] in FILLS:
            fills.setdefault(-1 - record[1], []).append(index)
    return fills
