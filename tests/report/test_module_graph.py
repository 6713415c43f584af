"""Why modules are in, and which groups of them are drawn in which layer."""

from __future__ import annotations

from packager.report.module_graph import OTHERS, STANDARD, Graph, chains, graph_of
from packager.report.records import ModuleFacts, Site


def module(name: str, *importers: str, action: str = "intern", standard: bool = False) -> ModuleFacts:
    sites = tuple(Site(one, f"{one}.py:{number}") for number, one in enumerate(importers, 1))
    return ModuleFacts(name, action, "rule", "because", 10, sites, standard)


def layers(graph: Graph) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for group in graph.groups:
        found.setdefault(group.layer, []).append(group.name)
    return [sorted(found[layer]) for layer in sorted(found)]


def test_a_chain_is_the_shortest_way_from_what_was_asked_for() -> None:
    found = chains([module("a"), module("b", "a"), module("c", "b"), module("d", "c", "a")])
    assert found["a"] == ()
    assert found["c"] == (Site("a", "a.py:1"), Site("b", "b.py:1"))
    assert found["d"] == (Site("a", "a.py:2"),)


def test_a_package_without_importers_is_reached_by_what_is_below_it() -> None:
    found = chains([module("a"), module("pkg"), module("pkg.one", "a", "pkg"), module("pkg.two", "pkg.one")])
    assert found["pkg"] == (Site("a", "a.py:1"),)
    assert found["pkg.two"] == (Site("a", "a.py:1"), Site("pkg.one", "pkg.one.py:1"))


def test_what_only_imports_itself_has_no_chain() -> None:
    assert chains([module("a", "b"), module("b", "a")]) == {"a": (), "b": ()}


def test_layers_go_down_and_circles_share_one() -> None:
    graph = graph_of([module("a"), module("b", "a", "c"), module("c", "b"), module("d", "a", "c")])
    assert layers(graph) == [["a"], ["b", "c"], ["d"]]
    assert graph.edges == (
        ("a", "b", 1),
        ("a", "d", 1),
        ("b", "c", 1),
        ("c", "b", 1),
        ("c", "d", 1),
    )


def test_the_standard_library_is_one_group() -> None:
    graph = graph_of([module("a"), module("os", "a", standard=True), module("os.path", "a", standard=True)])
    assert [(group.name, group.modules) for group in graph.groups] == [("a", 1), (STANDARD, 2)]
    assert graph.edges == (("a", STANDARD, 2),)


def test_stored_packages_are_opened_while_there_is_room() -> None:
    stored = [module(f"net.part{number}.m{at}") for number in range(3) for at in range(3)]
    left = [module(f"big.m{number}", action="extern") for number in range(20)]
    names = {group.name for group in graph_of([*stored, *left], most=7).groups}
    assert names == {"big", "net.part0", "net.part1", "net.part2.m0", "net.part2.m1", "net.part2.m2"}
    many = [module(f"net.p{number}.m{at}") for number in range(9) for at in range(number + 1)]
    names = {group.name for group in graph_of(many, most=6).groups}
    assert names == {"net.*", "net.p6", "net.p7", "net.p8.*", "net.p8.m0"}


def test_with_too_many_packages_the_smallest_are_together() -> None:
    found = graph_of([module(f"p{number}.m{at}") for number in range(9) for at in range(number + 1)], most=4)
    assert {group.name: group.modules for group in found.groups} == {"p8": 9, "p7": 8, "p6": 7, OTHERS: 21}
