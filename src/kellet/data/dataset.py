"""Datasets: samples by number, samples one after another, and parts of both."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from ..core import Generator, Tensor, randperm


class Dataset:
    """The base of datasets with samples by number: a subclass defines `__getitem__` and, mostly, `__len__`.

    One that can give many samples at once faster than one by one defines `__getitems__(indices)` as well,
    which returns a list of them. `a + b` is both, one after the other.

    Source: torch.utils.data.Dataset.

    >>> class Squares(kellet.data.Dataset):
    ...     def __getitem__(self, index):
    ...         return index * index
    ...     def __len__(self):
    ...         return 4
    >>> len(Squares()), Squares()[3], len(Squares() + Squares())
    (4, 9, 8)
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__()")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base of datasets whose samples come one after another: a subclass defines `__iter__`.

    In a DataLoader with worker processes every worker has a copy: `get_worker_info()` says which part is its
    own.

    Source: torch.utils.data.IterableDataset.

    >>> class Count(kellet.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(kellet.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class TensorDataset(Dataset):
    """Rows of tensors that belong together: sample i has row i of each.

    Raises ValueError for tensors with different numbers of rows.

    Source: torch.utils.data.TensorDataset.

    >>> pairs = kellet.data.TensorDataset(kellet.arange(3), kellet.tensor([[1.0], [2.0], [3.0]]))
    >>> len(pairs), pairs[1]
    (3, (tensor(1), tensor([2.])))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tensor.shape[0] for tensor in tensors]
        if len(set(sizes)) > 1:
            raise ValueError(f"Size mismatch between tensors: found {sizes} rows; expected the same number")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class Subset(Dataset):
    """Some samples of a dataset, by their numbers there.

    Source: torch.utils.data.Subset.

    >>> kellet.data.Subset(["a", "b", "c"], [2, 0])[0]
    'c'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[place] for place in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        places = [self.indices[index] for index in indices]
        return samples_of(self.dataset, places)

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several datasets, one after another.

    Raises ValueError for none, TypeError for an IterableDataset, which has no numbers.

    Source: torch.utils.data.ConcatDataset.

    >>> both = kellet.data.ConcatDataset(["ab", "cde"])
    >>> len(both), both[2], both[-1]
    (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise TypeError("ConcatDataset does not support IterableDataset: its samples have no numbers")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: there are {len(self)} samples")
        index %= len(self)
        place = bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset]:
    """Divide a dataset at random into parts that do not overlap.

    `lengths` are numbers of samples, or shares that add up to 1: with shares each part is rounded down, and
    the samples left over go to the first parts, one to each.

    Raises ValueError for lengths that do not add up to the dataset's, and shares outside of 0 to 1.

    Source: torch.utils.data.random_split.

    >>> parts = kellet.data.random_split(range(10), [0.75, 0.25], kellet.Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted(part[i] for part in parts for i in range(len(part)))
    ([8, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    counts = _counts(len(dataset), lengths)
    if sum(counts) != len(dataset):
        raise ValueError(
            f"Sum of input lengths is {sum(counts)}, which does not equal the length of the input dataset: "
            f"{len(dataset)}"
        )
    order = randperm(len(dataset), generator=generator).tolist()
    ends = list(accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]


def samples_of(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Return samples by their numbers, all at once where the dataset can.

    Raises ValueError where the dataset gives another number of them.
    """
    at_once = getattr(dataset, "__getitems__", None)
    if at_once is None:
        return [dataset[index] for index in indices]
    samples = at_once(list(indices))
    if len(samples) != len(indices):
        raise ValueError(f"__getitems__ returned {len(samples)} samples for {len(indices)} indices")
    return list(samples)


def _counts(total: int, lengths: Sequence[int | float]) -> list[int]:
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9):
        return [int(length) for length in lengths]
    for place, share in enumerate(lengths):
        if not 0 <= share <= 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1: {share}")
    counts = [math.floor(total * share) for share in lengths]
    for place in range(total - sum(counts)):
        counts[place % len(counts)] += 1
    return counts
