"""Archives around forged tables of records, and the harm that compositions of harmless names once did."""

from __future__ import annotations

import functools
import io
import operator
from collections import UserList, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import msgpack

from packager import PackageImporter
from packager._archive import (
    ArchiveWriter,
    ExternRecord,
    Manifest,
    ModuleRecord,
    ObjectRecord,
    StateDictRecord,
    TensorSpec,
    add_tensors,
)
from packager._objects import EncodedObject, encode
from packager._objects.records import VERSION
from packager._objects.records import Kind as K
from packager._tensors import contiguous_strides

Records = list[list[Any]]


def table_of(records: Sequence[list[Any]], *, root: int = 0, codecs: Sequence[str] = ()) -> EncodedObject:
    """A table written by hand; the root is the last record unless it is given, as a reference."""
    rows = [["records", VERSION], *([name, 1] for name in codecs)]
    return EncodedObject(msgpack.packb([rows, list(records), root or -len(records)]), (), ())


def encoded(obj: Any, *, stored: Sequence[str] = ()) -> EncodedObject:
    """What our encoder makes of a live object."""
    made = encode(obj).with_sources(lambda module: module in stored)
    assert not made.refusals, made.refusals
    return made


def with_records(made: EncodedObject, change: Callable[[list[list[Any]], Records], None]) -> EncodedObject:
    """An encoded object whose table `change(codecs, records)` has been at."""
    codecs, records, root = msgpack.unpackb(made.records)
    change(codecs, records)
    return EncodedObject(msgpack.packb([codecs, records, root]), made.storages, ())


def archive_of(
    obj: EncodedObject | None = None,
    *,
    extras: EncodedObject | None = None,
    sources: Mapping[str, str] | None = None,
    modules: Sequence[ModuleRecord] = (),
    externs: Sequence[str] = (),
    factory: str | None = None,
) -> io.BytesIO:
    """An archive with the object `m/o`, a state dict `m/s` with these extras, sources and records."""
    file = io.BytesIO()
    records = [
        *modules,
        *(ModuleRecord(name, "intern", "r", "b", f"{name}.py") for name in sources or {}),
    ]
    objects, states = [], []
    with ArchiveWriter(file) as writer:
        for name, text in (sources or {}).items():
            writer.add(f"{name}.py", text.encode(), kind="source")
        if obj is not None:
            writer.add("m/o", obj.records, kind="object")
            member = "m/o.safetensors" if obj.storages else None
            if member is not None:
                _add_storages(writer, member, obj)
            objects.append(ObjectRecord("m", "o", "m/o", member, factory))
        if extras is not None:
            specs = [TensorSpec("w", "F32", (1,), (1,), 0, 0)]
            add_tensors(writer, "m/s", specs, [memoryview(bytes(4))])
            writer.add("m/s.extras", extras.records, kind="extras")
            states.append(StateDictRecord("m", "s", "m/s", "m/s.extras"))
        writer.seal(
            Manifest(
                modules=tuple(records),
                externs=tuple(ExternRecord(name, "installed") for name in externs),
                objects=tuple(objects),
                state_dicts=tuple(states),
            )
        )
    return file


def _add_storages(writer: ArchiveWriter, member: str, obj: EncodedObject) -> None:
    specs = [
        TensorSpec(one.name, one.dtype, one.shape, contiguous_strides(one.shape), 0, number)
        for number, one in enumerate(obj.storages)
    ]
    add_tensors(writer, member, specs, [one.buffer for one in obj.storages])


def load(file: io.BytesIO, **options: Any) -> Any:
    """The object of an archive, in whatever environment."""
    with PackageImporter(file, environment="ignore", **options) as importer:
        return importer.load_object("m", "o")


def load_extra(file: io.BytesIO, key: str, **options: Any) -> Any:
    """One value of the state dict of an archive, which is no tensor."""
    with PackageImporter(file, environment="ignore", **options) as importer:
        return importer.load_state_dict("m", "s")[key]


def extras_of(values: Any, *, stored: Sequence[str] = ()) -> EncodedObject:
    """The extras of a state dict with a tensor and these values behind it."""
    places = list(range(1, len(values) + 1))
    return encoded({"values": values, "places": places, "raw": {}, "metadata": None}, stored=stored)


# --- harm made of harmless names ---


def writing(target: Path) -> Any:
    """An object that writes `target` when `dict` is called with it: lazy calls alone, no code.

    A bound method of a getter gives `Path.write_bytes` when it is called, a defaultdict calls it for a
    key that is missing, a UserList asks its defaultdict for keys, and `map` and `dict` call what comes.
    """
    method = MethodType(operator.attrgetter("write_bytes"), target)
    methods = _over(defaultdict(method))
    calls = _over(defaultdict(functools.partial(map, map, methods, [[b"written"]])))
    return _over(defaultdict(functools.partial(map, dict, calls)))


def _over(data: Any) -> Any:
    """A UserList that asks `data` for its items."""
    made: Any = UserList()
    made.data = data
    return made


def trap(target: Path) -> Any:
    """A callable that writes `target` whatever it is called with."""
    return functools.partial(max, writing(target), key=dict)


def index_of(records: Records, kind: int, module: str, qualname: str) -> int:
    """The record of that kind whose class has this name."""
    for index, record in enumerate(records):
        if record[0] != kind:
            continue
        name = records[-1 - record[1]]
        name = records[-1 - name[1]] if name[0] == K.SHAPE else name
        if name[:3] == [K.GLOBAL, module, qualname]:
            return index
    raise AssertionError(f"no record of {module}:{qualname}")


def extend_on_a_user_list(target: Path) -> EncodedObject:
    """A UserList whose `data` is a namespace with an `extend` of the data's own; then EXTEND."""
    outer = _over(SimpleNamespace(extend=functools.partial(max, key=dict)))
    made = encoded([outer, writing(target)])

    def fill(codecs: list[Any], records: Records) -> None:
        lists = [index for index, record in enumerate(records) if record[0] == K.OBJ]
        whole = records[-1]
        records.append([K.EXTEND, whole[1], whole[2]])
        assert -1 - whole[1] in lists

    return with_records(made, fill)
