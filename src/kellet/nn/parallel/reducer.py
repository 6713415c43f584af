"""Gradients on their way: collected into buckets as backward makes them, sent, and written back at its end.

One pass, step by step:

1. `prepare` (at the end of forward): all buckets are empty; parameters that the outputs do not depend on are
   known, where they have been asked for.
2. A post-accumulate hook brings each gradient into its bucket (`_arrived`).
3. The bucket that is complete, and all buckets before it, are sent: on all ranks in the order of their
   numbers. Backward goes on meanwhile.
4. With the last bucket the end of the pass is asked for (`queue_callback`); there, `_finish` waits for all
   buckets and writes the results to `.grad`.

After the first pass the buckets are made anew, once, in the order in which gradients have come (`rebuild`).

Source: PyTorch Distributed: Experiences on Accelerating Data Parallel Training (Li et al., VLDB 2020).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from ...autograd import queue_callback
from ...autograd.bridge import Array, wrap
from ...autograd.variable import bump
from ...autograd.wanted import leaves_of
from ...core import Tensor
from ...distributed import GradBucket, ProcessGroup, ReduceOp, all_reduce
from ...distributed.comm_hook import CommHook, call_comm_hook, hook_result
from ...errors import DistributedError
from ...futures import Future
from ...hooks import RemovableHandle
from ...listing import first_of
from .bucketing import assign_buckets


class State(Enum):
    """What the gradients of the next backward pass are for."""

    LOCAL = "they stay those of this rank"
    EXPECTED = "they are sent"
    UNDER_WAY = "some are, others are awaited"
    FINISHED = "they have been sent since the last forward"


class Bucket:
    """The place of some gradients in one flat buffer, and how far they are in this pass."""

    def __init__(self, number: int, members: Sequence[int], parameters: Sequence[Tensor], last: bool) -> None:
        self.number = number
        self.members = list(members)
        self.parameters = list(parameters)
        self.is_last = last
        size = sum(parameter._array.size for parameter in self.parameters)
        self.buffer: Tensor = wrap(np.empty(size, self.parameters[0]._array.dtype))  # type: ignore[assignment]  # a Tensor
        self.views = self.shown().gradients()
        self.begin()

    def begin(self) -> None:
        """Start a pass: no gradient is here."""
        self.missing = len(self.members)
        self.sent: GradBucket | None = None
        self.future: Future[Any] | None = None

    def shown(self) -> GradBucket:
        """Return the bucket as a communication hook sees it."""
        return GradBucket(self.number, self.buffer, self.parameters, is_last=self.is_last)


class Reducer:
    """Brings the gradients of `parameters`, pairs of name and parameter, to those of all ranks of a group.

    Without a hook they become the average: the sum divided by `divisor`, at first the number of ranks.
    """

    def __init__(
        self,
        parameters: Sequence[tuple[str, Tensor]],
        group: ProcessGroup,
        *,
        cap_bytes: int,
        find_unused: bool,
        as_views: bool,
    ) -> None:
        self.names = [name for name, _ in parameters]
        self.parameters = [parameter for _, parameter in parameters]
        self.group = group
        self.hook: CommHook | None = None
        self.hook_state: Any = None
        self.divisor = group.size()
        self.state = State.LOCAL
        self.is_local = False  # within no_sync()
        self._cap_bytes = cap_bytes
        self._find_unused = find_unused
        self._as_views = as_views
        self._unused: list[int] = []
        self._used = np.zeros(len(self.parameters), np.int32)  # here, since gradients were last written
        self._arrivals: list[int] = []
        self._rebuild_due = False
        self._rebuilt = find_unused  # other gradients may come each time
        self._make_buckets(range(len(self.parameters) - 1, -1, -1))
        # The parameters outlive the reducer: a module may be wrapped anew.
        handles = [
            parameter.register_post_accumulate_grad_hook(partial(_on_gradient, weakref.ref(self), number))
            for number, parameter in enumerate(self.parameters)
        ]
        weakref.finalize(self, _remove_all, handles).atexit = False

    # --- before a pass ----------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Put the buckets into the order of the first pass, after it, once and on all ranks."""
        if not self._rebuild_due:
            return
        self._rebuild_due, self._rebuilt = False, True
        mine = np.array(self._arrivals, np.int32).tobytes()
        orders = [np.frombuffer(order, np.int32) for order in self.group.all_gather_bytes(mine)]
        # Of the lowest rank that has one: ranks without inputs of their own have seen no gradient.
        found = [order.tolist() for order in orders if len(order) == len(self.parameters)]
        if found:
            self._make_buckets(found[0])

    def prepare(self, outputs: Iterable[Tensor]) -> None:
        """Expect the gradients of one backward pass from these outputs.

        Raises DistributedError where the last pass has not brought all of them.
        """
        self._require_finished()
        self._begin()
        self._unused = self._unused_by(outputs) if self._find_unused else []

    def skip(self) -> None:
        """Let the gradients of the next backward pass stay here."""
        self._require_finished()
        self.state = State.LOCAL

    def shadow(self) -> None:
        """Take part in a pass of the other ranks with zeros; gradients here are not touched."""
        self._begin()
        for bucket in self._buckets:
            bucket.buffer._array[...] = 0
            self._send(bucket)
        self._send_used(np.zeros_like(self._used))
        for bucket in self._buckets:
            self._result_of(bucket)
        self._await_used()
        self._end()
        self.state = State.LOCAL

    def _begin(self) -> None:
        self.state = State.EXPECTED
        self._next = 0
        self._arrived: set[int] = set()
        self._arrivals = []
        for bucket in self._buckets:
            bucket.begin()

    def _make_buckets(self, order: Sequence[int]) -> None:
        groups = assign_buckets(self.parameters, order, self._cap_bytes)
        self._buckets = [
            Bucket(place, members, [self.parameters[m] for m in members], place == len(groups) - 1)
            for place, members in enumerate(groups)
        ]
        self._place = {
            member: (bucket, at) for bucket in self._buckets for at, member in enumerate(bucket.members)
        }

    def _unused_by(self, outputs: Iterable[Tensor]) -> list[int]:
        reached = {id(leaf) for leaf in leaves_of(outputs)}
        return [number for number, each in enumerate(self.parameters) if id(each) not in reached]

    def _require_finished(self) -> None:
        if self.state is not State.UNDER_WAY:
            return
        names = [name for number, name in enumerate(self.names) if number not in self._arrived]
        listed = ", ".join(first_of([*map(repr, names)]))
        raise DistributedError(
            "Expected to have finished reduction in the prior iteration before starting a new one: the last "
            f"backward pass has brought no gradients of {listed}, so other ranks may wait for them; "
            "use all outputs of forward in the loss, or pass find_unused_parameters=True to "
            "DistributedDataParallel"
        ).holding(names)

    # --- within a pass ----------------------------------------------------------------------------

    def _on_gradient(self, number: int) -> None:
        self._used[number] = 1
        if self.state is State.LOCAL:
            return
        if self.parameters[number].grad is not None and self.parameters[number].grad.requires_grad:
            raise DistributedError(
                f"the gradient of {self.names[number]!r} is part of a graph, and graphs cannot "
                "cross ranks; leave out create_graph=True, or run forward and backward within no_sync()"
            )
        if self.state is State.FINISHED:
            if self.is_local:
                return
            raise DistributedError(
                f"a second backward pass since the last forward computed a gradient of "
                f"{self.names[number]!r}, which would not be averaged over the ranks; add the losses up and "
                "call backward once, or run both within no_sync() to keep gradients local"
            )
        if self.state is State.EXPECTED:
            self.state = State.UNDER_WAY
            for unused in self._unused:
                self._on_arrival(unused)
        self._on_arrival(number)

    def _on_arrival(self, number: int) -> None:
        if number in self._arrived:
            raise DistributedError(
                f"Expected to mark a variable ready only once: {self.names[number]!r} received a gradient "
                "twice since the last forward, and the first is being sent; go backward once through each "
                "part of the model, and use the parameters of a checkpointed part nowhere else"
            )
        self._arrived.add(number)
        self._arrivals.append(number)
        bucket, at = self._place[number]
        self._fill(bucket, at)
        bucket.missing -= 1
        while self._next < len(self._buckets) and not self._buckets[self._next].missing:
            self._send(self._buckets[self._next])
            self._next += 1
        if self._next == len(self._buckets):
            self._send_used(self._used)
            queue_callback(self._finish)

    def _fill(self, bucket: Bucket, at: int) -> None:
        """Bring a gradient into the buffer, divided already where no hook does it."""
        view = bucket.views[at]._array
        grad = bucket.parameters[at].grad
        if grad is None:
            view[...] = 0
        elif self.hook is None:
            np.divide(grad._array, view.dtype.type(self.divisor), out=view)
        elif not np.may_share_memory(grad._array, view):
            np.copyto(view, grad._array)

    def _send(self, bucket: Bucket) -> None:
        bucket.sent = bucket.shown()
        if self.hook is None:
            bucket.future = all_reduce(bucket.buffer, ReduceOp.SUM, self.group, async_op=True)
        else:
            bucket.future = call_comm_hook(self.hook, self.hook_state, bucket.sent)

    def _send_used(self, used: Array) -> None:
        """Ask, where that is wanted, which parameters any rank has used."""
        self._used_by_all: Tensor = wrap(used.copy())  # type: ignore[assignment]  # wrap makes Tensors
        self._used_work: Future[Any] | None = None
        if self._find_unused:
            self._used_work = all_reduce(self._used_by_all, ReduceOp.MAX, self.group, async_op=True)

    # --- at the end of a pass ---------------------------------------------------------------------

    def _finish(self) -> None:
        results = [self._result_of(bucket) for bucket in self._buckets]
        used = self._await_used()
        for bucket, result in zip(self._buckets, results, strict=True):
            self._store(bucket, result, used)
        self._used[...] = 0
        self._end()
        self.state = State.FINISHED

    def _result_of(self, bucket: Bucket) -> Array:
        assert bucket.future is not None
        assert bucket.sent is not None
        if self.hook is None:
            bucket.future.wait()
            return bucket.buffer._array
        return hook_result(self.hook, bucket.future, bucket.sent)

    def _await_used(self) -> Array:
        if self._used_work is not None:
            self._used_work.wait()
        return self._used_by_all._array

    def _store(self, bucket: Bucket, result: Array, used: Array) -> None:
        if self._as_views and not np.may_share_memory(result, bucket.buffer._array):
            np.copyto(bucket.buffer._array, result, casting="same_kind")
        start = 0
        for member, parameter, view in zip(bucket.members, bucket.parameters, bucket.views, strict=True):
            end = start + parameter._array.size
            if self._find_unused and not used[member]:
                pass  # nobody has used it: its gradient stays what it is, mostly None
            elif self._as_views:
                if parameter.grad is None or parameter.grad._array is not view._array:
                    parameter.grad = view
                bump(parameter.grad)
            else:
                _write_grad(parameter, result[start:end].reshape(parameter._array.shape))
            start = end

    def _end(self) -> None:
        self._rebuild_due = not self._rebuilt
        for bucket in self._buckets:
            bucket.sent = bucket.future = None


def _on_gradient(reducer: weakref.ref[Reducer], number: int, parameter: Tensor) -> None:
    found = reducer()
    if found is not None:
        found._on_gradient(number)


def _remove_all(handles: Sequence[RemovableHandle]) -> None:
    for handle in handles:
        handle.remove()


def _write_grad(parameter: Tensor, value: Array) -> None:
    grad = parameter.grad
    if grad is not None and grad._array.flags.writeable:
        np.copyto(grad._array, value, casting="same_kind")
        bump(grad)
    else:
        parameter.grad = wrap(value.astype(parameter._array.dtype, casting="same_kind"))
