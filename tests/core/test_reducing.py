"""Reductions and orders, against NumPy; zeros, ties, half precision, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

CUBE = np.random.default_rng(0).standard_normal((2, 3, 4))


@one_test
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (1,), [2, 0]])
@pytest.mark.parametrize(
    ("name", "of_numpy"), [("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min)]
)
def test_reductions_are_those_of_numpy(name: str, of_numpy: Any, dim: Any, keepdim: bool) -> None:
    axis = tuple(dim) if isinstance(dim, list) else dim
    found = getattr(kellet, name)(kellet.from_numpy(CUBE), dim, keepdim).numpy()
    np.testing.assert_allclose(found, of_numpy(CUBE, axis=axis, keepdims=keepdim), rtol=1e-13)


@one_test
@pytest.mark.parametrize("dim", [None, 1, (0, 2)])
@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_variance_and_deviation(dim: Any, correction: float) -> None:
    x = kellet.from_numpy(CUBE)
    expected = CUBE.var(axis=dim, ddof=correction)
    np.testing.assert_allclose(x.var(dim, correction=correction).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(x.std(dim, correction=correction).numpy(), np.sqrt(expected), rtol=1e-13)
    deviation, mean = kellet.std_mean(x, dim, correction=correction)
    np.testing.assert_allclose(deviation.numpy(), np.sqrt(expected), rtol=1e-13)
    np.testing.assert_allclose(mean.numpy(), CUBE.mean(axis=dim), rtol=1e-13)


def test_older_forms_of_variance() -> None:
    x = kellet.from_numpy(CUBE)
    assert x.var(False).item() == pytest.approx(CUBE.var())
    np.testing.assert_allclose(x.std(1, False).numpy(), CUBE.std(axis=1), rtol=1e-13)


@one_test
@pytest.mark.parametrize("p", [0, 1, 2, 3.5, np.inf, -np.inf])
def test_norms(p: float) -> None:
    expected = np.linalg.norm(CUBE.reshape(6, 4), p, axis=1)
    np.testing.assert_allclose(kellet.from_numpy(CUBE).reshape(6, 4).norm(p, 1).numpy(), expected, rtol=1e-13)


def test_the_norm_of_zero_has_gradient_zero() -> None:
    for p in (1, 2, 3, np.inf):
        x = kellet.zeros(3, requires_grad=True)
        x.norm(p).backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "gradient"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
    ],
)
def test_products_with_zeros(values: list[float], gradient: list[float]) -> None:
    x = kellet.tensor(values, requires_grad=True)
    x.prod().backward()
    assert x.grad.tolist() == gradient
    y = kellet.tensor([values], requires_grad=True)
    y.cumprod(1)[0, 2].backward()
    assert y.grad.tolist() == [gradient]


def test_running_sums_and_products() -> None:
    x = kellet.from_numpy(CUBE)
    np.testing.assert_allclose(x.cumsum(-1).numpy(), CUBE.cumsum(-1), rtol=1e-13)
    np.testing.assert_allclose(x.cumprod(0).numpy(), CUBE.cumprod(0), rtol=1e-13)


def test_logsumexp_far_out() -> None:
    x = kellet.tensor([[1000.0, 1000.0], [-1000.0, -1000.0], [-np.inf, 0.0]])
    np.testing.assert_allclose(x.logsumexp(1).numpy(), [1000 + np.log(2), -1000 + np.log(2), 0.0], rtol=1e-6)


def test_half_precision_is_added_up_in_single() -> None:
    x = kellet.ones(4096, dtype=kellet.float16)
    assert x.sum().item() == 4096.0
    assert (x * 100).mean().item() == 100.0
    assert x.sum().dtype == kellet.float16


# --- extremes and orders --------------------------------------------------------------------------


def test_extremes_along_an_axis_say_where_they_stood() -> None:
    x = kellet.tensor([[1.0, 7.0, 7.0], [4.0, 3.0, 2.0]])
    values, indices = x.max(1)
    assert (values.tolist(), indices.tolist()) == ([7.0, 4.0], [1, 0])
    assert x.min(0, keepdim=True).indices.tolist() == [[0, 1, 1]]
    assert x.argmax().item() == 1
    assert x.argmin(1, keepdim=True).tolist() == [[0], [2]]
    assert [bound.item() for bound in x.aminmax()] == [1.0, 7.0]


def test_max_along_an_axis_sends_its_gradient_to_one_and_max_of_all_to_every_equal_value() -> None:
    x = kellet.tensor([[7.0, 7.0, 1.0]], requires_grad=True)
    x.max(1).values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 0.0]]
    x.grad = None
    x.max().backward()
    assert x.grad.tolist() == [[0.5, 0.5, 0.0]]


@one_test
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_sort_puts_values_in_order_and_gradients_back(dim: int, descending: bool) -> None:
    x = kellet.from_numpy(CUBE.copy()).requires_grad_()
    values, indices = x.sort(dim, descending)
    expected = np.sort(CUBE, dim)
    np.testing.assert_array_equal(values.detach().numpy(), np.flip(expected, dim) if descending else expected)
    np.testing.assert_array_equal(np.take_along_axis(CUBE, indices.numpy(), dim), values.detach().numpy())
    values.backward(values.detach())
    np.testing.assert_array_equal(x.grad.numpy(), CUBE)


def test_equal_values_keep_their_order_both_ways() -> None:
    x = kellet.tensor([1, 0, 1, 0])
    assert x.argsort().tolist() == [1, 3, 0, 2]
    assert x.argsort(descending=True).tolist() == [0, 2, 1, 3]


@one_test
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 3, 4])
def test_topk_is_the_start_of_a_sort(k: int, largest: bool) -> None:
    x = kellet.from_numpy(CUBE)
    expected = x.sort(-1, largest).values[..., :k]
    np.testing.assert_array_equal(x.topk(k, largest=largest).values.numpy(), expected.numpy())


def test_truth() -> None:
    x = kellet.tensor([[True, False], [False, False]])
    assert x.any().item() is True
    assert x.all().item() is False
    assert x.any(1).tolist() == [True, False]
    assert x.all(0, keepdim=True).tolist() == [[False, False]]
    assert x.count_nonzero(0).tolist() == [1, 0]


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: kellet.zeros(2, 3).sum(2), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        (lambda: kellet.zeros(2, 3).sum((0, -2)), ShapeError, r"an axis appears twice in \(0, -2\)"),
        (
            lambda: kellet.tensor([1]).mean(),
            DTypeError,
            r"mean\(\): expected a floating point or complex dtype",
        ),
        (lambda: kellet.tensor([1]).var(), DTypeError, r"var\(\): .* got int64"),
        (lambda: kellet.zeros(2).norm("nuc"), ValueError, r"norm: p must be a number or 'fro', got 'nuc'"),
        (lambda: kellet.zeros(2).var(unbiased=True, correction=1), TypeError, r"pass one of them"),
        (
            lambda: kellet.zeros(0).max(),
            ShapeError,
            r"max: expected something to compare in a tensor of shape \(0,\)",
        ),
        (lambda: kellet.zeros(2, 0).min(1), ShapeError, r"min: .* shape \(2, 0\)"),
        (lambda: kellet.zeros(2, 3).topk(4), ShapeError, r"topk: k is 4, but axis 1 has 3 values"),
        (lambda: kellet.zeros(0).argmax(), ShapeError, r"argmax"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
