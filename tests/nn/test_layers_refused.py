"""What layers refuse in words of their own, and picks that are almost one-hot."""

import numpy as np
import pytest

import kellet
from kellet import nn


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ([[[0]], [0]], {}, RuntimeError, "if input is 2D, then offsets has to be None"),
        ([[0, 1]], {}, RuntimeError, r"got input of shape \(2,\), offsets of shape None"),
        (
            [[0, 1], [1]],
            {},
            RuntimeError,
            r"has to start with 0 and go up to at most the 2 of input, got \[1\]",
        ),
        ([[[0]]], {"mode": "min"}, ValueError, "mode has to be one of sum, mean or max, got 'min'"),
        ([[0], [0], [1.0]], {}, ValueError, "only supported for mode='sum', got mode='mean'"),
    ],
)
def test_bags_that_cannot_be_told_apart_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        nn.EmbeddingBag(3, 2, **options)(*[kellet.tensor(one) for one in arguments])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.PixelShuffle(2)(kellet.ones(1, 6, 2, 2)), "6 channels are not a multiple of"),
        (
            lambda: nn.PixelUnshuffle(2)(kellet.ones(1, 6, 3, 2)),
            "height 3 and width 2 must be multiples of 2",
        ),
        (lambda: nn.ChannelShuffle(4)(kellet.ones(1, 6, 3)), "6 channels cannot be split into 4 groups"),
        (lambda: nn.AdaptiveMaxPool1d(2)(kellet.ones(3)), r"expected 2 or 3 dimensions, got shape \(3,\)"),
    ],
)
def test_channels_and_dimensions_that_do_not_fit_are_refused(call, message):
    with pytest.raises(kellet.errors.ShapeError, match=message):
        call()


def test_picks_that_are_almost_one_hot_follow_the_logits_and_pass_gradients():
    kellet.manual_seed(0)
    logits = kellet.tensor([0.0, 1.0, 2.0], requires_grad=True)
    soft = nn.functional.gumbel_softmax(logits.expand(20000, 3), tau=0.5)
    np.testing.assert_allclose(soft.detach().sum(1).numpy(), 1, rtol=1e-5)
    hard = nn.functional.gumbel_softmax(logits.expand(20000, 3), hard=True)
    np.testing.assert_allclose(hard.detach().mean(0).numpy(), logits.detach().softmax(0).numpy(), atol=0.02)
    (hard * kellet.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad[2] > 0 > logits.grad[0]
