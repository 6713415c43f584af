"""What is written in one go is what the steps would write, and no table waits for the collector."""

from __future__ import annotations

import gc
import math
import random
import struct
from typing import Any

import pytest

from packager._audit import TrustContext, audit, judge
from packager._objects import MISSING, build, encode
from packager._objects.encoder import Encoder
from packager._objects.records import RUN_FROM
from tests.tables import one_test


class Point:
    """An object that has nothing but attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def drawn(rng: random.Random, made: list[Any], depth: int) -> Any:
    """Draw a value: a scalar, one that was made before, or a container or an object of others."""
    kind = rng.randrange(12)
    if kind < 5 or depth == 0:
        scalars = (None, True, 3, -3, 2**64, -(2**70), 0.5, "a", "long" * 20, "\ud800", b"b", Point, (), len)
        return rng.choice(scalars)
    if kind < 7 and made:
        return rng.choice(made)
    count = rng.choice((0, 1, 2, 3, 70)) if depth < 3 else rng.randrange(4)
    values = [drawn(rng, made, depth - 1) for _ in range(count)]
    names = [f"name{at}" for at in range(count)]
    one: Any = rng.choice(
        [
            values,
            tuple(values),
            dict(zip(names, values, strict=True)),
            Point(**dict(zip(names, values, strict=True))),
        ]
    )
    made.append(one)
    if rng.random() < 0.2:  # one that something in it leads back to
        one = rng.choice([one for one in made if type(one) in (list, dict, Point)] or [[]])
        inside = rng.choice(made)
        if type(one) is list:
            one.append(inside)
        elif type(one) is dict:
            one["back"] = inside
        else:
            one.back = inside
    return one


@pytest.mark.parametrize("part", range(4))
def test_small_objects_are_written_as_their_steps_would_write_them(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = range(part * 150, part * 150 + 150)
    quick = []
    for seed in seeds:
        encoded = encode(drawn(random.Random(seed), [], 6))
        quick.append((encoded.records, encoded.names, encoded.refusals, encoded.warnings))
    monkeypatch.setattr(Encoder, "at_once", lambda self, obj, depth=0: MISSING)
    for seed, found in zip(seeds, quick, strict=True):
        encoded = encode(drawn(random.Random(seed), [], 6))
        assert (encoded.records, encoded.names, encoded.refusals, encoded.warnings) == found, seed


def test_no_table_is_left_to_the_collector() -> None:
    value = [{"name": f"n{at}", "tags": [at, "a"], "point": Point(x=at)} for at in range(2000)]
    value += [dict.fromkeys(range(600), 0.5), [1] * RUN_FROM, ["a", 1, None] * RUN_FROM]
    encode(value)  # what is made once for all encodings
    gc.collect()
    gc.disable()
    try:
        records = encode(value).records
        judge(records, TrustContext.data_only())
        plain = encode([*value[-3:], [[at, "b"] for at in range(3000)]]).records
        build(audit(plain, TrustContext.data_only()), {})
        assert gc.collect() < 200
    finally:
        gc.enable()


MIXED = [None, True, False, 3, -(2**63), 2**63 - 1, 2**31, 0.5, math.inf, math.nan, -0.0, "", "\u00e9"]


def same_bits(value: Any) -> Any:
    """What tells values apart that compare equal: types, signs of zeros, payloads of NaN."""
    if type(value) in (list, tuple):
        return type(value), [same_bits(one) for one in value]
    if type(value) in (set, frozenset):
        return type(value), sorted(map(repr, map(same_bits, value)))
    if type(value) is dict:
        return dict, [(same_bits(key), same_bits(one)) for key, one in value.items()]
    return type(value), struct.pack("<d", value) if type(value) is float else value


SIGNALLING = struct.unpack("<d", bytes.fromhex("010000000000f47f"))[0]
ODD: list[Any] = [*MIXED, SIGNALLING, "x" * 300, "a\0b", "\U0001f600", 0, 255, 256, 65536, -1, 2**32]
UNPACKABLE: list[Any] = [2**64, -(2**70), "\ud800", b"bytes", 2j, (), frozenset({1})]


@one_test
@pytest.mark.parametrize("seed", range(6))
def test_odd_values_come_back_with_their_types_and_bits(seed: int) -> None:
    rng = random.Random(seed)
    drawn = ODD if seed % 2 else ODD + UNPACKABLE
    values = [rng.choice(drawn) for _ in range(RUN_FROM + 77)]
    small = [set(rng.choices(range(-5, 300), k=3)) for _ in range(RUN_FROM)]
    shared = {1, 2, 2**31 + seed}
    obj = {
        "list": values,
        "tuple": tuple(values),
        "set": {f"{one!r:.20}{at}" for at, one in enumerate(values)},
        "mixed set": {*values, *range(RUN_FROM)},
        "small": [*small, shared, frozenset(shared)],
        "again": [shared, small[0]],
        "floats": [rng.choice([0.5, -0.0, math.inf, SIGNALLING]) for _ in range(RUN_FROM)],
    }
    table = encode(obj)
    made = build(audit(table.records, TrustContext.data_only()), {})
    assert same_bits(made) == same_bits(obj)
    assert made["again"][0] is made["small"][-2]
    assert made["again"][1] is made["small"][0]
    assert encode(made).records == table.records


@pytest.mark.parametrize("kind", [set, frozenset])
def test_the_order_in_which_a_set_was_filled_is_not_in_its_bytes(kind: type) -> None:
    members = [f"w{at * 31 % 4099}" for at in range(2 * RUN_FROM)]
    rows_of = [kind(range(at % 7 * 8, at % 7 * 8 + 24, 8)) for at in range(RUN_FROM)]
    turned = [kind(sorted(one, reverse=True)) for one in rows_of]
    assert encode(kind(members)).records == encode(kind(members[::-1])).records
    assert encode(rows_of).records == encode(turned).records
