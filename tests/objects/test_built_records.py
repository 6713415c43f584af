"""What each kind of record makes, and what is said where something cannot be made."""

from __future__ import annotations

import datetime
import re
import types
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from kellet import nn
from packager._audit import TrustContext, audit
from packager._audit.keys import KeyChecks
from packager._codecs import Codec, CodecRegistry
from packager._objects import ObjectBuildError, build, building
from packager._objects.naming import FunctionHome
from packager._objects.records import Kind as K
from tests.attacks import object_forger as forge
from tests.tables import one_test

CODE = TrustContext.with_code(["m"], ["far"])
DATA = TrustContext.data_only()


class Slotted:
    __slots__ = ("a", "b")


class Thing:
    def method(self) -> str:
        return "ran"

    value = 3

    def __setstate__(self, state: Any) -> None:
        self.state = state


class Bare:
    pass


class Base:
    def __new__(cls, *args: Any, **more: Any) -> Any:
        made = object.__new__(cls)
        made.given = args, more  # type: ignore[attr-defined]  # any attribute may be set
        return made


NAMES: dict[tuple[str, str], Any] = {
    ("m", "Slotted"): Slotted,
    ("m", "Thing"): Thing,
    ("m", "Bare"): Bare,
    ("m", "Base"): Base,
    ("m", "dict"): dict,
    ("m", "list"): list,
    ("m", "tuple"): lambda *args, **more: (args, more),
    ("far", "Base"): Base,
    ("builtins", "list"): list,
    ("m", ""): FunctionHome({}, "def f():\n    def g(): pass\n", None),
}


def made(*records: list[Any], root: int = 0, context: TrustContext = CODE, **options: Any) -> Any:
    codecs = options.pop("codecs", ())
    table = forge.table_of(records, root=root, codecs=codecs).records
    audited = audit(table, context, ["builtins:list"], storages=options.pop("storages", None))
    return build(audited, NAMES, options.pop("tensors", None), **options)


def name(qualname: str, module: str = "m") -> list[Any]:
    return [K.GLOBAL, module, qualname]


VALUES: dict[str, tuple[list[list[Any]], int, Any]] = {
    "a number": ([[K.INT, -1]], 0, -1),
    "a long number": ([[K.INT, b"\x01" + bytes(8)]], 0, 1 << 64),
    "a long negative number": ([[K.INT, b"\xfe" + bytes(8)]], 0, -(1 << 65)),
    "a text": ([[K.STR, "x" * 65]], 0, "x" * 65),
    "half a pair": ([[K.STR, b"\xed\xb0\x80"]], 0, "\udc00"),
    "bytes": ([[K.BYTES, b"a"]], 0, b"a"),
    "a tuple": ([[K.PACKED_TUPLE, -1], [K.TUPLE, 1, -1]], 0, (1, (-1,))),
    "a list": ([[K.PACKED_LIST, -1], [K.LIST, 1, -1]], 0, [1, [-1]]),
    "a dict": ([[K.PACKED_DICT, "a", -1], [K.DICT, 1, -1, "b", 2]], 0, {1: {"a": -1}, "b": 2}),
    "sets": ([[K.FROZENSET, 1, 2], [K.SET, -1, 3]], 0, {frozenset({1, 2}), 3}),
    "members": ([[K.SET, 1], [K.ADD, -1, 2, 3]], -1, {1, 2, 3}),
    "items": ([[K.LIST, 1], [K.EXTEND, -1, 2, 3]], -1, [1, 2, 3]),
    "pairs": ([[K.DICT, 1, 2], [K.UPDATE, -1, 3, 4, 5, 6]], -1, {1: 2, 3: 4, 5: 6}),
    "a call": ([name("tuple"), [K.CALL, -1, 1, 2]], 0, ((1, 2), {})),
    "a call by names": (
        [name("tuple"), [K.PACKED_TUPLE, 1], [K.PACKED_DICT, "a", 2], [K.CALL_KW, -1, -2, -3]],
        0,
        ((1,), {"a": 2}),
    ),
    "a call with the importer": ([name("tuple"), [K.PACKAGE_CALL, -1, 2]], 0, (("importer", 2), {})),
}


@one_test
@pytest.mark.parametrize(("records", "root", "value"), VALUES.values(), ids=VALUES.keys())
def test_a_record_makes_its_value(records: list[list[Any]], root: int, value: Any) -> None:
    found = made(*records, root=root, importer="importer")
    assert (found, type(found)) == (value, type(value))


def test_instances_have_their_slots_and_attributes() -> None:
    slotted = made(name("Slotted"), [K.SHAPE, -1, None, "b"], [K.OBJ, -2, 2], [K.FILL, -3, "a", 1], root=-3)
    assert (type(slotted), slotted.a, slotted.b) == (Slotted, 1, 2)
    bare = made(name("Bare"), [K.SHAPE, -1, None, "b", "a"], [K.OBJ, -2, 2, 1], [K.FILL, -3, "b", 3], root=-3)
    assert [*vars(bare).items()] == [("a", 1), ("b", 3)]  # what is set later comes later
    assert vars(made(name("Bare"), [K.SHAPE, -1, None], [K.OBJ, -2])) == {}
    with pytest.raises(ObjectBuildError, match="AttributeError: 'Slotted' object has no attribute 'c'"):
        made(name("Slotted"), [K.SHAPE, -1, None, "c"], [K.OBJ, -2, 2])


def test_classes_are_made_as_they_say_and_those_of_externs_as_objects() -> None:
    assert made(name("Base"), [K.NEW, -1]).given == ((), {})
    assert made(name("Base"), [K.NEW, -1, 1, 2]).given == ((1, 2), {})
    keywords = [[K.PACKED_TUPLE, 1], [K.PACKED_DICT, "a", 2]]
    assert made(name("Base"), *keywords, [K.NEW_KW, -1, -2, -3]).given == ((1,), {"a": 2})
    far = made(name("Base", "far"), [K.NEW, -1])
    assert (type(far), vars(far)) == (Base, {})


def test_states_go_to_the_class_that_takes_them() -> None:
    assert made(name("Thing"), [K.NEW, -1], [K.STATE, -2, 5], root=-2).state == 5
    with pytest.raises(ObjectBuildError, match="ValueError: Bare has no __setstate__"):
        made(name("Bare"), [K.NEW, -1], [K.STATE, -2, 5], root=-2)


def test_methods_are_those_that_a_class_has_in_python() -> None:
    owner, method = made(name("Thing"), [K.NEW, -1], [K.METHOD, -2, "method"], [K.LIST, -2, -3])
    assert (method.__self__ is owner, method.__func__ is Thing.method, method()) == (True, True, "ran")
    for missing in ("none", "value"):
        with pytest.raises(ObjectBuildError, match=f"Thing has no method '{missing}' written in Python"):
            made(name("Thing"), [K.NEW, -1], [K.METHOD, -2, missing])


def test_a_function_whose_source_is_another_is_not_made() -> None:
    record = [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None, None]
    with pytest.raises(
        ObjectBuildError, match=r"the source of m does not define f\.<locals>\.g as it was stored"
    ):
        made(record)


FAILURES: list[tuple[list[list[Any]], int, str]] = [
    ([name("Bare"), [K.CALL, -1, 1]], 0, "obj cannot be built (record 1, CALL): TypeError: Bare() takes no"),
    (
        [name("Bare"), [K.CALL, -1, 1], [K.LIST, -2]],
        0,
        "obj[0] cannot be built (record 1, CALL): TypeError: Bare() takes no",
    ),
    (
        [name("Bare"), [K.NEW, -1], [K.STATE, -2, 1], [K.DICT, "a", -2]],
        0,
        "obj['a'] cannot be built (record 2, STATE): ValueError: Bare has no",
    ),
]


@pytest.mark.parametrize(("records", "root", "message"), FAILURES)
def test_what_cannot_be_built_is_told_with_its_place(
    records: list[list[Any]], root: int, message: str
) -> None:
    with pytest.raises(ObjectBuildError, match=f"^object: {re.escape(message)}"):
        made(*records, root=root)


def test_codecs_are_given_one_number_and_one_note_for_all_of_a_building() -> None:
    builder = building.Builder(audit(forge.table_of([[K.LIST]]).records, DATA), {}, None, None, "cpu")
    assert [builder.number(family, 1, made) for family, made in (("a", int), ("b", lambda: 7))] == [0, 7]
    assert builder.number("a", 1, lambda: 9) == 0
    assert builder.number("a", 2, lambda: 9) == 9
    notes = builder.shared_state(list)
    notes.append(1)
    assert builder.shared_state(list) is notes
    assert builder.shared_state(dict) == {}
    assert builder.map_location == "cpu"


def test_a_cell_is_given_what_it_holds_later() -> None:
    records = forge.table_of([[K.CELL], [K.LIST], [K.LIST], [K.SETCELL, -1, 5]], root=-2).records
    builder = building.Builder(audit(records, DATA), {}, None, None, None)
    builder.run()
    assert builder.built[0].cell_contents == 5


@pytest.mark.parametrize(("literal", "large"), [(-1, False), (b"\x01" + bytes(8), True)])
def test_keys_are_measured_where_an_object_has_large_numbers(literal: Any, large: bool) -> None:
    records = forge.table_of([[K.INT, literal], [K.LIST, -1]], root=-2).records
    builder = building.Builder(audit(records, DATA), {}, None, None, None)
    builder.run()
    assert builder.gates._keys.has_large_numbers is large


def test_storages_are_asked_for_once_and_have_to_be_given() -> None:
    storages = {"w": ("F32", 24)}
    asked: list[str] = []

    def tensors(storage: str) -> memoryview:
        asked.append(storage)
        return memoryview(bytearray(24))

    tensor = [K.TENSOR, "w", "F32", [2, 3], None, 0]
    array = [K.CODEC, 1, ["ndarray", "<f4"], -1]
    other = [K.TENSOR, "w", "F32", [2], [2], 4]
    records = [tensor, array, other, [K.CODEC, 1, ["ndarray", "<f4"], -3], [K.LIST, -2, -4]]
    options: Mapping[str, Any] = {"storages": storages, "codecs": ["numpy.ndarray"]}
    whole, part = made(*records, **options, tensors=tensors)
    assert asked == ["w"]
    assert [(one.shape, one.strides) for one in (whole, part)] == [((2, 3), (12, 4)), ((2,), (8,))]
    part[0] = 7
    assert whole[0, 1] == 7
    with pytest.raises(
        ObjectBuildError, match="a record refers to the storage 'w', but no tensors were given"
    ):
        made(*records, **options)


# --- in data alone ---


def test_in_data_alone_a_dict_and_a_set_are_given_keys_once() -> None:
    for first, second in (([K.SET], [K.ADD, -1, 1]), ([K.DICT], [K.UPDATE, -1, 1, 2])):
        third = [*second[:2], 7, *second[3:]]
        assert len(made(first, second, third, root=-1)) == 2
        with pytest.raises(
            ObjectBuildError, match=f"a {'set' if first == [K.SET] else 'dict'} is given keys"
        ):
            made(first, second, third, root=-1, context=DATA)


def test_in_data_alone_no_attribute_takes_the_place_of_a_method() -> None:
    names = {("types", "SimpleNamespace"): types.SimpleNamespace}
    table = [name("SimpleNamespace", "types"), [K.CALL, -1], [K.FILL, -2, "__eq__", 1]]
    records = forge.table_of(table, root=-2).records
    with pytest.raises(ObjectBuildError, match="__eq__ of SimpleNamespace is a"):
        build(audit(records, DATA), names)
    for context, trust in ((DATA, ["types:SimpleNamespace"]), (CODE, [])):
        assert vars(build(audit(records, context, trust), names)) == {"__eq__": 1}


def test_in_data_alone_no_attribute_of_a_shape_takes_the_place_of_a_method() -> None:
    names = {("types", "SimpleNamespace"): types.SimpleNamespace}
    table = [name("SimpleNamespace", "types"), [K.SHAPE, -1, None, "__eq__"], [K.OBJ, -2, 1]]
    records = forge.table_of(table).records
    with pytest.raises(ObjectBuildError, match="__eq__ of SimpleNamespace is a"):
        build(audit(records, DATA), names)
    assert vars(build(audit(records, CODE), names)) == {"__eq__": 1}


def test_in_data_alone_slots_are_attributes_of_a_shape() -> None:
    table = [name("UUID", "uuid"), [K.SHAPE, -1, None, "int"], [K.OBJ, -2, 5]]
    assert build(audit(forge.table_of(table).records, DATA), {("uuid", "UUID"): uuid.UUID}).int == 5


def test_in_data_alone_slots_are_filled_but_not_those_of_what_a_codec_made() -> None:
    table = [name("UUID", "uuid"), [K.NEW, -1], [K.FILL, -2, "int", 5]]
    names = {("uuid", "UUID"): uuid.UUID}
    assert build(audit(forge.table_of(table, root=-2).records, DATA), names).int == 5
    literal = ["Tensor", "<f4", False, "empty", 2]
    for attribute, message in (("_array", "_array of Tensor is a member_descriptor"), ("note", None)):
        tensor = [[K.CODEC, 1, literal], [K.FILL, -1, attribute, 5]]
        audited = audit(forge.table_of(tensor, root=-1, codecs=["kellet.tensor"]).records, DATA)
        if message is None:
            assert build(audited, {}).note == 5
            continue
        with pytest.raises(ObjectBuildError, match=message):
            build(audited, {})


class Finished(Codec):
    """A list that is given its items in the second phase."""

    name = "test.finished"

    def check(self, literal: Any, children: Any, version: int) -> None:
        pass

    check_finish = check

    def decode(self, literal: Any, children: Any, version: int, context: Any) -> Any:
        return [literal]

    def finish(self, obj: Any, literal: Any, children: Any, version: int, context: Any) -> None:
        obj += [literal, children, version, context.number("test", 1, lambda: 9)]


def test_a_codec_finishes_what_it_made() -> None:
    registry = CodecRegistry([Dates(), Finished()])
    records = [[K.LIST], [K.CODEC, 2, "a"], [K.LIST, 5], [K.FINISH, -2, 2, "b", 7, -3]]
    table = forge.table_of(records, root=-2, codecs=["test.dates", "test.finished"]).records
    for context in (DATA, CODE):
        assert build(audit(table, context, registry=registry), {}) == ["a", "b", [7, [5]], 1, 9]


class Dates(Codec):
    """Knows a class of the default list, as a codec of another distribution may."""

    name = "test.dates"
    types = ("datetime:date",)


@pytest.mark.parametrize("made", [[K.NEW, -1, 2020, 1, 2], [K.NEW_KW, -1, -2, -3]])
def test_in_data_alone_a_class_that_is_given_arguments_is_not_one_of_a_codec(
    made: list[Any],
) -> None:
    names = {("datetime", "date"): datetime.date}
    table = [name("date", "datetime"), [K.TUPLE, 2020, 1, 2], [K.DICT], made]
    records = forge.table_of(table).records
    assert build(audit(records, DATA), names) == datetime.date(2020, 1, 2)
    known = CodecRegistry([Dates()])
    with pytest.raises(
        ObjectBuildError, match=r"date was stored without the codec 'test\.dates' that makes it"
    ):
        build(audit(records, DATA, registry=known), names)


def test_in_data_alone_a_module_is_given_attributes_and_no_state() -> None:
    names = {("kellet.nn", "Linear"): nn.Linear}
    shape = [name("Linear", "kellet.nn"), [K.SHAPE, -1, 1], [K.OBJ, -2]]
    table = [*shape, [K.DICT, "training", False], [K.STATE, -3, -4]]
    records = forge.table_of(table, root=-3, codecs=["kellet.module"]).records
    with pytest.raises(
        ObjectBuildError, match=r"Linear is given attributes by the codec 'kellet\.module', and no"
    ):
        build(audit(records, DATA), names)
    for context, trust in ((DATA, ["kellet.nn:Linear"]), (CODE, [])):
        assert build(audit(records, context, trust), names).training is False


def test_a_class_of_scikit_learn_takes_its_state_by_a_method_of_that() -> None:
    def taken(self: Any, state: Any) -> None:
        self.state = state

    taken.__module__ = "elsewhere"
    cls = type("Sk", (), {"__module__": "sklearn.own", "__setstate__": taken})
    table = [name("Sk", "sklearn.own"), [K.NEW, -1], [K.STATE, -2, 5]]
    audited = audit(forge.table_of(table, root=-2).records, TrustContext.with_code(["m"], ["sklearn"]))
    with pytest.raises(ObjectBuildError, match="Sk has a __setstate__ from elsewhere, elsewhere"):
        build(audited, {("sklearn.own", "Sk"): cls})
    taken.__module__ = "sklearn.base"
    assert build(audited, {("sklearn.own", "Sk"): cls}).state == 5


def test_what_a_codec_made_is_filled_by_it() -> None:
    names = {("kellet.nn", "ReLU"): nn.ReLU}
    table = [name("ReLU", "kellet.nn"), [K.SHAPE, -1, 1], [K.LIST], [K.OBJ, -2]]
    for attribute, message in (("_call_hooks", "_call_hooks of ReLU hold hooks"), ("training", None)):
        fill = [K.FILL, -4, attribute, False]
        records = forge.table_of([*table, fill, [K.LIST]], root=-4, codecs=["kellet.module"]).records
        if message is None:
            assert build(audit(records, CODE), names).training is False
            continue
        with pytest.raises(ObjectBuildError, match=message):
            build(audit(records, CODE), names)


def test_in_data_alone_no_state_takes_the_place_of_a_method() -> None:
    names = {("kellet.nn", "Linear"): nn.Linear}
    shape = [name("Linear", "kellet.nn"), [K.SHAPE, -1, 1], [K.OBJ, -2]]
    table = [*shape, [K.DICT, "forward", 1], [K.STATE, -3, -4]]
    records = forge.table_of(table, root=-3, codecs=["kellet.module"]).records
    with pytest.raises(ObjectBuildError, match="forward of Linear is a"):
        build(audit(records, DATA), names)


def test_a_listed_class_takes_its_state_from_us_unless_it_is_trusted() -> None:
    names = {("uuid", "UUID"): uuid.UUID}
    table = [name("UUID", "uuid"), [K.NEW, -1], [K.DICT, "int", True], [K.STATE, -2, -3]]
    records = forge.table_of(table, root=-2).records
    for context in (DATA, TrustContext.with_code([], ["uuid"])):
        with pytest.raises(ObjectBuildError, match="the state of a UUID is an int of 128 bits"):
            build(audit(records, context), names)
    assert build(audit(records, DATA, ["uuid:UUID"]), names).int is True


def test_in_data_alone_what_a_codec_made_is_looked_at_when_it_is_complete() -> None:
    names = {("kellet.nn", "ReLU"): nn.ReLU}
    shape = [name("ReLU", "kellet.nn"), [K.SHAPE, -1, 1, "training"]]
    records = forge.table_of([*shape, [K.OBJ, -2, 3], [K.LIST, -3]], codecs=["kellet.module"]).records
    message = r"obj\[0\] cannot be built \(record 2, OBJ\): ValueError: ReLU.training is int, not a bool"
    with pytest.raises(ObjectBuildError, match=message):
        build(audit(records, DATA), names)
    for context, trust in ((DATA, ["kellet.nn:ReLU"]), (CODE, [])):
        assert build(audit(records, context, trust), names)[0].training == 3


@pytest.mark.parametrize(
    ("records", "asked"),
    [
        ([[K.DICT, 1, 2, 3, 4]], ([1, 3], False)),
        ([[K.PACKED_DICT, 1, 2, 3, 4]], ([1, 3], False)),
        ([[K.SET, 1, 2]], ([1, 2], True)),
        ([[K.FROZENSET, 1, 2]], ([1, 2], True)),
    ],
)
def test_in_data_alone_keys_are_looked_at_as_those_of_their_table(
    records: list[list[Any]], asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(
        KeyChecks, "check_keys", lambda _, values, *, in_set=False: calls.append(([*values], in_set))
    )
    made(*records, context=DATA)
    assert calls == [asked]
    made(*records)
    assert calls == [asked]


def test_in_data_alone_a_class_that_a_codec_knows_is_made_by_it() -> None:
    names = {("kellet.nn", "ReLU"): nn.ReLU}
    for table in (
        [name("ReLU", "kellet.nn"), [K.NEW, -1]],
        [name("ReLU", "kellet.nn"), [K.SHAPE, -1, None], [K.OBJ, -2]],
    ):
        records = forge.table_of(table).records
        with pytest.raises(
            ObjectBuildError, match=r"ReLU was stored without the codec 'kellet\.module' that"
        ):
            build(audit(records, DATA), names)
        for context, trust in ((DATA, ["kellet.nn:ReLU"]), (CODE, [])):
            assert type(build(audit(records, context, trust), names)) is nn.ReLU
