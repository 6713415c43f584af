"""A plain directed graph of names: what depends on what, in the order in which it was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any


class DiGraph:
    """A directed graph whose nodes are names and carry attributes.

    Source: torch.package's DiGraph, itself a small part of networkx's. Differences: closures and paths take
    names of any length and end on cycles (there a name is read letter by letter), and `all_paths` also
    returns DOT text if there is no path.

    >>> graph = DiGraph()
    >>> graph.add_edge("net", "layers")
    >>> graph.add_edge("layers", "ops")
    >>> list(graph.successors("net")), graph.first_path("ops")
    (['layers'], ['net', 'layers', 'ops'])
    """

    def __init__(self) -> None:
        self._node: dict[str, dict[str, Any]] = {}
        self._succ: dict[str, dict[str, bool]] = {}
        self._pred: dict[str, dict[str, bool]] = {}

    def add_node(self, n: str, **attributes: Any) -> None:
        """Add the node `n`, or give the one there further attributes."""
        if n not in self._node:
            self._node[n], self._succ[n], self._pred[n] = {}, {}, {}
        self._node[n].update(attributes)

    def add_edge(self, u: str, v: str) -> None:
        """Add an edge from `u` to `v`, and the nodes where they are missing."""
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = True
        self._pred[v][u] = True

    def successors(self, n: str) -> Iterator[str]:
        """Return the nodes that `n` points to. Raises ValueError unless `n` is a node."""
        return iter(self._known(self._succ, n))

    def predecessors(self, n: str) -> Iterator[str]:
        """Return the nodes that point to `n`. Raises ValueError unless `n` is a node."""
        return iter(self._known(self._pred, n))

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """All edges (u, v), by node, in the order in which they were added."""
        return ((u, v) for u, successors in self._succ.items() for v in successors)

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """The nodes with their attributes, in the order in which they were added."""
        return self._node

    def __iter__(self) -> Iterator[str]:
        return iter(self._node)

    def __len__(self) -> int:
        return len(self._node)

    def __contains__(self, n: object) -> bool:
        try:
            return n in self._node
        except TypeError:  # an unhashable object is no node
            return False

    def forward_transitive_closure(self, src: str) -> set[str]:
        """Return all nodes that can be reached from `src`, and itself. Raises ValueError unless it is a
        node."""
        return self._closure(self._succ, src)

    def backward_transitive_closure(self, src: str) -> set[str]:
        """Return all nodes that lead to `src`, and itself. Raises ValueError unless it is a node."""
        return self._closure(self._pred, src)

    def all_paths(self, src: str, dst: str) -> str:
        """Return DOT text of all paths from `src` to `dst`; without edges if there is no path."""
        between = DiGraph()
        if src in self and dst in self:
            both = self.forward_transitive_closure(src) & self.backward_transitive_closure(dst)
            for u, v in self.edges:
                if u in both and v in both:
                    between.add_edge(u, v)
        return between.to_dot()

    def first_path(self, dst: str) -> list[str]:
        """Return the path that first led to `dst`: each step goes back to the node that was added earliest.

        Raises ValueError unless `dst` is a node."""
        order = {n: i for i, n in enumerate(self._node)}
        path = [dst]
        while True:
            before = [n for n in self._known(self._pred, path[-1]) if n not in path]
            if not before:
                return path[::-1]
            path.append(min(before, key=order.__getitem__))

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        edges = "\n".join(f'"{u}" -> "{v}";' for u, v in self.edges)
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{edges}\n}}\n"

    def _closure(self, table: dict[str, dict[str, bool]], src: str) -> set[str]:
        reached = {src}
        waiting: deque[Iterable[str]] = deque([self._known(table, src)])
        while waiting:
            for n in waiting.popleft():
                if n not in reached:
                    reached.add(n)
                    waiting.append(table[n])
        return reached

    def _known(self, table: dict[str, dict[str, bool]], n: str) -> dict[str, bool]:
        """Return the neighbours of `n`. Raises ValueError when it is no node."""
        if n not in self._node:
            raise ValueError(f"The node {n} is not in the digraph.")
        return table[n]
