"""Tables that our encoder cannot have written are refused by the audit, with the record and the reason."""

from __future__ import annotations

import re
from typing import Any

import msgpack
import pytest

from packager._archive import DAMAGED
from packager._audit import TrustContext, audit
from packager._objects import RecordError
from packager._objects.records import Kind as K
from tests.tables import one_test

LONG = "x" * 65


def audited(records: list[Any], root: Any = -1, codecs: Any = None, **storages: tuple[str, int]) -> Any:
    table = [[["records", 1], *(codecs or [])], records, root]
    return audit(msgpack.packb(table), TrustContext.with_code(["__main__", "m"]), storages=storages)


def _function(at: int, value: Any) -> list[Any]:
    """The record of a nested function with another operand in one place."""
    record = [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None, None]
    record[at] = value
    return record


BAD: dict[str, tuple[list[Any], str]] = {
    "not a list": ([[1]], "record 0 (INT): 0 operands, expected int"),
    "empty record": ([[]], "record 0 (?): a record is a list that starts with its kind"),
    "kind is no int": ([["LIST"]], "record 0 (?): a record is a list that starts with its kind"),
    "kind is a bool": ([[True]], "record 0 (?): a record is a list that starts with its kind"),
    "no such kind": ([[99]], "record 0 (?): there is no kind 99"),
    "negative kind": ([[-1]], "record 0 (?): there is no kind -1"),
    "reference to itself": (
        [[K.LIST, -1]],
        "record 0 (LIST): a reference to a later record; expected an earlier one",
    ),
    "reference forwards": (
        [[K.LIST, -2], [K.LIST]],
        "record 0 (LIST): a reference to a later record; expected an earlier one",
    ),
    "reference to a fill": (
        [[K.LIST], [K.EXTEND, -1, 1], [K.LIST, -2]],
        "record 2 (LIST): expected a value, found a reference to a none",
    ),
    "int inline that is too long": ([[K.LIST, b"x"]], "record 0 (LIST): expected an operand, found bytes"),
    "bytes inline": ([[K.LIST, b""]], "record 0 (LIST): expected an operand, found bytes"),
    "list inline": ([[K.LIST, []]], "record 0 (LIST): expected an operand, found list"),
    "INT of a string": ([[K.INT, "5"]], "record 0 (INT): expected bytes, found str"),
    "INT of two": ([[K.INT, -5, -6]], "record 0 (INT): 2 operands, expected int"),
    "STR of broken bytes": (
        [[K.STR, b"\xff\xfe"]],
        "record 0 (STR): 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ),
    "BYTES of a string": ([[K.BYTES, "x"]], "record 0 (BYTES): expected bytes, found str"),
    "odd DICT": ([[K.DICT, 1]], "record 0 (DICT): a key without a value"),
    "odd PACKED_DICT": ([[K.PACKED_DICT, 1]], "record 0 (PACKED_DICT): a key without a value"),
    "bytes in a packed list": ([[K.PACKED_LIST, b""]], "record 0 (PACKED_LIST): b'' is no scalar"),
    "GLOBAL without a module": ([[K.GLOBAL, "", "x"]], "record 0 (GLOBAL): '', 'x' is not a name"),
    "GLOBAL that is no name": ([[K.GLOBAL, "m", "a b"]], "record 0 (GLOBAL): 'm', 'a b' is not a name"),
    "GLOBAL with a dotted hole": ([[K.GLOBAL, "m..n", "a"]], "record 0 (GLOBAL): 'm..n', 'a' is not a name"),
    "GLOBAL with an index": ([[K.GLOBAL, "m", "a[0]"]], "record 0 (GLOBAL): 'm', 'a[0]' is not a name"),
    "GLOBAL of numbers": ([[K.GLOBAL, 1, 2]], "record 0 (GLOBAL): expected a module and a qualified name"),
    "GLOBAL of three": (
        [[K.GLOBAL, "m", "a", "b"]],
        "record 0 (GLOBAL): 3 operands, expected module qualname",
    ),
    "SHAPE of a list": (
        [[K.LIST], [K.SHAPE, -1, None]],
        "record 1 (SHAPE): a reference to a list, expected global",
    ),
    "SHAPE with a name twice": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x", "x"]],
        "record 1 (SHAPE): names of attributes are strings, each once",
    ),
    "SHAPE with a number for a name": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, 1]],
        "record 1 (SHAPE): names of attributes are strings, each once",
    ),
    "SHAPE with an unknown codec": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 7]],
        "record 1 (SHAPE): there is no codec 7",
    ),
    "SHAPE as a value": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None], [K.LIST, -2]],
        "record 2 (LIST): expected a value, found a reference to a shape",
    ),
    "OBJ with too few values": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.OBJ, -2]],
        "record 2 (OBJ): 0 values for 1 attributes",
    ),
    "OBJ of a class": (
        [[K.GLOBAL, "m", "A"], [K.OBJ, -1]],
        "record 1 (OBJ): a reference to a global, expected shape",
    ),
    "NEW of a value": ([[K.LIST], [K.NEW, -1]], "record 1 (NEW): a reference to a list, expected global"),
    "NEW of a string": ([[K.NEW, "m:A"]], "record 0 (NEW): expected a reference, found 'm:A'"),
    "CALL of a computed value": (
        [[K.GLOBAL, "m", "f"], [K.CALL, -1], [K.CALL, -2]],
        "record 2 (CALL): a reference to a object, expected global",
    ),
    "CALL of a method": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "go"], [K.CALL, -3]],
        "record 3 (CALL): a reference to a method, expected global",
    ),
    "CALL_KW without a tuple": (
        [[K.GLOBAL, "m", "f"], [K.LIST], [K.PACKED_DICT], [K.CALL_KW, -1, -2, -3]],
        "record 3 (CALL_KW): a reference to a list, expected tuple",
    ),
    "METHOD of a module": (
        [[K.GLOBAL, "m", ""], [K.METHOD, -1, "x"]],
        "record 1 (METHOD): a reference to a global, expected object",
    ),
    "METHOD of a class": (
        [[K.GLOBAL, "m", "A"], [K.METHOD, -1, "x"]],
        "record 1 (METHOD): a reference to a global, expected object",
    ),
    "METHOD of a function": (
        [[K.GLOBAL, "m", "f"], [K.METHOD, -1, "x"]],
        "record 1 (METHOD): a reference to a global, expected object",
    ),
    "METHOD of a dict": (
        [[K.PACKED_DICT], [K.METHOD, -1, "get"]],
        "record 1 (METHOD): a reference to a dict, expected object",
    ),
    "METHOD with two underscores": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "__class__"]],
        "record 2 (METHOD): expected an object and the name of a method",
    ),
    "METHOD with a dotted name": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, "a.b"]],
        "record 2 (METHOD): expected an object and the name of a method",
    ),
    "FUNCTION of the top level": (
        [[K.FUNCTION, "m", "f.g", "0" * 64, None, None, None, None, None]],
        "record 0 (FUNCTION): expected the name of a function made inside another one, found 'f.g'",
    ),
    "FUNCTION without a digest": (
        [[K.FUNCTION, "m", "f.<locals>.g", "x", None, None, None, None, None]],
        "record 0 (FUNCTION): expected the digest of a source",
    ),
    "FUNCTION with a list for cells": (
        [
            [K.LIST],
            [K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None, None, -1],
        ],
        "record 1 (FUNCTION): a reference to a list, expected cell",
    ),
    "CELL with two things": ([[K.CELL, 1, 2]], "record 0 (CELL): a cell holds one thing"),
    "CELL as a value": (
        [[K.CELL], [K.LIST, -1]],
        "record 1 (LIST): expected a value, found a reference to a cell",
    ),
    "CODEC that is not listed": ([[K.CODEC, 7, None]], "record 0 (CODEC): there is no codec 7"),
    "CODEC number zero": ([[K.CODEC, 0, None]], "record 0 (CODEC): there is no codec 0"),
    "kind that is none": ([[None, 1]], "record 0 (?): a record is a list that starts with its kind"),
    "record that is none": ([None], "the root: a record is a list that starts with its kind"),
    "second record": ([[K.LIST], [99]], "record 1 (?): there is no kind 99"),
    "reference one behind": (
        [[K.LIST], [K.LIST, -2]],
        "record 1 (LIST): a reference to a later record; expected an earlier one",
    ),
    "a GLOBAL of a number for a name": (
        [[K.GLOBAL, "m", 2]],
        "record 0 (GLOBAL): expected a module and a qualified name",
    ),
    "a GLOBAL of a number for a module": (
        [[K.GLOBAL, 1, "a"]],
        "record 0 (GLOBAL): expected a module and a qualified name",
    ),
    "STR of a number": ([[K.STR, 5]], "record 0 (STR): expected bytes, found int"),
    "int in the root of a packed dict": (
        [[K.PACKED_DICT, "a", []]],
        "record 0 (PACKED_DICT): [] is no scalar",
    ),
    "SHAPE with a codec that makes no objects": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 1]],
        "record 1 (SHAPE): codec 1 cannot make objects with attributes",
    ),
    "SHAPE with a codec of another type": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, True]],
        "record 1 (SHAPE): there is no codec True",
    ),
    "OBJ with too many values": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.OBJ, -2, 1, 2]],
        "record 2 (OBJ): 2 values for 1 attributes",
    ),
    "OBJ with bytes": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, None, "x"], [K.OBJ, -2, b""]],
        "record 2 (OBJ): expected an operand, found bytes",
    ),
    "NEW with bytes": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1, b""]],
        "record 1 (NEW): expected an operand, found bytes",
    ),
    "CALL with bytes": (
        [[K.GLOBAL, "m", "A"], [K.CALL, -1, b""]],
        "record 1 (CALL): expected an operand, found bytes",
    ),
    "PACKAGE_CALL with a list": (
        [[K.GLOBAL, "m", "A"], [K.PACKAGE_CALL, -1, []]],
        "record 1 (PACKAGE_CALL): expected an operand, found list",
    ),
    "CALL_KW without a dict": (
        [[K.GLOBAL, "m", "f"], [K.PACKED_TUPLE], [K.LIST], [K.CALL_KW, -1, -2, -3]],
        "record 3 (CALL_KW): a reference to a list, expected dict",
    ),
    "NEW_KW of a value": (
        [[K.PACKED_TUPLE], [K.PACKED_DICT], [K.NEW_KW, -1, -1, -2]],
        "record 2 (NEW_KW): a reference to a tuple, expected global",
    ),
    "METHOD without a name": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.METHOD, -2, 1]],
        "record 2 (METHOD): expected an object and the name of a method",
    ),
    **{
        f"FUNCTION {what}": ([[K.PACKED_LIST], _function(at, value)], f"record 1 (FUNCTION): {message}")
        for what, at, value, message in (
            ("of a module that is none", 1, 5, "expected a module and a qualified name"),
            ("of a module with a hole", 1, "m..n", "'m..n', '' is not a name"),
            (
                "of a number",
                2,
                5,
                "expected the name of a function made inside another one, found 5",
            ),
            (
                "of something local that is none",
                2,
                "f.<locals>",
                "expected the name of a function made inside another one, found 'f.<locals>'",
            ),
            ("of a longer digest", 3, "0" * 65, "expected the digest of a source"),
            ("of a number for a name", 4, 1, "the names of a function are strings"),
            ("of a number for a qualified name", 5, 1, "the names of a function are strings"),
            ("of a docstring of bytes", 6, b"", "expected an operand, found bytes"),
            ("of a list of defaults", 7, -1, "a reference to a list, expected tuple"),
            ("of a list of keywords", 8, -1, "a reference to a list, expected dict"),
        )
    },
    "FUNCTION with fewer parts": (
        [[K.FUNCTION, "m", "f.<locals>.g", "0" * 64, None, None, None, None]],
        (
            "record 0 (FUNCTION): 7 operands, expected module qualname digest own_name own_qualname value "
            "defaults keywords (cell)*"
        ),
    ),
    "CELL of bytes": ([[K.CELL, b""]], "record 0 (CELL): expected an operand, found bytes"),
    "CODEC that makes objects": (
        [[K.CODEC, 2, None]],
        "record 0 (CODEC): codec 'kellet.module' makes objects, which have attributes",
    ),
    "CODEC behind": ([[K.CODEC, 6, None]], "record 0 (CODEC): there is no codec 6"),
    "CODEC of a bool": ([[K.CODEC, True, None]], "record 0 (CODEC): there is no codec True"),
    "CODEC of a nested literal": (
        [[K.CODEC, 1, [[], 2.0]]],
        "record 0 (CODEC): a literal is a scalar or a flat list of scalars",
    ),
    "CODEC of another literal": ([[K.CODEC, 1, [1.0]]], "record 0 (CODEC): expected two floats"),
    "CODEC with bytes": (
        [[K.CODEC, 1, [1.0, 2.0], b""]],
        "record 0 (CODEC): expected an operand, found bytes",
    ),
}

CODECS = [
    ["complex", 1],
    ["kellet.module", 1],
    ["collections.deque", 1],
    ["collections.mapping", 1],
    ["slice", 1],
]


def refused_with(records: list[Any], message: str) -> None:
    """Demand that a table is refused with these words."""
    said = f"object: {message}; the archive is {DAMAGED}"
    with pytest.raises(RecordError, match=f"^{re.escape(said)}$"):
        audited(records, codecs=CODECS)


@one_test
@pytest.mark.parametrize(("records", "message"), BAD.values(), ids=BAD.keys())
def test_table_is_refused(records: list[Any], message: str) -> None:
    refused_with(records, message)
