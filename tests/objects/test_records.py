"""Which values stand for themselves in a table of records, and which containers are one record."""

from __future__ import annotations

import re
from typing import Any

import pytest

from packager._archive import MAX_EXTENT, MAX_RANK
from packager._objects.checking import check_literal, check_names, check_shape
from packager._objects.records import (
    INLINE,
    KIND_NAMES,
    MAX_INT,
    MIN_INT,
    VERSION,
    is_inline,
    is_packable,
    spelled_int,
    typed,
)
from tests.tables import one_test


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None, True, 1, 1.5, "a"],  # each kind that there is
        [MIN_INT, MAX_INT],
        ["a" * INLINE, "\N{GREEK SMALL LETTER ALPHA}"],
    ],
)
def test_plain_values_are_packed(values: list[Any]) -> None:
    assert is_packable(values)


@one_test
@pytest.mark.parametrize(
    "value", [b"a", (), MAX_INT + 1, MIN_INT - 1, "a" * (INLINE + 1), "\ud800", type("S", (str,), {})("a")]
)
def test_one_other_value_keeps_a_container_from_being_packed(value: Any) -> None:
    assert not is_packable([None, True, 1, 1.5, "a", value])


@pytest.mark.parametrize("value", ["a" * (INLINE + 1), "\ud800", MAX_INT + 1, -1, b""])
def test_what_is_long_or_negative_is_no_operand(value: Any) -> None:
    assert not is_inline(value)


@one_test
@pytest.mark.parametrize("value", ["a" * INLINE, "\u03b1" * INLINE, MAX_INT, 0, None, False, 0.0])
def test_what_is_short_is_an_operand(value: Any) -> None:
    assert is_inline(value)


def test_what_archives_are_written_with_stays_as_it_is() -> None:
    """A number that changes makes every archive there is unreadable."""
    assert (VERSION, INLINE, MIN_INT, MAX_INT) == (1, 64, -9223372036854775808, 18446744073709551615)
    kinds = """
        GLOBAL INT STR BYTES TENSOR TUPLE LIST DICT SET FROZENSET PACKED_TUPLE PACKED_LIST PACKED_DICT SHAPE
        OBJ NEW NEW_KW CALL CALL_KW PACKAGE_CALL METHOD FUNCTION CELL CODEC FILL EXTEND UPDATE ADD SETCELL
        STATE FINISH LONG_TUPLE LONG_LIST LONG_DICT LONG_SET LONG_FROZENSET EXTEND_LONG UPDATE_LONG
    """
    assert dict(enumerate(kinds.split())) == KIND_NAMES


@pytest.mark.parametrize("shape", [[], [0], [MAX_EXTENT - 1], [1] * MAX_RANK])
def test_a_shape_is_a_list_of_sizes(shape: list[int]) -> None:
    check_shape(shape)


@one_test
@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ((), ", found tuple"),
        (None, ", found NoneType"),
        (3, ", found int"),
        ([-1], f" from 0 to {MAX_EXTENT - 1}, found -1"),
        ([MAX_EXTENT], f" from 0 to {MAX_EXTENT - 1}, found {MAX_EXTENT}"),
        ([1.0], f" from 0 to {MAX_EXTENT - 1}, found 1.0"),
        ([True], f" from 0 to {MAX_EXTENT - 1}, found True"),
        ([1] * (MAX_RANK + 1), f", at most {MAX_RANK}, found {MAX_RANK + 1}"),
    ],
)
def test_what_is_no_list_of_sizes_is_no_shape(shape: Any, found: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(f"a shape is a list of sizes{found}") + "$"):
        check_shape(shape)


@one_test
@pytest.mark.parametrize("literal", [None, True, 1, 0.5, "a", b"a", [], [None, True, 1, 0.5, "a", b"a"]])
def test_a_literal_is_a_scalar_or_a_flat_list(literal: Any) -> None:
    check_literal(literal)


@pytest.mark.parametrize("literal", [(), {}, [[]], ["a", ()], bytearray(b"a")])
def test_what_is_nested_is_no_literal(literal: Any) -> None:
    with pytest.raises(ValueError, match=r"^a literal is a scalar or a flat list of scalars$"):
        check_literal(literal)


def test_names_are_strings_each_once() -> None:
    check_names([])
    check_names(["a", "b"])
    for names in ([1], ["a", "a"], [None, "a"], [b"a"]):
        with pytest.raises(ValueError, match=r"^names of attributes are strings, each once$"):
            check_names(names)


@one_test
@pytest.mark.parametrize("value", [MIN_INT - 1, MAX_INT + 1, 1 << 71, -(1 << 71), (1 << 71) - 1, 1 << 500])
def test_a_longer_int_is_spelled_by_its_fewest_bytes(value: int) -> None:
    spelled = spelled_int(value)
    assert isinstance(spelled, bytes)
    assert int.from_bytes(spelled, "big", signed=True) == value
    with pytest.raises(OverflowError):
        value.to_bytes(len(spelled) - 1, "big", signed=True)
    assert [spelled_int(one) for one in (MIN_INT, MAX_INT)] == [MIN_INT, MAX_INT]


def test_a_type_is_exact() -> None:
    assert typed(1, int) == 1
    with pytest.raises(ValueError, match=r"^expected int, found bool$"):
        typed(True, int)
