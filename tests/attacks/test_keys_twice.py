"""A key that is there twice is refused with its place, whatever holds it: readers could take two values."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest

from packager._objects import ObjectBuildError
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge
from tests.tables import one_test

Records = list[list[Any]]
NUMBERS: list[Any] = ["u1", b"\1\2\3"]
LONG = "k" * 100

TWICE: dict[str, tuple[Records, str]] = {
    "a dict": ([[K.DICT, "a", 1, "b", 2, "a", 3]], r"obj cannot be built .* has the key 'a' twice"),
    "a packed dict": ([[K.PACKED_DICT, "a", 1, "a", 2]], "has the key 'a' twice"),
    "an inner dict": (
        [[K.PACKED_DICT, 1, 1, 1, 2], [K.DICT, "inner", -1]],
        r"obj\['inner'\] cannot be built .* has the key 1 twice",
    ),
    "a long key": ([[K.STR, LONG], [K.DICT, -1, 1, -1, 2]], f"has the key '{'k' * 80}' twice"),
    "a tuple": (
        [[K.PACKED_TUPLE, 1, 2], [K.PACKED_TUPLE, 1, 2], [K.DICT, -1, 1, -2, 2]],
        "a key of type tuple twice",
    ),
    "a large number": ([[K.INT, b"\x7f" + bytes(900)], [K.DICT, -1, 1, -1, 2]], "a key of type int twice"),
    "one and true": ([[K.PACKED_DICT, 1, "a", True, "b"]], "has the key True twice"),
    "one and a float": ([[K.PACKED_DICT, 1, "a", 1.0, "b"]], r"has the key 1\.0 twice"),
    "none": ([[K.PACKED_DICT, None, 1, None, 2]], "has the key None twice"),
    "bytes": ([[K.BYTES, b"x"], [K.DICT, -1, 1, -1, 2]], "has the key b'x' twice"),
    "many": (
        [[K.PACKED_DICT, *(part for at in (*range(200), 7) for part in (at, "x"))]],
        "has the key 7 twice",
    ),
    "a set": ([[K.SET, 1, 2, 1]], "a dict or set has the key 1 twice"),
    "a frozenset": ([[K.FROZENSET, "a", "a"]], "has the key 'a' twice"),
    "a long dict": (
        [[K.LONG_DICT, ["u1", b"\1\2\1"], NUMBERS]],
        "has the key 1 twice",
    ),
    "a long set": ([[K.LONG_SET, ["u1", b"\5\5"]]], "has the key 5 twice"),
    "a long frozenset": ([[K.LONG_FROZENSET, ["u1", b"\5\5"]]], "has the key 5 twice"),
    "pairs that come later": (
        [[K.DICT, "a", 1], [K.UPDATE, -1, "a", 2], [K.LIST, -1]],
        "is given a key or member that it has already",
    ),
    "pairs that come later, twice": (
        [[K.DICT], [K.UPDATE, -1, "a", 1, "a", 2], [K.LIST, -1]],
        "the key 'a' twice",
    ),
    "members that come later": (
        [[K.SET, 1], [K.ADD, -1, 1, 2], [K.LIST, -1]],
        "is given a key or member that it has already",
    ),
    "an ordered dict": (
        [[K.CODEC, 1, "OrderedDict"], [K.UPDATE, -1, "a", 1, "a", 2], [K.LIST, -1]],
        "the key 'a' twice",
    ),
    "counts": ([[K.CODEC, 1, "Counter"], [K.UPDATE, -1, "a", 1, "a", 2], [K.LIST, -1]], "the key 'a' twice"),
    "a dict of lists": (
        [
            [K.GLOBAL, "builtins", "list"],
            [K.CODEC, 1, "defaultdict", -1],
            [K.UPDATE, -2, 1, "a", 1, "b"],
            [K.LIST, -2],
        ],
        "the key 1 twice",
    ),
    "a long ordered dict": (
        [
            [K.CODEC, 1, "OrderedDict"],
            [K.UPDATE_LONG, -1, ["u1", b"\1\1"], ["u1", b"\1\2"]],
            [K.LIST, -1],
        ],
        "the key 1 twice",
    ),
    "a state dict": (
        [[K.GLOBAL, "kellet.nn", "StateDict"], [K.NEW, -1], [K.UPDATE, -2, "w", 1, "w", 2], [K.LIST, -2]],
        "the key 'w' twice",
    ),
    "a bunch": (
        [[K.GLOBAL, "sklearn.utils", "Bunch"], [K.NEW, -1], [K.UPDATE, -2, "w", 1, "w", 2], [K.LIST, -2]],
        "the key 'w' twice",
    ),
    "arguments by name": (
        [
            [K.GLOBAL, "datetime", "timedelta"],
            [K.TUPLE],
            [K.PACKED_DICT, "days", 1, "days", 2],
            [K.CALL_KW, -1, -2, -3],
        ],
        "the key 'days' twice",
    ),
    "a state": (
        [
            [K.GLOBAL, "sklearn.svm", "SVC"],
            [K.NEW, -1],
            [K.PACKED_DICT, "C", 1.0, "C", 2.0],
            [K.STATE, -2, -3],
            [K.LIST, -2],
        ],
        "the key 'C' twice",
    ),
}


@one_test
@pytest.mark.parametrize(("records", "message"), TWICE.values(), ids=TWICE)
def test_a_key_that_is_there_twice_is_refused(records: Records, message: str) -> None:
    table = forge.table_of(records, codecs=["collections.mapping"])
    with pytest.raises(PackageError, match=message):
        forge.load(forge.archive_of(table, externs=("kellet", "sklearn")))


@pytest.mark.parametrize("name", ["a dict", "a long dict", "an ordered dict", "a set"])
def test_beside_code_as_well(name: str) -> None:
    records, message = TWICE[name]
    code = [*records, [K.GLOBAL, "net", "Net"], [K.LIST, -len(records), -len(records) - 1]]
    table = forge.table_of(code, codecs=["collections.mapping"])
    with pytest.raises(ObjectBuildError, match=message.removeprefix("obj cannot be built .* ")):
        forge.load(forge.archive_of(table, sources={"net": "class Net: pass"}))


def test_in_the_extras_of_a_state_dict() -> None:
    values: Records = [[K.PACKED_DICT, "a", 1, "a", 2], [K.PACKED_LIST, 1, 2], [K.DICT]]
    content = [*values, [K.DICT, "values", -1, "places", -2, "raw", -3, "metadata", None]]
    with pytest.raises(ObjectBuildError, match=r"s: obj\['values'\] cannot be built .* the key 'a' twice"):
        forge.load_extra(forge.archive_of(extras=forge.table_of(content)), "a")


def test_keys_that_are_alike_and_not_equal_load() -> None:
    honest: Any = [
        {1: "int", "1": "text", 1.5: "float", (1,): "tuple", b"1": "bytes", None: "none", "": "empty"},
        {float("nan"): 1, float("inf"): 2},
        {"a", "A", "\N{LATIN SMALL LETTER A WITH DIAERESIS}", "a\N{COMBINING DIAERESIS}"},
        OrderedDict([("b", 1), ("a", 2)]),
        Counter("abca"),
        defaultdict(list, {1: [2]}),
        [{at: at, -at - 1: at} for at in range(300)],
        {at: str(at) for at in range(1000)},
        [{"x": at, "y": -at} for at in range(300)],
    ]
    loaded = forge.load(forge.archive_of(forge.encoded(honest)))
    assert repr(loaded[1:2]) == repr(honest[1:2])
    assert loaded[:1] + loaded[2:] == honest[:1] + honest[2:]
