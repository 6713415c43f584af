"""Why modules are in: the shortest chain of imports that leads to each."""

from __future__ import annotations

from packager._report.html_text import chains
from packager._report.page_parts import ModuleFacts, Site


def module(name: str, *importers: str, action: str = "intern", standard: bool = False) -> ModuleFacts:
    sites = tuple(Site(one, f"{one}.py:{number}") for number, one in enumerate(importers, 1))
    return ModuleFacts(name, action, "rule", "because", 10, sites, standard)


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
