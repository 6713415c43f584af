"""Section 5.6: the type of a value has one spelling, and everything else is refused with what is expected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager import ValueType
from packager._archive.bounds import MAX_TYPE_DEPTH, MAX_TYPE_TEXT
from packager._calls import is_value_type
from packager.errors import ArgumentError
from tests.tables import one_test

_LEAVES = st.one_of(
    st.sampled_from(["any", "none", "text", "bytes", "bool", "int", "float", "complex", "dict", "table"]).map(
        ValueType
    ),
    st.builds(
        lambda dtype, shape: ValueType("array", dtype, shape),
        st.sampled_from(["float32", "bfloat16", "text", "datetime64", "integer", "real", "number"]),
        st.none() | st.lists(st.none() | st.integers(0, 2**40), max_size=4).map(tuple),
    ),
)
_KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_TYPES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: ValueType("list", parts=(("", one),))),
        st.dictionaries(_KEYS, inner, max_size=3).map(
            lambda parts: ValueType("dict", parts=tuple(parts.items()))
        ),
        st.dictionaries(_KEYS, inner, max_size=3).map(
            lambda parts: ValueType("table", parts=tuple(parts.items()))
        ),
        inner.map(
            lambda one: ValueType(one.kind, one.dtype, one.shape, one.parts, one.kind not in ("any", "none"))
        ),
    ),
    max_leaves=8,
)


@given(_TYPES)
def test_what_is_spelled_is_read_back(found: ValueType) -> None:
    assert ValueType.parse(str(found)) == found
    assert is_value_type(str(found))


@one_test
@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("float32[ *,3 ]", "float32[*, 3]"),
        ("list [ text ]", "list[text]"),
        ('{"words":list[text],b:int?}', "{words: list[text], b: int?}"),
        ('{"\\u0061": int, "é": text}', '{a: int, "\\u00e9": text}'),
        ("text|list[ text ]?", "text | list[text]?"),
        ("list[int|text]", "list[int | text]"),
        ("any?", "any"),
        ("none?", "none"),
        (" text ", "text"),
    ],
)
def test_there_is_one_spelling(text: str, spelt: str) -> None:
    assert str(ValueType.parse(text)) == spelt
    assert is_value_type(spelt)
    assert not is_value_type(text)


@one_test
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the type '': it is incomplete; expected text, bytes"),
        ("string", "unknown type 'string'; expected text, bytes"),
        ("float33[*]", "unknown dtype 'float33'; did you mean"),
        ("text[*", "it is incomplete|the end"),
        ("text[", "it is incomplete"),
        ("float32[a]", "found 'a'; expected \\* or the size"),
        ("float32[01]", "found '1'; expected ,"),
        ("float32[-1]", r"found '-1\]'"),
        ("float32[9999999999999999]", "or the size of an axis"),
        ("float32[*] text", "found 'text' after its end"),
        ("text??", "found '\\?' after its end"),
        ("list[text", "found 'the end'; expected ]"),
        ("text | text", "text appears twice"),
        ("text |", "it is incomplete"),
        ("{a: int, a: text}", "the key 'a' appears twice"),
        ("{3: int}", "found '3'; expected a key"),
        ('{"\\ud800": int}', "expected a key: a name"),
        ("{a int}", "found 'int'; expected :"),
        ("os.system", "found '.system'"),
        ("float32[" + ", ".join("*" * 65) + "]", "more than 64 axes"),
        (
            "list[" * (MAX_TYPE_DEPTH + 1) + "int" + "]" * (MAX_TYPE_DEPTH + 1),
            "the limit is 16",
        ),
        ("text" + " " * MAX_TYPE_TEXT, "the limit is 65536"),
    ],
)
def test_what_is_no_type_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ValueType.parse(text)
    assert not is_value_type(text)


def test_nesting_up_to_the_bound_is_read() -> None:
    text = "list[" * MAX_TYPE_DEPTH + "int" + "]" * MAX_TYPE_DEPTH
    assert str(ValueType.parse(text)) == text
