"""erf and erfc against values computed in forty digits."""

from __future__ import annotations

import numpy as np
import pytest

from kellet.rules.error_function import BLOCK, erf, erfc
from tests.tables import one_test

ERF = [
    (1e-300, 1.1283791670955126e-300),
    (1e-20, 1.1283791670955125e-20),
    (0.001, 0.0011283787909692365),
    (0.1, 0.1124629160182849),
    (0.25, 0.27632639016823696),
    (0.5, 0.5204998778130465),
    (0.84375, 0.7672256612323416),
    (0.999999, 0.8427003778418023),
    (1.0, 0.8427007929497149),
    (1.25, 0.9229001282564583),
    (2.0, 0.9953222650189527),
    (3.0, 0.9999779095030014),
    (4.5, 0.9999999998033839),
    (5.9, 0.9999999999999999),
    (6.5, 1.0),
]

ERFC = [
    (-6.0, 2.0),
    (-2.0, 1.9953222650189528),
    (-0.75, 1.7111556336535152),
    (-0.3, 1.3286267594591274),
    (0.0, 1.0),
    (0.1, 0.887537083981715),
    (0.4999, 0.4795880048386134),
    (0.5, 0.4795001221869535),
    (0.6, 0.3961439091520741),
    (1.0, 0.15729920705028513),
    (2.5, 0.0004069520174449589),
    (5.0, 1.537459794428035e-12),
    (10.0, 2.088487583762545e-45),
    (20.0, 5.395865611607901e-176),
    (26.0, 5.663192408856143e-296),
]


@one_test
@pytest.mark.parametrize(("x", "value"), ERF)
def test_erf_is_good_to_two_units_in_the_last_place(x: float, value: float) -> None:
    assert abs(erf(np.array(x)) - value) <= 2 * np.spacing(value)
    assert abs(erf(np.array(-x)) + value) <= 2 * np.spacing(value)


@one_test
@pytest.mark.parametrize(("x", "value"), ERFC)
def test_erfc_keeps_its_digits_far_out(x: float, value: float) -> None:
    assert abs(erfc(np.array(x)) - value) <= 4 * np.spacing(value)


@one_test
@pytest.mark.parametrize(("x", "value"), ERF)
def test_erf_in_single_precision(x: float, value: float) -> None:
    assert erf(np.array(x, np.float32)) == pytest.approx(value, rel=4e-7, abs=1e-45)


def test_limits_and_what_is_no_number() -> None:
    edges = np.array([np.inf, -np.inf, np.nan, 0.0])
    np.testing.assert_array_equal(erf(edges), [1.0, -1.0, np.nan, 0.0])
    np.testing.assert_array_equal(erf(edges.astype(np.float32)), np.array([1, -1, np.nan, 0], np.float32))
    np.testing.assert_array_equal(erfc(edges), [0.0, 2.0, np.nan, 1.0])


def test_the_sign_of_zero_is_kept() -> None:
    assert np.signbit(erf(np.array([-0.0])))[0]


@one_test
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (3 * BLOCK + 5,)])
def test_shape_and_dtype_are_kept(dtype: type, shape: tuple[int, ...]) -> None:
    x = np.linspace(-3, 3, int(np.prod(shape))).reshape(shape).astype(dtype)
    for function in (erf, erfc):
        assert function(x).dtype == dtype
        assert function(x).shape == shape


def test_blocks_change_no_value() -> None:
    x = np.linspace(-8, 8, 2 * BLOCK + 7)
    one_by_one = np.array([erf(part)[0] for part in np.split(x[::4001], len(x[::4001]))])
    np.testing.assert_array_equal(erf(x)[::4001], one_by_one)


def test_arrays_that_are_not_contiguous() -> None:
    x = np.linspace(-3, 3, 24).reshape(4, 6)
    np.testing.assert_array_equal(erf(x.T[::2]), erf(x).T[::2])
