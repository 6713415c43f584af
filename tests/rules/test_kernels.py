"""The kernels that several rules share: masks on bits, sums over rows, softmax of rows."""

from __future__ import annotations

import numpy as np
import pytest

from kellet.rules import kernels, raw
from kellet.rules.kernels import as_rows, column_sums, row_dots, row_sums
from kellet.rules.softmax import log_softmax_rows, softmax_rows
from tests.tables import one_test

DTYPES = [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int64]


@one_test
@pytest.mark.parametrize("dtype", DTYPES)
def test_keep_is_exact_and_zero_elsewhere(dtype: type) -> None:
    a = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    kept = kernels.keep(a, np.array([[True, False, True], [False, True, False]]))
    np.testing.assert_array_equal(kept, np.array([[1, 0, 3], [0, 5, 0]], dtype))
    assert kept.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keep_lets_no_infinity_through(dtype: type) -> None:
    a = np.array([np.inf, np.nan, -np.inf, np.nan], dtype)
    kept = kernels.keep(a, np.array([False, False, True, True]))
    np.testing.assert_array_equal(kept, np.array([0, 0, -np.inf, np.nan], dtype))


def test_keep_broadcasts_the_mask_and_takes_any_strides() -> None:
    a = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(kernels.keep(a, mask), a * mask)
    np.testing.assert_array_equal(kernels.keep(np.float64(3.0), np.bool_(True)), 3.0)


def test_keep_leaves_its_arguments_alone() -> None:
    a, mask = np.ones(3), np.array([True, False, True])
    kernels.keep(a, mask)
    assert a.tolist() == [1.0, 1.0, 1.0]
    assert mask.tolist() == [True, False, True]


@one_test
@pytest.mark.parametrize("dtype", DTYPES)
def test_choose_is_where(dtype: type) -> None:
    a, b = np.arange(6).reshape(2, 3).astype(dtype), np.array([7, 8, 9], dtype)
    mask = np.array([[True], [False]])
    chosen = kernels.choose(mask, a, b)
    np.testing.assert_array_equal(chosen, np.where(mask, a, b))
    assert chosen.dtype == dtype


def test_choose_takes_numbers_without_widening() -> None:
    a, mask = np.ones(2, np.float32), np.array([True, False])
    assert kernels.choose(mask, a, -np.inf).tolist() == [1.0, -np.inf]
    assert kernels.choose(mask, 2, a).tolist() == [2.0, 1.0]
    assert kernels.choose(mask, 2.5, a).dtype == np.float32


def test_sums_over_rows() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 3)) * 2
    assert row_sums(a).tolist() == [[3.0], [12.0]]
    assert row_dots(a, b).tolist() == [[6.0], [24.0]]
    assert column_sums(a).tolist() == [3.0, 5.0, 7.0]
    assert as_rows(np.zeros((2, 3, 4, 5)), 2).shape == (6, 20)
    assert as_rows(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_softmax_of_rows_far_apart(dtype: type) -> None:
    """A single maximum for all rows would make the second row vanish."""
    rows = np.array([[0.0, 100.0], [-900.0, -900.0], [-np.inf, 3.0]], dtype)
    expected = np.array([[np.exp(-100.0), 1.0], [0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(softmax_rows(rows), expected, rtol=1e-6, atol=1e-7)


def test_softmax_of_large_values_does_not_overflow() -> None:
    np.testing.assert_allclose(softmax_rows(np.full((2, 4), 3e38, np.float32)), 0.25)
    np.testing.assert_allclose(log_softmax_rows(np.full((1, 2), 1e300)), [[-np.log(2)] * 2])


def test_softmax_of_no_rows_and_of_empty_rows() -> None:
    assert softmax_rows(np.zeros((0, 3))).shape == (0, 3)
    assert softmax_rows(np.zeros((3, 0))).shape == (3, 0)
    assert log_softmax_rows(np.zeros((0, 3))).shape == (0, 3)


def test_softmax_can_write_over_its_rows() -> None:
    rows = np.zeros((1, 4))
    assert softmax_rows(rows, out=rows) is rows
    assert rows.tolist() == [[0.25] * 4]


def test_raw_rules_are_the_kernels_on_arrays() -> None:
    assert raw.raw
    np.testing.assert_array_equal(raw.add(np.ones(2), 1), [2.0, 2.0])
    # A rule that keeps something for its derivative is called without the place to keep it in.
    np.testing.assert_array_equal(raw.mse_loss(np.ones(2), np.zeros(2)), 1.0)
    np.testing.assert_allclose(raw.gelu(np.zeros(2)), 0.0)
