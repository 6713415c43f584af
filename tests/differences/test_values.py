"""How far values are apart: norms, largest differences and floats between, of every dtype."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from packager._differences.states import same_bytes, tensor_change


def change(before: Any, after: Any) -> Any:
    return tensor_change("", "k", np.asarray(before), np.asarray(after))


def test_what_has_the_same_bits_does_not_differ() -> None:
    odd = np.array([math.nan, -0.0, math.inf])
    assert change(odd, odd.copy()) is None
    assert same_bytes(np.ones((3, 4))[:, ::2], np.ones((3, 2)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ulps_are_counted_across_zero(dtype: str) -> None:
    tiny = np.nextafter(np.array(0, dtype), np.array(1, dtype))
    above = np.nextafter(np.array(1, dtype), np.array(2, dtype))
    found = change(np.array([1, -tiny, 0], dtype), np.array([above, tiny, 0], dtype))
    assert found.ulps == 2
    assert ", 2 ulps, 2 of 3 elements" in str(found)
    assert found.differing == 2
    whole = change(np.array([-np.finfo(dtype).max], dtype), np.array([np.finfo(dtype).max], dtype))
    assert whole.ulps == 2 * int(np.array(np.finfo(dtype).max, dtype).view(f"u{np.dtype(dtype).itemsize}"))
    assert "ulps" not in str(whole)  # so many mean another value, and no rounding


def test_norm_and_largest_difference_are_exact() -> None:
    found = change([3.0, 0.0, 0.0], [0.0, 4.0, 0.0])
    assert (found.norm, found.largest, found.differing, found.size) == (5.0, 4.0, 2, 3)
    assert found.relative == pytest.approx(5 / 3)
    assert change([0.0], [1.0]).relative == math.inf
    assert "all zeros before" in str(change([0.0], [1.0]))


def test_integers_of_64_bits_are_compared_as_integers() -> None:
    found = change(np.array([-(2**63)], "i8"), np.array([2**63 - 1], "i8"))
    assert found.largest == 2**64 - 1
    assert found.ulps is None
    assert change([True, False], [True, True]).largest == 1


def test_a_number_against_nan_is_endlessly_far_and_has_no_ulps() -> None:
    found = change([1.0, math.nan], [math.nan, math.nan])
    assert (found.largest, found.ulps, found.differing) == (math.inf, None, 1)


def test_complex_numbers_are_apart_by_their_distance() -> None:
    found = change(np.array([0 + 0j]), np.array([3 + 4j]))
    assert (found.norm, found.largest) == (5.0, 5.0)


def test_zeros_of_another_sign_are_other_bytes_of_the_same_value() -> None:
    found = change(np.array([0.0]), np.array([-0.0]))
    assert found.differing == 0
    assert found.note == "the same values in another dtype, or other signs of zeros or bits of NaNs"


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_of_ml_dtypes_have_numbers(name: str) -> None:
    dtype = getattr(ml_dtypes, name)
    found = change(np.array([1.0, 2.0], dtype), np.array([1.0, 2.5], dtype))
    assert (found.before, found.largest, found.differing) == (f"{name} [2]", 0.5, 1)


def test_another_shape_is_told_and_nothing_is_calculated() -> None:
    found = change(np.ones((2, 3)), np.ones(6))
    assert (found.note, found.size) == ("another shape", 0)
    assert str(found) == "k  float64 [2, 3] -> float64 [6]; another shape"


def test_large_arrays_are_gathered_over_pieces() -> None:
    one = np.zeros((700, 1000))
    other = one.copy()
    other[0, 0], other[699, 999] = 3.0, -4.0
    found = change(one, other)
    assert (found.norm, found.largest, found.differing, found.size) == (5.0, 4.0, 2, 700_000)
