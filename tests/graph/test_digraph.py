"""The graph of names, with torch.package's calls."""

from __future__ import annotations

import pytest

from packager._graph import DiGraph


def diamond() -> DiGraph:
    graph = DiGraph()
    for u, v in (("app", "left"), ("app", "right"), ("left", "low"), ("right", "low"), ("low", "end")):
        graph.add_edge(u, v)
    return graph


def test_nodes_carry_attributes_that_can_be_extended() -> None:
    graph = DiGraph()
    graph.add_node("foo", foo=1)
    graph.add_node("foo", bar=2)
    graph.add_edge("foo", "bar")
    assert graph.nodes["foo"] == {"foo": 1, "bar": 2}
    assert list(graph) == ["foo", "bar"]
    assert len(graph) == 2


def test_neighbours_come_in_the_order_in_which_they_were_added() -> None:
    graph = diamond()
    assert list(graph.successors("app")) == ["left", "right"]
    assert list(graph.predecessors("low")) == ["left", "right"]
    assert next(iter(graph.edges)) == ("app", "left")


def test_a_name_that_is_no_node_is_an_error_that_says_so() -> None:
    graph = diamond()
    for ask in (graph.successors, graph.predecessors, graph.forward_transitive_closure, graph.first_path):
        with pytest.raises(ValueError, match="not in the digraph"):
            ask("not in graph")


def test_containment_takes_any_object() -> None:
    graph = diamond()
    assert "app" in graph
    assert "other" not in graph
    assert [] not in graph


def test_closures_hold_both_ends_and_end_on_cycles() -> None:
    graph = diamond()
    graph.add_edge("end", "app")
    assert graph.forward_transitive_closure("low") == set(graph)
    assert diamond().forward_transitive_closure("left") == {"left", "low", "end"}
    assert diamond().backward_transitive_closure("low") == {"app", "left", "right", "low"}


def test_all_paths_are_the_edges_between_two_names() -> None:
    dot = diamond().all_paths("app", "low")
    assert set(dot.splitlines()[3:-1]) == {
        '"app" -> "left";', '"app" -> "right";', '"left" -> "low";', '"right" -> "low";'
    }  # fmt: skip


def test_all_paths_without_a_path_are_no_edges() -> None:
    assert "->" not in diamond().all_paths("end", "app")
    assert "->" not in diamond().all_paths("app", "unheard of")


def test_the_first_path_goes_by_the_order_of_discovery() -> None:
    assert diamond().first_path("end") == ["app", "left", "low", "end"]
    cycle = diamond()
    cycle.add_edge("end", "app")
    assert cycle.first_path("low") == ["end", "app", "left", "low"]


def test_dot_text_is_what_graphviz_reads() -> None:
    graph = DiGraph()
    graph.add_edge("a", "b")
    assert graph.to_dot() == 'digraph G {\nrankdir = LR;\nnode [shape=box];\n"a" -> "b";\n}\n'
