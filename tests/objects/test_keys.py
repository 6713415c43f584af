"""What a key costs whoever hashes it, and whose code would run: what is refused, and the last that passes."""

from __future__ import annotations

import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from packager._archive import FREE_KEYS, MAX_KEY_DEPTH
from packager._audit import keys
from packager._audit.keys import KeyChecks
from tests.tables import one_test

WRAP = 2**61 - 1


def refuses(check: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check()


def checks(operands: int = 0, *trusted: type) -> KeyChecks:
    return KeyChecks(lambda: operands, [id(cls) for cls in trusted])


class Shade(enum.Enum):
    DARK = "d"


PAIR = np.dtype([("a", "<i2"), ("b", "<i2")])
COSTS: dict[str, tuple[Any, tuple[int, int]]] = {
    "a text": ("a", (1, 1)),
    "a number": (2**511 - 1, (1, 1)),
    "a number of 512 bits": (2**511, (2, 1)),
    "a number of 1024 bits": (-(2**1023), (3, 1)),
    "a pair": ((1, "a"), (3, 2)),
    "an empty tuple": ((), (1, 1)),
    "a pair of pairs": (((1, 2), (1, 2)), (7, 3)),
    "a set": (frozenset({1, (2, 3)}), (3, 1)),
    "a set in a pair": ((frozenset({1, 2}), 3), (5, 2)),
    "a range": (range(3), (4, 2)),
    "a fraction": (fractions.Fraction(1, 3), (3, 2)),
    "an alias": (list[int], (4, 3)),
    "a class": (int, (1, 1)),
    "a decimal": (decimal.Decimal(1), (1 + decimal.Decimal(1).__sizeof__() * 8 // 512, 1)),
    "a dtype": (PAIR, (3, 2)),
    "a dtype of an array": (np.dtype((PAIR, 9)), (4, 3)),
    "a plain dtype": (np.dtype("<i2"), (1, 1)),
    "a member": (Shade.DARK, (1, 1)),
    "an identity": (uuid.UUID(int=7), (1, 1)),
    "an address": (ipaddress.IPv4Address(7), (1, 1)),
    "a longer address": (ipaddress.IPv6Address(7), (1, 1)),
    "a path": (pathlib.PurePosixPath("a"), (1, 1)),
}


@one_test
@pytest.mark.parametrize(("value", "cost"), COSTS.values(), ids=COSTS.keys())
def test_a_key_costs_as_many_parts_as_are_hashed(value: Any, cost: tuple[int, int]) -> None:
    assert checks()._measured(value) == cost
    known = checks()
    known._measured((value, value))
    assert known._measured(value) == cost


@pytest.mark.parametrize(("large", "parts"), [(False, 3), (True, 4)])
def test_numbers_are_measured_where_some_are_large(large: bool, parts: int) -> None:
    found = checks()
    found.has_large_numbers = large
    found.check_keys([(2**511, 1)])
    assert found._parts == parts
    found.check_keys(["a", None])
    assert found._parts == parts  # of themselves they cost nothing
    found.check_keys([2**511])
    assert found._parts == parts + 2 * large


def test_keys_are_nested_as_deep_as_is_allowed() -> None:
    value: Any = 1
    for _ in range(MAX_KEY_DEPTH - 1):
        value = (value,)
    checks().check_keys([value])
    refuses(
        lambda: checks().check_keys([(value,)]),
        f"a key or member of a set is nested {MAX_KEY_DEPTH + 1} deep; "
        f"its hash may take at most {MAX_KEY_DEPTH} levels of the stack",
    )


def test_parts_of_all_keys_are_paid_by_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "FREE_KEY_PARTS", 5)
    monkeypatch.setattr(keys, "KEY_PARTS_PER_OPERAND", 2)
    asked: list[int] = []

    def operands() -> int:
        asked.append(3)
        return 3

    found = KeyChecks(operands)
    found.check_keys([(1, 2, 3, 4)])  # as many as are free
    assert asked == []
    found.check_keys([(1, 2), ("a", 1)])
    refuses(lambda: found.check_keys([()]), "keys or members of sets have 12 parts in all; the limit is 11")


class Hashed:
    def __hash__(self) -> int:
        return 1


class Compared:
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return True


class Plain:
    pass


class OwnTuple(tuple[Any, ...]):
    def __hash__(self) -> int:
        return 1


class Odd(enum.Enum):
    ONE = "1"


def _forged(cls: Any, **attributes: Any) -> Any:
    made = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


@one_test
@pytest.mark.parametrize(
    "value",
    [
        Hashed(),
        Compared(),
        OwnTuple([1]),
        pathlib.Path(),
        (1, Hashed()),
        _forged(uuid.UUID, int=Hashed()),
        _forged(uuid.UUID),
        _forged(Odd, _name_="ONE", _value_="1"),
    ],
)
def test_no_code_of_a_class_is_asked_for_a_hash(value: Any) -> None:
    cls = type(value[1] if type(value) is tuple else value)
    said = f"a key or member of a set is an instance of {cls.__module__}.{cls.__qualname__}, whose own "
    refuses(lambda: checks().check_keys([value]), f"{said}code would run")
    if cls not in (uuid.UUID, Odd):
        checks(0, cls).check_keys([value])


@one_test
@pytest.mark.parametrize(
    "value", [Plain(), Plain, len, ..., _forged(Shade, _name_="GREY", _value_=7), types.NoneType]
)
def test_what_goes_by_identity_or_by_a_number_is_a_key(value: Any) -> None:
    checks().check_keys([value])


def test_a_dict_and_a_set_are_given_keys_once() -> None:
    found, one, other = checks(), dict[Any, Any](), set[Any]()
    found.check_more_keys(one, [1])
    found.check_more_keys(other, [1])
    refuses(lambda: found.check_more_keys(one, [2]), "a dict is given keys or members twice")
    refuses(lambda: found.check_more_keys(other, []), "a set is given keys or members twice")


class Mapping(dict[Any, Any]):
    def __iter__(self) -> Any:
        raise AssertionError("its own code ran")


@pytest.mark.parametrize("kind", [dict.fromkeys, set, lambda values: Mapping.fromkeys(values)])
def test_what_is_held_already_collides_with_what_comes(kind: Callable[[Any], Any]) -> None:
    held = [at * WRAP for at in range(1, FREE_KEYS)]
    checks().check_more_keys(kind(held), [FREE_KEYS * WRAP])
    refuses(
        lambda: checks().check_more_keys(kind(held), [FREE_KEYS * WRAP, (FREE_KEYS + 1) * WRAP]),
        f"{FREE_KEYS + 1} keys whose hashes collide, so that each would be compared with all others",
    )


def test_fractions_inside_of_keys_are_looked_at_when_there_are_many() -> None:
    found = checks(10**6)
    crafted = [(0, fractions.Fraction(at * WRAP + 1)) for at in range(FREE_KEYS + 1)]
    found.check_keys(crafted[:-1])
    with pytest.raises(ValueError, match="keys whose hashes collide"):
        found.check_keys(crafted[-1:])


def test_fractions_are_looked_at_again_when_there_are_a_quarter_more(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(keys, "require_spread_parts", lambda found: looked.append(len(found)))
    monkeypatch.setattr(keys, "FREE_KEYS", 4)
    found, parts = checks(10**6), [(0, fractions.Fraction(at, 7)) for at in range(1, 60)]
    for part in parts:
        found.check_keys([part])
    assert looked == [5, 11, 18, 27, 38, 52]


def test_keys_of_every_plain_kind_are_not_measured() -> None:
    found = checks()
    found.check_keys(["a", 1, 0.5, True, b"a", 1j, None])
    assert (found._parts, found._known) == (0, {})
    found.check_keys(["a", (1, "a")])
    assert found._parts > 0
