"""A node of the graph: what has to run to take gradients from the outputs of a step to its inputs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..hooks import RemovableHandle, require_form
from .modes import Task, state
from .node_hooks import NodeHooks, as_tensor, from_tensor, hooks_of

if TYPE_CHECKING:
    from .variable import Variable

PRE_FORM, POST_FORM = ("grad_outputs",), ("grad_inputs", "grad_outputs")
"""The arguments of the hooks of a node."""

sequence_numbers = itertools.count()
"""Nodes are numbered in the order in which they are made, over all threads. A node leads only to
nodes of lower numbers, so descending numbers are an order in which a graph may run."""


@functools.cache
def _class_called(name: str, kind: type[Node]) -> type[Node]:
    """A class like `kind` with the name of a step, for `type(tensor.grad_fn).__name__`."""
    return type(name, (kind,), {"__slots__": (), "__module__": kind.__module__, "_named": True})


class Node:
    """One step of a graph, as `tensor.grad_fn` shows it.

    Inside autograd, `edges` holds for every input where its gradient goes: a Node (its output 0),
    an `Edge` (another output), a leaf (its gradient is accumulated), or None (nowhere). All of
    these answer `_nr`: 0, the number, -1.

    `needs` flags the inputs that require a gradient. `shape` and `dtype` are those of output 0;
    `others` lists (shape, dtype) of further outputs, or is None.

    Source: torch.autograd.graph.Node.

    >>> y = kellet.ones(1, requires_grad=True) * 2
    >>> isinstance(y.grad_fn, kellet.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    __slots__ = ("__weakref__", "dtype", "edges", "hooks", "needs", "others", "sequence", "shape")

    _nr = 0
    _named = True  # the class is called as the step is
    edges: tuple[Target | None, ...]
    hooks: NodeHooks | None
    needs: tuple[bool, ...]
    others: tuple[tuple[tuple[int, ...], Any], ...] | None
    sequence: int
    shape: tuple[int, ...]
    dtype: Any

    def run(self, grads: Sequence[Any], needs: tuple[bool, ...], task: Task) -> Sequence[Any]:
        """Make gradients of the inputs of those of the outputs: Tensors when `task.graph`, else ndarrays."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it runs")

    # --- what users see ---------------------------------------------------------------------------

    def name(self) -> str:
        """Return the name of the step, such as `MulBackward0`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input, the node its gradient goes to and the number of that node's output."""
        return tuple((None, 0) if edge is None else edge._as_function() for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user about the node."""
        hooks = self._hooks()
        if hooks.metadata is None:
            hooks.metadata = {}
        return hooks.metadata

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node runs, after the hooks of its output tensors.

        `grad_outputs` has one gradient per output of the step, None where none arrived. The hook
        returns None, or a tuple of the same length that the node runs with instead.

        Raises TypeError for a hook that does not take one argument.

        Source: torch.autograd.graph.Node.register_prehook; there it fails when it runs.
        """
        require_form(hook, PRE_FORM)
        return self._hooks().before().add(hook)

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran.

        `grad_outputs` has the gradients that the node ran with. The hook returns None, or a tuple that
        replaces `grad_inputs`. Raises TypeError for a hook that does not take two arguments.

        Source: torch.autograd.graph.Node.register_hook; there it fails when it runs.

        >>> import kellet
        >>> x = kellet.ones(1, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(len(grad_inputs)))
        >>> y.backward()
        2
        """
        require_form(hook, POST_FORM)
        return self._hooks().after().add(hook)

    def add_pre_hook(self, hook: Callable[[tuple[Any, ...]], Any]) -> None:
        """Add a pre-hook in the form of PyTorch in C++: `hook(grads) -> grads`, which cannot be removed.

        It stands in one list with the hooks of `register_prehook`. Raises TypeError for a hook that does
        not take one argument.
        """
        require_form(hook, PRE_FORM)
        self._hooks().before().add(hook)

    def add_post_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> int:
        """Add a hook in the form of PyTorch in C++: `hook(grad_inputs, grad_outputs) -> grad_inputs`.

        Returns the key with which `del_post_hook` removes it. It stands in one list with the hooks
        of `register_hook`. Raises TypeError for a hook that does not take two arguments.
        """
        require_form(hook, POST_FORM)
        return self._hooks().after().add(hook).id

    def del_post_hook(self, key: int) -> bool:
        """Remove the hook that `add_post_hook` returned `key` for; say whether it was there."""
        return self._hooks().after().discard(key)

    def __call__(self, *grads: Any) -> Any:
        """Run this node alone on gradients of its outputs (tensors or None); nothing is released.

        Its hooks are not called. Raises TypeError for another number of gradients.
        """
        count = 1 + len(self.others or ())
        if len(grads) != count:
            raise TypeError(
                f"{self.name()} expected {count} arguments, got {len(grads)} instead; pass one for each "
                "output"
            )
        task = Task(graph=state.grad, keep=True)
        try:
            if task.graph:
                task.enter()
            results = self.run([from_tensor(value, task.graph) for value in grads], self.needs, task)
            found = tuple([as_tensor(value, task.graph) for value in results])
            task.run_callbacks()
        finally:
            task.leave()
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    # --- for autograd -----------------------------------------------------------------------------

    def _hooks(self) -> NodeHooks:
        return hooks_of(self, "hooks", NodeHooks)  # type: ignore[no-any-return]  # of the kind asked for

    def _shown(self) -> Node:
        """This node as users see it: of a class that is called as the step is.

        Classes are given when one looks, as most nodes are never looked at and the engine knows
        those of its own that it may run in a short way.
        """
        if not self._named:
            kind: Any = type(self)  # with a slot __hash__ that checkers take for unhashable
            self.__class__ = _class_called(self.name(), kind)
        return self

    def _as_function(self) -> tuple[Node, int]:
        return (self._shown(), 0)

    def _sequence_nr(self) -> int:
        return self.sequence

    def output(self, number: int) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of output `number`."""
        if number == 0 or self.others is None:
            return (self.shape, self.dtype)
        return self.others[number - 1]


class Edge:
    """Output `_nr`, not the first, of a node."""

    __slots__ = ("_nr", "node")

    def __init__(self, node: Node, number: int) -> None:
        self.node = node
        self._nr = number

    def _as_function(self) -> tuple[Node, int]:
        return (self.node._shown(), self._nr)


Target: TypeAlias = "Node | Edge | Variable"
"""Where a gradient goes; see `Node.edges`."""


def target(node: Node, number: int) -> Node | Edge:
    """Return output `number` of `node` as the edges of other nodes hold it."""
    return node if number == 0 else Edge(node, number)
