"""What `assert_close` says, and where."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet.testing import assert_close


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (kellet.ones(2), kellet.ones(3), r"^shape \(2,\), expected \(3,\)$"),
        (kellet.ones(1), kellet.ones(1).double(), r"^dtype float32, expected float64$"),
        ([1, 2], [1], r"^2 values, expected 1$"),
        ({"a": 1}, {"b": 1}, r"^keys are \['a'\], expected \['b'\]$"),
        ({"a": [1, 2]}, {"a": [1, 3]}, r"^at \['a'\]\[1\]: 1 of 1 values differ by more than 0 \+ 0 \* abs"),
        (
            kellet.tensor([1.0, 2.0]),
            kellet.tensor([1.0, 3.0]),
            r"^1 of 2 values differ by .* 1e-05 \+ 1\.3e-06 .*: the first is 2\.0, expected 3\.0, at \(1,\)$",
        ),
    ],
)
def test_the_message_says_where_and_by_how_much(one: Any, other: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_close(one, other)


def test_dtypes_may_differ_where_that_is_asked_for() -> None:
    assert_close(kellet.ones(1), kellet.ones(1).double(), check_dtype=False)
    assert_close(kellet.ones(1), kellet.ones(1, dtype=kellet.int64), check_dtype=False)


def test_a_message_of_ones_own() -> None:
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1.0, 2.0, msg="mine")


@pytest.mark.parametrize("options", [{"rtol": 1.0}, {"atol": 1.0}])
def test_one_limit_alone_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="give both of rtol and atol, or neither"):
        assert_close(1.0, 1.0, **options)
