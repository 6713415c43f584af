"""Fills of a table that is refused: what they fill, and with what."""

from __future__ import annotations

from typing import Any

import pytest

from packager._objects.records import Kind as K
from tests.objects.test_checking import refused_with
from tests.tables import one_test

BAD: dict[str, tuple[list[Any], str]] = {
    "FILL of a list": (
        [[K.LIST], [K.FILL, -1, "x", 1]],
        "record 1 (FILL): a reference to a list, expected object or codec or function",
    ),
    "FILL without a value": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.FILL, -2, "x"]],
        "record 2 (FILL): a key without a value",
    ),
    "EXTEND of a tuple": (
        [[K.PACKED_TUPLE], [K.EXTEND, -1, 1]],
        "record 1 (EXTEND): a reference to a tuple, expected list or object",
    ),
    "EXTEND of a dict": (
        [[K.PACKED_DICT], [K.EXTEND, -1, 1]],
        "record 1 (EXTEND): a reference to a dict, expected list or object",
    ),
    "UPDATE of a list": (
        [[K.LIST], [K.UPDATE, -1, 1, 2]],
        "record 1 (UPDATE): a reference to a list, expected dict or object",
    ),
    "UPDATE without a value": (
        [[K.PACKED_DICT], [K.UPDATE, -1, 1]],
        "record 1 (UPDATE): a key without a value",
    ),
    "ADD to a frozenset": (
        [[K.FROZENSET], [K.ADD, -1, 1]],
        "record 1 (ADD): a reference to a frozenset, expected set",
    ),
    "SETCELL of a list": (
        [[K.LIST], [K.SETCELL, -1, 1]],
        "record 1 (SETCELL): a reference to a list, expected cell",
    ),
    "STATE of a list": (
        [[K.LIST], [K.STATE, -1, 1]],
        "record 1 (STATE): a reference to a list, expected object",
    ),
    "STATE of two": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.STATE, -2, 1, 2]],
        "record 2 (STATE): 3 operands, expected object value",
    ),
    "FINISH of a list": (
        [[K.LIST], [K.FINISH, -1, 1, None]],
        "record 1 (FINISH): a reference to a list, expected object or codec",
    ),
    "FILL with a number for a name": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.FILL, -2, 1, 1]],
        "record 2 (FILL): names of attributes are strings, each once",
    ),
    "FILL with a name twice": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.FILL, -2, "x", 1, "x", 2]],
        "record 2 (FILL): names of attributes are strings, each once",
    ),
    "FILL with bytes": (
        [[K.GLOBAL, "m", "A"], [K.NEW, -1], [K.FILL, -2, "x", 1, "y", b""]],
        "record 2 (FILL): expected an operand, found bytes",
    ),
    "FILL of a complex number": (
        [[K.CODEC, 1, [1.0, 2.0]], [K.FILL, -1, "x", 1]],
        "record 1 (FILL): an object of codec 'complex' takes no attributes",
    ),
    "EXTEND of a complex number": (
        [[K.CODEC, 1, [1.0, 2.0]], [K.EXTEND, -1, 1]],
        "record 1 (EXTEND): a reference to a codec, expected list or object",
    ),
    "UPDATE of a deque": (
        [[K.CODEC, 3, None], [K.UPDATE, -1, 1, 1]],
        "record 1 (UPDATE): a reference to a codec, expected dict or object",
    ),
    "EXTEND of a mapping": (
        [[K.CODEC, 4, "Counter"], [K.EXTEND, -1, 1]],
        "record 1 (EXTEND): a reference to a codec, expected list or object",
    ),
    "ADD to a mapping": (
        [[K.CODEC, 4, "Counter"], [K.ADD, -1, 1]],
        "record 1 (ADD): a reference to a codec, expected set",
    ),
    "UPDATE of a mapping without a value": (
        [[K.CODEC, 4, "Counter"], [K.UPDATE, -1, 1]],
        "record 1 (UPDATE): a key without a value",
    ),
    "EXTEND of a module": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2], [K.OBJ, -2], [K.EXTEND, -3, 1]],
        "record 3 (EXTEND): an object that a codec makes from attributes takes no items or pairs",
    ),
    "UPDATE of a module": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2], [K.OBJ, -2], [K.UPDATE, -3, 1, 2]],
        "record 3 (UPDATE): an object that a codec makes from attributes takes no items or pairs",
    ),
    "EXTEND with bytes": (
        [[K.LIST], [K.EXTEND, -1, b""]],
        "record 1 (EXTEND): expected an operand, found bytes",
    ),
    "SETCELL with bytes": (
        [[K.CELL], [K.SETCELL, -1, b""]],
        "record 1 (SETCELL): expected an operand, found bytes",
    ),
    "FINISH of a complex number by another codec": (
        [[K.CODEC, 1, [1.0, 2.0]], [K.FINISH, -1, 3, None]],
        "record 1 (FINISH): an object that codec 'collections.deque' did not make",
    ),
    "FINISH with bytes": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2], [K.OBJ, -2], [K.FINISH, -3, 2, "hooks", b""]],
        "record 3 (FINISH): expected an operand, found bytes",
    ),
    "FINISH with a tensor": (
        [
            [K.GLOBAL, "m", "A"],
            [K.SHAPE, -1, 2],
            [K.OBJ, -2],
            [K.CELL],
            [K.FINISH, -3, 2, "hooks", "forward", 1, -4, -1],
        ],
        "record 4 (FINISH): expected a value, found a reference to a cell",
    ),
    "FINISH of nothing": (
        [[K.GLOBAL, "m", "A"], [K.SHAPE, -1, 2], [K.OBJ, -2], [K.FINISH, -3, 2, "hooks"]],
        "record 3 (FINISH): expected hooks",
    ),
}


@one_test
@pytest.mark.parametrize(("records", "message"), BAD.values(), ids=BAD.keys())
def test_a_fill_is_refused(records: list[Any], message: str) -> None:
    refused_with(records, message)
