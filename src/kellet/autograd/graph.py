"""The graph from outside: nodes, places in it, hooks on saved values and on several tensors.

Source: torch.autograd.graph, in whose place these names stand.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import GradientError
from ..hooks import RemovableHandle, require_callable
from .engine import current_pass
from .gradients import GradientEdge, get_gradient_edge
from .modes import Task
from .node import Edge, Node
from .saved import disable_saved_tensors_hooks, saved_tensors_hooks
from .variable import Variable, bump, edge_of

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "saved_tensors_hooks",
]


def increment_version(tensor: object) -> None:
    """Tell autograd that the data of a tensor (or of several) was changed behind its back.

    A graph that saved the old values then raises VersionError instead of using the new ones.

    Raises TypeError for a value that is not a tensor.

    Source: torch.autograd.graph.increment_version.

    >>> x = kellet.ones(2)
    >>> kellet.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in [tensor] if isinstance(tensor, Variable) or not isinstance(tensor, Iterable) else tensor:
        if not isinstance(one, Variable):
            raise TypeError(f"increment_version takes tensors, got {type(one).__name__}")
        bump(one)


# --- one hook for several tensors ----------------------------------------------------------------


class MultiHandle(RemovableHandle):
    """The handle of a hook that hangs on several tensors: removes it from all of them."""

    __slots__ = ("handles",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)
        self.id = self.handles[0].id if self.handles else -1
        self._registry = None

    def remove(self) -> None:
        """Remove the hook from every tensor."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        MultiHandle.__init__(self, state)


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once per backward pass with gradients of several tensors.

    `mode="all"`: `fn(grads)`, when every tensor that takes part in the pass has its gradient; None stands for
    the others. `mode="any"`: `fn(grad)`, with the first gradient that is known; tensors that require no
    gradient are skipped. The return value of `fn` is ignored, and it should not change its argument.

    Raises ValueError for another mode, TypeError for a value that is not callable, GradientError for a
    tensor that requires no gradient (with "all").

    Source: torch.autograd.graph.register_multi_grad_hook.

    >>> a, b = kellet.ones(1, requires_grad=True), kellet.ones(1, requires_grad=True)
    >>> handle = kellet.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(grads))
    >>> (a * 2 + b).backward()
    [tensor([2.]), tensor([1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    require_callable(fn)
    if mode == "any":
        first = _First(fn)
        return MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])
    gathered = _Gathered(tensors, fn)
    return MultiHandle([t.register_hook(gathered.at(i)) for i, t in enumerate(tensors)])


def _running() -> Task:
    task = current_pass()
    if task is None:
        raise GradientError("a multi-grad hook was called outside of backward; let the engine call it")
    return task


class _First:
    """Lets the first gradient of each pass through to the hook."""

    def __init__(self, fn: Callable[[Any], None]) -> None:
        self._fn = fn
        self._seen: weakref.WeakSet[Task] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __call__(self, grad: Any) -> None:
        task = _running()
        with self._lock:
            if task in self._seen:
                return
            self._seen.add(task)
        self._fn(grad)


class _Gathered:
    """Collects the gradients of each pass and calls the hook with the last one that can come."""

    def __init__(self, tensors: Sequence[Any], fn: Callable[[Any], None]) -> None:
        self._fn = fn
        self._places = [_place_of(t) for t in tensors]
        self._passes: weakref.WeakKeyDictionary[Task, tuple[list[Any], list[int]]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def at(self, index: int) -> Callable[[Any], None]:
        """The hook of one tensor."""

        def hook(grad: Any) -> None:
            task = _running()
            with self._lock:
                found = self._passes.get(task)
                if found is None:
                    expected = sum(place() in task.counts for place in self._places)
                    found = self._passes[task] = ([None] * len(self._places), [expected])
                grads, left = found
                grads[index] = grad
                left[0] -= 1
                complete = left[0] == 0
                if complete:
                    del self._passes[task]
            if complete:
                self._fn(grads)

        return hook


def _place_of(tensor: Any) -> Callable[[], Any]:
    """The node or leaf whose part in a pass tells whether the gradient of `tensor` will come."""
    edge = edge_of(tensor)
    if edge is None:
        raise GradientError(
            "register_multi_grad_hook needs tensors that require a gradient; leave the others out of the list"
        )
    return weakref.ref(edge.node if type(edge) is Edge else edge)
