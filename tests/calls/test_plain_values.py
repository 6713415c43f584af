"""Values of golden calls as arrays and texts: each comes back as it was, and no other spelling is read."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from packager._archive import MAX_CHECK_TEXT
from packager._calls import CallError, pack_values, plain_values, stored_form, unpack_values
from packager.errors import ArchiveError
from tests.tables import one_test

PLAIN = [
    (None, "json null"),
    (True, "json true"),
    (0, "json 0"),
    (-(2**70), "json -1180591620717411303424"),
    (0.1, "json 0.1"),
    (-0.0, "json -0.0"),
    (math.inf, "float inf"),
    (-math.inf, "float -inf"),
    (math.nan, "float nan"),
    (complex(1, -2.5), "complex 1.0 -2.5"),
    (complex(math.nan, math.inf), "complex nan inf"),
    ("", 'json ""'),
    ("two words\n", 'json "two words\\n"'),
    ("caf\u00e9 \U0001f600 \ud800", 'json "caf\\u00e9 \\ud83d\\ude00 \\ud800"'),
    (b"", "bytes "),
    (b"\x00\xff", "bytes 00ff"),
    ([], "json []"),
    ({}, "json {}"),
    ([1, [None, "a"], {"b": [0.5]}], 'json [1,[null,"a"],{"b":[0.5]}]'),
]


@one_test
@pytest.mark.parametrize(("value", "text"), PLAIN, ids=[text for _, text in PLAIN])
def test_a_plain_value_is_a_text(value: Any, text: str) -> None:
    arrays, texts = pack_values({"output.x": value})
    assert (arrays, texts) == ({}, {"value output.x": text})
    (found,) = unpack_values(arrays, texts, what="check")[0].values()
    assert (repr(found), type(found)) == (repr(value), type(value))


ARRAYS = [
    np.array([1 + 2j, complex(math.nan, -0.0)]),
    np.array([["a", "bcd"], ["", "\u00e9\U0001f600"]]),
    np.array("one"),
    np.array([b"a\x00b", b"cd"]),
    np.array(["2024-02-29", "NaT"], "datetime64[D]"),
    np.array([3, -1], "timedelta64[25s]"),
    np.zeros((0, 3), "U2"),
    np.array([[1j, 2]]).T[::-1],
    np.array([1j], ">c16"),
]


@one_test
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}{array.shape}")
def test_an_array_that_safetensors_has_no_word_for_is_its_bytes(array: Any) -> None:
    arrays, texts = pack_values({"x": array})
    assert (arrays["x"].dtype, arrays["x"].shape) == (np.uint8, (*array.shape, array.itemsize))
    found = unpack_values(arrays, texts, what="check")[0]["x"]
    assert (found.dtype, found.shape) == (array.dtype.newbyteorder("<"), array.shape)
    assert found.tobytes() == array.astype(found.dtype).tobytes()


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i8", ">u2", ">f2"])
def test_a_big_endian_array_is_stored_little_endian(dtype: str) -> None:
    given = np.arange(3, dtype=dtype)
    for found in (stored_form("x", given), pack_values({"x": given})[0]["x"]):
        assert (found.dtype.str, found.tolist()) == (f"<{dtype[1:]}", [0, 1, 2])
    assert stored_form("x", found) is found


def test_other_arrays_are_left_alone_and_the_mode_is_kept() -> None:
    given = {"x": np.ones(2, "f4"), "n": np.array(2**63, "u8")}
    arrays, texts = pack_values(given, training=True)
    assert texts == {"mode": "training"}
    assert all(arrays[name] is value for name, value in given.items())
    assert unpack_values(arrays, texts, what="check") == (given, True)
    assert unpack_values(arrays, {}, what="check") == (given, False)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ((1, (2.5, None)), [1, [2.5, None]]),
        (OrderedDict(b=1, a=("x",)), {"b": 1, "a": ["x"]}),
        (b"raw", b"raw"),
        (math.nan, math.nan),
    ],
)
def test_an_input_is_stored_with_lists_for_tuples(value: Any, found: Any) -> None:
    assert repr(stored_form("x", value)) == repr(found)


@pytest.mark.parametrize(
    "value", [[np.ones(2), np.zeros(2)], np.float32(3), np.int64(3), np.str_("a"), [1, np.nan]]
)
def test_what_holds_arrays_is_one(value: Any) -> None:
    found = stored_form("x", value)
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, np.asarray(value), equal_nan=found.dtype.kind == "f")


@one_test
@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": np.ones(2)}, [object()], {1, 2}, [["a"], np.ones(2)]]
)
def test_an_input_that_is_neither_is_refused_by_name(value: Any) -> None:
    with pytest.raises(CallError, match=r"^input words"):
        stored_form("words", value)


@one_test
@pytest.mark.parametrize(
    "texts",
    [
        {"value x": "json 1 "},
        {"value x": "json  1"},
        {"value x": "json 1e0"},
        {"value x": 'json {"a": 1}'},
        {"value x": 'json "\u00e9"'},
        {"value x": "json NaN"},
        {"value x": "json " + "[" * 100_000},
        {"value x": "json " + "1" * 5000},
        {"value x": "float 1.0"},
        {"value x": "float NAN"},
        {"value x": "complex 1 2"},
        {"value x": "complex 1.0"},
        {"value x": "bytes AB"},
        {"value x": "bytes a"},
        {"value x": "text a"},
        {"value x": ""},
        {"value array": "json 1"},
        {"dtype x": "<U1"},
        {"dtype array": "<U2"},
        {"dtype array": "|O"},
        {"dtype array": "<U0"},
        {"dtype array": "<f8"},
        {"dtype array": "<M8[0s]"},
        {"dtype array": "<U99999999"},
        {"mode": "evaluation"},
        {"format": "pt"},
        {"": ""},
    ],
    ids=lambda texts: " ".join(next(iter(texts.items())))[:40],
)
def test_no_other_text_is_read(texts: dict[str, str]) -> None:
    with pytest.raises(ArchiveError, match=r"^check one.* (found|expected)"):
        unpack_values({"array": np.zeros((2, 4), "u1")}, texts, what="check one")


def test_texts_are_counted_when_written_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CHECK_TEXT == 4_194_304
    monkeypatch.setattr(plain_values, "MAX_CHECK_TEXT", 40)
    most = {"a": "x" * 13, "b": "y" * 13}
    arrays, texts = pack_values(most)
    assert unpack_values(arrays, texts, what="check")[0] == most
    most["b"] += "y"
    with pytest.raises(
        CallError, match="41 characters of text and numbers in lists; a check stores at most 40"
    ):
        pack_values(most)
    texts["value b"] = f'json "{most["b"]}"'
    with pytest.raises(ArchiveError, match="check: 41 characters of text; at most 40 are read"):
        unpack_values(arrays, texts, what="check")
