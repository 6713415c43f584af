"""Groups: alone by default, the same operations on every rank, errors that say where ranks differ."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import kellet
import kellet.distributed as dist
from kellet.distributed import mpi, world
from kellet.distributed.work import WorkQueue
from kellet.errors import (
    CollectiveTimeoutError,
    DistributedError,
    DTypeError,
    MPIMissingError,
    RankFailedError,
    RankMismatchError,
    ShapeError,
)
from tests import processes
from tests.distributed.ranks import on_ranks, outcomes_on_ranks
from tests.tables import one_test


@pytest.fixture
def alone() -> Any:
    dist.init_process_group()
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_script_that_no_mpiexec_started_is_a_group_of_one(alone: dist.ProcessGroup) -> None:
    assert (dist.is_initialized(), dist.get_rank(), dist.get_world_size()) == (True, 0, 1)
    assert isinstance(alone.transport, dist.AloneTransport)
    x = kellet.tensor([1.0, 2.0])
    dist.all_reduce(x)
    dist.broadcast(x, src=0)
    dist.barrier()
    assert x.tolist() == [1.0, 2.0]
    assert alone.all_gather_bytes(b"a") == [b"a"]
    assert alone.broadcast_bytes(b"b") == b"b"


def test_what_starts_and_ends_a_group_a_second_time_is_refused(alone: dist.ProcessGroup) -> None:
    with pytest.raises(DistributedError, match="initialize the default process group twice"):
        dist.init_process_group()
    dist.destroy_process_group()
    assert not dist.is_initialized()
    with pytest.raises(DistributedError, match=r"has not been initialized; call kellet\.distributed"):
        dist.get_rank()
    with pytest.raises(DistributedError, match="the group of all processes has been destroyed"):
        alone.barrier()


def test_other_backends_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected the backend 'mpi', or None .* found 'nccl'"):
        dist.init_process_group("nccl")


class Comm:
    """A communicator of MPI, as far as groups ask it; `told` says what became of it."""

    def __init__(self, told: list[str], name: str = "wide") -> None:
        self.told, self.name = told, name

    def Ibarrier(self) -> Any:
        return SimpleNamespace(Test=lambda: True)

    def Dup(self) -> Comm:
        return Comm(self.told, f"copy of {self.name}")

    def Split(self, colour: int, key: int) -> Comm:
        return Comm(self.told, f"split {colour} {key}")

    def Free(self) -> None:
        self.told.append(f"{self.name} is freed")

    def Get_rank(self) -> int:
        return 2

    def Get_size(self) -> int:
        return 4


def test_what_waits_in_a_queue_does_not_keep_a_process_alive() -> None:
    threads: list[threading.Thread] = []
    queue = WorkQueue("work")
    queue.put(lambda: threads.append(threading.current_thread())).wait()
    queue.close()
    assert [one.daemon for one in threads] == [True]


def test_a_group_of_some_ranks_keeps_one_communicator(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(mpi, "load_mpi", lambda: SimpleNamespace(UNDEFINED=-1))
    wide = mpi.MPITransport(Comm(told), timeout=1, watch=cast(Any, SimpleNamespace(world_ranks=vars)))
    part = wide.part([1, 2])
    assert part is not None
    assert told == ["split 0 1 is freed"]
    part.close()
    assert told[1:] == ["copy of split 0 1 is freed"]
    assert wide.part([0, 1]) is None
    assert told[2:] == []


def test_a_rank_that_fails_prints_all_it_has_before_it_ends_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    for name in ("stderr", "stdout"):
        monkeypatch.setattr(sys, name, SimpleNamespace(flush=partial(told.append, name)))
    monkeypatch.setattr(world, "FORWARDING", 0.0)
    watch = SimpleNamespace(
        announce_failure=lambda message, cause: told.append(message), wait_for_the_others=lambda seconds: None
    )
    transport = SimpleNamespace(watch=watch, abort=lambda: told.append("all end"))
    last = SimpleNamespace(_transport=transport)
    world._LastWords._end_all(cast(Any, last), "it has given up")
    assert told == ["stderr", "stdout", "it has given up", "all end"]


FRESH = """
import sys
import kellet, kellet.distributed as dist
assert "mpi4py" not in sys.modules, "import"
dist.init_process_group(); dist.barrier(); dist.destroy_process_group()
assert "mpi4py" not in sys.modules, "alone"
sys.modules["mpi4py"] = None  # as where it is not installed
import os
try:
    dist.init_process_group("mpi")
except kellet.errors.MPIMissingError as error:
    print(error)
os.environ["PMI_SIZE"] = "2"
try:
    dist.init_process_group()
except ImportError as error:
    print(type(error).__name__, dist.is_initialized())
"""


def test_mpi4py_is_imported_where_it_is_wanted_alone_and_its_absence_says_what_to_install() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI_")}
    done = processes.run(
        [sys.executable, "-c", FRESH], cold=True, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert re.fullmatch(
        r"kellet\.distributed needs mpi4py and an MPI library, and cannot import mpi4py\.MPI: .*; "
        r"install both with: pip install 'kellet\[mpi\]'",
        first,
    )
    assert second == "MPIMissingError False"
    assert issubclass(MPIMissingError, ImportError)


def test_operations_of_four_ranks() -> None:
    def work(group: dist.ProcessGroup) -> list[Any]:
        rank = group.rank()
        summed = kellet.tensor([float(rank), 1.0])
        dist.all_reduce(summed, group=group)
        means = kellet.tensor([[float(rank)]])
        dist.all_reduce(means, dist.ReduceOp.AVG, group)
        sent = kellet.full((2,), rank)
        dist.broadcast(sent, src=2, group=group)
        gathered = [kellet.zeros(1, dtype="int64") for _ in range(4)]
        dist.all_gather(gathered, kellet.tensor([rank * rank]), group)
        whole = np.zeros((4, 2), np.float32)
        dist.all_gather_into_tensor(whole, np.full(2, rank, np.float32), group)
        mine = kellet.zeros(2)
        dist.reduce_scatter_tensor(mine, kellet.arange(8).float() + rank, group=group)
        part = kellet.zeros(1)
        dist.reduce_scatter(part, [kellet.tensor([float(k)]) for k in range(4)], dist.ReduceOp.MAX, group)
        return [
            *(summed.tolist(), means.tolist(), sent.tolist(), [each.item() for each in gathered]),
            *(whole[:, 1].tolist(), mine.tolist(), part.tolist()),
        ]

    found = on_ranks(4, work)
    for rank, (summed, means, sent, gathered, whole, mine, part) in enumerate(found):
        assert (summed, means, sent) == ([6.0, 4.0], [[1.5]], [2, 2])
        assert (gathered, whole) == ([0, 1, 4, 9], [0.0, 1.0, 2.0, 3.0])
        assert mine == [4.0 * (2 * rank) + 6.0, 4.0 * (2 * rank + 1) + 6.0]
        assert part == [float(rank)]


@one_test
@pytest.mark.parametrize(
    ("op", "expected"),
    [("SUM", 5), ("PRODUCT", 6), ("MIN", 2), ("MAX", 3), ("BAND", 2), ("BOR", 3), ("BXOR", 1)],
)
def test_every_reduce_op_of_integers(op: str, expected: int) -> None:
    def work(group: dist.ProcessGroup) -> list[int]:
        x = kellet.tensor([2 + group.rank()])
        dist.all_reduce(x, dist.ReduceOp[op], group)
        found: list[int] = x.tolist()
        return found

    assert on_ranks(2, work) == [[expected], [expected]]


def test_bools_are_put_together_as_bits() -> None:
    def work(group: dist.ProcessGroup) -> list[bool]:
        either = kellet.tensor([group.rank() == 0, False])
        dist.all_reduce(either, dist.ReduceOp.BOR, group)
        both = kellet.tensor([group.rank() == 0, True])
        dist.all_reduce(both, dist.ReduceOp.MIN, group)
        assert either.dtype == both.dtype == kellet.bool
        return [*either.tolist(), *both.tolist()]

    assert on_ranks(2, work) == [[True, False, False, True]] * 2


def test_what_is_not_contiguous_is_written_in_its_place_and_its_version_counts() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        whole = kellet.zeros(2, 3)
        before = whole._version
        view = whole.t()
        dist.all_reduce(view.add_(1.0), group=group)
        return whole.tolist(), whole._version - before

    assert on_ranks(2, work) == [([[2.0] * 3] * 2, 2)] * 2


def test_a_value_saved_for_backward_is_not_replaced_unseen() -> None:
    x = kellet.ones(2, requires_grad=True)
    y = x.exp()
    dist.all_reduce(y.detach(), group=dist.ProcessGroup(dist.AloneTransport()))
    with pytest.raises(kellet.errors.VersionError):
        y.sum().backward()


def test_an_operation_that_the_dtype_does_not_have_is_refused() -> None:
    group = dist.ProcessGroup(dist.AloneTransport())
    for dtype, op in [("bool", "SUM"), ("int64", "AVG"), ("float32", "BAND"), ("complex64", "MAX")]:
        with pytest.raises(DTypeError, match=f"{dtype} has no ReduceOp.{op}"):
            dist.all_reduce(kellet.zeros(1, dtype=dtype), dist.ReduceOp[op], group)
    with pytest.raises(TypeError, match="expected op to be a ReduceOp, got str"):
        dist.all_reduce(kellet.zeros(1), "sum", group)


def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent() -> None:
    group = dist.ProcessGroup(dist.AloneTransport())
    with pytest.raises(ShapeError, match="expected a list of 1 tensors, one for each rank; found 2"):
        dist.all_gather([kellet.zeros(1), kellet.zeros(1)], kellet.zeros(1), group)
    with pytest.raises(ShapeError, match=r"tensor 0 of the list has shape \(2,\), expected \(1,\)"):
        dist.all_gather([kellet.zeros(2)], kellet.zeros(1), group)
    with pytest.raises(DTypeError, match="expected tensors of one dtype; found float64 and float32"):
        dist.reduce_scatter(kellet.zeros(1), [kellet.zeros(1, dtype="float64")], group=group)
    with pytest.raises(ShapeError, match=r"expected a tensor of shape \(2,\) or \(1, 2\); found \(3,\)"):
        dist.all_gather_into_tensor(kellet.zeros(3), kellet.zeros(2), group)
    with pytest.raises(ValueError, match="expected either src or group_src; found None and None"):
        dist.broadcast(kellet.zeros(1), group=group)
    with pytest.raises(ValueError, match="Global rank 3 is not part of group"):
        dist.broadcast(kellet.zeros(1), src=3, group=group)
    with pytest.raises(TypeError, match=r"expected a kellet\.Tensor or a numpy\.ndarray, got list"):
        dist.all_reduce([1.0], group=group)
    fixed = np.ones(2)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        dist.all_reduce(fixed, group=group)
    with pytest.raises(TypeError, match="group must be a ProcessGroup or None, got int"):
        dist.barrier(3)


def test_ranks_that_ask_for_different_things_all_raise_and_nothing_is_exchanged() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        x = kellet.ones(3 + group.rank())
        try:
            dist.all_reduce(x, group=group)
        except RankMismatchError as error:
            y = kellet.ones(1)
            dist.all_reduce(y, group=group)  # the group goes on
            return str(error), x.tolist(), y.item()

    first, second = on_ranks(2, work)
    assert first[0] == second[0]
    assert "  rank 0: all_reduce SUM float32 (3,), as operation 1\n" in first[0]
    assert "  rank 1: all_reduce SUM float32 (4,), as operation 1\n" in first[0]
    assert (first[1:], second[1:]) == (([1.0] * 3, 2.0), ([1.0] * 4, 2.0))


@pytest.mark.parametrize(
    "differ",
    [
        lambda group: dist.all_reduce(
            kellet.zeros(1, dtype=["float32", "float64"][group.rank()]), group=group
        ),
        lambda group: dist.all_reduce(kellet.zeros(1), list(dist.ReduceOp)[group.rank()], group),
        lambda group: dist.broadcast(kellet.zeros(1), group=group, group_src=group.rank()),
        lambda group: group.barrier() if group.rank() else dist.all_reduce(kellet.zeros(1), group=group),
        lambda group: group.new_group([group.rank()]),
    ],
)
def test_dtype_op_source_and_kind_of_operation_are_compared(differ: Any) -> None:
    outcomes = outcomes_on_ranks(2, differ)
    assert [type(each) for each in outcomes] == [RankMismatchError] * 2


def test_a_rank_that_fails_ends_the_wait_of_the_others() -> None:
    def work(group: dist.ProcessGroup) -> None:
        if group.rank() == 1:
            raise ValueError("no data")
        group.barrier()

    waiting, failed = outcomes_on_ranks(2, work)
    assert isinstance(failed, ValueError)
    assert isinstance(waiting, RankFailedError)
    assert (str(waiting), waiting.rank) == ("rank 1 has failed: ValueError: no data", 1)
    assert issubclass(CollectiveTimeoutError, TimeoutError)


def test_a_part_of_the_ranks_is_a_group_with_numbers_of_its_own() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        part = group.new_group([2, 0])
        if part is None:
            return group.rank(), None
        x = kellet.tensor([float(group.rank())])
        dist.broadcast(x, src=2, group=part)
        assert dist.get_process_group_ranks(part) == [2, 0]
        assert (dist.get_global_rank(part, 1), dist.get_group_rank(part, 2)) == (0, 0)
        return part.rank(), x.item()

    assert on_ranks(3, work) == [(1, 2.0), (1, None), (0, 2.0)]


def test_new_group_takes_different_ranks_that_are_there() -> None:
    group = dist.ProcessGroup(dist.AloneTransport())
    with pytest.raises(ValueError, match=r"expected different ranks, at least one; found \[0, 0\]"):
        group.new_group([0, 0])
    with pytest.raises(ValueError, match="rank 1 is not in the group: expected 0 to 0"):
        group.new_group([1])
    with pytest.raises(TypeError, match="rank 0 has to give bytes, got None"):
        group.broadcast_bytes(None)


def test_who_is_no_member_is_told_so(alone: dist.ProcessGroup) -> None:
    outside: Any = dist.GroupMember.NON_GROUP_MEMBER
    assert (dist.get_rank(outside), dist.get_world_size(outside)) == (-1, -1)
    with pytest.raises(DistributedError, match="this rank is not in the group"):
        dist.barrier(outside)
    with pytest.raises(ValueError, match="a size that divides the number of processes, 1; found 2"):
        dist.new_subgroups(2)


def test_async_operations_are_done_in_order_and_their_value_is_the_list_of_tensors() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        tensors = [kellet.tensor([float(k)]) for k in range(5)]
        works = [dist.all_reduce(each, group=group, async_op=True) for each in tensors]
        last = works[-1]
        assert isinstance(last, dist.Work)
        assert last.wait() == [tensors[-1]]
        assert all(each is not None and each.is_completed() for each in works)
        assert last.get_future() is last
        assert last.result()[0] is tensors[-1]
        return [each.item() for each in tensors]

    assert on_ranks(2, work) == [[0.0, 2.0, 4.0, 6.0, 8.0]] * 2


def test_an_async_operation_returns_before_the_other_rank_has_come() -> None:
    may_come = threading.Event()

    def work(group: dist.ProcessGroup) -> bool:
        if group.rank() == 1:
            assert may_come.wait(10)
        pending = dist.all_reduce(kellet.ones(1), group=group, async_op=True)
        assert pending is not None
        early = pending.done()
        may_come.set()
        pending.wait()
        return early

    assert on_ranks(2, work)[0] is False


def test_an_error_of_an_async_operation_is_raised_by_wait() -> None:
    def work(group: dist.ProcessGroup) -> None:
        pending = dist.all_reduce(kellet.ones(1 + group.rank()), group=group, async_op=True)
        assert pending is not None
        pending.wait()

    assert [type(each) for each in outcomes_on_ranks(2, work)] == [RankMismatchError] * 2


def test_operations_started_by_callbacks_come_in_one_order_however_late_then_is_called() -> None:
    """Rank 0 asks for the callback when the operation is long over, rank 1 at once."""

    def work(group: dist.ProcessGroup) -> Any:
        first = dist.all_reduce(kellet.tensor([1.0]), group=group, async_op=True)
        assert first is not None
        if group.rank() == 0:
            first.wait()
            time.sleep(0.05)

        def again(done: Any) -> Any:
            x = done.value()[0] * 10
            dist.all_reduce(x, group=group)
            return x

        second = first.then(again)
        third = dist.all_reduce(kellet.tensor([[5.0]]), group=group, async_op=True)
        assert third is not None
        return second.wait().item(), third.wait()[0].item()

    assert on_ranks(2, work) == [(40.0, 10.0)] * 2


def test_an_error_of_a_done_callback_is_told_by_the_hook_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(str(args.exc_value)))
    group = dist.ProcessGroup(dist.AloneTransport())
    work = dist.all_reduce(kellet.ones(1), group=group, async_op=True)
    assert work is not None
    work.add_done_callback(lambda done: done.value()[0].no_such_name)
    assert len(told) == 1
    assert "no_such_name" in told[0]
