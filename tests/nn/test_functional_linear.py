"""Linear maps, embeddings, similarities, dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

WEIGHT = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


# --- linear ---------------------------------------------------------------------------------------


def test_linear_maps_the_last_dimension() -> None:
    weight, bias = kellet.tensor(WEIGHT), kellet.tensor([0.5, 0.0, -0.5])
    assert F.linear(kellet.tensor([1.0, 1.0]), weight, bias).tolist() == [3.5, 7.0, 10.5]
    x = kellet.randn(2, 3, 4, 2)
    expected = x.numpy() @ weight.numpy().T + bias.numpy()
    np.testing.assert_allclose(F.linear(x, weight, bias).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_each_part_gets_its_gradient_also_alone() -> None:
    values = {
        "input": kellet.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]),
        "weight": kellet.tensor(WEIGHT),
        "bias": kellet.ones(3),
    }
    expected = {
        "input": [[[9.0, 12.0]], [[9.0, 12.0]]],
        "weight": [[4.0, 6.0]] * 3,
        "bias": [2.0, 2.0, 2.0],
    }
    for name, gradient in expected.items():
        leaf = values[name].clone().requires_grad_()
        F.linear(**{**values, name: leaf}).sum().backward()
        assert leaf.grad.tolist() == gradient


# --- embedding and one-hot ------------------------------------------------------------------------


def test_embedding_reads_rows_and_adds_their_gradients_up() -> None:
    weight = kellet.tensor(WEIGHT, requires_grad=True)
    out = F.embedding(kellet.tensor([[0, 2], [2, 2]]), weight)
    assert out.tolist() == [[WEIGHT[0], WEIGHT[2]], [WEIGHT[2], WEIGHT[2]]]
    out.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]


@pytest.mark.parametrize("padding_idx", [2, -1])
def test_the_padding_row_gets_no_gradient(padding_idx: int) -> None:
    weight = kellet.tensor(WEIGHT, requires_grad=True)
    F.embedding(kellet.tensor([0, 2, 2]), weight, padding_idx=padding_idx).sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_many_rows_are_added_in_blocks() -> None:
    weight = kellet.zeros(7, 1000, requires_grad=True)
    index = kellet.randint(0, 7, (600,))
    F.embedding(index, weight).sum().backward()
    assert weight.grad[:, 0].tolist() == index.bincount(minlength=7).tolist()


def test_max_norm_shortens_the_rows_in_use_in_place() -> None:
    weight = kellet.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    out = F.embedding(kellet.tensor([0, 1]), weight, max_norm=1.0)
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-5)


def test_max_norm_writes_a_parameter_that_requires_a_gradient() -> None:
    weight = kellet.tensor([[3.0, 4.0]], requires_grad=True)
    F.embedding(kellet.tensor([0]), weight, max_norm=1.0).sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0]]


def test_one_hot() -> None:
    assert F.one_hot(kellet.tensor([[1], [0]])).tolist() == [[[0, 1]], [[1, 0]]]
    assert F.one_hot(kellet.tensor(1), 3).tolist() == [0, 1, 0]


# --- similarities ---------------------------------------------------------------------------------


def test_cosine_similarity_and_distance() -> None:
    a, b = kellet.tensor([[1.0, 0.0]]), kellet.tensor([[1.0, 1.0]])
    assert F.cosine_similarity(a, b).item() == pytest.approx(math.sqrt(0.5))
    assert F.pairwise_distance(a, b, eps=0.0).item() == 1.0
    assert F.cosine_similarity(a, kellet.zeros(1, 2)).item() == 0.0


# --- dropout --------------------------------------------------------------------------------------


def test_dropout_scales_what_it_keeps() -> None:
    kellet.manual_seed(0)
    y = F.dropout(kellet.ones(10_000), p=0.2)
    assert y.unique().tolist() == [0.0, 1.25]
    assert y.mean().item() == pytest.approx(1.0, abs=0.02)


def test_the_gradient_goes_where_the_value_went() -> None:
    x = kellet.ones(100, requires_grad=True)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_the_seed_decides() -> None:
    kellet.manual_seed(5)
    first = F.dropout(kellet.ones(50))
    assert F.dropout(kellet.ones(50)).tolist() != first.tolist()
    kellet.manual_seed(5)
    assert F.dropout(kellet.ones(50)).tolist() == first.tolist()


def test_without_training_or_at_zero_the_input_itself_comes_back() -> None:
    x = kellet.ones(3)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.0) is x
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0, 0.0]


def test_inplace_dropout_writes_into_its_argument() -> None:
    x = kellet.ones(100)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) <= {0.0, 2.0}


def test_channels_are_dropped_whole() -> None:
    y = F.dropout2d(kellet.ones(4, 50, 3, 3), 0.5)
    sums = y.sum((2, 3))
    assert sums.unique().tolist() == [0.0, 18.0]
    assert F.dropout1d(kellet.ones(50, 4), 0.5).sum(1).unique().tolist() == [0.0, 8.0]
    assert F.dropout3d(kellet.ones(1, 50, 2, 2, 2), 0.5).sum((2, 3, 4)).unique().tolist() == [0.0, 16.0]


# --- what is refused ------------------------------------------------------------------------------

TABLE = kellet.tensor(WEIGHT)


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: F.linear(kellet.zeros(2, 3), TABLE),
            ShapeError,
            r"input of shape \(2, 3\) does not fit weight of shape \(3, 2\)",
        ),
        (
            lambda: F.linear(kellet.zeros(2), TABLE, kellet.zeros(2)),
            ShapeError,
            r"bias of shape \(2,\).* must be \(3,\)",
        ),
        (lambda: F.linear(kellet.tensor(1.0), TABLE), ShapeError, r"input of shape \(\)"),
        (lambda: F.embedding(kellet.tensor([3]), TABLE), IndexError, r"index 3 is out of range; .* 0\.\.2"),
        (lambda: F.embedding(kellet.tensor([-1]), TABLE), IndexError, r"index -1 is out of range"),
        (
            lambda: F.embedding(kellet.tensor([0.5]), TABLE),
            DTypeError,
            r"indexes must be integers, got float32",
        ),
        (
            lambda: F.embedding(kellet.tensor([0]), kellet.zeros(3)),
            ShapeError,
            r"two dimensions, got shape \(3,\)",
        ),
        (
            lambda: F.embedding(kellet.tensor([0]), TABLE, 3),
            IndexError,
            r"padding_idx 3 .* the weight has 3 rows",
        ),
        (lambda: F.embedding(kellet.tensor([0]), TABLE, sparse=True), NotImplementedError, r"leave them out"),
        (lambda: F.one_hot(kellet.tensor([3]), 3), IndexError, r"one_hot: index 3 is out of range"),
        (lambda: F.one_hot(kellet.zeros(0).long()), ShapeError, r"pass num_classes"),
        (lambda: F.dropout(TABLE, 1.5), ValueError, r"has to be between 0 and 1, but got 1\.5"),
        (lambda: F.dropout(TABLE, -0.5, training=False), ValueError, r"but got -0\.5"),
        (lambda: F.dropout2d(TABLE), ShapeError, r"dropout2d: expected an input of 3"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
