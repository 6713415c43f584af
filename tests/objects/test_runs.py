"""Runs of scalars: the form that follows from the values, the way back, and what is never written."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import msgpack
import pytest

from packager.objects import RecordError, TrustContext, audit, build, encode, unpack_table
from packager.objects.records import Kind as K
from packager.objects.runs import RUN_FROM, RunReader, RunWriter, kind_of_run, run_of
from tests.tables import one_test

MANY = RUN_FROM + 100


def written(values: list[Any]) -> list[list[Any]]:
    records: list[list[Any]] = []

    def write(record: list[Any]) -> int:
        records.append(record)
        return -len(records)

    run = run_of(values)
    assert run is not None
    RunWriter(write).run(run)
    return records


def read(records: list[list[Any]]) -> list[Any]:
    made: list[Any] = []
    reader = RunReader()
    for record in records:
        made += [reader.values(record, lambda operand: made[-1 - operand])]
    return list(made[-1]) if isinstance(made[-1], list) else made[-1].tolist()


FORMS: dict[str, tuple[list[Any], list[Any]]] = {
    "bytes": ([0, 255], ["u1", b"\x00\xff"]),
    "signed bytes": ([-1, 127], ["i1", b"\xff\x7f"]),
    "two bytes": ([256, 1], ["u2", b"\x00\x01\x01\x00"]),
    "two signed bytes": ([-129, 1], ["i2", b"\x7f\xff\x01\x00"]),
    "four bytes": ([2**16] * 2, ["i4", b"\x00\x00\x01\x00" * 2]),
    "eight bytes": ([-(2**63)], ["i8", b"\x00" * 7 + b"\x80"]),
    "floats": ([1.5, -0.0], ["f8", struct.pack("<2d", 1.5, -0.0)]),
    "ints of three sizes": (
        [1, 2, 3, 4, 5, 300, 2**40],
        ["int", b"\0\0\0\0\0\1\3", b"\1\2\3\4\5", b"\x2c\x01", b"", struct.pack("<q", 2**40)],
    ),
    "texts": (["a", "", "bcd"], ["text", "u1", b"\1\0\3", b"abcd", None, None]),
    "a text that comes twice": (["b", "a", "b"], ["text", "u1", b"\1\1", b"ba", "u1", b"\0\1\0"]),
    "texts of more bytes than characters": (
        ["\u00e9\u4e2d"],
        ["text", "u1", b"\2", b"\xc3\xa9\xe4\xb8\xad", None, None],
    ),
}


@one_test
@pytest.mark.parametrize(("values", "record"), FORMS.values(), ids=FORMS)
def test_the_form_of_a_run_follows_from_its_values(values: list[Any], record: list[Any]) -> None:
    assert written(values) == [[K.RUN, *record]]
    assert list(map(repr, read(written(values)))) == list(map(repr, values))


def test_mixed_values_are_told_by_a_byte_each() -> None:
    records = written([None, 1, True, 2.5, "a", False, -1])
    assert records == [
        [K.RUN, "i1", b"\x01\xff"],
        [K.RUN, "f8", struct.pack("<d", 2.5)],
        [K.RUN, "text", "u1", b"\1", b"a", None, None],
        [K.RUN, "mixed", b"\0\3\2\4\5\1\3", -1, -2, -3],
    ]
    assert [kind_of_run(record) for record in records] == ["int", "float", "text", "mixed"]
    assert list(map(repr, read(records))) == ["None", "1", "True", "2.5", "'a'", "False", "-1"]


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
    assert run_of(values) is not None
    assert list(map(repr, read(written(values)))) == list(map(repr, values))
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
    values = [value, *range(MANY)]
    assert run_of(values) is None
    assert encode(values).codecs[0] == ("records", 1)
    assert build(audit(encode(values).records, TrustContext.data_only()), {}) == values


def test_texts_are_written_once_for_all_runs() -> None:
    words = [f"a word that is longer than a number {at}" for at in range(MANY)]
    once, twice = encode([words]).records, encode([words, words[::-1], dict.fromkeys(words, 0)]).records
    assert len(twice) - len(once) < 6 * MANY
    again = build(audit(twice, TrustContext.data_only()), {})
    assert again == [words, words[::-1], dict.fromkeys(words, 0)]


def test_short_containers_are_no_runs_and_need_no_newer_reader() -> None:
    for values in (
        [1] * (RUN_FROM - 1),
        dict.fromkeys(range(RUN_FROM // 2 - 1), 0),
        [[1, 2]] * 3,
        {1: [2] * 9},
    ):
        assert encode(values).codecs == (("records", 1),)
    for values in ([1] * RUN_FROM, dict.fromkeys(range(RUN_FROM // 2), 0), [[1, 2] for _ in range(RUN_FROM)]):
        assert encode(values).codecs == (("records", 2),)


REFUSED: dict[str, tuple[list[Any], str]] = {
    "no form": (["u3", b"abc"], "there is no form 'u3' of runs"),
    "a form that is no text": ([1, b"abc"], "expected str, found int"),
    "nothing": (["u1", b""], "a run of nothing"),
    "half a number": (["u2", b"abc"], "'u2' is no form of whole numbers"),
    "numbers that are no bytes": (["u1", "abc"], "expected bytes, found str"),
    "wider than need be": (["u2", b"\1\0"], "numbers as u2 that take u1"),
    "signed without need": (["i1", b"\1"], "numbers as i1 that take u1"),
    "ints that are shorter by sizes": (
        ["i8", struct.pack("<9q", *range(8), 2**40)],
        "fewer bytes by their sizes",
    ),
    "no sizes": (["int", b"", b"", b"", b"", b""], "says of each which size it has"),
    "a size that is none": (["int", b"\4\0", b"\1", b"", b"", b""], "says of each which size it has"),
    "fewer ints than sizes": (
        ["int", b"\0\0\3", b"\1", b"", b"", b"\0" * 8],
        "2 ints as u1, and 1 are there",
    ),
    "sizes without need": (["int", b"\0\0", b"\1\2", b"", b"", b""], "not spelled in their shortest form"),
    "a size that is too large": (
        ["int", b"\0" * 8 + b"\3\3", b"\1" * 8, b"", b"", struct.pack("<2q", 2**40, 7)],
        "not spelled in their shortest form",
    ),
    "lengths beyond the text": (["text", "u1", b"\1\2", b"ab", None, None], "do not make up 2 characters"),
    "lengths below 0": (
        ["text", "i4", struct.pack("<2i", -1, 3), b"ab", None, None],
        "do not make up 2 characters",
    ),
    "lengths wider than need be": (["text", "u2", b"\2\0", b"ab", None, None], "numbers as u2 that take u1"),
    "no texts": (["text", "u1", b"", b"", None, None], "a run of nothing"),
    "bytes that are no text": (["text", "u1", b"\1", b"\xff", None, None], "can't decode byte 0xff"),
    "a text that is not there": (
        ["text", "u1", b"\1", b"a", "u1", b"\1"],
        "numbers of texts that do not lie below 1",
    ),
    "a text below the first": (
        ["text", "u1", b"\1", b"a", "i4", b"\xff" * 4],
        "numbers of texts that do not lie below 1",
    ),
    "a form without numbers": (["text", "u1", b"\1", b"a", "u1", None], "expected bytes, found NoneType"),
    "a tag that is none": (["mixed", b"\6\0", None, None, None], "says of each value what it is"),
    "no tags": (["mixed", b"", None, None, None], "says of each value what it is"),
    "one kind": (["mixed", b"\3", None, None, None], "a mixed run of one kind of values"),
    "a part that is missing": (
        ["mixed", b"\0\3", None, None, None],
        "a mixed run with 1 values in a run of 0",
    ),
    "parts that are missing": (["mixed", b"\0"], "a mixed run has ints, floats and texts"),
    "a part that is no run": (["mixed", b"\0\3", -1, None, None], "expected a reference to a run"),
    "a part that is a scalar": (["mixed", b"\0\3", 5, None, None], "expected a reference to a run"),
}


@one_test
@pytest.mark.parametrize(("record", "message"), REFUSED.values(), ids=REFUSED)
def test_what_no_encoder_writes_is_refused_before_anything_is_built(record: list[Any], message: str) -> None:
    table = [[["records", 2]], [[K.LIST], [K.RUN, *record], [K.LONG_LIST, -2]], -3]
    with pytest.raises(RecordError, match=rf"record 1 \(RUN\): .*{message}"):
        audit(msgpack.packb(table), TrustContext.data_only())


def test_a_part_of_another_kind_is_refused() -> None:
    records = [[K.RUN, "f8", b"\0" * 8], [K.RUN, "mixed", b"\0\3", -1, None, None], [K.LONG_LIST, -2]]
    with pytest.raises(
        RecordError, match=r"record 1 \(RUN\): a part of a mixed run that is no run of kind int"
    ):
        audit(msgpack.packb([[["records", 2]], records, -3]), TrustContext.data_only())


def test_a_text_of_an_earlier_run_is_found_by_its_number() -> None:
    records = [
        [K.RUN, "text", "u1", b"\1\1", b"ab", None, None],
        [K.RUN, "text", "u1", b"\1", b"c", "u1", b"\2\0"],
        [K.LONG_LIST, -1],
        [K.LONG_LIST, -2],
        [K.LIST, -3, -4],
    ]
    table = msgpack.packb([[["records", 2]], records, -5])
    assert build(audit(table, TrustContext.data_only()), {}) == [["a", "b"], ["c", "a"]]


def test_the_table_is_as_large_as_the_values_and_no_larger() -> None:
    assert len(encode([1] * 300_000).records) < 300_050
    assert len(encode([None] * 300_000).records) < 300_050
    assert len(unpack_table(encode([2**40] * 300_000).records, "x")[1][0][2]) == 8 * 300_000
