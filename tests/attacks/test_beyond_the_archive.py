"""What data alone must not reach: what the whole process shares, memory, and code that lies beside it."""

from __future__ import annotations

import datetime
import fractions
import logging
import pathlib
import re
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

import kellet
import kellet.nn.functional as F
from kellet import nn
from packager import PackageImporter
from packager._audit import UntrustedNamesError
from packager._loading.packaged_code import DisallowedModuleError
from packager._objects import EncodedObject
from packager._objects.records import Kind as K
from packager.errors import PackageError
from tests.attacks import object_forger as forge
from tests.tables import one_test

KELLET = ("kellet", "numpy")


def refused(obj: EncodedObject, match: str) -> None:
    with pytest.raises(PackageError, match=match):
        forge.load(forge.archive_of(obj, externs=KELLET))


def loaded(obj: Any) -> Any:
    return forge.load(forge.archive_of(forge.encoded(obj), externs=KELLET))


# --- stored source that stands where a listed name leads ---

BESIDE: dict[str, tuple[str, Any]] = {
    "a module of the library": ("datetime", datetime.date(2020, 1, 2)),
    "a class that is given state": ("uuid", uuid.UUID(int=3)),
    "a package above the name": ("numpy", np.linalg.norm),
    "a package of ours": ("kellet.nn", F.relu),
}


def _writing(target: Path) -> str:
    return f"open({str(target)!r}, 'w').close()\n"


@pytest.mark.parametrize(("module", "value"), BESIDE.values(), ids=list(BESIDE))
def test_a_state_dict_runs_no_source_that_has_the_name_of_something_listed(
    tmp_path: Path, module: str, value: Any
) -> None:
    target = tmp_path / "ran"
    extras = forge.extras_of({"key": value})
    file = forge.archive_of(extras=extras, sources={module: _writing(target)})
    with pytest.raises(UntrustedNamesError, match="is stored, but this object was saved as data alone"):
        forge.load_extra(file, "key")
    assert not target.exists()
    honest = forge.archive_of(extras=extras, sources={"beside": _writing(target)}, externs=KELLET)
    with PackageImporter(honest, environment="ignore") as importer:
        found = importer.load_state_dict("m", "s")["key"]
    assert found == value
    assert not target.exists()


def test_an_object_runs_no_package_above_a_listed_name(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    made = forge.encoded([np.linalg.norm])
    with pytest.raises(UntrustedNamesError, match="the source of numpy is stored, but this object"):
        forge.load(forge.archive_of(made, sources={"numpy": _writing(target)}))
    assert not target.exists()


def test_a_listed_name_beside_code_brings_what_is_stored_above_it(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    records = [
        [K.GLOBAL, "net", "Net"],
        [K.SHAPE, -1, None],
        [K.OBJ, -2],
        [K.GLOBAL, "numpy.linalg", "norm"],
        [K.LIST, -3, -4],
    ]
    sources = {"net": "class Net:\n    pass\n", "numpy": _writing(target)}
    file = forge.archive_of(forge.table_of(records), sources=sources)
    with pytest.raises(DisallowedModuleError, match="brings code of the module 'numpy'"):
        forge.load(file, module_allowed=lambda name: name == "net")
    assert not target.exists()
    honest = forge.archive_of(forge.table_of(records), sources={"net": sources["net"]}, externs=("numpy",))
    assert forge.load(honest, module_allowed=lambda name: name in ("net", "numpy"))[1] is np.linalg.norm


def test_a_trusted_name_of_a_state_dict_leads_to_no_module_that_is_not_admitted(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    extras = forge.extras_of({"key": uuid.UUID(int=3)})
    file = forge.archive_of(extras=extras, sources={"uuid": f"{_writing(target)}from _uuid import *\n"})
    with pytest.raises(DisallowedModuleError, match="module_allowed refuses 'uuid'"):
        forge.load_extra(file, "key", trust=["uuid:UUID"], module_allowed=lambda name: False)
    assert not target.exists()
    honest = forge.archive_of(extras=extras)
    assert forge.load_extra(honest, "key", module_allowed=lambda name: False) == uuid.UUID(int=3)


# --- attributes of what the process shares ---

SHARED: dict[str, tuple[list[str], forge.Records, int]] = {
    "the root logger": (["logging.logger"], [[K.CODEC, 1, ""]], -1),
    "a logger": (["logging.logger"], [[K.CODEC, 1, "packager"]], -1),
    "a flag": (["enum"], [[K.GLOBAL, "re", "RegexFlag"], [K.CODEC, 1, "IGNORECASE", -1]], -2),
    "a member": (["enum"], [[K.GLOBAL, "uuid", "SafeUUID"], [K.CODEC, 1, "safe", -1]], -2),
    "the masked element": (["numpy.masked"], [[K.CODEC, 1, "masked"]], -1),
    "the device": (["kellet.device"], [[K.CODEC, 1, "cpu"]], -1),
    "a fraction": (["fraction"], [[K.CODEC, 1, None, 1, 2]], -1),
}


@one_test
@pytest.mark.parametrize("name", ["disabled", "_value_", "_fill_value", "type", "_numerator"])
@pytest.mark.parametrize(("codecs", "records", "target"), SHARED.values(), ids=list(SHARED))
def test_what_a_codec_finds_or_makes_whole_is_given_no_attributes(
    codecs: list[str], records: forge.Records, target: int, name: str
) -> None:
    fill = [K.FILL, target, name, True]
    refused(forge.table_of([*records, fill], root=target, codecs=codecs), "takes no attributes")
    assert not logging.getLogger().disabled
    assert re.IGNORECASE._value_ == 2
    assert forge.load(forge.archive_of(forge.table_of(records, root=target, codecs=codecs))) is not None


def test_functions_are_given_no_attributes_through_an_alias_of_them() -> None:
    names = [[K.GLOBAL, "types", "GenericAlias"], [K.GLOBAL, "kellet.nn.functional", "relu"]]
    records = [*names, [K.CALL, -1, -2, 1], [K.FILL, -3, "hooked", True]]
    refused(
        forge.table_of(records, root=-3),
        "types:GenericAlias that is made by a call, and then given attributes",
    )
    assert not hasattr(F.relu, "hooked")
    assert loaded([list[int], dict[str, tuple[int, ...]]]) == [list[int], dict[str, tuple[int, ...]]]


def test_the_slots_of_a_tensor_are_its_own() -> None:
    made = forge.encoded(nn.Parameter(kellet.ones(2)))
    codecs, records, root = msgpack.unpackb(made.records)
    for name in ("_array", "_hooks", "_edge", "_grad"):
        table = msgpack.packb([codecs, [*records, [K.FILL, root, name, 1]], root])
        refused(EncodedObject(table, made.storages, ()), f"{name} of Parameter is a member_descriptor")
    labelled = nn.Parameter(kellet.ones(2))
    labelled.label = "decay"
    assert loaded(labelled).label == "decay"


# --- memory ---


STRINGS: list[Any] = [["string", True, False]] if hasattr(np.dtypes, "StringDType") else []  # NumPy 2


@pytest.mark.parametrize("dtype", ["|O", ["struct", 8, False, "a", 0, None], ["subarray", 1], *STRINGS])
def test_stored_bytes_are_never_taken_for_objects(dtype: Any) -> None:
    made = forge.encoded(np.zeros((1, 16 if dtype[0] == "string" else 8), np.uint8))
    codecs, records, _ = msgpack.unpackb(made.records)
    codecs.append(["numpy.dtype", 1])
    children = [-2] if isinstance(dtype, list) and dtype[0] != "string" else []
    records = [
        records[0],
        [K.CODEC, 2, "|O"],
        [K.CODEC, 2, dtype, *children],
        [K.CODEC, 1, ["ndarray", None], -1, -3],
    ]
    if dtype == "|O":
        records[2:3] = []
        records[-1][-1] = -2
    table = msgpack.packb([codecs, records, -len(records)])
    refused(EncodedObject(table, made.storages, ()), "holds objects, which cannot be read from bytes")


def test_arrays_of_objects_and_of_fields_come_back() -> None:
    fields = np.array([(1, b"ab")], dtype=[("a", "<i4"), ("b", "S2")])
    found, objects = loaded([fields, np.array(["a", None], dtype=object)])
    assert found.tolist() == fields.tolist()
    assert objects.tolist() == ["a", None]


PROTOCOLS = ("__array_interface__", "__array__", "__torch_function__", "__deepcopy__", "__fspath__")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_attributes_that_libraries_ask_for_are_no_data(name: str) -> None:
    for thing in (types.SimpleNamespace(width=1), nn.Linear(1, 1)):
        assert loaded(thing) is not None
        made = forge.encoded(thing)
        codecs, records, root = msgpack.unpackb(made.records)
        table = msgpack.packb([codecs, [*records, [K.FILL, root, name, 1]], root])
        refused(EncodedObject(table, made.storages, ()), f"data may not set {name}")


def test_a_namespace_is_called_with_nothing() -> None:
    records = [
        [K.GLOBAL, "types", "SimpleNamespace"],
        [K.TUPLE],
        [K.PACKED_DICT, "__array_interface__", 1],
        [K.CALL_KW, -1, -2, -3],
    ]
    refused(forge.table_of(records), "types:SimpleNamespace with arguments")


def test_what_a_masked_array_is_made_of_is_plain() -> None:
    honest = np.ma.MaskedArray(np.arange(3), [True, False, False], fill_value=7)
    assert loaded(honest).tolist() == [None, 1, 2]
    mask = np.empty(1, object)
    mask[0] = nn.Sequential()
    made = forge.encoded([np.arange(1), mask])
    codecs, records, _ = msgpack.unpackb(made.records)
    codecs.append(["numpy.masked", 1])
    data, hostile = records[-1][1:]
    records[-1] = [K.CODEC, len(codecs) - 1, False, data, hostile, None]
    table = msgpack.packb([codecs, records, -len(records)])
    refused(EncodedObject(table, made.storages, ()), "in an object of the codec 'numpy.masked'")


# --- keys, names and fills ---

ODD_KEYS: dict[str, tuple[list[str], forge.Records]] = {
    "an identifier of anything": (
        [],
        [[K.GLOBAL, "uuid", "UUID"], [K.SHAPE, -1, None, "int"], [K.OBJ, -2, 1.5]],
    ),
    "a flag of our own making": (
        ["scalar subclass"],
        [[K.GLOBAL, "re", "RegexFlag"], [K.CODEC, 1, None, -1, 3]],
    ),
}


@one_test
@pytest.mark.parametrize("into", ["dict", "set", "frozenset", "later", "tuple"])
@pytest.mark.parametrize(("codecs", "records"), ODD_KEYS.values(), ids=list(ODD_KEYS))
def test_keys_run_no_code_of_their_classes(codecs: list[str], records: forge.Records, into: str) -> None:
    key = -len(records)
    last: dict[str, forge.Records] = {
        "dict": [[K.DICT, key, 1]],
        "set": [[K.SET, key]],
        "frozenset": [[K.FROZENSET, key]],
        "later": [[K.DICT], [K.UPDATE, key - 1, key, 1]],
        "tuple": [[K.TUPLE, key], [K.DICT, key - 1, 1]],
    }
    refused(
        forge.table_of([*records, *last[into]], root=key - 1, codecs=codecs),
        "whose own code would run|is not made from int",
    )


def test_honest_keys_come_back() -> None:
    layer = nn.Linear(1, 1)
    keys = [
        *("a", 1, 2.5, None, b"b", 1j, int, np.float32(3), np.dtype("<f4"), re.IGNORECASE | re.DOTALL),
        *(
            uuid.UUID(int=3),
            fractions.Fraction(1, 2),
            pathlib.PurePosixPath("a/b"),
            datetime.date(2020, 1, 2),
        ),
        *(("a", (1, frozenset({2}))), uuid.SafeUUID.safe),
    ]
    assert list(loaded(dict.fromkeys(keys, 0))) == keys
    assert loaded(set(keys)) == set(keys)
    (found,) = loaded({layer})
    assert type(found) is nn.Linear


def test_names_of_modules_are_strings_before_they_are_put_into_a_path() -> None:
    made = forge.encoded(nn.Sequential(nn.Linear(1, 1)))
    codecs, records, root = msgpack.unpackb(made.records)
    (table,) = (i for i, record in enumerate(records) if record[0] == K.DICT and record[1] == "0")
    records[table][1] = 7
    records.append([K.FINISH, root, 1, ["state", True, 0]])
    number = next(i for i, row in enumerate(codecs) if row[0] == "kellet.module")
    records[-1][2] = number
    table_bytes = msgpack.packb([codecs, records, root])
    refused(EncodedObject(table_bytes, made.storages, ()), "has no dict of submodules by name")


@one_test
@pytest.mark.parametrize("fill", [[K.EXTEND, 0, 1], [K.UPDATE, 0, 1, 2]], ids=["items", "pairs"])
@pytest.mark.parametrize("make", [nn.Sequential, nn.ModuleList, nn.ModuleDict])
def test_modules_are_given_no_items_and_no_pairs(fill: list[Any], make: Callable[[], Any]) -> None:
    made = forge.encoded(make())
    codecs, records, root = msgpack.unpackb(made.records)
    table = msgpack.packb([codecs, [*records, [fill[0], root, *fill[2:]]], root])
    refused(EncodedObject(table, made.storages, ()), "takes no items or pairs")
    assert type(loaded(make())) is make


def test_a_listed_class_is_given_no_pairs_through_its_own_method() -> None:
    records = [[K.GLOBAL, "numpy", "poly1d"], [K.NEW, -1], [K.UPDATE, -2, 1, 2]]
    refused(forge.table_of(records, root=-2), "numpy:poly1d would be given pairs by its own method")
    assert loaded(np.poly1d([1, 2]))(3) == 5
    state = nn.Linear(1, 1).state_dict()
    assert list(loaded(state)) == ["weight", "bias"]


def test_a_factory_is_called_with_a_dict() -> None:
    made = forge.encoded([1])
    sources = {"net": "def make(**options):\n    return options\n"}
    with pytest.raises(PackageError, match="its configuration is no dict of arguments by name"):
        forge.load(forge.archive_of(made, sources=sources, factory="net:make"))
    honest = forge.archive_of(forge.encoded({"width": 3}), sources=sources, factory="net:make")
    assert forge.load(honest) == {"width": 3}


def test_no_pattern_prints_what_it_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    table = forge.table_of([[K.CODEC, 1, ["a+", int(re.DEBUG | re.UNICODE)]]], codecs=["re.pattern"])
    assert forge.load(forge.archive_of(table)).fullmatch("aa")
    assert capsys.readouterr().out == ""


def _doubled(levels: int) -> EncodedObject:
    """Modules of which each holds the next one under two names, with a state that is loaded by name."""
    records: forge.Records = [
        [K.GLOBAL, "kellet.nn", "Sequential"],
        [K.SHAPE, -1, 1, "_modules"],
        [K.DICT],
        [K.OBJ, -2, -3],
    ]
    for _ in range(levels):
        inner = -len(records)
        records.append([K.DICT, "0", inner, "1", inner])
        records.append([K.OBJ, -2, -len(records)])
    root = -len(records)
    records.append([K.FINISH, root, 1, ["state", True, 0]])
    return forge.table_of(records, root=root, codecs=["kellet.module"])


def test_a_few_modules_with_names_without_number_are_refused_in_bounded_time() -> None:
    refused(_doubled(40), "41 modules hold each other under at least 50657 names; the limit is 50656")
    found = forge.load(forge.archive_of(_doubled(8), externs=KELLET))
    assert len(list(found.modules())) == 9
