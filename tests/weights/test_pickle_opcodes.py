"""Which opcodes a pickle of data may have, by the names that `pickletools` has for them, and their prices."""

from __future__ import annotations

import pickletools

from packager._weights.pickle_opcodes import _OPERATIONS

PRICES = {
    "PROTO": 0,
    "FRAME": 0,
    "NONE": 8,
    "NEWTRUE": 8,
    "NEWFALSE": 8,
    "BININT": 40,
    "BININT1": 8,
    "BININT2": 40,
    "BINFLOAT": 40,
    "LONG1": 48,
    "LONG4": 48,
    "BINUNICODE": 64,
    "SHORT_BINUNICODE": 64,
    "BINUNICODE8": 64,
    "BINBYTES": 48,
    "SHORT_BINBYTES": 48,
    "BINBYTES8": 48,
    "BYTEARRAY8": 48,
    "BINSTRING": 64,
    "SHORT_BINSTRING": 64,
    "MARK": 80,
    "POP": 0,
    "BINPUT": 100,
    "LONG_BINPUT": 100,
    "MEMOIZE": 140,
    "BINGET": 8,
    "LONG_BINGET": 8,
    "EMPTY_TUPLE": 8,
    "TUPLE1": 64,
    "TUPLE2": 72,
    "TUPLE3": 80,
    "TUPLE": 80,
    "EMPTY_LIST": 72,
    "LIST": 72,
    "EMPTY_DICT": 72,
    "DICT": 250,
    "EMPTY_SET": 232,
    "FROZENSET": 232,
    "APPEND": 90,
    "APPENDS": 8,
    "SETITEM": 250,
    "SETITEMS": 250,
    "ADDITEMS": 232,
    "GLOBAL": 250,
    "STACK_GLOBAL": 250,
    "REDUCE": 800,
    "NEWOBJ": 250,
    "NEWOBJ_EX": 250,
    "BUILD": 250,
    "BINPERSID": 500,
}


def test_the_opcodes_of_data_and_what_each_costs_are_those_that_were_chosen() -> None:
    """That the prices are paid, and are no less than what is made: `attacks/test_each_check_prices.py`."""
    found = {
        pickletools.code2op[code.decode("latin-1")].name: price for code, (_, price) in _OPERATIONS.items()
    }
    assert found == PRICES
