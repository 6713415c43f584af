"""The records that values become, one by one: what is packed, shared and filled, and in which order."""

from __future__ import annotations

import collections
import enum
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import msgpack
import pytest

import kellet
from packager._objects import encode
from packager._objects.encoding import _need_an_order, in_order
from packager._objects.instances import method_name
from packager._objects.records import Kind as K
from packager.testing import round_trip
from tests.tables import one_test

LONG = "x" * 65


def records(obj: Any) -> tuple[list[Any], Any]:
    """The records of an object, without those of names, and its operand."""
    made = encode(obj).with_sources(lambda module: True)
    assert made.refusals == ()
    _, found, root = msgpack.unpackb(made.records)
    return found, root


def loop(kind: Any) -> Any:
    made = kind()
    made.append(made)
    return made


class Plain:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Items(list):  # type: ignore[type-arg]  # a plain subclass is what is tested
    pass


class Pairs(dict):  # type: ignore[type-arg]  # the same
    pass


class Stated:
    def __getstate__(self) -> Any:
        return ("state", LONG)

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _looped_dict() -> Any:
    made: dict[str, Any] = {"a": 1}
    made["b"] = made
    made["c"] = 2
    return made


def _looped_object() -> Any:
    made = Plain(a=1)
    made.b = made  # type: ignore[attr-defined]  # any attribute may be set
    made.c = 2  # type: ignore[attr-defined]  # the same
    return made


PLAIN = [K.GLOBAL, __name__, "Plain"]
TABLES: dict[str, tuple[Callable[[], Any], list[Any], Any]] = {
    "a number": (lambda: 5, [], 5),
    "a negative number": (lambda: -5, [[K.INT, -5]], -1),
    "a negative number twice": (lambda: [(-5, [LONG]), -5], None, None),  # type: ignore[dict-item]  # below
    "a long text twice": (lambda: [LONG, LONG], [[K.STR, LONG], [K.LIST, -1, -1]], -2),
    "half a pair": (lambda: ["\udc00"], [[K.STR, b"\xed\xb0\x80"], [K.LIST, -1]], -2),
    "bytes twice": (lambda: [b"a", b"a"], [[K.BYTES, b"a"], [K.LIST, -1, -1]], -2),
    "bytes and their text": (
        lambda: [b"a", LONG, LONG.encode()],
        [[K.BYTES, b"a"], [K.STR, LONG], [K.BYTES, LONG.encode()], [K.LIST, -1, -2, -3]],
        -4,
    ),
    "a packed list": (lambda: [1, -2, "a", None], [[K.PACKED_LIST, 1, -2, "a", None]], -1),
    "a list of a list": (lambda: [1, []], [[K.PACKED_LIST], [K.LIST, 1, -1]], -2),
    "a packed dict": (lambda: {"a": -1, 2: None}, [[K.PACKED_DICT, "a", -1, 2, None]], -1),
    "a dict of a list": (
        lambda: {"a": 1, LONG: []},
        [[K.STR, LONG], [K.PACKED_LIST], [K.DICT, "a", 1, -1, -2]],
        -3,
    ),
    "a dict of long values": (lambda: {1: LONG}, [[K.STR, LONG], [K.DICT, 1, -1]], -2),
    "empty tuples": (lambda: [(), (), ((),)], [[K.PACKED_TUPLE], [K.TUPLE, -1], [K.LIST, -1, -1, -2]], -3),
    "a packed tuple": (lambda: (1, -2), [[K.PACKED_TUPLE, 1, -2]], -1),
    "a tuple of a list": (lambda: (1, []), [[K.PACKED_LIST], [K.TUPLE, 1, -1]], -2),
    "an empty set": (set, [[K.SET]], -1),
    "a set": (lambda: {3, "b", "a", None}, [[K.SET, None, 3, "a", "b"]], -1),
    "empty frozensets": (
        lambda: [frozenset(), frozenset()],
        [[K.FROZENSET], [K.LIST, -1, -1]],
        -2,
    ),
    "a frozenset": (lambda: frozenset({2, 1}), [[K.FROZENSET, 1, 2]], -1),
    "an empty cell": (types.CellType, [[K.CELL]], -1),
    "a cell": (lambda: types.CellType(3), [[K.CELL, 3]], -1),
    "a list in itself": (lambda: loop(list), [[K.LIST], [K.EXTEND, -1, -1]], -1),
    "a dict in itself": (_looped_dict, [[K.DICT, "a", 1], [K.UPDATE, -1, "b", -1, "c", 2]], -1),
    "an object": (
        lambda: Plain(a=1, b=[]),
        [PLAIN, [K.PACKED_LIST], [K.SHAPE, -1, None, "a", "b"], [K.OBJ, -3, 1, -2]],
        -4,
    ),
    "two objects of one shape": (
        lambda: [Plain(a=1), Plain(a=2)],
        [PLAIN, [K.SHAPE, -1, None, "a"], [K.OBJ, -2, 1], [K.OBJ, -2, 2], [K.LIST, -3, -4]],
        -5,
    ),
    "an object without attributes": (Plain, [PLAIN, [K.SHAPE, -1, None], [K.OBJ, -2]], -3),
    "an object in itself": (
        _looped_object,
        [PLAIN, [K.SHAPE, -1, None, "a"], [K.OBJ, -2, 1], [K.FILL, -3, "b", -3, "c", 2]],
        -3,
    ),
    "items": (
        lambda: Items([1, LONG]),
        [[K.GLOBAL, __name__, "Items"], [K.NEW, -1], [K.STR, LONG], [K.EXTEND, -2, 1, -3]],
        -2,
    ),
    "no items": (Items, [[K.GLOBAL, __name__, "Items"], [K.NEW, -1]], -2),
    "pairs": (
        lambda: Pairs(a=1, b=LONG),
        [[K.GLOBAL, __name__, "Pairs"], [K.NEW, -1], [K.STR, LONG], [K.UPDATE, -2, "a", 1, "b", -3]],
        -2,
    ),
    "a state": (
        Stated,
        [
            [K.GLOBAL, __name__, "Stated"],
            [K.NEW, -1],
            [K.STR, LONG],
            [K.TUPLE, "state", -3],
            [K.STATE, -2, -4],
        ],
        -2,
    ),
    "a call": (
        lambda: collections.Counter,
        [[K.GLOBAL, "collections", "Counter"]],
        -1,
    ),
}
TABLES["a negative number twice"] = (
    lambda: [(LONG, -5), -5],
    [[K.STR, LONG], [K.INT, -5], [K.TUPLE, -1, -2], [K.LIST, -3, -2]],
    -4,
)


@one_test
@pytest.mark.parametrize(("make", "found", "root"), TABLES.values(), ids=TABLES.keys())
def test_a_value_becomes_these_records(make: Callable[[], Any], found: list[Any], root: Any) -> None:
    assert records(make()) == (found, root)


# --- the order of sets ---


class Shade(enum.Enum):
    DARK = 2
    BRIGHT = 1


class Hidden:
    """Has no order."""


HIDDEN = Hidden()
ORDERS: list[tuple[list[Any], list[Any]]] = [
    ([True, 0, 2], [True, 0, 2]),
    ([10, 9, 100], [9, 10, 100]),
    (["b", "B", "a"], ["B", "a", "b"]),
    ([2, "a", b"z", None, 1.5, 1j, False], [None, False, b"z", 1j, 1.5, 2, "a"]),
    ([2.0, 10.0, -1.0], [-1.0, 10.0, 2.0]),
    ([(2, "a"), (2,), (), (1, "z")], [(), (1, "z"), (2,), (2, "a")]),
    ([frozenset({2, 3}), (9,), frozenset({1, 5})], [(9,), frozenset({1, 5}), frozenset({2, 3})]),
    ([Shade.DARK, Shade.BRIGHT, "~"], ["~", Shade.BRIGHT, Shade.DARK]),
    ([str, int, Shade.DARK], [Shade.DARK, int, str]),
    ([HIDDEN, int, "a"], ["a", HIDDEN, int]),
]


@one_test
@pytest.mark.parametrize(("items", "ordered"), ORDERS)
def test_elements_of_sets_have_an_order(items: list[Any], ordered: list[Any]) -> None:
    asked: list[Any] = []
    for given in (items, items[::-1]):
        assert [repr(one) for one in in_order(given, asked.append)] == [repr(one) for one in ordered]
    assert asked == []


def test_an_order_is_asked_for_where_several_have_none() -> None:
    one, other = Hidden(), Hidden()
    orders = {id(one): (1, 2), id(other): (1, 1)}
    assert in_order([one, 1, other], lambda item: orders[id(item)]) == [1, other, one]
    assert [_need_an_order(items) for items in ([], [1], [one], [one, other], [(one, other)], [one, 2])] == [
        False,
        False,
        False,
        True,
        True,
        False,
    ]


# --- functions and methods ---


def top() -> None: ...


def _refusal(obj: Any) -> str:
    (refusal,) = encode([obj]).with_sources(lambda module: True).refusals
    assert refusal.path == "obj[0]"
    return refusal.reason


def test_a_function_to_which_its_name_does_not_lead_is_refused_though_its_source_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = top
    monkeypatch.delattr(sys.modules[__name__], "top")
    assert "cannot be imported by its name" in _refusal(function)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ([].append, "list.append, a bound method of a built-in object"),
        ("".join, "str.join, a bound method of a built-in object"),
        (str.__len__, "str.__len__ is a special method of a class built in C"),
        (int.__add__, "int.__add__ is a special method of a class built in C"),
    ],
)
def test_what_is_bound_to_values_of_c_is_refused(method: Any, reason: str) -> None:
    assert _refusal(method) == reason


class Reducing:
    def __init__(self, target: Any) -> None:
        self.target = target

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.target, ()


class Methods:
    def run(self) -> str:
        return "ran"

    alias = run

    def __call__(self) -> str:
        return "called"


def test_a_method_is_its_object_and_its_name_which_is_told() -> None:
    owner = Methods()
    encoded = encode([owner, owner.run]).with_sources(lambda module: True)
    assert [(str(use), use.role) for use in encoded.names] == [
        (f"{__name__}:Methods", "create"),
        (f"{__name__}:Methods.run", "value"),
    ]
    (method,) = [record for record in msgpack.unpackb(encoded.records)[1] if record[0] == K.METHOD]
    assert method[2] == "run"
    again, run, special = round_trip([owner, owner.run, owner.__call__], interned=[__name__]).object
    assert (run.__self__ is again, run(), special.__self__ is again, special()) == (
        True,
        "ran",
        True,
        "called",
    )
    kinds = [record[0] for record in records([owner, owner.__call__])[0]]
    assert K.METHOD not in kinds  # it is bound by hand, so that no class decides what is called


def _helper(self: Any) -> None: ...


class Private:
    def __hidden(self) -> None: ...

    __call__ = plain = _helper


class OnlySpecial:
    __call__ = _helper


class Shadowing(Methods):
    run = _helper  # type: ignore[assignment]  # another function under an inherited name


@one_test
@pytest.mark.parametrize(
    ("owner", "function", "name"),
    [
        (Methods(), Methods.run, "run"),
        (Methods(), Methods.__call__, None),
        (Methods(), _helper, None),
        (Private(), vars(Private)["_Private__hidden"], "_Private__hidden"),
        (Private(), _helper, "plain"),
        (OnlySpecial(), _helper, None),
        (Shadowing(), Methods.run, None),
        (Shadowing(), _helper, "run"),
        (Private(), len, None),
        (Private(), object(), None),
    ],
)
def test_a_method_has_the_name_under_which_its_class_has_it(owner: Any, function: Any, name: Any) -> None:
    assert method_name(owner, function) == name


def test_what_cannot_be_called_makes_nothing() -> None:
    assert _refusal(Reducing(3)) == "__reduce__ returned 3; expected a callable"


def test_each_part_of_a_refused_object_has_its_path() -> None:
    for made, path in (
        (Plain(c=(2, [].append)), "obj.c[1]"),
        ({"a": {[].append}}, "obj['a']<element>"),
        (types.CellType([].append), "obj.cell_contents"),
        (Items([1, [].append]), "obj[1]"),
        (Pairs(a=[].append), "obj['a']"),
    ):
        (refusal,) = encode(made).with_sources(lambda module: True).refusals
        assert refusal.path == path


def test_functions_made_inside_others_keep_what_differs_from_their_code() -> None:
    def made(a: int = 1, *, b: int = 2) -> int:
        """Says."""
        return a + b

    found, _ = records([made])
    (function,) = [record for record in found if record[0] == K.FUNCTION]
    assert function[4:6] == [None, None]
    made.__name__, made.__qualname__ = "other", "Other.other"
    found, _ = records([made])
    (function,) = [record for record in found if record[0] == K.FUNCTION]
    assert function[4:6] == ["other", "Other.other"]
    (again,) = round_trip([made], interned=[__name__]).object
    assert (again.__name__, again.__qualname__, again.__doc__, again()) == (
        "other",
        "Other.other",
        "Says.",
        3,
    )
    assert (again.__defaults__, again.__kwdefaults__) == ((1,), {"b": 2})


def test_as_many_records_are_written_as_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._objects.encoder.most_records", lambda nbytes: 4)
    assert encode([[[1]], [2]]).refusals == ()
    made = encode([[[1]], [2], [3]])
    (refusal,) = made.refusals
    assert (made.records, refusal.reason) == (b"", "it has 5 tiny objects, too many for its size")


def test_a_table_that_would_be_too_heavy_to_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty objects, and a list that has each of them many times: its references are one byte each."""
    many = [object() for _ in range(30)] * 20_000
    assert encode(many).refusals == ()
    monkeypatch.setattr("packager._archive.bounds.FREE_WEIGHT", 1 << 20)
    made = encode(many)
    (refusal,) = made.refusals
    assert made.records == b""
    assert re.fullmatch(
        r"its table: the values up to byte \d+ of the msgpack data take at least \d+ bytes of "
        r"memory, beyond the limit of \d+ for a table of \d+ bytes",
        refusal.reason,
    )


@pytest.mark.parametrize(("count", "written"), [(2, 1), (1, 1), (0, 2)])
def test_one_record_for_views_of_one_memory_and_one_for_each_that_has_none(count: int, written: int) -> None:
    tensor = kellet.zeros(count)
    table = msgpack.unpackb(encode([tensor, tensor.detach()]).records)[1]
    assert len([record for record in table if record[0] == K.TENSOR]) == written
