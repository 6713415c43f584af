"""`DistributedDataParallel`: the same model on every rank, each with its part of the batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...autograd import Variable, is_grad_enabled
from ...distributed import ProcessGroup
from ...distributed.comm_hook import CommHook, check_comm_hook
from ...distributed.world import resolve_group
from ...errors import DistributedError
from ..module import Module
from .agreement import require_same_model, send_values
from .joining import Joining, Round
from .reducer import Reducer


class DistributedDataParallel(Module):
    """A module whose gradients are those of all ranks: their average, or the result of a communication hook.

    Every rank wraps a module of its own, built in the same way; its values become those of rank 0. Each rank
    then trains on its part of every batch, and all of them take the same steps. With losses that are means
    over equal parts, that is the training of one process on the whole batch.

    Gradients travel in buckets of `bucket_cap_mb` MiB while backward goes on: a bucket leaves when its last
    gradient is there. `find_unused_parameters` looks through the graph of the outputs for parameters that
    this pass does not reach, and does not wait for them; a parameter that no rank uses keeps its `.grad`.
    `gradient_as_bucket_view` makes `.grad` of every parameter a view of its bucket, which saves a copy of
    all gradients; they must then not be replaced by other tensors between accumulating passes.
    `broadcast_buffers` brings the buffers of rank 0 to all ranks before each forward.

    What is changed by rank 0 alone, such as a parameter set by hand, does not travel. Keys of the state dict
    begin with `module.`. An optimizer is given the parameters as they are after this.

    Raises TypeError for a value that is not a Module, ValueError for a size of buckets that is not positive,
    DistributedError where no parameter requires a gradient or no group has been made, RankMismatchError
    where the ranks have different models. A backward pass that does not bring all gradients makes the next
    forward raise DistributedError, and so does one with `create_graph=True`, at once.

    Source: torch.nn.parallel.DistributedDataParallel, where a second backward pass since the last forward
    silently leaves its gradients local; here it raises DistributedError.

    >>> import kellet.distributed as dist
    >>> dist.init_process_group()
    >>> net = kellet.nn.parallel.DistributedDataParallel(kellet.nn.Linear(2, 1))
    >>> net(kellet.ones(4, 2)).mean().backward()
    >>> net.module.weight.grad, list(net.state_dict())
    (tensor([[1., 1.]]), ['module.weight', 'module.bias'])
    >>> dist.destroy_process_group()
    """

    module: Module

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float = 25,
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = False,
        *,
        broadcast_buffers: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"DistributedDataParallel wraps an nn.Module, got {type(module).__name__}")
        if not bucket_cap_mb > 0:
            raise ValueError(f"bucket_cap_mb must be positive, got {bucket_cap_mb!r}")
        trained = [(name, each) for name, each in module.named_parameters() if each.requires_grad]
        if not trained:
            raise DistributedError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that "
                "require a gradient; use the module itself"
            )
        self.module = module
        self.process_group = resolve_group(process_group)
        self.broadcast_buffers = broadcast_buffers
        self.require_backward_grad_sync = True
        self._joining: Joining | None = None
        require_same_model(self.process_group, list(module.named_parameters()))
        self._send_model(src=0)
        self._reducer = Reducer(
            trained,
            self.process_group,
            cap_bytes=int(bucket_cap_mb * 2**20),
            find_unused=find_unused_parameters,
            as_views=gradient_as_bucket_view,
        )
        self._find_unused = find_unused_parameters

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module; the gradients of its outputs will be sent, unless within `no_sync`."""
        sends_gradients = is_grad_enabled() and self.require_backward_grad_sync
        sends_buffers = self._sends_buffers()
        source = 0
        if self._joining is not None:
            about = self._joining.announce(buffers=sends_buffers, gradients=sends_gradients)
            self._reducer.divisor = self._joining.divisor(about)
            source = about.active[0]
        if sends_gradients:
            self._reducer.rebuild()
        if sends_buffers:
            send_values(self.process_group, list(self.module.buffers()), source)
        outputs = self.module(*inputs, **kwargs)
        if sends_gradients:
            self._reducer.prepare(_tensors_in(outputs) if self._find_unused else ())
        elif is_grad_enabled():
            self._reducer.skip()
        return outputs

    def register_comm_hook(self, state: object, hook: CommHook) -> None:
        """Let `hook(state, bucket)` exchange the gradients in place of the all-reduce.

        It is called once for each bucket of a backward pass, when all gradients of the bucket are there, in
        the same order on all ranks, and not within `no_sync`. It returns a Future of one tensor of the shape
        of `bucket.buffer()`, which becomes the gradients. The buffer holds the gradients of this rank, not
        divided by the number of ranks. Exceptions of the hook and of its Future are raised from `backward()`.
        It cannot be removed.

        Raises TypeError for a hook that cannot be called with these two, ValueError for annotations that say
        something else, DistributedError for a second hook.

        Source: torch.nn.parallel.DistributedDataParallel.register_comm_hook, where the second parameter has
        to be called `bucket`.

        >>> import kellet.distributed as dist
        >>> dist.init_process_group()
        >>> net = kellet.nn.parallel.DistributedDataParallel(kellet.nn.Linear(2, 1))
        >>> def encode_and_decode(state, bucket):
        ...     sent = dist.all_reduce(bucket.buffer().half(), async_op=True).get_future()
        ...     return sent.then(lambda future: future.value()[0].float() / dist.get_world_size())
        >>> net.register_comm_hook(state=None, hook=encode_and_decode)
        >>> net(kellet.ones(4, 2)).mean().backward()
        >>> net.module.weight.grad
        tensor([[1., 1.]])
        >>> dist.destroy_process_group()
        """
        check_comm_hook(hook)
        if self._reducer.hook is not None:
            raise DistributedError("register_comm_hook can only be called once; wrap one hook in another")
        self._reducer.hook, self._reducer.hook_state = hook, state

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep the gradients of the passes in this block on this rank, where they add up.

        The first pass after it sends their sum. Every rank has to do so for the same passes.

        Source: torch.nn.parallel.DistributedDataParallel.no_sync.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        self._reducer.is_local = True
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
            self._reducer.is_local = not before

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Let ranks with fewer batches than others leave the block early, and take part with zeros.

        The sum of gradients is divided by the number of all ranks, or by that of the ranks which still have
        inputs. At the end all ranks have the model of one with the most batches; optimizers are not sent. A
        communication hook is called on all ranks. `throw_on_early_termination` raises DistributedError on all
        ranks where one has no more inputs.

        Source: torch.nn.parallel.DistributedDataParallel.join.
        """
        if not enable:
            yield
            return
        self._joining = Joining(
            self.process_group,
            by_initial_size=divide_by_initial_world_size,
            throw=throw_on_early_termination,
        )
        try:
            yield
            for about in self._joining.rounds_of_the_others():
                self._follow(about)
            self._send_model(self._joining.last_active)
        finally:
            self._joining = None
            self._reducer.divisor = self.process_group.size()

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError(
            "DistributedDataParallel cannot be copied or pickled: it belongs to a group of processes; copy "
            "or save its .module"
        )

    def _follow(self, about: Round) -> None:
        """Take part in a forward and a backward pass of the other ranks."""
        if about.gradients:
            self._reducer.rebuild()
        if about.buffers:
            send_values(self.process_group, list(self.module.buffers()), about.active[0])
        if about.gradients:
            self._reducer.shadow()

    def _sends_buffers(self) -> bool:
        return (
            self.require_backward_grad_sync
            and self.broadcast_buffers
            and next(iter(self.module.buffers()), None) is not None
        )

    def _send_model(self, src: int) -> None:
        send_values(self.process_group, [*self.module.parameters(), *self.module.buffers()], src)


def _tensors_in(outputs: Any) -> Iterator[Any]:
    """Yield every tensor in tuples, lists, dicts and the attributes of other objects."""
    left, seen = [outputs], set()
    while left:
        each = left.pop()
        if isinstance(each, Variable):
            yield each
        elif isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list | tuple | set | frozenset):
            left += each
        elif hasattr(each, "__dict__") and not isinstance(each, type) and id(each) not in seen:
            seen.add(id(each))
            left += vars(each).values()
