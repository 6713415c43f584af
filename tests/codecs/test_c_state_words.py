"""The words that checks of state are written in: what each takes, and how it refuses all else."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from packager._codecs import state_checks
from packager._codecs.c_state import (
    StateCheck,
    attributes_of,
    is_int,
    require,
    require_array,
    require_inside,
    require_int,
    require_tree,
)
from tests.tables import one_test


class Number(int):
    pass


OwnArray = type("OwnArray", (np.ndarray,), {})


@pytest.mark.parametrize("value", [3, 5, np.int64(3), np.uint8(5)])
def test_an_int_in_range_is_returned_as_one(value: Any) -> None:
    found = require_int(value, "n", 3, 6)
    assert (type(found), found) == (int, value)


@one_test
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2, "2"),
        (6, "6"),
        (np.int8(6), "6"),
        (10**50, str(10**50)[:40]),
        (True, "a bool"),
        (np.bool_(True), f"a {np.bool_.__name__}"),
        (4.0, "a float"),
        (Number(4), "a Number"),
        (None, "a NoneType"),
        ("4", "a str"),
    ],
)
def test_what_is_no_int_in_range_is_refused(value: Any, shown: str) -> None:
    with pytest.raises(ValueError, match=f"^n is {shown}, not an int from 3 to 5$"):
        require_int(value, "n", 3, 6)


@pytest.mark.parametrize("value", [True, np.bool_(True), Number(1), 1.0])
def test_no_other_number_is_an_int_in_range(value: Any) -> None:
    with pytest.raises(ValueError, match=f"^n is a {type(value).__name__}, not an int from 0 to 5$"):
        require_int(value, "n", 0, 6)


def test_an_int_is_one_of_python_or_numpy() -> None:
    assert [is_int(value) for value in (1, np.int8(1), True, Number(1), 1.0, np.float32(1))] == [
        *[True] * 2,
        *[False] * 4,
    ]


ARRAYS: list[tuple[Any, dict[str, Any], str | None]] = [
    (np.zeros(2), {"dtypes": ("float64",), "shape": (2,)}, None),
    (np.zeros((2, 3), "i4"), {"dtypes": ("int64", "int32"), "shape": (None, 3)}, None),
    (np.zeros(2, "u8"), {"kinds": "iu", "shape": (None,)}, None),
    (np.zeros(()), {"kinds": "f"}, None),
    ([0.0], {"shape": (1,)}, "it is a list, not an array"),
    (np.zeros(1).view(OwnArray), {"shape": (1,)}, "it is a OwnArray, not an array"),
    (np.zeros(2), {"dtypes": ("float32",), "shape": (2,)}, "it has dtype float64, expected float32"),
    (
        np.zeros(2),
        {"dtypes": ("int32", "int64"), "shape": (2,)},
        "it has dtype float64, expected int32 or int64",
    ),
    (np.zeros(2, ">f8"), {"dtypes": ("float64",), "shape": (2,)}, "it has dtype >f8, expected float64"),
    (np.zeros(2, "f2"), {"dtypes": ("float64",), "shape": (2,)}, "it has dtype float16, expected float64"),
    (np.zeros(2), {"kinds": "iu", "shape": (2,)}, "it has dtype float64, expected a kind of 'iu'"),
    (np.zeros(2), {"shape": (3,)}, "it has shape [2], expected [3]"),
    (np.zeros(2), {"shape": (2, None)}, "it has shape [2], expected [2, any]"),
    (np.zeros((2, 2)), {"shape": (2,)}, "it has shape [2, 2], expected [2]"),
    (np.zeros((2, 2)), {"shape": (None, 3)}, "it has shape [2, 2], expected [any, 3]"),
]


@one_test
@pytest.mark.parametrize(("value", "wanted", "message"), ARRAYS)
def test_an_array_is_of_its_dtype_and_shape(value: Any, wanted: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert require_array(value, "it", **wanted) is value
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        require_array(value, "it", **wanted)


def test_values_lie_inside_their_bounds() -> None:
    for values in ([], [0, 4], [3]):
        require_inside(np.array(values, int), "it", 5)
    require_inside(np.array([-1, 4]), "it", 5, -1)
    for values, low, found in (([-1, 4], 0, "-1 to 4"), ([0, 5], 0, "0 to 5"), ([-2], -1, "-2 to -2")):
        with pytest.raises(ValueError, match=rf"^it has values from {found}, expected {low} to 4$"):
            require_inside(np.array(values), "it", 5, low)


def nodes(*numbers: int) -> Any:
    return np.array(numbers, int)


# Which nodes have children, and these; how many nodes there are; and what is wrong.
TREES: list[tuple[Any, Any, Any, int, str | None]] = [
    (nodes(), nodes(), nodes(), 1, None),
    (nodes(0), nodes(1), nodes(2), 3, None),
    (nodes(0, 1), nodes(1, 3), nodes(2, 4), 5, None),
    (nodes(0, 2), nodes(2, 4), nodes(1, 3), 5, None),
    (nodes(), nodes(), nodes(), 2, "2 nodes have 0 children, expected each but the root once"),
    (nodes(0), nodes(1), nodes(1), 3, "3 nodes have 2 children, expected each but the root once"),
    (nodes(0), nodes(1), nodes(2), 4, "4 nodes have 2 children, expected each but the root once"),
    (nodes(0), nodes(0), nodes(1), 3, "children has values from 0 to 1, expected 1 to 2"),
    (nodes(0), nodes(1), nodes(3), 3, "children has values from 1 to 3, expected 1 to 2"),
    (nodes(0), nodes(1), nodes(2), 2, "children has values from 1 to 2, expected 1 to 1"),
    (nodes(0), nodes(2), nodes(1), 2, "children has values from 1 to 2, expected 1 to 1"),
    (nodes(0, 3), nodes(1, 3), nodes(2, 4), 5, "children stand before their parents"),
    (nodes(0, 3), nodes(1, 4), nodes(2, 3), 5, "children stand before their parents"),
    (nodes(0, 2), nodes(1, 2), nodes(2, 4), 5, "children stand before their parents"),
    (nodes(0, 2), nodes(1, 4), nodes(2, 2), 5, "children stand before their parents"),
    (nodes(0, 2), nodes(1, 1), nodes(2, 4), 5, "children stand before their parents"),
]


@one_test
@pytest.mark.parametrize(("parents", "left", "right", "count", "message"), TREES)
def test_every_node_but_the_first_is_a_child_once(
    parents: Any, left: Any, right: Any, count: int, message: str | None
) -> None:
    if message is None:
        require_tree(parents, left, right, count)
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        require_tree(parents, left, right, count)


def test_attributes_are_those_of_the_object_itself() -> None:
    held = SimpleNamespace(a=1)
    assert attributes_of(held) == {"a": 1}
    assert attributes_of(1) == {}
    odd = type("Odd", (), {"__dict__": property(lambda _: [1])})
    assert attributes_of(odd()) == {}


def test_a_condition_that_holds_is_silent() -> None:
    require(True, "it")
    with pytest.raises(ValueError, match=r"^it$"):
        require(False, "it")


def test_a_check_that_says_nothing_refuses_nothing() -> None:
    check = StateCheck()
    check.check_arguments([1])
    check.check_state(None, 1)
    check.check_made(None)


def test_classes_that_inherit_are_checked_as_those_that_they_inherit_from() -> None:
    from scipy.spatial import KDTree
    from sklearn.svm import SVC

    inherits = type("Own", (SVC,), {})
    assert "SupportVectorCheck" in {type(check).__name__ for check in state_checks(inherits)}
    assert state_checks(inherits) == state_checks(SVC)
    assert [type(check).__name__ for check in state_checks(KDTree)] == ["SpatialTreeCheck"]
    assert state_checks(dict) == ()
