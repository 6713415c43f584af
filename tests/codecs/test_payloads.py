"""JSON of other libraries: what is read alike by every reader, and the fields that a check takes out."""

from __future__ import annotations

from typing import Any

import pytest

from packager._archive import MAX_DEPTH
from packager._codecs.payloads import Fields, parsed_json


@pytest.mark.parametrize(("left", "right"), [("[", "]"), ('{"a":', "}"), ('{"a":[', "]}")])
def test_json_is_nested_so_deep_and_no_deeper(left: str, right: str) -> None:
    most = (MAX_DEPTH + 1) // (1 + left.count(":["))  # the outermost lies at depth 0
    assert parsed_json(left * most + "1" + right * most)
    with pytest.raises(ValueError, match=f"JSON nested at most {MAX_DEPTH} deep"):
        parsed_json(left * (most + 1) + "1" + right * (most + 1))


def fields(**values: Any) -> Fields:
    return Fields(values, "model")


def test_numbers_are_of_a_range_and_may_be_absent() -> None:
    assert [fields(a=value).real("a", 0.5, 2) for value in (0.5, 1, 2)] == [0.5, 1, 2]
    assert fields().real("a", 0.5, 2) is None
    for value in (0.25, 3):
        with pytest.raises(ValueError, match=r"expected a number from 0\.5 to 2 as model\.a"):
            fields(a=value).real("a", 0.5, 2)
    assert [fields(a=value).number("a", 1, 3) for value in (1, 2)] == [1, 2]
    assert fields().number("a", 1, 3, 1) == 1
    for value in (0, 3):
        with pytest.raises(ValueError, match=rf"expected an int from 1 to 2 as model\.a, found '?{value}"):
            fields(a=value).number("a", 1, 3)


def test_what_is_no_number_or_left_over_is_named() -> None:
    with pytest.raises(ValueError, match=r"expected a number as model\.a, found '?str"):
        fields(a="1").real("a", 0, 2)
    with pytest.raises(ValueError, match=r"expected no other fields in model, found '?b, c"):
        fields(c=1, b=2).done()
