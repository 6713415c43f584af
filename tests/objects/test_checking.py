"""Tables that our encoder cannot have written are refused by the audit, with the record and the reason."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from packager.errors import ArchiveError
from packager.objects import RecordError, TrustContext, audit
from packager.objects.records import Kind as K

LONG = "x" * 65


def _audit(records: list[Any], root: Any = -1, codecs: Any = None, **storages: tuple[str, int]) -> Any:
    table = [[["records", 1], *(codecs or [])], records, root]
    return audit(msgpack.packb(table), TrustContext.with_code(["__main__", "m"]), storages=storages)


BAD = {
    "not a list": [[1]],
    "empty record": [[]],
    "kind is no int": [["LIST"]],
    "kind is a bool": [[True]],
    "no such kind": [[99]],
    "negative kind": [[-1]],
    "reference to itself": [[K.LIST, -1]],
    "reference forwards": [[K.LIST, -2], [K.LIST]],
    "reference to a fill": [[K.LIST], [K.EXTEND, -1, 1], [K.LIST, -2]],
    "int inline that is too long": [[K.LIST, b"x"]],
    "long string inline": [[K.LIST, LONG]],
    "bytes inline": [[K.LIST, b""]],
    "list inline": [[K.LIST, []]],
    "positive INT": [[K.INT, 5]],
    "INT of short bytes": [[K.INT, b"\x05"]],
    "INT not shortest": [[K.INT, b"\x00" * 3 + b"\x01" + b"\x00" * 8]],
    "INT of a string": [[K.INT, "5"]],
    "INT of two": [[K.INT, -5, -6]],
    "short STR": [[K.STR, "short"]],
    "STR of valid bytes": [[K.STR, b"abc"]],
    "STR of broken bytes": [[K.STR, b"\xff\xfe"]],
    "BYTES of a string": [[K.BYTES, "x"]],
    "odd DICT": [[K.DICT, 1]],
    "odd PACKED_DICT": [[K.PACKED_DICT, 1]],
    "bytes in a packed list": [[K.PACKED_LIST, b""]],
    "long string in a packed list": [[K.PACKED_LIST, LONG]],
    "GLOBAL without a module": [[K.GLOBAL, "", "x"]],
    "GLOBAL that is no name": [[K.GLOBAL, "m", "a b"]],
    "GLOBAL with a dotted hole": [[K.GLOBAL, "m..n", "a"]],
    "GLOBAL with an index": [[K.GLOBAL, "m", "a[0]"]],
    "GLOBAL of numbers": [[K.GLOBAL, 1, 2]],
    "GLOBAL of three": [[K.GLOBAL, "m", "a", "b"]],
    "GLOBAL twice": [[K.GLOBAL, "m", "A"], [K.GLOBAL, "m", "A"]],
    "BYTES twice": [[K.BYTES, b"x"], [K.BYTES, b"x"]],
    "INT twice": [[K.INT, -5], [K.INT, -5]],
    "STR twice": [[K.STR, LONG], [K.STR, LONG]],
    "SHAPE twice": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.SHAPE, -1, None, "x"]],
    "SHAPE of a list": [[K.LIST], [K.SHAPE, -1, None]],
    "SHAPE with a name twice": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x", "x"]],
    "SHAPE with a number for a name": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, 1]],
    "SHAPE with an unknown codec": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 7]],
    "SHAPE as a value": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None], [K.LIST, -2]],
    "OBJ with too few values": [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.OBJ, -2]],
    "OBJ of a class": [[K.GLOBAL, "m", "A"], [K.OBJ, -1]],
    "NEW of a value": [[K.LIST], [K.NEW, -1]],
    "NEW of a string": [[K.NEW, "m:A"]],
    "CALL of a computed value": [[K.GLOBAL, "m", "f"], [K.CALL, -1], [K.CALL, -2]],
    "CALL of a method": [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "go"], [K.CALL, -3]],
    "CALL_KW without a tuple": [[K.GLOBAL, "m", "f"], [K.LIST], [K.PACKED_DICT], [K.CALL_KW, -1, -2, -3]],
    "METHOD of a module": [[K.GLOBAL, "m", ""], [K.METHOD, -1, "x"]],
    "METHOD of a class": [[K.GLOBAL, "m", "A"], [K.METHOD, -1, "x"]],
    "METHOD of a function": [[K.GLOBAL, "m", "f"], [K.METHOD, -1, "x"]],
    "METHOD of a dict": [[K.PACKED_DICT], [K.METHOD, -1, "get"]],
    "METHOD with two underscores": [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "__class__"]],
    "METHOD with a dotted name": [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "a.b"]],
    "FUNCTION of the top level": [[K.FUNCTION, "m", "f.g", "0" * 64, None, None, None, None, None]],
    "FUNCTION without a digest": [[K.FUNCTION, "m", "f.<locals>.g", "x", None, None, None, None, None]],
    "FUNCTION with a list for cells": [
        [K.LIST],
        [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None, None, -1],
    ],
    "CELL with two things": [[K.CELL, 1, 2]],
    "CELL as a value": [[K.CELL], [K.LIST, -1]],
    "FILL of a list": [[K.LIST], [K.FILL, -1, "x", 1]],
    "FILL without a value": [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.FILL, -2, "x"]],
    "EXTEND of a tuple": [[K.PACKED_TUPLE], [K.EXTEND, -1, 1]],
    "EXTEND of a dict": [[K.PACKED_DICT], [K.EXTEND, -1, 1]],
    "UPDATE of a list": [[K.LIST], [K.UPDATE, -1, 1, 2]],
    "UPDATE without a value": [[K.PACKED_DICT], [K.UPDATE, -1, 1]],
    "ADD to a frozenset": [[K.FROZENSET], [K.ADD, -1, 1]],
    "SETCELL of a list": [[K.LIST], [K.SETCELL, -1, 1]],
    "STATE of a list": [[K.LIST], [K.STATE, -1, 1]],
    "STATE of two": [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.STATE, -2, 1, 2]],
    "CODEC that is not listed": [[K.CODEC, 1, None]],
    "CODEC number zero": [[K.CODEC, 0, None]],
    "FINISH of a list": [[K.LIST], [K.FINISH, -1, 1, None]],
    "TENSOR without a storage": [[K.TENSOR, "w", "F32", [1], None, 0]],
}


@pytest.mark.parametrize("records", BAD.values(), ids=BAD.keys())
def test_table_is_refused(records: list[Any]) -> None:
    with pytest.raises(RecordError, match=r"object: record \d+ \(.*\): .*not written by packager"):
        _audit(records)


TENSORS = {
    "outside": ["w", "F32", [3], None, 4],
    "negative offset": ["w", "F32", [1], None, -4],
    "steps outside": ["w", "F32", [2], [4], 0],
    "steps before": ["w", "F32", [2], [-1], 0],
    "unknown dtype": ["w", "F128", [1], None, 0],
    "negative size": ["w", "F32", [-1], None, 0],
    "size that is no int": ["w", "F32", [1.0], None, 0],
    "shape that is none": ["w", "F32", 3, None, 0],
    "strides of another rank": ["w", "F32", [1], [1, 1], 0],
    "strides that say nothing": ["w", "F32", [3], [1], 0],
    "huge by repetition": ["w", "F32", [2**40], [0], 0],
    "offset that is no int": ["w", "F32", [1], None, None],
    "too many operands": ["w", "F32", [1], None, 0, 0],
    "rank without end": ["w", "F32", [1] * 65, None, 0],
}


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS.keys())
def test_tensor_is_refused(tensor: list[Any]) -> None:
    with pytest.raises(RecordError, match=r"record 0 \(TENSOR\)"):
        _audit([[K.TENSOR, *tensor]], root=None, w=("F32", 12))


def test_storage_that_no_tensor_lies_in() -> None:
    with pytest.raises(RecordError, match="no tensor lies in the storages w"):
        _audit([[K.LIST]], w=("F32", 12))


def test_tensor_is_no_value() -> None:
    with pytest.raises(RecordError, match="a reference to a tensor where a value is expected"):
        _audit([[K.TENSOR, "w", "F32", [3], None, 0], [K.LIST, -1]], w=("F32", 12))


@pytest.mark.parametrize("root", [-2, "x" * 65, [], b""])
def test_root_is_checked(root: Any) -> None:
    with pytest.raises(RecordError):
        _audit([[K.LIST]], root=root)


@pytest.mark.parametrize(
    "codecs",
    [
        [["complex"]],
        [["complex", "1"]],
        [[1, 1]],
        ["complex"],
        [["complex", 1], ["complex", 1]],
        [["complex", 0]],
    ],
)
def test_codec_table_is_checked(codecs: Any) -> None:
    with pytest.raises(RecordError):
        _audit([[K.LIST]], codecs=codecs)


def test_unknown_codecs_and_newer_versions_say_what_to_install() -> None:
    with pytest.raises(
        RecordError, match=r"codec 'jax.array' is not installed.*codec 'complex' of version 9, here is 1"
    ):
        _audit([[K.LIST]], codecs=[["jax.array", 1], ["complex", 9]])


def test_newer_records_say_so() -> None:
    with pytest.raises(RecordError, match=r"records of version 2.*install a newer packager"):
        audit(msgpack.packb([[["records", 2]], [], None]), TrustContext.data_only())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x90",
        b"\xc0",
        msgpack.packb([[], [], None]),
        msgpack.packb({"a": 1}),
        msgpack.packb([[["records", 1]], [], None, 1]),
        msgpack.packb([[["records", 1]], {}, None]),
        msgpack.packb([[["records", 1]], [], None]) + b"\xc0",
        msgpack.packb([[["records", 1]], [[6, [[[1]]]]], None]),
        b"\x93\x91\x92\xd9\x07records\x01\x90\xc0",
    ],
    ids=range(10),
)
def test_bytes_that_are_no_table(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        audit(data, TrustContext.data_only())
