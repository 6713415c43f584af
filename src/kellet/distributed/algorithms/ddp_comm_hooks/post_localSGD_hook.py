"""Post-local SGD: gradients of all ranks at first, later those of a few ranks, or of none.

Source: Don't Use Large Mini-Batches, Use Local SGD (Lin et al., ICLR 2020), and
torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook.
"""

from __future__ import annotations

from ....core import Tensor
from ....futures import Future
from ...grad_bucket import GradBucket
from ...process_group import ProcessGroup
from ...world import resolve_group
from .debugging_hooks import noop_hook
from .default_hooks import average

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The state of `post_localSGD_hook`: from which iteration on gradients stay within a group.

    Before iteration `start_localSGD_iter` (from 0) gradients are averaged over `process_group`, by default
    all processes; from then on over `subgroup`, or not at all without `post_local_gradient_allreduce`. Models
    have to be averaged from time to time then: `kellet.distributed.algorithms.model_averaging`.

    Raises ValueError where gradients shall be averaged over a missing subgroup, or for a negative
    iteration.

    Source: torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook.PostLocalSGDState, where no
    subgroup stands for the ranks of each machine.

    >>> from kellet.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> PostLocalSGDState(None, None, start_localSGD_iter=10, post_local_gradient_allreduce=False).iter
    0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        if subgroup is None and post_local_gradient_allreduce:
            raise ValueError(
                "PostLocalSGDState: expected a subgroup to average gradients over; make one with new_group "
                "or new_subgroups, or pass post_local_gradient_allreduce=False"
            )
        if start_localSGD_iter < 0:
            raise ValueError(f"start_localSGD_iter must not be negative, got {start_localSGD_iter}")
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count the iteration with its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Return the future of the average over all ranks at first, later over the subgroup of the state.

    Source: torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook.post_localSGD_hook.

    >>> import kellet.distributed as dist
    >>> from kellet.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import *
    >>> alone = dist.ProcessGroup(dist.AloneTransport())
    >>> state = PostLocalSGDState(alone, alone, start_localSGD_iter=1)
    >>> bucket = dist.GradBucket(0, kellet.ones(1), [kellet.zeros(1)], is_last=True)
    >>> post_localSGD_hook(state, bucket).wait(), state.iter
    (tensor([1.]), 1)
    """
    is_local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not is_local:
        return average(resolve_group(state.process_group), bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    return average(state.subgroup, bucket.buffer())
