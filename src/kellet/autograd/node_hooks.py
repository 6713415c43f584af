"""The hooks that hang on a node of the graph, and how each kind is called.

Hooks see Tensors. A pass that needs no graph of its own carries plain ndarrays; they are wrapped
here, for as long as hooks look at them, and only where hooks are.

An undefined gradient (nothing flowed there) is None, for hooks as for the engine.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import HookError, HookTypeError
from ..hooks import HookRegistry
from .bridge import bridge, wrap

if TYPE_CHECKING:
    from .node import Node
    from .variable import Variable

Registry = HookRegistry[Any]
Gradients = list[Any]

_making = threading.Lock()
"""Held while something is made that two threads might both find missing."""


class NodeHooks:
    """Every hook of one node; each registry is made on first use.

    `tensor` and `retain` are by output number: the hooks of the tensor that this output is, and
    the tensor whose `.grad` wants this gradient. `capture_first` is kept in the engine.
    """

    __slots__ = ("metadata", "post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Registry] = {}
        self.retain: dict[int, weakref.ref[Variable]] = {}
        self.pre: Registry | None = None
        self.post: Registry | None = None
        self.metadata: dict[Any, Any] | None = None

    def of_tensor(self, number: int) -> Registry:
        """Return the registry of the tensor that is output `number`, made when there is none."""
        with _making:
            return self.tensor.setdefault(number, HookRegistry())

    def before(self) -> Registry:
        """Return the registry of the hooks called before the node runs."""
        with _making:
            if self.pre is None:
                self.pre = HookRegistry()
            return self.pre

    def after(self) -> Registry:
        """Return the registry of the hooks called after the node ran."""
        with _making:
            if self.post is None:
                self.post = HookRegistry()
            return self.post


class LeafHooks(NodeHooks):
    """The hooks of a leaf and of its accumulation node, which is `node` while that is held."""

    __slots__ = ("node", "post_accumulate")

    def __init__(self) -> None:
        super().__init__()
        self.node: weakref.ref[Node] | None = None
        self.post_accumulate: Registry | None = None

    def after_accumulation(self) -> Registry:
        """Return the registry of the hooks called when `.grad` was written."""
        with _making:
            if self.post_accumulate is None:
                self.post_accumulate = HookRegistry()
            return self.post_accumulate


def hooks_of(holder: object, name: str, kind: type[Any]) -> Any:
    """Return the hooks that `holder` keeps under `name`, made of `kind` when there are none."""
    found = getattr(holder, name)
    if found is None:
        with _making:
            found = getattr(holder, name)
            if found is None:
                found = kind()
                setattr(holder, name, found)
    return found


def run_tensor_hooks(hooks: NodeHooks, grads: Gradients, graph: bool) -> None:
    """Call the tensor hooks of every output, then store what is retained. Changes `grads` in place."""
    for number, registry in hooks.tensor.items():
        if registry:
            grads[number] = _through(registry, grads[number], graph)
    for number, reference in hooks.retain.items():
        tensor = reference()
        if tensor is not None and grads[number] is not None:
            _retain(tensor, grads[number], graph)


def _through(registry: Registry, value: Any, graph: bool) -> Any:
    tensor = as_tensor(value, graph)
    for entry in registry:
        answer = entry.hook(tensor)
        if answer is not None:
            check_answer(answer, tensor, "a tensor hook")
            tensor = answer
    return from_tensor(tensor, graph)


def _retain(tensor: Variable, value: Any, graph: bool) -> None:
    if graph:
        new = bridge.xp.clone(value)
        tensor._grad = new if tensor._grad is None else tensor._grad + new
    elif tensor._grad is None:
        tensor._grad = wrap(value.copy())
    else:
        tensor._grad = wrap(tensor._grad._array + value)


def run_pre_hooks(registry: Registry, grads: Gradients, graph: bool) -> Gradients:
    """Call the hooks before a node with its gradients; return the gradients to go on with."""
    tensors = tuple(as_tensor(value, graph) for value in grads)
    for entry in registry:
        answer = entry.hook(tensors)
        if answer is not None:
            tensors = _checked_tuple(answer, tensors, "a node pre-hook")
    return [from_tensor(tensor, graph) for tensor in tensors]


def run_post_hooks(
    registry: Registry, grad_inputs: Sequence[Any], grad_outputs: Sequence[Any], graph: bool
) -> Gradients:
    """Call the hooks after a node; return the gradients of its inputs to go on with."""
    inputs = tuple(as_tensor(value, graph) for value in grad_inputs)
    outputs = tuple(as_tensor(value, graph) for value in grad_outputs)
    for entry in registry:
        answer = entry.hook(inputs, outputs)
        if answer is not None:
            inputs = _checked_tuple(answer, inputs, "a node hook")
    return [from_tensor(tensor, graph) for tensor in inputs]


def as_tensor(value: object, graph: bool) -> Any:
    """Return the gradient as hooks see it. A broadcast view is copied, so that a hook may write to it."""
    if value is None or graph:
        return value
    tensor = wrap(value)
    if not tensor._array.flags.writeable:
        tensor._array = tensor._array.copy()
    return tensor


def from_tensor(tensor: Any, graph: bool) -> Any:
    """Return the gradient as the pass carries it."""
    return tensor if graph or tensor is None else tensor._array


def _checked_tuple(answer: Any, before: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    if not isinstance(answer, (tuple, list)):
        raise HookTypeError(
            f"{what} expected tuple of gradients or None as its return value, but the hook returned "
            f"'{type(answer).__name__}'; return None to keep the gradients"
        )
    if len(answer) != len(before):
        raise HookError(
            f"{what} returned an incorrect number of values (got {len(answer)}, but expected {len(before)}); "
            "return one gradient for each one it was given, or None"
        )
    for new, old in zip(answer, before, strict=True):
        if new is not None:
            check_answer(new, old, what)
    return tuple(answer)


def check_answer(new: Any, old: Any, what: str) -> None:
    """Raise unless `new`, returned by a hook, can stand where the gradient `old` was.

    Raises HookTypeError for a value that is not a tensor, HookError for another dtype or shape, or where
    there was no gradient.
    """
    if not isinstance(new, bridge.tensor):
        raise HookTypeError(
            f"{what}: expected {bridge.tensor.__name__}, but hook returned '{type(new).__name__}'; "
            "return a gradient as a tensor, or None to keep it"
        )
    if old is None:
        raise HookError(f"{what} can't replace a None gradient with a value; return None there")
    if new._array.dtype != old._array.dtype:
        raise HookError(
            f"{what} has changed the type of value: {new._array.dtype} where {old._array.dtype} is expected; "
            "return the gradient in its own dtype"
        )
    if new._array.shape != old._array.shape:
        raise HookError(
            f"{what} has changed the size of value: {new._array.shape} where {old._array.shape} is expected; "
            "return a gradient of the same shape"
        )
