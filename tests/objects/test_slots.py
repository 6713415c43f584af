"""Which slots of a class hold attributes of its instances."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from packager.objects.safeguards import forbid_shadows, slots_of


class Base:
    __slots__ = ("a", "b")


class Over(Base):
    b = property(lambda self: 1)


class Again(Over):
    __slots__ = ("b", "c")


def test_slots_are_those_that_nothing_stands_in_front_of() -> None:
    found: list[dict[str, Any]] = [slots_of(cls) for cls in (Base, Over, Again)]
    assert [sorted(slots) for slots in found] == [["a", "b"], ["a"], ["a", "b", "c"]]
    assert found[0]["b"] is vars(Base)["b"]
    assert found[2]["b"] is vars(Again)["b"]
    assert slots_of(defaultdict) == {}


def test_names_that_libraries_ask_for_have_two_underscores_on_both_sides() -> None:
    forbid_shadows(Base, ["__a", "a__", "_a_", "a"])
    with pytest.raises(ValueError, match=r"^__a__ is no attribute of data: libraries ask a Base for it$"):
        forbid_shadows(Base, ["__a", "__a__"])
