"""Python's reduce protocol: whatever a class says of itself is what is stored."""

from __future__ import annotations

import collections
import copyreg
import dataclasses
import datetime
import decimal
import enum
import functools
import pathlib
import random
import types
import uuid
from typing import Any

import pytest

from packager._audit import TrustContext, audit
from packager._objects import build, encode
from packager.testing import round_trip
from packager.testing.round_trips import load, resolve
from tests.tables import one_test

HERE = __name__


@dataclasses.dataclass
class Data:
    a: int
    b: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: str


class Outer:
    class Inner:
        pass

    class Kind(enum.Enum):
        A = 1


class Base:
    __slots__ = ("base",)


class Mixed(Base):
    __slots__ = ("__dict__", "own")


class ListLike(list):  # type: ignore[type-arg]  # a plain subclass is what is tested
    pass


class DictLike(dict):  # type: ignore[type-arg]  # the same
    pass


class Sealed(collections.OrderedDict):  # type: ignore[type-arg]  # the same
    """Its `__init__` sets an attribute after those of the pairs; on loading it runs without any."""

    def __init__(self, *pairs: Any) -> None:
        super().__init__(*pairs)
        vars(self).update(self)
        self.sealed = True


class SetLike(set):  # type: ignore[type-arg]  # the same
    pass


class TupleLike(tuple):  # type: ignore[type-arg]  # the same
    pass


class Stateful:
    def __init__(self) -> None:
        self.value, self.lock = 3, object()

    def __getstate__(self) -> Any:
        return {"value": self.value}


class Restored(Stateful):
    def __setstate__(self, state: Any) -> None:
        self.value, self.lock = state["value"], "made anew"


class Forgetful(dict):  # type: ignore[type-arg]  # a plain subclass is what is tested
    def __init__(self, **entries: Any) -> None:
        super().__init__(entries)
        self.__dict__["kept_nowhere"] = {}

    def __setstate__(self, state: Any) -> None:
        """Do nothing."""


class TupleState:
    def __getstate__(self) -> Any:
        return ("a", [1])

    def __setstate__(self, state: Any) -> None:
        self.state = state


class WithNew:
    def __new__(cls, value: Any, *, scale: int = 1) -> WithNew:
        made = super().__new__(cls)
        made.value = value * scale  # type: ignore[attr-defined]  # the attribute that is tested
        return made

    def __getnewargs_ex__(self) -> Any:
        return (2,), {"scale": 5}


class Newargs:
    def __new__(cls, *args: Any) -> Newargs:
        made = super().__new__(cls)
        made.args = args  # type: ignore[attr-defined]  # the attribute that is tested
        return made

    def __getnewargs__(self) -> Any:
        return ([1], "x")

    def __getstate__(self) -> Any:
        return None


class ByClassMethod:
    @classmethod
    def make(cls, value: Any) -> ByClassMethod:
        made = cls()
        made.value = value  # type: ignore[attr-defined]  # the attribute that is tested
        return made

    def __reduce__(self) -> Any:
        return ByClassMethod.make, (self.value,)  # type: ignore[attr-defined]  # set in make


class Registered:
    def __init__(self, value: Any) -> None:
        self.value = value


copyreg.pickle(Registered, lambda obj: (Registered, (obj.value,)))


class ByName:
    def __reduce__(self) -> str:
        return "THE_ONE"


THE_ONE = ByName()


class KeywordCall:
    def __init__(self, *, a: Any, b: Any = None) -> None:
        self.a, self.b = a, b

    def __reduce__(self) -> Any:
        return functools.partial(KeywordCall, a=self.a, b=self.b), ()


class AnswersToEverything:
    """An object whose instances have every attribute; hooks of the protocol are looked up on the type."""

    def __init__(self) -> None:
        self.__dict__["value"] = 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__reduce_package__":
            raise AttributeError(name)
        return lambda *args: 1 / 0


class Packaged:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce_package__(self, exporter: Any) -> Any:
        return unpackage, (self.value, exporter)


def unpackage(importer: Any, value: Any, exporter: Any) -> Packaged:
    made = Packaged(value)
    made.importer, made.exporter = importer, exporter  # type: ignore[attr-defined]  # what is tested
    return made


def test_dataclasses_plain_and_frozen_with_slots() -> None:
    trip = round_trip([Data(1, [2]), Frozen(3, "x")], interned=[HERE])
    assert trip.object == [Data(1, [2]), Frozen(3, "x")]
    assert trip.is_stable


def test_nested_classes_are_found_through_their_classes() -> None:
    trip = round_trip([Outer.Inner, Outer.Inner(), Outer.Kind.A], interned=[HERE])
    assert trip.object[0] is Outer.Inner
    assert type(trip.object[1]) is Outer.Inner
    assert trip.object[2] is Outer.Kind.A


def test_slots_of_base_and_subclass_beside_a_dict() -> None:
    mixed = Mixed()
    mixed.base, mixed.own, mixed.free = 1, [2], 3  # type: ignore[attr-defined]  # slots and a dict
    trip = round_trip(mixed, interned=[HERE])
    assert (trip.object.base, trip.object.own, trip.object.free) == (1, [2], 3)
    assert trip.is_stable


def test_empty_slots_stay_empty() -> None:
    loaded = round_trip(Mixed(), interned=[HERE]).object
    assert not hasattr(loaded, "own")


@pytest.mark.parametrize("value", [ListLike([1, [2]]), DictLike(a=[1]), SetLike({1, 2}), TupleLike((1, [2]))])
def test_subclasses_of_containers_with_attributes(value: Any) -> None:
    value.extra = {"x": value}
    trip = round_trip(value, interned=[HERE])
    assert trip.object == value
    assert type(trip.object) is type(value)
    assert trip.object.extra["x"] is trip.object
    assert trip.is_stable


def test_attributes_come_back_in_their_order_also_where_a_constructor_sets_some() -> None:
    trip = round_trip(Sealed([("a", 1), ("b", 2)]), interned=[HERE])
    assert list(vars(trip.object)) == ["a", "b", "sealed"]
    assert list(trip.object.items()) == [("a", 1), ("b", 2)]
    assert trip.is_stable


def test_getstate_alone_sets_attributes_plainly() -> None:
    loaded = round_trip(Stateful(), interned=[HERE]).object
    assert vars(loaded) == {"value": 3}


def test_setstate_runs() -> None:
    trip = round_trip(Restored(), interned=[HERE])
    assert vars(trip.object) == {"value": 3, "lock": "made anew"}
    assert trip.is_stable


def test_a_state_that_setstate_passes_over_is_not_stored() -> None:
    result = round_trip([Forgetful(a=1), Forgetful()], trust=[f"{HERE}:Forgetful"])
    assert result.object == [{"a": 1}, {}]
    assert all(vars(one) == {} for one in result.object)
    assert result.is_stable


def test_state_of_any_kind_goes_through_setstate() -> None:
    assert round_trip(TupleState(), interned=[HERE]).object.state == ("a", [1])


def test_getnewargs_with_and_without_keywords() -> None:
    loaded = round_trip([WithNew(1), Newargs()], interned=[HERE]).object
    assert loaded[0].value == 1  # the state comes after __new__ made it 10
    assert loaded[1].args == ([1], "x")


def test_class_methods_make_objects() -> None:
    trip = round_trip(ByClassMethod.make([1]), interned=[HERE])
    assert trip.object.value == [1]
    assert [str(use) for use in trip.encoded.names if use.role == "call"] == [f"{HERE}:ByClassMethod.make"]


def test_copyreg_is_asked() -> None:
    assert round_trip(Registered([1]), interned=[HERE]).object.value == [1]


def test_object_that_says_it_is_a_global() -> None:
    assert round_trip([THE_ONE], interned=[HERE]).object[0] is THE_ONE


def test_partial_as_constructor_is_a_call_with_keywords() -> None:
    loaded = round_trip(KeywordCall(a=[1]), interned=[HERE]).object
    assert (loaded.a, loaded.b) == ([1], None)


def test_hooks_of_the_protocol_are_looked_up_on_the_type() -> None:
    assert vars(round_trip(AnswersToEverything(), interned=[HERE]).object) == {"value": 1}


def test_reduce_package_gets_exporter_and_importer() -> None:
    encoded = encode(Packaged([1]), exporter="exporter").with_sources(lambda module: True)
    audited = audit(encoded.records, TrustContext.with_code([HERE]))
    loaded = build(audited, resolve(audited), importer="importer")
    assert (loaded.value, loaded.importer, loaded.exporter) == ([1], "importer", "exporter")


@one_test
@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.UTC),
        datetime.timedelta(days=1),
        decimal.Decimal("1.50"),
        uuid.UUID(int=5),
        pathlib.PurePosixPath("/a/b"),
        types.SimpleNamespace(a=[1]),
        list[int],
    ],
    ids=repr,
)
def test_values_of_the_standard_library_need_no_trust(value: Any) -> None:
    trip = round_trip(value)
    assert trip.object == value
    assert trip.is_stable


def test_random_goes_on_where_it_stood() -> None:
    source = random.Random(3)
    source.random()
    assert round_trip(source).object.random() == source.random()


def test_names_that_are_codecs_business_do_not_appear() -> None:
    value = [functools.partial(max, 1), Outer.Kind.A, collections.OrderedDict(a=1), Data(1).__init__]
    names = {str(use) for use in encode(value).with_sources(lambda module: True).names}
    assert not any(
        name.startswith(("builtins:getattr", "functools:", "operator:", "copyreg:")) for name in names
    )


def test_what_a_failing_reduce_says_is_in_the_refusal() -> None:
    class Local:
        pass

    encoded = encode(
        {"lock": __import__("threading").Lock(), "gen": (i for i in ()), "local": Local(), "ok": 1}
    )
    assert [refusal.path for refusal in encoded.refusals] == ["obj['lock']", "obj['gen']", "obj['local']"]
    assert "cannot pickle '_thread.lock' object" in encoded.refusals[0].reason
    assert "generator" in encoded.refusals[1].reason
    assert "cannot be imported: it is made inside" in encoded.refusals[2].reason
    assert all(refusal.options for refusal in encoded.refusals)
    assert encoded.records == b""


def test_load_helper_and_round_trip_agree() -> None:
    encoded = encode([1, 2])
    assert load(encoded, TrustContext.data_only()) == [1, 2]


@one_test
@pytest.mark.parametrize(
    "given", [5, (), (object,), (object, [1]), (object, (), None, None, None, None, None), [object, ()]]
)
def test_what_reduce_gives_is_a_name_or_a_tuple_of_two_to_six(given: Any) -> None:
    answering = type("Answering", (), {"__reduce__": lambda self: given})
    [refusal] = encode([answering()]).refusals
    assert refusal.path == "obj[0]"
    assert f"__reduce__ of Answering returned {type(given).__name__}; expected a tuple" in refusal.reason
