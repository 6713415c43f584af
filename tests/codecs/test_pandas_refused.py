"""What data must not say of objects of pandas: each is refused before pandas acts on it."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from collections.abc import Callable
from datetime import UTC
from typing import Any

import numpy as np
import pandas as pd

from packager._codecs import default_registry
from packager._codecs.base import Decoding
from packager._libraries.pandas.arrays import require_values
from packager._objects import encode
from packager.testing import round_trip
from tests.tables import one_test

REGISTRY = default_registry()
CONTEXT: Decoding = None  # type: ignore[assignment]  # these codecs ask for nothing


def decoded(codec: str, literal: Any, *children: Any) -> Any:
    found = REGISTRY.find(codec)
    assert found is not None
    return found.decode(literal, children, 1, CONTEXT)


class Crafty:
    """A label that would run code when it is hashed."""

    def __hash__(self) -> int:
        raise AssertionError("a label was hashed")


I8, M8 = np.int8, np.dtype("M8[ns]")
TWO = pd.Index(["a", "b"], dtype=object)
COLORS = pd.CategoricalDtype(["a", "b"])
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a code beyond the categories": (
        lambda: decoded("pandas.array", ["category"], np.array([0, 2], I8), COLORS),
        "expected codes from -1 to 1, found 0 to 2",
    ),
    "a code below -1": (
        lambda: decoded("pandas.array", ["category"], np.array([-2], I8), COLORS),
        "codes from -1 to 1",
    ),
    "codes of objects": (
        lambda: decoded("pandas.array", ["category"], np.array([0], object), COLORS),
        "codes: an array of a kind of 'i'",
    ),
    "categories that are there twice": (
        lambda: decoded("pandas.dtype", ["category", False], pd.Index([1, 1])),
        "categories that differ, found 2 of which 1 do",
    ),
    "categories that are hashed by code": (
        lambda: decoded("pandas.dtype", ["category", False], pd.Index(_crafty(), dtype=object)),
        "categories of numbers, texts, moments and tuples of them, at most 4096 in all, found Crafty",
    ),
    "a mask of another length": (
        lambda: decoded("pandas.array", ["masked", "Int8"], np.zeros(2, I8), np.zeros(3, bool)),
        r"a mask of shape \[2\], found \[3\]",
    ),
    "values of another width": (
        lambda: decoded("pandas.array", ["masked", "Int8"], np.zeros(2), np.zeros(2, bool)),
        "values: an array of a kind of 'iu'",
    ),
    "texts that are none": (
        lambda: decoded("pandas.array", ["string", "NA"], ["a", Crafty()]),
        "texts, or None for a missing one",
    ),
    "a sparse place outside": (
        lambda: decoded(
            "pandas.array", ["sparse", "integer", 3], np.ones(1), np.array([3], "i4"), pd.SparseDtype("f8")
        ),
        "places that grow from 0 to 2",
    ),
    "moments of no unit": (
        lambda: decoded("pandas.array", ["datetime"], np.zeros(1, "M8[D]"), None),
        "a unit of s, ms, us, ns, found D",
    ),
    "a zone with code of its own": (
        lambda: decoded("pandas.array", ["datetime"], np.zeros(1, M8), Crafty()),
        "a time zone, found Crafty",
    ),
    "an offset that does not hold": (
        lambda: decoded(
            "pandas.index", ["DatetimeIndex", "D"], None, pd.to_datetime(["2024-01-01", "2024-01-03"]).array
        ),
        "moments that follow each other by D",
    ),
    "a name that is hashed by code": (
        lambda: decoded("pandas.index", ["Index", None], Crafty(), np.zeros(1)),
        "the name of an index of numbers",
    ),
    "a code of a level": (
        lambda: decoded("pandas.index", ["MultiIndex", None, 1], None, TWO, np.array([2], I8)),
        "codes from -1 to 1, found 2 to 2",
    ),
    "codes of other lengths": (
        lambda: decoded(
            "pandas.index", ["MultiIndex", None, 2], None, None, TWO, TWO, np.zeros(1, I8), np.zeros(2, I8)
        ),
        "expected 1 codes, found 2",
    ),
    "an order that does not hold": (
        lambda: decoded("pandas.index", ["MultiIndex", 1, 1], None, TWO, np.array([1, 0], I8)),
        "rows that are sorted by 1 levels",
    ),
    "levels of an index of another kind": (
        lambda: decoded("pandas.index", ["CategoricalIndex", None], None, np.zeros(1)),
        "the values of a CategoricalIndex, found Index",
    ),
    "a series of another length": (
        lambda: decoded("pandas.series", True, None, TWO, np.zeros(3), None),
        "2 values, found 3",
    ),
    "a block of another height": (
        lambda: decoded("pandas.frame", True, TWO, TWO, None, np.zeros((2, 3)), np.array([0, 1])),
        r"a block of shape \[2, 2\], found \[2, 3\]",
    ),
    "a column in two blocks": (
        lambda: decoded("pandas.frame", True, TWO, TWO, None, np.zeros((2, 2)), np.array([0, 0])),
        "each of 2 columns in one block",
    ),
    "a column that is not there": (
        lambda: decoded("pandas.frame", True, TWO, TWO, None, np.zeros((2, 2)), np.array([0, 2])),
        "each of 2 columns in one block",
    ),
    "a column without a block": (
        lambda: decoded("pandas.frame", True, TWO, TWO, None, np.zeros((1, 2)), np.array([0])),
        "2 columns, found 1",
    ),
    "a block of a row": (
        lambda: decoded("pandas.frame", True, TWO[:1], TWO, None, np.zeros(2), np.array([0])),
        "values of rank 2, found 1",
    ),
    "a local time after the last year": (
        lambda: decoded("pandas.scalar", ["Timestamp", 2**60, "us"], UTC),
        "a moment of the years 1 to 9999, with a local time, found [0-9]{5}-",
    ),
    "a local time on the last day": (
        lambda: decoded("pandas.scalar", ["Timestamp", 253402300799, "s"], UTC),
        "local time, found 9999-12-31T23:59:59",
    ),
    "labels that are there twice": (
        lambda: decoded("pandas.series", False, None, pd.Index([1, 1]), np.zeros(2), None),
        "Index has duplicates",
    ),
}


def _crafty() -> Any:
    made = np.empty(1, object)
    made[0] = Crafty()
    return made


@one_test
@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_parts_that_do_not_fit_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_elements_of_a_frame_are_held_and_asked_for_nothing() -> None:
    frame = decoded("pandas.frame", True, TWO[:1], TWO[:1], None, _crafty().reshape(1, 1), np.array([0]))
    assert type(frame.iloc[0, 0]) is Crafty


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: pd.Series([1], name=("a", frozenset())), "the name of a series is of type tuple"),
        (
            lambda: pd.date_range(
                "2024", periods=2, freq=pd.offsets.CustomBusinessDay(holidays=["2024-01-01"])
            ),
            "the offset <CustomBusinessDay> has no frequency text",
        ),
        (lambda: pd.Timestamp("9999-12-31", tz="UTC").as_unit("s"), "9999-12-31T00:00:00 has a time zone"),
    ],
)
def test_what_no_reader_would_take_is_refused_with_its_reason(made: Callable[[], Any], reason: str) -> None:
    assert [refusal.reason[: len(reason)] for refusal in encode(made()).refusals] == [reason]


def test_an_attribute_that_pandas_does_not_know_is_warned_of() -> None:
    frame = pd.DataFrame({"a": [1]})
    with pytest.warns(UserWarning, match="doesn't allow columns to be created via a new attribute"):
        frame.names = ["x"]
    assert [
        "names: attributes that you set on a pandas object" in str(one) for one in encode(frame).warnings
    ] == [True]


def test_columns_of_one_dtype_stay_one_array_in_mapped_memory() -> None:
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc"))
    trip = round_trip(frame)
    sizes = [storage.buffer.nbytes for storage in trip.encoded.storages if storage.dtype == "F64"]
    assert sizes == [12 * 8]
    assert len(trip.object._mgr.blocks) == 1


def test_a_frame_in_an_object_beside_code_needs_no_trust() -> None:
    held = {"table": pd.DataFrame({"a": ["x", None]})}
    loaded = round_trip(held, interned=["net"], externs=["pandas"]).object
    pd.testing.assert_frame_equal(loaded["table"], held["table"])


def test_values_of_pandas_have_the_rank_that_is_wanted_or_one() -> None:
    moments = [pd.arrays.DatetimeArray._simple_new(np.zeros(shape, M8), dtype=M8) for shape in (2, (1, 2))]
    require_values(moments[0])
    require_values(moments[0], rank=2)
    require_values(moments[1], rank=2)
    with pytest.raises(ValueError, match="expected values of rank 1, found 2"):
        require_values(moments[1])


@pytest.mark.parametrize("name", ["Int8", "Float32", "boolean"])
def test_an_array_with_a_mask_comes_back(name: str) -> None:
    values = pd.array([1, None, 0], dtype=name)
    made = round_trip(values).object
    assert made.dtype == values.dtype
    assert made.equals(values)
