"""What globals hold is compared in order and to the bottom, and as long as it is."""

from __future__ import annotations

from collections import deque
from types import MappingProxyType, ModuleType

import pytest

from packager.proving.held_values import difference_of, held, text_of
from packager.proving.module_globals import differences, globals_here

pytestmark = pytest.mark.processes(share=3)


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ([3, 1, 2], [1, 2, 3], "holds its 3 entries in another order"),
        (deque("ba"), deque("ab"), "holds its 2 entries in another order"),
        ((1, 1, 2), (1, 2, 2), "holds 3 entries here and 3 entries there; not there: 1; not here: 2"),
        (
            [{"w": 1}],
            [{"w": 5}],
            "holds 1 entry here and 1 entry there; not there: {'w': 1}; not here: {'w': 5}",
        ),
        (
            {(0, "a"): 1},
            {(0, "b"): 1},
            "holds 1 entry here and 1 entry there; not there: (0, 'a'); not here: (0, 'b')",
        ),
        (list(range(2000)), [*range(1999), 0], "holds 2,000 entries, and others here than there"),
        (list(range(2000)), [*range(1999)], "holds 2,000 entries here and 1,999 entries there"),
        ({1, 2}, {2, 1}, ""),
        ([frozenset("ab")], [frozenset("ba")], ""),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
        ([object()], [object()], ""),
    ],
)
def test_two_containers_differ_in(here, there, said):
    told = difference_of(held(here), held(there))
    assert told.startswith(said) if said else told == ""


def test_long_texts_that_begin_alike_are_told_apart():
    here, there = "a" * 300 + "b", "a" * 300 + "c"
    assert difference_of(held(here), held(there)).count("characters") == 2
    assert difference_of(held(here), held(here)) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, ("a", {2})], "[1, ('a', {2})]"),
        (MappingProxyType({1: [2]}), "{1: [2]}"),
        ([[[[1]]]], None),  # too deep
        ([object()], None),
        ({"a": object()}, None),
    ],
)
def test_what_is_made_of_plain_values_is_a_text(value, text):
    assert text_of(value, str) == text


def test_objects_in_lists_are_looked_into():
    source = (
        b"class Stage:\n    def __init__(self, width): self.width = width\nSTAGES = [Stage(1), Stage(2)]\n"
    )
    here, there = ModuleType("mill.stages"), ModuleType("mill.stages")
    for module in (here, there):
        exec(source, vars(module))
    vars(here)["STAGES"][1].width = 9
    found = differences(globals_here({"mill.stages": here}, {"mill.stages": source}), {"mill.stages": there})
    assert [(one.name, one.what, one.line, one.id) for one in found] == [
        ("STAGES[1].width", "is 9 here and 2 there", 3, "mill.stages:STAGES")
    ]
