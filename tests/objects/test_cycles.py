"""Objects that lead back to themselves: written early and filled, or entered again, or refused."""

from __future__ import annotations

import collections
import functools
from typing import Any

import pytest

from packager._objects import encode
from packager.testing import round_trip

HERE = __name__


class Node:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("one", "two")


class Built:
    """Made by a call, with a state of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.others: list[Any] = []

    def __reduce__(self) -> Any:
        return Built, (self.name,), {"others": self.others}

    def __setstate__(self, state: Any) -> None:
        self.others = state["others"]


class Pair:
    """Made by a call whose arguments may lead back to it."""

    def __init__(self, left: Any) -> None:
        self.left = left

    def __reduce__(self) -> Any:
        return Pair, (self.left,)


def test_list_in_itself() -> None:
    cycle: list[Any] = [1]
    cycle += [cycle, 2]
    trip = round_trip(cycle)
    assert trip.object[1] is trip.object
    assert [trip.object[0], trip.object[2]] == [1, 2]
    assert trip.is_stable


def test_dict_in_itself_keeps_its_order() -> None:
    cycle: dict[Any, Any] = {"a": 1}
    cycle["me"] = [cycle]
    cycle["z"] = 2
    trip = round_trip(cycle)
    assert trip.object["me"][0] is trip.object
    assert list(trip.object) == ["a", "me", "z"]
    assert trip.is_stable


def test_object_that_refers_to_itself_keeps_the_order_of_attributes() -> None:
    node = Node(first=1)
    node.me = node  # type: ignore[attr-defined]  # made by its keywords
    node.last = [node]  # type: ignore[attr-defined]  # the same
    trip = round_trip(node, interned=[HERE])
    assert trip.object.me is trip.object
    assert list(vars(trip.object)) == ["first", "me", "last"]
    assert trip.is_stable


def test_slots_that_refer_to_their_object() -> None:
    slotted = Slotted()
    slotted.one, slotted.two = slotted, [slotted]
    trip = round_trip(slotted, interned=[HERE])
    assert trip.object.one is trip.object
    assert trip.object.two[0] is trip.object
    assert trip.is_stable


def test_tuple_in_a_list_that_it_holds() -> None:
    held: list[Any] = []
    cycle = (held, 1)
    held.append(cycle)
    trip = round_trip(cycle)
    assert trip.object[0][0] is trip.object
    assert trip.is_stable


def test_set_holds_an_object_that_holds_it() -> None:
    node = Node()
    node.all = {node, 1}  # type: ignore[attr-defined]  # made by its keywords
    trip = round_trip(node, interned=[HERE])
    assert trip.object in trip.object.all
    assert trip.is_stable


def test_set_is_entered_first() -> None:
    node = Node()
    everything = {node}
    node.all = everything  # type: ignore[attr-defined]  # made by its keywords
    trip = round_trip(everything, interned=[HERE])
    (loaded,) = trip.object
    assert loaded.all is trip.object
    assert trip.is_stable


def test_objects_made_by_calls_refer_to_each_other() -> None:
    left, right = Built("left"), Built("right")
    left.others, right.others = [right, left], [left]
    trip = round_trip(left, interned=[HERE])
    assert trip.object.others[0].others[0] is trip.object
    assert trip.object.others[1] is trip.object
    assert trip.is_stable


def test_argument_that_leads_back_through_a_list() -> None:
    held: list[Any] = []
    pair = Pair(held)
    held.append(pair)
    trip = round_trip(pair, interned=[HERE])
    assert trip.object.left[0] is trip.object
    assert trip.is_stable


def test_ordered_dict_and_default_dict_in_themselves() -> None:
    ordered: Any = collections.OrderedDict(a=1)
    ordered["me"] = ordered
    default: Any = collections.defaultdict(list)
    default["me"] = (default,)
    loaded, other = round_trip([ordered, default]).object
    assert loaded["me"] is loaded
    assert other["me"][0] is other


def test_partial_whose_arguments_lead_back_to_it() -> None:
    held: list[Any] = []
    partial = functools.partial(max, held)
    held.append(partial)
    trip = round_trip(partial, interned=[HERE])  # data alone holds no partial of max
    assert trip.object.args[0][0] is trip.object
    assert trip.is_stable


@pytest.mark.long
def test_ring_of_a_hundred_thousand_objects_both_ways() -> None:
    nodes = [Node(at=at) for at in range(100_000)]
    for left, right in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        left.next, right.previous = right, left  # type: ignore[attr-defined]  # made by its keywords
    trip = round_trip(nodes[0], interned=[HERE])
    assert trip.object.next.previous is trip.object
    assert trip.object.previous.at == 99_999
    assert trip.is_stable


def test_cycle_of_nothing_but_arguments_is_refused_with_its_path() -> None:
    pair = Pair(None)
    pair.left = (1, pair)
    (refusal,) = encode({"pair": pair}).with_sources(lambda module: True).refusals
    assert "through tuples, frozensets or arguments" in refusal.reason
    assert refusal.path.startswith("obj['pair']<argument 0>[1]")
    assert refusal.options
