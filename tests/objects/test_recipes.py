"""What is read out of the reduce protocol: each way to say how an object is made, in our words."""

from __future__ import annotations

import copyreg
import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from packager._codecs import CannotStore
from packager._objects.instances import Recipe, has_only_a_dict, recipe_of
from tests.tables import one_test


class Plain:
    pass


class Reduced:
    """Gives what it was made with as its `__reduce_ex__`."""

    def __init__(self, *reduced: Any) -> None:
        self.reduced = reduced

    def __reduce_ex__(self, protocol: Any) -> Any:
        assert protocol == 4
        return self.reduced


def __newobj__(cls: type, *args: Any) -> Any:  # a name that pickle knows, whoever has defined it
    return cls.__new__(cls, *args)


def __newobj_ex__(cls: type, args: Any, kwargs: Any) -> Any:  # the same
    return cls.__new__(cls, *args, **kwargs)


MADE: dict[str, tuple[tuple[Any, ...], Recipe]] = {
    "a call": ((dict, (1, 2)), Recipe("call", dict, (1, 2))),
    "an object": ((copyreg.__newobj__, (Plain, 1)), Recipe("new", Plain, (1,))),  # type: ignore[attr-defined]  # what is tried
    "an object by another's": ((__newobj__, (Plain,)), Recipe("new", Plain)),
    "an object by names": ((__newobj_ex__, (Plain, [1], {"a": 2})), Recipe("new", Plain, (1,), {"a": 2})),
    "an object by no names": ((__newobj_ex__, (Plain, [1], {})), Recipe("new", Plain, (1,))),
    "of object itself": (
        (copyreg._reconstructor, (Plain, object, None)),  # type: ignore[attr-defined]  # what pickle calls
        Recipe("new", Plain),
    ),
    "of another base": (
        (copyreg._reconstructor, (Plain, int, 3)),  # type: ignore[attr-defined]  # the same
        Recipe("new", Plain, (3,)),
    ),
    "a partial": (
        (functools.partial(dict, 1, a=2), (3,)),
        Recipe("call", dict, (1, 3), {"a": 2}),
    ),
    "a partial without names": ((functools.partial(dict, 1), (3,)), Recipe("call", dict, (1, 3))),
    "attributes": ((dict, (), {"a": 1}), Recipe("call", dict, attributes={"a": 1})),
    "attributes and slots": (
        (dict, (), ({"a": 1}, {"b": 2})),
        Recipe("call", dict, attributes={"a": 1, "b": 2}),
    ),
    "slots alone": ((dict, (), (None, {"b": 2})), Recipe("call", dict, attributes={"b": 2})),
    "attributes alone": ((dict, (), ({"a": 1}, None)), Recipe("call", dict, attributes={"a": 1})),
    "no attributes": ((dict, (), {}), Recipe("call", dict)),
}


@one_test
@pytest.mark.parametrize(("reduced", "recipe"), MADE.values(), ids=MADE.keys())
def test_a_way_to_make_an_object(reduced: tuple[Any, ...], recipe: Recipe) -> None:
    assert recipe_of(Reduced(*reduced), None) == recipe


def test_items_and_pairs_are_handed_on() -> None:
    items, pairs = iter([1]), iter([(1, 2)])
    assert recipe_of(Reduced(dict, (), None, items, pairs), None) == Recipe(
        "call", dict, (), None, items, pairs
    )
    assert recipe_of(Reduced(dict, (), None, items, pairs, None), None).items is items  # type: ignore[union-attr]  # what is tried


class Stated(Reduced):
    def __setstate__(self, state: Any) -> None:
        self.state = state


class Forgetful(Reduced):
    def __setstate__(self, state: Any) -> None: ...


class Refusing(Reduced):
    def __setstate__(self, state: Any) -> None:
        return NotImplemented


def test_a_state_that_nothing_is_done_with_is_none() -> None:
    assert recipe_of(Forgetful(dict, (), {"a": 1}), None) == Recipe("call", dict)
    assert recipe_of(Refusing(dict, (), {"a": 1}), None) == Recipe("call", dict, state={"a": 1})


def test_a_state_is_the_own_business_of_a_class_that_takes_it() -> None:
    assert recipe_of(Stated(dict, (), {"a": 1}), None) == Recipe("call", dict, state={"a": 1})
    assert recipe_of(Stated(dict, (), (1, 2)), None) == Recipe("call", dict, state=(1, 2))
    assert recipe_of(Stated(dict, ()), None) == Recipe("call", dict)


def _refused(obj: Any) -> str:
    with pytest.raises(CannotStore) as refused:
        recipe_of(obj, None)
    return refused.value.reason


@one_test
@pytest.mark.parametrize(
    ("reduced", "reason"),
    [
        ((dict,), "__reduce__ of Reduced returned tuple; expected a tuple"),
        ((dict, []), "__reduce__ of Reduced returned tuple; expected a tuple"),
        ((dict, (), None, None, None, None, None), "__reduce__ of Reduced returned tuple; expected a tuple"),
        (
            (dict, (), None, None, None, len),
            "__reduce__ of Reduced returned a function that sets the state, ",
        ),
        ((dict, (), {1: 2}), "the state of Reduced is dict; without __setstate__ it must be "),
        ((dict, (), 3), "the state of Reduced is int; without __setstate__ it must be "),
        ((dict, (), ({}, {}, {})), "the state of Reduced is tuple; without __setstate__ it must be "),
        ((dict, (), [{}, {}]), "the state of Reduced is list; without __setstate__ it must be "),
        ((dict, (), (1, {})), "the state of Reduced is int; without __setstate__ it must be "),
        ((dict, (), ({"a": 1}, {"a": 2})), "Reduced has an attribute both in a slot and in its __dict__"),
    ],
)
def test_what_no_recipe_can_be_read_from_is_refused(reduced: tuple[Any, ...], reason: str) -> None:
    assert _refused(Reduced(*reduced)).startswith(reason)


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.error


def test_what_an_object_raises_when_it_is_asked() -> None:
    told, _, place = _refused(Failing(RuntimeError("busy"))).partition(", at ")
    assert told == "Failing refuses to be stored: busy"
    assert re.fullmatch(r"\S*test_recipes\.py:[0-9]+ in __reduce_ex__", place)
    assert _refused(Failing(CannotStore("by hand"))) == "by hand"


@one_test
@pytest.mark.parametrize(
    ("recipe", "is_plain"),
    [
        (Recipe("new", Plain), True),
        (Recipe("new", Plain, attributes={"a": 1}), True),
        (Recipe("call", Plain), False),
        (Recipe("new", Reduced), False),
        (Recipe("new", Plain, (1,)), False),
        (Recipe("new", Plain, (), {}), False),
        (Recipe("new", Plain, items=iter(())), False),
        (Recipe("new", Plain, pairs=iter(())), False),
        (Recipe("new", Plain, state=0), False),
    ],
)
def test_a_plain_object_is_a_class_and_attributes(recipe: Recipe, is_plain: bool) -> None:
    assert recipe.is_plain(Plain()) is is_plain


class Slotted:
    __slots__ = ("a",)


class WithoutSlots:
    __slots__ = ()


class Below(Slotted):
    pass


class OfEmptySlots(WithoutSlots):
    pass


class Copied:
    pass


def _with(name: str) -> type:
    return type("Saying", (), {name: lambda self, *args: None})


@pytest.mark.parametrize(
    ("cls", "only"),
    [
        (Plain, True),
        (OfEmptySlots, True),
        (Slotted, False),
        (Below, False),
        (WithoutSlots, False),
        (Copied, False),
        *(
            (_with(name), False)
            for name in (
                "__reduce_ex__",
                "__reduce__",
                "__getstate__",
                "__getnewargs__",
                "__getnewargs_ex__",
                "__setstate__",
            )
        ),
    ],
)
def test_which_classes_say_nothing_but_their_attributes(
    cls: type, only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reducer: Callable[[Any], Any] = lambda obj: (Copied, ())  # noqa: E731 - a reducer of one line
    monkeypatch.setitem(copyreg.dispatch_table, Copied, reducer)
    assert has_only_a_dict(cls) is only
