"""A hook that sends nothing, to see what sending costs."""

from __future__ import annotations

from ....core import Tensor
from ....futures import Future
from ...grad_bucket import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: object, bucket: GradBucket) -> Future[Tensor]:
    """Return a future that is done, of the gradients of this rank alone: models of the ranks drift apart.

    Source: torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks.noop_hook.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
    >>> noop_hook(None, dist.GradBucket(0, kellet.ones(1), [kellet.zeros(1)], is_last=True)).value()
    tensor([1.])
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
