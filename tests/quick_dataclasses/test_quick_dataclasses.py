"""Dataclasses that are made quickly are those of Python: each case is made by both decorators."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import inspect
import itertools
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from packager import _quick_dataclasses as quick_dataclasses
from packager._quick_dataclasses import field_names
from tests.tables import one_test

BOTH = pytest.mark.parametrize("made_by", [dataclasses, quick_dataclasses], ids=["python", "quick"])


def records(made_by: Any) -> dict[str, Any]:
    """The kinds of classes that this package has, made by one of the two decorators."""
    dataclass, field = made_by.dataclass, made_by.field

    @dataclass(frozen=True, slots=True)
    class Place:
        """Where bytes lie."""

        member: str
        start: int = 0
        parts: tuple[int, ...] = ()

        @property
        def end(self) -> int:
            return self.start + 1

    @dataclass(frozen=True)
    class Open:
        known: ClassVar[int] = 3
        name: str
        seen: set[str] = field(default_factory=set)
        note: str = field(default="", compare=False, repr=False)

        @cached_property
        def long(self) -> str:
            return self.name * 2

    @dataclass(slots=True)
    class Counted:
        first: int
        spent: int = field(init=False)

        def __post_init__(self) -> None:
            self.spent = self.first * 2

    @dataclass(frozen=True, kw_only=True)
    class Named:
        one: int
        two: int = 2

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        major: int
        minor: int

    @dataclass(frozen=True, eq=False)
    class Own:
        value: int

    @dataclass(slots=True, repr=False)
    class Shown:
        value: int

        def __repr__(self) -> str:
            return f"<{self.value}>"

    @dataclass(frozen=True)
    class Below(Open):
        more: int = 0

    return {cls.__name__: cls for cls in (Place, Open, Counted, Named, Ordered, Own, Shown, Below)}


def told(action: Callable[[], Any]) -> Any:
    """What an action returns, or the kind and text of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "shown": lambda of: repr(of["Place"]("net", 3)),
    "shown without a field": lambda of: repr(of["Open"]("a", {"b"}, "hidden")),
    "shown by itself": lambda of: repr(of["Shown"](4)),
    "equal": lambda of: (
        of["Place"]("net") == of["Place"]("net", 0, ()),
        of["Place"]("a") == of["Place"]("b"),
    ),
    "equal but for what is not compared": lambda of: of["Open"]("a", note="x") == of["Open"]("a", note="y"),
    "not equal to another class": lambda of: of["Open"]("a") == of["Below"]("a"),
    "not compared": lambda of: of["Own"](1) == of["Own"](1),
    "hashed": lambda of: hash(of["Place"]("net", 3, (1,))),
    "not hashed": lambda of: hash(of["Counted"](1)),
    "factories make new ones": lambda of: of["Open"]("a").seen is of["Open"]("a").seen,
    "after init": lambda of: of["Counted"](4).spent,
    "ordered": lambda of: sorted([of["Ordered"](2, 1), of["Ordered"](1, 9)])[0].minor,
    "ordered with another": lambda of: of["Ordered"](2, 1) < 3,
    "frozen": lambda of: setattr(of["Place"]("net"), "start", 1),
    "frozen without slots": lambda of: setattr(of["Open"]("a"), "name", "b"),
    "frozen for deleting": lambda of: delattr(of["Open"]("a"), "name"),
    "kept by a property": lambda of: of["Open"]("ab").long,
    "a class variable": lambda of: of["Open"].known,
    "a class' default": lambda of: of["Named"].two,
    "no default where there are slots": lambda of: type(of["Place"].start).__name__,
    "too few": lambda of: of["Place"](),
    "too many": lambda of: of["Place"](1, 2, 3, 4),
    "unknown": lambda of: of["Place"]("net", end=3),
    "twice": lambda of: of["Place"]("net", member="net"),
    "by name alone": lambda of: of["Named"](1),
    "by name": lambda of: of["Named"](one=1).two,
    "below": lambda of: repr(of["Below"]("a", more=3)),
    "the order of a __dict__": lambda of: list(vars(of["Open"](note="n", name="a"))),
    "signature": lambda of: str(inspect.signature(of["Place"])),
    "signature with factories": lambda of: str(inspect.signature(of["Open"])),
    "fields": lambda of: [
        (one.name, one.type, one.init, one.compare, one.repr) for one in dataclasses.fields(of["Below"])
    ],
    "is one": lambda of: (dataclasses.is_dataclass(of["Own"]), dataclasses.is_dataclass(of["Own"](1))),
    "as a dict": lambda of: dataclasses.asdict(of["Place"]("net", parts=(1, 2))),
    "replaced": lambda of: dataclasses.replace(of["Place"]("net", 3), start=4).start,
    "matched": lambda of: (of["Place"].__match_args__, of["Named"].__match_args__),
    "copied": lambda of: copy.deepcopy(of["Place"]("net", 3)).start,
    "state of one with slots": lambda of: of["Place"]("net", 3).__getstate__(),
    "no __dict__": lambda of: hasattr(of["Place"]("net"), "__dict__"),
    "a real one below": lambda of: dataclasses.dataclass(frozen=True)(
        type("Real", (of["Named"],), {"__annotations__": {"three": "int"}, "three": 3})
    )(one=1),
    "a frozen one is not below another": lambda of: dataclasses.dataclass(
        type("Real", (of["Named"],), {"__annotations__": {"three": "int"}, "three": 3})
    ),
}


@one_test
@pytest.mark.parametrize("call", CALLS)
def test_a_quick_dataclass_does_what_one_of_python_does(call: str) -> None:
    expected = told(lambda: CALLS[call](records(dataclasses)))
    quick = records(quick_dataclasses)
    for _ in range(2):  # before and after what is made when it is asked for
        found = told(lambda: CALLS[call](quick))
        assert (str(found), type(found).__name__) == (str(expected), type(expected).__name__)


@BOTH
def test_a_mutable_default_is_refused(made_by: Any) -> None:
    with pytest.raises(ValueError, match=r"^mutable default <class 'list'> for field x"):
        made_by.dataclass(type("Wrong", (), {"__annotations__": {"x": "list[int]"}, "x": []}))


@quick_dataclasses.dataclass(frozen=True, slots=True)
class Pickled:
    first: int
    second: str = "b"


def test_frozen_records_with_slots_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1))) == Pickled(1, "b")
    assert quick_dataclasses.replace(Pickled(1), second="c") == Pickled(1, "c")
    assert field_names(Pickled(1)) == field_names(Pickled) == ("first", "second")
    with pytest.raises(TypeError, match="unexpected keyword argument 'third'"):
        quick_dataclasses.replace(Pickled(1), third=1)  # type: ignore[call-arg]  # on purpose


def test_instances_of_columns_are_those_that_calls_make() -> None:
    texts = ["a", "b"]
    assert quick_dataclasses.instances(Pickled, 2, iter([1, 2]), texts) == [Pickled(1, "a"), Pickled(2, "b")]
    assert quick_dataclasses.instances(Pickled, 1, itertools.repeat(1), texts) == [Pickled(1, "a")]
    assert quick_dataclasses.instances(Pickled, 0, [], []) == []
    with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter than argument 1"):
        quick_dataclasses.instances(Pickled, 2, [1, 2])


def test_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was compiled")

    monkeypatch.setattr(builtins, "exec", refuse)
    monkeypatch.setattr(builtins, "eval", refuse)
    monkeypatch.setattr(builtins, "compile", refuse)
    made = records(quick_dataclasses)
    place = made["Place"]("net", start=2)
    assert place == made["Place"]("net", 2)
    assert {place: made["Ordered"](1, 2) < made["Ordered"](1, 3)} == {place: True}
    assert repr(made["Below"]("a", more=3)).endswith("Below(name='a', seen=set(), more=3)")
    with pytest.raises(AssertionError, match=r"^something was compiled$"):
        records(dataclasses)


def test_a_field_that_is_not_given_takes_no_default() -> None:
    told = {"__annotations__": {"x": "int"}, "x": quick_dataclasses.field(default=1, init=False)}
    with pytest.raises(TypeError, match=r"^Wrong: x is not among what is given, so it takes no default$"):
        quick_dataclasses.dataclass(type("Wrong", (), told))


@BOTH
def test_a_field_without_a_default_follows_none_with_one_but_by_keyword(made_by: Any) -> None:
    def told(**options: Any) -> Any:
        names = {"__annotations__": {"x": "int", "y": "int"}, "x": 1, "y": made_by.field(**options)}
        return made_by.dataclass(type("Told", (), names))

    with pytest.raises(TypeError, match=r"default.* follows .*default"):
        told()
    assert told(kw_only=True)(y=2).y == 2
