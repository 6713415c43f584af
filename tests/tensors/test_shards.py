"""Slices of tensors of several processes: how they are cut, which may be, and whether they fill the whole."""

from __future__ import annotations

import numpy as np
import pytest

import kellet
from packager import Shard
from packager._tensors import cover_problem, rank_range
from packager.errors import ArgumentError
from tests.tables import one_test


@one_test
@pytest.mark.parametrize("extent", [0, 1, 5, 8, 9])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_ranges_follow_each_other_and_fill_the_axis(extent: int, size: int) -> None:
    ranges = [rank_range(extent, rank, size) for rank in range(size)]
    assert [place for start, stop in ranges for place in range(start, stop)] == list(range(extent))
    assert len({stop - start for start, stop in ranges if stop < extent}) <= 1


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_that_there_is_not_has_no_range(rank: int) -> None:
    with pytest.raises(ArgumentError, match=f"rank={rank}: expected 0 to 1, as size=2"):
        rank_range(4, rank, 2)


def test_a_cut_is_a_view_of_the_tensor() -> None:
    whole = np.arange(12).reshape(3, 4)
    shard = Shard.cut(whole, 1, 2, axis=-1)
    assert shard.tensor.base is whole.base
    assert (shard.shape, shard.offsets, shard.box) == ((3, 4), (0, 2), ((0, 3), (2, 4)))
    assert kellet.equal(Shard.cut(kellet.tensor([1, 2, 3]), 1, 2).tensor, kellet.tensor([3]))


def test_an_axis_that_there_is_not() -> None:
    with pytest.raises(ArgumentError, match=r"axis=2: a tensor of shape \(3, 4\) has no such axis"):
        Shard.cut(np.zeros((3, 4)), 0, 2, axis=2)
    with pytest.raises(ArgumentError, match=r"axis=0: a tensor of shape \(\) has no such axis"):
        Shard.cut(np.zeros(()), 0, 2)


@pytest.mark.parametrize(
    ("shape", "offsets"), [((4,), (3,)), ((4,), (-1,)), ((4, 1), (0, 0)), ((4,), (0, 0)), ((1,), (0,))]
)
def test_a_slice_outside_of_its_tensor_is_refused(shape: tuple[int, ...], offsets: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="does not lie in a tensor of shape"):
        Shard(np.zeros(2), shape, offsets)


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected a tensor or an array, found list"):
        Shard([1, 2], (2,), (0,))
    with pytest.raises(ArgumentError, match="expected a tensor or an array, found Shard"):
        Shard(Shard(np.zeros(2), (2,), (0,)), (2,), (0,))


def test_a_grid_fills_the_whole_and_order_does_not_matter() -> None:
    rows, columns = ((0, 2), (2, 5)), ((0, 1), (1, 3), (3, 3))
    boxes = tuple((row, column) for column in columns for row in rows)
    assert cover_problem((5, 3), boxes) is None
    assert cover_problem((5, 3), boxes[1:]) == "its slices hold 13 of 15 elements; the others are missing"
    assert cover_problem((5, 4), (*boxes, ((0, 5), (2, 4)))) == "the slices [0:2, 1:3] and [0:5, 2:4] overlap"


def test_scalars_and_empty_tensors_are_filled() -> None:
    assert cover_problem((), ((),)) is None
    assert cover_problem((0, 3), (((0, 0), (0, 3)),)) is None
