"""Diagonals, triangles, windows, repetition, joining: exact values, views, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
from kellet.errors import DTypeError, ShapeError
from tests.tables import one_test

GRID = [[1, 2, 3], [4, 5, 6]]


def grid() -> Any:
    return kellet.tensor(GRID)


def cube() -> Any:
    return kellet.arange(24).reshape(2, 3, 4)


# --- diagonals and triangles ----------------------------------------------------------------------


@one_test
@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2, 3])
def test_diagonals_are_those_of_numpy(offset: int) -> None:
    for dims in ((0, 1), (1, 2), (2, 0), (-1, -2)):
        expected = np.diagonal(cube().numpy(), offset, *dims)
        np.testing.assert_array_equal(cube().diagonal(offset, *dims).numpy(), expected)


def test_a_diagonal_is_a_view_that_can_be_written() -> None:
    x = kellet.zeros(2, 2)
    x.diagonal().fill_(3.0)
    assert x.tolist() == [[3.0, 0.0], [0.0, 3.0]]


def test_writing_a_diagonal_keeps_the_history() -> None:
    x = kellet.ones(2, 2, requires_grad=True)
    y = x * 2
    y.diagonal().mul_(10.0)
    y.sum().backward()
    assert x.grad.tolist() == [[20.0, 2.0], [2.0, 20.0]]


def test_diag_reads_matrices_and_builds_them() -> None:
    assert grid().diag().tolist() == [1, 5]
    assert kellet.tensor([1, 2]).diag(1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert grid().diag_embed().shape == (2, 3, 3)
    assert grid().diag_embed(0, 0, 2).diagonal(0, 0, 2).tolist() == GRID
    assert grid().trace().item() == 6


@pytest.mark.parametrize("diagonal", [-1, 0, 1])
def test_triangles(diagonal: int) -> None:
    np.testing.assert_array_equal(cube().tril(diagonal).numpy(), np.tril(cube().numpy(), diagonal))
    np.testing.assert_array_equal(cube().triu(diagonal).numpy(), np.triu(cube().numpy(), diagonal))


# --- windows, pieces, repetition ------------------------------------------------------------------


def test_unfold_makes_windows_that_are_views() -> None:
    x = kellet.arange(7)
    windows = x.unfold(0, 3, 2)
    assert windows.tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    x[2] = 9
    assert windows[0, 2].item() == windows[1, 0].item() == 9
    assert cube().unfold(1, 2, 1).shape == (2, 2, 4, 2)


def test_tensor_split_takes_a_number_or_positions() -> None:
    x = kellet.arange(7)
    assert [p.tolist() for p in x.tensor_split(3)] == [[0, 1, 2], [3, 4], [5, 6]]
    assert [p.tolist() for p in x.tensor_split([2, 5])] == [[0, 1], [2, 3, 4], [5, 6]]
    assert [len(p) for p in x.tensor_split([-1, 9])] == [6, 1, 0]


def test_repetition() -> None:
    assert grid().repeat_interleave(2, 1).tolist() == [[1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6]]
    assert grid().repeat_interleave(kellet.tensor([2, 0]), 0).tolist() == [GRID[0], GRID[0]]
    assert kellet.tensor([1, 2]).tile(2, 2).tolist() == [[1, 2, 1, 2], [1, 2, 1, 2]]
    assert grid().tile(2).tolist() == [row * 2 for row in GRID]


@one_test
@pytest.mark.parametrize("k", range(-3, 6))
def test_quarter_turns(k: int) -> None:
    np.testing.assert_array_equal(grid().rot90(k).numpy(), np.rot90(grid().numpy(), k))
    np.testing.assert_array_equal(cube().rot90(k, (2, 1)).numpy(), np.rot90(cube().numpy(), k, (2, 1)))


def test_diff() -> None:
    x = kellet.tensor([1, 4, 9, 16])
    assert x.diff().tolist() == [3, 5, 7]
    assert x.diff(2).tolist() == [2, 2]
    assert x.diff(9).tolist() == []


# --- joining --------------------------------------------------------------------------------------


def test_stacks() -> None:
    a, b = kellet.tensor([1, 2]), kellet.tensor([3, 4])
    assert kellet.vstack([a, b]).tolist() == [[1, 2], [3, 4]]
    assert kellet.hstack([a, b]).tolist() == [1, 2, 3, 4]
    assert kellet.hstack([a.reshape(2, 1), b.reshape(2, 1)]).tolist() == [[1, 3], [2, 4]]


def test_cat_meets_in_one_dtype_and_passes_empty_rows() -> None:
    joined = kellet.cat([kellet.tensor([1]), kellet.tensor([0.5]), kellet.zeros(0)])
    assert joined.tolist() == [1.0, 0.5]
    assert joined.dtype == kellet.float32


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing: str) -> None:
    vectors = [kellet.arange(2), kellet.arange(3), kellet.arange(4)]
    expected = np.meshgrid(*(v.numpy() for v in vectors), indexing=indexing)
    for found, array in zip(kellet.meshgrid(*vectors, indexing=indexing), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), array)


def test_where_chooses_without_touching_the_other_side() -> None:
    x = kellet.tensor([0.0, 4.0], requires_grad=True)
    y = kellet.where(x > 0, x.sqrt(), 0.0)
    y.backward(kellet.tensor([np.nan, 1.0]))
    assert x.grad[1].item() == 0.25
    z = kellet.tensor([1.0, 1.0], requires_grad=True)
    kellet.where(kellet.tensor([False, True]), z, 0.0).backward(kellet.tensor([np.nan, 2.0]))
    assert z.grad.tolist() == [0.0, 2.0]


# --- counting -------------------------------------------------------------------------------------


def test_unique_and_counts() -> None:
    x = kellet.tensor([[3, 1], [1, 2]])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 3], [[2, 0], [0, 1]], [2, 1, 1])
    assert kellet.tensor([[1, 1], [1, 1]]).unique(dim=0).tolist() == [[1, 1]]
    assert kellet.tensor([1, 3, 1]).bincount(minlength=5).tolist() == [0, 2, 0, 1, 0]
    assert kellet.tensor([], dtype=kellet.int64).bincount().tolist() == []
    assert kellet.isin(x, kellet.tensor([1])).tolist() == [[False, True], [True, False]]


# --- what is refused ------------------------------------------------------------------------------


@one_test
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: kellet.zeros(3).diagonal(), IndexError, r"Dimension out of range"),
        (lambda: grid().diagonal(0, 1, 1), ShapeError, r"two axes that differ, got 1 and 1"),
        (lambda: cube().diag(), ShapeError, r"a vector or a matrix, got shape \(2, 3, 4\)"),
        (lambda: cube().trace(), ShapeError, r"trace: expected a matrix, got shape \(2, 3, 4\)"),
        (lambda: kellet.zeros(3).tril(), ShapeError, r"tril: expected two axes or more, got shape \(3,\)"),
        (
            lambda: kellet.zeros(3).unfold(0, 4, 1),
            ShapeError,
            r"windows of 4, 1 apart, do not fit axis 0 of length 3",
        ),
        (lambda: kellet.zeros(3).unfold(0, 2, 0), ShapeError, r"step positive"),
        (lambda: kellet.zeros(3).tensor_split(0), ValueError, r"number of pieces must be positive, got 0"),
        (
            lambda: grid().repeat_interleave(kellet.tensor([1, 2, 3]), 0),
            ShapeError,
            r"one number or 2 of them",
        ),
        (lambda: grid().repeat_interleave(-1, 0), ShapeError, r"none negative"),
        (lambda: grid().rot90(1, (0, 0)), ShapeError, r"rot90: needs two axes that differ"),
        (lambda: kellet.cat([]), ShapeError, r"expected a non-empty list of Tensors"),
        (lambda: kellet.cat([kellet.tensor(1.0)]), ShapeError, r"no axis to be joined along; use stack"),
        (lambda: kellet.cat([grid(), 1]), TypeError, r"cat: expected tensors, got int"),
        (
            lambda: kellet.cat([grid(), kellet.zeros(2, 2)]),
            ShapeError,
            r"shapes \(2, 3\), \(2, 2\) do not fit",
        ),
        (lambda: kellet.stack([grid(), kellet.zeros(2, 2)]), ShapeError, r"stack: shapes \(2, 3\), \(2, 2\)"),
        (
            lambda: kellet.where(kellet.ones(2), 1, 0),
            DTypeError,
            r"a condition of bools, got float32; use \.bool\(\)",
        ),
        (
            lambda: kellet.meshgrid(kellet.arange(2), indexing="rc"),
            ValueError,
            r"must be 'ij' or 'xy', got 'rc'",
        ),
        (
            lambda: kellet.broadcast_tensors(kellet.zeros(2), kellet.zeros(3)),
            ShapeError,
            r"broadcast_tensors: ",
        ),
        (lambda: kellet.bincount(kellet.tensor([-1])), DTypeError, r"a vector of integers, none negative"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
