"""Activation functions and softmax: exact values, kinks, writing in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet import nn
from kellet.errors import GradientError
from tests.tables import one_test


def gradient_at(function: Callable[[Any], Any], value: float) -> float:
    x = kellet.tensor([value], dtype=kellet.float64, requires_grad=True)
    function(x).sum().backward()
    return float(x.grad.item())


@one_test
@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (F.relu, -1.0, 0.0),
        (F.relu, 2.0, 2.0),
        (F.leaky_relu, -2.0, -0.02),
        (F.elu, -1.0, math.exp(-1) - 1),
        (F.selu, 1.0, 1.0507009873554805),
        (F.celu, -1.0, math.exp(-1) - 1),
        (F.relu6, 7.0, 6.0),
        (F.hardtanh, -3.0, -1.0),
        (F.hardsigmoid, 0.0, 0.5),
        (F.hardswish, 3.0, 3.0),
        (F.silu, 1.0, 1 / (1 + math.exp(-1))),
        (F.gelu, 1.0, 0.5 * (1 + math.erf(math.sqrt(0.5)))),
        (F.mish, 1.0, math.tanh(math.log1p(math.e))),
        (F.softplus, 0.0, math.log(2)),
        (F.softplus, 30.0, 30.0),
        (F.softsign, 3.0, 0.75),
        (F.logsigmoid, 0.0, -math.log(2)),
        (F.logsigmoid, -1000.0, -1000.0),
        (F.sigmoid, 0.0, 0.5),
        (F.tanh, 0.5, math.tanh(0.5)),
    ],
)
def test_value(function: Callable[[Any], Any], x: float, value: float) -> None:
    assert function(kellet.tensor([x], dtype=kellet.float64)).item() == pytest.approx(value, rel=1e-14)


def test_gelu_by_tanh_is_close_to_gelu_and_not_it() -> None:
    x = kellet.tensor([1.0], dtype=kellet.float64)
    assert F.gelu(x, approximate="tanh").item() == pytest.approx(0.8411919906082768, rel=1e-14)
    assert F.gelu(x).item() == pytest.approx(0.8413447460685429, rel=1e-14)
    with pytest.raises(ValueError, match="approximate must be 'none' or 'tanh', got 'fast'"):
        F.gelu(x, approximate="fast")


@one_test
@pytest.mark.parametrize(
    ("function", "slope"),
    [(F.relu, 0.0), (F.leaky_relu, 0.01), (F.elu, 1.0), (F.softplus, 0.5), (F.gelu, 0.5), (F.silu, 0.5)],
)
def test_gradient_at_zero(function: Callable[[Any], Any], slope: float) -> None:
    assert gradient_at(function, 0.0) == slope


def test_relu_passes_no_infinite_gradient_below_zero() -> None:
    x = kellet.tensor([-1.0, 1.0], requires_grad=True)
    F.relu(x).backward(kellet.tensor([math.inf, 3.0]))
    assert x.grad.tolist() == [0.0, 3.0]


@one_test
@pytest.mark.parametrize("function", [F.relu, F.leaky_relu, F.elu, F.silu, F.relu6, F.hardswish, F.mish])
def test_inplace_writes_into_its_argument(function: Callable[..., Any]) -> None:
    x = kellet.tensor([-1.0, 2.0])
    expected = function(x)
    assert function(x, inplace=True) is x
    assert x.tolist() == expected.tolist()


MODULES = [
    *(nn.CELU(), nn.Dropout(), nn.ELU(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardtanh(), nn.LeakyReLU()),
    *(nn.Mish(), nn.ReLU(), nn.ReLU6(), nn.SELU(), nn.SiLU(), nn.Threshold(1.0, -7.0)),
]


@one_test
@pytest.mark.parametrize("module", MODULES, ids=[type(module).__name__ for module in MODULES])
def test_a_module_leaves_its_argument_alone_unless_told_otherwise(module: Any) -> None:
    x = kellet.tensor([-9.0, 0.5, 9.0])
    assert module(x) is not x
    assert x.tolist() == [-9.0, 0.5, 9.0]


def test_inplace_keeps_the_history() -> None:
    x = kellet.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 3
    F.relu(y, inplace=True).sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]
    with pytest.raises(GradientError, match="a leaf Variable that requires grad"):
        F.relu(x, inplace=True)


@pytest.mark.parametrize("dtype", [kellet.float16, kellet.float32, kellet.float64])
def test_dtype_is_kept(dtype: Any) -> None:
    x = kellet.tensor([[-1.0, 2.0]], dtype=dtype, requires_grad=True)
    for function in (F.relu, F.gelu, F.silu, F.elu, F.softplus, F.mish, lambda v: F.softmax(v, 1)):
        y = function(x)
        assert y.dtype == dtype
        x.grad = None
        y.sum().backward()
        assert x.grad.dtype == dtype


def test_softmax_along_each_dimension_sums_to_one() -> None:
    x = kellet.randn(2, 3, 4, generator=kellet.Generator().manual_seed(0))
    for dim in range(-3, 3):
        np.testing.assert_allclose(F.softmax(x, dim).sum(dim).numpy(), 1.0, rtol=1e-6)
        np.testing.assert_allclose(F.log_softmax(x, dim).numpy(), F.softmax(x, dim).log().numpy(), rtol=1e-5)


def test_softmax_of_rows_far_apart() -> None:
    x = kellet.tensor([[0.0, 0.0], [-500.0, -500.0], [800.0, 0.0]])
    assert F.softmax(x, 1).tolist() == [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]


def test_softmax_dtype_converts_first() -> None:
    assert F.softmax(kellet.tensor([1, 1]), 0, dtype=kellet.float64).tolist() == [0.5, 0.5]
    assert F.log_softmax(kellet.ones(2), 0, dtype=kellet.float64).dtype == kellet.float64


def test_glu_halves_the_dimension() -> None:
    assert F.glu(kellet.tensor([[1.0, 2.0, 0.0, 0.0]])).tolist() == [[0.5, 1.0]]


def test_normalize_gives_unit_vectors_and_leaves_zero() -> None:
    x = kellet.tensor([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(F.normalize(x).numpy(), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


def test_prelu_takes_one_weight_per_channel() -> None:
    x = kellet.full((1, 2, 2), -1.0)
    assert F.prelu(x, kellet.tensor([0.5, 2.0])).tolist() == [[[-0.5, -0.5], [-2.0, -2.0]]]
