"""Keys that are read off a table: which records have some, what is spelled out, and what collides."""

from __future__ import annotations

from typing import Any

import pytest

from packager._archive import FREE_KEYS, MAX_KEY_DEPTH
from packager._audit.keys import refused_keys
from packager._objects.records import Kind as K
from packager._objects.records import spelled_int

WRAP = 2**61 - 1
COUNT = FREE_KEYS + 200
NUMBERS = [at * WRAP for at in range(1, COUNT + 1)]
SPELLED = [[K.INT, spelled_int(number)] for number in NUMBERS]
REFERENCES = [-1 - at for at in range(COUNT)]
COLLIDING = f"{COUNT} keys whose hashes collide, so that each would be compared with all others"


def pairs(keys: list[Any]) -> list[Any]:
    return [part for key in keys for part in (key, 0)]


HOLDERS: dict[str, list[list[Any]]] = {
    "a set": [[K.SET, *REFERENCES]],
    "a frozenset": [[K.FROZENSET, *REFERENCES]],
    "a dict": [[K.DICT, *pairs(REFERENCES)]],
    "members": [[K.SET], [K.ADD, -1 - COUNT, *REFERENCES]],
    "more pairs": [[K.DICT], [K.UPDATE, -1 - COUNT, *pairs(REFERENCES)]],
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS.keys())
def test_numbers_that_collide_are_refused_wherever_they_are_keys(holder: list[list[Any]]) -> None:
    assert list(refused_keys([*SPELLED, *holder])) == [(COUNT, COLLIDING)]
    few = [record[: FREE_KEYS + len(record) % 2] for record in holder]
    assert list(refused_keys([*SPELLED, *few])) == []


def test_values_and_items_may_be_alike() -> None:
    flat = [part for at, number in enumerate(REFERENCES) for part in (at, number)]
    for holder in ([K.DICT, *flat], [K.LIST, *REFERENCES], [K.TUPLE, *REFERENCES]):
        assert list(refused_keys([*SPELLED, holder])) == []


def test_keys_of_a_packed_dict_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def check_keys(self: Any, values: Any, *, in_set: bool = False) -> None:
        if list(values) == [-1, -2, -3]:
            raise ValueError("crowded")

    monkeypatch.setattr("packager._audit.keys.KeyChecks.check_keys", check_keys)
    few, many = [K.PACKED_DICT, -1, 0, -2, 0], [K.PACKED_DICT, -1, 0, -2, 0, -3, 0]
    assert list(refused_keys([few, [K.PACKED_LIST, 1, 2, 3, 4, 5, 6], many])) == [(2, "crowded")]


def test_sets_and_dicts_are_looked_at_as_each_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[Any], bool]] = []

    def check_keys(self: Any, values: Any, *, in_set: bool = False) -> None:
        asked.append((list(values), in_set))

    monkeypatch.setattr("packager._audit.keys.KeyChecks.check_keys", check_keys)
    records: list[list[Any]] = [
        [K.SET, 1],
        [K.FROZENSET, 2],
        [K.DICT, 3, 4, 0.5, 4],
        [K.ADD, -1, 5],
        [K.UPDATE, -3, 6, 7],
        [K.LIST, 8],
    ]
    assert list(refused_keys(records)) == []
    assert asked == [([1], True), ([2], True), ([3, 0.5], False), ([5], True), ([6], False)]


def test_one_that_is_refused_is_no_key_of_another() -> None:
    deep: list[list[Any]] = [[K.PACKED_TUPLE, 1]]
    deep += [[K.TUPLE, -1 - at] for at in range(MAX_KEY_DEPTH)]
    holder = [K.FROZENSET, -len(deep)]
    outer = [K.FROZENSET, -1 - len(deep)]
    ((at, reason),) = refused_keys([*deep, holder, outer])
    assert (
        at,
        reason.startswith("a key or member of a set is nested 65 deep; its hash may take at most 64 levels"),
    ) == (len(deep), True)


def test_large_numbers_are_measured_from_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._audit.keys.FREE_KEY_PARTS", 8)
    monkeypatch.setattr("packager._audit.keys.KEY_PARTS_PER_OPERAND", 0)
    large = [K.INT, spelled_int(1 << 10_000)]
    assert list(refused_keys([[K.TUPLE, 1, 2], [K.SET, -1], [K.SET, -1]])) == []
    ((at, reason),) = refused_keys([large, [K.SET, -1]])
    assert (at, reason) == (1, "keys or members of sets have 20 parts in all; the limit is 8")
    assert list(refused_keys([large, [K.LIST, -1]])) == []


def test_a_key_twice_is_found_too() -> None:
    assert list(refused_keys([[K.DICT, "a", 1, "a", 2]])) == [(0, "a dict or set has the key 'a' twice")]


def test_what_is_no_scalar_stands_for_itself() -> None:
    made = [[K.GLOBAL, "net", "Net"], [K.NEW, -1], [K.CODEC, 1, "OrderedDict"]]
    assert list(refused_keys([*made, [K.SET, -1, -2, -3], [K.UPDATE, -3, "a", 1]])) == []
    ((at, reason),) = refused_keys([*made, [K.UPDATE, -3, "a", 1], [K.UPDATE, -3, "b", 1]])
    assert (at, reason) == (2, "a dict is given keys or members twice")
