"""Losses: exact values, reductions, weights, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

LOGITS = [[0.0, math.log(3.0)], [math.log(3.0), 0.0]]  # probabilities 1/4 and 3/4, then 3/4 and 1/4


def logits(**options: Any) -> Any:
    return kellet.tensor(LOGITS, dtype=kellet.float64, **options)


# --- cross-entropy --------------------------------------------------------------------------------


def test_cross_entropy_is_the_mean_of_minus_logs() -> None:
    loss = F.cross_entropy(logits(), kellet.tensor([1, 1]))
    assert loss.item() == pytest.approx(-(math.log(0.75) + math.log(0.25)) / 2, rel=1e-15)


def test_its_gradient_is_softmax_minus_target() -> None:
    x = logits(requires_grad=True)
    F.cross_entropy(x, kellet.tensor([1, 1]), reduction="sum").backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.25, -0.25], [0.75, -0.75]], rtol=1e-14)


def test_reductions() -> None:
    target = kellet.tensor([0, 0])
    each = F.cross_entropy(logits(), target, reduction="none")
    np.testing.assert_allclose(each.numpy(), [-math.log(0.25), -math.log(0.75)], rtol=1e-14)
    assert F.cross_entropy(logits(), target, reduction="sum").item() == pytest.approx(each.sum().item())
    assert F.cross_entropy(logits(), target).item() == pytest.approx(each.mean().item())


def test_the_mean_divides_by_the_weights_of_the_targets() -> None:
    loss = F.cross_entropy(logits(), kellet.tensor([0, 1]), kellet.tensor([1.0, 3.0], dtype=kellet.float64))
    assert loss.item() == pytest.approx(-(math.log(0.25) + 3 * math.log(0.25)) / 4, rel=1e-14)


def test_ignored_rows_count_nothing() -> None:
    x = logits(requires_grad=True)
    loss = F.cross_entropy(x, kellet.tensor([1, 7]), ignore_index=7)
    loss.backward()
    assert loss.item() == pytest.approx(-math.log(0.75), rel=1e-14)
    assert x.grad[1].tolist() == [0.0, 0.0]


def test_all_rows_ignored_give_nan_as_in_pytorch() -> None:
    assert math.isnan(F.cross_entropy(logits(), kellet.tensor([-100, -100])).item())
    assert F.cross_entropy(logits(), kellet.tensor([-100, -100]), reduction="sum").item() == 0.0


def test_label_smoothing_mixes_in_the_mean_over_classes() -> None:
    loss = F.cross_entropy(logits()[:1], kellet.tensor([1]), label_smoothing=0.5)
    even = -(math.log(0.25) + math.log(0.75)) / 2
    assert loss.item() == pytest.approx(0.5 * -math.log(0.75) + 0.5 * even, rel=1e-14)


def test_probabilities_as_targets() -> None:
    half = kellet.full((2, 2), 0.5, dtype=kellet.float64)
    expected = -(math.log(0.25) + math.log(0.75)) / 2
    assert F.cross_entropy(logits(), half).item() == pytest.approx(expected, rel=1e-14)
    one_hot = kellet.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=kellet.float64)
    by_index = F.cross_entropy(logits(), kellet.tensor([1, 1]))
    assert F.cross_entropy(logits(), one_hot).item() == pytest.approx(by_index.item(), rel=1e-14)


def test_pixels_are_rows_of_their_own() -> None:
    x = kellet.randn(2, 3, 4, 5)
    target = kellet.randint(0, 3, (2, 4, 5))
    rows = x.permute(0, 2, 3, 1).reshape(-1, 3)
    expected = F.cross_entropy(rows, target.reshape(-1), reduction="none").reshape(2, 4, 5)
    np.testing.assert_array_equal(F.cross_entropy(x, target, reduction="none").numpy(), expected.numpy())


def test_large_logits_do_not_overflow() -> None:
    x = kellet.tensor([[1e4, -1e4]], requires_grad=True)
    loss = F.cross_entropy(x, kellet.tensor([1]))
    loss.backward()
    assert loss.item() == 2e4
    assert x.grad.tolist() == [[1.0, -1.0]]


def test_nll_loss_takes_logarithms() -> None:
    target = kellet.tensor([0, 1])
    expected = F.cross_entropy(logits(), target).item()
    assert F.nll_loss(F.log_softmax(logits(), 1), target).item() == pytest.approx(expected, rel=1e-14)


# --- between values -------------------------------------------------------------------------------


@one_test
@pytest.mark.parametrize(
    ("loss", "options", "values"),
    [
        (F.mse_loss, {}, [0.0, 0.25, 9.0]),
        (F.l1_loss, {}, [0.0, 0.5, 3.0]),
        (F.smooth_l1_loss, {}, [0.0, 0.125, 2.5]),
        (F.smooth_l1_loss, {"beta": 0.25}, [0.0, 0.375, 2.875]),
        (F.smooth_l1_loss, {"beta": 0}, [0.0, 0.5, 3.0]),
        (F.huber_loss, {"delta": 2.0}, [0.0, 0.125, 4.0]),
    ],
)
def test_differences(loss: Any, options: dict[str, float], values: list[float]) -> None:
    a, b = kellet.tensor([1.0, 2.0, 3.0]), kellet.tensor([1.0, 1.5, 6.0])
    assert loss(a, b, reduction="none", **options).tolist() == values
    assert loss(a, b, reduction="sum", **options).item() == pytest.approx(sum(values))
    assert loss(a, b, **options).item() == pytest.approx(sum(values) / 3)


def test_different_shapes_are_warned_about() -> None:
    with pytest.warns(UserWarning, match=r"mse_loss: using a target of shape \(2,\) that is different"):
        F.mse_loss(kellet.zeros(2, 1), kellet.zeros(2))


def test_logarithms_of_probabilities_are_cut_in_the_gradient_of_the_target_too() -> None:
    target = kellet.tensor([0.0, 1.0, 0.25], requires_grad=True)
    F.binary_cross_entropy(kellet.tensor([0.0, 1.0, 0.5]), target, reduction="sum").backward()
    assert target.grad.tolist() == [100.0, -100.0, 0.0]


def test_binary_cross_entropy_of_probabilities_and_of_logits_agree() -> None:
    x = kellet.tensor([-2.0, 0.0, 3.0], dtype=kellet.float64)
    target = kellet.tensor([0.0, 1.0, 0.5], dtype=kellet.float64)
    by_logits = F.binary_cross_entropy_with_logits(x, target)
    assert F.binary_cross_entropy(x.sigmoid(), target).item() == pytest.approx(by_logits.item(), rel=1e-14)


def test_logarithms_of_zero_are_cut_off_at_minus_100() -> None:
    assert F.binary_cross_entropy(kellet.tensor([0.0]), kellet.tensor([1.0])).item() == 100.0
    assert F.binary_cross_entropy(kellet.tensor([1.0]), kellet.tensor([0.0])).item() == 100.0


@pytest.mark.parametrize(
    "loss", [F.cross_entropy, F.nll_loss, kellet.nn.CrossEntropyLoss(), kellet.nn.NLLLoss()]
)
def test_a_target_of_minus_100_is_left_out_by_default(loss: Callable[..., Any]) -> None:
    scores = kellet.tensor([[0.5, 2.0], [3.0, -1.0]])
    left_out = loss(scores, kellet.tensor([1, -100])).item()
    assert left_out == loss(scores[:1], kellet.tensor([1])).item()
    with pytest.raises(IndexError, match="-101"):
        loss(scores, kellet.tensor([1, -101]))


def test_logits_far_out_keep_their_loss_and_gradient() -> None:
    x = kellet.tensor([-1000.0, 1000.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, kellet.tensor([1.0, 0.0]), reduction="sum")
    loss.backward()
    assert loss.item() == 2000.0
    assert x.grad.tolist() == [-1.0, 1.0]


def test_pos_weight_multiplies_what_is_one() -> None:
    options = {"pos_weight": kellet.tensor([3.0]), "reduction": "none"}
    loss = F.binary_cross_entropy_with_logits(kellet.zeros(2), kellet.tensor([1.0, 0.0]), **options)
    np.testing.assert_allclose(loss.numpy(), [3 * math.log(2), math.log(2)], rtol=1e-6)


def test_kl_div_is_zero_where_the_target_is() -> None:
    input, target = kellet.tensor([[-5.0, 0.0]]), kellet.tensor([[0.0, 1.0]])
    assert F.kl_div(input, target, reduction="none").tolist() == [[0.0, 0.0]]


def test_kl_div_between_two_distributions() -> None:
    p, q = kellet.tensor([[0.5, 0.5]]), kellet.tensor([[0.25, 0.75]])
    expected = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert F.kl_div(q.log(), p, reduction="batchmean").item() == pytest.approx(expected, rel=1e-5)
    logs = F.kl_div(q.log(), p.log(), reduction="sum", log_target=True)
    assert logs.item() == pytest.approx(expected, rel=1e-5)


# --- what is refused ------------------------------------------------------------------------------

CLASSES = kellet.zeros(2, 3)


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: F.cross_entropy(CLASSES, kellet.tensor([0])),
            ShapeError,
            r"target of shape \(1,\) does not fit input of shape \(2, 3\).* must have shape \(2,\)",
        ),
        (
            lambda: F.cross_entropy(CLASSES, kellet.tensor([0, 3])),
            IndexError,
            r"index 3 is out of range.*0\.\.2",
        ),
        (lambda: F.cross_entropy(CLASSES, kellet.tensor([-1, 0])), IndexError, r"index -1 is out of range"),
        (lambda: F.cross_entropy(CLASSES, kellet.zeros(2)), DTypeError, r"must be integers, got float32"),
        (
            lambda: F.cross_entropy(CLASSES, kellet.tensor([0, 1]), kellet.ones(2)),
            ShapeError,
            r"all 3 classes or no classes, got shape \(2,\)",
        ),
        (
            lambda: F.cross_entropy(CLASSES, kellet.tensor([0, 1]), reduction="avg"),
            ValueError,
            r"'avg' is not a valid value for reduction; pass one of \('none', 'mean', 'sum'\)",
        ),
        (
            lambda: F.cross_entropy(CLASSES, kellet.tensor([0, 1]), label_smoothing=1.5),
            ValueError,
            r"label_smoothing must be between 0\.0 and 1\.0, got 1\.5",
        ),
        (lambda: F.cross_entropy(kellet.tensor(1.0), kellet.tensor(0)), ShapeError, r"dimension of classes"),
        (
            lambda: F.smooth_l1_loss(CLASSES, CLASSES, beta=-1),
            ValueError,
            r"beta must not be negative, got -1",
        ),
        (lambda: F.huber_loss(CLASSES, CLASSES, delta=0), ValueError, r"delta must be positive, got 0"),
        (
            lambda: F.binary_cross_entropy(CLASSES, kellet.zeros(3)),
            ShapeError,
            r"target of shape \(3,\) is different to the input of shape \(2, 3\)",
        ),
        (lambda: F.binary_cross_entropy(CLASSES + 2, CLASSES), ValueError, r"should be between 0 and 1"),
        (
            lambda: F.binary_cross_entropy_with_logits(CLASSES, kellet.zeros(3)),
            ShapeError,
            r"Target size \(\[3\]\) must be the same as input size \(\[2, 3\]\)",
        ),
        (lambda: F.kl_div(CLASSES, CLASSES, reduction="avg"), ValueError, r"must be one of .*'batchmean'"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
