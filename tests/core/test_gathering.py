"""gather, scatter and their kin: exact values, repeated indexes, negative ones, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test


def grid(**options: Any) -> Any:
    return kellet.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **options)


def test_gather_reads_along_one_axis() -> None:
    assert grid().gather(1, kellet.tensor([[2, 0], [1, 1]])).tolist() == [[3.0, 1.0], [5.0, 5.0]]
    assert grid().gather(0, kellet.tensor([[1, 0]])).tolist() == [[4.0, 2.0]]


def test_a_value_read_twice_gets_both_gradients() -> None:
    x = grid(requires_grad=True)
    x.gather(1, kellet.tensor([[2, 0], [1, 1]])).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]


def test_negative_indexes_count_from_the_end() -> None:
    assert grid().gather(1, kellet.tensor([[-1], [-3]])).tolist() == [[3.0], [4.0]]
    assert grid().index_select(1, kellet.tensor([-1])).tolist() == [[3.0], [6.0]]


def test_arrays_and_lists_are_indexes_and_an_array_of_no_dimensions_is_a_number() -> None:
    assert grid()[np.array(1)].tolist() == [4.0, 5.0, 6.0]
    assert grid()[np.array(1), np.array(-1)].item() == 6.0
    assert grid()[[1]].tolist() == grid()[np.array([1])].tolist() == [[4.0, 5.0, 6.0]]
    assert grid()[[]].shape == (0, 3)


def test_scatter_writes_and_scatter_add_adds_up() -> None:
    index = kellet.tensor([[0, 0, 2]])
    assert kellet.zeros(1, 3).scatter(1, index, 5.0).tolist() == [[5.0, 0.0, 5.0]]
    assert kellet.zeros(1, 3).scatter_add(1, index, grid()[:1]).tolist() == [[3.0, 0.0, 3.0]]


def test_what_is_overwritten_gets_no_gradient_and_what_is_written_does() -> None:
    x, src = grid(requires_grad=True), kellet.ones(2, 2, requires_grad=True)
    x.scatter(1, kellet.tensor([[0, 1], [2, 0]]), src).backward(grid())
    assert x.grad.tolist() == [[0.0, 0.0, 3.0], [0.0, 5.0, 0.0]]
    assert src.grad.tolist() == [[1.0, 2.0], [6.0, 4.0]]


def test_a_longer_src_gets_zeros_beyond_the_index() -> None:
    src = kellet.ones(3, 3, requires_grad=True)
    kellet.zeros(2, 3).scatter_add(1, kellet.tensor([[0, 0]]), src).sum().backward()
    assert src.grad.tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_in_place_forms_write_and_keep_the_history() -> None:
    x = grid(requires_grad=True)
    y = x * 1
    assert y.scatter_(1, kellet.tensor([[0], [1]]), 9.0) is y
    y.scatter_add_(1, kellet.tensor([[1], [2]]), kellet.ones(2, 1))
    y.index_add_(0, kellet.tensor([1]), kellet.full((1, 3), 10.0), alpha=2)
    assert y.tolist() == [[9.0, 3.0, 3.0], [24.0, 29.0, 27.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]


def test_index_add_adds_rows_up() -> None:
    added = kellet.zeros(2, 3).index_add(0, kellet.tensor([1, 1]), grid())
    assert added.tolist() == [[0.0, 0.0, 0.0], [5.0, 7.0, 9.0]]


def test_masked_select_and_its_gradient() -> None:
    x = grid(requires_grad=True)
    mask = kellet.tensor([True, False, True])
    chosen = x.masked_select(mask)
    assert chosen.tolist() == [1.0, 3.0, 4.0, 6.0]
    chosen.backward(kellet.tensor([1.0, 2.0, 3.0, 4.0]))
    assert x.grad.tolist() == [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    axis=st.integers(0, 2),
    count=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_scatter_add_is_the_mirror_image_of_gather(
    shape: list[int], axis: int, count: int, seed: int
) -> None:
    """<gather(x), g> = <x, scatter_add(0, g)>, for any index."""
    axis %= len(shape)
    rng = np.random.default_rng(seed)
    index = kellet.from_numpy(rng.integers(0, shape[axis], [*shape[:axis], count, *shape[axis + 1 :]]))
    x = kellet.from_numpy(rng.standard_normal(shape))
    g = kellet.from_numpy(rng.standard_normal(index.shape))
    spread = kellet.zeros(shape, dtype=kellet.float64).scatter_add(axis, index, g)
    left, right = (x.gather(axis, index) * g).sum().item(), (x * spread).sum().item()
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: grid().gather(1, kellet.tensor([[3]])),
            IndexError,
            r"out of range for axis 1 with 3 entries",
        ),
        (
            lambda: grid().gather(1, kellet.tensor([0])),
            ShapeError,
            r"index of shape \(1,\) does not fit .* \(2, 3\)",
        ),
        (
            lambda: grid().gather(1, kellet.zeros(3, 1).long()),
            ShapeError,
            r"it must have as many axes, and only axis 1 may be longer",
        ),
        (lambda: grid().gather(1, kellet.zeros(2, 1)), DTypeError, r"index tensor of integers, got float32"),
        (
            lambda: grid().scatter(1, kellet.zeros(2, 2).long(), kellet.ones(1, 2)),
            ShapeError,
            r"scatter: src of shape \(1, 2\) is too small for an index of shape \(2, 2\)",
        ),
        (lambda: grid().index_select(1, kellet.tensor([[0]])), IndexError, r"index must have one axis"),
        (
            lambda: grid().index_add(0, kellet.tensor([0]), kellet.ones(1, 2)),
            ShapeError,
            r"source of shape \(1, 2\) does not fit \(2, 3\)",
        ),
        (lambda: grid().masked_select(kellet.ones(3)), DTypeError, r"a mask, a tensor of bools, got float32"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
