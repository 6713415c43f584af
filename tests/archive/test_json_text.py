"""The reader of JSON against Python's: every small text, whole and broken, and where what is wrong stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from packager.archive.json_text import JsonText, shown_key
from packager.errors import ArchiveError
from tests.tables import one_test

WORDS = [
    "0",
    "-1",
    "10",
    "1.5",
    "-0.25",
    "1e5",
    "1E+10",
    "2.5e-3",
    "true",
    "false",
    "null",
    '"a"',
    '""',
    '"\\u00e9"',
]
VALUES = [
    *WORDS,
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[1]",
    "[1,2]",
    "[ 1 , [ 2 ] ]",
    '{"a":1}',
    '{"a":{"b":[1,{"c":null}]},"d":[]}',
    ' { "a" : 1 ,\n"b" :\t[ ] } ',
    '[{"a":1},{"a":2}]',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
]


def read(data: bytes, what: str = "x", first: int = 0) -> None:
    reader = JsonText(data, what, first)
    reader.value()
    reader.end()


@one_test
@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_read_to_its_end_and_any_part_of_it_is_refused(text: str) -> None:
    whole = text.encode()
    read(whole)
    for stop in range(len(whole)):
        try:
            json.loads(whole[:stop])
        except ValueError:
            with pytest.raises(ArchiveError, match="x, byte"):
                read(whole[:stop])
    for behind in (b"x", b"}", b"]", b",", b" 1", b'"'):
        with pytest.raises(ArchiveError, match="x, byte"):
            read(whole + behind)


@one_test
@pytest.mark.parametrize(
    ("text", "at", "found"),
    [
        ("", 0, "b'' where a value has to start"),
        ("x", 0, "b'x' where a value has to start"),
        ("  nul", 2, "b'nul' where a value has to start"),
        ("+1", 0, "b'+1' where a value has to start"),
        (".5", 0, "b'.5' where a value has to start"),
        ("123456789x", 9, "more behind its end"),
        ("abcdefghij", 0, "b'abcdefgh' where a value has to start"),
        ("01", 1, "more behind its end"),
        ("1.", 1, "more behind its end"),
        ("1e", 1, "more behind its end"),
        ("[1 2]", 3, "b'2' in the place of ','"),
        ("[1,]", 3, "b']' where a value has to start"),
        ("[,1]", 1, "b',1]' where a value has to start"),
        ("[1}", 2, "b'}' in the place of ','"),
        ('{"a":1]', 6, "b']' in the place of ','"),
        ('{"a" 1}', 5, "b'1' in the place of ':'"),
        ("{1:2}", 1, "b'1' where a key has to start"),
        ('{"a":1,}', 7, "b'}' where a key has to start"),
        ('{"a":}', 5, "b'}' where a value has to start"),
        ('"a', 2, "b'' inside of a text"),
        ('"a\n"', 2, "b'\\n\"' inside of a text"),
        ('"\\x"', 1, "b'\\\\x' inside of a text"),
        ('"\\u12g4"', 1, "b'\\\\u' inside of a text"),
        ("[1] ]", 4, "more behind its end"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, at: int, found: str) -> None:
    with pytest.raises(ArchiveError) as refused:
        read(text.encode(), "file, header", 8)
    assert str(refused.value).startswith(
        f"file, header, byte {8 + at}: found what is not such JSON ({found}); expected a JSON object without"
    )


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_values_nest_so_deep_at_most(opening: str, closing: str) -> None:
    JsonText((opening * 64 + "1" + closing * 64).encode(), "x").value()
    with pytest.raises(ArchiveError, match="found a value nested deeper; expected at most 64 levels"):
        JsonText((opening * 65 + "1" + closing * 65).encode(), "x").value()
    flat = "[" + ",".join(["[[1]]"] * 200) + "]"
    JsonText(flat.encode(), "x").value()


@one_test
@pytest.mark.parametrize(
    "text", ['"a"', '  "a"', '"\\n"', '"\\\\"', '"\\u0041b"', '"\\ud83d\\ude00"', '"gr\u00f6\u00dfe"', '""']
)
def test_texts_are_those_of_python(text: str) -> None:
    reader = JsonText(text.encode() + b",", "x")
    assert reader.string() == json.loads(text)
    assert reader.at == len(text.encode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'"\xff"', "a text that is not UTF-8, invalid start byte"),
        (b'"\\ud83d"', "half of a surrogate pair"),
        (b'"\\ude00\\ud83d"', "half of a surrogate pair"),
        (b"1", "b'1' where a text has to start"),
    ],
)
def test_texts_that_are_none_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=f"x, byte 0: found what is not such JSON .*{message}"):
        JsonText(text, "x").string()


@one_test
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{}", {}),
        (" { } ", {}),
        ('{"a":"b"}', {"a": "b"}),
        ('{ "a" : "b" , "c" : "d" }', {"a": "b", "c": "d"}),
        ("[]", None),
        ('{"a":1}', None),
        ('{"a":"b","c":[]}', None),
    ],
)
def test_a_map_of_texts_is_one_or_none(text: str, found: Any) -> None:
    reader = JsonText(text.encode(), "x")
    assert reader.strings(2) == found
    if found is not None:
        reader.end()


def test_a_map_has_so_many_texts_and_each_key_once() -> None:
    with pytest.raises(ArchiveError, match="byte 13: found one text more; expected at most 1 in this map"):
        JsonText(b'{"a":"b", "c": "d"}', "x").strings(1)
    with pytest.raises(ArchiveError, match=r"byte 10: found .*the key 'a' stands in it twice"):
        JsonText(b'{"a":"b", "a": "d"}', "x").strings(5)


def test_long_keys_are_shown_in_part() -> None:
    assert shown_key("x" * 200) == repr("x" * 200)
    assert shown_key("x" * 201) == repr("x" * 200) + "..."
