"""Random fills in place, and draws by weights: ranges, seeds, histories and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, GradientError, ShapeError
from tests.tables import one_test

FILLS = {
    "uniform_": ((-2.0, 3.0), 0.5, 25 / 12),
    "normal_": ((1.0, 2.0), 1.0, 4.0),
    "exponential_": ((2.0,), 0.5, 0.25),
    "geometric_": ((0.5,), 2.0, 2.0),
    "bernoulli_": ((0.25,), 0.25, 0.1875),
    "log_normal_": ((0.0, 0.5), np.exp(0.125), (np.exp(0.25) - 1) * np.exp(0.25)),
    "random_": ((0, 10), 4.5, 8.25),
}


@one_test
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FILLS)
def test_a_fill_has_its_distribution_and_returns_the_tensor(name: str, dtype: str) -> None:
    arguments, mean, variance = FILLS[name]
    x = kellet.zeros(200, 500, dtype=dtype)
    generator = kellet.Generator().manual_seed(3)
    assert getattr(x, name)(*arguments, generator=generator) is x
    assert x.dtype == np.dtype(dtype)
    assert x.double().mean().item() == pytest.approx(mean, abs=0.05)
    assert x.double().var().item() == pytest.approx(variance, rel=0.05)


@one_test
@pytest.mark.parametrize("name", [*FILLS, "cauchy_"])
def test_equal_seeds_fill_equally(name: str) -> None:
    arguments: tuple[Any, ...] = FILLS[name][0] if name in FILLS else ()
    found = []
    for _ in range(2):
        kellet.manual_seed(5)
        found.append(getattr(kellet.zeros(7), name)(*arguments))
    assert kellet.equal(*found)


DEFAULTS = {
    "uniform_": (0.0, 1.0),
    "normal_": (0.0, 1.0),
    "exponential_": (1.0,),
    "bernoulli_": (0.5,),
    "log_normal_": (1.0, 2.0),
    "cauchy_": (0.0, 1.0),
}


@one_test
@pytest.mark.parametrize("name", DEFAULTS)
def test_a_fill_without_arguments_is_that_of_pytorch(name: str) -> None:
    found = []
    for arguments in ((), DEFAULTS[name]):
        kellet.manual_seed(5)
        found.append(getattr(kellet.zeros(7), name)(*arguments))
    assert kellet.equal(*found)


def test_uniform_takes_torchs_keyword_from_and_no_other() -> None:
    x = kellet.zeros(100).uniform_(**{"from": 5.0, "to": 6.0})
    assert 5 <= x.min().item() <= x.max().item() <= 6
    with pytest.raises(TypeError, match="no argument is called high; there are from, to, generator"):
        x.uniform_(high=3)


def test_integers_stay_within_their_dtype() -> None:
    x = kellet.zeros(1000, dtype=kellet.int8).random_()
    assert x.min().item() >= 0
    assert x.max().item() <= 127
    assert set(kellet.zeros(100, dtype=kellet.int64).random_(3).tolist()) == {0, 1, 2}


def test_a_leaf_that_requires_a_gradient_is_not_filled() -> None:
    x = kellet.ones(3, requires_grad=True)
    with pytest.raises(GradientError, match="a leaf Variable that requires grad"):
        x.normal_()
    assert x.tolist() == [1.0, 1.0, 1.0]
    with kellet.no_grad():
        x.normal_()
    assert x.tolist() != [1.0, 1.0, 1.0]


def test_what_is_filled_over_has_no_gradient() -> None:
    x = kellet.ones(3, requires_grad=True)
    y = x * 2
    y[:2].uniform_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0]


def test_bernoulli_takes_the_chances_of_the_tensor_or_one() -> None:
    assert kellet.tensor([0.0, 1.0]).bernoulli().tolist() == [0.0, 1.0]
    assert kellet.tensor([0.0, 1.0]).bernoulli(1.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("replacement", [False, True])
def test_draws_follow_the_weights(replacement: bool) -> None:
    weights = kellet.tensor([[1.0, 0.0, 3.0]]).expand(20000, 3)
    drawn = weights.multinomial(2, replacement, generator=kellet.Generator().manual_seed(1))
    assert drawn.shape == (20000, 2)
    assert drawn.dtype == kellet.int64
    assert (drawn[:, 0] == 2).float().mean().item() == pytest.approx(0.75, abs=0.02)
    if replacement:
        assert (drawn[:, 1] == 2).float().mean().item() == pytest.approx(0.75, abs=0.02)
    else:
        assert drawn.sum(1).tolist() == [2] * 20000


@one_test
@pytest.mark.parametrize(
    ("weights", "count", "error", "message"),
    [
        ([-1.0, 2.0], 1, ValueError, "contains either `inf`, `nan` or element < 0"),
        ([float("nan")], 1, ValueError, "contains either `inf`, `nan` or element < 0"),
        ([0.0, 0.0], 1, ValueError, "sum of probabilities <= 0"),
        ([1.0, 0.0], 2, ValueError, "too few positive weights for 2 draws"),
        ([1.0], 0, ValueError, "cannot sample n_sample <= 0 samples, got 0"),
        ([1, 2], 1, DTypeError, "only supports floating-point dtypes"),
        ([[[1.0]]], 1, ShapeError, r"a vector or a matrix of chances, got shape \(1, 1, 1\)"),
    ],
)
def test_chances_that_nothing_can_be_drawn_by_are_refused(
    weights: Any, count: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kellet.tensor(weights).multinomial(count)
