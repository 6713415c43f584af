from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mutants.faults import faults_in
from tests.mutants.nearness import Nearness
from tests.tables import one_test

SOURCE = """\
def require_width(columns):
    if columns > 3:
        raise ValueError("too wide")
"""


def _about(obj: Any, *nodes: str) -> list[Any]:
    return [SimpleNamespace(nodeid=node, obj=obj) for node in nodes]


def test_tests_of_the_file_and_those_whose_cases_speak_of_the_same_things_come_first(tmp_path: Path) -> None:
    file = tmp_path / "packager" / "room" / "tables.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE, encoding="utf-8")

    def refuses(case: Any) -> None: ...

    far = [f"tests/other/test_b.py::test_far[row {number}]" for number in range(30)]
    near = [f"tests/other/test_a.py::test_refused[a table of {number} columns]" for number in range(30)]
    own = "tests/room/test_tables_of_old.py::test_width"
    items = _about(refuses, *far, *near, own)
    (fault, *_) = faults_in(tmp_path, file)
    asked = Nearness(tmp_path, items).tests_of(fault)
    assert sorted(asked) == sorted([*far, *near, own])
    assert asked[0] == own
    few = [0, 1, 2, 3, 4, 6, 12, 18, 24]  # of each, before all cases of the nearest
    assert asked[1:19] == [near[at] for at in few] + [far[at] for at in few]


NEAR, FAR = ["a width of columns", "MOST_ROWS"], ["a list of numbers", "MOST_BYTES"]


def test_a_test_of_a_whole_table_is_near_to_what_its_cases_speak_of(tmp_path: Path) -> None:
    file = tmp_path / "packager" / "room" / "bounds.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"MOST_ROWS = 7\n\n\n{SOURCE}", encoding="utf-8")

    @one_test
    @pytest.mark.parametrize("name", NEAR)
    def first(name: str) -> None: ...

    @one_test
    @pytest.mark.parametrize("name", FAR)
    def other(name: str) -> None: ...

    items = [
        *_about(other, "tests/other/test_a.py::test_it"),
        *_about(first, "tests/other/test_b.py::test_it"),
    ]
    constant, *_, inside = faults_in(tmp_path, file)
    for fault in (constant, inside):
        assert Nearness(tmp_path, items).tests_of(fault)[0] == "tests/other/test_b.py::test_it"
