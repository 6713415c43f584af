"""Where a record lies, as a path from the root that a reader can follow."""

from __future__ import annotations

from typing import Any

import pytest

from packager._objects import paths_to
from packager._objects.records import Kind as K
from tests.tables import one_test

A = [K.GLOBAL, "m", "A"]

PATHS: dict[str, tuple[list[Any], Any, int, str]] = {
    "the root": ([[K.LIST]], -1, 0, "obj"),
    "an item": ([[K.LIST], [K.LIST, 5, -1]], -2, 0, "obj[1]"),
    "an item of a tuple": ([[K.LIST], [K.TUPLE, -1]], -2, 0, "obj[0]"),
    "a value": ([[K.LIST], [K.DICT, "a", -1]], -2, 0, "obj['a']"),
    "a key": ([[K.TUPLE], [K.DICT, -1, 1]], -2, 0, "obj<key>"),
    "a value of a key that is one": ([[K.LIST], [K.STR, "x"], [K.DICT, -2, -1]], -3, 0, "obj[<key>]"),
    "a value that comes later": ([[K.LIST], [K.DICT, 1, 2], [K.UPDATE, -2, "a", -1]], -2, 0, "obj['a']"),
    "a member": ([[K.TUPLE], [K.SET, 1, -1]], -2, 0, "obj"),
    "an attribute": ([A, [K.LIST], [K.SHAPE, -1, None, "x", "y"], [K.OBJ, -3, 1, -2]], -4, 1, "obj.y"),
    "a class": ([A, [K.SHAPE, -1, None], [K.OBJ, -2]], -3, 0, "obj"),
    "an attribute that comes later": (
        [A, [K.NEW, -1], [K.LIST], [K.FILL, -2, "x", 1, "y", -3]],
        -2,
        2,
        "obj.y",
    ),
    "the shortest": ([[K.LIST], [K.LIST, -1], [K.LIST, -2, -1]], -3, 0, "obj[1]"),
    "through a cycle": ([[K.LIST], [K.LIST], [K.EXTEND, -2, -2, -1]], -2, 0, "obj"),
    "nowhere": ([[K.LIST], [K.LIST]], -2, 0, "record 0"),
    "beside a scalar": ([[K.LIST]], 5, 0, "record 0"),
    "below a text": ([[K.PACKED_LIST, -2], [K.LIST, -1]], -2, 0, "obj[0]"),
}


@one_test
@pytest.mark.parametrize(("records", "root", "wanted", "path"), PATHS.values(), ids=PATHS.keys())
def test_a_record_has_a_path(records: list[Any], root: Any, wanted: int, path: str) -> None:
    assert paths_to(records, root, {wanted}) == {wanted: path}
    assert paths_to(records, root, {wanted}, "it") == {wanted: path.replace("obj", "it")}


def test_as_many_records_are_looked_at_as_are_allowed() -> None:
    chain = [[K.LIST], *([K.LIST, -at] for at in range(1, 9))]
    for limit, found in ((8, "obj" + "[0]" * 8), (9, "obj" + "[0]" * 8), (7, "record 0")):
        assert paths_to(chain, -9, {0}, limit=limit) == {0: found}
    assert paths_to(chain, -9, {0, 8}, limit=7) == {0: "record 0", 8: "obj"}


@pytest.mark.parametrize("table", ["_modules", "_parameters", "_buffers"])
def test_tables_of_modules_are_left_out_of_a_path(table: str) -> None:
    records = [A, [K.LIST], [K.DICT, "w", -2], [K.SHAPE, -1, None, table], [K.OBJ, -4, -3]]
    assert paths_to(records, -5, {1}) == {1: "obj.w"}


def test_a_long_path_is_cut_in_its_middle() -> None:
    def path_of(length: int) -> str:
        name = "n" * (length - len("obj."))
        return paths_to([A, [K.NEW, -1], [K.LIST], [K.FILL, -2, name, -3]], -2, {2})[2]

    assert path_of(240) == "obj." + "n" * 236
    assert path_of(241) == "obj." + "n" * 116 + " ... " + "n" * 100


def test_a_record_that_is_met_again_is_not_looked_at_again() -> None:
    records = [[K.LIST], [K.LIST, -1], [K.LIST, *[-2] * 10]]
    assert paths_to(records, -3, {0}, limit=3) == {0: "obj[0][0]"}
