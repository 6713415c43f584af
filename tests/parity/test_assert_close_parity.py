"""`assert_close` accepts and refuses what torch's does."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kellet
from kellet.testing import assert_close

NAN = float("nan")


def close(library: Any, one: Any, other: Any, **options: Any) -> bool:
    try:
        library.testing.assert_close(one, other, **options)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int64", "bool"])
@pytest.mark.parametrize("step", [0.0, 1e-8, 1e-6, 8e-6, 2e-5, 1e-4, 1e-3, 1e-2, 1.0])
def test_the_limits_are_those_of_the_dtype(dtype: str, step: float) -> None:
    one = np.array([1.0, 3.0, 0.0])
    values = [one.astype(dtype), (one + step).astype(dtype)]
    assert close(kellet, *map(kellet.from_numpy, values)) == close(torch, *map(torch.from_numpy, values))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-2, 2), min_size=1, max_size=3),
    st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, NAN]),
    st.sampled_from([{}, {"rtol": 0.0, "atol": 1e-6}, {"rtol": 1e-3, "atol": 0.0}, {"equal_nan": True}]),
)
def test_it_goes_as_in_torch(values: list[float], step: float, options: dict[str, Any]) -> None:
    one = np.array(values)
    other = one + step
    made = [[m.from_numpy(a) for a in (one, other)] for m in (torch, kellet)]
    assert close(kellet, *made[1], **options) == close(torch, *made[0], **options)
    same = [[{"a": pair[1], "b": [1.0]}, {"a": pair[1], "b": [1.0]}] for pair in made]
    assert close(kellet, *same[1], **options) == close(torch, *same[0], **options)


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
