"""Where a graph ends: a gradient is added to the `.grad` of a leaf.

The graph holds the leaf itself; its AccumulateGrad node is made when it is asked for and
keeps no state of its own, so its hooks live as long as the leaf.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HookError
from .bridge import Array, Counter, bridge, wrap
from .node import Node
from .node_hooks import LeafHooks, run_post_hooks, run_pre_hooks, run_tensor_hooks

if TYPE_CHECKING:
    from .variable import Variable

_new = object.__new__

# Several threads may run backward into the same leaf. One lock for all would let threads with
# different leaves wait for each other, one per leaf would have to be made under a lock as well.
_locks = tuple(threading.Lock() for _ in range(32))


class AccumulateGrad(Node):
    """The node that `next_functions` shows for a leaf, here called `variable`.

    Source: AccumulateGrad of PyTorch. There, its hooks are lost when neither the graph nor the
    caller holds the node any more; here they stay with the leaf.
    """

    __slots__ = ("variable",)

    variable: Variable

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.edges = ()
        self.others = None
        self.sequence = sys.maxsize
        self.shape = variable._array.shape
        self.dtype = variable._array.dtype

    @property
    def hooks(self) -> LeafHooks:  # type: ignore[override]  # a leaf keeps them, see above
        return self.variable._leaf_hooks()

    def _hooks(self) -> LeafHooks:
        return self.variable._leaf_hooks()


def accumulator(leaf: Variable) -> AccumulateGrad:
    """Return the AccumulateGrad node of `leaf`: the same one as long as it is held."""
    hooks = leaf._leaf_hooks()
    node = None if hooks.node is None else hooks.node()
    if node is None:
        node = AccumulateGrad(leaf)
        hooks.node = weakref.ref(node)
    return node  # type: ignore[return-value]  # hooks.node is declared below this class


def before_leaf(hooks: LeafHooks, value: object, graph: bool) -> Any:
    """Run the tensor hooks of a leaf over its whole gradient; return the gradient to go on with."""
    grads = [value]
    run_tensor_hooks(hooks, grads, graph)
    return grads[0]


def finish_leaf(leaf: Variable, hooks: LeafHooks, value: object, graph: bool) -> None:
    """Accumulate with hooks around it: node pre-hooks, `.grad`, post-accumulate hooks, node hooks.

    As in PyTorch the last see the values of a first gradient, which post-accumulate hooks may have changed.

    Raises HookError for a post-accumulate hook that returns a value.
    """
    if hooks.pre:
        value = run_pre_hooks(hooks.pre, [value], graph)[0]
    first = leaf._grad is None and not graph
    accumulate(leaf, value, fresh=False, graph=graph)
    if first and leaf._grad is not None:
        value = leaf._grad._array
    if hooks.post_accumulate:
        for entry in hooks.post_accumulate:
            answer = entry.hook(leaf)
            if answer is not None:
                raise HookError(
                    "Tensor post accumulate grad hooks should return None, but "
                    f"{entry.hook!r} returned {type(answer).__name__}; change tensor.grad in place"
                )
    if hooks.post:
        run_post_hooks(hooks.post, (), (value,), graph)


def accumulate(leaf: Variable, value: object, fresh: bool, graph: bool) -> None:
    """Add `value` to the gradient of `leaf`; `fresh`: nothing else holds its array.

    Without a graph an existing gradient is changed in place, as in PyTorch, so that views of it
    (flat buffers) see the sum.
    """
    if value is None or not leaf._needs:
        return
    with _locks[id(leaf) >> 5 & 31]:
        old = leaf._grad
        if graph:
            leaf._grad = bridge.xp.clone(value) if old is None else old + value
        elif old is None:
            if type(value) is not np.ndarray:
                value = np.array(value)
            elif not fresh:
                value = value.copy("K")
            # What wrap does, on the spot: every leaf of every pass comes here, and a call is 0.07 us of 0.5.
            leaf._grad = made = _new(bridge.tensor)
            made._array = value
            made._edge = made._grad = made._counter = made._view = made._hooks = None
            made._needs = False
        elif old._array.flags.writeable:
            add_into(old._array, value)
            counter = old._counter
            if counter is None:
                counter = old._counter = Counter()
            counter.value += 1
        else:
            leaf._grad = wrap(old._array + value)


def add_into(array: Array, value: Any) -> None:
    """Add `value` to `array`, in place; for a small array in two steps, which NumPy does in half the time."""
    if array.size > 256:
        np.add(array, value, out=array)
    else:
        array[...] = array + value
