"""Datasets: samples by number, one after another, parts of them and several together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kellet
from kellet import data


class Squares(data.Dataset):
    def __init__(self, count: int = 4) -> None:
        self.count = count
        self.asked: list[list[int]] = []

    def __getitem__(self, index: int) -> int:
        return index * index

    def __getitems__(self, indices: list[int]) -> list[int]:
        self.asked.append(indices)
        return [index * index for index in indices]

    def __len__(self) -> int:
        return self.count


def test_rows_of_tensors_belong_together() -> None:
    pairs = data.TensorDataset(kellet.arange(3), kellet.tensor([[1.0], [2.0], [3.0]]))
    assert len(pairs) == 3
    assert [part.tolist() for part in pairs[2]] == [2, [3.0]]
    assert [part.tolist() for part in pairs[kellet.tensor([0, 2])]] == [[0, 2], [[1.0], [3.0]]]
    with pytest.raises(ValueError, match=r"Size mismatch between tensors: found \[3, 2\] rows"):
        data.TensorDataset(kellet.ones(3), kellet.ones(2))


def test_a_part_asks_for_many_samples_at_once_where_the_dataset_can() -> None:
    squares = Squares(10)
    part = data.Subset(data.Subset(squares, [9, 8, 7, 6]), [3, 0])
    assert [len(part), part[0], part[1]] == [2, 36, 81]
    assert part.__getitems__([1, 0]) == [81, 36]
    assert squares.asked == [[9, 6]]
    assert data.Subset("abc", [2, 1]).__getitems__([0, 1]) == ["c", "b"]


def test_a_dataset_that_gives_another_number_of_samples_is_told_so() -> None:
    class Short(Squares):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [1]

    with pytest.raises(ValueError, match="__getitems__ returned 1 samples for 2 indices"):
        list(data.DataLoader(Short(), batch_size=2))


def test_several_come_one_after_another() -> None:
    both = Squares(2) + data.ConcatDataset(["ab", "c"])
    assert len(both) == 5
    assert [both[place] for place in range(-5, 5)] == [0, 1, "a", "b", "c"] * 2
    for place in (5, -6):
        with pytest.raises(IndexError, match=f"index {place} is out of range: there are 5 samples"):
            both[place]
    with pytest.raises(ValueError, match="should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(TypeError, match="does not support IterableDataset"):
        data.ConcatDataset([data.IterableDataset()])


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([3, 7], [3, 7]), ([0.5, 0.5], [5, 5]), ([0.75, 0.25], [8, 2]), ([1 / 3] * 3, [4, 3, 3]), ([10], [10])],
)
def test_parts_at_random_do_not_overlap(lengths: list[Any], expected: list[int]) -> None:
    parts = data.random_split(range(10), lengths, kellet.Generator().manual_seed(3))
    assert [len(part) for part in parts] == expected
    assert sorted(part[place] for part in parts for place in range(len(part))) == list(range(10))
    again = data.random_split(range(10), lengths, kellet.Generator().manual_seed(3))
    assert [part.indices for part in again] == [part.indices for part in parts]


def test_lengths_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Sum of input lengths is 9, which does not equal .* dataset: 10"):
        data.random_split(range(10), [4, 5])
    with pytest.raises(ValueError, match=r"Fraction at index 0 is not between 0 and 1: -0\.5"):
        data.random_split(range(10), [-0.5, 1.5])


def test_what_is_not_defined_is_named() -> None:
    with pytest.raises(NotImplementedError, match="Dataset does not define __getitem__"):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError, match="IterableDataset does not define __iter__"):
        iter(data.IterableDataset())
    with pytest.raises(NotImplementedError, match="Sampler does not define __iter__"):
        iter(data.Sampler())


def test_samples_one_after_another_are_batched_and_their_number_told_where_it_is_known() -> None:
    class Count(data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter(range(5))

        def __len__(self) -> int:
            return 5

    assert [batch.tolist() for batch in data.DataLoader(Count(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [batch.tolist() for batch in data.DataLoader(Count(), batch_size=2, drop_last=True)] == [
        [0, 1],
        [2, 3],
    ]
    assert list(data.DataLoader(Count(), batch_size=None)) == [0, 1, 2, 3, 4]
    lengths = [len(data.DataLoader(Count(), size, drop_last=last)) for size, last in ((2, False), (2, True))]
    assert lengths == [3, 2]
    assert len(data.DataLoader(Count(), None)) == 5
    with pytest.raises(TypeError, match="has no len"):
        len(data.DataLoader(data.IterableDataset()))
