"""Each check of what names of a checkpoint are given: arguments, storages, signs, next to what they take."""

from __future__ import annotations

import io
import struct
from collections import OrderedDict
from typing import Any

import pytest

from packager._weights.legacy_tensors import LegacyStorage, checked_tensor
from packager._weights.pickle_machine import Named
from packager._weights.pickle_opcodes import read_pickle
from packager._weights.sign_bits import SignBits, ViewedStorages, sign_bits_in
from packager._weights.torch_names import storage_dtype, torch_names
from packager.errors import LegacyFormatError
from tests.tables import one_test

NAMES = torch_names()


def read(data: bytes, opaque: bool = False, **options: Any) -> Any:
    return read_pickle(io.BytesIO(b"\x80\x02" + data), NAMES, opaque=opaque, **options)


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


@one_test
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


@one_test
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
        ("numpy dtype", ("O8",), r"^numpy\.dtype\('O8'\)$"),
        ("numpy dtype", ("U" + "1" * 99,), r"^numpy\.dtype\('U1{39}'\)$"),
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
        (
            "numpy.core.numeric _frombuffer",
            (b"", F4, (0,) * 65, "C"),
            "the shape has 65 dimensions; expected at most 64",
        ),
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
    made = NAMES["numpy.core.numeric _frombuffer"](b"", F4, (0, (1 << 61) - 1))  # type: ignore[misc]  # it is called
    assert made.shape == (0, (1 << 61) - 1)


@pytest.mark.parametrize("name", ["_rebuild_tensor", "_rebuild_tensor_v2"])
def test_tensors_are_made_of_storages(name: str) -> None:
    made = NAMES[f"torch._utils {name}"](*WHOLE)  # type: ignore[misc]  # it is called
    assert made.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    inside = NAMES["torch._tensor _rebuild_from_type_v2"](REBUILT, None, WHOLE, {"note": 1})  # type: ignore[misc]  # it is called
    assert inside.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    for wrapped in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        assert NAMES[f"torch._utils {wrapped}"](made, True, None) is made  # type: ignore[misc]  # it is called


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
    made = NAMES["numpy._core.multiarray _reconstruct"](Named("numpy ndarray"), (0,), b"b")  # type: ignore[misc]  # it is called
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


@one_test
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
        ((FLOATS, "float32", 0, (1,) * 65, (1,) * 65), "the shape has 65 dimensions; expected at most 64"),
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
        (0, (0, (1 << 61) - 1), (1, 1)),
    ):
        made = checked_tensor(FLOATS, "float32", offset, shape, strides)
        assert made.size == (0 if 0 in shape else 2 if shape == (2,) else shape[0])
        assert made.offset == (0 if 0 in shape else offset)


def test_a_tensor_expands_to_so_much_of_its_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packager._weights.legacy_tensors.largest_view", lambda nbytes: 10 * nbytes)
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


@one_test
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
