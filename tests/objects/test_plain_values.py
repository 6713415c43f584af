"""Values and containers of Python itself come back as they were, in one spelling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from packager._objects import encode
from packager._objects.checking import unpack_table
from packager._objects.records import Kind
from packager.testing import round_trip
from tests.tables import one_test

VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
    10**40,
    -(10**40),
    0.0,
    -0.0,
    1.5,
    float("inf"),
    "",
    "short",
    "x" * 64,
    "x" * 65,
    "\udc80",
    "\udc80" * 100,
    b"",
    b"bytes",
    [],
    (),
    {},
    set(),
    frozenset(),
    [1, -2, "a", None],
    (1, (2, (3,))),
    {"a": 1, 2: [3], None: {}},
    {1, -2, "a"},
    frozenset({(1, 2), "x"}),
    [[], [[]]],
    {"k": (1, [2, {"z": {3}}])},
    [True, 1, 1.0],
    int,
    len,
    type(None),
    type(...),
    dict.fromkeys,
]


@one_test
@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{type(value).__name__}")
def test_value_comes_back_and_is_stored_the_same_again(value: Any) -> None:
    trip = round_trip(value, trust=("builtins:dict.fromkeys",))
    assert trip.object == value
    assert type(trip.object) is type(value)
    assert trip.is_stable


def test_types_inside_containers_are_kept() -> None:
    value = [True, 1, 1.0, "1", (1,), {1: True, "1": 1.0}]
    loaded = round_trip(value).object
    assert repr(loaded) == repr(value)


def test_nan_keeps_its_sign() -> None:
    loaded = round_trip([float("nan"), math.copysign(float("nan"), -1)]).object
    assert [math.copysign(1, number) for number in loaded] == [1.0, -1.0]


def test_order_of_a_dict_is_kept() -> None:
    assert list(round_trip({"b": 1, "a": [2], "c": 3}).object) == ["b", "a", "c"]


def test_shared_objects_stay_shared() -> None:
    shared: list[int] = [1]
    loaded = round_trip({"a": shared, "b": [shared, (shared,)]}).object
    assert loaded["a"] is loaded["b"][0] is loaded["b"][1][0]


def test_equal_objects_stay_apart() -> None:
    loaded = round_trip([[1], [1], bytearray(b"a"), bytearray(b"a")]).object
    assert loaded[0] is not loaded[1]
    assert loaded[2] is not loaded[3]


def test_long_strings_are_stored_once_by_value() -> None:
    text = "x" * 1000
    encoded = encode([text, "x" * 999 + "x", {"k": text}])
    assert len(encoded.records) < 1200


def test_short_strings_are_operands() -> None:
    table = unpack_table(encode(["a", [None]]).records, "test")
    assert table[1] == [[Kind.PACKED_LIST, None], [Kind.LIST, "a", -1]]


def test_containers_of_scalars_are_packed() -> None:
    assert unpack_table(encode([-1, 2]).records, "test")[1] == [[Kind.PACKED_LIST, -1, 2]]
    assert unpack_table(encode({"a": -1}).records, "test")[1] == [[Kind.PACKED_DICT, "a", -1]]


def test_codec_table_names_the_format_first() -> None:
    assert unpack_table(encode(1 + 2j).records, "test")[0] == [["records", 1], ["complex", 1]]


@pytest.mark.long
def test_a_chain_of_a_hundred_thousand_lists_works() -> None:
    chain: list[Any] = []
    for _ in range(100_000):
        chain = [chain]
    trip = round_trip(chain)
    depth, at = 0, trip.object
    while at:
        at, depth = at[0], depth + 1
    assert depth == 100_000
    assert trip.is_stable


def test_encoding_changes_nothing_and_leaves_the_collector_on() -> None:
    import gc

    value = {"a": [1, 2]}
    encode(value)
    assert value == {"a": [1, 2]}
    assert gc.isenabled()


def test_memory_is_repeated_as_often_as_a_reader_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._objects.recording.largest_view", lambda nbytes: 3 * nbytes)
    one = np.zeros(1)
    for shape in ((3,), (1, 3), (0, 9)):
        assert encode(np.broadcast_to(one, shape)).refusals == ()
    for shape in ((4,), (1, 4), (2, 2)):
        (refusal,) = encode(np.broadcast_to(one, shape)).refusals
        assert refusal.reason == "a view that repeats 8 bytes as 32"
