"""Normalization: what comes out has mean 0 and variance 1; running values; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet.errors import ShapeError
from tests.tables import one_test

BATCH = [[1.0, 10.0], [3.0, 30.0], [5.0, 20.0]]


def batch() -> Any:
    return kellet.tensor(BATCH, dtype=kellet.float64)


# --- layer normalization --------------------------------------------------------------------------


def test_layer_norm_brings_the_last_dimensions_to_mean_0_and_variance_1() -> None:
    y = F.layer_norm(kellet.randn(4, 5, 6, dtype=kellet.float64), (5, 6), eps=0.0)
    np.testing.assert_allclose(y.mean((1, 2)).numpy(), 0.0, atol=1e-14)
    np.testing.assert_allclose(y.var((1, 2), correction=0).numpy(), 1.0, rtol=1e-12)


def test_layer_norm_scales_and_shifts() -> None:
    y = F.layer_norm(
        kellet.tensor([[1.0, 3.0]]), (2,), kellet.tensor([2.0, 3.0]), kellet.tensor([10.0, 20.0]), 0.0
    )
    assert y.tolist() == [[8.0, 23.0]]


def test_a_constant_row_becomes_zero() -> None:
    assert F.layer_norm(kellet.full((1, 3), 7.0), (3,)).tolist() == [[0.0, 0.0, 0.0]]


def test_the_gradient_of_layer_norm_has_no_part_along_a_shift_or_a_stretch() -> None:
    x = kellet.randn(3, 8, dtype=kellet.float64).requires_grad_()
    F.layer_norm(x, (8,), eps=0.0).backward(kellet.randn(3, 8, dtype=kellet.float64))
    np.testing.assert_allclose(x.grad.sum(1).numpy(), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        (x.grad * (x - x.mean(1, keepdim=True))).sum(1).detach().numpy(), 0.0, atol=1e-12
    )


def test_the_result_of_layer_norm_may_be_written() -> None:
    x = kellet.randn(2, 3, dtype=kellet.float64).requires_grad_()
    y = F.layer_norm(x, (3,))
    expected = kellet.autograd.grad(F.layer_norm(x, (3,)).square().sum(), x)[0]
    loss = y.square().sum()
    with kellet.no_grad():
        clean = y.clone()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-12)
    y.detach().zero_()
    np.testing.assert_array_equal(F.layer_norm(x, (3,)).detach().numpy(), clean.numpy())


def test_rms_norm_divides_by_the_root_mean_square() -> None:
    y = F.rms_norm(kellet.tensor([[3.0, 4.0]]), (2,), kellet.tensor([1.0, 2.0]), eps=0.0)
    np.testing.assert_allclose(y.numpy(), [[3 / np.sqrt(12.5), 8 / np.sqrt(12.5)]], rtol=1e-6)


# --- batch normalization --------------------------------------------------------------------------


def test_batch_norm_in_training_uses_the_batch() -> None:
    y = F.batch_norm(batch(), None, None, training=True, eps=0.0)
    np.testing.assert_allclose(y.mean(0).numpy(), 0.0, atol=1e-15)
    np.testing.assert_allclose(y.var(0, correction=0).numpy(), 1.0, rtol=1e-14)


def test_running_values_move_by_momentum_and_the_variance_without_bias() -> None:
    mean, var = kellet.zeros(2, dtype=kellet.float64), kellet.ones(2, dtype=kellet.float64)
    F.batch_norm(batch(), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), [0.75, 5.0], rtol=1e-15)
    np.testing.assert_allclose(var.numpy(), [0.75 + 0.25 * 4, 0.75 + 0.25 * 100], rtol=1e-15)


def test_otherwise_the_running_values_are_used_and_left_alone() -> None:
    mean, var = kellet.tensor([1.0, 10.0]), kellet.tensor([4.0, 100.0])
    y = F.batch_norm(batch().float(), mean, var, eps=0.0)
    np.testing.assert_allclose(y.numpy(), [[0, 0], [1, 2], [2, 1]], rtol=1e-6)
    assert (mean.tolist(), var.tolist()) == ([1.0, 10.0], [4.0, 100.0])


def test_running_values_that_move_later_do_not_reach_an_earlier_graph() -> None:
    x = batch().requires_grad_()
    mean, var = kellet.zeros(2, dtype=kellet.float64), kellet.ones(2, dtype=kellet.float64)
    y = F.batch_norm(x, mean, var, eps=0.0)
    var.fill_(100.0)
    y.sum().backward()
    assert x.grad.unique().tolist() == [1.0]


def test_weight_and_bias_get_their_gradients_in_either_mode() -> None:
    for training in (True, False):
        weight, bias = (kellet.ones(2, dtype=kellet.float64).requires_grad_() for _ in range(2))
        stats = kellet.zeros(2, dtype=kellet.float64), kellet.ones(2, dtype=kellet.float64)
        y = F.batch_norm(batch(), *stats, weight, bias, training=training)
        normed = ((y - bias) / weight).detach()
        y.backward(batch())
        np.testing.assert_allclose(weight.grad.numpy(), (batch() * normed).sum(0).numpy(), rtol=1e-12)
        assert bias.grad.tolist() == [9.0, 60.0]


def test_float32_stays_float32() -> None:
    x = kellet.randn(4, 3, 2, 2).requires_grad_()
    weight = kellet.ones(3, requires_grad=True)
    mean, var = kellet.zeros(3), kellet.ones(3)
    y = F.batch_norm(x, mean, var, weight, None, training=True)
    y.sum().backward()
    assert {t.dtype for t in (y, x.grad, weight.grad, mean, var)} == {kellet.float32}


# --- groups and instances -------------------------------------------------------------------------


def test_one_group_is_layer_norm_and_a_group_per_channel_is_instance_norm() -> None:
    x = kellet.randn(2, 4, 3, dtype=kellet.float64)
    one = F.group_norm(x, 1).numpy()
    np.testing.assert_allclose(one, F.layer_norm(x, (4, 3)).numpy(), rtol=1e-12, atol=1e-14)
    each = F.group_norm(x, 4).numpy()
    np.testing.assert_allclose(each, F.instance_norm(x).numpy(), rtol=1e-12, atol=1e-14)


def test_instance_norm_moves_running_values_by_the_mean_over_the_batch() -> None:
    x = kellet.tensor([[[1.0, 3.0]], [[5.0, 9.0]]])
    mean, var = kellet.zeros(1), kellet.ones(1)
    F.instance_norm(x, mean, var, momentum=0.5)
    assert mean.item() == pytest.approx(0.5 * (2 + 7) / 2)
    assert var.item() == pytest.approx(0.5 + 0.5 * (2 + 8) / 2)


# --- what is refused ------------------------------------------------------------------------------

X = kellet.zeros(2, 3)


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: F.layer_norm(X, (4,)),
            ShapeError,
            r"normalized_shape=\[4\], expected .* but got input of size \[2, 3\]",
        ),
        (lambda: F.layer_norm(X, ()), ShapeError, r"must name at least one dimension"),
        (
            lambda: F.layer_norm(X, (3,), kellet.ones(2)),
            ShapeError,
            r"weight of shape \(2,\) must have .* \(3,\)",
        ),
        (lambda: F.layer_norm(X, (3,), None, kellet.ones(2)), ShapeError, r"bias of shape \(2,\) must have"),
        (
            lambda: F.batch_norm(X, kellet.zeros(2), kellet.zeros(3)),
            ShapeError,
            r"running_mean .* contain 3 elements",
        ),
        (
            lambda: F.batch_norm(X, None, None),
            ValueError,
            r"running_mean and running_var are needed unless training",
        ),
        (
            lambda: F.batch_norm(kellet.zeros(3), None, None, training=True),
            ShapeError,
            r"\(N, C, \.\.\.\), got \(3,\)",
        ),
        (
            lambda: F.batch_norm(kellet.zeros(1, 3), None, None, training=True),
            ValueError,
            r"Expected more than 1 value per channel when training, got input size \[1, 3\]",
        ),
        (lambda: F.group_norm(X, 2), ShapeError, r"num_groups must divide the channels .* got 2"),
        (lambda: F.instance_norm(kellet.zeros(2, 3, 1)), ValueError, r"more than 1 spatial element"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
