"""Tables that pass their check, the names that they note, and the parts of a table beside its records."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from packager._audit import TrustContext, audit
from packager._objects import RecordError
from packager._objects.checking import CheckedTable, checked_table
from packager._objects.records import Kind as K
from packager.errors import ArchiveError
from tests.objects.test_checking import CODECS, LONG, _function, audited
from tests.tables import one_test


def _as_bytes(value: int, length: int) -> bytes:
    return value.to_bytes(length, "big", signed=True)


OBJECT = [[K.GLOBAL, "m", "A"], [K.NEW, -1]]
GOOD: dict[str, tuple[list[Any], str]] = {
    "INT": ([[K.INT, -1]], "scalar"),
    "INT of 64 bits": ([[K.INT, -(2**63)]], "scalar"),
    "INT above 64 bits": ([[K.INT, _as_bytes(2**64, 9)]], "scalar"),
    "INT below 64 bits": ([[K.INT, _as_bytes(-(2**63) - 1, 9)]], "scalar"),
    "INT of all bits": ([[K.INT, _as_bytes(2**71 - 1, 9)]], "scalar"),
    "INT below zero of all bits": ([[K.INT, _as_bytes(-(2**71), 9)]], "scalar"),
    "INT of a bit more": ([[K.INT, _as_bytes(2**71, 10)]], "scalar"),
    "INT below zero of a bit more": ([[K.INT, _as_bytes(-(2**71) - 1, 10)]], "scalar"),
    "STR": ([[K.STR, LONG]], "scalar"),
    "STR of the first surrogate": ([[K.STR, "\ud800".encode("utf-8", "surrogatepass")]], "scalar"),
    "STR of the last surrogate": ([[K.STR, "a\udfff".encode("utf-8", "surrogatepass")]], "scalar"),
    "BYTES": ([[K.BYTES, b""]], "scalar"),
    "the same in another type": ([[K.BYTES, LONG.encode()], [K.STR, LONG]], "scalar"),
    "LIST": ([[K.LIST, None, True, 2.5, 2**64 - 1, "x" * 64]], "list"),
    "DICT": ([[K.DICT, "a", 1]], "dict"),
    "PACKED_LIST": ([[K.PACKED_LIST, -1, None, False, 0.5, "x" * 64]], "list"),
    "PACKED_TUPLE": ([[K.PACKED_TUPLE, 1]], "tuple"),
    "PACKED_DICT": ([[K.PACKED_DICT, "a", -1]], "dict"),
    "SET": ([[K.SET, 1]], "set"),
    "FROZENSET": ([[K.FROZENSET, 1]], "frozenset"),
    "SHAPE": ([[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2, "x"]], "shape"),
    "OBJ": ([[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.OBJ, -2, 1]], "object"),
    "NEW": ([[K.GLOBAL, "m", "A"], [K.NEW, -1, 1]], "object"),
    "NEW_KW": ([[K.GLOBAL, "m", "A"], [K.TUPLE], [K.DICT], [K.NEW_KW, -1, -2, -3]], "object"),
    "CALL_KW": ([[K.GLOBAL, "m", "A"], [K.TUPLE], [K.DICT], [K.CALL_KW, -1, -2, -3]], "object"),
    "CALL": ([[K.GLOBAL, "m", "A"], [K.CALL, -1, 1, -1]], "object"),
    "METHOD of one underscore": ([*OBJECT, [K.METHOD, -2, "_go"]], "method"),
    "METHOD with two before": ([*OBJECT, [K.METHOD, -2, "__go"]], "method"),
    "METHOD with two behind": ([*OBJECT, [K.METHOD, -2, "go__"]], "method"),
    "FUNCTION": (
        [
            [K.TUPLE],
            [K.DICT],
            [K.CELL],
            [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, "a", None, "doc", -1, -2, -3, -3],
        ],
        "function",
    ),
    "CELL": ([[K.CELL]], "cell"),
    "CELL of a value": ([[K.CELL, 1]], "cell"),
    "CODEC": ([[K.CODEC, 1, [1.0, 2.0]]], "codec"),
    "CODEC of a zero": ([[K.CODEC, 5, "slice", 0, None, 1]], "codec"),
    "FINISH with a zero": (
        [
            [K.GLOBAL, "m", "A"],
            [K.SHAPE, -1, 2],
            [K.OBJ, -2],
            [K.FINISH, -3, 2, ["state", False, 0, "w"], 0, None],
        ],
        "none",
    ),
    "FILL of an object": ([*OBJECT, [K.FILL, -2, "x", 1, "y", 2]], "none"),
    "FILL of a module": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2], [K.OBJ, -2], [K.FILL, -3, "x", 1]],
        "none",
    ),
    "EXTEND of a list": ([[K.LIST], [K.EXTEND, -1, 1, 2]], "none"),
    "EXTEND of a deque": ([[K.CODEC, 3, None], [K.EXTEND, -1, 1]], "none"),
    "EXTEND of an object": ([*OBJECT, [K.EXTEND, -2, 1]], "none"),
    "UPDATE of a dict": ([[K.DICT], [K.UPDATE, -1, 1, 2]], "none"),
    "UPDATE of a mapping": ([[K.CODEC, 4, "Counter"], [K.UPDATE, -1, "a", 2]], "none"),
    "ADD": ([[K.SET], [K.ADD, -1, 1]], "none"),
    "SETCELL": ([[K.CELL], [K.SETCELL, -1, 1]], "none"),
    "STATE": ([*OBJECT, [K.STATE, -2, 1]], "none"),
}


def checked(records: list[Any], root: Any = None, **storages: tuple[str, int]) -> CheckedTable:
    table = msgpack.packb([[["records", 1], *CODECS], records, root])
    return checked_table(table, storages, None, "object")


@one_test
@pytest.mark.parametrize(("records", "kind"), GOOD.values(), ids=GOOD.keys())
def test_what_our_encoder_may_write_passes(records: list[Any], kind: str) -> None:
    assert checked(records).classes[-1] == kind


USES: dict[str, tuple[list[Any], dict[tuple[str, str, str], int]]] = {
    "a value": ([[K.GLOBAL, "m", "A"], [K.LIST, -1]], {("m", "A", "value"): 0}),
    "made": ([[K.GLOBAL, "m", "A"], [K.NEW, -1]], {("m", "A", "create"): 0}),
    "made with an argument": ([[K.GLOBAL, "m", "A"], [K.NEW, -1, 1]], {("m", "A", "call"): 0}),
    "made by attributes": ([[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None]], {("m", "A", "create"): 0}),
    "called": ([[K.GLOBAL, "m", "A"], [K.CALL, -1]], {("m", "A", "call"): 0}),
    "a method": (
        [*OBJECT, [K.METHOD, -2, "go"]],
        {("m", "A", "create"): 0, ("m", "A.go", "value"): 2},
    ),
    "a function": (
        [_function(1, "m")],
        {("m", "f.<locals>.g", "value"): 0},
    ),
    "none": ([[K.GLOBAL, "m", "A"]], {}),
}


@one_test
@pytest.mark.parametrize(("records", "uses"), USES.values(), ids=USES.keys())
def test_names_are_noted_with_what_is_done_with_them(records: list[Any], uses: Any) -> None:
    assert checked(records).uses == uses


def test_as_many_records_are_read_as_the_bytes_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._objects.checking.most_records", lambda nbytes: 2)
    assert len(checked([[K.LIST]] * 2).records) == 2
    with pytest.raises(RecordError, match=r"^object: found 3 records in \d+ bytes; the limit is 2"):
        checked([[K.LIST]] * 3)
    monkeypatch.setattr("packager._objects.checking.unpack_table", None)  # they are counted before
    with pytest.raises(RecordError, match=r"^object: found 3 records in \d+ bytes; the limit is 2"):
        checked([[K.LIST]] * 3)


def test_the_scalar_of_an_operand_is_what_its_record_spells() -> None:
    table = checked([[K.STR, LONG], [K.INT, -5], [K.BYTES, b"a"], [K.LIST]])
    assert [table.scalar(operand) for operand in (-1, -2, -3, -4)] == [LONG, -5, b"a", None]
    assert [table.scalar(operand) for operand in ("x", 3, None, True)] == ["x", 3, None, True]


def test_tensor_is_no_value() -> None:
    with pytest.raises(RecordError, match="expected a value, found a reference to a tensor"):
        audited([[K.TENSOR, "w", "F32", [3], None, 0], [K.LIST, -1]], w=("F32", 12))


@pytest.mark.parametrize("root", [-2, [], b""])
def test_root_is_checked(root: Any) -> None:
    with pytest.raises(RecordError):
        audited([[K.LIST]], root=root)


MALFORMED = "the codec table is malformed"


@one_test
@pytest.mark.parametrize(
    ("codecs", "message"),
    [
        ([["complex"]], MALFORMED),
        ([["complex", "1"]], MALFORMED),
        ([["complex", True]], MALFORMED),
        ([[1, 1]], MALFORMED),
        (["complex"], MALFORMED),
        ([["complex", 1], ["complex", 1]], "the codec table lists a codec twice"),
        ([["complex", 0]], "codec 'complex' has version 0 in the archive and 1 here; install a newer one"),
    ],
)
def test_codec_table_is_checked(codecs: Any, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        audited([[K.LIST]], codecs=codecs)


def test_unknown_codecs_and_newer_versions_say_what_to_install() -> None:
    with pytest.raises(
        RecordError,
        match=r"codec 'jax.array' is not installed.*codec 'complex' has version 9 in the archive and 1 here",
    ):
        audited([[K.LIST]], codecs=[["jax.array", 1], ["complex", 9]])


def test_newer_records_say_so() -> None:
    with pytest.raises(RecordError, match=r"records of version 2.*install a newer packager"):
        audit(msgpack.packb([[["records", 2]], [], None]), TrustContext.data_only())


@one_test
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
