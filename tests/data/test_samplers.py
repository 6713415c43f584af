"""Samplers: the order of samples, and what makes a batch."""

from __future__ import annotations

from typing import Any

import pytest

import kellet
from kellet import data
from tests.tables import one_test


def seeded() -> kellet.Generator:
    return kellet.Generator().manual_seed(11)


def test_all_come_in_order_or_at_random() -> None:
    assert list(data.SequentialSampler("abcd")) == [0, 1, 2, 3]
    one, other = (list(data.RandomSampler(range(50), generator=seeded())) for _ in range(2))
    assert one == other
    assert sorted(one) == list(range(50))
    assert one != list(range(50))


def test_a_pass_differs_from_the_next_and_runs_repeat() -> None:
    def passes() -> list[list[int]]:
        kellet.manual_seed(5)
        sampler = data.RandomSampler(range(30))
        return [list(sampler), list(sampler)]

    first, second = passes()
    assert first != second
    assert passes() == [first, second]


@pytest.mark.parametrize(("count", "replacement"), [(7, False), (3, False), (9, True)])
def test_another_number_than_all_can_be_drawn(count: int, replacement: bool) -> None:
    sampler = data.RandomSampler("abc", replacement, count, seeded())
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == count
    assert set(drawn) <= {0, 1, 2}
    if not replacement:
        assert sorted(drawn[:3]) == [0, 1, 2]


def test_some_come_at_random_and_some_by_their_weight() -> None:
    assert sorted(data.SubsetRandomSampler([4, 9, 2], seeded())) == [2, 4, 9]
    assert len(data.SubsetRandomSampler([4, 9, 2])) == 3
    weighted = data.WeightedRandomSampler(kellet.tensor([1.0, 0.0, 3.0]), 4000, generator=seeded())
    drawn = list(weighted)
    assert len(weighted) == len(drawn) == 4000
    assert 1 not in drawn
    assert 0.7 < drawn.count(2) / 4000 < 0.8
    assert sorted(data.WeightedRandomSampler([1, 0, 3], 2, replacement=False)) == [0, 2]


def test_numbers_come_in_batches() -> None:
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(data.BatchSampler(range(5), 2, last)) for last in (False, True)] == [3, 2]


@one_test
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: data.RandomSampler([]), "num_samples should be a positive integer value"),
        (lambda: data.RandomSampler("a", num_samples=0), "num_samples=0"),
        (lambda: data.BatchSampler(range(3), 0, False), "batch_size should be a positive integer value"),
        (lambda: data.BatchSampler(range(3), True, False), "batch_size=True"),
        (lambda: data.WeightedRandomSampler([1.0], 0), "num_samples=0"),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), "a vector of numbers of 0 or more"),
        (lambda: data.WeightedRandomSampler([-1.0, 2.0], 1), "a vector of numbers of 0 or more"),
        (lambda: data.WeightedRandomSampler([0.0], 1), "a vector of numbers of 0 or more"),
        (lambda: data.WeightedRandomSampler([0.0, 1.0], 2, False), "only 1 weights are not zero"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_generator_goes_on_from_its_state_and_can_be_copied() -> None:
    import copy
    import pickle

    one = seeded()
    kellet.rand(3, generator=one)
    state = one.get_state()
    assert (state.dtype, tuple(state.shape)) == (kellet.uint8, (45,))
    expected = kellet.rand(4, generator=one).tolist()
    for other in (kellet.Generator().set_state(state), copy.deepcopy(kellet.Generator().set_state(state))):
        assert kellet.rand(4, generator=other).tolist() == expected
    again = pickle.loads(pickle.dumps(kellet.Generator().set_state(state)))
    assert again.initial_seed() == 11
    assert kellet.rand(4, generator=again).tolist() == expected
    assert one.device == "cpu"
    assert one.seed() == one.initial_seed() != 11
    with pytest.raises(
        ValueError, match=r"found a tensor of float32, shape \(2,\); expected the state of a generator"
    ):
        one.set_state(kellet.ones(2))


def test_the_process_goes_on_from_its_state() -> None:
    state = kellet.get_rng_state()
    drawn = [
        kellet.randn(2).tolist(),
        kellet.randint(9, (3,)).tolist(),
        kellet.randperm(5).tolist(),
        kellet.normal(1.0, 2.0, (2,)).tolist(),
        kellet.bernoulli(kellet.full((8,), 0.5)).tolist(),
    ]
    kellet.set_rng_state(state)
    source = kellet.Generator().set_state(state)
    own = [
        kellet.randn(2, generator=source).tolist(),
        kellet.randint(9, (3,), generator=source).tolist(),
        kellet.randperm(5, generator=source).tolist(),
        kellet.normal(1.0, 2.0, (2,), generator=source).tolist(),
        kellet.bernoulli(kellet.full((8,), 0.5), generator=source).tolist(),
    ]
    assert own == drawn
    assert kellet.randn(2).tolist() == drawn[0]
    assert kellet.nn.init.uniform_(kellet.ones(2), generator=seeded()).tolist() == (
        kellet.nn.init.uniform_(kellet.ones(2), generator=seeded()).tolist()
    )
