"""What ranks tell each other: values in their order, and failures, each once and to all."""

from __future__ import annotations

from typing import Any

import pytest

from kellet.distributed import ProcessGroup
from packager._ranks import OtherRankError, Ranks, RanksDisagreeError
from packager.errors import ArgumentError
from tests.distributed.ranks import on_ranks, outcomes_on_ranks


class Recorded:
    """A group of two whose other rank says what it is told to, or raises."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked = 0

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 2

    def all_gather_bytes(self, data: bytes) -> list[bytes]:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [data, data if answer is None else answer]


def test_values_come_in_the_order_of_ranks() -> None:
    def work(group: ProcessGroup) -> Any:
        ranks = Ranks(group)
        return ranks.exchange("counting", [ranks.rank, None, "é", b"\0"]), ranks.from_first("it", ranks.rank)

    values = [[rank, None, "é", b"\0"] for rank in range(3)]
    assert on_ranks(3, work) == [(values, 0)] * 3


def test_values_of_models_with_many_tensors_come_whole() -> None:
    many = [0] * 500_000
    assert on_ranks(2, lambda group: Ranks(group).exchange("listing", many) == [many, many]) == [True, True]


def test_a_rank_alone_exchanges_nothing() -> None:
    assert Ranks(None).exchange("counting", object) == [object]
    assert Ranks(None).is_first


def test_ranks_at_different_steps_are_told_alike() -> None:
    errors = outcomes_on_ranks(2, lambda group: Ranks(group).exchange(f"step {group.rank()}", 0))
    assert [type(error) for error in errors] == [RanksDisagreeError] * 2
    assert errors[0].problems[1:] == errors[1].problems[1:] == ("rank 0: step 0", "rank 1: step 1")


def test_an_error_is_told_once_to_all_and_the_next_exchange_works() -> None:
    def work(group: ProcessGroup) -> tuple[str, list[int]]:
        ranks = Ranks(group)
        text = ""
        try:
            with ranks.telling(), ranks.telling():  # of two blocks around it one tells
                if ranks.rank == 1:
                    raise ValueError("no such file")
                ranks.exchange("reading", 0)
        except (ValueError, OtherRankError) as error:
            text = f"{type(error).__name__}: {error}"
        return text, ranks.exchange("going on", ranks.rank)

    (first, values), (second, others) = on_ranks(2, work)
    assert first == (
        "OtherRankError: reading: rank 1 failed, so this rank stops. Correct its "
        "error, and export again on all ranks: ValueError: no such file"
    )
    assert second == "ValueError: no such file"
    assert values == others == [0, 1]


def test_both_may_fail_at_once() -> None:
    def work(group: ProcessGroup) -> None:
        with Ranks(group).telling():
            raise ValueError(str(group.rank()))

    assert [str(error) for error in outcomes_on_ranks(2, work)] == ["0", "1"]


def test_what_the_group_raises_goes_through_and_nothing_more_is_asked_of_it() -> None:
    group = Recorded(TimeoutError("rank 1 does not come"))
    ranks = Ranks(group)
    with pytest.raises(TimeoutError, match="rank 1 does not come"), ranks.telling():
        ranks.exchange("counting", 1)
    assert group.asked == 1


def test_an_error_goes_through_where_nobody_hears_it() -> None:
    group = Recorded(TimeoutError("rank 1 does not come"))
    with pytest.raises(ValueError, match="no such file"), Ranks(group).telling():
        raise ValueError("no such file")
    assert group.asked == 1


def test_an_interrupt_is_not_told() -> None:
    group = Recorded()
    with pytest.raises(KeyboardInterrupt), Ranks(group).telling():
        raise KeyboardInterrupt
    assert group.asked == 0


def test_an_error_of_any_text_is_told() -> None:
    def work(group: ProcessGroup) -> None:
        ranks = Ranks(group)
        with ranks.telling():
            if ranks.rank == 1:
                raise ValueError("\udcff" + "x" * 10_000)
            ranks.exchange("reading", 0)

    first, _ = outcomes_on_ranks(2, work)
    assert isinstance(first, OtherRankError)
    assert first.rank == 1
    assert 1900 < len(str(first)) < 2300


def test_what_is_no_group_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"after init_process_group\(\); found no rank\(\)"):
        Ranks("world")  # type: ignore[arg-type]  # that is what is tried
