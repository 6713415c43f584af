"""One forged record for each check of names, operands and codecs, next to the honest one that passes."""

from __future__ import annotations

import array
import enum
import re
import sys
import types
from typing import Any

import numpy as np
import pytest

from kellet import nn
from packager._audit import TrustContext, audit, resolve_name, resolve_names
from packager._audit.refused_names import UntrustedNamesError
from packager._audit.resolve import MissingNameError
from packager._objects import ObjectBuildError, RecordError, build, encode
from packager._objects.records import Kind as K
from packager.errors import PackageError, UntrustedTypeError
from tests.attacks import object_forger as forge
from tests.tables import one_test


class Shade(enum.Enum):
    DARK = 1


class Access(enum.Flag):
    READ = 1


HERE = __name__
TRUST = (
    *(f"{HERE}:{name}" for name in ("Shade", "Access", "Plain", "Plain.Inner")),
    "collections:OrderedDict",
)


class Plain:
    class Inner:
        pass

    empty = None


def _load(records: list[list[Any]], codecs: tuple[str, ...] = (), trust: tuple[str, ...] = ()) -> Any:
    file = forge.archive_of(forge.table_of(records, codecs=codecs), externs=["kellet", "tests"])
    return forge.load(file, trust=trust)


# --- names ---


def test_a_dotted_name_that_is_missing_raises() -> None:
    for name in ("Plain.Gone", "Plain.Inner.Gone", "Plain.empty", "Plain.empty.real", "Gone.Inner"):
        with pytest.raises(AttributeError, match=f"has no {name!r}"):
            resolve_name(sys.modules[HERE], name)
    assert resolve_name(sys.modules[HERE], "Plain.Inner") is Plain.Inner


@pytest.mark.parametrize("name", ["Gone", "Plain.Gone", "Plain.Inner.Gone", "Plain.empty"])
def test_a_missing_name_of_an_object_is_told_and_nothing_stands_for_it(name: str) -> None:
    table = forge.table_of([[K.GLOBAL, HERE, name], [K.LIST, -1]])
    audited = audit(table.records, TrustContext.data_only(), (f"{HERE}:{name}",))
    with pytest.raises(MissingNameError, match=rf"{HERE}:{name}: module .* has no (attribute )?'{name}'"):
        resolve_names(audited, sys.modules.__getitem__)


def test_a_name_whose_module_cannot_be_imported_is_told_with_all_others() -> None:
    table = forge.table_of([[K.GLOBAL, "gone.a", "A"], [K.GLOBAL, HERE, "Gone"], [K.LIST, -1, -2]])
    audited = audit(table.records, TrustContext.data_only(), ("gone.a:A", f"{HERE}:Gone"))

    def find(name: str) -> types.ModuleType:
        if name == HERE:
            return sys.modules[HERE]
        raise ImportError(f"no {name}")

    with pytest.raises(MissingNameError, match=rf"(?s)gone\.a:A: no gone\.a.*{HERE}:Gone: module"):
        resolve_names(audited, find)


def test_no_module_stands_for_a_class() -> None:
    table = forge.table_of([[K.GLOBAL, "collections", "OrderedDict"], [K.LIST, -1]])
    audited = audit(table.records, TrustContext.data_only())
    fake = types.ModuleType("collections")
    fake.OrderedDict = re  # type: ignore[attr-defined]  # a module in the place of a class
    with pytest.raises(UntrustedTypeError, match="collections:OrderedDict, value: it is a module"):
        resolve_names(audited, {"collections": fake}.__getitem__)
    fake.OrderedDict = type("OrderedDict", (), {"__module__": "elsewhere"})  # type: ignore[attr-defined]  # of another home
    with pytest.raises(UntrustedTypeError, match="it calls itself elsewhere:OrderedDict"):
        resolve_names(audited, {"collections": fake}.__getitem__)


# --- FINISH ---

MODULE = [[K.GLOBAL, "kellet.nn", "ReLU"], [K.SHAPE, -1, 1], [K.OBJ, -2]]


@pytest.mark.parametrize(
    ("records", "codecs"),
    [
        (
            [*MODULE, [K.CODEC, 2, None], [K.FINISH, -4, 1, ["state", True, 0]]],
            ["kellet.module", "kellet.hooks"],
        ),
        ([*MODULE, [K.FINISH, -3, 2, None, 1, 2, 3]], ["kellet.module", "kellet.hooks"]),
        (
            [[K.CODEC, 1, [1.0, 2.0]], [K.CODEC, 2, None], [K.FINISH, -1, 2, None, 1]],
            ["complex", "kellet.handle"],
        ),
        (
            [[K.GLOBAL, "builtins", "object"], [K.NEW, -1], [K.FINISH, -2, 1, ["state", True, 0]]],
            ["kellet.module"],
        ),
    ],
    ids=["of a module", "of hooks", "of a handle", "of no codec"],
)
def test_a_codec_finishes_what_it_made_itself(records: list[list[Any]], codecs: list[str]) -> None:
    with pytest.raises(RecordError, match="did not make"):
        _load([*records, [K.LIST]], tuple(codecs))


def test_a_codec_finishes_its_own_object() -> None:
    made = _load([*MODULE, [K.FINISH, -3, 1, ["state", True, 0]], [K.LIST, -3]], ("kellet.module",))
    assert type(made[0]) is nn.ReLU


@pytest.mark.parametrize(
    ("value", "metadata", "match"),
    [
        (-3, -4, "an object of kellet.nn:ReLU in a state, which holds plain data"),
        (1, -3, "an object of kellet.nn:ReLU in the metadata of a state"),
    ],
)
def test_a_state_that_a_module_loads_holds_data_alone(value: int, metadata: int, match: str) -> None:
    state = [K.FINISH, -3, 1, ["state", False, 0, "w"], value, metadata]
    with pytest.raises(UntrustedNamesError, match=match):
        _load([*MODULE, [K.DICT], state, [K.LIST, -3]], ("kellet.module",))
    made = _load(
        [*MODULE, [K.DICT], [K.FINISH, -3, 1, ["state", False, 0], -4], [K.LIST, -3]], ("kellet.module",)
    )
    assert type(made[0]) is nn.ReLU


# --- enumerations ---


@one_test
@pytest.mark.parametrize(
    ("cls", "literal", "match"),
    [
        ((HERE, "Plain"), "DARK", "is not an enumeration"),
        ((HERE, "Shade"), "LIGHT", "has no member 'LIGHT'"),
        ((HERE, "Shade"), "__class__", "has no member '__class__'"),
        ((HERE, "Shade"), 1, "is not an enumeration of flags"),
        ((HERE, "Shade"), True, "expected a name or a value, and a class"),
        ((HERE, "Shade"), None, "expected a name or a value, and a class"),
        ((HERE, "Access"), 1 << 9, "not a valid|invalid value"),
    ],
)
def test_a_member_is_one_of_its_enumeration(cls: tuple[str, str], literal: Any, match: str) -> None:
    with pytest.raises(PackageError, match=match):
        _load([[K.GLOBAL, *cls], [K.CODEC, 1, literal, -1]], ("enum",), TRUST)


def test_a_member_is_of_a_class_and_of_nothing_else() -> None:
    with pytest.raises(RecordError, match="expected a class"):
        _load([[K.PACKED_LIST, 1], [K.CODEC, 1, "DARK", -1]], ("enum",))
    honest = [
        [K.GLOBAL, HERE, "Shade"],
        [K.CODEC, 1, "DARK", -1],
        [K.GLOBAL, HERE, "Access"],
        [K.CODEC, 1, 1, -3],
    ]
    assert _load([*honest, [K.TUPLE, -2, -4]], ("enum",), TRUST) == (Shade.DARK, Access.READ)


# --- arrays of Python ---


@one_test
@pytest.mark.parametrize(
    ("literal", "children", "match"),
    [
        (["x", 1, b"a"], [], "expected a type code"),
        (["", 1, b"a"], [], "expected a type code"),
        (["bB", 1, b"a"], [], "expected a type code"),
        (["i", 3, b"abc"], [], "expected whole items"),
        (["i", 0, b""], [], "expected whole items"),
        (["i", 4, b"abcde"], [], "expected whole items"),
        (["b", 2, b"ab"], [], "items of type 'b' have 1 bytes here, 2 in the archive"),
        (["i", 4, b"abcd"], [1], "expected a type code"),
        (["u", 0, b""], [], "expected one string"),
        (["u", 0, b""], [1], "expected one string"),
        (["u", 4, b"abcd"], ["a"], "expected one string"),
        (["i", 4, "abcd"], [], "expected code, size, bytes"),
        (["i", True, b"a"], [], "expected code, size, bytes"),
    ],
)
def test_an_array_is_made_of_its_own_items(literal: list[Any], children: list[Any], match: str) -> None:
    with pytest.raises(PackageError, match=match):
        _load([[K.CODEC, 1, literal, *children]], ("array.array",))


def test_an_array_comes_back() -> None:
    assert _load([[K.CODEC, 1, ["h", 2, b"\1\0\2\0"]]], ("array.array",)) == array.array("h", [1, 2])


@pytest.mark.parametrize("literal", [[[]], ["state", []]])
def test_the_literal_of_a_finish_is_flat(literal: list[Any]) -> None:
    with pytest.raises(RecordError, match="a literal is a scalar or a flat list of scalars"):
        _load([*MODULE, [K.FINISH, -3, 1, literal], [K.LIST, -3]], ("kellet.module",))


@pytest.mark.parametrize("children", [[], [1, -1], [1, -1, 2, 3]])
def test_hooks_of_a_registry_come_three_by_three(children: list[Any]) -> None:
    with pytest.raises(RecordError, match="expected hooks"):
        _load([[K.CODEC, 1, None], [K.FINISH, -1, 1, None, *children], [K.LIST]], ("kellet.hooks",))


# --- modules ---


@pytest.mark.parametrize("names", [[K.LIST], [K.PACKED_DICT], [K.PACKED_TUPLE, "a"]])
def test_the_buffers_that_are_not_saved_are_a_set(names: list[Any]) -> None:
    records = [
        [K.GLOBAL, "kellet.nn", "ReLU"],
        [K.SHAPE, -1, 1, "_non_persistent_buffers_set"],
        names,
        [K.OBJ, -2, -3],
        [K.LIST, -4],
    ]
    with pytest.raises(PackageError, match="has no set of non-persistent buffers"):
        _load(records, ("kellet.module",))


@pytest.mark.parametrize(
    "cls",
    [("collections", "OrderedDict"), ("builtins", "object"), ("types", "SimpleNamespace"), (HERE, "Plain")],
)
def test_a_codec_of_modules_makes_modules_alone(cls: tuple[str, str]) -> None:
    with pytest.raises(ObjectBuildError, match="is not a module of kellet"):
        _load([[K.GLOBAL, *cls], [K.SHAPE, -1, 1], [K.OBJ, -2]], ("kellet.module",), TRUST)


@pytest.mark.parametrize("value", [[K.PACKED_DICT, "a", 1], [K.LIST], [K.PACKED_TUPLE, 1]])
def test_a_module_holds_modules_alone_when_its_state_is_loaded(value: list[Any]) -> None:
    records = [
        [K.GLOBAL, "kellet.nn", "Sequential"],
        [K.SHAPE, -1, 1, "_modules"],
        value,
        [K.OBJ, -2, -3],
        [K.FINISH, -4, 1, ["state", True, 0]],
        [K.LIST, -4],
    ]
    with pytest.raises(ObjectBuildError, match=r"'a' is not a module|no dict of submodules by name"):
        _load(records, ("kellet.module",))


@pytest.mark.parametrize("owner", [[K.PACKED_LIST, 1], [K.CODEC, 1, None]], ids=["a list", "a handle"])
def test_a_handle_is_of_a_module_or_a_registry(owner: list[Any]) -> None:
    with pytest.raises(PackageError, match=r"expected the owner of a hook|has no hooks for a handle"):
        _load(
            [[K.CODEC, 1, None], owner, [K.FINISH, -1, 1, ["forward", 0], -2], [K.LIST, -1]],
            ("kellet.handle",),
        )


# --- arrays of NumPy ---


def test_arrays_of_any_strides_come_back_and_lie_in_their_storage() -> None:
    for value in (
        np.arange(12).reshape(3, 4)[::-1, ::2],
        np.arange(5)[::-2],
        np.broadcast_to(np.ones(1), (3, 2)),
    ):
        made = encode(value).with_sources(lambda module: False)
        assert np.array_equal(forge.load(forge.archive_of(made)), value)

        def beyond(codecs: list[Any], records: forge.Records) -> None:
            tensor = next(record for record in records if record[0] == K.TENSOR)
            tensor[5] = 1 << 20

        with pytest.raises(RecordError, match="a tensor outside its storage"):
            forge.load(forge.archive_of(forge.with_records(made, beyond)))


@one_test
@pytest.mark.parametrize(
    ("literal", "match"),
    [
        (["array", "<i8"], "expected the class of an array"),
        (["memmap", "<i8"], "expected the class of an array"),
        (["ndarray", "<q9"], "expected the name of a dtype"),
        (["ndarray", "<i8", 1], "expected the class and the dtype of an array"),
        (["ndarray", "<i4"], "expected a tensor of I32"),
        (["ndarray", "|O"], "expected the name of a dtype"),
    ],
)
def test_an_array_says_what_it_is(literal: list[Any], match: str) -> None:
    made = encode(np.arange(3)).with_sources(lambda module: False)

    def change(codecs: list[Any], records: forge.Records) -> None:
        next(record for record in records if record[0] == K.CODEC)[2] = literal

    with pytest.raises(RecordError, match=match):
        forge.load(forge.archive_of(forge.with_records(made, change)))


def test_building_uses_the_objects_behind_names_and_no_others() -> None:
    audited = audit(
        forge.table_of([[K.GLOBAL, "builtins", "len"], [K.LIST, -1]]).records, TrustContext.data_only()
    )
    assert build(audited, {("builtins", "len"): len}) == [len]
