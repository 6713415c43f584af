"""Codecs for arrays and indexes of pandas: NumPy's arrays, and how pandas reads them.

Codes of categories and of levels, positions of sparse values and masks are looked at here: pandas takes its
own word for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from packager._codecs import CannotStore, Child, Choice, Node, PartsCodec, expect, kinds, one_of

from .values import (
    CLOSED,
    MASKED,
    MISSING,
    UNITS,
    frequency_text,
    homes,
    is_frequency,
    missing_word,
    named,
    period_text,
    require_label,
    require_zone,
    stored_label,
    stored_zone,
    string_dtype,
)

VALUES: Final = "numpy.ndarray|pandas.array"
"""The codecs of what the values of an index, a series or a block are."""


def _array_class(name: str) -> Any:
    import pandas

    return getattr(pandas.arrays, name)


def _chunks(obj: Any) -> Any:
    found = getattr(obj, "_pa_array", None)
    if found is None:
        raise CannotStore(f"a {type(obj).__name__} without an Arrow array", "convert it: .to_numpy()")
    return found


def _numbers(array: Any, kinds: str, what: str, rank: int = 1) -> Any:
    """Return an array of numbers of these kinds. Raises ValueError for another one."""
    import numpy

    whole = type(array) is numpy.ndarray and array.dtype.kind in kinds and array.dtype.isnative
    expect(whole and array.ndim == rank, f"{what}: an array of a kind of {kinds!r}")
    return array


def _masked(parts: Sequence[Any], data: Any, mask: Any) -> Any:
    import pandas

    kinds = {"IntegerArray": "iu", "FloatingArray": "f", "BooleanArray": "b"}[MASKED[parts[0]]]
    _numbers(data, kinds, "values")
    _numbers(mask, "b", "a mask")
    expect(data.shape == mask.shape, f"a mask of shape {list(data.shape)}", list(mask.shape))
    name = "bool" if parts[0] == "boolean" else parts[0].lower()
    expect(data.dtype.name == name, f"values of {name}", data.dtype.name)
    return getattr(pandas.arrays, MASKED[parts[0]])(data, mask, copy=False)


def _string(parts: Sequence[Any], texts: Any) -> Any:
    import pandas

    expect(all(type(text) is str or text is None for text in texts), "texts, or None for a missing one")
    return pandas.array(texts, dtype=string_dtype("python", parts[0]))


def _arrow_string(parts: Sequence[Any], chunks: Any) -> Any:
    import pandas

    dtype = string_dtype("pyarrow", parts[0])
    expect(str(chunks.type) in ("string", "large_string"), "texts", str(chunks.type))
    if parts[0] == "NA":
        return pandas.arrays.ArrowStringArray(chunks)
    cls = dtype.construct_array_type()
    has_class = (
        cls.__name__ == "ArrowStringArrayNumpySemantics"
    )  # in pandas 2, a class for each missing value
    return cls(chunks) if has_class else cls(chunks, dtype=dtype)


def _categorical(codes: Any, dtype: Any) -> Any:
    import pandas

    _numbers(codes, "i", "codes")
    expect(named(dtype).endswith(":CategoricalDtype") and dtype.categories is not None, "categories")
    require_codes(codes, len(dtype.categories))
    return pandas.Categorical.from_codes(codes, dtype=dtype, validate=False)


def require_codes(codes: Any, count: int) -> None:
    """Raise ValueError unless all codes are -1, for a missing value, or the number of one of so many."""
    if codes.size:
        low, high = int(codes.min()), int(codes.max())
        expect(low >= -1 and high < count, f"codes from -1 to {count - 1}", f"{low} to {high}")


def _datetime(values: Any, zone: Any) -> Any:
    import pandas

    require_zone(zone)
    unit = _unit(values, "M")
    dtype = values.dtype if zone is None else pandas.DatetimeTZDtype(unit, zone)
    return pandas.arrays.DatetimeArray._simple_new(values, dtype=dtype)


def _timedelta(values: Any) -> Any:
    import pandas

    _unit(values, "m")
    return pandas.arrays.TimedeltaArray._simple_new(values, dtype=values.dtype)


def _unit(values: Any, kind: str) -> str:
    """Return the unit of moments or durations, of one row or of the rows of a block."""
    import numpy

    _numbers(values, kind, "moments", rank=2 if getattr(values, "ndim", 1) == 2 else 1)
    unit, count = numpy.datetime_data(values.dtype)
    expect(unit in UNITS and count == 1, f"a unit of {', '.join(UNITS)}", unit)
    return str(unit)


def _period(parts: Sequence[Any], values: Any) -> Any:
    import pandas

    # Of one row, or of the rows of a block.
    _numbers(values, "i", "numbers of periods", rank=2 if getattr(values, "ndim", 1) == 2 else 1)
    expect(values.dtype.itemsize == 8, "numbers of 64 bits")
    return pandas.arrays.PeriodArray._simple_new(values, dtype=pandas.PeriodDtype(parts[0]))


def _interval(parts: Sequence[Any], *ends: Any) -> Any:
    import pandas

    for end in ends:
        expect(getattr(end.dtype, "kind", "O") in "iufmM", "ends that are numbers or moments", str(end.dtype))
    return pandas.arrays.IntervalArray.from_arrays(*ends, closed=parts[0])


def _sparse(parts: Sequence[Any], values: Any, places: Any, dtype: Any) -> Any:
    import numpy
    import pandas
    from pandas._libs.sparse import IntIndex

    kind, length = parts
    expect(named(dtype).endswith(":SparseDtype"), "a sparse dtype")
    _numbers(values, "biufc", "values")
    _numbers(places, "i", "places")
    expect(values.dtype == dtype.subtype, f"values of {dtype.subtype}", str(values.dtype))
    expect(places.dtype == numpy.int32 and len(places) == len(values), "a place for each value")
    grows = bool((places[1:] > places[:-1]).all())
    inside = not len(places) or (places[0] >= 0 and places[-1] < length)
    expect(grows and bool(inside), f"places that grow from 0 to {length - 1}")
    index = IntIndex(length, places)
    index = index.to_block_index() if kind == "block" else index
    return pandas.arrays.SparseArray._simple_new(values, index, dtype)


def values_of(obj: Any) -> Any:
    """Return what holds the values of an index or a series: an array of NumPy, or one of pandas."""
    found = obj.array
    return found.to_numpy(copy=False) if type(found).__name__ == "NumpyExtensionArray" else found


def _levels_of(obj: Any) -> Node:
    """Return names, levels and codes. Raises CannotStore for names that are hashed by code of their own."""
    import numpy

    names = [stored_label(name, "the name of an index") for name in obj.names]
    levels = [level.rename(None) for level in obj.levels]
    codes = [numpy.asarray(codes).view() for codes in obj.codes]
    return Node([obj.sortorder, len(levels)], (*names, *levels, *codes))


def _index(obj: Any) -> Node:
    """Return the offset and the parts of an index. Raises CannotStore as above."""
    freq = getattr(obj, "freq", None) if type(obj).__name__ in _WITH_FREQ else None
    parts = (stored_label(obj.name, "the name of an index"), values_of(obj))
    return Node([None if freq is None else frequency_text(freq)], parts)


def _index_of(kind: str, parts: Sequence[Any], name: Any, values: Any) -> Any:
    import pandas

    require_label(name, "the name of an index")
    require_values(values)
    made = pandas.Index(values, dtype=values.dtype, name=name, copy=False)
    expect(type(made).__name__ == kind, f"the values of a {kind}", type(made).__name__)
    return made if parts[0] is None else _with_freq(made, parts[0])


def _is_offset(kind: str, parts: Any) -> bool:
    known = kinds(str)(parts) and is_frequency(parts[0])
    return parts == [None] or (kind in _WITH_FREQ and known)


def _range_of(name: Any, *ends: int) -> Any:
    import pandas

    require_label(name, "the name of an index")
    return pandas.RangeIndex(*ends, name=name)


def _with_freq(index: Any, text: str) -> Any:
    """Return an index of moments that knows its offset: the range of this offset, whose values these are.

    pandas itself would look for the offset in a table of differences, which can be crowded.
    """
    import pandas

    make = pandas.date_range if type(index).__name__ == "DatetimeIndex" else pandas.timedelta_range
    unit = index.unit
    if not len(index):
        zone = {"tz": index.tz} if type(index).__name__ == "DatetimeIndex" else {}
        start = pandas.Timestamp(0) if zone else pandas.Timedelta(0)
        return make(start, periods=0, freq=text, unit=unit, name=index.name, **zone)
    made = make(index[0], periods=len(index), freq=text, unit=unit, name=index.name)
    expect(bool((made.asi8 == index.asi8).all()), f"moments that follow each other by {text}")
    return made


_WITH_FREQ: Final = ("DatetimeIndex", "TimedeltaIndex")


def _are_levels(parts: Any, children: Sequence[Child]) -> bool:
    count, found = parts[1], [child.codec for child in children]
    known = {*found[count : 2 * count]} == {"pandas.index"} and {*found[2 * count :]} == {"numpy.ndarray"}
    return known and len(found) == 3 * count


def _is_order(parts: Any) -> bool:
    """Check how many levels rows are sorted by, None for as many as there are, and how many levels."""
    order, count = parts if isinstance(parts, list) and len(parts) == 2 else (None, None)
    return (
        type(count) is int and count > 0 and (order is None or (type(order) is int and 0 <= order <= count))
    )


def _levels(parts: Sequence[Any], *children: Any) -> Any:
    import pandas

    order, count = parts
    names, levels, codes = children[:count], children[count : 2 * count], children[2 * count :]
    for name in names:
        require_label(name, "the name of a level")
    for level, numbers in zip(levels, codes, strict=True):
        expect(type(level).__name__ != "MultiIndex", "levels of one level")
        _numbers(numbers, "i", "codes")
        require_codes(numbers, len(level))
        expect(len(numbers) == len(codes[0]), f"{len(codes[0])} codes", len(numbers))
    _require_order(order, codes)
    return pandas.MultiIndex(
        levels=levels, codes=codes, sortorder=order, names=names, copy=False, verify_integrity=False
    )


def _require_order(order: int | None, codes: Sequence[Any]) -> None:
    """Raise ValueError unless rows are sorted by as many levels as is claimed: pandas searches by halves."""
    import numpy

    if not order or len(codes[0]) < 2:
        return
    sorted_so_far = numpy.zeros(len(codes[0]) - 1, bool)  # rows that are greater than the one before them
    for numbers in codes[:order]:
        rises = numbers[1:].astype("i8") - numbers[:-1]
        expect(bool((sorted_so_far | (rises >= 0)).all()), f"rows that are sorted by {order} levels")
        sorted_so_far |= rises > 0


def require_values(values: Any, rank: int = 1) -> None:
    """Raise ValueError unless values are such as pandas keeps in an array of NumPy, or one of pandas."""
    import numpy

    if type(values) is numpy.ndarray:
        expect(values.dtype.kind in "biufcO", "values of numbers or objects", str(values.dtype))
        expect(values.ndim == rank, f"values of rank {rank}", values.ndim)
        return
    expect(type(values).__module__.partition(".")[0] == "pandas", "values of pandas", type(values).__name__)
    expect(values.ndim in (1, rank), f"values of rank {rank}", values.ndim)


_ARRAYS: Final = Choice(
    "pandas.array",
    PartsCodec("masked",
          (*homes("IntegerArray", "pandas.core.arrays.integer"),
           *homes("FloatingArray", "pandas.core.arrays.floating"),
           *homes("BooleanArray", "pandas.core.arrays.boolean")),
          "numpy.ndarray numpy.ndarray", "values and a mask",
          lambda obj: Node([str(obj.dtype)], (obj._data, obj._mask)), _masked, one_of(MASKED)),
    PartsCodec("string", homes("StringArray StringArrayNumpySemantics", "pandas.core.arrays.string_"),
          "list", "a list of texts",
          lambda obj: Node([missing_word(obj.dtype)],
                           ([text if type(text) is str else None for text in obj.to_numpy(object)],)),
          _string, one_of(MISSING)),
    PartsCodec("arrow string",
          homes("ArrowStringArray ArrowStringArrayNumpySemantics", "pandas.core.arrays.string_arrow"),
          "pyarrow.chunked_array", "a missing value and a chunked array",
          lambda obj: Node([missing_word(obj.dtype)], (_chunks(obj),)), _arrow_string, one_of(MISSING)),
    PartsCodec("arrow", homes("ArrowExtensionArray", "pandas.core.arrays.arrow.array"),
          "pyarrow.chunked_array", "a chunked array", lambda obj: Node(None, (_chunks(obj),)),
          lambda chunks: _array_class("ArrowExtensionArray")(chunks)),
    PartsCodec("category", homes("Categorical", "pandas.core.arrays.categorical"),
          "numpy.ndarray pandas.dtype", "codes and a dtype",
          lambda obj: Node(None, (obj.codes, obj.dtype)), _categorical),
    PartsCodec("datetime", homes("DatetimeArray", "pandas.core.arrays.datetimes"), "numpy.ndarray any",
          "moments and a zone", lambda obj: Node(None, (obj._ndarray, stored_zone(obj.tz))), _datetime),
    PartsCodec("timedelta", homes("TimedeltaArray", "pandas.core.arrays.timedeltas"), "numpy.ndarray",
          "an array", lambda obj: Node(None, (obj._ndarray,)), _timedelta),
    PartsCodec("period", homes("PeriodArray", "pandas.core.arrays.period"), "numpy.ndarray",
          "numbers and an offset", lambda obj: Node([period_text(str(obj.dtype)[7:-1])], (obj.asi8,)),
          _period, lambda parts: kinds(str)(parts) and is_frequency(parts[0])),
    PartsCodec("interval", homes("IntervalArray", "pandas.core.arrays.interval"), "pandas.index pandas.index",
          "two indexes", lambda obj: Node([obj.closed], (obj.left, obj.right)), _interval, one_of(CLOSED)),
    PartsCodec("sparse", homes("SparseArray", "pandas.core.arrays.sparse.array"),
          "numpy.ndarray numpy.ndarray pandas.dtype", "values, their places and a dtype",
          lambda obj: Node([obj.kind, len(obj)], (obj.sp_values, obj.sp_index.indices, obj.dtype)), _sparse,
          lambda parts: kinds(str, int)(parts) and parts[0] in ("integer", "block")

             and 0 <= parts[1] < 1 << 31),
    PartsCodec("numpy", homes("NumpyExtensionArray", "pandas.core.arrays.numpy_"), "numpy.ndarray",
          "an array", lambda obj: Node(None, (obj.to_numpy(copy=False),)),
          lambda values: _array_class("NumpyExtensionArray")(values)),
)  # fmt: skip

_INDEXES: Final = Choice(
    "pandas.index",
    PartsCodec("RangeIndex", homes("RangeIndex", "pandas.core.indexes.range"), "any scalar scalar scalar",
          "a name and three ints",
          lambda obj: Node(None, (stored_label(obj.name, "the name of an index"),
                                  obj.start, obj.stop, obj.step)),
          _range_of, also=lambda _, children: all(type(child.value) is int for child in children[1:])),
    PartsCodec("MultiIndex", homes("MultiIndex", "pandas.core.indexes.multi"), "any*",
          "names, levels and codes", _levels_of, _levels, _is_order, also=_are_levels),
    *(PartsCodec(kind, homes(kind, f"pandas.core.indexes.{home}"), f"any {VALUES}", "a name and values",
            _index, partial(_index_of, kind), partial(_is_offset, kind))
      for kind, home in {
          "Index": "base", "CategoricalIndex": "category", "DatetimeIndex": "datetimes",
          "TimedeltaIndex": "timedeltas", "PeriodIndex": "period", "IntervalIndex": "interval",
      }.items()),
)  # fmt: skip

CODECS: Final = (_ARRAYS, _INDEXES)
