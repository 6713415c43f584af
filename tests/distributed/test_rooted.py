"""Reduce, gather and scatter: one rank has the result or the parts, the tensors of the others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
import kellet.distributed as dist
from kellet.errors import DTypeError, RankMismatchError, ShapeError
from tests.distributed.ranks import on_ranks, outcomes_on_ranks
from tests.tables import one_test


@one_test
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("root", [0, 2])
def test_one_rank_gets_what_all_make_together(dtype: str, root: int) -> None:
    op = dist.ReduceOp.MAX if dtype == "bool" else dist.ReduceOp.SUM

    def work(group: dist.ProcessGroup) -> list[Any]:
        x = kellet.tensor([group.rank(), 1]).to(dtype)
        dist.reduce(x, root, op, group)
        return x.tolist()  # type: ignore[no-any-return]  # a list of numbers

    sums = [True, True] if dtype == "bool" else [3, 3]
    kept = [bool(rank) if dtype == "bool" else rank for rank in range(3)]
    expected = [sums if rank == root else [kept[rank], 1] for rank in range(3)]
    assert on_ranks(3, work) == expected


def test_an_average_is_that_of_the_ranks_and_layouts_do_not_matter() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        whole = np.zeros((2, 4), np.float32)
        whole[:, ::2] = group.rank()
        dist.reduce(whole[:, ::2], group_dst=1, op=dist.ReduceOp.AVG, group=group)
        return whole.tolist()

    assert on_ranks(2, work) == [[[0.0] * 4] * 2, [[0.5, 0.0, 0.5, 0.0]] * 2]


def test_one_rank_gets_the_tensors_of_all() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        mine = kellet.full((2,), float(group.rank()))
        if group.rank() != 1:
            return dist.gather(mine, dst=1, group=group)
        found = [kellet.zeros(2) for _ in range(3)]
        work = dist.gather(mine, found, 1, group, async_op=True)
        assert work is not None
        assert work.wait() == found
        return [each.tolist() for each in found]

    assert on_ranks(3, work) == [None, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], None]


def test_each_rank_gets_its_tensor_of_one() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        mine = kellet.zeros((2, 2), dtype="int64")
        parts = [kellet.full((2, 2), 10 + rank).T for rank in range(3)] if group.rank() == 0 else None
        dist.scatter(mine, parts, group=group)
        return mine.tolist()

    assert on_ranks(3, work) == [[[10 + rank] * 2] * 2 for rank in range(3)]


def test_what_is_reduced_is_told_to_the_graph() -> None:
    x = kellet.ones(2)
    before = x._version
    dist.reduce(x, 0, group=dist.ProcessGroup(dist.AloneTransport()))
    assert x._version > before


def test_ranks_that_name_another_root_are_told_so() -> None:
    def work(group: dist.ProcessGroup) -> None:
        dist.reduce(kellet.ones(1), group.rank(), group=group)

    errors = outcomes_on_ranks(2, work)
    assert [type(error) for error in errors] == [RankMismatchError] * 2
    assert "rank 1: reduce SUM float32 (1,) to 1" in str(errors[0])


def test_arguments_that_cannot_be() -> None:
    alone = dist.ProcessGroup(dist.AloneTransport())
    x = kellet.ones(2)
    with pytest.raises(ValueError, match="reduce: expected either dst or group_dst; found None and None"):
        dist.reduce(x, group=alone)
    with pytest.raises(ValueError, match="gather: expected either dst or group_dst; found 0 and 0"):
        dist.gather(x, [x], 0, alone, group_dst=0)
    with pytest.raises(ValueError, match="rank 1 is not in the group: expected 0 to 0"):
        dist.scatter(x, [x], group=alone, group_src=1)
    with pytest.raises(
        ValueError, match="gather: gather_list has to be given on rank 0; rank 0 alone has it"
    ):
        dist.gather(x, group=alone)
    with pytest.raises(ShapeError, match="scatter: expected a list of 1 tensors, one for each rank; found 2"):
        dist.scatter(x, [x, x], group=alone)
    with pytest.raises(ShapeError, match=r"gather: tensor 0 of the list has shape \(3,\), expected \(2,\)"):
        dist.gather(x, [kellet.ones(3)], group=alone)
    with pytest.raises(DTypeError, match=r"reduce: int64 has no ReduceOp\.AVG"):
        dist.reduce(kellet.tensor([1]), 0, dist.ReduceOp.AVG, alone)


def test_a_list_on_another_rank_is_refused_there() -> None:
    def work(group: dist.ProcessGroup) -> None:
        x = kellet.ones(1)
        dist.scatter(x, [x, x], group=group)

    _, error = outcomes_on_ranks(2, work)
    assert isinstance(error, ValueError)
    assert str(error) == "scatter: scatter_list must not be given on rank 1; rank 0 alone has it"
