"""Which values stand for themselves in a table of records, and which containers are one record."""

from __future__ import annotations

from typing import Any

import pytest

from packager.objects.records import INLINE, KIND_NAMES, MAX_INT, MIN_INT, VERSION, is_inline, is_packable


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


@pytest.mark.parametrize(
    "value", [b"a", (), MAX_INT + 1, MIN_INT - 1, "a" * (INLINE + 1), "\ud800", type("S", (str,), {})("a")]
)
def test_one_other_value_keeps_a_container_from_being_packed(value: Any) -> None:
    assert not is_packable([None, True, 1, 1.5, "a", value])


@pytest.mark.parametrize("value", ["a" * (INLINE + 1), "\ud800", MAX_INT + 1, -1, b""])
def test_what_is_long_or_negative_is_no_operand(value: Any) -> None:
    assert not is_inline(value)


@pytest.mark.parametrize("value", ["a" * INLINE, "\u03b1" * INLINE, MAX_INT, 0, None, False, 0.0])
def test_what_is_short_is_an_operand(value: Any) -> None:
    assert is_inline(value)


def test_what_archives_are_written_with_stays_as_it_is() -> None:
    """A number that changes makes every archive there is unreadable."""
    assert (VERSION, INLINE, MIN_INT, MAX_INT) == (1, 64, -9223372036854775808, 18446744073709551615)
    kinds = """
        GLOBAL INT STR BYTES TENSOR TUPLE LIST DICT SET FROZENSET PACKED_TUPLE PACKED_LIST PACKED_DICT SHAPE
        OBJ NEW NEW_KW CALL CALL_KW PACKAGE_CALL METHOD FUNCTION CELL CODEC FILL EXTEND UPDATE ADD SETCELL
        STATE FINISH
    """
    assert dict(enumerate(kinds.split())) == KIND_NAMES
