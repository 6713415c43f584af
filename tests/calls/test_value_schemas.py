"""The types of values: what one is, what several have in common, and which values are of a type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packager import ValueType
from packager._calls import Misfit, common, fitted, type_of
from tests.tables import one_test


def parsed(*texts: str) -> list[ValueType]:
    return [ValueType.parse(text) for text in texts]


@one_test
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "none"),
        (True, "bool"),
        (3, "int"),
        (2.5, "float"),
        (1j, "complex"),
        ("a", "text"),
        (np.str_("a"), "text"),
        (b"a", "bytes"),
        (np.zeros((2, 0), ">f4"), "float32[2, 0]"),
        (np.float32(3), "float32[]"),
        (np.array(["a", "bc"]), "text[2]"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64[1]"),
        ([1, 2, 3], "int64[3]"),
        ([[1.0, 2], [3, 4]], "float64[2, 2]"),
        ([[1], [2, 3]], "list[int64[*]]"),
        (["a", "b"], "list[text]"),
        ([], "list[any]"),
        (["a", None], "list[text?]"),
        ([{"a": 1}, {"a": 2.5}], "list[{a: float}]"),
        ({"a": [True], "b c": {}}, '{a: bool[1], "b c": {}}'),
        ({1: 2}, "dict"),
    ],
)
def test_type_of_a_value(value: Any, expected: str) -> None:
    found = str(type_of(value))
    assert found == expected
    fitted("x", value, ValueType.parse(found))


@one_test
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], "any"),
        (["text", "text"], "text"),
        (["int", "float"], "float"),
        (["bool", "int"], "any"),
        (["text", "none"], "text?"),
        (["none", "float32[2]"], "float32[2]?"),
        (["float32[2, 3]", "float32[4, 3]"], "float32[*, 3]"),
        (["float32[2]", "float32[2, 2]"], "float32[...]"),
        (["float32[2]", "float64[2]"], "real[2]"),
        (["int32[2]", "uint8[2]"], "integer[2]"),
        (["int32[2]", "complex64[2]"], "number[2]"),
        (["text[2]", "int32[2]"], "any"),
        (["{a: int, b: text}", "{b: none, a: float}"], "{a: float, b: text?}"),
        (["{a: int}", "{b: int}"], "dict"),
        (["list[text]", "list[none]"], "list[text?]"),
        (["text", "any"], "any"),
    ],
)
def test_what_types_have_in_common(texts: list[str], expected: str) -> None:
    found = parsed(*texts)
    assert str(common(found)) == expected
    if len(found) == 2 and "{" not in texts[0]:
        assert str(common(found[::-1])) == expected


@one_test
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([[1, 2]], "float32[*, 2]"),
        ([[1, 2]], "real[*, *]"),
        ([], "float32[*]"),
        (3, "float64[]"),
        (["a", "b"], "text[2]"),
        (np.zeros((2, 3), "f4"), "float32[2, 3]"),
        (np.zeros((2, 3), "f4"), "real[...]"),
        (np.zeros(2, bool), "real[*]"),
        (np.array(["a"]), "list[text]"),
        (np.array("word"), "text"),
        (np.array(2), "float"),
        (np.float32(2), "float"),
        (3, "complex"),
        (None, "text?"),
        (None, "any"),
        ("a", "text | list[text]"),
        (["a"], "text | list[text]"),
        (None, "text | list[text]?"),
        (object(), "any"),
        ({"a": 1}, "dict"),
    ],
)
def test_values_of_a_type(value: Any, expected: str) -> None:
    fitted("x", value, ValueType.parse(expected))


def test_numbers_in_lists_become_arrays_where_the_dtype_is_known() -> None:
    made = fitted("x", {"a": [[1, 2]], "b": [1]}, ValueType.parse("{a: float32[*, 2], b: real[*]}"))
    assert made["a"].dtype == np.float32
    assert made["a"].tolist() == [[1.0, 2.0]]
    assert made["b"] == [1]


def test_an_array_without_axes_becomes_its_element() -> None:
    assert type(fitted("x", np.array("word"), ValueType("text"))) is str
    assert type(fitted("x", np.array(2, "i4"), ValueType("int"))) is int


@one_test
@pytest.mark.parametrize(
    ("value", "expected", "message"),
    [
        (np.zeros((2, 5)), "float32[*, 5]", r"x: found float64\[2, 5\], expected float32\[\*, 5\]"),
        (np.zeros((2, 5), "f4"), "float32[*, 4]", r"found float32\[2, 5\], expected float32\[\*, 4\]"),
        (np.zeros(2, "f4"), "float32[*, 4]", r"found float32\[2\]"),
        (np.zeros(2, "c8"), "real[*]", r"found complex64\[2\], expected real\[\*\]"),
        ([1.5], "int64[*]", r"found float64\[1\], expected int64\[\*\]"),
        ([True], "int64[*]", r"found bool\[1\]"),
        ([300], "uint8[*]", r"found int64\[1\], expected uint8\[\*\]"),
        ([[1], [2, 3]], "int64[*, *]", r"found list\[int64\[\*\]\]"),
        ("word", "float32[*]", "found text"),
        ([3], "text | list[text]", r"x: found int64\[1\], expected text \| list\[text\]"),
        ("word", "list[text]", r"found text, expected list\[text\]"),
        (["a", 3], "list[text]", r"x\.1: found int, expected text"),
        ({"a": 1}, "{a: text}", r"x\.a: found int, expected text"),
        ({"a": 1, "c": 2}, "{a: int, b: int}", "x: found the keys a, c, expected a, b"),
        ([1], "{a: int}", r"found int64\[1\], expected \{a: int\}"),
        (True, "int", "found bool, expected int"),
        (2.5, "int", "found float, expected int"),
        (None, "text", "found none, expected text"),
        (object(), "text", "found object, expected text"),
        (np.array(["a", "b"]), "text", r"found text\[2\], expected text"),
    ],
)
def test_misfits_say_where_what_and_what_is_expected(value: Any, expected: str, message: str) -> None:
    with pytest.raises(Misfit, match=message):
        fitted("x", value, ValueType.parse(expected))
