"""Each check of the opcodes of pickles of data: what they find, what they cost, and which keys they take."""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

import pytest

from packager._weights import CheckpointPickleError, pickle_machine
from packager._weights.pickle_machine import Named, Opaque, require_key
from packager._weights.pickle_opcodes import read_pickle
from packager._weights.torch_names import torch_names
from tests.tables import one_test

NAMES = torch_names()


def read(data: bytes, opaque: bool = False, **options: Any) -> Any:
    return read_pickle(io.BytesIO(b"\x80\x02" + data), NAMES, opaque=opaque, **options)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


VALUES = {
    "N": (b"N", None),
    "true": (b"\x88", True),
    "false": (b"\x89", False),
    "J": (b"J\xfe\xff\xff\xff", -2),
    "K": (b"K\xff", 255),
    "M": (b"M\xff\xff", 65535),
    "G": (b"G" + struct.pack(">d", 2.5), 2.5),
    "LONG1": (b"\x8a\x02\x00\x80", -32768),
    "LONG1 of nothing": (b"\x8a\x00", 0),
    "LONG4": (b"\x8b\x02\x00\x00\x00\x01\x02", 513),
    "X": (b"X\x02\x00\x00\x00\xc3\xa9", "é"),
    "SHORT_BINUNICODE": (b"\x8c\x02\xc3\xa9", "é"),
    "BINUNICODE8": (b"\x8d\x02" + bytes(7) + b"\xc3\xa9", "é"),
    "B": (b"B\x02\x00\x00\x00ab", b"ab"),
    "C": (b"C\x02ab", b"ab"),
    "BINBYTES8": (b"\x8e\x02" + bytes(7) + b"ab", b"ab"),
    "T": (b"T\x01\x00\x00\x00\xe9", "é"),
    "U": (b"U\x01\xe9", "é"),
    ")": (b")", ()),
    "TUPLE1": (b"K\1\x85", (1,)),
    "TUPLE2": (b"K\1K\2\x86", (1, 2)),
    "TUPLE3": (b"K\1K\2K\3\x87", (1, 2, 3)),
    "t": (b"(K\1K\2K\3K\4t", (1, 2, 3, 4)),
    "]": (b"]", []),
    "l": (b"(K\1K\2l", [1, 2]),
    "}": (b"}", {}),
    "d": (b"(K\1K\2K\3K\4d", {1: 2, 3: 4}),
    "sets": (b"\x8f(K\1K\2\x90", {1, 2}),
    "FROZENSET": (b"(K\1K\2\x91", frozenset({1, 2})),
    "a": (b"]K\1aK\2a", [1, 2]),
    "e": (b"](K\1K\2e", [1, 2]),
    "s": (b"}K\1K\2s", {1: 2}),
    "u": (b"}(K\1K\2K\3K\4u", {1: 2, 3: 4}),
    "0": (b"K\1K\2" + b"0", 1),
    "q, h": (b"K\7q\xff0h\xff", 7),
    "r, j": (b"K\x07r" + bytes([0, 1, 0, 0]) + b"0j" + bytes([0, 1, 0, 0]), 7),
    "MEMOIZE": (b"K\5\x94K\6\x94" + b"00h\1h\0\x86", (6, 5)),
    "\x95": (b"\x95" + bytes(8) + b"K\1", 1),
}


@one_test
@pytest.mark.parametrize("name", VALUES)
def test_opcodes_make_what_pythons_make(name: str) -> None:
    pickled, made = VALUES[name]
    found = read(pickled + b".")
    assert (type(found), found) == (type(made), made)
    if name not in ("T", "U"):
        assert found == pickle.loads(b"\x80\x04" + pickled + b".")


EMPTY = "an operation finds the stack empty; the pickle is damaged"
NO_MARK = "an operation finds no mark; the pickle is damaged"


@one_test
@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"0", f"offset 2: {EMPTY}"),
        (b"q\0", f"offset 2: {EMPTY}"),
        (b"r\0\0\0\0", f"offset 2: {EMPTY}"),
        (b"\x94", f"offset 2: {EMPTY}"),
        (b"\x85", EMPTY),
        (b"N\x86", EMPTY),
        (b"NN\x87", EMPTY),
        (b"t", NO_MARK),
        (b"l", NO_MARK),
        (b"d", NO_MARK),
        (b"\x91", NO_MARK),
        (b"}u", NO_MARK),
        (b"\x8f\x90", NO_MARK),
        (b"N(\x85", EMPTY),
        (b"a", EMPTY),
        (b"Na", "APPEND on nothing; the pickle is damaged or holds more than data"),
        (b")Na", "APPEND on tuple"),
        (b"N(e", "APPENDS on NoneType"),
        (b"](\x90", "ADDITEMS on list"),
        (b"]NNs", "SETITEM on list"),
        (b"](u", "SETITEMS on list"),
        (b"](NNu", "SETITEMS on list"),
        (b"}(Nu", "a key without a value; the pickle is damaged"),
        (b"(Nd", "a key without a value; the pickle is damaged"),
        (b"}]Ns", "a key of type list; keys of data are plain values"),
        (b"(]\x91", "a key of type list; keys of data are plain values"),
        (b"\x8f(]\x90", "a key of type list; keys of data are plain values"),
        (b"h\0", "memo 0 was never set; the pickle is damaged"),
        (b"Nq\1h\0", "memo 0 was never set; the pickle is damaged"),
        (b"j\0\0\0\1", "memo 16777216 was never set; the pickle is damaged"),
        (b"N(", "the pickle ends with more or less than one object; it is damaged"),
        (b"(N", "the pickle ends with more or less than one object; it is damaged"),
        (b"NN", "the pickle ends with more or less than one object; it is damaged"),
        (b"", "the pickle ends with more or less than one object; it is damaged"),
        (b"X\1\0\0\0\xff", "a text that is not UTF-8; the pickle is damaged"),
        (b"\xffN", "byte 0xff is no opcode; this is no pickle, or it is damaged"),
        (b"C\5ab", "expected 5 bytes, there are 3; it is cut short"),
        (b"M\1", "a pickle that ends"),
        (b"NNR", "a call of something that is no name, or not with a tuple"),
        (b"ctorch\nSize\n]R", "a call of something that is no name, or not with a tuple"),
        (b"ctorch\nTensor\n)R", r"'torch\.Tensor' may be mentioned in data, but not called"),
        (b"ctorch\nSize\n)\x81", "opcode NEWOBJ is not among those that data needs"),
        (b"ctorch\nSize\n)}\x92", "opcode NEWOBJ_EX is not among those that data needs"),
        (b"N)\x81", "opcode NEWOBJ is not among those that data needs"),
        (b"NNb", "BUILD on NoneType"),
        (b"}Nb", "BUILD on dict"),
        (b"NQ", "a persistent id, in a pickle that has none"),
        (text("a") + b"N\x93", "STACK_GLOBAL without two texts; the pickle is damaged"),
        (b"N" + text("a") + b"\x93", "STACK_GLOBAL without two texts; the pickle is damaged"),
        (
            text("a" * 500) + text("b" * 501) + b"\x93",
            "a name of 1001 characters; no checkpoint",
        ),
        (
            b"c" + b"a" * 1001 + b"\nb\n",
            "a name of 1001 bytes and more; no checkpoint",
        ),
        (b"ca\n" + b"b" * 1001 + b"\n", "a name of 1001 bytes and more"),
        (b"ca\nb", "a name without an end; the pickle is cut short"),
    ],
)
def test_each_opcode_finds_what_it_needs(pickled: bytes, message: str) -> None:
    stopped = pickled + (b"." if message != "a pickle that ends" else b"")
    expected = "expected 2 bytes, there are 1; it is cut short" if stopped == pickled else message
    with pytest.raises(CheckpointPickleError, match=expected):
        read(stopped)


def test_names_have_so_many_characters_at_most() -> None:
    long = "b" * 500
    (found,) = read(b"](" + text("a" * 500) + text(long) + b"\x93e.", opaque=True)
    assert (found.name, found.known) == (f"{'a' * 500} {long}", False)
    (found,) = read(b"](c" + b"a" * 1000 + b"\n" + b"b" * 1000 + b"\ne.", opaque=True)
    assert len(found.name) == 2001


def test_unknown_names_are_so_many_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "MAX_UNKNOWN_NAMES", 3)
    three = b"".join(f"ca{n}\nb\n0".encode() for n in (1, 2, 3, 3, 1))
    assert read(three + b"N.", opaque=True) is None
    with pytest.raises(
        CheckpointPickleError, match=r"(?s)offset 2: .*names 'a1\.b', .*offset 9: 'a2\.b', neither"
    ):
        read(three + b"N.")
    with pytest.raises(
        CheckpointPickleError, match="names 4 things and more that are not plain data; at most 3"
    ):
        read(three + b"ca4\nb\n0N.", opaque=True)


@pytest.mark.parametrize(("count", "last"), [(11, "neither"), (12, "and 1 more"), (14, "and 3 more")])
def test_a_refusal_names_eleven_counts_the_rest_and_holds_all(count: int, last: str) -> None:
    names = b"".join(f"ca{n:02}\nb\n0".encode() for n in range(count))
    with pytest.raises(CheckpointPickleError) as refused:
        read(names + b"N.")
    lines = str(refused.value).splitlines()
    assert lines[-2].endswith(last)
    assert sum("offset" in line for line in lines) == 11
    assert len(refused.value.problems) == count
    assert "skip_unknown=True, --skip-unknown" in lines[-1]
    with pytest.raises(
        CheckpointPickleError, match=r"(?s)names 'a00\.b', which is not plain data.*skip_unknown"
    ):
        read(b"ca00\nb\n.")


def test_what_is_done_with_unknown_names_is_noted() -> None:
    net = b"cmine\nNet\n"
    (made,) = read(b"](" + net + b")R(K\1K\2e(K\3K\4u(K\5\x90}b" + b"e.", opaque=True)
    assert (made.name, made.arguments, made.entries, made.state) == ("mine.Net", (), [1, 2, 3, 4, 5], {})
    new = read(net + b"K\1\x85\x81.", opaque=True)
    assert (new.name, new.arguments, new.offset) == ("mine.Net", ((1,),), 15)
    ex = read(net + b"K\1\x85}\x92.", opaque=True)
    assert (ex.name, ex.arguments) == ("mine.Net", ((1,), {}))
    again = read(net + b")RK\7\x85R.", opaque=True)
    assert (type(again), again.name, again.arguments) == (Opaque, "mine.Net", (7,))
    of_unknown = read(b"ctorch\nSize\n" + net + b"\x85R.", opaque=True)
    assert (type(of_unknown), of_unknown.name) == (Opaque, "torch.Size")
    with pytest.raises(
        CheckpointPickleError, match=r"torch\.Size with arguments that do not fit: a size that is not"
    ):
        read(b"ctorch\nSize\nctorch\nTensor\n\x85R.", opaque=True)


@pytest.mark.parametrize("state", [b"]", b"}" + text("pop") + b"Ns", b"N"])
def test_an_ordered_dict_takes_metadata_alone(state: bytes) -> None:
    made = read(b"ccollections\nOrderedDict\n)R}" + text("_metadata") + b"}sb.")
    assert made._metadata == {}
    assert vars(read(b"ccollections\nOrderedDict\n)R}b.")) == {}
    with pytest.raises(CheckpointPickleError, match="BUILD sets attributes of a dict other than _metadata"):
        read(b"ccollections\nOrderedDict\n)R" + state + b"b.")


def test_a_state_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        CheckpointPickleError, match="a state that does not fit: the state of a NumPy dtype without"
    ):
        read(b"cnumpy\ndtype\n" + text("f4") + b"\x85R)b.")
    with pytest.raises(
        CheckpointPickleError, match=r"torch\.Size with arguments that do not fit: a size that is not"
    ):
        read(b"ctorch\nSize\nN\x85R.")


@pytest.mark.parametrize("size", [256, 257])
def test_numbers_have_so_many_bytes_at_most(size: int) -> None:
    pickled = b"\x8b" + struct.pack("<I", size) + b"\1" * size + b"."
    if size == 256:
        assert read(pickled) == int.from_bytes(b"\1" * 256, "little")
    else:
        with pytest.raises(
            CheckpointPickleError, match="a number of 257 bytes; no data has one of more than 256"
        ):
            read(pickled)


def test_keys_are_plain_and_short() -> None:
    for key in ("a", b"a", 1, 2.5, True, None, Named("a b"), Opaque("a", 1), (1,) * 8, ("a", None)):
        require_key(key)
    with pytest.raises(ValueError, match="a key that is a tuple of 9; no checkpoint has one of more than 8"):
        require_key((1,) * 9)
    for key in ([], {}, ((1,),), ("a", []), 1j, frozenset()):
        with pytest.raises(ValueError, match=f"a key of type {type(key).__name__}; keys of data are plain"):
            require_key(key)
