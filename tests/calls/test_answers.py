"""Answers compared: integers as integers, floats in double precision, and what has no difference exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager._calls import Deviation, compare_answers
from tests.tables import one_test


def deviation(expected: Any, found: Any, dtype: Any = None) -> Deviation:
    arrays = (np.asarray(expected, dtype), np.asarray(found, dtype))
    (one,) = compare_answers({"output": arrays[0]}, {"output": arrays[1]})
    return one


@one_test
@pytest.mark.parametrize(
    ("dtype", "expected", "found", "largest"),
    [
        ("i8", [2**60], [2**60 + 1], 1),
        ("i8", [2**63 - 1], [-(2**63)], 2**64 - 1),
        ("i8", [-(2**63)], [-(2**63) + 1], 1),
        ("u8", [2**64 - 1], [0], 2**64 - 1),
        ("u8", [2**64 - 1], [2**64 - 2], 1),
        ("u8", [3, 2**63], [5, 2**63], 2),
        ("i1", [-128], [127], 255),
        ("u1", [0], [255], 255),
        ("i4", [-(2**31)], [2**31 - 1], 2**32 - 1),
        ("?", [True, False], [True, True], 1),
    ],
)
def test_integers_differ_by_exact_integers(dtype: str, expected: Any, found: Any, largest: int) -> None:
    one = deviation(expected, found, dtype)
    assert (one.largest, type(one.largest), one.same_bits) == (largest, int, False)
    assert not one.within(0)
    assert not one.within(largest / 2)
    assert one.within(largest)


@one_test
@pytest.mark.parametrize(
    ("expected", "found", "largest"),
    [
        ([1.0], [1.5], 0.5),
        ([np.nan, 1.0], [np.nan, 1.0 + 2**-52], 2**-52),
        ([np.nan], [1.0], np.inf),
        ([np.inf], [-np.inf], np.inf),
        ([np.inf, 1.0], [np.inf, 2.0], 1.0),
        ([np.inf], [1e308], np.inf),
        ([1e308], [-1e308], np.inf),
        ([0.0], [-0.0], 0.0),
        ([0.0], [5e-324], 5e-324),
    ],
)
def test_floats_differ_by_the_largest_difference(expected: Any, found: Any, largest: float) -> None:
    assert (deviation(expected, found).largest, deviation(found, expected).largest) == (largest, largest)


def test_complex_numbers_differ_by_the_distance_and_part_by_part_where_one_is_no_number() -> None:
    assert deviation([1 + 1j], [4 + 5j]).largest == 5.0
    assert deviation([complex(np.nan, 1)], [complex(np.nan, 1)]).largest == 0
    assert deviation([complex(np.nan, 1)], [complex(np.nan, 3)]).largest == 2.0
    assert deviation([complex(np.inf, 1)], [complex(np.inf, 2)]).largest == 1.0
    assert deviation([complex(np.inf, 1)], [complex(-np.inf, 1)]).largest == np.inf


def test_longer_floats_are_not_rounded() -> None:
    step = np.finfo(np.longdouble).eps
    one = deviation(np.array([1], np.longdouble), np.array([1 + step]))
    assert one.largest == float(step)
    assert not one.within(0)


def test_shapes_and_dtypes_are_said_and_the_order_of_bytes_is_none() -> None:
    shape = compare_answers({"a": np.ones((2, 1), "i8")}, {"a": np.ones(2, "i8")})
    assert [str(one) for one in shape] == ["stored as int64 [2, 1], found int64 [2]"]
    dtype = compare_answers({"a": np.ones(2, "i8")}, {"a": np.ones(2, "u8")})
    assert [str(one) for one in dtype] == ["stored as int64 [2], found uint64 [2]"]
    assert [str(one) for one in compare_answers({"a": np.ones(1)}, {"a": np.ones(1, "i8")})] == [
        "stored as float64 [1], found int64 [1]"
    ]
    assert not shape[0].within(np.inf)
    assert [str(one) for one in compare_answers({"a": np.ones(2, "<i4")}, {"a": np.ones(2, ">i4")})] == [
        "the same bits"
    ]
    assert [str(one) for one in compare_answers({"a": np.ones(1)}, {"b": np.ones(1)})] == [
        "only in the archive, missing here",
        "only here, missing in the archive",
    ]


def test_texts_and_objects_are_equal_or_not() -> None:
    assert str(deviation(["a", "b"], ["a", "c"])) == "1 of 2 values differ"
    assert not deviation(["a"], ["b"]).within(1e9)
    assert deviation([2**70, None], [2**70, None], object).largest == 0
    assert str(deviation([2**70, None], [2**70 + 1, None], object)) == "1 of 2 values differ"


def test_what_differs_by_an_integer_is_printed_as_one() -> None:
    assert str(deviation([2**60], [2**60 + 1])) == "off by 1 at most"
    assert str(deviation([0.25], [1.0])) == "off by 0.75 at most"
