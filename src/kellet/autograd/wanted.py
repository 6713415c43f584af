"""Which part of a graph a pass has to walk when only the gradients of some inputs are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .node import Edge, Node, Target
from .variable import edge_of


class Wanted:
    """The inputs of one pass and, after `find`, the way to them.

    `nodes` lists (output number, input index) by node, `leaves` the input indexes by leaf.
    `executed` are the nodes that must run, `visited` all whose gradient is of interest. With
    `accumulate` the gradients of leaves go to `.grad` as well. `hooks` are capture hooks by input
    index.
    """

    __slots__ = ("accumulate", "count", "executed", "hooks", "leaves", "nodes", "visited")

    def __init__(
        self,
        inputs: Sequence[Target | None],
        *,
        accumulate: bool,
        hooks: Mapping[int, Sequence[Callable[[Any], Any]]],
    ) -> None:
        self.count = len(inputs)
        self.accumulate = accumulate
        self.hooks = hooks
        self.nodes: dict[Node, list[tuple[int, int]]] = {}
        self.leaves: dict[Any, list[int]] = {}
        self.executed: set[Any] = set()
        self.visited: set[Any] = set()
        for index, edge in enumerate(inputs):
            if edge is None:
                continue
            if edge._nr < 0:
                self.leaves.setdefault(edge, []).append(index)
            else:
                self.nodes.setdefault(_node_of(edge), []).append((edge._nr, index))

    def find(self, roots: Sequence[Target]) -> None:
        """Find the nodes that lead from `roots` to the inputs.

        Every edge leads to a node of a lower number, so one walk over the nodes in ascending order
        meets each after all that it leads to.
        """
        self.visited.update(self.nodes)
        self.visited.update(self.leaves)
        if self.accumulate:
            self.executed.update(self.nodes)  # as in PyTorch, where hooks of these nodes run too
        for node in sorted(_reachable(roots), key=_number):
            if any(edge is not None and _node_of(edge) in self.visited for edge in node.edges):
                self.executed.add(node)
                self.visited.add(node)


def leaves_of(tensors: Iterable[Any]) -> set[Any]:
    """Return the leaves that gradients of these tensors go to; a tensor that is a leaf is one of them."""
    edges = [edge for tensor in tensors if (edge := edge_of(tensor)) is not None]
    found = {edge for edge in edges if edge._nr < 0}
    for node in _reachable(edges):
        found.update(edge for edge in node.edges if edge is not None and edge._nr < 0)
    return found


def _reachable(roots: Sequence[Target]) -> set[Node]:
    found: set[Node] = set()
    stack: list[Sequence[Target | None]] = [roots]
    while stack:
        for edge in stack.pop():
            if edge is not None and edge._nr >= 0:
                node = _node_of(edge)
                if node not in found:
                    found.add(node)
                    stack.append(node.edges)
    return found


def _node_of(edge: Target) -> Any:
    return edge.node if type(edge) is Edge else edge


def _number(node: Node) -> int:
    return node.sequence
