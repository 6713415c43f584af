"""Which slots of a class hold attributes of its instances."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from packager._audit.gates import forbid_shadows
from packager._objects import slots_of


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
    with pytest.raises(ValueError, match=r"^data may not set __a__ of a Base: libraries read it$"):
        forbid_shadows(Base, ["__a", "__a__"])


class Begun:
    begun = None
    size = 1


@contextmanager
def beginning(made: Begun) -> Iterator[None]:
    made.begun = True  # type: ignore[assignment]  # of another type than None
    yield


def test_a_value_of_the_class_is_replaced_where_its_module_assigns_one() -> None:
    forbid_shadows(Begun, ["begun"])
    with pytest.raises(ValueError, match="size belongs to the class Begun"):
        forbid_shadows(Begun, ["begun", "size"])


def twice(function: Any) -> Any:
    return functools.wraps(function)(lambda *args: function(*args))


class Made:
    made = files = labels = kept = shown = told = None

    def __init__(self) -> None:
        self.made = 1

    @twice
    def fit(self) -> None:
        self.kept = 2

    @property
    def other(self) -> None: ...

    @other.setter
    def other(self, value: int) -> None:
        self.shown = value

    @classmethod
    def register(cls) -> None:
        cls.files = {}  # type: ignore[assignment]  # of another type than None

    def read(self) -> int:
        assert self.labels is None

        def inner() -> None:
            self.told = 3

        return 1


class Derived(Made):
    size = 4


def test_a_value_of_the_class_is_replaced_where_its_code_assigns_one() -> None:
    forbid_shadows(Derived, ["made", "kept", "shown", "told", "anything"])
    for cls, name in ((Made, "files"), (Derived, "labels"), (Derived, "size")):
        with pytest.raises(ValueError, match=f"{name} belongs to the class {cls.__name__}"):
            forbid_shadows(cls, ["made", name])
