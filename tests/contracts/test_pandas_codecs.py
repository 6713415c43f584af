"""Every codec for pandas keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from datetime import UTC, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

from packager._codecs import default_registry
from packager.testing import CodecContract
from tests.contracts.built_in import by_name

BERLIN = ZoneInfo("Europe/Berlin")


def used(made: Any) -> None:
    """Read all of an object, as its owner would."""
    if isinstance(made, (pd.RangeIndex, pd.arrays.SparseArray)) and len(made) > 1 << 16:
        return  # it is as long as it says, which takes as much memory as it says
    str(made), repr(made)
    if isinstance(made, pd.DataFrame):
        made.copy(), made.describe(include="all"), made.isna().sum(), made.iloc[::-1].reset_index()
        made.to_dict("list"), made.sort_index(), made.memory_usage(deep=True)
    elif isinstance(made, (pd.Series, pd.Index)):
        len(made) and made[0 if isinstance(made, pd.Index) else made.index[0]]
        made.unique(), made.isna(), made.nunique(), list(made), made.take([0] if len(made) else [])
    elif isinstance(made, pd.api.extensions.ExtensionArray):
        list(made), made.isna(), made.copy(), made.unique(), pd.Series(made).value_counts()
    hash(made) if isinstance(made, (pd.Timestamp, pd.Timedelta)) else None


def arrays() -> list[Any]:
    days = pd.date_range("2024-03-30", periods=3, tz=BERLIN)
    return [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([1, 2], dtype="UInt8"),
        pd.array([1.5, None], dtype="Float32"),
        pd.array([True, None], dtype="boolean"),
        pd.array(["a", None, "naïve"], dtype=pd.StringDtype("python")),
        pd.array(["a", None], dtype=pd.StringDtype("python", na_value=np.nan)),
        pd.array(["a", None, "x"], dtype=pd.StringDtype("pyarrow")),
        pd.array(["a", None], dtype=pd.StringDtype("pyarrow", na_value=np.nan)),
        pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())),
        pd.array([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int8()))),
        pd.Categorical(["a", "b", None, "a"]),
        pd.Categorical([3, 1], categories=[1, 2, 3], ordered=True),
        pd.Categorical([1.5, "x", None], categories=[pd.Timestamp("2024"), "x", 1.5]),
        days.array,
        days.tz_localize(None).as_unit("s").array,
        pd.array([pd.Timedelta(1), pd.NaT]),
        pd.period_range("2024", periods=3, freq="M").array,
        pd.interval_range(0, 3, closed="left").array,
        pd.arrays.SparseArray([0, 0, 1, 2]),
        pd.arrays.SparseArray([0.0, np.nan, 1.0, 2.0], kind="block"),
        pd.arrays.NumpyExtensionArray(np.array([1, 2])),
    ]


def indexes() -> list[Any]:
    return [
        pd.RangeIndex(2, 10, 3, name="r"),
        pd.RangeIndex(10, -10, -2),
        pd.Index([1, 5, 2], name=("a", 1)),
        pd.Index([1.5, np.nan]),
        pd.Index([True, False]),
        pd.Index(["a", "b"]),
        pd.Index(["a", 1, None, (1, 2)], dtype=object),
        pd.Index(pd.array([1, None], dtype="Int8")),
        pd.CategoricalIndex(["a", "b", "a"]),
        pd.date_range("2024", periods=4, freq="2D", tz=BERLIN, name="t"),
        pd.DatetimeIndex(["2024-01-01", "2023-01-01"]),
        pd.timedelta_range("1h", periods=3, freq="h"),
        pd.date_range("2024", periods=3, freq="ME", tz=BERLIN)[:0],
        pd.date_range("2024-03-28", periods=4, freq="B", tz=BERLIN),
        pd.period_range("2024", periods=2, freq="Q"),
        pd.interval_range(0.0, 2.0),
        pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", None]),
        pd.MultiIndex.from_tuples([("b", 1), ("a", None)]),
    ]


def series() -> list[Any]:
    made = [pd.Series(array) for array in arrays()]
    named = pd.Series([1.5, 2.5], index=["a", "b"], name=("n", 1))
    named.attrs["unit"] = "m"
    unique = pd.Series([1, 2]).set_flags(allows_duplicate_labels=False)
    return [*made, named, unique, pd.Series([{"a": 1}, [2]]), pd.Series([], dtype="float64")]


def frames() -> list[Any]:
    mixed = pd.DataFrame(
        {
            "a": [1, 2],
            "b": [1.5, None],
            "c": [3, 4],
            "text": ["x", None],
            "kind": pd.Categorical(["u", "v"]),
            "when": pd.to_datetime(["2024-01-01", "2024-06-01"]).tz_localize(BERLIN),
            "other": pd.to_datetime(["2024-01-01", None]),
            "count": pd.array([1, None], dtype="Int64"),
            "object": [[1], {}],
        },
        index=pd.Index(["r", "s"], name="row"),
    )
    mixed.attrs["source"] = {"file": "x"}
    twice = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=["a", "b", "a"])
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    months = pd.DataFrame({"a": pd.period_range("2024", periods=2, freq="M"), "b": [1, 2]})
    return [mixed, twice, levels, months, twice.T, pd.DataFrame(), pd.DataFrame(index=[1, 2]), mixed.iloc[:0]]


class TestScalar(CodecContract):
    codec = by_name("pandas.scalar")

    def samples(self) -> list[Any]:
        moment = pd.Timestamp("2024-03-31 02:30")
        return [
            moment,
            pd.Timestamp("2024-10-27 02:30+01:00").tz_convert(BERLIN),
            pd.Timestamp("2024-10-27 00:30", tz=UTC).tz_convert(BERLIN),
            pd.Timestamp("1500-01-01", tz=timezone(timedelta(hours=2))).as_unit("s"),
            pd.Timedelta("3h"),
            pd.Timedelta(-5).as_unit("ns"),
            pd.Period("2024-03", "M"),
            pd.Interval(1, 2.5, "both"),
            pd.Interval(moment, moment),
            pd.NaT,
            pd.NA,
        ]

    def same(self, sample: Any, loaded: Any) -> bool:
        return repr(sample) == repr(loaded) and getattr(sample, "unit", 0) == getattr(loaded, "unit", 0)


class TestOffset(CodecContract):
    codec = by_name("pandas.offset")

    def samples(self) -> list[Any]:
        return [pd.offsets.Hour(3), pd.offsets.MonthEnd(2), pd.offsets.Week(weekday=6), pd.offsets.Day(-1)]


class TestDtype(CodecContract):
    codec = by_name("pandas.dtype")

    def samples(self) -> list[Any]:
        dtypes = [array.dtype for array in arrays()[:-1]]
        own = [dtype for dtype in dtypes if not isinstance(dtype, np.dtype)]
        return [*own, pd.CategoricalDtype(), pd.IntervalDtype(), pd.IntervalDtype("int64", "left")]

    def same(self, sample: Any, loaded: Any) -> bool:
        return bool(sample == loaded) and repr(sample) == repr(loaded)


class TestArray(CodecContract):
    codec = by_name("pandas.array")

    def samples(self) -> list[Any]:
        return arrays()

    def same(self, sample: Any, loaded: Any) -> bool:
        return sample.dtype == loaded.dtype and bool(sample.equals(loaded))


class TestIndex(CodecContract):
    codec = by_name("pandas.index")

    def samples(self) -> list[Any]:
        return indexes()

    def same(self, sample: Any, loaded: Any) -> bool:
        pd.testing.assert_index_equal(sample, loaded, exact=True)
        return getattr(sample, "freq", None) == getattr(loaded, "freq", None)


class TestSeries(CodecContract):
    codec = by_name("pandas.series")

    def samples(self) -> list[Any]:
        return series()

    def same(self, sample: Any, loaded: Any) -> bool:
        pd.testing.assert_series_equal(sample, loaded, check_freq=True)
        return sample.attrs == loaded.attrs and sample.flags == loaded.flags


class TestFrame(CodecContract):
    codec = by_name("pandas.frame")

    def samples(self) -> list[Any]:
        return frames()

    def same(self, sample: Any, loaded: Any) -> bool:
        pd.testing.assert_frame_equal(sample, loaded, check_freq=True)
        return sample.attrs == loaded.attrs and sample.flags == loaded.flags


def test_every_codec_for_pandas_has_a_contract_test() -> None:
    contracts = [
        value for value in globals().values() if isinstance(value, type) and issubclass(value, CodecContract)
    ]
    tested = {contract.codec.name for contract in contracts if hasattr(contract, "codec")}
    assert tested == {codec.name for codec in default_registry() if codec.name.startswith("pandas.")}
