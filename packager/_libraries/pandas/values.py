"""Codecs for single values of pandas, its offsets, and its dtypes.

A label of an index or a column is hashed by pandas whenever it looks one up, so it is of an exact type that
is known here (`require_label`).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from packager._codecs import CannotStore, Choice, LiteralCodec, Node, PartsCodec, expect, kinds, one_of

MISSING: Final = ("NA", "nan")
UNITS: Final = ("s", "ms", "us", "ns")
_NOTHING: Final = -(1 << 63)
_FREQUENCY: Final = re.compile(r"[A-Za-z0-9@:+.-]{1,64}")
CLOSED: Final = ("left", "right", "both", "neither")
_ZONES: Final = ("datetime:timezone", "zoneinfo:ZoneInfo")
_LABELS: Final = frozenset(
    {f"builtins:{name}" for name in ("NoneType", "bool", "int", "float", "complex", "str", "bytes")}
    | {f"datetime:{name}" for name in ("date", "datetime", "time", "timedelta")}
    | {f"pandas:{name}" for name in ("Timestamp", "Timedelta", "Period", "Interval")}
    | {"pandas.api.typing:NaTType", "pandas.api.typing:NAType"}
    | {f"pandas._libs.tslibs.{name}" for name in ("timestamps:Timestamp", "timedeltas:Timedelta")}
    | {"pandas._libs.tslibs.period:Period", "pandas._libs.interval:Interval"}
    | {"pandas._libs.tslibs.nattype:NaTType", "pandas._libs.missing:NAType"}
)
_DEEPEST: Final = 16
_MOST_PARTS: Final = 1 << 12


def homes(names: str, module: str) -> tuple[str, ...]:
    """Return classes as pandas 3 calls them, and as pandas 2 does, by the module that defines them there."""
    public = ("pandas", "pandas.arrays", "pandas.api.typing")
    return tuple(f"{home}:{name}" for name in names.split() for home in (*public, module))


def named(obj: object) -> str:
    """Return the module and the name of the class of an object."""
    return f"{type(obj).__module__}:{type(obj).__qualname__}"


def is_label(value: object) -> bool:
    """Check whether a value may be a label: of an exact type whose hash is its own, or a tuple of such.

    A tuple hashes what it holds as often as it holds it, so each time counts.
    """
    waiting, parts = [(value, 0)], 0
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        if type(part) is not tuple:
            if not _is_leaf(part):
                return False
        elif depth == _DEEPEST or parts + len(waiting) + len(part) > _MOST_PARTS:
            return False
        else:
            waiting += [(one, depth + 1) for one in part]
    return True


def _is_leaf(value: Any) -> bool:
    if named(value) in _LABELS:
        return True
    import numpy

    plain = issubclass(type(value), numpy.generic) and type(value).__module__ == "numpy"
    return plain and not value.dtype.names


def require_label(value: object, what: str = "a label") -> None:
    """Raise ValueError unless a value may be a label."""
    wanted = f"{what} of numbers, texts, moments and tuples of them, at most {_MOST_PARTS} in all"
    expect(is_label(value), wanted, type(value).__name__)


def stored_label(value: object, what: str) -> Any:
    """Return a label as it is. Raises CannotStore for one that a reader would refuse."""
    if not is_label(value):
        raise CannotStore(
            f"{what} is of type {type(value).__name__}, which has its own hash",
            "use a number, text, a Timestamp, or a tuple of these",
        )
    return value


def require_zone(zone: object) -> None:
    """Raise ValueError unless a value is a time zone of Python's own, or None."""
    expect(zone is None or named(zone) in _ZONES, "a time zone", type(zone).__name__)


def stored_zone(zone: object) -> Any:
    """Return a time zone as it is. Raises CannotStore for one of another library."""
    if zone is not None and named(zone) not in _ZONES:
        raise CannotStore(
            f"the time zone {zone} is of {type(zone).__module__}",
            'convert it: .tz_convert(zoneinfo.ZoneInfo("Europe/Berlin"))',
        )
    return zone


def frequency_text(offset: Any) -> str:
    """Return the text by which pandas makes an offset again. Raises CannotStore where there is none."""
    from pandas.tseries.frequencies import to_offset

    text = str(offset.freqstr)
    try:
        again = to_offset(text) if _FREQUENCY.fullmatch(text) else None
    except ValueError:
        again = None
    if type(again) is not type(offset) or again != offset:
        raise CannotStore(
            f"the offset {offset!r} has no frequency text",
            "set index.freq = None before saving",
        )
    return text


def period_text(text: str) -> str:
    """Return what pandas calls the length of a period. Raises CannotStore where that is no short text."""
    if _FREQUENCY.fullmatch(text) is None:
        raise CannotStore(f"periods of the frequency {text!r:.80}", "use a simpler frequency")
    return text


def is_frequency(text: object) -> bool:
    """Check whether a value looks like the name of an offset."""
    return type(text) is str and _FREQUENCY.fullmatch(text) is not None


def _of_pandas(name: str) -> Any:
    return getattr(import_module("pandas"), name)


def _interval(obj: Any) -> Node:
    """Return the ends of an interval. Raises CannotStore for ends that have code of their own."""
    return Node(
        [obj.closed], tuple(stored_label(end, "an end of an interval") for end in (obj.left, obj.right))
    )


def _interval_of(parts: Sequence[Any], *ends: Any) -> Any:
    for end in ends:
        require_label(end, "ends")
        expect(type(end) not in (str, bytes, tuple), "ends that are numbers or moments")
    return _of_pandas("Interval")(*ends, closed=parts[0])


def _moment(obj: Any) -> Node:
    """Return a moment. Raises CannotStore for a zone of another library, or in which it has no local time."""
    if obj.tz is not None and not _has_local_time(obj.asm8):
        raise CannotStore(
            f"{obj.asm8} has a time zone, in which pandas has no local time",
            "save it without a zone: .tz_localize(None)",
        )
    return Node([int(obj.asm8.view("i8")), obj.unit], (stored_zone(obj.tz),))


def _moment_of(parts: Sequence[Any], zone: Any) -> Any:
    import numpy

    require_zone(zone)
    moment = numpy.datetime64(parts[0], parts[1])
    made = _of_pandas("Timestamp")(moment)
    if zone is None:
        return made
    expect(_has_local_time(moment), "a moment of the years 1 to 9999, with a local time", str(moment))
    return made.tz_localize(datetime.UTC).tz_convert(zone)


def _duration_of(parts: Sequence[Any]) -> Any:
    import numpy

    return _of_pandas("Timedelta")(numpy.timedelta64(parts[0], parts[1]))


def _is_number_and(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda parts: kinds(int, str)(parts) and parts[0] > _NOTHING and fits(parts[1])


_SCALARS: Final = Choice(
    "pandas.scalar",
    PartsCodec("NaTType", homes("NaTType", "pandas._libs.tslibs.nattype"), "", "NaT",
          lambda obj: Node(), lambda: _of_pandas("NaT")),
    PartsCodec("NAType", homes("NAType", "pandas._libs.missing"), "", "NA",
          lambda obj: Node(), lambda: _of_pandas("NA")),
    PartsCodec("Interval", homes("Interval", "pandas._libs.interval"), "any any", "an interval",
          _interval, _interval_of, one_of(CLOSED)),
    PartsCodec("Period", homes("Period", "pandas._libs.tslibs.period"), "", "a number and an offset",
          lambda obj: Node([obj.ordinal, period_text(obj.freqstr)]),
          lambda parts: _of_pandas("Period")(ordinal=parts[0], freq=parts[1]), _is_number_and(is_frequency)),
    PartsCodec("Timestamp", homes("Timestamp", "pandas._libs.tslibs.timestamps"), "any",
          "a moment and a zone", _moment, _moment_of, _is_number_and(UNITS.__contains__)),
    PartsCodec("Timedelta", homes("Timedelta", "pandas._libs.tslibs.timedeltas"), "", "a number and a unit",
          lambda obj: Node([int(obj.asm8.view("i8")), obj.unit]), _duration_of,
          _is_number_and(UNITS.__contains__)),
)  # fmt: skip


def _has_local_time(moment: Any) -> bool:
    """Say whether Python can tell the time of a zone; where not, pandas prints an error and goes on."""
    import numpy

    day = numpy.datetime64(moment, "D")  # of two units NumPy compares in the finer one, which overflows
    return bool(numpy.datetime64("0001-01-02") <= day <= numpy.datetime64("9999-12-30"))


def _offset(text: str) -> Any:
    from pandas.tseries.frequencies import to_offset

    return to_offset(text)


MASKED: Final = {
    **{f"{sign}Int{bits}": "IntegerArray" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **{f"Float{bits}": "FloatingArray" for bits in (32, 64)},
    "boolean": "BooleanArray",
}
"""The arrays of dtypes that say with a mask which values are missing."""


def missing_word(dtype: object) -> str:
    """Return what stands for a missing text: "NA", or "nan" where the dtype is as NumPy's."""
    return "nan" if isinstance(getattr(dtype, "na_value", None), float) else "NA"


def string_dtype(storage: str, missing: str) -> Any:
    """Return the dtype of texts that are kept by Python or by pyarrow."""
    import pandas

    if missing == "NA":
        return pandas.StringDtype(storage)
    return pandas.StringDtype(storage, na_value=float("nan"))


def _interval_dtype(subtype: Any, closed: str | None) -> Any:
    import numpy
    import pandas

    zoned = named(subtype).endswith(":DatetimeTZDtype")
    plain = isinstance(subtype, numpy.dtype) and subtype.kind in "iufmM"
    expect(zoned or plain or subtype is None, "a dtype of numbers or moments", type(subtype).__name__)
    return pandas.IntervalDtype(subtype, closed)


def _categories(categories: Any, ordered: bool) -> Any:
    """Return a dtype of categories that differ: looked at here, where no crowded table can be filled."""
    import pandas

    if categories is None:
        return pandas.CategoricalDtype(None, ordered)
    _require_unique(categories)
    return pandas.CategoricalDtype._from_fastpath(categories, ordered)


def _require_unique(categories: Any) -> None:
    """Raise ValueError for categories that are there twice, missing, or hashed by code of their own."""
    import numpy

    values = getattr(categories, "asi8", None)
    values = values if values is not None else categories.array
    values = values.to_numpy() if type(values).__name__ == "NumpyExtensionArray" else values
    if type(values) is numpy.ndarray and values.dtype.kind in "iufb":
        found = len(numpy.unique(values))
        expect(not (values.dtype.kind == "f" and numpy.isnan(values).any()), "categories that are there")
    else:
        texts = list(categories)
        for value in texts:
            require_label(value, "categories")
        # By their texts, whose hashes nobody can foresee.
        found = len({(type(value).__name__, repr(value)) for value in texts})
    expect(found == len(categories), "categories that differ", f"{len(categories)} of which {found} do")


def _zone_dtype(parts: Sequence[Any], zone: Any) -> Any:
    require_zone(zone)
    expect(zone is not None, "a time zone")
    return _of_pandas("DatetimeTZDtype")(parts[0], zone)


def _sparse_dtype(subtype: Any, fill: Any) -> Any:
    require_label(fill, "a fill value")
    expect(subtype.kind in "biufc", "a dtype of numbers", str(subtype))
    return _of_pandas("SparseDtype")(subtype, fill)


_DTYPES: Final = "pandas.core.dtypes.dtypes"
_KINDS: Final = Choice(
    "pandas.dtype",
    PartsCodec("string", homes("StringDtype", "pandas.core.arrays.string_"), "",
          "a storage and a missing value",
          lambda obj: Node([str(obj.storage), missing_word(obj)]), lambda parts: string_dtype(*parts),
          lambda parts: kinds(str, str)(parts) and parts[0] in ("python", "pyarrow") and parts[1] in MISSING),
    PartsCodec("masked",
          (*homes("BooleanDtype", "pandas.core.arrays.boolean"),
           *(home for name in MASKED for home in homes(
               f"{name}Dtype", f"pandas.core.arrays.{MASKED[name][:-5].lower()}"))),
          "", "the name of a dtype", lambda obj: Node([str(obj)]),
          lambda parts: _of_pandas(f"{parts[0][0].upper()}{parts[0][1:]}Dtype")(), one_of(MASKED)),
    PartsCodec("category", homes("CategoricalDtype", _DTYPES), "pandas.index|none", "categories or None",
          lambda obj: Node([bool(obj.ordered)], (obj.categories,)),
          lambda parts, categories: _categories(categories, parts[0]), kinds(bool)),
    PartsCodec("datetimetz", homes("DatetimeTZDtype", _DTYPES), "any", "a unit and a zone",
          lambda obj: Node([obj.unit], (stored_zone(obj.tz),)), _zone_dtype, one_of(UNITS)),
    PartsCodec("period", homes("PeriodDtype", _DTYPES), "", "the name of an offset",
          lambda obj: Node([period_text(str(obj)[7:-1])]),
          lambda parts: _of_pandas("PeriodDtype")(parts[0]),
          lambda parts: kinds(str)(parts) and is_frequency(parts[0])),
    PartsCodec("interval", homes("IntervalDtype", _DTYPES), "any", "an interval",
          lambda obj: Node([obj.closed], (obj.subtype,)),
          lambda parts, subtype: _interval_dtype(subtype, parts[0]),
          lambda parts: parts == [None] or one_of(CLOSED)(parts)),
    PartsCodec("sparse", homes("SparseDtype", _DTYPES), "numpy.dtype any", "a dtype and a fill value",
          lambda obj: Node(None, (obj.subtype, stored_label(obj.fill_value, "the fill value"))),
          _sparse_dtype),
    PartsCodec("arrow", homes("ArrowDtype", _DTYPES), "pyarrow.type", "a type of pyarrow",
          lambda obj: Node(None, (obj.pyarrow_dtype,)), lambda kind: _of_pandas("ArrowDtype")(kind)),
    once=True,
)  # fmt: skip

CODECS: Final = (
    _SCALARS,
    # Offsets that a text stands for: "3h", "ME", "W-SUN".
    LiteralCodec("pandas.offset", ("pandas._libs.tslibs.offsets:BaseOffset",), is_frequency,
            "the name of an offset", frequency_text, _offset, once=True,
            claimed=lambda cls: cls.__module__ in ("pandas._libs.tslibs.offsets", "pandas.tseries.offsets"),
          is_data="library"),
    _KINDS,
)  # fmt: skip
