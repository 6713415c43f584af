"""Runs of scalars: the form that follows from the values, the way back, and what is never written."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import msgpack
import pytest

from packager._audit import TrustContext, audit
from packager._objects import RecordError, build, encode, unpack_table
from packager._objects.records import RUN_FROM, checked_size, runs_of, values_of
from packager._objects.records import Kind as K
from tests.tables import one_test

MANY = RUN_FROM + 100


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._objects.records.RUN_FROM", 1)


FORMS: dict[str, tuple[list[Any], list[Any]]] = {
    "bytes": ([0, 255], ["u1", b"\x00\xff"]),
    "signed bytes": ([-1, 127], ["i1", b"\xff\x7f"]),
    "two bytes": ([256, 1], ["u2", b"\x00\x01\x01\x00"]),
    "two signed bytes": ([-129, 1], ["i2", b"\x7f\xff\x01\x00"]),
    "four bytes": ([2**16] * 2, ["i4", b"\x00\x00\x01\x00" * 2]),
    "eight bytes": ([-(2**63)], ["i8", b"\x00" * 7 + b"\x80"]),
    "floats": ([1.5, -0.0], ["f8", struct.pack("<2d", 1.5, -0.0)]),
    "texts": (["a", "", "bcd"], ["text", "u1", b"\1\0\3", b"abcd", None, None]),
    "a text that comes twice": (["b", "a", "b"], ["text", "u1", b"\1\1", b"ba", "u1", b"\0\1\0"]),
    "texts of more bytes than characters": (
        ["\u00e9\u4e2d"],
        ["text", "u1", b"\2", b"\xc3\xa9\xe4\xb8\xad", None, None],
    ),
}


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize(("values", "record"), FORMS.values(), ids=FORMS)
def test_the_form_of_a_run_follows_from_its_values(values: list[Any], record: list[Any]) -> None:
    assert runs_of(values) == [record]
    assert checked_size(record) == len(values)
    assert list(map(repr, values_of(record))) == list(map(repr, values))


@one_test
@pytest.mark.parametrize("seed", range(20))
def test_any_scalars_come_back(seed: int) -> None:
    rng = random.Random(seed)
    kinds = [
        lambda: rng.randrange(-(2 ** rng.randrange(1, 64)), 2 ** rng.randrange(1, 64)),
        lambda: rng.choice((math.nan, math.inf, -0.0, rng.random())),
        lambda: "".join(
            chr(rng.choice((rng.randrange(128), rng.randrange(0xE000, 0x11000))))
            for _ in range(rng.randrange(9))
        ),
        lambda: rng.choice((None, True, False)),
    ]
    chosen = rng.sample(kinds, rng.randint(1, 4))
    values = [rng.choice(chosen)() for _ in range(rng.randint(1, 300))]
    encoded = encode(values * RUN_FROM)
    again = build(audit(encoded.records, TrustContext.data_only()), {})
    assert list(map(repr, again)) == list(map(repr, values * RUN_FROM))
    assert encode(again).records == encoded.records


@one_test
@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63) - 1, b"", (), "\ud800", 1j],
    ids=["long", "below", "bytes", "tuple", "half", "complex"],
)
def test_what_no_run_holds_keeps_a_list_as_it_was(value: Any) -> None:
    for values in ([value, *range(MANY)], [*["text"] * MANY, value]):
        assert runs_of(values) is None
    assert build(audit(encode(values).records, TrustContext.data_only()), {}) == values


def test_a_text_that_comes_often_is_written_once_and_is_one_object() -> None:
    words = [f"a word that is longer than a number {at}" for at in range(MANY)]
    once, twice = encode(words).records, encode(words * 2).records
    assert len(twice) - len(once) < 5 * MANY
    again = build(audit(twice, TrustContext.data_only()), {})
    assert again == words * 2
    assert again[0] is again[MANY]


def test_short_containers_are_no_runs() -> None:
    for values in ([1] * (RUN_FROM - 1), dict.fromkeys(range(RUN_FROM // 2 - 1), 0)):
        assert unpack_table(encode(values).records, "x")[1][0][0] in (K.PACKED_LIST, K.PACKED_DICT)
    for values in ([1] * RUN_FROM, dict.fromkeys(range(RUN_FROM // 2), 0)):
        assert unpack_table(encode(values).records, "x")[1][0][0] in (K.LONG_LIST, K.LONG_DICT)


LONGER: dict[str, list[list[Any]]] = {
    "a run wider than need be": [[K.LIST], [K.LONG_LIST, ["i8", struct.pack("<2q", 7, 0)]]],
    "a run with a sign without need": [[K.LIST], [K.LONG_LIST, ["i1", b"\7\0"]]],
    "texts by places without need": [
        [K.LIST],
        [K.LONG_LIST, ["text", "u4", b"\1\0\0\0", b"7", "u1", b"\0"]],
    ],
    "a run of nothing": [[K.LIST], [K.LONG_LIST, ["u1", b""]]],
    "an int of a record": [[K.INT, 7], [K.LIST, -1, 0]],
    "an int of more bytes": [[K.INT, b"\0\0\7"], [K.LIST, -1, 0]],
    "an int of two records": [[K.INT, 7], [K.INT, 7], [K.LIST, -1, 0]],
    "a short text of a record": [[K.STR, "7"], [K.LIST, -1]],
    "a text by its bytes": [[K.STR, b"7"], [K.LIST, -1]],
    "a long text inline": [[K.LIST], [K.LIST, "7" * 65]],
    "a long text in a packed list": [[K.LIST], [K.PACKED_LIST, "7" * 65]],
}


@one_test
@pytest.mark.parametrize("records", LONGER.values(), ids=LONGER)
def test_what_is_spelled_longer_than_need_be_is_read(records: list[list[Any]]) -> None:
    table = msgpack.packb([[["records", 1]], records, -len(records)])
    assert build(audit(table, TrustContext.data_only()), {}) in ([7, 0], ["7"], [], ["7" * 65])


REFUSED: dict[str, tuple[list[Any], str]] = {
    "no form": (["u3", b"abc"], "there is no form 'u3' of runs"),
    "a form that is no text": ([1, b"abc"], "expected str, found int"),
    "half a number": (["u2", b"abc"], "'u2' is no form of whole numbers"),
    "numbers that are no bytes": (["u1", "abc"], "expected bytes, found str"),
    "lengths beyond the text": (["text", "u1", b"\1\2", b"ab", None, None], "do not add up to 2 characters"),
    "lengths with a sign": (["text", "i4", bytes(4), b"", None, None], "'i4' is no form of whole numbers"),
    "bytes that are no text": (["text", "u1", b"\1", b"\xff", None, None], "can't decode byte 0xff"),
    "a text that is not there": (
        ["text", "u1", b"\1", b"a", "u1", b"\1"],
        "a place of texts beyond the 1 texts",
    ),
    "no text at all": (["text", "u1", b"", b"", "u1", b"\0"], "a place of texts beyond the 0 texts"),
    "a form without numbers": (["text", "u1", b"\1", b"a", "u1", None], "expected bytes, found NoneType"),
    "parts that are missing": (["text", "u1", b"\1"], "not enough values to unpack"),
    "parts beyond": (["u1", b"\1", b"\1"], "too many values to unpack"),
}


@one_test
@pytest.mark.parametrize(("record", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_encoder_writes_is_refused_before_anything_is_built(record: list[Any], message: str) -> None:
    table = [[["records", 1]], [[K.LIST], [K.LONG_LIST, record]], -2]
    with pytest.raises(RecordError, match=rf"record 1 \(LONG_LIST\): .*{message}"):
        audit(msgpack.packb(table), TrustContext.data_only())


def test_the_table_is_as_large_as_the_values_and_no_larger() -> None:
    assert len(encode([1] * 300_000).records) < 300_050
    assert len(encode([None] * 300_000).records) < 300_050
    assert len(unpack_table(encode([2**40] * 300_000).records, "x")[1][0][1][1]) == 8 * 300_000
