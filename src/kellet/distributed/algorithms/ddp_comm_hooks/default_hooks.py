"""The average of all ranks, sent unchanged or with half of the bits, and the same bits for other hooks."""

from __future__ import annotations

from typing import Any

from ....core import Tensor
from ....dtypes import as_dtype
from ....futures import Future
from ...collectives import all_reduce
from ...comm_hook import CommHook
from ...grad_bucket import GradBucket
from ...process_group import ProcessGroup
from ...world import resolve_group

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the future of the average of all ranks: the behaviour without a hook.

    `process_group`, the state to register, is by default the group of all processes.

    Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> group = dist.ProcessGroup(dist.AloneTransport())
    >>> bucket = dist.GradBucket(0, kellet.ones(2), [kellet.zeros(2)], is_last=True)
    >>> allreduce_hook(group, bucket).wait()
    tensor([1., 1.])
    """
    return average(process_group, bucket.buffer())


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the future of the average of all ranks, divided first and sent as float16.

    That is half of the bytes of float32, with 11 bits of each number; quotients beyond 65504 become
    infinite. The result has the dtype of the bucket.

    Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook, which divides after
    it has converted.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> bucket = dist.GradBucket(0, kellet.tensor([1.0, 0.001]), [kellet.zeros(2)], is_last=True)
    >>> default_hooks.fp16_compress_hook(dist.ProcessGroup(dist.AloneTransport()), bucket).wait().tolist()
    [1.0, 0.0010004043579101562]
    """
    return _compressed(process_group, bucket, "float16")


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the future of the average of all ranks, divided first and sent as bfloat16.

    That is half of the bytes of float32, with 8 bits of each number and the same range.

    Raises DTypeError where ml_dtypes is not installed.

    Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook, which divides after
    it has converted.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> bucket = dist.GradBucket(0, kellet.tensor([1.0, 0.001]), [kellet.zeros(2)], is_last=True)
    >>> default_hooks.bf16_compress_hook(dist.ProcessGroup(dist.AloneTransport()), bucket).wait().tolist()
    [1.0, 0.00099945068359375]
    """
    return _compressed(process_group, bucket, "bfloat16")


def fp16_compress_wrapper(hook: CommHook) -> CommHook:
    """Return a hook that gives `hook` each bucket as float16 and restores the dtype of its result.

    The wrapped hook has the same state.

    Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_wrapper.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    >>> bucket = dist.GradBucket(0, kellet.tensor([0.1]), [kellet.zeros(1)], is_last=True)
    >>> hook(dist.ProcessGroup(dist.AloneTransport()), bucket).wait()
    tensor([0.1000])
    """
    return _wrapped(hook, "float16")


def bf16_compress_wrapper(hook: CommHook) -> CommHook:
    """Return a hook that gives `hook` each bucket as bfloat16 and restores the dtype of its result.

    The hook raises DTypeError where ml_dtypes is not installed.

    Source: torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_wrapper.

    >>> from kellet.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> callable(default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
    True
    """
    return _wrapped(hook, "bfloat16")


def average(group: ProcessGroup | None, tensor: Tensor) -> Future[Tensor]:
    """Divide a tensor by the number of ranks, in place; return the future of its sum over them."""
    found = resolve_group(group)
    tensor.div_(found.size())
    work = all_reduce(tensor, group=found, async_op=True)
    assert work is not None
    return work.then(lambda future: future.value()[0])


def _compressed(group: ProcessGroup | None, bucket: GradBucket, dtype: str) -> Future[Tensor]:
    buffer = bucket.buffer()
    found = resolve_group(group)
    small = buffer.div_(found.size()).to(as_dtype(dtype))
    work = all_reduce(small, group=found, async_op=True)
    assert work is not None
    return work.then(lambda future: buffer.copy_(future.value()[0]))


def _wrapped(hook: CommHook, dtype: str) -> CommHook:
    def wrapped(state: Any, bucket: GradBucket) -> Future[Tensor]:
        buffer = bucket.buffer()

        def decompress(future: Future[Any]) -> Tensor:
            value = future.value()
            bucket.set_buffer(buffer)
            return buffer.copy_(value[0] if isinstance(value, list) else value)

        bucket.set_buffer(buffer.to(as_dtype(dtype)))
        return hook(state, bucket).then(decompress)

    return wrapped
