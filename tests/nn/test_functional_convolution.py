"""Convolutions against the sums that define them, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kellet
import kellet.nn.functional as F
from kellet.errors import ShapeError
from tests.tables import one_test


def by_definition(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """One number of the result after the other."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    reach = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    places = [(n - r) // stride + 1 for n, r in zip(padded.shape[2:], reach, strict=True)]
    out = np.zeros((len(x), len(w), *places))
    per_group, outs = x.shape[1] // groups, len(w) // groups
    for n, o, i, j in itertools.product(*map(range, out.shape)):
        first = o // outs * per_group
        window = padded[
            n,
            first : first + per_group,
            i * stride : i * stride + reach[0] : dilation,
            j * stride : j * stride + reach[1] : dilation,
        ]
        out[n, o, i, j] = (window * w[o]).sum()
    return out


@given(
    sizes=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    lengths=st.tuples(st.integers(5, 7), st.integers(5, 7)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
)
def test_conv2d_is_its_definition(
    sizes: tuple[int, ...], lengths: Any, kernel: Any, stride: int, padding: int, dilation: int
) -> None:
    batch, per_group, outs, groups = sizes
    rng = np.random.default_rng(0)
    x = rng.standard_normal((batch, per_group * groups, *lengths))
    w = rng.standard_normal((outs * groups, per_group, *kernel))
    found = F.conv2d(kellet.from_numpy(x), kellet.from_numpy(w), None, stride, padding, dilation, groups)
    np.testing.assert_allclose(
        found.numpy(), by_definition(x, w, stride, padding, dilation, groups), rtol=1e-10, atol=1e-12
    )


@given(
    channels=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    stride=st.integers(1, 2),
    padding=st.integers(0, 3),
    dilation=st.integers(1, 2),
)
def test_gradients_are_the_transposed_maps(channels: Any, stride: int, padding: int, dilation: int) -> None:
    """<conv(x, w), g> is linear in x and in w: each gradient gives the same number back."""
    rng = np.random.default_rng(0)
    x = kellet.from_numpy(rng.standard_normal((2, channels[0], 6, 7))).requires_grad_()
    w = kellet.from_numpy(rng.standard_normal((channels[1], channels[0], 2, 3))).requires_grad_()
    y = F.conv2d(x, w, None, stride, padding, dilation)
    g = kellet.from_numpy(rng.standard_normal(y.shape))
    y.backward(g)
    number = float((y * g).sum().item())
    assert (x.grad * x).sum().item() == pytest.approx(number, rel=1e-9, abs=1e-9)
    assert (w.grad * w).sum().item() == pytest.approx(number, rel=1e-9, abs=1e-9)


def test_bias_is_added_to_each_channel_and_gets_the_sum_of_gradients() -> None:
    x, w = kellet.zeros(2, 1, 3, 3), kellet.zeros(2, 1, 2, 2)
    bias = kellet.tensor([1.0, 2.0], requires_grad=True)
    y = F.conv2d(x, w, bias)
    assert y[:, 0].unique().tolist() == [1.0]
    assert y[:, 1].unique().tolist() == [2.0]
    y.sum().backward()
    assert bias.grad.tolist() == [8.0, 8.0]


def test_an_input_without_batch_gives_an_output_without() -> None:
    x, w = kellet.randn(3, 5, 5), kellet.randn(2, 3, 3, 3)
    np.testing.assert_array_equal(F.conv2d(x, w).numpy(), F.conv2d(x.unsqueeze(0), w)[0].numpy())


def test_same_keeps_the_size_and_puts_the_odd_zero_last() -> None:
    x, w = kellet.ones(1, 1, 4), kellet.ones(1, 1, 2)
    assert F.conv1d(x, w, padding="same").tolist() == [[[2.0, 2.0, 2.0, 1.0]]]
    assert F.conv2d(kellet.ones(1, 1, 4, 5), kellet.ones(1, 1, 3, 4), padding="same").shape == (1, 1, 4, 5)
    assert F.conv1d(x, w, padding="valid").shape == (1, 1, 3)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_transposed_convolution_is_the_gradient_of_the_input(axes: int) -> None:
    lengths = (5, 4, 3)[:axes]
    x = kellet.randn(2, 2, *lengths, dtype=kellet.float64).requires_grad_()
    w = kellet.randn(3, 2, *(2, 3, 2)[:axes], dtype=kellet.float64)
    forward, transposed = getattr(F, f"conv{axes}d"), getattr(F, f"conv_transpose{axes}d")
    y = forward(x, w)
    g = kellet.randn(*y.shape, dtype=kellet.float64)
    y.backward(g)
    np.testing.assert_allclose(transposed(g, w).numpy(), x.grad.numpy(), rtol=1e-12)


def test_output_padding_chooses_among_the_sizes_that_a_stride_makes_one() -> None:
    x, w = kellet.ones(1, 1, 2), kellet.ones(1, 1, 2)
    assert F.conv_transpose1d(x, w, stride=3).tolist() == [[[1.0, 1.0, 0.0, 1.0, 1.0]]]
    assert F.conv_transpose1d(x, w, stride=3, output_padding=1).shape == (1, 1, 6)


def test_padding_may_leave_a_single_place_of_a_transposed_convolution_and_not_less() -> None:
    x, w = kellet.ones(1, 1, 1), kellet.tensor([[[1.0, 2.0, 3.0]]])
    assert F.conv_transpose1d(x, w, padding=1).tolist() == [[[2.0]]]
    with pytest.raises(ShapeError, match=r"would have shape \(0,\); use less padding"):
        F.conv_transpose1d(x, w[..., :2], padding=1)


@pytest.mark.parametrize("dtype", [kellet.float32, kellet.float64])
def test_dtype_is_kept(dtype: Any) -> None:
    x = kellet.randn(2, 3, 5, 5, dtype=dtype).requires_grad_()
    w = kellet.randn(4, 3, 3, 3, dtype=dtype).requires_grad_()
    y = F.conv2d(x, w, stride=2, padding=1)
    y.sum().backward()
    assert {y.dtype, x.grad.dtype, w.grad.dtype} == {dtype}


IMAGE, KERNEL = kellet.zeros(1, 2, 4, 4), kellet.zeros(2, 2, 3, 3)


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: F.conv2d(IMAGE, kellet.zeros(2, 3, 3, 3)),
            ShapeError,
            r"weight of shape \(2, 3, 3, 3\) with groups=1 does not fit input of shape \(1, 2, 4, 4\)",
        ),
        (lambda: F.conv2d(IMAGE, kellet.zeros(3, 1, 3, 3), groups=2), ShapeError, r"groups must divide"),
        (lambda: F.conv2d(IMAGE, KERNEL, groups=0), ValueError, r"groups must be a positive number, got 0"),
        (
            lambda: F.conv2d(IMAGE, KERNEL, kellet.zeros(3)),
            ShapeError,
            r"bias of shape \(3,\).*must be \(2,\)",
        ),
        (
            lambda: F.conv2d(IMAGE, kellet.zeros(2, 2, 5, 5)),
            ShapeError,
            r"kernel of shape \(5, 5\).* is larger",
        ),
        (
            lambda: F.conv2d(kellet.zeros(4, 4), KERNEL),
            ShapeError,
            r"3 \(unbatched\) or 4 dimensions, got shape",
        ),
        (lambda: F.conv2d(IMAGE, kellet.zeros(2, 3, 3)), ShapeError, r"expected a weight of 4 dimensions"),
        (lambda: F.conv2d(IMAGE, KERNEL, stride=0), ShapeError, r"stride must be positive, got \(0, 0\)"),
        (lambda: F.conv2d(IMAGE, KERNEL, padding=-1), ShapeError, r"padding must be not negative"),
        (lambda: F.conv2d(IMAGE, KERNEL, padding=(1, 1, 1)), ShapeError, r"padding must be one number or 2"),
        (lambda: F.conv2d(IMAGE, KERNEL, padding="full"), ValueError, r"'valid' or 'same', got 'full'"),
        (
            lambda: F.conv2d(IMAGE, KERNEL, stride=2, padding="same"),
            ValueError,
            r"needs stride 1, got stride \(2, 2\)",
        ),
        (
            lambda: F.conv_transpose2d(IMAGE, kellet.zeros(3, 1, 2, 2)),
            ShapeError,
            r"must be the input's channels",
        ),
        (
            lambda: F.conv_transpose2d(IMAGE, KERNEL, output_padding=1),
            ValueError,
            r"must be smaller than stride",
        ),
        (lambda: F.conv_transpose2d(IMAGE, KERNEL, padding=6), ShapeError, r"use less padding"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
