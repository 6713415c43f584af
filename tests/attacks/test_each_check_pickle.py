"""Each check of pickles of data: what opcodes, names and tensors are given, next to what they take."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

from packager.errors import LegacyFormatError
from packager.weights import PickleRefused, pickle_machine, pickle_opcodes
from packager.weights.legacy_tensors import LegacyStorage, checked_tensor
from packager.weights.pickle_machine import Named, Opaque, require_key
from packager.weights.pickle_opcodes import _OPERATIONS, read_pickle
from packager.weights.sign_bits import SignBits, ViewedStorages, sign_bits_in
from packager.weights.torch_names import storage_dtype, torch_names

NAMES = torch_names()


def read(data: bytes, opaque: bool = False, **options: Any) -> Any:
    return read_pickle(io.BytesIO(b"\x80\x02" + data), NAMES, opaque=opaque, **options)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


# --- what names are given ---


def storage_of(data: bytes, dtype: str = "float32") -> LegacyStorage:
    view = memoryview(data)
    return LegacyStorage("0", dtype, len(data), lambda start, stop: view[start:stop])


FLOATS = storage_of(struct.pack("<4f", 1, 2, 3, 4))
COMPLEX = storage_of(struct.pack("<4f", 1, 2, 3, 4), "complex64")
TENSOR = checked_tensor(FLOATS, "float32", 0, (4,), (1,))
NUMPY = NAMES["numpy dtype"]
F4 = NUMPY("f4")  # type: ignore[misc]  # it is called
REBUILT = Named("torch._utils _rebuild_tensor_v2")
WHOLE = (FLOATS, 0, (4,), (1,))


@pytest.mark.parametrize(
    ("name", "arguments", "made"),
    [
        ("torch Size", (), ()),
        ("torch Size", ([1, 2],), (1, 2)),
        ("torch Size", ((1, 2),), (1, 2)),
        ("torch device", ("cpu",), "cpu"),
        ("torch device", ("cuda", None), "cuda"),
        ("torch device", ("cuda", 0), "cuda:0"),
        ("torch.serialization _get_layout", ("torch.strided",), "torch.strided"),
        ("collections OrderedDict", (), OrderedDict()),
        ("collections OrderedDict", ([],), OrderedDict()),
        ("collections OrderedDict", ([("a", 1), ["b", 2]],), OrderedDict(a=1, b=2)),
        ("collections defaultdict", (), {}),
        ("collections defaultdict", (None,), {}),
        ("collections defaultdict", (Named("builtins list"),), {}),
        ("collections Counter", (), {}),
        ("collections Counter", ({"a": 1},), {"a": 1}),
        ("_codecs encode", ("\xe9", "latin1"), b"\xe9"),
        ("_codecs encode", ("\xe9",), b"\xe9"),
        ("_codecs encode", ("\xe9", "utf-8"), b"\xc3\xa9"),
        ("_codecs encode", ("\xe9", "UTF8"), b"\xc3\xa9"),
        ("builtins bytes", (), b""),
        ("builtins set", (), set()),
        ("builtins set", ([1, "a", b"b", None, 2.5, True],), {1, "a", b"b", None, 2.5}),
        ("builtins complex", (1, 2.5), 1 + 2.5j),
        ("builtins complex", (1,), 1 + 0j),
        ("builtins bytearray", (), b""),
        ("builtins bytearray", (b"ab",), b"ab"),
        ("builtins bytearray", ("\xe9", "latin-1"), b"\xe9"),
        ("numpy.core.multiarray scalar", (F4, struct.pack("<f", 2.5)), 2.5),
    ],
)
def test_names_of_data_make_data(name: str, arguments: tuple[Any, ...], made: Any) -> None:
    handler = NAMES[name]
    assert handler is not None
    found = handler(*arguments)
    assert (type(found), found) == (type(made), made)


PAIRS = "an OrderedDict is made of pairs of a text and a value, in a list"
SHAPE = "an array with something else than a shape"
BYTES = "an array that is not made of bytes and a dtype of numbers"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("torch Size", (3,), "a size that is not made of numbers"),
        ("torch Size", ("12",), "a size that is not made of numbers"),
        ("torch Size", ([True],), "a size that is not made of numbers"),
        ("torch Size", ([1, 2.0],), "a size that is not made of numbers"),
        ("torch device", (0,), "a device that is no name and number"),
        ("torch device", ("cuda", "0"), "a device that is no name and number"),
        ("torch device", ("cuda", False), "a device that is no name and number"),
        ("torch.serialization _get_layout", (1,), "a layout without a name"),
        ("torch._utils _rebuild_parameter", (FLOATS,), "a parameter without a tensor"),
        ("torch.nn.parameter Parameter", (None,), "a parameter without a tensor"),
        ("collections OrderedDict", ((("a", 1),),), PAIRS),
        ("collections OrderedDict", ({},), PAIRS),
        ("collections OrderedDict", ("",), PAIRS),
        ("collections OrderedDict", (["ab"],), PAIRS),
        ("collections OrderedDict", ([{"a", "b"}],), PAIRS),
        ("collections OrderedDict", ([("a",)],), PAIRS),
        ("collections OrderedDict", ([("a", 1, 2)],), PAIRS),
        ("collections OrderedDict", ([(1, "a")],), PAIRS),
        ("collections OrderedDict", ([("a", 1), (None, 1)],), PAIRS),
        ("collections defaultdict", (list,), "a defaultdict that is made of something else than a name"),
        ("collections defaultdict", ("list",), "a defaultdict that is made of something else than a name"),
        ("collections Counter", ([],), "a Counter that is not made of a dict"),
        ("collections Counter", (OrderedDict(),), "a Counter that is not made of a dict"),
        ("_codecs encode", (b"a", "latin1"), "bytes that are not made of a text"),
        ("_codecs encode", ("a", None), "bytes that are not made of a text"),
        ("_codecs encode", ("a", "rot13"), "bytes in encoding 'rot13'"),
        ("builtins set", ((1,),), "a set that is not made of a list of plain values"),
        ("builtins set", ({1},), "a set that is not made of a list of plain values"),
        ("builtins set", ([1, (2,)],), "a set that is not made of a list of plain values"),
        ("builtins complex", ("1", 1), "a complex number that is not made of numbers"),
        ("builtins complex", (1, True), "a complex number that is not made of numbers"),
        ("builtins bytearray", (5,), "bytearray of int"),
        ("builtins bytearray", ([1],), "bytearray of list"),
        ("numpy dtype", (4,), "NumPy's dtype '4' is not one of numbers"),
        ("numpy dtype", ("O8",), "NumPy's dtype 'O8' is not one of numbers"),
        ("numpy.core.multiarray _reconstruct", ("numpy ndarray", (0,), b"b"), "an array of another class"),
        ("numpy.core.multiarray _reconstruct", (Named("numpy matrix"), (0,), b"b"), "an array of another"),
        ("numpy.core.multiarray scalar", ("f4", bytes(4)), BYTES),
        ("numpy.core.multiarray scalar", (F4, "aaaa"), BYTES),
        ("numpy.core.multiarray scalar", (F4, bytes(5)), r"an array of float32 with shape \[\] in 5 bytes"),
        ("numpy.core.numeric _frombuffer", (bytes(4), "f4", (1,), "C"), BYTES),
        ("numpy.core.numeric _frombuffer", (bytes(4), F4, (1,), "K"), BYTES),
        ("numpy.core.numeric _frombuffer", (bytes(4), F4, [1], "C"), SHAPE),
        ("numpy.core.numeric _frombuffer", (bytes(4), F4, (True,), "C"), SHAPE),
        ("numpy.core.numeric _frombuffer", (bytes(4), F4, (-1,), "C"), SHAPE),
        ("numpy.core.numeric _frombuffer", (b"", F4, (0, 1 << 63), "C"), SHAPE),
        ("numpy.core.numeric _frombuffer", (bytes(8), F4, (1,), "C"), r"with shape \[1\] in 8 bytes"),
        ("numpy.core.numeric _frombuffer", (b"", F4, (0,) * 65, "C"), "a tensor of 65 axes with 65 strides"),
        ("torch._tensor _rebuild_from_type_v2", ("a", None, WHOLE, {}), "a tensor that is made by something"),
        ("torch._tensor _rebuild_from_type_v2", (Named("torch Size"), None, WHOLE, {}), "made by something"),
        ("torch._utils _rebuild_tensor_v2", ("a", 0, (4,), (1,)), "dtype"),
        ("torch._utils _rebuild_tensor_v3", (*WHOLE, False, None, Named("torch f5")), "f5"),
    ],
)
def test_names_of_data_take_what_they_need(name: str, arguments: tuple[Any, ...], message: str) -> None:
    handler = NAMES[name]
    assert handler is not None
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError), match=message):
        handler(*arguments)


def test_the_largest_extent_of_an_array_fits_into_63_bits() -> None:
    made = NAMES["numpy.core.numeric _frombuffer"](b"", F4, (0, (1 << 63) - 1))  # type: ignore[misc]  # it is called
    assert made.shape == (0, (1 << 63) - 1)


@pytest.mark.parametrize("name", ["_rebuild_tensor", "_rebuild_tensor_v2"])
def test_tensors_are_made_of_storages(name: str) -> None:
    made = NAMES[f"torch._utils {name}"](*WHOLE)  # type: ignore[misc]  # it is called
    assert made.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    inside = NAMES["torch._tensor _rebuild_from_type_v2"](REBUILT, None, WHOLE, {"note": 1})  # type: ignore[misc]
    assert inside.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    for wrapped in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        assert NAMES[f"torch._utils {wrapped}"](made, True, None) is made  # type: ignore[misc]


def test_a_tensor_over_bytes_has_the_dtype_beside_it() -> None:
    storage = storage_of(struct.pack("<2q", 5, 6), "uint8")
    made = NAMES["torch._utils _rebuild_tensor_v3"](  # type: ignore[misc]  # it is called
        storage, 1, (1,), (1,), False, None, Named("torch int64")
    )
    assert made.numpy().tolist() == [6]


@pytest.mark.parametrize(
    ("state", "big"),
    [((3, "<"), False), ((3, ">"), True), ((3, "|", None), False), ((3, "="), False)],
)
def test_the_state_of_a_dtype_is_its_byte_order(state: tuple[Any, ...], big: bool) -> None:
    dtype = NUMPY("f4")  # type: ignore[misc]  # it is called
    assert dtype.big_endian is False
    dtype.set_state(state)
    assert dtype.big_endian is big
    for wrong in ([3, "<"], (3,), (), ("<", "x"), (3, None), None):
        with pytest.raises(ValueError, match="the state of a NumPy dtype without a byte order"):
            dtype.set_state(wrong)


def test_an_array_without_its_state_is_empty() -> None:
    made = NAMES["numpy._core.multiarray _reconstruct"](Named("numpy ndarray"), (0,), b"b")  # type: ignore[misc]
    assert made.numpy().tolist() == []
    made.set_state((1, (2, 2), F4, True, struct.pack("<4f", 1, 2, 3, 4)))
    assert made.numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    made.set_state((1, (2, 2), F4, False, struct.pack("<4f", 1, 2, 3, 4)))
    assert made.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    big = NUMPY("f4")  # type: ignore[misc]  # it is called
    big.set_state((3, ">"))
    made.set_state((1, (2,), big, False, struct.pack(">2f", 1, 2)))
    assert made.numpy().tolist() == [1.0, 2.0]


def test_classes_of_storages_are_names() -> None:
    assert storage_dtype(Named("torch FloatStorage")) == "float32"
    assert storage_dtype(Named("torch.storage UntypedStorage")) == "uint8"
    with pytest.raises(TypeError, match="str is no class of storages"):
        storage_dtype("torch FloatStorage")
    with pytest.raises(KeyError, match="WordStorage"):
        storage_dtype(Named("torch WordStorage"))


# --- where tensors lie ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("0", "float32", 0, (1,), (1,)), "a tensor needs a storage, a shape and strides"),
        ((FLOATS, "float32", 0, [1], (1,)), "a tensor needs a storage, a shape and strides"),
        ((FLOATS, "float32", 0, (1,), [1]), "a tensor needs a storage, a shape and strides"),
        ((FLOATS, "float32", -1, (1,), (1,)), "are numbers that are not negative, below 2\\*\\*63"),
        ((FLOATS, "float32", True, (1,), (1,)), "are numbers that are not negative"),
        ((FLOATS, "float32", 0, (-1,), (1,)), "are numbers that are not negative"),
        ((FLOATS, "float32", 0, (1,), (-1,)), "are numbers that are not negative"),
        ((FLOATS, "float32", 0, (1.0,), (1,)), "are numbers that are not negative"),
        ((FLOATS, "float32", 1 << 63, (0,), (1,)), "are numbers that are not negative"),
        ((FLOATS, "float32", 0, (0, 1 << 63), (1, 1)), "are numbers that are not negative"),
        ((FLOATS, "float32", 0, (1,), (1, 1)), "a tensor of 1 axes with 2 strides"),
        ((FLOATS, "float32", 0, (1, 1), (1,)), "a tensor of 2 axes with 1 strides"),
        ((FLOATS, "float32", 0, (1,) * 65, (1,) * 65), "a tensor of 65 axes with 65 strides"),
        ((FLOATS, "float32", 0, (5,), (1,)), "shape [5] reaches element 4 of storage '0', which has 16"),
        ((FLOATS, "float32", 1, (4,), (1,)), "shape [4] reaches element 4 of storage '0', which has 16"),
        ((FLOATS, "float32", 0, (2,), (4,)), "shape [2] reaches element 4 of storage '0', which has 16"),
        ((FLOATS, "float64", 0, (3,), (1,)), "shape [3] reaches element 2 of storage '0', which has 16"),
    ],
)
def test_a_tensor_lies_inside_its_storage(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message if "*" in message else message.replace("[", r"\[")):
        checked_tensor(*arguments)


def test_tensors_that_fill_their_storage_or_have_no_elements_are_read() -> None:
    for offset, shape, strides in (
        (0, (4,), (1,)),
        (3, (1,), (1,)),
        (1, (2,), (2,)),
        (0, (1,) * 64, (1,) * 64),
        ((1 << 63) - 1, (0,), (7,)),
        (0, (0, (1 << 63) - 1), (1, 1)),
    ):
        made = checked_tensor(FLOATS, "float32", offset, shape, strides)
        assert made.size == (0 if 0 in shape else 2 if shape == (2,) else shape[0])
        assert made.offset == (0 if 0 in shape else offset)


def test_a_tensor_expands_to_so_much_of_its_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager.weights.legacy_tensors.largest_view", lambda nbytes: 10 * nbytes)
    assert checked_tensor(FLOATS, "float32", 0, (10, 4), (0, 1)).nbytes == 160
    with pytest.raises(
        ValueError, match=r"\[11, 4\] over a storage of 16 bytes expands to 176 bytes; .* 160"
    ):
        checked_tensor(FLOATS, "float32", 0, (11, 4), (0, 1))


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (0, 17), (17, 17)])
def test_storages_give_their_own_bytes(start: int, stop: int) -> None:
    assert bytes(FLOATS.read(16, 16)) == b""
    with pytest.raises(LegacyFormatError, match=f"bytes {start} to {stop} were asked for; it has 16"):
        FLOATS.read(start, stop)


# --- signs ---


@pytest.mark.parametrize(
    ("metadata", "bits"),
    [
        (None, SignBits()),
        ({}, SignBits()),
        ({"conj": True}, SignBits(True, False)),
        ({"neg": True, "conj": False}, SignBits(False, True)),
    ],
)
def test_the_metadata_of_a_tensor_are_its_signs(metadata: Any, bits: SignBits) -> None:
    assert sign_bits_in(metadata) == bits


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([], "the metadata of a tensor is list; expected a dict"),
        ("conj", "the metadata of a tensor is str; expected a dict"),
        ({"zero": True}, "the metadata of a tensor has 'zero', and what that means"),
        ({1: True}, "the metadata of a tensor has 1, and what that means"),
        ({"conj": True, "zero": True}, "has 'zero', and"),
        ({"conj": 1}, "'conj' in the metadata of a tensor is 1; expected true or false"),
        ({"conj": True, "neg": None}, "'neg' in the metadata of a tensor is None; expected true or false"),
    ],
)
def test_other_metadata_is_refused(metadata: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sign_bits_in(metadata)


def test_signs_are_those_that_a_dtype_has() -> None:
    views = ViewedStorages(big_endian=False)
    assert views.shown(COMPLEX, "bool", SignBits()) is COMPLEX
    assert views.shown(COMPLEX, "complex64", SignBits(True)) is views.shown(
        COMPLEX, "complex64", SignBits(True)
    )
    for dtype in ("float32", "int64", "bool", "float8_e5m2"):
        with pytest.raises(ValueError, match=f"a tensor of {dtype} is marked as conjugated; only complex"):
            views.shown(COMPLEX, dtype, SignBits(True))
    for dtype in ("bool", "float8_e5m2", "uint16"):
        with pytest.raises(ValueError, match=f"a tensor of {dtype} is marked as negated, and that dtype has"):
            views.shown(COMPLEX, dtype, SignBits(False, True))
    assert views.shown(FLOATS, "float32", SignBits(False, True)) is not FLOATS


# --- opcodes ---


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
    "r, j": (b"K\7r\0\0\0\x010j\0\0\0\x01", 7),
    "MEMOIZE": (b"K\5\x94K\6\x94" + b"00h\1h\0\x86", (6, 5)),
    "\x95": (b"\x95" + bytes(8) + b"K\1", 1),
}


@pytest.mark.parametrize("name", VALUES)
def test_opcodes_make_what_pythons_make(name: str) -> None:
    pickled, made = VALUES[name]
    found = read(pickled + b".")
    assert (type(found), found) == (type(made), made)
    if name not in ("T", "U"):
        assert found == pickle.loads(b"\x80\x04" + pickled + b".")


EMPTY = "an operation finds the stack empty; the pickle is damaged"
NO_MARK = "an operation finds no mark; the pickle is damaged"


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
        (text("a" * 500) + text("b" * 501) + b"\x93", "STACK_GLOBAL without two texts"),
        (b"c" + b"a" * 1001 + b"\nb\n", "a name that is too long, or without an end"),
        (b"ca\n" + b"b" * 1001 + b"\n", "a name that is too long, or without an end"),
        (b"ca\nb", "a name that is too long, or without an end"),
    ],
)
def test_each_opcode_finds_what_it_needs(pickled: bytes, message: str) -> None:
    stopped = pickled + (b"." if message != "a pickle that ends" else b"")
    expected = "expected 2 bytes, there are 1; it is cut short" if stopped == pickled else message
    with pytest.raises(PickleRefused, match=expected):
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
    with pytest.raises(PickleRefused, match=r"(?s)offset 2: .*names 'a1\.b', .*offset 9: 'a2\.b', neither"):
        read(three + b"N.")
    with pytest.raises(PickleRefused, match="the pickle names more than 3 things that are not plain data"):
        read(three + b"ca4\nb\n0N.", opaque=True)


@pytest.mark.parametrize(
    ("count", "last"), [(21, "neither"), (22, "and 1 more names"), (24, "and 3 more names")]
)
def test_a_refusal_names_twenty_one_and_counts_the_rest(count: int, last: str) -> None:
    names = b"".join(f"ca{n:02}\nb\n0".encode() for n in range(count))
    with pytest.raises(PickleRefused) as refused:
        read(names + b"N.")
    lines = str(refused.value).splitlines()
    assert lines[-2].endswith(last)
    assert sum("offset" in line for line in lines) == 21
    assert "read without them" in lines[-1]
    with pytest.raises(PickleRefused, match=r"names 'a00\.b', which is not plain data; read without them"):
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
        PickleRefused, match=r"torch\.Size with arguments that do not fit: a size that is not"
    ):
        read(b"ctorch\nSize\nctorch\nTensor\n\x85R.", opaque=True)


@pytest.mark.parametrize("state", [b"]", b"}" + text("pop") + b"Ns", b"N"])
def test_an_ordered_dict_takes_metadata_alone(state: bytes) -> None:
    made = read(b"ccollections\nOrderedDict\n)R}" + text("_metadata") + b"}sb.")
    assert made._metadata == {}
    assert vars(read(b"ccollections\nOrderedDict\n)R}b.")) == {}
    with pytest.raises(PickleRefused, match="BUILD sets attributes of a dict other than _metadata"):
        read(b"ccollections\nOrderedDict\n)R" + state + b"b.")


def test_a_state_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PickleRefused, match="a state that does not fit: the state of a NumPy dtype without"):
        read(b"cnumpy\ndtype\n" + text("f4") + b"\x85R)b.")
    with pytest.raises(
        PickleRefused, match=r"torch\.Size with arguments that do not fit: a size that is not"
    ):
        read(b"ctorch\nSize\nN\x85R.")


@pytest.mark.parametrize("size", [256, 257])
def test_numbers_have_so_many_bytes_at_most(size: int) -> None:
    pickled = b"\x8b" + struct.pack("<I", size) + b"\1" * size + b"."
    if size == 256:
        assert read(pickled) == int.from_bytes(b"\1" * 256, "little")
    else:
        with pytest.raises(PickleRefused, match="a number of 257 bytes; no data has one of more than 256"):
            read(pickled)


def test_keys_are_plain_and_short() -> None:
    for key in ("a", b"a", 1, 2.5, True, None, Named("a b"), Opaque("a", 1), (1,) * 8, ("a", None)):
        require_key(key)
    with pytest.raises(ValueError, match="a key that is a tuple of 9; no checkpoint has one of more than 8"):
        require_key((1,) * 9)
    for key in ([], {}, ((1,),), ("a", []), 1j, frozenset()):
        with pytest.raises(ValueError, match=f"a key of type {type(key).__name__}; keys of data are plain"):
            require_key(key)


# --- what a pickle spends ---


def spent(pickled: bytes) -> int:
    """What a pickle takes of its budget; it asks for no storage."""
    data, plenty = b"\x80\x02" + pickled, 1 << 40
    machine = pickle_machine.Machine(io.BytesIO(data), NAMES, str, "pickle", len(data), plenty)
    pickle_opcodes._run(machine)
    return plenty - machine.budget


TWO = text("a") + text("b")  # which costs 2 * 69

SPENT = [
    (b"N", 8),
    (b"\x88", 8),
    (b"\x89", 8),
    (b"\x95" + bytes(8) + b"N", 8 + 8),
    (b"K\1", 8 + 1),
    (b"J\1\1\1\1", 40 + 4),
    (b"M\1\1", 40 + 2),
    (b"G" + bytes(8), 40 + 8),
    (b"\x8a\1\1", 48 + 1 + 1),
    (b"\x8b\1\0\0\0\1", 48 + 4 + 1),
    (b"C\2ab", 48 + 1 + 2),
    (b"B\2\0\0\0ab", 48 + 4 + 2),
    (b"\x8e\2" + bytes(7) + b"ab", 48 + 8 + 2),
    (b"\x96\2" + bytes(7) + b"ab", 48 + 8 + 2),
    (b"X\2\0\0\0ab", 64 + 4 + 2),
    (b"\x8c\2ab", 64 + 1 + 2),
    (b"\x8d\2" + bytes(7) + b"ab", 64 + 8 + 2),
    (b"T\2\0\0\0ab", 64 + 4 + 2),
    (b"U\2ab", 64 + 1 + 2),
    (b"NN0", 8 + 8 + 0),
    (b")", 8),
    (b"N\x85", 8 + 64),
    (b"NN\x86", 16 + 72),
    (b"NNN\x87", 24 + 80),
    (b"(t", 80 + 80),
    (b"(K\1K\2t", 80 + 80 + 2 * 9),
    (b"(l", 80 + 72),
    (b"]K\1a", 72 + 9 + 90),
    (b"](K\1K\2e", 72 + 80 + 18 + 8),
    (b"}K\1K\2s", 72 + 18 + 250 + 112),
    (b"}(K\1K\2K\2K\2u", 72 + 80 + 36 + 250 + 2 * 112),
    (b"(K\1K\2d", 80 + 18 + 250 + 112),
    (b"\x8f(K\0K\1\x90", 232 + 80 + 18 + 232 + 2 * 112),
    (b"(K\0K\1\x91", 80 + 18 + 232 + 2 * 112),
    (b"}K\x09Ns", 72 + 9 + 8 + 250 + 112 + 112),  # a key that might collide
    (b"Nq\1" + b"0h\1", 8 + 101 + 0 + 9),
    (b"Nr\1\0\0\0" + b"0j\1\0\0\0", 8 + 104 + 0 + 12),
    (b"N\x94", 8 + 140),
    (b"NQ", 8 + 500),
    (b"ctorch\nSize\n", 250),
    (text("torch") + text("Size") + b"\x93", 73 + 72 + 250),
    (b"ctorch\nSize\n)R", 250 + 8 + 800),
    (b"ca\nb\n)R}b", 250 + 8 + 800 + 72 + 250),
    (b"ca\nb\n)\x81", 250 + 8 + 250),
    (b"ca\nb\n)}\x92", 250 + 8 + 72 + 250),
    (b"ctorch\nSize\n(K\1K\2t\x85R", 250 + 80 + 18 + 80 + 64 + 800 + 16 + 2 * 16),
    (b"ccollections\nOrderedDict\n](" + TWO + b"\x86e\x85R", 250 + 72 + 80 + 138 + 72 + 8 + 64 + 816 + 112),
    (b"ccollections\nCounter\n}" + TWO + b"s\x85R", 250 + 72 + 138 + 250 + 112 + 64 + 800 + 16 + 112),
    (b"c_codecs\nencode\n" + text("abc") + b"\x85R", 250 + 71 + 64 + 800 + 16 + 3 * 4),
]


@pytest.mark.parametrize(("pickled", "price"), SPENT)
def test_each_operation_has_its_price(monkeypatch: pytest.MonkeyPatch, pickled: bytes, price: int) -> None:
    """Besides it, a byte costs one: here that of the protocol."""
    assert spent(pickled + b".") == price + 1
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", 0)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price + 1)
    read_pickle(io.BytesIO(b"\x80\x02" + pickled + b"."), NAMES, str, opaque=True)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", price)
    with pytest.raises(PickleRefused, match=r"objects than a checkpoint|larger than that of a checkpoint"):
        read_pickle(io.BytesIO(b"\x80\x02" + pickled + b"."), NAMES, str, opaque=True)


def test_every_operation_is_among_those_whose_price_is_asked() -> None:
    asked = b"".join(pickled for pickled, _ in SPENT)
    assert [code for code in _OPERATIONS if code not in asked + b"\x80"] == []


def test_an_operation_pays_for_what_it_makes() -> None:
    """The price is no less than the memory, but for the place on the stack."""
    made: list[tuple[bytes, Any]] = [
        (b"J", 1 << 30),
        (b"M", 1 << 15),
        (b"G", 2.5),
        (b"\x8a", 1 << 20),
        (b"]", []),
        (b"}", {}),
        (b"\x8f", set()),
        (b"\x85", (1,)),
        (b"\x86", (1, 2)),
        (b"\x87", (1, 2, 3)),
    ]
    for code, value in made:
        assert _OPERATIONS[code][1] + 8 >= sys.getsizeof(value), code


def test_what_is_free_is_shared_by_the_files_of_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = b"](" + b"]" * 10 + b"e."
    need = spent(pickled)
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", 0)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", 3 * need)
    assert len(read(pickled, one_of=3)) == 10
    with pytest.raises(PickleRefused, match="the pickle makes far more objects than a checkpoint"):
        read(pickled, one_of=4)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", 0)
    size = len(pickled) + 2
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", -(-need // size))
    assert len(read(pickled)) == 10
    monkeypatch.setattr(pickle_opcodes, "MEMORY_PER_BYTE", need // size - 1)
    with pytest.raises(PickleRefused, match="the pickle makes far more objects than a checkpoint"):
        read(pickled)
    monkeypatch.setattr(pickle_opcodes, "FREE_MEMORY", need + 1)
    monkeypatch.setattr(pickle_opcodes, "MAX_MEMORY", need)
    assert len(read(pickled)) == 10
    monkeypatch.setattr(pickle_opcodes, "MAX_MEMORY", need - 1)
    with pytest.raises(PickleRefused, match="the pickle makes far more objects than a checkpoint"):
        read(pickled)


def test_a_pickle_is_read_from_where_the_stream_stands() -> None:
    stream = io.BytesIO(b"before\x80\x02N.\x80\x02K\7.behind")
    stream.seek(6)
    assert read_pickle(stream, {}) is None
    assert (stream.tell(), read_pickle(stream, {}), stream.tell()) == (10, 7, 15)
    stream.seek(6)
    with pytest.raises(PickleRefused, match="offset 2: expected 5 bytes, there are 4; it is cut short"):
        read_pickle(io.BytesIO(b"\x80\x02C\5abcdefghij"), {}, size=8)


KEYS: dict[str, Callable[[int], bytes]] = {
    "numbers": lambda n: b"J" + struct.pack("<i", 1_000_000 + 7 * n),
    "tuples": lambda n: b"J" + struct.pack("<i", n) + b"\x85",
}


@pytest.mark.parametrize("kind", KEYS)
def test_dicts_are_looked_through_where_keys_may_collide(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Once for so many keys, and by the sixteenth of what is there: each look is paid for."""
    looked: list[int] = []
    require = pickle_machine.require_spread
    monkeypatch.setattr(
        pickle_machine,
        "require_spread",
        lambda keys, **options: looked.append(len(keys)) or require(keys, **options),
    )
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 4)
    keys = [KEYS[kind](n) for n in range(200)]
    one_by_one = b"}" + b"".join(key + b"Ns" for key in keys) + b"."
    assert len(read(one_by_one)) == 200
    assert looked[:4] == [5, 10, 15, 20]
    assert looked[-3:] == [171, 183, 196]
    looked.clear()
    assert len(read(b"}(" + b"".join(key + b"N" for key in keys) + b"u.")) == 200
    assert looked == [200]
    looked.clear()
    monkeypatch.setattr(pickle_machine, "MAX_UNSEEN_KEYS", 4)
    assert len(read(one_by_one)) == 200
    assert looked == list(range(5, 201, 5))


def test_texts_and_numbers_that_count_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_machine, "FREE_KEYS", 0)

    def refuse(keys: Any, **options: Any) -> None:
        raise ValueError("looked at")

    monkeypatch.setattr(pickle_machine, "require_spread", refuse)
    for first in (0, 1):
        counted = b"".join(b"K" + bytes([n]) + b"N" for n in range(first, 20))
        assert len(read(b"}(" + counted + b"u.")) == 20 - first
        assert (
            len(read(b"}" + b"".join(b"K" + bytes([n]) + b"Ns" for n in range(first, 20)) + b"."))
            == 20 - first
        )
    assert len(read(b"}(" + b"".join(text(f"k{n}") + b"N" for n in range(20)) + b"u.")) == 20
    assert len(read(b"}(" + b"".join(b"C\1" + bytes([n]) + b"N" for n in range(20)) + b"u.")) == 20
    for start in (2, 255):
        with pytest.raises(PickleRefused, match="looked at"):
            read(b"}K" + bytes([start]) + b"Ns.")
    with pytest.raises(PickleRefused, match="looked at"):
        read(b"}J\xff\xff\xff\xffNs.")
    with pytest.raises(PickleRefused, match="looked at"):
        read(b"(K\5\x91.")
