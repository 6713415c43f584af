"""One model on several ranks is trained as one process would train it on all of their batches."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.errors import DistributedError, RankFailedError, RankMismatchError
from kellet.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import on_ranks, outcomes_on_ranks
from tests.tables import one_test

RANKS, PART = 2, 4
TINY = 0.0001  # MiB: a bucket for nearly every parameter


def net(seed: int = 0, dtype: Any = None) -> nn.Module:
    """A small network with weights of its own seed, whatever other threads draw."""
    made = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    draw = np.random.default_rng(seed)
    for parameter in made.parameters():
        parameter.data = kellet.from_numpy(draw.standard_normal(parameter.shape).astype(np.float32))
    return made if dtype is None else made.to(dtype)


def batch(step: int, rows: int = RANKS * PART) -> tuple[Any, Any]:
    draw = np.random.default_rng(100 + step)
    return draw.standard_normal((rows, 6)).astype(np.float32), draw.standard_normal((rows, 3)).astype(
        np.float32
    )


def loss_of(module: Any, x: Any, y: Any) -> Any:
    return nn.functional.mse_loss(module(kellet.from_numpy(x)), kellet.from_numpy(y))


def own(array: Any, rank: int) -> Any:
    return array[rank * PART : (rank + 1) * PART]


def grads_of(module: Any) -> list[Any]:
    return [None if each.grad is None else each.grad.numpy().copy() for each in module.parameters()]


def expected_grads(seed: int = 0) -> list[Any]:
    model = net(seed)
    loss_of(model, *batch(0)).backward()
    return grads_of(model)


@one_test
@pytest.mark.parametrize("cap", [TINY, 25])
@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}])
def test_gradients_are_those_of_the_joined_batch(cap: float, options: dict[str, bool]) -> None:
    def work(group: dist.ProcessGroup) -> list[Any]:
        model = DistributedDataParallel(net(group.rank()), group, cap, **options)
        x, y = batch(0)
        for _ in range(3):  # the second pass has other buckets
            model.zero_grad()
            loss_of(model, own(x, group.rank()), own(y, group.rank())).backward()
        return grads_of(model)

    wanted = expected_grads()
    for found in on_ranks(RANKS, work):
        for grad, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}])
def test_the_training_curve_is_that_of_one_process_on_the_joined_batch(options: dict[str, bool]) -> None:
    def train(model: Any, part: Callable[[Any], Any]) -> list[float]:
        optimizer = kellet.optim.Adam(model.parameters(), lr=0.05)
        losses = []
        for step in range(20):
            x, y = batch(step)
            optimizer.zero_grad()
            loss = loss_of(model, part(x), part(y))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def work(group: dist.ProcessGroup) -> Any:
        model = DistributedDataParallel(net(7 + group.rank(), "float32"), group, TINY, **options)
        losses = train(model, lambda array: own(array, group.rank()))
        return losses, [each.detach().numpy().copy() for each in model.parameters()]

    single = net(7)
    expected = train(single, lambda array: array)
    found = on_ranks(RANKS, work)
    np.testing.assert_allclose(np.mean([losses for losses, _ in found], axis=0), expected, rtol=1e-5)
    for _, values in found:
        for value, parameter in zip(values, single.parameters(), strict=True):
            np.testing.assert_allclose(value, parameter.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert all(np.array_equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))


def test_a_single_process_trains_as_without_the_wrapper() -> None:
    model = DistributedDataParallel(net(), dist.ProcessGroup(dist.AloneTransport()))
    loss_of(model, *batch(0)).backward()
    for grad, expected in zip(grads_of(model), expected_grads(), strict=True):
        np.testing.assert_array_equal(grad, expected)


def test_values_and_buffers_become_those_of_rank_0_and_keys_begin_with_module() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        made = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        with kellet.no_grad():
            for tensor in (*made.parameters(), *made.buffers()):
                tensor.fill_(group.rank() + 1)
        model = DistributedDataParallel(made, group)
        return {key: value.numpy().copy() for key, value in model.state_dict().items()}

    for state in on_ranks(2, work):
        assert list(state) == [
            *("module.0.weight", "module.0.bias", "module.1.weight", "module.1.bias"),
            *("module.1.running_mean", "module.1.running_var", "module.1.num_batches_tracked"),
        ]
        assert {float(value.flat[0]) for value in state.values()} == {1.0}
        assert state["module.1.num_batches_tracked"].dtype == np.int64


@pytest.mark.parametrize(("broadcast", "expected"), [(True, [0.0, 0.0]), (False, [0.0, 1.0])])
def test_buffers_of_rank_0_are_sent_before_each_forward(broadcast: bool, expected: list[float]) -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(kellet.ones(1))
            self.register_buffer("seen", kellet.zeros(1))

        def forward(self, x: Any) -> Any:
            return x * self.weight + self.seen

    def work(group: dist.ProcessGroup) -> float:
        model = DistributedDataParallel(Counting(), group, broadcast_buffers=broadcast)
        model.module.seen.fill_(group.rank())
        value: float = model(kellet.zeros(1)).item()
        return value

    assert on_ranks(2, work) == expected


def test_gradients_within_no_sync_add_up_here_and_are_sent_with_the_next_pass() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        model = DistributedDataParallel(net(), group, TINY)
        x, y = batch(0)
        x, y = own(x, group.rank()), own(y, group.rank())
        sent = group.transport.sent
        sent.clear()
        with model.no_sync():
            loss_of(model, x[:2], y[:2]).backward()
        local, count = grads_of(model), len(sent)
        loss_of(model, x[2:], y[2:]).backward()
        return local, count, grads_of(model)

    found = on_ranks(RANKS, work)
    assert [count for _, count, _ in found] == [0, 0]
    assert not np.allclose(found[0][0][0], found[1][0][0])
    for _, _, grads in found:
        for grad, expected in zip(grads, expected_grads(), strict=True):
            np.testing.assert_allclose(grad, 2 * expected, rtol=0, atol=1e-6)  # of two halves


def test_a_second_backward_pass_within_no_sync_stays_here() -> None:
    def work(group: dist.ProcessGroup) -> list[float]:
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False), group)
        loss = model(kellet.tensor([[group.rank() + 1.0]])).sum()
        loss.backward(retain_graph=True)
        first = model.module.weight.grad.item()
        with model.no_sync():
            loss.backward()
        return [first, model.module.weight.grad.item()]

    assert on_ranks(2, work) == [[1.5, 2.5], [1.5, 3.5]]


def test_a_second_backward_pass_since_the_last_forward_is_an_error() -> None:
    model = DistributedDataParallel(nn.Linear(1, 1), dist.ProcessGroup(dist.AloneTransport()))
    loss = model(kellet.ones(1, 1)).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(
        DistributedError, match=r"second backward pass since the last forward .* '(bias|weight)'"
    ):
        loss.backward()


def test_gradients_that_are_part_of_a_graph_are_not_sent() -> None:
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False), dist.ProcessGroup(dist.AloneTransport()))
    with pytest.raises(DistributedError, match=r"gradient of 'weight' is part of a graph, .* no_sync\(\)"):
        model(kellet.ones(1, 1)).square().sum().backward(create_graph=True)


class Two(nn.Module):
    """Two ways, of which a pass may take one."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        for parameter in self.parameters():
            parameter.data = kellet.ones(1, 1)

    def forward(self, x: Any, ways: str) -> Any:
        return {"out": [getattr(self, way)(x) for way in ways.split()]}


def test_a_pass_that_leaves_a_parameter_out_makes_the_next_forward_raise() -> None:
    def work(group: dist.ProcessGroup) -> None:
        model = DistributedDataParallel(Two(), group)
        for _ in range(2):
            sum(model(kellet.ones(1, 1), "left right" if group.rank() else "left")["out"]).sum().backward()

    outcomes = outcomes_on_ranks(2, work)
    assert isinstance(outcomes[0], DistributedError)
    assert "the last backward pass has brought no gradients of 'right.weight'" in str(outcomes[0])
    assert "pass find_unused_parameters=True" in str(outcomes[0])
    assert isinstance(outcomes[1], RankFailedError)
    assert "rank 0 has failed: DistributedError: Expected to have finished reduction" in str(outcomes[1])


def test_unused_parameters_are_found_and_those_of_no_rank_keep_their_gradient() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        model = DistributedDataParallel(Two(), group, find_unused_parameters=True)
        found = []
        for ways in (["left", "right"], ["left", "left"], ["left right", "left"]):
            model.zero_grad()
            x = kellet.tensor([[2.0 + group.rank()]])
            sum(model(x, ways[group.rank()])["out"]).sum().backward()
            grads = [model.module.left.weight.grad, model.module.right.weight.grad]
            found.append([None if grad is None else grad.item() for grad in grads])
        return found

    assert on_ranks(2, work) == [[[1.0, 1.5], [2.5, None], [2.5, 1.0]]] * 2


def test_a_model_that_is_another_one_on_a_rank_is_told_with_its_first_difference() -> None:
    def work(group: dist.ProcessGroup) -> None:
        DistributedDataParallel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2 + group.rank() % 2)), group)

    outcomes = outcomes_on_ranks(2, work)
    assert [type(each) for each in outcomes] == [RankMismatchError] * 2
    assert str(outcomes[0]) == str(outcomes[1])
    assert (
        "rank 0 has 4 parameters\n  rank 1, parameter 2 of 4: expected '1.weight', float32 (2, 2); found "
        "'1.weight', float32 (3, 2)\n"
    ) in str(outcomes[0])


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (
            lambda: nn.Linear(1, 1, bias=False),
            r"1 of 1: expected 'bias', float32 \(1,\); found nothing",
        ),
        (lambda: nn.Linear(1, 1).double(), r"expected 'weight', float32 \(1, 1\); found 'weight', float64"),
        (
            lambda: nn.Linear(1, 1).requires_grad_(False).train(),
            r"found 'weight', float32 \(1, 1\), without gradient",
        ),
    ],
)
def test_number_dtype_and_training_of_parameters_are_compared(other: Any, difference: str) -> None:
    def work(group: dist.ProcessGroup) -> None:
        made = other() if group.rank() else nn.Linear(1, 1)
        if group.rank():
            made.extra = nn.Parameter(kellet.ones(1)) if not made.weight.requires_grad else None
        DistributedDataParallel(made, group)

    for error in outcomes_on_ranks(2, work):
        assert isinstance(error, RankMismatchError)
        with pytest.raises(RankMismatchError, match=difference):
            raise error


def test_unequal_numbers_of_batches_are_an_error_on_all_ranks() -> None:
    def work(group: dist.ProcessGroup) -> None:
        model = DistributedDataParallel(net(), group)
        for step in range(2 + group.rank()):
            loss_of(model, *batch(step, 2)).backward()
        group.barrier()

    for error in outcomes_on_ranks(2, work):
        assert isinstance(error, RankMismatchError)
        assert "  rank 0: barrier, as operation" in str(error)
        assert "  rank 1: all_reduce SUM float32 " in str(error)
        assert "for unequal numbers of batches see DistributedDataParallel.join" in str(error)


def train_joined(group: dist.ProcessGroup, batches: list[int], **options: Any) -> Any:
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False), group, TINY)
    model.module.weight.data = kellet.ones(1, 1)
    optimizer = kellet.optim.SGD(model.parameters(), lr=1.0)
    with model.join(**options):
        for step in range(batches[group.rank()]):
            optimizer.zero_grad()
            model(kellet.tensor([[float(10**step)]])).sum().backward()
            optimizer.step()
    return model.module.weight.item()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 1 - 1 - 10 * 2 / 3 - 100 / 3),
        ({"divide_by_initial_world_size": False}, 1 - 1 - 10 - 100),
    ],
)
def test_ranks_without_batches_take_part_with_zeros(options: dict[str, bool], expected: float) -> None:
    found = on_ranks(3, lambda group: train_joined(group, [2, 1, 3], **options))
    assert found == pytest.approx([expected] * 3, abs=1e-4)
    assert len(set(found)) == 1


def test_join_can_end_all_ranks_with_the_first_one_that_has_no_batches() -> None:
    outcomes = outcomes_on_ranks(
        2, lambda group: train_joined(group, [1, 2], throw_on_early_termination=True)
    )
    for error in outcomes:
        assert isinstance(error, DistributedError)
        assert str(error).startswith("Detected at least one rank that exhausted inputs: [0]")


def test_join_that_is_not_enabled_changes_nothing() -> None:
    assert on_ranks(2, lambda group: train_joined(group, [2, 2], enable=False)) == [-10.0, -10.0]


def test_join_follows_hooks_buffers_unused_parameters_and_no_sync() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        made = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
        model = DistributedDataParallel(made, group, TINY, find_unused_parameters=True)
        calls = []

        def hook(state: Any, bucket: dist.GradBucket) -> Any:
            calls.append(bucket.index())
            work = dist.all_reduce(bucket.buffer(), group=group, async_op=True)
            assert work is not None
            return work.then(lambda done: done.value()[0] / 2)

        model.register_comm_hook(None, hook)
        with model.join():
            for step in range(1 + 2 * group.rank()):
                x = kellet.from_numpy(batch(step)[0][:, :1])
                if step == 1:
                    with model.no_sync():
                        model(x).sum().backward()
                else:
                    model(x).sum().backward()
        state = {key: value.numpy().copy() for key, value in model.module.state_dict().items()}
        return calls, state

    (calls, state), (other_calls, other_state) = on_ranks(2, work)
    assert calls == other_calls
    assert len(calls) == 2 * (max(calls) + 1)  # two passes that send
    for key, value in state.items():
        np.testing.assert_array_equal(value, other_state[key])


def test_buckets_go_backwards_at_first_and_then_as_gradients_come() -> None:
    class Crossed(nn.Module):
        """Uses its layers in another order than it registers them."""

        def __init__(self) -> None:
            super().__init__()
            self.last, self.first = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x))

    def work(group: dist.ProcessGroup) -> list[list[str]]:
        model = DistributedDataParallel(Crossed(), group, 1e-6)
        names = {id(parameter): name for name, parameter in model.module.named_parameters()}
        orders: list[list[str]] = []

        def hook(state: Any, bucket: dist.GradBucket) -> Any:
            orders[-1] += [f"{bucket.index()} {names[id(each)]}" for each in bucket.parameters()]
            return dist.all_reduce(bucket.buffer(), group=group, async_op=True)

        model.register_comm_hook(None, hook)
        for _ in range(2):
            orders.append([])
            model(kellet.ones(1, 3)).sum().backward()
        return orders

    expected = [["0 first.weight", "1 last.weight"], ["0 last.weight", "1 first.weight"]]
    assert on_ranks(2, work) == [expected] * 2


def test_the_first_bucket_leaves_before_backward_ends() -> None:
    def work(group: dist.ProcessGroup) -> list[str]:
        model = DistributedDataParallel(net(), group, TINY)
        trace: list[str] = []
        sent = dist.all_reduce

        def hook(state: Any, bucket: dist.GradBucket) -> Any:
            trace.append(f"send {bucket.index()}")
            return sent(bucket.buffer(), group=group, async_op=True)

        model.register_comm_hook(None, hook)
        first = model.module[0].weight
        first.register_hook(lambda grad: trace.append("gradient of the first layer"))
        loss_of(model, *batch(0)).backward()
        return trace

    for trace in on_ranks(2, work):
        assert trace == ["send 0", "gradient of the first layer", "send 1"]


def test_backward_goes_on_while_a_bucket_is_under_way() -> None:
    """The first bucket arrives nowhere before backward has come to the first layer, and that it does."""
    at_first_layer = threading.Event()

    class Waiting(dist.AloneTransport):
        size = 2  # so that the group has a thread
        buckets = 0

        def exchange(self, data: bytes) -> list[bytes]:
            return [data, data]

        def all_reduce(self, array: Any, op: dist.ReduceOp) -> None:
            self.buckets += 1
            assert at_first_layer.wait(20)

    transport = Waiting()
    model = DistributedDataParallel(net(), dist.ProcessGroup(transport), TINY)
    model.module[0].weight.register_hook(lambda grad: at_first_layer.set())
    loss_of(model, *batch(0)).backward()
    assert transport.buckets == 2


def test_parameters_without_gradient_do_not_travel_and_tied_ones_do_once() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        made = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False), nn.Linear(2, 2))
        made[1].weight = made[0].weight
        made[2].requires_grad_(False)
        model = DistributedDataParallel(made, group)
        sent = group.transport.sent
        sent.clear()
        model(kellet.ones(1, 2)).sum().backward()
        return sent, made[2].weight.grad

    assert on_ranks(2, work) == [([("all_reduce", 16)], None)] * 2


def test_gradients_are_views_of_their_buckets_where_that_is_asked_for() -> None:
    def work(group: dist.ProcessGroup) -> list[bool]:
        model = DistributedDataParallel(net(), group, gradient_as_bucket_view=True)
        buffers: list[Any] = []

        def hook(state: Any, bucket: dist.GradBucket) -> Any:
            buffers.append(bucket.buffer().numpy())
            return dist.all_reduce(bucket.buffer(), dist.ReduceOp.AVG, group, async_op=True)

        model.register_comm_hook(None, hook)
        shared = []
        for step in range(3):
            model.zero_grad(set_to_none=step == 2)
            x, y = batch(0)
            loss_of(model, own(x, group.rank()), own(y, group.rank())).backward()
            shared += [np.shares_memory(grad.numpy(), buffers[-1]) for grad in _grads(model)]
        for grad, expected in zip(grads_of(model), expected_grads(), strict=True):
            np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-6)
        return shared

    assert on_ranks(RANKS, work) == [[True] * 18] * RANKS


def _grads(model: Any) -> list[Any]:
    return [each.grad for each in model.parameters()]


def test_a_wrapper_that_is_gone_leaves_nothing_at_the_parameters() -> None:
    made = nn.Linear(1, 1)
    group = dist.ProcessGroup(dist.AloneTransport())
    model = DistributedDataParallel(made, group)
    model(kellet.ones(1, 1)).sum().backward()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert all(not each._post_accumulate_grad_hooks for each in made.parameters())
    made(kellet.ones(1, 1)).sum().backward()
    DistributedDataParallel(made, group)(kellet.ones(1, 1)).sum().backward()


def test_what_cannot_be_wrapped_is_refused() -> None:
    group = dist.ProcessGroup(dist.AloneTransport())
    with pytest.raises(TypeError, match=r"wraps an nn\.Module, got Tensor"):
        DistributedDataParallel(kellet.ones(1), group)
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameters"):
        DistributedDataParallel(nn.ReLU(), group)
    with pytest.raises(ValueError, match="bucket_cap_mb must be positive, got 0"):
        DistributedDataParallel(nn.Linear(1, 1), group, 0)
    with pytest.raises(DistributedError, match="Default process group has not been initialized"):
        DistributedDataParallel(nn.Linear(1, 1))
    with pytest.raises(TypeError, match=r"cannot be copied or pickled: .* copy or save its \.module"):
        copy.deepcopy(DistributedDataParallel(nn.Linear(1, 1), group))


def test_an_evaluation_sends_no_gradients() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        model = DistributedDataParallel(net(), group).eval()
        sent = group.transport.sent
        sent.clear()
        with kellet.no_grad():
            model(kellet.ones(group.rank() + 1, 6))
        return sent, next(name for name, _ in model.named_parameters())

    assert on_ranks(2, work) == [([], "module.0.weight")] * 2


def test_distributed_offers_the_class_too() -> None:
    assert dist.DistributedDataParallel is DistributedDataParallel
