"""DistributedSampler: all ranks together have the dataset, in one order, with equal numbers of samples."""

from __future__ import annotations

import pytest

import kellet
from kellet.data import DataLoader, DistributedSampler
from kellet.errors import DistributedError


def parts(size: int, ranks: int, **options: bool) -> list[list[int]]:
    return [list(DistributedSampler(range(size), ranks, rank, **options)) for rank in range(ranks)]


def test_ranks_take_turns_and_the_first_samples_fill_up() -> None:
    assert parts(7, 3, shuffle=False) == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert parts(7, 3, shuffle=False, drop_last=True) == [[0, 3], [1, 4], [2, 5]]
    assert parts(2, 5, shuffle=False) == [[0], [1], [0], [1], [0]]
    assert parts(0, 2, shuffle=False) == [[], []]
    assert len(DistributedSampler(range(7), 3, 0)) == 3
    assert len(DistributedSampler(range(7), 3, 0, drop_last=True)) == 2


def test_shuffled_parts_are_the_whole_and_change_with_the_epoch() -> None:
    found = parts(12, 3)
    assert sorted(number for part in found for number in part) == list(range(12))
    sampler = DistributedSampler(range(12), 3, 0)
    assert list(sampler) == list(sampler) == found[0]
    sampler.set_epoch(1)
    assert list(sampler) != found[0]
    assert list(sampler) == list(DistributedSampler(range(12), 3, 0, seed=1))


def test_a_loader_takes_it() -> None:
    sampler = DistributedSampler(range(6), 2, 1, shuffle=False)
    assert [each.tolist() for each in DataLoader(range(6), batch_size=2, sampler=sampler)] == [[1, 3], [5]]


def test_ranks_come_from_the_group_and_must_be_in_it() -> None:
    with pytest.raises(DistributedError, match="Default process group has not been initialized"):
        DistributedSampler(range(3))
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(3), 2, 2)
    kellet.distributed.init_process_group()
    assert list(DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    kellet.distributed.destroy_process_group()
