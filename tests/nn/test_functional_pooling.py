"""Pooling and padding: exact values, where gradients go, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet.errors import ShapeError
from tests.tables import one_test

SQUARE = [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0], [9.0, 9.0, 0.0, 0.0], [9.0, 9.0, 0.0, 0.0]]


def square(**options: Any) -> Any:
    return kellet.tensor([[SQUARE]], **options)


# --- the largest value ----------------------------------------------------------------------------


def test_max_pool_takes_the_largest_of_each_window() -> None:
    assert F.max_pool2d(square(), 2).tolist() == [[[[4.0, 8.0], [9.0, 0.0]]]]


def test_the_gradient_goes_to_the_first_of_equal_values() -> None:
    x = square(requires_grad=True)
    F.max_pool2d(x, 2).backward(kellet.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    assert x.grad[0, 0].tolist() == [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 2.0],
        [3.0, 0.0, 4.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]


def test_a_value_that_wins_twice_gets_both_gradients() -> None:
    x = kellet.tensor([[[0.0, 5.0, 0.0]]], requires_grad=True)
    F.max_pool1d(x, 2, stride=1).sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0]]]


def test_indices_are_flat_positions_within_the_channel() -> None:
    values, indices = F.max_pool2d(square(), 2, return_indices=True)
    assert indices.tolist() == [[[[5, 7], [8, 10]]]]
    assert indices.dtype == kellet.int64
    assert square().flatten()[indices.flatten()].tolist() == values.flatten().tolist()


def test_padding_is_never_the_largest() -> None:
    x = kellet.full((1, 1, 2, 2), -3.0)
    assert F.max_pool2d(x, 2, stride=1, padding=1).unique().tolist() == [-3.0]
    whole = kellet.full((1, 2, 2), -3).long()
    assert F.max_pool2d(whole, 2, padding=1).unique().tolist() == [-3]


def test_ceil_mode_lets_the_last_window_hang_over() -> None:
    x = kellet.arange(5.0).reshape(1, 1, 5)
    assert F.max_pool1d(x, 2).tolist() == [[[1.0, 3.0]]]
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[[1.0, 3.0, 4.0]]]


def test_a_window_of_nan_is_nan() -> None:
    assert np.isnan(F.max_pool1d(kellet.tensor([[1.0, np.nan]]), 2).item())


def test_a_wide_window_counts_beyond_255() -> None:
    x = kellet.zeros(1, 1, 20, 20)
    x[0, 0, 19, 19] = 1.0
    x.requires_grad_()
    F.max_pool2d(x, 20).sum().backward()
    assert x.grad.argmax().item() == 399


# --- the average ----------------------------------------------------------------------------------


def test_avg_pool_takes_the_mean_of_each_window() -> None:
    assert F.avg_pool2d(square(), 2).tolist() == [[[[2.5, 6.5], [9.0, 0.0]]]]


def test_padding_counts_as_zeros_or_not_at_all() -> None:
    x = kellet.ones(1, 1, 2)
    assert F.avg_pool1d(x, 2, stride=2, padding=1).tolist() == [[[0.5, 0.5]]]
    assert F.avg_pool1d(x, 2, 2, 1, count_include_pad=False).tolist() == [[[1.0, 1.0]]]
    assert F.avg_pool2d(kellet.ones(1, 2, 2), 2, divisor_override=8).item() == 0.5


def test_the_gradient_is_shared_by_the_window() -> None:
    x = square(requires_grad=True)
    F.avg_pool2d(x, 4).sum().backward()
    assert x.grad.unique().tolist() == [1 / 16]


def test_adaptive_windows_overlap_where_lengths_do_not_divide() -> None:
    x = kellet.arange(5.0).reshape(1, 1, 5)
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[0.5, 2.0, 3.5]]]
    assert F.adaptive_avg_pool1d(x, 5).tolist() == x.tolist()
    assert F.adaptive_avg_pool2d(square(), 1).item() == pytest.approx(np.mean(SQUARE))
    assert F.adaptive_avg_pool2d(square(), (None, 2)).shape == (1, 1, 4, 2)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_adaptive_maxima_come_alone_and_their_places_are_refused(axes: int) -> None:
    pool, x = getattr(F, f"adaptive_max_pool{axes}d"), kellet.arange(4.0).reshape(1, 1, *[1] * (axes - 1), 4)
    assert pool(x, 1).flatten().tolist() == [3.0]
    with pytest.raises(NotImplementedError, match="return_indices does not exist here"):
        pool(x, 1, return_indices=True)


# --- padding --------------------------------------------------------------------------------------


@one_test
@pytest.mark.parametrize(
    ("pad", "options", "expected"),
    [
        ((1, 2), {}, [0, 1, 2, 3, 0, 0]),
        ((1, 0), {"value": 9}, [9, 1, 2, 3]),
        ((0, 1), {"value": 1}, [1, 2, 3, 1]),
        ((-1, 0), {}, [2, 3]),
        ((-1, 2), {"value": 7}, [2, 3, 7, 7]),
        ((2, 1), {"mode": "reflect"}, [3, 2, 1, 2, 3, 2]),
        ((2, 1), {"mode": "replicate"}, [1, 1, 1, 2, 3, 3]),
        ((2, 3), {"mode": "circular"}, [2, 3, 1, 2, 3, 1, 2, 3]),
        ((-1, 1), {"mode": "replicate"}, [2, 3, 3]),
    ],
)
def test_pad(pad: tuple[int, int], options: dict[str, Any], expected: list[int]) -> None:
    assert F.pad(kellet.tensor([1, 2, 3]), pad, **options).tolist() == expected


def test_pairs_go_from_the_last_dimension_forwards() -> None:
    assert F.pad(kellet.ones(2, 3, 4), (1, 0, 0, 2)).shape == (2, 5, 5)


def test_a_mirrored_value_gets_every_gradient() -> None:
    x = kellet.tensor([1.0, 2.0, 3.0], requires_grad=True)
    F.pad(x, (2, 2), mode="reflect").sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 2.0]


# --- what is refused ------------------------------------------------------------------------------


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: F.max_pool2d(square(), 5),
            ShapeError,
            r"a window of \(5, 5\).* does not fit input of shape",
        ),
        (
            lambda: F.max_pool2d(square(), 2, padding=2),
            ShapeError,
            r"at most half of kernel_size, got padding",
        ),
        (lambda: F.max_pool2d(kellet.zeros(2, 2), 2), ShapeError, r"3 \(unbatched\) or 4 dimensions"),
        (lambda: F.avg_pool2d(square(), 0), ShapeError, r"kernel_size must be positive, got \(0, 0\)"),
        (
            lambda: F.avg_pool2d(square(), 2, divisor_override=0),
            ValueError,
            r"divisor_override must not be zero",
        ),
        (
            lambda: F.adaptive_avg_pool2d(square(), (1, 2, 3)),
            ValueError,
            r"must be one number or 2, got \(1, 2, 3\)",
        ),
        (lambda: F.adaptive_avg_pool2d(kellet.zeros(2), 1), ShapeError, r"dimensions, got shape \(2,\)"),
        (
            lambda: F.pad(kellet.zeros(3), (1,)),
            ShapeError,
            r"expected a pair of numbers .* at most 2, got \(1,\)",
        ),
        (lambda: F.pad(kellet.zeros(3), (1, 1, 1, 1)), ShapeError, r"at most 2, got \(1, 1, 1, 1\)"),
        (
            lambda: F.pad(kellet.zeros(3), (3, 0), mode="reflect"),
            ShapeError,
            r"mode='reflect' can put at most 2",
        ),
        (lambda: F.pad(kellet.zeros(3), (4, 0), mode="circular"), ShapeError, r"can put at most 3"),
        (lambda: F.pad(kellet.zeros(3), (1, 0), mode="mirror"), NotImplementedError, r"got 'mirror'"),
        (
            lambda: F.pad(kellet.zeros(3), (1, 0), "reflect", 2.0),
            ValueError,
            r"value is for mode='constant' only",
        ),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
