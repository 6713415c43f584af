"""What `typing` leaves on an object that was made by an alias comes back, and nothing else under its name."""

from __future__ import annotations

import collections
import typing
from typing import Any

import pytest

from packager._audit import TrustContext, UntrustedNamesError, audit
from packager._objects import ObjectBuildError
from packager._objects.records import Kind as K
from packager.testing import round_trip
from tests.attacks import object_forger as forge


@pytest.mark.parametrize(
    "alias",
    [
        typing.OrderedDict[int, str],
        typing.Counter[str],
        collections.OrderedDict[int, list[str]],
        typing.OrderedDict[int, typing.Callable],
    ],
    ids=str,
)
def test_the_alias_of_what_was_made_by_one_comes_back_in_data_alone(alias: Any) -> None:
    made = alias()
    trip = round_trip(made)
    assert trip.is_stable
    assert type(trip.object) is type(made)
    assert vars(trip.object) == vars(made)
    assert trip.object.__orig_class__ == alias


def with_alias(*alias: list[Any]) -> bytes:
    """An ordered dict that is given something for its alias."""
    table = [[K.GLOBAL, "collections", "OrderedDict"], *alias]
    return forge.table_of(
        [*table, [K.SHAPE, -1, None, "__orig_class__"], [K.OBJ, -2 - len(alias), -1 - len(alias)]]
    ).records


OTHERS: dict[str, list[Any]] = {
    "a dict": [K.DICT],
    "a list": [K.LIST],
    "a function": [K.GLOBAL, "torch", "relu"],
    "a class": [K.GLOBAL, "builtins", "int"],
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_something_else_in_its_place_is_refused(other: list[Any]) -> None:
    with pytest.raises(UntrustedNamesError, match=r"__orig_class__ is .*; expected an alias of typing"):
        audit(with_alias(other), TrustContext.data_only())


def test_another_name_in_double_underscores_is_still_refused() -> None:
    made = collections.OrderedDict[int, str]()
    vars(made)["__array_interface__"] = {}
    with pytest.raises(ObjectBuildError, match="data may not set __array_interface__"):
        round_trip(made)
