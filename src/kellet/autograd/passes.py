"""Backward: gradients carried through a graph, every node once, in the order of the forward run reversed.

The steps of a pass, in this order:

 1. A node is ready when a gradient came along every edge that leads to it. Of the ready nodes the
    one made last runs first; leaves go before all nodes.
 2. The tensor hooks of its outputs, in the order of their registration, each on the whole gradient.
 3. retain_grad stores the gradient, regardless of the order of registration.
 4. Capture hooks, then capture, where `grad()` asks for this gradient.
    If nothing behind the node is wanted, the node does not run, and 5 to 7 are left out.
 5. Node pre-hooks (register_prehook and add_pre_hook, one list).
 6. The node runs.
 7. Node hooks (register_hook and add_post_hook, one list).
 8. The gradients are fitted to the inputs and added to what already waits there.
    At a leaf: tensor hooks, capture, node pre-hooks, accumulation into `.grad`, post-accumulate
    hooks, node hooks. Under `grad()` a leaf has tensor hooks and capture only.
 9. When all is done: the callbacks of queue_callback, in order, those queued by callbacks too.

A pass keeps its state to itself, so passes may run in several threads, and within each other.
Without a graph of its own (`create_graph=False`) it carries ndarrays; see node_hooks.py.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import ShapeError
from ..rules import raw
from ..rules.quiet import quietly, thread, was_refused
from .accumulate import accumulate, add_into, before_leaf, finish_leaf
from .bridge import Array, bridge
from .modes import Task
from .node import Edge, Node, Target
from .node_hooks import as_tensor, check_answer, from_tensor, run_post_hooks, run_pre_hooks, run_tensor_hooks
from .rule_node import RuleNode
from .variable import Variable
from .wanted import Wanted


def one_step(node: RuleNode) -> bool:
    """Run backward through a single node between plain leaves, without the machinery of a pass.

    The gradient of its output is 1. Says False, and does nothing, where there is more to it: hooks, other
    nodes, a leaf twice, an output that is not one real number.
    """
    gradient = one_of(node.shape, node.dtype)
    edges = node.edges
    if gradient is None or len(edges) > 2 or (len(edges) == 2 and edges[0] is edges[1]):
        return False
    for edge in edges:
        if edge is not None and (edge._nr >= 0 or edge._hooks is not None):  # type: ignore[union-attr]  # a leaf
            return False
    context = node.context(node.needs, False, False)
    try:
        thread.run(_finish_step, node, context, gradient)
    except RuntimeError as error:
        if not was_refused(error):
            raise
        _finish_step(node, context, gradient)
    return True


@functools.lru_cache(64)
def one_of(shape: tuple[int, ...], dtype: Any) -> Array | None:
    """Return the gradient of one real number with respect to itself; read-only, since it is used again.

    None for several numbers and for a complex one, which have to be given a gradient.
    """
    if math.prod(shape) != 1 or dtype.kind == "c":
        return None
    ones = np.ones(shape, dtype)
    ones.setflags(write=False)
    return ones


def _finish_step(node: RuleNode, context: Any, gradient: Any) -> None:
    rule = node.rule
    assert rule.backward is not None  # a rule without a derivative makes no node
    edges: Any = node.edges
    for leaf, value in zip(edges, rule.backward(raw, context, gradient)):  # noqa: B905  # strict= costs 0.25 us
        if leaf is not None and value is not None:
            array = leaf._array
            if value.shape != array.shape or value.dtype is not array.dtype:
                value = fit(value, array.shape, array.dtype, False, rule.label)
            accumulate(leaf, value, rule.fresh, False)


class Pass(Task):
    """One run of backward over a graph.

    `buffers` holds what came: one value, or a list for a node of several outputs. `owned` are those
    whose buffered array this pass made itself and may add to.
    """

    def __init__(self, graph: bool, keep: bool, wanted: Wanted | None = None) -> None:
        super().__init__(graph, keep)
        self.wanted = wanted
        self.captured: list[Any] = []

    def run(self, roots: Sequence[tuple[Target, Any]]) -> None:
        """Carry the gradients of `roots` through the graph, then run the callbacks."""
        try:
            if self.graph:
                self.enter()
            self._carry(roots)
            self.run_callbacks()
        finally:
            self.leave()

    # --- the walk ---------------------------------------------------------------------------------

    def _carry(self, roots: Sequence[tuple[Target, Any]]) -> None:
        """Count, then run everything in order."""
        self.buffers: dict[Any, Any] = {}
        self.owned: set[Any] = set()
        self.heap: list[tuple[int, Node]] = []
        targets = [root for root, _ in roots]
        if self.wanted is not None:
            self.captured = [None] * self.wanted.count
            self.wanted.find(targets)
            self._count_wanted(targets, self.wanted)
        else:
            self._count(targets)
        ready: Node | None = None
        for root, gradient in roots:
            ready = self._deliver(root, gradient, ready, None)
        self._walk(ready)

    def _count(self, roots: Sequence[Target]) -> None:
        """Count, for every node and leaf that can be reached, the edges that lead to it."""
        counts = self.counts
        stack: list[Sequence[Target | None]] = [roots]
        while stack:
            for edge in stack.pop():
                if edge is None:
                    continue
                number = edge._nr
                if number > 0:
                    edge = edge.node  # type: ignore[union-attr]  # an Edge, as its number says
                if edge in counts:
                    counts[edge] += 1
                else:
                    counts[edge] = 1
                    if number >= 0:
                        stack.append(edge.edges)  # type: ignore[union-attr]  # a Node, as its number says

    def _count_wanted(self, roots: Sequence[Target], wanted: Wanted) -> None:
        """The same on the way to the wanted inputs only."""
        counts = self.counts
        stack: list[Sequence[Target | None]] = [roots]
        while stack:
            for edge in stack.pop():
                place: Any = edge.node if type(edge) is Edge else edge
                if place not in wanted.visited:
                    continue
                counts[place] = counts.get(place, 0) + 1
                if counts[place] == 1 and place in wanted.executed:
                    stack.append(place.edges)

    def _walk(self, ready: Node | None) -> None:
        """Run nodes, the last made first, until none is ready."""
        heap = self.heap
        while True:
            if heap:
                if ready is None:
                    ready = heappop(heap)[1]
                elif heap[0][0] < -ready.sequence:
                    ready = heapreplace(heap, (-ready.sequence, ready))[1]
            if ready is None:
                return
            value = self.buffers.pop(ready)
            grads = (value,) if ready.others is None else value
            if ready.hooks is None and self.wanted is None:
                ready = self._pass_on(ready, ready.run(grads, ready.needs, self))
            else:
                results = self._run_with_hooks(ready, list(grads))
                ready = None if results is None else self._pass_on(ready, results)

    def _pass_on(self, node: Node, results: Sequence[Any]) -> Node | None:
        """Hand the gradients of the inputs of `node` on; return a node that is ready now, the last made."""
        ready: Node | None = None
        counts = self.counts
        buffers = self.buffers
        for edge, value in zip(node.edges, results):  # noqa: B905  # strict= costs 0.25 us
            if edge is None:
                continue
            # The commonest case, the only output of a node that waits for nothing else, without a call.
            if (
                edge._nr == 0
                and counts.get(edge) == 1
                and edge.others is None  # type: ignore[union-attr]  # a Node, as its number says
                and edge not in buffers
                and value is not None
                and value.shape == edge.shape  # type: ignore[union-attr]  # a Node
                and value.dtype is edge.dtype  # type: ignore[union-attr]  # a Node
            ):
                counts[edge] = 0
                buffers[edge] = value
                ready = edge if ready is None else self._later(edge, ready)  # type: ignore[assignment, arg-type]  # a Node
            else:
                ready = self._deliver(edge, value, ready, node)
        return ready

    def _deliver(self, edge: Target, value: Any, ready: Node | None, source: Node | None) -> Node | None:
        """Add a gradient to what waits at the end of `edge`; run a leaf that has all.

        Returns the node to run next: `ready`, or a later one.
        """
        number = edge._nr
        child: Any = edge.node if number > 0 else edge  # type: ignore[union-attr]  # an Edge, as its number says
        left = self.counts.get(child)
        if left is None:
            return ready  # not on the way to what is wanted
        self.counts[child] = left = left - 1
        if number < 0:
            array = child._array
            if value is not None and (value.shape != array.shape or value.dtype is not array.dtype):
                value = self._fitted(child, number, value, source)
            fresh = type(source) is RuleNode and source.rule.fresh and source.hooks is None
            self._at_leaf(child, value, fresh, left)
            return ready
        value = self._fitted(child, number, value, source)
        self._buffer(child, number, value)
        return ready if left else self._later(child, ready)

    def _later(self, child: Node, ready: Node | None) -> Node:
        """Of two nodes that are ready the one made later; the other one is queued."""
        if ready is None:
            return child
        if child.sequence < ready.sequence:
            child, ready = ready, child
        heappush(self.heap, (-ready.sequence, ready))
        return child

    def _fitted(self, child: Any, number: int, value: Any, source: Node | None) -> Any:
        """The gradient in the shape and dtype of the value that it belongs to."""
        if value is None:
            return None
        if number > 0:
            shape, dtype = child.output(number)
        elif number == 0:
            shape, dtype = child.shape, child.dtype
        else:
            shape, dtype = child._array.shape, child._array.dtype
        if value.shape == shape and value.dtype == dtype:
            return value
        where = "the root of backward" if source is None else f"Function {source.name()}"
        return fit(value, shape, dtype, self.graph, where)

    def _buffer(self, node: Node, number: int, value: Any) -> None:
        buffers = self.buffers
        if node.others is not None:
            held = buffers.get(node)
            if held is None:
                held = buffers[node] = [None] * (1 + len(node.others))
            before = held[number]
            held[number] = value if before is None else before if value is None else before + value
        elif node in buffers:
            self._add(node, value)
        else:
            buffers[node] = value

    def _add(self, key: Any, value: Any) -> None:
        """Add to what waits at `key`, in place where this pass made that array itself."""
        before = self.buffers[key]
        if before is None or value is None:
            self.buffers[key] = value if before is None else before
        elif key in self.owned and type(before) is np.ndarray:
            quietly(add_into, before, value)
        elif self.graph:
            self.buffers[key] = before + value
        else:
            self.buffers[key] = quietly(operator.add, before, value)
            self.owned.add(key)

    # --- nodes with hooks, leaves, captures -------------------------------------------------------

    def _run_with_hooks(self, node: Node, grads: list[Any]) -> Sequence[Any] | None:
        """Run one node with its hooks and captures; None when it need not run."""
        graph = self.graph
        hooks = node.hooks
        if hooks is not None:
            self.enter()
            run_tensor_hooks(hooks, grads, graph)
        if self.wanted is not None:
            for number, index in self.wanted.nodes.get(node, ()):
                self._capture(index, grads[number])
            if node not in self.wanted.executed:
                return None
        if hooks is not None and hooks.pre:
            grads = run_pre_hooks(hooks.pre, grads, graph)
        results = node.run(grads, self._needs(node), self)
        if hooks is not None and hooks.post:
            results = run_post_hooks(hooks.post, results, grads, graph)
        return results

    def _needs(self, node: Node) -> tuple[bool, ...]:
        if self.wanted is None:
            return node.needs
        visited = self.wanted.visited
        return tuple(
            [
                edge is not None and (edge.node if type(edge) is Edge else edge) in visited
                for edge in node.edges
            ]
        )

    def _at_leaf(self, leaf: Variable, value: Any, fresh: bool, left: int) -> None:
        """Collect the gradients of a leaf; with the last one, hooks and accumulation."""
        buffers = self.buffers
        if leaf in buffers:
            self._add(leaf, value)
        elif left:
            buffers[leaf] = value
        if left:
            return
        if leaf in buffers:
            value = buffers.pop(leaf)
            fresh = leaf in self.owned
        hooks = leaf._hooks
        wanted = self.wanted
        if hooks is None and wanted is None:
            accumulate(leaf, value, fresh, self.graph)
            return
        if hooks is not None:
            self.enter()
            value = before_leaf(hooks, value, self.graph)
        if wanted is not None:
            for index in wanted.leaves.get(leaf, ()):
                self._capture(index, value)
            if not wanted.accumulate:
                return
        if hooks is None:
            accumulate(leaf, value, fresh, self.graph)
        else:
            finish_leaf(leaf, hooks, value, self.graph)

    def _capture(self, index: int, value: Any) -> None:
        hooks = () if self.wanted is None else self.wanted.hooks.get(index, ())
        if hooks and value is not None:
            self.enter()
            tensor = as_tensor(value, self.graph)
            for hook in hooks:
                answer = hook(tensor)
                if answer is not None:
                    check_answer(answer, tensor, "a capture hook")
                    tensor = answer
            value = from_tensor(tensor, self.graph)
        self.captured[index] = value


# --- a gradient and the value it belongs to -------------------------------------------------------


def fit(value: Any, shape: tuple[int, ...], dtype: DType, graph: bool, where: str) -> Any:
    """Bring the gradient `value` (a Tensor when `graph`, else an array) to the shape and dtype of its input.

    Steps may broadcast and promote their inputs; their derivatives need not know. What comes out is
    summed, cast, and reduced to its real part here, on its way along each edge of the graph.

    Raises ShapeError when broadcasting cannot have made its shape out of `shape`.
    """
    xp = bridge.xp if graph else raw
    found = value._array if graph else value
    if found.dtype.kind == "c" and dtype.kind != "c":
        value = xp.real(value)
    if found.shape != shape:
        if not _broadcasts(shape, found.shape):
            raise ShapeError(
                f"{where} returned an invalid gradient - got {list(found.shape)} but expected shape "
                f"compatible with {list(shape)}; return a gradient of the shape of its input"
            )
        value = xp.sum_to(value, shape=shape)
    if value.dtype != dtype:
        value = xp.cast(value, dtype=dtype)
    return value


def _broadcasts(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    lead = len(wide) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, wide[lead:], strict=True))
