"""Codecs for polars: dtypes, series and frames, as columns of NumPy.

A column is numbers beside which of them are there; texts and bytes are lists, lists are their lengths and
what is in them. It is made by polars' own constructors, which take nothing on trust. How a column is cut into
chunks and whether polars knows that it is sorted are not stored. Not stored are columns of Python objects,
and lazy frames, which are programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from packager._codecs import (
    CannotStore,
    Choice,
    Library,
    Node,
    PartsCodec,
    expect,
    kinds,
    one_of,
    panics_as_errors,
)

_NUMBERS: Final = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *("Float32", "Float64", "Boolean"),
)
_PHYSICAL: Final = {"Date": "Int32", "Time": "Int64", "Datetime": "Int64", "Duration": "Int64"}
_TEXTS: Final = {"String": str, "Binary": bytes}
_MOST_DAYS: Final = 73_000_000  # 200,000 years around 1970
_A_DAY: Final = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_UNITS: Final = ("ms", "us", "ns")
_DEEPEST: Final = 64


def _type_of(kind: str, parts: Sequence[Any], *inside: Any) -> Any:
    import polars

    for dtype in inside:
        expect(_depth(dtype) < _DEEPEST, f"dtypes nested at most {_DEEPEST} deep")
    with panics_as_errors():
        if kind == "Struct":
            return polars.Struct([polars.Field(*one) for one in zip(parts, inside, strict=True)])
        return getattr(polars, kind)(*([list(parts)] if kind == "Enum" else [*inside, *parts]))


def _nothing(parts: Any) -> bool:
    return parts is None


def _row(
    kind: str, out: Callable[[Any], Node] = lambda obj: Node(), form: Any = _nothing, children: str = ""
) -> PartsCodec:
    home = f"polars.datatypes.classes:{kind}"
    return PartsCodec(kind, (home,), children, f"the parts of {kind}", out, partial(_type_of, kind), form)


def _has_zone(parts: Any) -> bool:
    known = kinds(str, type(None))(parts) or (kinds(str, str)(parts) and len(parts[1]) <= 64)
    return known and parts[0] in _UNITS


def _are_names(parts: Any) -> bool:
    return parts is None or (set(map(type, parts)) == {str} and len(set(parts)) == len(parts))


def _is_size(parts: Any) -> bool:
    return kinds(int)(parts) and 0 <= parts[0] < 1 << 31


def _is_decimal(parts: Any) -> bool:
    return kinds(int, int)(parts) and 0 <= parts[1] <= parts[0] and 1 <= parts[0] <= 38


_TYPES: Final = Choice(
    "polars.dtype",
    *map(_row, (*_NUMBERS, *_TEXTS, "Date", "Time", "Null", "Categorical")),
    _row("Datetime", lambda obj: Node([obj.time_unit, obj.time_zone]), _has_zone),
    _row("Duration", lambda obj: Node([obj.time_unit]), one_of(_UNITS)),
    _row("Decimal", lambda obj: Node([obj.precision, obj.scale]), _is_decimal),
    _row("Enum", lambda obj: Node(obj.categories.to_list()), _are_names),
    _row("List", lambda obj: Node(None, (_made(obj.inner),)), children="polars.dtype"),
    _row("Array", lambda obj: Node([obj.size], (_made(obj.inner),)), _is_size, "polars.dtype"),
    _row(
        "Struct",
        lambda obj: Node([one.name for one in obj.fields], [_made(one.dtype) for one in obj.fields]),
        _are_names,
        "polars.dtype*",
    ),
    once=True,
)


def _made(dtype: Any) -> Any:
    """Return a dtype as an instance: polars takes the class for one with its defaults."""
    return dtype() if isinstance(dtype, type) else dtype


def _depth(dtype: Any) -> int:
    level, depth = [dtype], 0
    while level and depth < _DEEPEST:
        inner = [getattr(one, "inner", None) for one in level]
        fields = [field.dtype for one in level for field in getattr(one, "fields", ())]
        level, depth = [one for one in (*inner, *fields) if one is not None], depth + 1
    return depth


def _columns_of_series(obj: Any) -> Node:
    """Return the columns of a series. Raises CannotStore for dtypes without a stored form."""
    with panics_as_errors():
        dtype = _made(obj.dtype)
        values = _values_of(obj, type(dtype).__name__)
        there = None if obj.null_count() == 0 else obj.is_not_null().to_numpy()
    if type(dtype).__name__ in (*_TEXTS, "Null"):
        there = None  # the texts themselves say so
    return Node([obj.name, len(obj)], (dtype, there, *values))


def _named_series(literal: Any, dtype: Any, there: Any, *values: Any) -> Any:
    name, length = literal
    if there is not None:
        _require_array(there, "bool", length)
    with panics_as_errors():
        made = _series(dtype, length, values)
        expect(len(made) == length, f"{length} values", len(made))
        made = made if there is None else _with_nulls(made, there)
        expect(_made(made.dtype) == dtype, f"values of {dtype}", str(made.dtype))
        return made.alias(name)


def _values_of(obj: Any, kind: str) -> list[Any]:
    import numpy
    import polars

    if kind == "Null":
        return [numpy.zeros(len(obj), bool)]  # so that its length is not a mere claim
    if kind in _TEXTS:
        return [obj.to_list()]
    if kind in _NUMBERS:
        return [obj.fill_null(False if kind == "Boolean" else 0).to_numpy()]
    if kind in _PHYSICAL:
        return [obj.to_physical().fill_null(0).to_numpy()]
    if kind in ("Categorical", "Enum"):
        texts = obj.cast(polars.String)
        names = obj.dtype.categories if kind == "Enum" else texts.drop_nulls().unique(maintain_order=True)
        codes = texts.cast(polars.Enum(names)).to_physical().cast(polars.UInt32)
        return [codes.fill_null(0).to_numpy(), *([names.to_list()] if kind == "Categorical" else [])]
    if kind == "Decimal":
        return [obj.cast(polars.String).to_list()]
    if kind == "Struct" and obj.dtype.fields:
        return list(obj.struct.unnest().get_columns())
    if kind in ("List", "Array"):
        lists = obj.arr.to_list() if kind == "Array" else obj
        lengths = lists.list.len().fill_null(0).cast(polars.Int64).to_numpy()
        kept = lists.filter(lists.is_not_null() & (lists.list.len().fill_null(0) > 0))
        return [lengths, kept.explode().alias("")]
    raise CannotStore(f"a polars series of {obj.dtype}", "convert it to numbers, texts or lists")


def _series(dtype: Any, length: int, values: Sequence[Any]) -> Any:
    """Return a series of a dtype without a name, in which nothing is missing but texts."""
    import polars

    kind = type(dtype).__name__
    if kind == "Null":
        expect(len(values) == 1, "which are there")
        _require_array(values[0], "bool", length)
        return polars.Series("", [None] * length, dtype=dtype)
    if kind == "Struct":
        return _struct(dtype, length, values)
    if kind in ("List", "Array"):
        expect(len(values) == 2, "lengths and what is in the lists")
        return _lists(dtype, kind, length, *values)
    if kind == "Decimal" or kind in _TEXTS:
        expect(len(values) == 1 and type(values[0]) is list, "a list of texts")
        wanted = _TEXTS.get(kind, str)
        expect(all(one is None or type(one) is wanted for one in values[0]), f"{wanted.__name__} or None")
        if kind == "Decimal":
            return polars.Series("", values[0], dtype=polars.String).cast(dtype)
        return polars.Series("", values[0], dtype=dtype)
    if kind in ("Categorical", "Enum"):
        return _categories(dtype, kind, length, values)
    physical = _PHYSICAL.get(kind, kind)
    expect(len(values) == 1, "an array of numbers")
    _require_array(values[0], {"Boolean": "bool"}.get(physical, physical.lower()), length)
    _require_moments(dtype, kind, values[0])
    made = polars.Series("", values[0])
    return made if kind == physical else made.cast(dtype)


def _require_moments(dtype: Any, kind: str, values: Any) -> None:
    """Raise ValueError for days and times that polars has no name for: to show one ends in a panic."""
    if kind not in ("Date", "Datetime", "Time"):
        return
    most = _A_DAY["ns"] - 1
    if kind != "Time":
        most = min(_MOST_DAYS * (1 if kind == "Date" else _A_DAY[dtype.time_unit]), (1 << 63) - 1)
    least = 0 if kind == "Time" else -most
    fits = not len(values) or (int(values.min()) >= least and int(values.max()) <= most)
    expect(fits, f"a {kind} from {least} to {most}")


def _require_array(array: Any, dtype: str, length: int) -> None:
    import numpy

    whole = type(array) is numpy.ndarray and array.dtype == numpy.dtype(dtype) and array.dtype.isnative
    expect(whole and array.ndim == 1, f"an array of {dtype}")
    expect(len(array) == length, f"{length} values", len(array))


def _categories(dtype: Any, kind: str, length: int, values: Sequence[Any]) -> Any:
    import polars

    expect(len(values) == (2 if kind == "Categorical" else 1), "codes and names")
    codes, *names = values
    _require_array(codes, "uint32", length)
    texts = names[0] if names else dtype.categories.to_list()
    expect(type(texts) is list and all(type(one) is str for one in texts), "names of categories")
    if not texts:
        expect(not codes.any(), "codes of no category")
        return polars.Series("", [None] * length, dtype=dtype)
    expect(not length or int(codes.max()) < len(texts), f"codes below {len(texts)}")
    return polars.Series("", texts, dtype=polars.String).gather(codes).cast(dtype)


def _struct(dtype: Any, length: int, values: Sequence[Any]) -> Any:
    import polars

    fields = [(field.name, _made(field.dtype)) for field in dtype.fields]
    expect(bool(fields) and all(type(one) is polars.Series for one in values), "series as fields")
    found = [(one.name, _made(one.dtype)) for one in values]
    expect(found == fields, "the fields of the struct")
    expect(all(len(one) == length for one in values), f"fields of {length} values")
    return polars.DataFrame(list(values)).to_struct("")


def _lists(dtype: Any, kind: str, length: int, lengths: Any, inside: Any) -> Any:
    import polars

    _require_array(lengths, "int64", length)
    inner = _made(dtype.inner)
    expect(type(inside) is polars.Series and _made(inside.dtype) == inner, f"lists of {inner}")
    expect(not length or int(lengths.min()) >= 0, "lengths of 0 or more")
    # One by one: their sum may be more than 64 bits hold.
    sizes = lengths.tolist()
    expect(sum(sizes) == len(inside), f"{len(inside)} elements in all lists", sum(sizes))
    starts, rows = 0, []
    for size in sizes:
        rows.append(inside[starts : starts + size])
        starts += size
    made = polars.Series("", rows, dtype=polars.List(inner))
    if kind == "List":
        return made
    expect(all(size in (0, dtype.size) for size in sizes), f"arrays of {dtype.size}")
    whole = polars.Series("", [size == dtype.size for size in sizes], dtype=polars.Boolean)
    return _with_nulls(made, whole.to_numpy()).list.to_array(dtype.size)


def _with_nulls(made: Any, there: Any) -> Any:
    import polars

    frame = polars.DataFrame([made.alias("values"), polars.Series("there", there)])
    return frame.select(polars.when(polars.col("there")).then(polars.col("values"))).to_series()


def _columns_of(frame: Any) -> Node:
    """Return the columns of a frame. Raises CannotStore for rows without columns."""
    if frame.height and not frame.width:
        raise CannotStore(f"a polars frame of {frame.height} rows without columns", "save frame.height")
    return Node(frame.height, tuple(frame.get_columns()))


def _frame(rows: int, *columns: Any) -> Any:
    import polars

    expect(all(len(column) == rows for column in columns), f"columns of {rows} rows")
    expect(len({column.name for column in columns}) == len(columns), "names of columns that differ")
    with panics_as_errors():
        return polars.DataFrame(list(columns))


CODECS: Final = (
    _TYPES,
    # Name and length; then the dtype, which elements are there (None for all), and the values: an array of
    # numbers, a list of texts, or series: the codes of categories and their names, the lengths of lists and
    # what is in them, the fields of a struct.
    PartsCodec("polars.series", ("polars.series.series:Series",),
          "polars.dtype none|numpy.ndarray polars.series|numpy.ndarray|list*", "a dtype and values",
          _columns_of_series, _named_series,
          lambda literal: kinds(str, int)(literal) and literal[1] >= 0, is_data="library"),
    PartsCodec("polars.frame", ("polars.dataframe.frame:DataFrame",), "polars.series*", "rows and columns",
          _columns_of, _frame, lambda rows: type(rows) is int and rows >= 0,
          also=lambda rows, columns: bool(columns) or rows == 0, is_data="library"),
)  # fmt: skip

LIBRARY: Final = Library("polars", "polars", codecs=CODECS)
