"""What every rank does under mpiexec: each check returns plain values, which all ranks write down.

    mpiexec -n 4 python tests/mpi/program.py FOLDER

`test_mpi.py` starts it once for each number of ranks, and judges what it finds in FOLDER.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from kellet.errors import RankMismatchError
from kellet.nn.parallel import DistributedDataParallel

CHECKS: list[Callable[[int, int], Any]] = []
PART = 4


def check(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    CHECKS.append(function)
    return function


@check
def where(rank: int, size: int) -> Any:
    return [dist.get_rank(), dist.get_world_size(), type(dist.group.WORLD.transport).__name__]


@check
def sums(rank: int, size: int) -> Any:
    """Whether an all-reduce of each dtype, number of elements and layout is what NumPy says."""
    wrong = []
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "int64", "uint8", "complex64"):
        for count in (0, 1, 7, 1000):
            tensors = [kellet.arange(count).to(dtype).add_(each) for each in range(size)]
            expected = sum(each.double() if dtype != "complex64" else each for each in tensors).to(dtype)
            mine = tensors[rank].clone()
            dist.all_reduce(mine)
            if not kellet.equal(mine, expected):
                wrong.append(f"{dtype} {count}")
    whole = np.zeros((4, 6), np.float32)
    dist.all_reduce(np.add(whole[:, ::2], 1, out=whole[:, ::2]))
    if not np.array_equal(whole, np.tile([size, 0.0], (4, 3))):
        wrong.append("not contiguous")
    return wrong


@check
def other_operations(rank: int, size: int) -> Any:
    x = kellet.tensor([rank + 1])
    dist.all_reduce(x, dist.ReduceOp.PRODUCT)
    flag = kellet.tensor([rank == 0, False])
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    mean = kellet.tensor([float(rank)]).half()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    sent = kellet.full((3,), rank)
    dist.broadcast(sent, src=size - 1)
    gathered = [kellet.zeros(2) for _ in range(size)]
    dist.all_gather(gathered, kellet.full((2,), float(rank)))
    rows = kellet.zeros(size, 1).half()
    dist.all_gather_into_tensor(rows, kellet.full((1,), float(rank)).half())
    part, half = kellet.zeros(2), kellet.zeros(1).half()
    dist.reduce_scatter_tensor(part, kellet.arange(2 * size).float())
    dist.reduce_scatter_tensor(half, kellet.arange(size).half(), dist.ReduceOp.MAX)
    return [
        *(x.tolist(), flag.tolist(), mean.tolist(), sent.tolist()),
        *([each.tolist() for each in gathered], rows.tolist(), part.tolist(), half.tolist()),
    ]


@check
def small_bytes(rank: int, size: int) -> Any:
    """Bytes of unequal lengths, longer than the first message holds on some ranks, none at all on one."""
    lengths = [0, 3000, 247, 249]
    found = dist.group.WORLD.all_gather_bytes(bytes([rank]) * lengths[rank])
    sent = dist.group.WORLD.broadcast_bytes(b"x" * 5000 if rank == 1 else None, src=1)
    return [found == [bytes([each]) * lengths[each] for each in range(size)], len(sent)]


@check
def parts(rank: int, size: int) -> Any:
    mine, every = dist.new_subgroups(2)
    x = kellet.tensor([float(rank)])
    dist.all_reduce(x, group=mine)
    backwards = dist.new_group(list(range(size))[::-1])
    first = dist.new_group([0])
    return [
        *(x.item(), dist.get_rank(mine), dist.get_process_group_ranks(mine)),
        *(dist.get_rank(backwards), dist.get_rank(first), len(every)),
    ]


@check
def mismatch(rank: int, size: int) -> Any:
    try:
        dist.all_reduce(kellet.zeros(2 + (rank == 1)))
    except RankMismatchError as error:
        x = kellet.ones(1)
        dist.all_reduce(x)
        return [str(error), x.item()]


@check
def in_order(rank: int, size: int) -> Any:
    """Operations that callbacks start, on one rank long after the first operation is over."""
    works = [dist.all_reduce(kellet.full((n,), 1.0), async_op=True) for n in range(1, 30)]
    if rank == 0:
        works[-1].wait()
        time.sleep(0.05)

    def again(done: Any) -> Any:
        x = done.value()[0] * 2
        dist.all_reduce(x)
        return x.item()

    chained = works[0].then(again)
    last = dist.all_reduce(kellet.ones(40), async_op=True)
    return [chained.wait(), last.wait()[0].sum().item(), all(work.is_completed() for work in works)]


def net(seed: int) -> nn.Module:
    made = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    draw = np.random.default_rng(seed)
    for parameter in made.parameters():
        parameter.data = kellet.from_numpy(draw.standard_normal(parameter.shape).astype(np.float32))
    return made


def loss_of(module: Any, step: int, rows: slice, total: int) -> Any:
    draw = np.random.default_rng(100 + step)
    x, y = draw.standard_normal((total, 6)), draw.standard_normal((total, 3))
    pair = [kellet.from_numpy(each[rows].astype(np.float32)) for each in (x, y)]
    return nn.functional.mse_loss(module(pair[0]), pair[1])


def train(module: Any, rows: slice, total: int) -> Any:
    optimizer = kellet.optim.Adam(module.parameters(), lr=0.05)
    losses, first = [], []
    for step in range(20):
        optimizer.zero_grad()
        loss = loss_of(module, step, rows, total)
        loss.backward()
        first = first or [each.grad.numpy().copy() for each in module.parameters()]
        optimizer.step()
        losses.append(loss.item())
    return losses, first, [each.detach().numpy() for each in module.parameters()]


@check
def training(rank: int, size: int) -> Any:
    """How far gradients, losses and the model are from those of one process on the joined batch."""
    total = PART * size
    single = train(net(0), slice(None), total)
    found = []
    for options in ({}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}):
        model = DistributedDataParallel(net(rank), bucket_cap_mb=0.0001, **options)
        losses, grads, values = train(model, slice(PART * rank, PART * rank + PART), total)
        joined = kellet.tensor(losses)
        dist.all_reduce(joined, dist.ReduceOp.AVG)
        found.append(
            [
                _distance(grads, single[1]),
                float(np.max(np.abs(joined.numpy() / single[0] - 1))),
                _distance(values, single[2]),
                _digest(values),
            ]
        )
    return found


def _distance(found: list[Any], expected: list[Any]) -> float:
    return max(float(np.max(np.abs(a - b))) for a, b in zip(found, expected, strict=True))


def _digest(arrays: list[Any]) -> str:
    return "".join(array.tobytes().hex()[:16] for array in arrays)


@check
def founding_page(rank: int, size: int) -> Any:
    """The two hooks of the page on hooks, with the group of all processes."""

    def noop(state: object, bucket: dist.GradBucket) -> dist.Future[kellet.Tensor]:
        fut: Any = dist.Future()
        fut.set_result(bucket.buffer())
        return fut

    def encode_and_decode(state: object, bucket: dist.GradBucket) -> dist.Future[kellet.Tensor]:
        encoded_tensor = bucket.buffer().half()
        fut = dist.all_reduce(encoded_tensor, async_op=True).get_future()
        return fut.then(lambda fut: fut.value()[0].float())

    found = []
    for hook in (noop, encode_and_decode):
        ddp = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        ddp.register_comm_hook(state=None, hook=hook)
        ddp(kellet.tensor([[rank + 1.0]])).sum().backward()
        found.append(ddp.module.weight.grad.item())
    return found


@check
def hooks(rank: int, size: int) -> Any:
    """The loss after training with each hook, and whether all ranks have one model."""
    rng = np.random.default_rng(0)
    target = rng.standard_normal((16, 4)).astype(np.float32)
    inputs = rng.standard_normal((16 * size, 16)).astype(np.float32)
    start = rng.standard_normal((4, 16)).astype(np.float32)
    mine = kellet.from_numpy(inputs[16 * rank : 16 * rank + 16])
    found = {}
    for name, state, hook in (
        ("allreduce", None, default_hooks.allreduce_hook),
        ("fp16", None, default_hooks.fp16_compress_hook),
        ("bf16", None, default_hooks.bf16_compress_hook),
        ("powerSGD", powerSGD_hook.PowerSGDState(None, 1, 2, 1), powerSGD_hook.powerSGD_hook),
        (
            "fp16 of powerSGD",
            powerSGD_hook.PowerSGDState(None, 1, 2, 1),
            default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook),
        ),
    ):
        made = nn.Linear(16, 4, bias=False)
        made.weight.data = kellet.from_numpy(start.copy())
        ddp = DistributedDataParallel(made)
        ddp.register_comm_hook(state, hook)
        optimizer = kellet.optim.SGD(ddp.parameters(), lr=0.3)
        for _ in range(100):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(ddp(mine), mine @ kellet.from_numpy(target))
            loss.backward()
            optimizer.step()
        found[name] = [loss.item(), _digest([made.weight.detach().numpy()])]
    return found


@check
def joined(rank: int, size: int) -> Any:
    """Unequal numbers of batches, with buffers and a pass that is not sent."""
    made = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
    model = DistributedDataParallel(made, find_unused_parameters=True)
    optimizer = kellet.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for step in range(2 + rank):
            x = kellet.arange(4).float().reshape(4, 1) + step
            if step == 1:
                with model.no_sync():
                    model(x).sum().backward()
            else:
                model(x).sum().backward()
                optimizer.step()
    return _digest([each.numpy() for each in made.state_dict().values()])


@check
def waiting(rank: int, size: int) -> Any:
    """How much of a core a rank takes while it waits half a second for another one."""
    dist.barrier()
    if rank == 0:
        time.sleep(0.5)
    began = time.process_time()
    dist.barrier()
    return time.process_time() - began if rank else 0.0


@check
def on_one_core(rank: int, size: int) -> Any:
    """How long a hundred operations take when all ranks share one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        dist.barrier()
        began = time.monotonic()
        x = kellet.ones(1000)
        for _ in range(100):
            dist.all_reduce(x, dist.ReduceOp.AVG)
        return [time.monotonic() - began, x.sum().item()]
    finally:
        os.sched_setaffinity(0, before)


def main(folder: Path) -> None:
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    found: dict[str, Any] = {}
    for function in CHECKS:
        try:
            found[function.__name__] = function(rank, size)
        except Exception:
            found[function.__name__] = traceback.format_exc()
            (folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
            raise
        (folder / f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
