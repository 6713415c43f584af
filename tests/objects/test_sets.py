"""Sets are written in an order that their elements alone decide."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from packager._objects import encode
from packager._objects.encoding import in_order
from packager.testing import round_trip
from tests import processes

HERE = __name__
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import enum, hashlib, re
from packager._objects import encode
class Color(enum.Enum):
    RED = 1
    BLUE = "b"
value = [
    {"a", "b", "c", "long" * 20, 1, 2.5, -3, None, b"x", (1, "y"), (1, 2), frozenset({"q", "r"}), True},
    {Color.RED, Color.BLUE}, {int, str, dict}, {len, max, min}, {frozenset({i, str(i)}) for i in range(9)},
]
print(hashlib.sha256(encode(value).with_sources(lambda module: True).records).hexdigest())
"""


class Thing:
    def __init__(self, value: Any) -> None:
        self.value = value


def test_bytes_do_not_follow_the_hash_seed() -> None:
    digests = {
        processes.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "12345")
    }
    assert len(digests) == 1


def test_elements_are_ordered_by_kind_and_value() -> None:
    assert in_order({"b", 10, 9, "a", None, 1.5}, other=id) == [None, 1.5, 9, 10, "a", "b"]


def test_tuples_are_compared_part_by_part() -> None:
    assert in_order({(2, "a"), (10, "a"), (2,)}, other=id) == [(2,), (2, "a"), (10, "a")]


def test_objects_without_an_order_are_sorted_by_what_they_hold() -> None:
    first = encode({Thing(1), Thing(2), Thing(3)}).with_sources(lambda module: True)
    second = encode({Thing(3), Thing(1), Thing(2)}).with_sources(lambda module: True)
    assert first.records == second.records


def test_objects_with_arrays_are_sorted_by_their_bytes() -> None:
    things = [Thing(np.full(3, value)) for value in (3, 1, 2)]
    first, second = (encode(set(order)) for order in (things, things[::-1]))
    assert [bytes(storage.buffer) for storage in first.storages] == [
        bytes(storage.buffer) for storage in second.storages
    ]


def test_objects_that_were_stored_before_keep_that_order() -> None:
    things = [Thing(value) for value in (3, 1, 2)]
    trip = round_trip({"list": things, "set": set(things)}, interned=[HERE])
    assert trip.object["set"] == set(trip.object["list"])
    assert trip.is_stable


def test_set_of_objects_that_lead_back_to_it_without_an_order() -> None:
    left, right = Thing(None), Thing(None)
    everything = {left, right}
    left.value, right.value = [everything, 1], [everything, 2]
    (refusal,) = encode(everything).with_sources(lambda module: True).refusals
    assert "cannot be ordered" in refusal.reason
