"""Samplers: in which order the samples of a dataset come, and which of them make a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np

from ..core import Generator, Tensor, default_generator, randperm


class Sampler:
    """The base of samplers: a subclass defines `__iter__`, which gives numbers of samples, and `__len__`.

    Source: torch.utils.data.Sampler.

    >>> class Backwards(kellet.data.Sampler):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def __iter__(self):
    ...         return iter(range(self.size - 1, -1, -1))
    ...     def __len__(self):
    ...         return self.size
    >>> list(kellet.data.DataLoader("abc", sampler=Backwards(3), batch_size=None))
    ['c', 'b', 'a']
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class SequentialSampler(Sampler):
    """All samples, in order.

    Source: torch.utils.data.SequentialSampler.

    >>> list(kellet.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All samples in random order, or, with `replacement`, `num_samples` that are drawn each from all.

    Without replacement more than all samples are several rounds of all. Without a `generator` each pass draws
    a seed from that of the process, so that equal seeds give equal passes.

    Raises ValueError for a number of samples that is not a positive int.

    Source: torch.utils.data.RandomSampler.

    >>> sorted(kellet.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _require_positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many samples a pass has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or Generator().manual_seed(drawn_seed())
        total = len(self.data_source)
        if self.replacement:
            yield from generator.numpy().integers(0, total, self.num_samples).tolist()
            return
        left = self.num_samples
        while left > 0:
            yield from randperm(total, generator=generator).tolist()[:left]
            left -= total

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some samples, by their numbers, in random order.

    Source: torch.utils.data.SubsetRandomSampler.

    >>> sorted(kellet.data.SubsetRandomSampler([5, 3]))
    [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator).tolist()
        return (self.indices[place] for place in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` samples, each drawn with the probability that its weight has among all.

    Without `replacement` each is drawn at most once.

    Raises ValueError for weights that are not a vector, negative, or too few to draw from.

    Source: torch.utils.data.WeightedRandomSampler.

    >>> set(kellet.data.WeightedRandomSampler([0.0, 1.0, 0.0], 5))
    {1}
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _require_positive("num_samples", num_samples)
        values = weights.detach().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
        self.weights = values.astype(np.float64)
        if self.weights.ndim != 1 or not (self.weights >= 0).all() or not 0 < self.weights.sum() < np.inf:
            raise ValueError(f"weights should be a vector of numbers of 0 or more, but got {weights}")
        if not replacement and np.count_nonzero(self.weights) < num_samples:
            raise ValueError(
                f"num_samples={num_samples} without replacement, and only "
                f"{np.count_nonzero(self.weights)} weights are not zero"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        source = (self.generator or default_generator).numpy()
        shares = self.weights / self.weights.sum()
        drawn = source.choice(len(shares), self.num_samples, self.replacement, shares)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """The numbers that another sampler gives, `batch_size` at a time, as lists.

    With `drop_last` a last batch that is not full is left out.

    Raises ValueError for a batch size that is not a positive int.

    Source: torch.utils.data.BatchSampler.

    >>> list(kellet.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _require_positive("batch_size", batch_size)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        return in_batches(iter(self.sampler), self.batch_size, self.drop_last)

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # TypeError for a sampler without a length
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def in_batches(things: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Yield lists of so many things; a last one that is not full only without `drop_last`."""
    while batch := list(islice(things, size)):
        if len(batch) < size and drop_last:
            return
        yield batch


def drawn_seed(generator: Generator | None = None) -> int:
    """Return a seed that a generator, or that of the process, gives."""
    source = generator or default_generator
    return int(source.numpy().integers(0, 2**63))


def _require_positive(name: str, value: Any) -> None:
    if type(value) is not int or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")
