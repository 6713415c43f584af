"""Codecs for single values of pandas, its offsets, and its dtypes.

A label of an index or a column is hashed by pandas whenever it looks one up, so it is of an exact type that
is known here (`require_label`).
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any, Final

from packager.codecs import CannotStore, Child, Codec, Decoding, Encoding, Literal, Node, expect

UNITS: Final = ("s", "ms", "us", "ns")
_NOTHING: Final = -(1 << 63)
_FREQUENCY: Final = re.compile(r"[A-Za-z0-9@:+.-]{1,64}")
_CLOSED: Final = ("left", "right", "both", "neither")
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


def named(obj: Any) -> str:
    """Return the module and the name of the class of an object."""
    return f"{type(obj).__module__}:{type(obj).__qualname__}"


def is_label(value: Any) -> bool:
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


def require_label(value: Any, what: str = "a label") -> None:
    """Raise ValueError unless a value may be a label."""
    wanted = f"{what} of numbers, texts, moments and tuples of them, at most {_MOST_PARTS} in all"
    expect(is_label(value), wanted, type(value).__name__)


def stored_label(value: Any, what: str) -> Any:
    """Return a label as it is. Raises CannotStore for one that a reader would refuse."""
    if not is_label(value):
        raise CannotStore(
            f"{what} is a {type(value).__name__}, which pandas would hash by code of its own",
            "use a number, a text, a moment, or a tuple of them",
        )
    return value


def require_zone(zone: Any) -> None:
    """Raise ValueError unless a value is a time zone of Python's own, or None."""
    expect(zone is None or named(zone) in _ZONES, "a time zone", type(zone).__name__)


def stored_zone(zone: Any) -> Any:
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
            f"the offset {offset!r}, which no text stands for",
            "keep what it is made of, or set freq to None",
        )
    return text


def period_text(text: str) -> str:
    """Return what pandas calls the length of a period. Raises CannotStore where that is no short text."""
    if _FREQUENCY.fullmatch(text) is None:
        raise CannotStore(f"periods of the length {text!r:.80}, which is not stored", "use a simpler offset")
    return text


def is_frequency(text: Any) -> bool:
    """Check whether a value looks like the name of an offset."""
    return type(text) is str and _FREQUENCY.fullmatch(text) is not None


def check_frequency(text: Any) -> None:
    """Raise ValueError unless a value looks like the name of an offset."""
    expect(is_frequency(text), "the name of an offset")


class ScalarCodec(Codec):
    """Moments, durations, periods, intervals, and the two values that stand for a missing one."""

    name = "pandas.scalar"
    is_data = "library"
    types = (
        *homes("Timestamp", "pandas._libs.tslibs.timestamps"),
        *homes("Timedelta", "pandas._libs.tslibs.timedeltas"),
        *homes("Period", "pandas._libs.tslibs.period"),
        *homes("Interval", "pandas._libs.interval"),
        *homes("NaTType", "pandas._libs.tslibs.nattype"),
        *homes("NAType", "pandas._libs.missing"),
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return a kind and numbers. Raises CannotStore for zones and offsets that cannot be stored."""
        kind = type(obj).__name__
        if kind in ("NaTType", "NAType"):
            return Node(kind, key=kind)
        if kind == "Interval":
            ends = (obj.left, obj.right)
            return Node([kind, obj.closed], tuple(stored_label(end, "an end of an interval") for end in ends))
        if kind == "Period":
            return Node([kind, obj.ordinal, period_text(obj.freqstr)])
        literal = [kind, int(obj.asm8.view("i8")), obj.unit]
        if kind == "Timestamp" and obj.tz is not None and not _has_local_time(obj.asm8):
            raise CannotStore(
                f"{obj.asm8} has a time zone", "pandas knows no local time there: keep it without a zone"
            )
        return Node(literal, (stored_zone(obj.tz),) if kind == "Timestamp" else ())

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        if isinstance(literal, str):
            expect(literal in ("NaTType", "NAType") and not children, "NaT or NA")
            return
        expect(isinstance(literal, list) and len(literal) >= 2, "a kind of value")
        kind, *parts = literal
        if kind == "Interval":
            expect(len(parts) == 1 and parts[0] in _CLOSED and len(children) == 2, "an interval")
        elif kind == "Period":
            expect(list(map(type, parts)) == [int, str] and parts[0] > _NOTHING, "a number and an offset")
            check_frequency(parts[1])
            expect(not children, "no children")
        else:
            whole = list(map(type, parts)) == [int, str] and parts[0] > _NOTHING and parts[1] in UNITS
            expect(kind in ("Timestamp", "Timedelta") and whole, "a number and a unit")
            expect(len(children) == (kind == "Timestamp"), "a zone for a moment")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import numpy
        import pandas

        if isinstance(literal, str):
            return pandas.NaT if literal == "NaTType" else pandas.NA
        kind, *parts = literal
        if kind == "Interval":
            for end in children:
                require_label(end, "ends")
                expect(type(end) not in (str, bytes, tuple), "ends that are numbers or moments")
            return pandas.Interval(*children, closed=parts[0])
        if kind == "Period":
            return pandas.Period(ordinal=parts[0], freq=parts[1])
        if kind == "Timedelta":
            return pandas.Timedelta(numpy.timedelta64(parts[0], parts[1]))
        require_zone(children[0])
        moment = numpy.datetime64(parts[0], parts[1])
        if children[0] is None:
            return pandas.Timestamp(moment)
        expect(_has_local_time(moment), "a moment of the years 1 to 9999, with a local time", str(moment))
        return pandas.Timestamp(moment).tz_localize(datetime.UTC).tz_convert(children[0])


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


class ExtensionDtypeCodec(Codec):
    """Dtypes that NumPy does not have."""

    name = "pandas.dtype"
    is_data = "library"
    types = (
        *homes("StringDtype", "pandas.core.arrays.string_"),
        *homes("ArrowDtype", "pandas.core.dtypes.dtypes"),
        *homes("BooleanDtype", "pandas.core.arrays.boolean"),
        *(
            home
            for name in MASKED
            for home in homes(f"{name}Dtype", f"pandas.core.arrays.{MASKED[name][:-5].lower()}")
        ),
        *homes(
            "CategoricalDtype DatetimeTZDtype PeriodDtype IntervalDtype SparseDtype",
            "pandas.core.dtypes.dtypes",
        ),
    )

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the kind and the parts of a dtype. Raises CannotStore for what its parts are made of."""
        kind = type(obj).__name__
        if kind == "StringDtype":
            return _once(["string", str(obj.storage), missing_word(obj)])
        if kind == "CategoricalDtype":
            return Node(["category", bool(obj.ordered)], (obj.categories,))
        if kind == "DatetimeTZDtype":
            return Node(["datetimetz", obj.unit], (stored_zone(obj.tz),))
        if kind == "PeriodDtype":
            return _once(["period", period_text(str(obj)[7:-1])])
        if kind == "IntervalDtype":
            return Node(["interval", obj.closed], (obj.subtype,))
        if kind == "SparseDtype":
            return Node(["sparse"], (obj.subtype, stored_label(obj.fill_value, "the fill value")))
        if kind == "ArrowDtype":
            return Node(["arrow"], (obj.pyarrow_dtype,))
        return _once(["masked", str(obj)])

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 0, "a kind of dtype")
        kind, *parts = literal
        codecs = [child.codec for child in children]
        if kind == "string":
            form = len(parts) == 2 and parts[0] in ("python", "pyarrow") and parts[1] in ("NA", "nan")
            expect(form and not children, "a storage and a missing value")
        elif kind == "masked":
            expect(len(parts) == 1 and parts[0] in MASKED and not children, "the name of a dtype")
        elif kind == "category":
            whole = list(map(type, parts)) == [bool] and len(children) == 1
            expect(whole and codecs in ([None], ["pandas.index"]), "categories")
            expect(codecs != [None] or children[0].value is None, "categories or None")
        elif kind == "datetimetz":
            expect(len(parts) == 1 and parts[0] in UNITS and len(children) == 1, "a unit and a zone")
        elif kind == "period":
            expect(len(parts) == 1 and not children, "an offset")
            check_frequency(parts[0])
        elif kind == "interval":
            expect(len(parts) == 1 and parts[0] in (*_CLOSED, None) and len(children) == 1, "an interval")
        elif kind == "sparse":
            expect(not parts and len(codecs) == 2 and codecs[0] == "numpy.dtype", "a dtype and a fill value")
        else:
            expect(kind == "arrow" and not parts and codecs == ["pyarrow.type"], "a type of pyarrow")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import pandas

        kind, *parts = literal
        if kind == "string":
            return string_dtype(*parts)
        if kind == "masked":
            return getattr(pandas, f"{parts[0][0].upper()}{parts[0][1:]}Dtype")()
        if kind == "category":
            return _categories(children[0], parts[0])
        if kind == "datetimetz":
            require_zone(children[0])
            expect(children[0] is not None, "a time zone")
            return pandas.DatetimeTZDtype(parts[0], children[0])
        if kind == "period":
            return pandas.PeriodDtype(parts[0])
        if kind == "interval":
            return _interval_dtype(children[0], parts[0])
        if kind == "sparse":
            require_label(children[1], "a fill value")
            expect(children[0].kind in "biufc", "a dtype of numbers", str(children[0]))
            return pandas.SparseDtype(*children)
        return pandas.ArrowDtype(children[0])


def _once(literal: list[Any]) -> Node:
    return Node(literal, key=tuple(literal))


def missing_word(dtype: Any) -> str:
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


CODECS: Final = (
    ScalarCodec(),
    # Offsets that a text stands for: "3h", "ME", "W-SUN".
    Literal("pandas.offset", ("pandas._libs.tslibs.offsets:BaseOffset",), is_frequency,
            "the name of an offset", frequency_text, _offset, once=True,
            claimed=lambda cls: cls.__module__ in ("pandas._libs.tslibs.offsets", "pandas.tseries.offsets"),
          is_data="library"),
    ExtensionDtypeCodec(),
)  # fmt: skip
