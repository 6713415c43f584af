"""PowerSGD: the gradient of each matrix sent as two thin factors of it.

A gradient M of n x m, to which the error of the last pass has been added, is multiplied with a thin matrix Q
of m x r; the products P of all ranks are averaged and made orthonormal, then M^T P gives a new Q, averaged as
well; P Q^T is the gradient for all ranks. The difference from this rank's M is the error, added next time. Q
is the start of the next pass: the same gradient again is met better each time, as by subspace iteration.

Source: PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization (Vogels, Karimireddy
and Jaggi, NeurIPS 2019), algorithms 1 and 2, and
torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....autograd.bridge import Array, wrap
from ....core import Tensor
from ....futures import Future
from ...collectives import all_reduce
from ...grad_bucket import GradBucket
from ...process_group import ProcessGroup
from ...reduction import ReduceOp
from ...work import Work
from ...world import resolve_group
from .default_hooks import average

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """The state of `powerSGD_hook`: the rank of the factors, and the values kept between passes.

    `matrix_approximation_rank` is r, the number of columns of the factors. Before iteration
    `start_powerSGD_iter` gradients are averaged whole. A gradient is also sent whole if it has one axis,
    or if its factors are less than `min_compression_rate` times smaller; those of more axes are matrices of
    the first one and all others. `use_error_feedback` adds the error to the next gradient,
    `warm_start` begins with the factors of the last pass; else, and at first, random ones from `random_seed`
    are used, the same on all ranks.

    `error_dict` and `q_memory_dict` hold, by number of the bucket, errors and factors; `iter` counts passes.

    Raises ValueError for a rank below 1, and where the iteration is below 2 with error feedback or warm
    start: the buckets are made anew after the first pass.

    Source: torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.PowerSGDState.

    >>> from kellet.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=10).iter
    0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        random_seed: int = 0,
    ) -> None:
        if matrix_approximation_rank < 1:
            raise ValueError(f"matrix_approximation_rank must be positive, got {matrix_approximation_rank}")
        if (use_error_feedback or warm_start) and start_powerSGD_iter < 2:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                f"because buckets are made anew after the first iteration; found {start_powerSGD_iter}"
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.rng = np.random.default_rng(random_seed)
        self.error_dict: dict[int, Array] = {}
        self.q_memory_dict: dict[int, list[Array]] = {}
        self.iter = 0
        self.numbers_before = 0
        self.numbers_sent = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count the iteration with its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """Return how many times fewer numbers have been sent, and the counts before and after compression.

        Those of passes before `start_powerSGD_iter` are not counted.
        """
        rate = self.numbers_before / self.numbers_sent if self.numbers_sent else 0.0
        return rate, self.numbers_before, self.numbers_sent


@dataclass(frozen=True)
class _Split:
    """A bucket taken apart: matrices to be factored, and the flat rest. All are views of one array."""

    whole: Array
    matrices: Sequence[Array]
    rest: Sequence[Array]


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Return the future of the average of all ranks, made of factors of rank r where that is smaller.

    Source: the paper and the hook that this file names.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
    >>> alone = dist.ProcessGroup(dist.AloneTransport())
    >>> state = PowerSGDState(alone, 1, 0, 1, use_error_feedback=False, warm_start=False)
    >>> bucket = dist.GradBucket(0, kellet.ones(16), [kellet.zeros(4, 4)], is_last=True)
    >>> powerSGD_hook(state, bucket).wait().tolist() == [1.0] * 16  # of rank 1 already
    True
    >>> state.compression_stats()
    (2.0, 16, 8)
    """
    group = resolve_group(state.process_group)
    number, at_work = bucket.index(), state.iter >= state.start_powerSGD_iter
    state.maybe_increase_iter(bucket)
    if not at_work:
        return average(group, bucket.buffer())
    buffer = bucket.buffer()
    whole = buffer._array.astype(_computed(buffer._array.dtype))
    if state.use_error_feedback:
        whole += state.error_dict.get(number, 0)
    split = _split(state, bucket, whole)
    given = whole.copy() if state.use_error_feedback else None
    qs = _first_factors(state, number, split)
    ps = [matrix @ q for matrix, q in zip(split.matrices, qs, strict=True)]
    state.numbers_before += whole.size
    state.numbers_sent += sum(each.size for each in (*split.rest, *ps, *qs))

    # Both are under way at once; the second one's answer is what the next step begins with.
    rest_work = _average_all(split.rest, buffer._array.dtype, group)
    ps_work = _average_all(ps, buffer._array.dtype, group)

    def finish(_: Future[Any]) -> Tensor:
        _write(rest_work.value()[0], split.rest)
        _write(ps_work.value()[0], ps)
        bases = [np.linalg.qr(p)[0] for p in ps]
        for matrix, basis, q in zip(split.matrices, bases, qs, strict=True):
            q[...] = matrix.T @ basis
        _write(_average_all(qs, buffer._array.dtype, group).wait()[0], qs)
        for matrix, basis, q in zip(split.matrices, bases, qs, strict=True):
            np.matmul(basis, q.T, out=matrix)
        if given is not None:
            state.error_dict[number] = _error(state, bucket, given, split)
        if state.warm_start:
            state.q_memory_dict[number] = qs
        buffer._array[...] = whole
        return buffer

    return ps_work.then(finish)


def _computed(dtype: Any) -> Any:
    """The dtype to compute in: factors of numbers of 16 bits are made in float32, and sent as they came."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def _split(state: PowerSGDState, bucket: GradBucket, whole: Array) -> _Split:
    matrices, rest = [], []
    start = 0
    for parameter in bucket.parameters():
        shape = parameter._array.shape
        part = whole[start : start + parameter._array.size]
        start += part.size
        if len(shape) > 1 and _is_worth_it(state, shape[0], part.size // max(shape[0], 1)):
            matrices.append(part.reshape(shape[0], -1))
        else:
            rest.append(part)
    return _Split(whole, matrices, rest)


def _is_worth_it(state: PowerSGDState, rows: int, columns: int) -> bool:
    factors = (rows + columns) * min(state.matrix_approximation_rank, rows, columns)
    return 0 < factors * state.min_compression_rate < rows * columns


def _first_factors(state: PowerSGDState, number: int, split: _Split) -> list[Array]:
    known = state.q_memory_dict.get(number) if state.warm_start else None
    if known is not None:
        return known
    return [
        state.rng.standard_normal(
            (matrix.shape[1], min(state.matrix_approximation_rank, *matrix.shape))
        ).astype(matrix.dtype)
        for matrix in split.matrices
    ]


def _average_all(arrays: Sequence[Array], dtype: Any, group: ProcessGroup) -> Work:
    flat = np.concatenate([np.empty(0, dtype), *(each.reshape(-1) for each in arrays)]).astype(dtype)
    work = all_reduce(wrap(flat), ReduceOp.AVG, group, async_op=True)
    assert work is not None
    return work


def _write(tensor: Any, arrays: Sequence[Array]) -> None:
    start = 0
    for each in arrays:
        each[...] = tensor._array[start : start + each.size].reshape(each.shape)
        start += each.size


def _error(state: PowerSGDState, bucket: GradBucket, given: Array, split: _Split) -> Array:
    """What the result leaves out of this rank's gradient; nothing where gradients are sent whole."""
    error = np.zeros_like(given)
    ours = _split(state, bucket, error).matrices
    wanted = _split(state, bucket, given).matrices
    for left_out, matrix, result in zip(ours, wanted, split.matrices, strict=True):
        np.subtract(matrix, result, out=left_out)
    return error
