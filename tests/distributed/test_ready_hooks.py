"""The hooks that come with kellet: averages with half of the bits, low-rank factors, local steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kellet
import kellet.distributed as dist
from kellet import nn
from kellet.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from kellet.distributed.algorithms.model_averaging import PeriodicModelAverager
from kellet.nn.parallel import DistributedDataParallel
from tests.distributed.ranks import on_ranks

SHAPES = [(8, 6), (5,), (4, 2, 3)]


def bucket_of(gradients: list[Any], index: int = 0) -> dist.GradBucket:
    flat = np.concatenate([each.reshape(-1) for each in gradients]).astype(np.float32)
    parameters = [kellet.zeros(*each.shape) for each in gradients]
    return dist.GradBucket(index, kellet.from_numpy(flat), parameters, is_last=True)


def gradients_of(rank: int, step: int = 0) -> list[Any]:
    draw = np.random.default_rng(10 * step + rank)
    return [draw.standard_normal(shape).astype(np.float32) for shape in SHAPES]


def flat_of(arrays: list[Any]) -> Any:
    return np.concatenate([each.reshape(-1) for each in arrays])


def mean_of(size: int, step: int = 0) -> Any:
    return np.mean([flat_of(gradients_of(rank, step)) for rank in range(size)], axis=0)


@pytest.mark.parametrize(
    ("hook", "tolerance", "itemsize"),
    [
        (default_hooks.allreduce_hook, 1e-6, 4),
        (default_hooks.fp16_compress_hook, 2e-3, 2),
        (default_hooks.bf16_compress_hook, 2e-2, 2),
        (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3, 2),
        (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2, 2),
    ],
)
def test_averages_in_their_bits(hook: Callable[..., Any], tolerance: float, itemsize: int) -> None:
    def work(group: dist.ProcessGroup) -> Any:
        bucket = bucket_of(gradients_of(group.rank()))
        found = hook(group, bucket).wait()
        assert found.dtype == bucket.buffer().dtype == kellet.float32
        return found.numpy(), group.transport.sent

    expected = mean_of(3)
    for found, sent in on_ranks(3, work):
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
        assert sent == [("all_reduce", expected.size * itemsize)]


@pytest.mark.parametrize("name", ["fp16_compress_wrapper", "bf16_compress_wrapper"])
def test_a_wrapped_hook_sees_half_of_the_bits_and_ddp_what_it_had(name: str) -> None:
    seen = []

    def hook(state: Any, bucket: dist.GradBucket) -> Any:
        seen.append(str(bucket.buffer().dtype))
        return debugging_hooks.noop_hook(state, bucket)

    ddp = DistributedDataParallel(nn.Linear(2, 1), dist.ProcessGroup(dist.AloneTransport()))
    ddp.register_comm_hook(None, getattr(default_hooks, name)(hook))
    ddp(kellet.full((1, 2), 1.001)).sum().backward()
    assert seen == [{"f": "float16", "b": "bfloat16"}[name[0]]]
    grad = ddp.module.weight.grad
    assert grad.dtype == kellet.float32
    expected = {"f": 1.0009765625, "b": 1.0}[name[0]]
    assert grad.tolist() == [[expected, expected]]


def test_noop_sends_nothing() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        found = debugging_hooks.noop_hook(None, bucket_of(gradients_of(group.rank()))).value()
        np.testing.assert_array_equal(found.numpy(), flat_of(gradients_of(group.rank())))
        return group.transport.sent

    assert on_ranks(2, work) == [[], []]


# --- PowerSGD ----------------------------------------------------------------------------------------


def power_sgd(state: Any, gradients: list[Any]) -> Any:
    return powerSGD_hook.powerSGD_hook(state, bucket_of(gradients)).wait().numpy().copy()


def test_power_sgd_of_one_rank_by_hand() -> None:
    """Algorithm 1 of the paper on one matrix, and the error that is added the next time."""
    draw = np.random.default_rng(3)
    matrices = [draw.standard_normal((8, 6)).astype(np.float32) for _ in range(3)]
    state = powerSGD_hook.PowerSGDState(dist.ProcessGroup(dist.AloneTransport()), 1, 2)
    state.iter = 2
    q = np.random.default_rng(0).standard_normal((6, 1)).astype(np.float32)
    error = np.zeros((8, 6), np.float32)
    for matrix in matrices:
        given = matrix + error
        p = given @ q
        p = p / np.linalg.norm(p)
        q = given.T @ p
        expected = p @ q.T
        error = given - expected
        found = powerSGD_hook.powerSGD_hook(state, bucket_of([matrix])).wait()
        np.testing.assert_allclose(found.numpy().reshape(8, 6), expected, rtol=0, atol=1e-5)
        np.testing.assert_allclose(state.error_dict[0].reshape(8, 6), error, rtol=0, atol=1e-5)
        np.testing.assert_allclose(np.abs(state.q_memory_dict[0][0]), np.abs(q), rtol=0, atol=1e-5)


def test_power_sgd_of_four_ranks_is_that_of_their_average() -> None:
    """It is linear: factors of the average of all ranks' gradients with their errors."""

    def work(group: dist.ProcessGroup) -> Any:
        state = powerSGD_hook.PowerSGDState(group, 2, 2, 1)
        state.iter = 2
        found = [
            powerSGD_hook.powerSGD_hook(state, bucket_of(gradients_of(group.rank(), step)))
            .wait()
            .numpy()
            .copy()
            for step in range(3)
        ]
        return found, state.error_dict[0]

    ranks = on_ranks(4, work)
    alone = powerSGD_hook.PowerSGDState(dist.ProcessGroup(dist.AloneTransport()), 2, 2, 1)
    alone.iter = 2
    sizes = [48, 5, 24]
    for step in range(3):
        parts = np.split(mean_of(4, step), np.cumsum(sizes)[:-1])
        mean = [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]
        expected = powerSGD_hook.powerSGD_hook(alone, bucket_of(mean)).wait().numpy()
        for found, _ in ranks:
            np.testing.assert_allclose(found[step], expected, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(ranks[0][0][step], ranks[3][0][step])
    errors = np.mean([error for _, error in ranks], axis=0)
    np.testing.assert_allclose(errors, alone.error_dict[0], rtol=0, atol=1e-5)
    assert not ranks[0][1][48:53].any()  # what is sent whole leaves no error


def test_error_feedback_gives_in_the_end_all_that_was_left_out() -> None:
    """With the same gradient again and again, the mean of what is applied comes to the gradient itself."""
    gradient = np.random.default_rng(5).standard_normal((8, 8)).astype(np.float32)

    def mean_of_results(feedback: bool) -> Any:
        state = powerSGD_hook.PowerSGDState(
            dist.ProcessGroup(dist.AloneTransport()), 1, 2, use_error_feedback=feedback
        )
        state.iter = 2
        results = [
            powerSGD_hook.powerSGD_hook(state, bucket_of([gradient])).wait().numpy().copy()
            for _ in range(200)
        ]
        return np.mean(results, axis=0).reshape(8, 8)

    scale = np.linalg.norm(gradient)
    assert np.linalg.norm(mean_of_results(True) - gradient) < 0.1 * scale
    assert np.linalg.norm(mean_of_results(False) - gradient) > 0.5 * scale


def test_warm_start_comes_to_the_best_factors_of_a_gradient_that_stays() -> None:
    gradient = np.random.default_rng(6).standard_normal((8, 6)).astype(np.float32)
    u, s, v = np.linalg.svd(gradient, full_matrices=False)
    best = u[:, :2] @ np.diag(s[:2]) @ v[:2]

    def distance(warm: bool) -> float:
        state = powerSGD_hook.PowerSGDState(
            dist.ProcessGroup(dist.AloneTransport()), 2, 2, 1, use_error_feedback=False, warm_start=warm
        )
        state.iter = 2
        for _ in range(60):
            found = powerSGD_hook.powerSGD_hook(state, bucket_of([gradient])).wait().numpy()
        return float(np.linalg.norm(found.reshape(8, 6) - best))

    assert distance(True) < 1e-3
    assert distance(False) > 1e-1


def test_power_sgd_begins_late_sends_less_and_keeps_small_ones_whole() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        state = powerSGD_hook.PowerSGDState(group, 1, 2, 3)
        sent = group.transport.sent
        counts = []
        for step in range(3):
            sent.clear()
            found = powerSGD_hook.powerSGD_hook(state, bucket_of(gradients_of(group.rank(), step))).wait()
            if step < 2:
                np.testing.assert_allclose(found.numpy(), mean_of(2, step), rtol=0, atol=1e-6)
            else:  # (5,) has one axis, and the factors of 4 x 6 are less than 3 times smaller
                np.testing.assert_allclose(found.numpy()[48:], mean_of(2, step)[48:], rtol=0, atol=1e-6)
            counts.append(sum(size for _, size in sent))
        return counts, state.iter, state.compression_stats()

    whole = 4 * 77
    for counts, passes, stats in on_ranks(2, work):
        assert (counts, passes) == ([whole, whole, 4 * (5 + 24 + 8 + 6)], 3)
        assert stats == (77 / 43, 77, 43)


def test_power_sgd_of_half_precision_computes_in_single() -> None:
    state = powerSGD_hook.PowerSGDState(dist.ProcessGroup(dist.AloneTransport()), 4, 2, 1)
    state.iter = 2
    hook = default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)
    low = np.outer(np.arange(16), np.ones(16)).astype(np.float32)
    found = hook(state, bucket_of([low])).wait()
    assert found.dtype == kellet.float32
    np.testing.assert_allclose(found.numpy().reshape(16, 16), low, rtol=0, atol=0.05)


def test_power_sgd_refuses_what_the_first_passes_would_spoil() -> None:
    with pytest.raises(ValueError, match=r"Expect `start_powerSGD_iter` > 1 .* found 1"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)
    with pytest.raises(ValueError, match="matrix_approximation_rank must be positive, got 0"):
        powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=0)


def test_a_model_is_trained_with_power_sgd() -> None:
    """The loss comes down nearly as far as with whole gradients, and all ranks have one model."""
    rng = np.random.default_rng(0)
    target = rng.standard_normal((16, 4)).astype(np.float32)
    inputs = rng.standard_normal((64, 16)).astype(np.float32)
    start = rng.standard_normal((4, 16)).astype(np.float32)

    def train(group: dist.ProcessGroup, compressed: bool) -> Any:
        made = nn.Linear(16, 4, bias=False)
        made.weight.data = kellet.from_numpy(start.copy())
        ddp = DistributedDataParallel(made, group)
        if compressed:
            ddp.register_comm_hook(powerSGD_hook.PowerSGDState(group, 1, 2, 1), powerSGD_hook.powerSGD_hook)
        optimizer = kellet.optim.SGD(ddp.parameters(), lr=0.3)
        mine = slice(group.rank() * 32, group.rank() * 32 + 32)
        for _ in range(150):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(
                ddp(kellet.from_numpy(inputs[mine])), kellet.from_numpy(inputs[mine] @ target)
            )
            loss.backward()
            optimizer.step()
        return loss.item(), made.weight.detach().numpy().copy()

    found = on_ranks(2, lambda group: train(group, True))
    assert max(loss for loss, _ in found) < 1e-2
    np.testing.assert_array_equal(found[0][1], found[1][1])


# --- post-local SGD ------------------------------------------------------------------------------------


@pytest.mark.parametrize("averages", [True, False])
def test_post_local_sgd_goes_from_all_ranks_to_a_few(averages: bool) -> None:
    def work(group: dist.ProcessGroup) -> Any:
        pairs = [group.new_group([0, 1]), group.new_group([2, 3])]
        state = post_localSGD_hook.PostLocalSGDState(
            group, pairs[group.rank() // 2], 2, post_local_gradient_allreduce=averages
        )
        found = []
        for _ in range(4):
            bucket = bucket_of([np.array([float(group.rank())])])
            found.append(post_localSGD_hook.post_localSGD_hook(state, bucket).wait().item())
        return found

    later = [0.5, 0.5, 2.5, 2.5] if averages else [0.0, 1.0, 2.0, 3.0]
    assert on_ranks(4, work) == [[1.5, 1.5, each, each] for each in later]


def test_post_local_sgd_needs_a_subgroup_to_average_over() -> None:
    with pytest.raises(ValueError, match="expected a subgroup to average gradients over"):
        post_localSGD_hook.PostLocalSGDState(None, None, 1)
    with pytest.raises(ValueError, match="start_localSGD_iter must not be negative, got -1"):
        post_localSGD_hook.PostLocalSGDState(None, None, -1, False)


def test_models_are_averaged_every_few_steps_after_the_warm_up() -> None:
    def work(group: dist.ProcessGroup) -> Any:
        averager = PeriodicModelAverager(period=2, warmup_steps=1, process_group=group)
        found = []
        for _ in range(4):
            parameters = [kellet.full((1,), float(group.rank())), kellet.full((2,), 1.0).double()]
            averager.average_parameters(parameters)
            found.append(parameters[0].item())
        return found

    assert on_ranks(2, work) == [[0.0, 0.5, 0.0, 0.5], [1.0, 0.5, 1.0, 0.5]]
    with pytest.raises(ValueError, match="period must be a positive value, got 0"):
        PeriodicModelAverager(0)
    with pytest.raises(ValueError, match="must be a non-negative number, got -1"):
        PeriodicModelAverager(1, -1)
