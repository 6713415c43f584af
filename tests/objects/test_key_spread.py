"""Steps of keys to their places in a table: honest keys of every kind pass, and those that collide do not."""

from __future__ import annotations

import datetime
import decimal
import fractions
import random
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from packager._audit.keys import KeyChecks
from packager._objects import key_spread
from packager._objects.key_spread import require_spread
from tests.tables import one_test

N = 20_000
WRAP = 2**61 - 1  # the number that hashes of numbers wrap around at

HONEST: dict[str, Callable[[], Iterable[Any]]] = {
    "ints": lambda: range(N),
    "negative ints": lambda: range(-N, 0),
    **{f"multiples of 2**{k}": (lambda k=k: (i << k for i in range(N))) for k in (3, 10, 20, 32, 40, 56)},  # type: ignore[misc]  # bound now
    "powers of two": lambda: (1 << i for i in range(1500)),
    "times in nanoseconds": lambda: (10**18 + i * 6 * 10**10 for i in range(N)),
    "a grid": lambda: ((i, j) for i in range(150) for j in range(150)),
    "a grid in three": lambda: ((i, j, k) for i in range(28) for j in range(28) for k in range(28)),
    "pairs without an order": lambda: (frozenset((i, j)) for i in range(200) for j in range(i)),
    "floats": lambda: (i * 0.1 for i in range(N)),
    "small floats": lambda: (i * 2.0**-20 for i in range(N)),
    "complex": lambda: (complex(i, j) for i in range(150) for j in range(150)),
    "fractions": lambda: {fractions.Fraction(i, 1000) for i in range(5000)},
    "decimals": lambda: (decimal.Decimal(i) / 100 for i in range(N)),
    "dates": lambda: (datetime.date(1900, 1, 1) + datetime.timedelta(i) for i in range(N)),
    "scalars of NumPy": lambda: (np.float32(i / 7) for i in range(N)),
    "ranges": lambda: (range(i) for i in range(3000)),
    "numbers in a row behind a stranger": lambda: [1 << 40 | 9248, *range(N)],
    "numbers in a row behind some": lambda: [*(i << 40 | i * 97 for i in range(1, 60)), *range(N)],
    "strings": lambda: map(str, range(N)),
    "random": lambda: (random.Random(i).getrandbits(62) for i in range(N)),
}


@one_test
@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("in_set", [False, True], ids=["dict", "set"])
def test_honest_keys_are_taken(make: Callable[[], Iterable[Any]], in_set: bool) -> None:
    require_spread(list(make()), in_set=in_set)


CRAFTED: dict[str, Callable[[], list[Any]]] = {
    "ints": lambda: [i * WRAP for i in range(N)],
    "negative ints": lambda: [-i * WRAP for i in range(N)],
    "tuples": lambda: [(7, (i * WRAP,)) for i in range(N)],
    "fractions": lambda: [fractions.Fraction(i * WRAP + 1, 1) for i in range(N)],
    "complex": lambda: [complex(i, 0) if i % 9 else i * WRAP for i in range(1, 9 * 2000)],
    "few among many": lambda: [*range(15_000), *(i * WRAP + 7 for i in range(1, 4000))],
}


@one_test
@pytest.mark.parametrize("make", CRAFTED.values(), ids=CRAFTED)
@pytest.mark.parametrize("in_set", [False, True], ids=["dict", "set"])
def test_keys_that_collide_are_refused_at_once(make: Callable[[], list[Any]], in_set: bool) -> None:
    keys = make()
    started = time.process_time()
    with pytest.raises(ValueError, match=f"{len(keys)} keys whose hashes collide"):
        require_spread(keys, in_set=in_set)
    assert time.process_time() - started < 2


def test_fractions_inside_of_keys_collide_nowhere_either() -> None:
    """Python 3.12 and later remember the hash of a fraction in a table of their own."""
    crafted = [(i, fractions.Fraction(i * WRAP + 1, 3)) for i in range(N)]
    honest = [(fractions.Fraction(i, 7), fractions.Fraction(1, 2)) for i in range(N)]
    started = time.process_time()
    with pytest.raises(ValueError, match="keys whose hashes collide"):
        _require_in_hundreds(crafted)
    assert time.process_time() - started < 2
    _require_in_hundreds(honest)


def _require_in_hundreds(keys: list[Any]) -> None:
    checks = KeyChecks(lambda: 10**6)
    for at in range(0, len(keys), 100):
        checks.check_keys(keys[at : at + 100])


def test_sets_grow_as_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_spread, "FREE_KEYS", 0)
    count = 80_000
    held: set[int] = set()
    counts: dict[int, int] = {}  # by the size of the table that a number came into
    size = 8
    for number in range(1, count + 1):
        held.add(number)
        counts[size] = number
        size = (sys.getsizeof(held) - sys.getsizeof(set())) // 16 or 8
    assert list(key_spread._tables(count, in_set=True)) == list(counts.items())
    assert list(counts)[-1] == 1 << 18


def test_large_sets_grow_by_less() -> None:
    tables = list(key_spread._tables(700_000, in_set=True))[-5:]
    assert [size for size, _ in tables] == [1 << power for power in range(17, 22)]
    assert [count for _, count in tables] == [78_643, 157_286, 314_573, 629_145, 700_000]


def test_dicts_grow_as_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_spread, "FREE_KEYS", 0)
    held: dict[int, None] = {0: None}
    ends, before = [], sys.getsizeof(held)
    for number in range(1, 6000):
        held[number] = None
        if sys.getsizeof(held) != before:
            ends.append(number)
            before = sys.getsizeof(held)
    tables = list(key_spread._tables(6000, in_set=False))
    assert tables == [(8 << at, end) for at, end in enumerate([*ends, 6000])]


def test_tables_of_few_keys_are_not_looked_at() -> None:
    """A table counts as soon as it may hold one key more than may collide."""
    assert list(key_spread._tables(512, in_set=False)) == []
    assert list(key_spread._tables(513, in_set=False)) == [(1024, 513)]
    assert list(key_spread._tables(682, in_set=False)) == [(1024, 682)]
    assert list(key_spread._tables(683, in_set=False)) == [(1024, 682), (2048, 683)]


@pytest.mark.parametrize(
    "keys", [range(512), map(str, range(999)), [*map(str, range(512)), *(b"%d" % i for i in range(512))]]
)
def test_few_keys_and_those_that_nobody_can_craft_are_not_counted(
    keys: Iterable[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_spread, "_tables", lambda *_, **__: pytest.fail("they were counted"))
    require_spread(list(keys))


@pytest.mark.parametrize("in_set", [False, True], ids=["dict", "set"])
def test_few_keys_may_collide(in_set: bool) -> None:
    keys = [i * WRAP for i in range(512)]
    require_spread(keys, in_set=in_set)
    with pytest.raises(ValueError, match="collide"):
        require_spread([*keys, 512 * WRAP], in_set=in_set)


def _steps_one_after_the_other(hashes: list[int], size: int, in_set: bool) -> int:
    """As CPython puts keys of these hashes into an empty table: how many places are looked at."""
    held, steps = [False] * size, 0
    for number in hashes:
        place, rest = number % size, number
        while True:
            near = range(10) if in_set and place + 9 < size else range(1)
            free = next((beside for beside in near if not held[place + beside]), None)
            if free is not None:
                steps += free + 1
                held[place + free] = True
                break
            steps += len(near)
            rest >>= 5
            place = (place * 5 + 1 + rest) % size
    return steps


@pytest.mark.parametrize("in_set", [False, True], ids=["dict", "set"])
@pytest.mark.parametrize(("count", "size"), [(80, 128), (600, 1024)])
@pytest.mark.parametrize("seed", range(6))
def test_steps_are_counted_as_a_table_takes_them(
    seed: int, count: int, size: int, in_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    hashes = [
        rng.choice([rng.getrandbits(61), rng.randrange(50), rng.getrandbits(9) << 25]) for _ in range(count)
    ]
    _require_steps(hashes, size, in_set, monkeypatch)


@pytest.mark.parametrize("in_set", [False, True], ids=["dict", "set"])
@pytest.mark.parametrize("count", [12, 70])
@pytest.mark.parametrize("place", [117, 118, 119, 127])
def test_steps_are_counted_at_the_end_of_a_table(
    place: int, count: int, in_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set looks at nine places behind the first, where there are as many."""
    _require_steps([place + 128 * number for number in range(count)], 128, in_set, monkeypatch)


def test_the_last_step_may_be_one_of_many_keys_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = [*range(80), *(number + 16 * 1024 for number in range(80))]
    assert _steps_one_after_the_other(hashes, 1024, in_set=False) == 240
    _require_steps(hashes, 1024, False, monkeypatch)


def _require_steps(hashes: list[int], size: int, in_set: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for as many steps as there are, and for one less."""
    steps = _steps_one_after_the_other(hashes, size, in_set)
    found = np.array(hashes, np.uint64)
    monkeypatch.setattr(key_spread, "STEPS_PER_KEY", fractions.Fraction(steps, len(hashes)))
    assert not key_spread._is_crowded(found, size, in_set=in_set)
    monkeypatch.setattr(key_spread, "STEPS_PER_KEY", fractions.Fraction(steps - 1, len(hashes)))
    assert key_spread._is_crowded(found, size, in_set=in_set)


def test_few_fractions_that_collide_are_found_among_many_numbers() -> None:
    crafted = [fractions.Fraction(i * WRAP + 1) for i in range(600)]
    with pytest.raises(ValueError, match="600 keys whose hashes collide"):
        require_spread([*range(2, N), *crafted])
    require_spread([*range(2, N), *crafted[:400]])
