"""Every codec for polars keeps the contract."""

from __future__ import annotations

import pytest

pytest.importorskip("polars")

from decimal import Decimal
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal, assert_series_equal

from packager._codecs import default_registry
from packager.testing import CodecContract
from tests.contracts.built_in import by_name


def used(made: Any) -> None:
    """Read all of an object, as its owner would."""
    str(made)
    if isinstance(made, pl.Series):
        made.to_list(), made.is_null().sum(), made.slice(1).len(), made.to_frame().unique().height
        made.append(made.clear()), made.rechunk()
    elif isinstance(made, pl.DataFrame):
        made.to_dicts(), made.describe(), made.select(pl.all().is_null().sum()), made.estimated_size()


def series() -> list[Any]:
    moments = pl.Series("when", [5, None]).cast(pl.Datetime("us", "Europe/Berlin"))
    return [
        pl.Series("a", [1, None, 3]),
        pl.Series("a", [1, 2], dtype=pl.UInt8),
        pl.Series("", [1.5, None, float("nan")]),
        pl.Series("b", [True, None, False]),
        pl.Series("s", ["x", None, "", "naïve 日本"]),
        pl.Series("y", [b"\xff", None]),
        pl.Series("n", [None, None]),
        pl.Series("c", ["a", "b", None, "a"], dtype=pl.Categorical),
        pl.Series("c", [None], dtype=pl.Categorical),
        pl.Series("e", ["b", None], dtype=pl.Enum(["a", "b"])),
        pl.Series("d", [Decimal("1.25"), None, Decimal("-3")], dtype=pl.Decimal(10, 2)),
        moments,
        moments.dt.date(),
        moments.dt.time(),
        pl.Series("du", [5, None]).cast(pl.Duration("ms")),
        pl.Series("l", [[1], None, [], [2, None]]),
        pl.Series("l", [["a"], ["b", "c"]]),
        pl.Series("r", [[1, 2], None, [3, None]], dtype=pl.Array(pl.Int8, 2)),
        pl.Series("st", [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]),
        pl.Series("deep", [[[{"a": [1]}]], [], None]),
        pl.Series("empty", [], dtype=pl.List(pl.String)),
    ]


class TestType(CodecContract):
    codec = by_name("polars.dtype")

    def samples(self) -> list[Any]:
        return [one.dtype for one in series()]


class TestSeries(CodecContract):
    codec = by_name("polars.series")

    def samples(self) -> list[Any]:
        return series()

    def same(self, sample: Any, loaded: Any) -> bool:
        assert_series_equal(sample, loaded)
        return True


class TestFrame(CodecContract):
    codec = by_name("polars.frame")

    def samples(self) -> list[Any]:
        long = [one.alias(f"{at}").head(2) for at, one in enumerate(series()) if len(one) > 1]
        return [pl.DataFrame(long), pl.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame()]

    def same(self, sample: Any, loaded: Any) -> bool:
        assert_frame_equal(sample, loaded)
        return True


def test_every_codec_for_polars_has_a_contract_test() -> None:
    contracts = [
        value for value in globals().values() if isinstance(value, type) and issubclass(value, CodecContract)
    ]
    tested = {contract.codec.name for contract in contracts if hasattr(contract, "codec")}
    assert tested == {codec.name for codec in default_registry() if codec.name.startswith("polars.")}
