"""Initial values: exact ones, the moments of random ones, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import ShapeError
from kellet.nn import init


@pytest.fixture(autouse=True)
def seeded() -> None:
    kellet.manual_seed(0)


def large(*shape: int) -> Any:
    return kellet.empty(*(shape or (300, 200)))


# --- fixed values ---------------------------------------------------------------------------------


def test_constants() -> None:
    assert init.constant_(kellet.empty(2), 0.5).tolist() == [0.5, 0.5]
    assert init.zeros_(kellet.ones(2)).tolist() == [0.0, 0.0]
    assert init.ones_(kellet.zeros(2)).tolist() == [1.0, 1.0]
    assert init.eye_(kellet.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_dirac_passes_channels_on() -> None:
    x = kellet.randn(1, 4, 5)
    weight = init.dirac_(kellet.empty(4, 4, 3))
    np.testing.assert_array_equal(kellet.nn.functional.conv1d(x, weight, padding=1).numpy(), x.numpy())
    grouped = init.dirac_(kellet.empty(4, 2, 3), groups=2)
    np.testing.assert_array_equal(
        kellet.nn.functional.conv1d(x, grouped, padding=1, groups=2).numpy(), x.numpy()
    )


@pytest.mark.parametrize("function", [init.ones_, init.normal_, init.xavier_uniform_, init.kaiming_normal_])
def test_the_tensor_itself_is_written_and_nothing_recorded(function: Any) -> None:
    weight = kellet.nn.Parameter(kellet.zeros(4, 4))
    version = weight._version
    assert function(weight) is weight
    assert weight.grad_fn is None
    assert weight.requires_grad
    assert weight._version > version
    assert weight.any()


@pytest.mark.parametrize("dtype", [kellet.float16, kellet.float32, kellet.float64])
def test_dtype_is_kept(dtype: Any) -> None:
    for function in (init.normal_, init.uniform_, init.orthogonal_, init.kaiming_uniform_, init.eye_):
        assert function(kellet.empty(4, 4, dtype=dtype)).dtype == dtype


# --- random values --------------------------------------------------------------------------------


def test_uniform_and_normal_have_their_moments() -> None:
    x = init.uniform_(large(), -2.0, 4.0)
    assert -2.0 <= x.min().item() < -1.9
    assert 3.9 < x.max().item() <= 4.0
    assert x.mean().item() == pytest.approx(1.0, abs=0.05)
    y = init.normal_(large(), 3.0, 0.5)
    assert y.mean().item() == pytest.approx(3.0, abs=0.02)
    assert y.std().item() == pytest.approx(0.5, abs=0.02)


def test_truncated_values_stay_inside() -> None:
    x = init.trunc_normal_(large(), 1.0, 2.0, 0.0, 2.0)
    assert 0.0 <= x.min().item() < 0.01
    assert 1.99 < x.max().item() <= 2.0
    assert x.mean().item() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("function", "options", "variance"),
    [
        (init.xavier_uniform_, {}, 2 / 500),
        (init.xavier_normal_, {"gain": 2.0}, 4 * 2 / 500),
        (init.kaiming_uniform_, {}, 2 / 200),
        (init.kaiming_uniform_, {"a": math.sqrt(5)}, 2 / 6 / 200),
        (init.kaiming_normal_, {"mode": "fan_out", "nonlinearity": "relu"}, 2 / 300),
        (init.kaiming_normal_, {"nonlinearity": "linear"}, 1 / 200),
    ],
)
def test_variance_follows_the_fans(function: Any, options: dict[str, Any], variance: float) -> None:
    x = function(large(), **options)
    assert x.var().item() == pytest.approx(variance, rel=0.03)
    assert x.mean().item() == pytest.approx(0.0, abs=5e-3)


def test_fans_count_the_window_of_a_convolution() -> None:
    x = init.kaiming_normal_(kellet.empty(64, 32, 3, 3), nonlinearity="relu")
    assert x.var().item() == pytest.approx(2 / (32 * 9), rel=0.05)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    x = init.orthogonal_(kellet.empty(*shape, dtype=kellet.float64), gain=2.0).flatten(1)
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product.numpy(), 4 * np.eye(min(x.shape)), atol=1e-12)


def test_sparse_columns_have_their_share_of_zeros() -> None:
    x = init.sparse_(kellet.empty(10, 20), 0.35)
    assert (x == 0).sum(0).unique().tolist() == [4]


def test_seed_and_generator_decide() -> None:
    first = init.normal_(kellet.empty(5))
    kellet.manual_seed(0)
    assert init.normal_(kellet.empty(5)).tolist() == first.tolist()
    numbers = [init.normal_(kellet.empty(5), generator=np.random.default_rng(3)).tolist() for _ in range(2)]
    assert numbers[0] == numbers[1]


# --- gains, and what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1.0),
        ("conv2d", None, 1.0),
        ("sigmoid", None, 1.0),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", None, math.sqrt(2 / (1 + 0.01**2))),
        ("leaky_relu", 0.2, math.sqrt(2 / 1.04)),
        ("selu", None, 0.75),
    ],
)
def test_gain(name: str, param: float | None, gain: float) -> None:
    assert init.calculate_gain(name, param) == gain


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: init.eye_(kellet.zeros(2)), ShapeError, r"eye_: .* two dimensions, got shape \(2,\)"),
        (lambda: init.dirac_(kellet.zeros(2, 2)), ShapeError, r"three, four or five dimensions"),
        (lambda: init.dirac_(kellet.zeros(3, 2, 2), groups=2), ShapeError, r"a multiple of groups=2"),
        (
            lambda: init.xavier_normal_(kellet.zeros(2)),
            ShapeError,
            r"fan in and fan out come from them, got shape \(2,\)",
        ),
        (lambda: init.orthogonal_(kellet.zeros(2)), ShapeError, r"two or more dimensions"),
        (
            lambda: init.sparse_(kellet.zeros(2), 0.5),
            ShapeError,
            r"sparse_: expected a tensor with two dimensions",
        ),
        (lambda: init.kaiming_normal_(kellet.zeros(2, 2), mode="fan"), ValueError, r"mode fan not supported"),
        (
            lambda: init.calculate_gain("swish"),
            ValueError,
            r"Unsupported nonlinearity swish; known are linear",
        ),
        (
            lambda: init.calculate_gain("leaky_relu", True),
            ValueError,
            r"negative_slope True not a valid number",
        ),
        (
            lambda: init.trunc_normal_(kellet.zeros(2), 0.0, 1.0, 2.0, 1.0),
            ValueError,
            r"\[2\.0, 1\.0\] is empty",
        ),
        (
            lambda: init.trunc_normal_(kellet.zeros(2), 0.0, 1.0, 50.0, 51.0),
            ValueError,
            r"far from mean 0\.0",
        ),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
