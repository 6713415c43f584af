"""`register_comm_hook(state, hook)`: what is registered, what a hook is given, and what it must answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.errors import HookError, ShapeError
from kellet.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import on_ranks


def alone(module: nn.Module | None = None, cap: float = 25) -> DistributedDataParallel:
    group = dist.ProcessGroup(dist.AloneTransport())
    return DistributedDataParallel(module or nn.Linear(2, 1), group, cap)


def done_with(value: Any) -> Any:
    future: Any = dist.Future()
    future.set_result(value)
    return future


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))


def test_the_noop_of_the_founding_page_leaves_each_rank_its_gradient() -> None:
    def noop(state: object, bucket: dist.GradBucket) -> dist.Future[kellet.Tensor]:
        fut: dist.Future[kellet.Tensor] = dist.Future()
        fut.set_result(bucket.buffer())
        return fut

    def work(group: dist.ProcessGroup) -> Any:
        ddp = DistributedDataParallel(nn.Linear(1, 1, bias=False), group)
        ddp.register_comm_hook(state=None, hook=noop)
        ddp(kellet.tensor([[group.rank() + 1.0]])).sum().backward()
        return ddp.module.weight.grad.item()

    assert on_ranks(2, work) == [1.0, 2.0]


def test_the_encoding_hook_of_the_founding_page() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        def encode_and_decode(state: object, bucket: dist.GradBucket) -> dist.Future[kellet.Tensor]:
            encoded_tensor = bucket.buffer() * 4
            pending = dist.all_reduce(encoded_tensor, group=group, async_op=True)
            assert pending is not None
            fut = pending.get_future()

            def decode(fut: dist.Future[Any]) -> kellet.Tensor:
                decoded: kellet.Tensor = fut.value()[0] / 4
                return decoded

            return fut.then(decode)

        ddp = DistributedDataParallel(nn.Linear(1, 1, bias=False), group)
        ddp.register_comm_hook(state=None, hook=encode_and_decode)
        ddp(kellet.tensor([[group.rank() + 1.0]])).sum().backward()
        return ddp.module.weight.grad.item()

    assert on_ranks(2, work) == [3.0, 3.0]  # the sum: nothing divides it


def test_registering_returns_nothing_and_happens_once() -> None:
    ddp = alone()
    assert ddp.register_comm_hook(None, lambda state, bucket: done_with(bucket.buffer())) is None
    with pytest.raises(RuntimeError, match="can only be called once"):
        ddp.register_comm_hook(None, lambda state, bucket: done_with(bucket.buffer()))


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Communication hook must be callable\."):
        alone().register_comm_hook(None, 1)


def test_a_hook_of_another_number_of_arguments_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"it must take \(state, bucket\)"):
        alone().register_comm_hook(None, lambda bucket: bucket)


def test_the_parameters_may_have_any_names_and_the_hook_may_be_any_callable() -> None:
    class Hook:
        calls = 0

        def __call__(self, anything: Any, /, *gradients: Any) -> Any:
            type(self).calls += 1
            return done_with(gradients[0].buffer())

    ddp = alone()
    ddp.register_comm_hook(None, Hook())
    ddp(kellet.ones(1, 2)).sum().backward()
    assert Hook.calls == 1


def test_annotations_that_say_something_else_are_refused() -> None:
    def of_ints(state: Any, bucket: int) -> Any: ...

    def to_int(state: Any, bucket: dist.GradBucket) -> int:
        return 1

    def to_future_int(state: Any, bucket: dist.GradBucket) -> dist.Future[int]: ...

    with pytest.raises(ValueError, match=r"annotation should be dist\.GradBucket; found <class 'int'>"):
        alone().register_comm_hook(None, of_ints)
    for hook in (to_int, to_future_int):
        with pytest.raises(ValueError, match=r"annotation should be Future or Future\[kellet\.Tensor\]"):
            alone().register_comm_hook(None, hook)


def test_annotations_that_cannot_be_read_are_passed_over() -> None:
    names: dict[str, Any] = {}
    exec("def hook(state, bucket: 'Unknown') -> 'Elsewhere': return bucket", names)
    alone().register_comm_hook(None, names["hook"])


def test_the_state_is_handed_on_as_it_is() -> None:
    state, seen = object(), []

    def hook(given: Any, bucket: dist.GradBucket) -> Any:
        seen.append(given)
        return done_with(bucket.buffer())

    ddp = alone()
    ddp.register_comm_hook(state, hook)
    ddp(kellet.ones(1, 2)).sum().backward()
    assert seen == [state]


def test_a_bucket_tells_its_place_its_gradients_and_its_parameters() -> None:
    seen: list[Any] = []

    def hook(state: Any, bucket: dist.GradBucket) -> Any:
        gradients, parameters = bucket.gradients(), bucket.parameters()
        assert [each.shape for each in gradients] == [each.shape for each in parameters]
        assert all(np.shares_memory(each.numpy(), bucket.buffer().numpy()) for each in gradients)
        seen.append((bucket.index(), bucket.is_last(), bucket.buffer().shape, parameters))
        return done_with(bucket.buffer())

    module = two_layers()
    ddp = alone(module, cap=1e-6)
    ddp.register_comm_hook(None, hook)
    ddp(kellet.ones(1, 2)).sum().backward()
    assert [row[:3] for row in seen] == [(0, False, (2,)), (1, True, (4,))]
    assert [
        row[3][0] is each for row, each in zip(seen, reversed(list(module.parameters())), strict=True)
    ] == [
        True,
        True,
    ]


def test_the_hook_is_called_once_per_bucket_and_pass_with_gradients_of_this_rank() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        seen = []

        def hook(state: Any, bucket: dist.GradBucket) -> Any:
            seen.append((bucket.index(), bucket.buffer().tolist()))
            return done_with(bucket.buffer())

        ddp = DistributedDataParallel(nn.Linear(2, 1, bias=False), group)
        ddp.register_comm_hook(None, hook)
        for _ in range(2):
            ddp.zero_grad()
            ddp(kellet.full((1, 2), 3.0 + group.rank())).sum().backward()
        return seen

    assert on_ranks(2, work) == [[(0, [3.0, 3.0])] * 2, [(0, [4.0, 4.0])] * 2]


def test_no_hook_is_called_within_no_sync() -> None:
    calls = []

    def hook(state: Any, bucket: dist.GradBucket) -> Any:
        calls.append(bucket.buffer().tolist())
        return done_with(bucket.buffer())

    ddp = alone(nn.Linear(1, 1, bias=False))
    ddp.register_comm_hook(None, hook)
    with ddp.no_sync():
        ddp(kellet.ones(1, 1)).sum().backward()
    assert calls == []
    ddp(kellet.ones(1, 1)).sum().backward()
    assert calls == [[2.0]]  # what has added up


def test_what_the_future_holds_becomes_the_gradients() -> None:
    module = two_layers()
    ddp = alone(module)
    ddp.register_comm_hook(None, lambda state, bucket: done_with(kellet.arange(6).float()))
    ddp(kellet.ones(1, 2)).sum().backward()
    first, last = module.parameters()
    assert (last.grad.tolist(), first.grad.tolist()) == ([[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]])


def test_a_future_that_is_set_later_is_waited_for() -> None:
    import threading

    def hook(state: Any, bucket: dist.GradBucket) -> Any:
        future: Any = dist.Future()
        threading.Timer(0.05, lambda: future.set_result(kellet.full((2,), 9.0))).start()
        return future

    ddp = alone(nn.Linear(2, 1, bias=False))
    ddp.register_comm_hook(None, hook)
    ddp(kellet.ones(1, 2)).sum().backward()
    assert ddp.module.weight.grad.tolist() == [[9.0, 9.0]]


def test_an_answer_that_is_no_future_is_an_error() -> None:
    ddp = alone()
    ddp.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(RuntimeError, match="must return a Future, and returned Tensor for") as caught:
        ddp(kellet.ones(1, 2)).sum().backward()
    assert caught.type is HookError


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "the value of its Future must be one Tensor, found int for bucket 0"),
        ([kellet.ones(3), kellet.ones(3)], "must be one Tensor, found list"),
        (kellet.ones(2), r"expected a tensor of the shape of the bucket, \(3,\); found \(2,\) for bucket 0"),
    ],
)
def test_a_future_of_something_else_is_an_error(value: Any, message: str) -> None:
    ddp = alone()
    ddp.register_comm_hook(None, lambda state, bucket: done_with(value))
    with pytest.raises(HookError, match=message):
        ddp(kellet.ones(1, 2)).sum().backward()


def test_the_list_of_one_tensor_that_an_all_reduce_has_is_taken() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        ddp = DistributedDataParallel(nn.Linear(1, 1, bias=False), group)
        ddp.register_comm_hook(
            group, lambda state, bucket: dist.all_reduce(bucket.buffer(), group=state, async_op=True)
        )
        ddp(kellet.ones(1, 1)).sum().backward()
        return ddp.module.weight.grad.item()

    assert on_ranks(2, work) == [2.0, 2.0]


def test_errors_of_the_hook_and_of_its_future_come_out_of_backward() -> None:
    def raises(state: Any, bucket: dist.GradBucket) -> Any:
        raise LookupError("in the hook")

    def fails(state: Any, bucket: dist.GradBucket) -> Any:
        return done_with(1).then(lambda done: done.value() / 0)

    for hook, error in ((raises, LookupError), (fails, ZeroDivisionError)):
        ddp = alone()
        ddp.register_comm_hook(None, hook)
        with pytest.raises(error):
            ddp(kellet.ones(1, 2)).sum().backward()


def test_set_buffer_puts_another_tensor_in_place() -> None:
    bucket = dist.GradBucket(0, kellet.ones(2), [kellet.zeros(2)], is_last=False)
    bucket.set_buffer(kellet.full((2,), 5.0).half())
    assert bucket.buffer().dtype == kellet.float16
    assert bucket.gradients()[0].tolist() == [5.0, 5.0]
    with pytest.raises(ShapeError, match=r"set_buffer: expected a buffer of shape \(2,\); found \(3,\)"):
        bucket.set_buffer(kellet.ones(3))
    with pytest.raises(TypeError, match="the buffer must be a Tensor, got ndarray"):
        bucket.set_buffer(np.ones(2))


def test_buckets_have_one_dtype_each() -> None:
    seen = []

    def hook(state: Any, bucket: dist.GradBucket) -> Any:
        seen.append((str(bucket.buffer().dtype), len(bucket.parameters())))
        return done_with(bucket.buffer())

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(1, 1), nn.Linear(1, 1).double()

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x).double())

    ddp = alone(Mixed())
    ddp.register_comm_hook(None, hook)
    ddp(kellet.ones(1, 1)).sum().backward()
    assert seen == [("float64", 2), ("float32", 2)]
