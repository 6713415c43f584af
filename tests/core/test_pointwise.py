"""Functions of each element and comparisons, against NumPy; kinks, bounds, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

NUMPY_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "div": "divide",
    "eq": "equal",
    "fmod": "fmod",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "pow": "power",
    "sub": "subtract",
}

ONE = (
    "abs acos asin asinh atan atanh ceil conj cos cosh deg2rad exp exp2 expm1 floor isfinite isinf isnan "
    "log log10 log1p log2 logical_not neg positive rad2deg reciprocal sign signbit sin sinh sqrt square tan "
    "tanh trunc"
).split()
TWO = (
    "add atan2 div eq floor_divide fmod ge gt hypot le logaddexp logical_and logical_or logical_xor lt "
    "maximum minimum mul ne pow remainder sub"
).split()


@one_test
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ONE)
def test_one_argument(name: str, dtype: type) -> None:
    a = np.linspace(-0.9, 0.9, 7).astype(dtype).reshape(7, 1)
    if name in ("log", "log2", "log10", "sqrt"):
        a = np.abs(a) + dtype(0.1)
    found = getattr(kellet, name)(kellet.from_numpy(a)).numpy()
    expected = getattr(np, NUMPY_NAMES.get(name, name))(a)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype is np.float32 else 1e-14)


@one_test
@pytest.mark.parametrize("name", TWO)
def test_two_arguments_broadcast(name: str) -> None:
    a, b = np.linspace(0.3, 2.0, 3).reshape(3, 1), np.array([0.5, 1.25, -0.75, 2.0])
    found = getattr(kellet, name)(kellet.from_numpy(a), kellet.from_numpy(b)).numpy()
    np.testing.assert_allclose(found, getattr(np, NUMPY_NAMES.get(name, name))(a, b), rtol=1e-14)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(name: str) -> None:
    a, b = np.array([0b1100, -1]), np.array([0b1010, 7])
    found = getattr(kellet, name)(kellet.from_numpy(a), kellet.from_numpy(b))
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(a, b))
    assert kellet.bitwise_not(kellet.tensor([True])).tolist() == [False]
    assert (kellet.tensor([1, 2]) << 2).tolist() == [4, 8]
    assert (kellet.tensor([-8]) >> 1).tolist() == [-4]


@pytest.mark.parametrize(
    ("mode", "expected"), [(None, [3.5, -3.5]), ("floor", [3.0, -4.0]), ("trunc", [3.0, -3.0])]
)
def test_division_rounds_as_asked(mode: str | None, expected: list[float]) -> None:
    assert kellet.div(kellet.tensor([7, -7]), 2, rounding_mode=mode).tolist() == expected
    assert kellet.div(kellet.tensor([7.0, -7.0]), 2, rounding_mode=mode).tolist() == expected


def test_truncated_division_of_large_integers_is_exact() -> None:
    a = kellet.tensor([2**62 + 1, -(2**62) - 1])
    assert kellet.div(a, 2, rounding_mode="trunc").tolist() == [2**61, -(2**61)]


def test_equal_values_share_the_gradient_of_maximum() -> None:
    a, b = kellet.tensor([1.0, 2.0], requires_grad=True), kellet.tensor([1.0, 5.0], requires_grad=True)
    kellet.maximum(a, b).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([0.5, 0.0], [0.5, 1.0])


def test_clamp_passes_the_gradient_at_its_bounds() -> None:
    x = kellet.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    x.clamp(-1, 1).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_bounds_of_clamp_get_gradients() -> None:
    low = kellet.tensor(0.0, requires_grad=True)
    kellet.tensor([-2.0, -1.0, 3.0]).clamp(min=low).sum().backward()
    assert low.grad.item() == 2.0


def test_powers_at_zero() -> None:
    x = kellet.zeros(3, dtype=kellet.float64, requires_grad=True)
    exponent = kellet.tensor([0.0, 1.0, 2.0], dtype=kellet.float64, requires_grad=True)
    (x**exponent).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert exponent.grad.tolist() == [0.0, 0.0, 0.0]


def test_steps_have_gradient_zero() -> None:
    x = kellet.tensor([0.3, 1.7], requires_grad=True)
    (x.floor() + x.ceil() + x.round() + x.trunc() + x.sign()).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_complex_parts() -> None:
    z = kellet.tensor([3 + 4j, 0j], requires_grad=True)
    assert z.abs().tolist() == [5.0, 0.0]
    assert z.sgn()[1].item() == 0
    np.testing.assert_allclose(z.angle().detach().numpy(), [math.atan2(4, 3), 0.0], rtol=1e-6)
    z.abs().sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0.6 + 0.8j, 0], rtol=1e-6)


def test_angle_of_real_numbers() -> None:
    assert kellet.angle(kellet.tensor([1.0, -1.0, 0.0])).tolist() == [0.0, pytest.approx(math.pi), 0.0]


def test_nan_to_num() -> None:
    x = kellet.tensor([math.nan, math.inf, -math.inf, 1.0])
    largest = float(np.finfo(np.float32).max)
    assert x.nan_to_num().tolist() == [0.0, largest, -largest, 1.0]
    assert x.nan_to_num(1.0, 2.0, 3.0).tolist() == [1.0, 2.0, 3.0, 1.0]


def test_lerp_is_exact_at_both_ends() -> None:
    a, b = kellet.tensor([0.1]), kellet.tensor([0.7])
    assert kellet.lerp(a, b, 0.0).item() == a.item()
    assert kellet.lerp(a, b, 1.0).item() == b.item()


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: kellet.zeros(2, 3) + kellet.zeros(4),
            ShapeError,
            r"add: shapes \(2, 3\), \(4,\) do not fit",
        ),
        (lambda: kellet.zeros(2).maximum(kellet.zeros(3)), ShapeError, r"maximum: shapes \(2,\), \(3,\)"),
        (lambda: -kellet.tensor([True]), DTypeError, r"neg: it does not take bool"),
        (
            lambda: kellet.tensor([True]) - kellet.tensor([False]),
            DTypeError,
            r"sub: subtraction of a bool tensor is not supported; use \^ or logical_xor",
        ),
        (
            lambda: kellet.tensor([1.0]) & kellet.tensor([1.0]),
            DTypeError,
            r"bitwise_and: it does not take float32",
        ),
        (
            lambda: kellet.tensor([2]) ** -1,
            DTypeError,
            r"negative integer powers are not allowed; convert the base",
        ),
        (lambda: kellet.tensor([1]) // 0, ZeroDivisionError, r"integer division or modulo by zero"),
        (lambda: kellet.tensor([1]) % kellet.tensor([0]), ZeroDivisionError, r"use floating tensors"),
        (lambda: kellet.positive(kellet.tensor([True])), DTypeError, r"on a bool tensor is not supported"),
        (lambda: kellet.tensor([1.0]).imag, DTypeError, r"imag"),
        (lambda: kellet.zeros(2).clamp(), ValueError, r"a lower or an upper bound"),
        (
            lambda: kellet.div(kellet.ones(1), 1, rounding_mode="up"),
            ValueError,
            r"'trunc' or 'floor', got 'up'",
        ),
        (lambda: kellet.add(kellet.ones(1), "1"), TypeError, r"add: expected a tensor or a number, got str"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
