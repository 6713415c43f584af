"""Codecs for arrays and indexes of pandas: NumPy's arrays, and how pandas reads them.

Codes of categories and of levels, positions of sparse values and masks are looked at here: pandas takes its
own word for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.codecs import CannotStore, Child, Codec, Decoding, Encoding, Node, expect, expect_sizes

from .values import (
    MASKED,
    UNITS,
    check_frequency,
    frequency_text,
    homes,
    missing_word,
    named,
    period_text,
    require_label,
    require_zone,
    stored_label,
    stored_zone,
    string_dtype,
)

_ARRAYS: Final = "IntegerArray FloatingArray BooleanArray".split()
_STRINGS: Final = "StringArray StringArrayNumpySemantics".split()
_ARROW_STRINGS: Final = "ArrowStringArray ArrowStringArrayNumpySemantics".split()
VALUES: Final = ("numpy.ndarray", "pandas.array")
"""The codecs of what the values of an index, a series or a block are."""


class ExtensionArrayCodec(Codec):
    """Arrays that NumPy does not have: a kind, what it says of itself, and arrays and dtypes as children."""

    name = "pandas.array"
    is_data = "library"
    types = (
        *homes("IntegerArray", "pandas.core.arrays.integer"),
        *homes("FloatingArray", "pandas.core.arrays.floating"),
        *homes("BooleanArray", "pandas.core.arrays.boolean"),
        *homes("StringArray StringArrayNumpySemantics", "pandas.core.arrays.string_"),
        *homes("ArrowStringArray ArrowStringArrayNumpySemantics", "pandas.core.arrays.string_arrow"),
        *homes("ArrowExtensionArray", "pandas.core.arrays.arrow.array"),
        *homes("Categorical", "pandas.core.arrays.categorical"),
        *homes("DatetimeArray", "pandas.core.arrays.datetimes"),
        *homes("TimedeltaArray", "pandas.core.arrays.timedeltas"),
        *homes("PeriodArray", "pandas.core.arrays.period"),
        *homes("IntervalArray", "pandas.core.arrays.interval"),
        *homes("SparseArray", "pandas.core.arrays.sparse.array"),
        *homes("NumpyExtensionArray", "pandas.core.arrays.numpy_"),
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the parts of an array. Raises CannotStore for parts that have no stored form."""
        kind = type(obj).__name__
        if kind in _ARRAYS:
            return Node(["masked", str(obj.dtype)], (obj._data, obj._mask))
        if kind in _STRINGS:
            texts = [text if type(text) is str else None for text in obj.to_numpy(object)]
            return Node(["string", missing_word(obj.dtype)], (texts,))
        if kind in _ARROW_STRINGS:
            return Node(["arrow string", missing_word(obj.dtype)], (_chunks(obj),))
        if kind == "ArrowExtensionArray":
            return Node(["arrow"], (_chunks(obj),))
        if kind == "Categorical":
            return Node(["category"], (obj.codes, obj.dtype))
        if kind == "DatetimeArray":
            return Node(["datetime"], (obj._ndarray, stored_zone(obj.tz)))
        if kind == "TimedeltaArray":
            return Node(["timedelta"], (obj._ndarray,))
        if kind == "PeriodArray":
            return Node(["period", period_text(str(obj.dtype)[7:-1])], (obj.asi8,))
        if kind == "IntervalArray":
            return Node(["interval", obj.closed], (obj.left, obj.right))
        if kind == "SparseArray":
            places = obj.sp_index.indices
            return Node(["sparse", obj.kind, len(obj)], (obj.sp_values, places, obj.dtype))
        return Node(["numpy"], (obj.to_numpy(copy=False),))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 0, "a kind of array")
        kind, *parts = literal
        codecs = [child.codec for child in children]
        array = "numpy.ndarray"
        if kind == "masked":
            expect(len(parts) == 1 and parts[0] in MASKED and codecs == [array] * 2, "values and a mask")
        elif kind == "string":
            texts = [child.kind for child in children] == ["list"]
            expect(len(parts) == 1 and parts[0] in ("NA", "nan") and texts, "a list of texts")
        elif kind == "arrow string":
            expect(len(parts) == 1 and parts[0] in ("NA", "nan"), "a missing value")
            expect(codecs == ["pyarrow.chunked_array"], "a chunked array")
        elif kind == "arrow":
            expect(not parts and codecs == ["pyarrow.chunked_array"], "a chunked array")
        elif kind == "category":
            expect(not parts and codecs == [array, "pandas.dtype"], "codes and a dtype")
        elif kind == "datetime":
            expect(not parts and len(codecs) == 2 and codecs[0] == array, "moments and a zone")
        elif kind in ("timedelta", "numpy"):
            expect(not parts and codecs == [array], "an array")
        elif kind == "period":
            expect(len(parts) == 1 and codecs == [array], "numbers and an offset")
            check_frequency(parts[0])
        elif kind == "interval":
            closed = len(parts) == 1 and parts[0] in ("left", "right", "both", "neither")
            expect(closed and codecs == ["pandas.index"] * 2, "two indexes")
        else:
            form = kind == "sparse" and len(parts) == 2 and parts[0] in ("integer", "block")
            expect(form and codecs == [array, array, "pandas.dtype"], "values, their places and a dtype")
            expect_sizes(parts[1:], "a length", 1 << 31)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        return _MADE[literal[0]](literal[1:], children)


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


def _masked(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    data, mask = children
    kinds = {"IntegerArray": "iu", "FloatingArray": "f", "BooleanArray": "b"}[MASKED[parts[0]]]
    _numbers(data, kinds, "values")
    _numbers(mask, "b", "a mask")
    expect(data.shape == mask.shape, f"a mask of shape {list(data.shape)}", list(mask.shape))
    name = "bool" if parts[0] == "boolean" else parts[0].lower()
    expect(data.dtype.name == name, f"values of {name}", data.dtype.name)
    return getattr(pandas.arrays, MASKED[parts[0]])(data, mask, copy=False)


def _string(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    texts = children[0]
    expect(all(type(text) is str or text is None for text in texts), "texts, or None for a missing one")
    return pandas.array(texts, dtype=string_dtype("python", parts[0]))


def _arrow_string(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    dtype = string_dtype("pyarrow", parts[0])
    expect(str(children[0].type) in ("string", "large_string"), "texts", str(children[0].type))
    if parts[0] == "NA":
        return pandas.arrays.ArrowStringArray(children[0])
    cls = dtype.construct_array_type()
    has_class = (
        cls.__name__ == "ArrowStringArrayNumpySemantics"
    )  # in pandas 2, a class for each missing value
    return cls(children[0]) if has_class else cls(children[0], dtype=dtype)


def _arrow(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    return pandas.arrays.ArrowExtensionArray(children[0])


def _categorical(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    codes, dtype = children
    _numbers(codes, "i", "codes")
    expect(named(dtype).endswith(":CategoricalDtype") and dtype.categories is not None, "categories")
    require_codes(codes, len(dtype.categories))
    return pandas.Categorical.from_codes(codes, dtype=dtype, validate=False)


def require_codes(codes: Any, count: int) -> None:
    """Raise ValueError unless all codes are -1, for a missing value, or the number of one of so many."""
    if codes.size:
        low, high = int(codes.min()), int(codes.max())
        expect(low >= -1 and high < count, f"codes from -1 to {count - 1}", f"{low} to {high}")


def _datetime(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    values, zone = children
    require_zone(zone)
    unit = _unit(values, "M")
    dtype = values.dtype if zone is None else pandas.DatetimeTZDtype(unit, zone)
    return pandas.arrays.DatetimeArray._simple_new(values, dtype=dtype)


def _timedelta(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    _unit(children[0], "m")
    return pandas.arrays.TimedeltaArray._simple_new(children[0], dtype=children[0].dtype)


def _unit(values: Any, kind: str) -> str:
    """Return the unit of moments or durations, of one row or of the rows of a block."""
    import numpy

    _numbers(values, kind, "moments", rank=2 if getattr(values, "ndim", 1) == 2 else 1)
    unit, count = numpy.datetime_data(values.dtype)
    expect(unit in UNITS and count == 1, f"a unit of {', '.join(UNITS)}", unit)
    return str(unit)


def _period(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    # Of one row, or of the rows of a block.
    _numbers(children[0], "i", "numbers of periods", rank=2 if getattr(children[0], "ndim", 1) == 2 else 1)
    expect(children[0].dtype.itemsize == 8, "numbers of 64 bits")
    return pandas.arrays.PeriodArray._simple_new(children[0], dtype=pandas.PeriodDtype(parts[0]))


def _interval(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    for end in children:
        expect(getattr(end.dtype, "kind", "O") in "iufmM", "ends that are numbers or moments", str(end.dtype))
    return pandas.arrays.IntervalArray.from_arrays(*children, closed=parts[0])


def _sparse(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import numpy
    import pandas
    from pandas._libs.sparse import IntIndex

    kind, length = parts
    values, places, dtype = children
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


def _numpy(parts: Sequence[Any], children: Sequence[Any]) -> Any:
    import pandas

    return pandas.arrays.NumpyExtensionArray(children[0])


_MADE: Final = {
    "masked": _masked,
    "string": _string,
    "arrow string": _arrow_string,
    "arrow": _arrow,
    "category": _categorical,
    "datetime": _datetime,
    "timedelta": _timedelta,
    "period": _period,
    "interval": _interval,
    "sparse": _sparse,
    "numpy": _numpy,
}


def values_of(obj: Any) -> Any:
    """Return what holds the values of an index or a series: an array of NumPy, or one of pandas."""
    found = obj.array
    return found.to_numpy(copy=False) if type(found).__name__ == "NumpyExtensionArray" else found


class IndexCodec(Codec):
    """Indexes: a kind; then the name and the values, or for several levels names, levels and codes."""

    name = "pandas.index"
    is_data = "library"
    types = (
        *homes("Index", "pandas.core.indexes.base"),
        *homes("RangeIndex", "pandas.core.indexes.range"),
        *homes("MultiIndex", "pandas.core.indexes.multi"),
        *homes("CategoricalIndex", "pandas.core.indexes.category"),
        *homes("DatetimeIndex", "pandas.core.indexes.datetimes"),
        *homes("TimedeltaIndex", "pandas.core.indexes.timedeltas"),
        *homes("PeriodIndex", "pandas.core.indexes.period"),
        *homes("IntervalIndex", "pandas.core.indexes.interval"),
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the parts of an index. Raises CannotStore for names that are hashed by code of their own."""
        kind = type(obj).__name__
        names = [stored_label(name, "the name of an index") for name in obj.names]
        if kind == "RangeIndex":
            return Node([kind], (names[0], obj.start, obj.stop, obj.step))
        if kind == "MultiIndex":
            levels = [level.rename(None) for level in obj.levels]
            codes = [codes.view() for codes in map(_plain_codes, obj.codes)]
            return Node([kind, obj.sortorder, len(levels)], (*names, *levels, *codes))
        freq = getattr(obj, "freq", None) if kind in ("DatetimeIndex", "TimedeltaIndex") else None
        return Node([kind, None if freq is None else frequency_text(freq)], (names[0], values_of(obj)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 0, "a kind of index")
        kind, *parts = literal
        if kind == "RangeIndex":
            ints = all(type(child.value) is int and child.kind == "scalar" for child in children[1:])
            expect(not parts and len(children) == 4 and ints, "a name and three ints")
            return
        if kind == "MultiIndex":
            _check_levels(parts, children)
            return
        known = kind in ("Index", "CategoricalIndex", *_WITH_FREQ, "PeriodIndex", "IntervalIndex")
        expect(known and len(parts) == 1 and len(children) == 2, "a name and values")
        expect(children[1].codec in VALUES, "values")
        if parts[0] is not None:
            expect(kind in _WITH_FREQ, "no offset")
            check_frequency(parts[0])

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pandas

        kind, *parts = literal
        if kind == "RangeIndex":
            require_label(children[0], "the name of an index")
            return pandas.RangeIndex(*children[1:], name=children[0])
        if kind == "MultiIndex":
            return _levels(parts, children)
        name, values = children
        require_label(name, "the name of an index")
        require_values(values)
        made = pandas.Index(values, dtype=values.dtype, name=name, copy=False)
        expect(type(made).__name__ == kind, f"the values of a {kind}", type(made).__name__)
        return made if parts[0] is None else _with_freq(made, parts[0])


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


def _plain_codes(codes: Any) -> Any:
    import numpy

    return numpy.asarray(codes)


def _check_levels(parts: list[Any], children: Sequence[Child]) -> None:
    form = len(parts) == 2 and (parts[0] is None or type(parts[0]) is int) and type(parts[1]) is int
    expect(form and parts[1] > 0 and len(children) == 3 * parts[1], "names, levels and codes")
    expect(parts[0] is None or 0 <= parts[0] <= parts[1], "an order of levels")
    count = parts[1]
    expect(all(child.codec == "pandas.index" for child in children[count : 2 * count]), "levels")
    expect(all(child.codec == "numpy.ndarray" for child in children[2 * count :]), "codes")


def _levels(parts: Sequence[Any], children: Sequence[Any]) -> Any:
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


CODECS: Final = (ExtensionArrayCodec(), IndexCodec())
