"""Looking back over a walk: the shortest chain of imports to a module, and the graph of them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from packager.graph.digraph import DiGraph
from packager.graph.records import Edge

__all__ = ["chain_to", "first_edges", "graph_of"]


def first_edges(edges: Iterable[Edge]) -> Mapping[str, Edge]:
    """For each module the edge by which it is reached in the fewest steps from the roots.

    An import counts before the step from a module up to its package: that one says little.
    """
    onward: dict[str, list[Edge]] = {}
    for edge in edges:
        if edge.followed:
            onward.setdefault(edge.importer, []).append(edge)
    first: dict[str, Edge] = {}
    for kinds in (False, True):  # all that imports alone reach, then what only parents explain
        waiting = deque(["", *first])
        while waiting:
            for edge in onward.get(waiting.popleft(), ()):
                if edge.target not in first and (kinds or edge.kind != "parent"):
                    first[edge.target] = edge
                    waiting.append(edge.target)
    return first


def chain_to(first: Mapping[str, Edge], name: str) -> Sequence[Edge]:
    """The edges from a root to module `name`, root first; empty where nothing leads there."""
    chain: list[Edge] = []
    while name and name in first:
        chain.append(first[name])
        name = first[name].importer
    return tuple(reversed(chain))


def graph_of(names: Iterable[str], edges: Iterable[Edge]) -> DiGraph:
    """The followed edges among `names` as a graph; roots are ordinary nodes in it."""
    graph = DiGraph()
    for name in names:
        graph.add_node(name)
    for edge in edges:
        if edge.followed and edge.importer:
            graph.add_edge(edge.importer, edge.target)
    return graph
