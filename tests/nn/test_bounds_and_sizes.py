"""Values that stand on a bound, answers written over inputs, and sizes that leave nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
from kellet import nn
from kellet.errors import ShapeError
from kellet.testing import gradcheck, gradgradcheck
from tests.tables import one_test

F = nn.functional


@pytest.mark.parametrize(
    ("stride", "dilation", "extra", "kernel"), [(1, 2, 1, 1), (1, 3, 2, 2), (2, 3, 2, 2)]
)
def test_output_padding_of_as_much_as_the_stride_is_there_and_has_derivatives(
    stride: int, dilation: int, extra: int, kernel: int
) -> None:
    kellet.manual_seed(0)
    x = kellet.randn(2, 2, 4, dtype=kellet.float64, requires_grad=True)
    weight = kellet.randn(2, 3, kernel, dtype=kellet.float64, requires_grad=True)

    def call(x: Any, weight: Any) -> Any:
        return F.conv_transpose1d(x, weight, None, stride, 0, extra, 1, dilation)

    length = 3 * stride + dilation * (kernel - 1) + extra + 1
    assert call(x, weight).shape == (2, 3, length)
    assert call(x, weight)[..., length - extra :].abs().sum().item() == 0
    assert gradcheck(call, (x, weight))
    assert gradgradcheck(call, (x, weight))


@pytest.mark.parametrize(("function", "low", "high"), [(F.relu6, 0.0, 6.0), (F.hardtanh, -1.0, 1.0)])
def test_a_value_on_a_bound_passes_no_gradient(function: Callable[..., Any], low: float, high: float) -> None:
    x = kellet.tensor([low - 1, low, low + 0.5, high, high + 1], requires_grad=True)
    function(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 1, 0, 0]


@one_test
@pytest.mark.parametrize("name", ["hardtanh", "relu6", "selu", "celu", "mish", "hardsigmoid", "hardswish"])
def test_an_answer_written_over_its_input_has_the_same_derivative(name: str) -> None:
    function = getattr(F, name)
    found = []
    for inplace in (False, True):
        x = kellet.tensor([-2.0, -0.3, 0.4, 2.0, 7.0], requires_grad=True)
        y = x * 1
        answer = function(y, inplace=inplace)
        assert (answer is y) is inplace
        answer.square().sum().backward()
        assert x.grad is not None
        found.append((answer.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


def test_what_every_target_ignores_gives_no_number_and_no_gradient() -> None:
    for loss in (F.cross_entropy, F.nll_loss):
        x = kellet.tensor([[0.5, 1.5], [0.1, 0.2]], requires_grad=True)
        found = loss(x, kellet.tensor([-100, -100]))
        found.backward()
        assert np.isnan(found.item())
        assert x.grad is not None
        assert x.grad.tolist() == [[0, 0], [0, 0]]


def test_the_mean_of_no_differences_is_no_number() -> None:
    x = kellet.zeros(0, requires_grad=True)
    loss = F.mse_loss(x, kellet.zeros(0))
    loss.backward()
    assert np.isnan(loss.item())
    assert x.grad is not None
    assert x.grad.shape == (0,)


def test_weights_of_a_huber_loss_do_not_change_what_the_mean_divides_by() -> None:
    x, goal = kellet.tensor([0.5, 3.0]), kellet.tensor([0.0, 0.0])
    found = F.huber_loss(x, goal, weight=kellet.tensor([2.0, 4.0]))
    assert found.item() == pytest.approx((2 * 0.125 + 4 * 2.5) / 2)


@pytest.mark.parametrize("loss", [F.huber_loss, F.l1_loss, F.mse_loss])
def test_weights_of_another_shape_are_refused(loss: Callable[..., Any]) -> None:
    with pytest.raises(ShapeError, match=r"weight of shape \(1,\) must have the shape of input, \(2,\)"):
        loss(kellet.zeros(2), kellet.zeros(2), weight=kellet.ones(1))


def test_similarity_along_a_dimension_that_is_repeated_counts_the_repeated_values() -> None:
    found = F.cosine_similarity(kellet.tensor([3.0, 4.0]), kellet.tensor([2.0]), dim=0)
    assert found.item() == pytest.approx(7 / 5 / np.sqrt(2))


@one_test
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.glu(kellet.ones(3)), ShapeError, "length of dimension -1 must be even"),
        (lambda: F.prelu(kellet.ones(()), kellet.ones(2)), ShapeError, "one for each of the 1 channels"),
        (lambda: F.channel_shuffle(kellet.ones(2, 4), 2), ShapeError, "more than 2 dimensions"),
        (lambda: F.interpolate(kellet.ones(1, 1, 1), scale_factor=0.4), ShapeError, r"leave sizes \(0,\)"),
        (lambda: F.pad(kellet.ones(2), (-2, -1)), ShapeError, "cuts more off dimension 0"),
        (lambda: F.pad(kellet.ones(2), (-2, 0), "replicate"), ShapeError, "at least 1 must be left"),
        (lambda: F.group_norm(kellet.ones(1, 1), 1), ValueError, "Expected more than 1 value per channel"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_an_unusual_norm_is_printed() -> None:
    assert (
        repr(nn.Embedding(3, 2, max_norm=1.0, norm_type=1.0))
        == "Embedding(3, 2, max_norm=1.0, norm_type=1.0)"
    )
    assert "norm_type=3.0" in repr(nn.EmbeddingBag(3, 2, norm_type=3.0))


def test_prelu_keeps_a_value_without_dimensions() -> None:
    assert nn.PReLU()(kellet.tensor(-1.0)).shape == ()


def test_nearest_values_of_images_that_come_out_twice_as_long_are_doubled() -> None:
    image = kellet.tensor([[[[1.0, 2.0]]]])
    assert F.interpolate(image, scale_factor=2.3)[0, 0, 0].tolist() == [1, 1, 2, 2]
    assert F.interpolate(image[0], scale_factor=2.3)[0, 0].tolist() == [1, 1, 1, 2]
