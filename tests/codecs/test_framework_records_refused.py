"""What codecs of kellet and PyTorch demand of their records before anything is imported or built."""

from __future__ import annotations

import re
from typing import Any

import pytest

from packager._archive import bounds
from packager._codecs import Child, ObjectCodec
from tests.codecs.parts import codec_of
from tests.tables import one_test

INT, TEXT, NONE, FLOAT = (Child("scalar", None, value) for value in (1, "a", None, 0.5))
TRUE = Child("scalar", None, True)
LIST, DICT, CLASS, OBJECT, METHOD = map(Child, ("list", "dict", "global", "object", "method"))
ARRAY, REGISTRY = Child("codec", "numpy.ndarray"), Child("codec", "kellet.hooks")
DENSE, KELLET = Child("codec", "torch.tensor"), Child("codec", "kellet.tensor")


def memory(*shape: int, dtype: str = "F32", strides: list[int] | None = None) -> Child:
    return Child("tensor", None, (dtype, list(shape), strides, 0))


HOOK = [TEXT, INT, METHOD, DICT]

# Of arrays of objects, and of tensors.
SIZES = [f"a shape: ints from 0 to {most - 1}" for most in (bounds.MAX_NUMPY_EXTENT, bounds.MAX_EXTENT)]
ACCEPTED: list[tuple[str, Any, list[Child]]] = [
    ("kellet.hooks", None, []),
    ("kellet.handle", None, []),
    ("kellet.gate", "_prehook", []),
    ("kellet.gate", "_posthook", []),
    ("kellet.subclass", True, [CLASS, ARRAY]),
    ("kellet.device", "cpu", []),
    ("kellet.size", [2, 0], []),
    ("kellet.tensor", ["Buffer", "<f4", False, "empty", bounds.MAX_EXTENT - 1, 0], []),
    ("numpy.subclass", None, [CLASS, ARRAY]),
    ("numpy.ndarray", ["matrix", "elements", 2, 1], [Child("codec", "numpy.dtype"), INT, TEXT]),
    ("numpy.ndarray", ["ndarray", "elements"], [Child("codec", "numpy.dtype"), INT]),
    (
        "numpy.ndarray",
        ["ndarray", "elements", *[1] * bounds.MAX_NUMPY_RANK],
        [Child("codec", "numpy.dtype"), INT],
    ),
    ("numpy.ndarray", ["recarray", None], [memory(2, 4, dtype="U8"), Child("codec", "numpy.dtype")]),
    ("numpy.ndarray", ["ndarray", "<c16"], [memory(3, 16, dtype="U8")]),
    ("torch.value", ["Size"], []),
    ("torch.value", ["Size", 2, -1], []),
    ("torch.value", ["device", "cuda:0"], []),
    ("torch.tensor", ["Tensor", "float32", "cuda:0", False], [memory(2)]),
    ("torch.tensor", ["Parameter", "complex64", "cpu", True, "conj"], [memory(2, dtype="C64")]),
    ("torch.tensor", ["Tensor", "complex64", "cpu", True, "conj", "neg"], [memory(2, dtype="C64")]),
    ("torch.tensor", ["Tensor", "float32", "cpu", True, "neg"], [memory(2)]),
    ("torch.tensor", ["Tensor", "float32", "meta", True, "empty", 2, 0], []),
    ("torch.sparse", ["sparse_coo", False, True, 2, 0], [DENSE, DENSE]),
    ("torch.sparse", ["Parameter", "sparse_coo", True, False], [DENSE, DENSE]),
    ("torch.sparse", ["sparse_bsc", False, False, bounds.MAX_EXTENT - 1], [DENSE] * 3),
    ("torch.quantized", ["qint8", None], [DENSE, FLOAT, INT]),
    ("torch.quantized", ["quint8", None, "Parameter"], [DENSE, FLOAT, INT]),
    ("torch.quantized", ["qint32", -1], [DENSE, DENSE, DENSE]),
    ("torch.generator", "cpu", [DENSE]),
    ("torch.handle", None, []),
    ("torch.subclass", False, [CLASS, DENSE]),
    ("kellet.optimizer", None, [CLASS, DICT]),
    ("torch.optimizer", None, [CLASS, DICT]),
]

AN_ARRAY, A_KIND = "the class and the dtype of an array", "a kind of tensor and a dtype"
REFUSED: list[tuple[str, Any, list[Child], str]] = [
    ("kellet.hooks", 1, [], "nothing"),
    ("kellet.hooks", None, [INT], "nothing"),
    ("kellet.handle", 1, [], "nothing"),
    ("kellet.handle", None, [INT], "nothing"),
    ("torch.handle", 1, [], "nothing"),
    ("torch.handle", None, [INT], "nothing"),
    ("kellet.gate", "hook", [], "the place of a hook"),
    ("kellet.gate", "_prehook", [OBJECT], "the place of a hook"),
    ("kellet.subclass", 1, [CLASS, ARRAY], "a class"),
    ("kellet.subclass", True, [CLASS], "a class"),
    ("kellet.subclass", True, [OBJECT, ARRAY], "a class"),
    ("kellet.subclass", True, [CLASS, DENSE], "an array"),
    ("kellet.device", "cuda", [], "'cpu'"),
    ("kellet.device", "cpu", [INT], "'cpu'"),
    ("kellet.size", [2, True], [], "the sizes of a shape"),
    ("kellet.size", "23", [], "the sizes of a shape"),
    ("kellet.size", [2], [INT], "the sizes of a shape"),
    ("kellet.tensor", "Tensor", [memory(2)], "kind, dtype, requires_grad"),
    ("kellet.tensor", ["Tensor", "<f4", True], [memory(2), memory(2)], "memory"),
    ("kellet.tensor", ["Tensor", "<f4", True], [INT], "a tensor of F32"),
    ("numpy.subclass", 1, [CLASS, ARRAY], "a class and an array"),
    ("numpy.subclass", None, [CLASS], "a class and an array"),
    ("numpy.subclass", None, [OBJECT, ARRAY], "a class and an array"),
    ("numpy.subclass", None, [CLASS, DENSE], "a class and an array"),
    ("numpy.ndarray", "ndarray", [memory(2)], AN_ARRAY),
    ("numpy.ndarray", ["ndarray"], [memory(2)], AN_ARRAY),
    ("numpy.ndarray", ["ndarray", None, 1], [memory(2, 4, dtype="U8"), CLASS], AN_ARRAY),
    ("numpy.ndarray", ["ndarray", None], [memory(2, 4, dtype="U8"), CLASS], "memory and a dtype"),
    ("numpy.ndarray", ["ndarray", None], [memory(2, 4, dtype="U8")], "memory and a dtype"),
    (
        "numpy.ndarray",
        ["ndarray", None],
        [memory(dtype="U8"), Child("codec", "numpy.dtype")],
        "rows of bytes",
    ),
    ("numpy.ndarray", ["ndarray", "<c16"], [memory(3, 8, dtype="U8")], "rows of 16 bytes"),
    ("numpy.ndarray", ["ndarray", "<c16"], [memory(dtype="U8")], "rows of 16 bytes"),
    ("numpy.ndarray", ["ndarray", "elements", 1], [INT, INT], "a dtype"),
    ("numpy.ndarray", ["ndarray", "elements", 1], [], "a dtype"),
    ("numpy.ndarray", ["ndarray", "elements", -1], [Child("codec", "numpy.dtype")], f"{SIZES[0]}, found -1"),
    (
        "numpy.ndarray",
        ["ndarray", "elements", bounds.MAX_NUMPY_EXTENT, 0],
        [Child("codec", "numpy.dtype")],
        f"{SIZES[0]}, found {bounds.MAX_NUMPY_EXTENT}",
    ),
    (
        "numpy.ndarray",
        ["ndarray", "elements", 2],
        [Child("codec", "numpy.dtype"), INT],
        "as many elements as the shape says, found 1",
    ),
    (
        "numpy.ndarray",
        ["ndarray", "elements", *[1] * (bounds.MAX_NUMPY_RANK + 1)],
        [Child("codec", "numpy.dtype"), INT],
        f"a shape of at most {bounds.MAX_NUMPY_RANK} sizes, found {bounds.MAX_NUMPY_RANK + 1}",
    ),
    ("numpy.masked", "masked", [ARRAY, ARRAY, ARRAY], "data, mask and fill value"),
    ("numpy.masked", True, [ARRAY, NONE, TEXT], "arrays"),
    ("torch.value", "Size", [], "the kind of value"),
    ("torch.value", [], [], "the kind of value"),
    ("torch.value", ["Size"], [INT], "the kind of value"),
    ("torch.value", ["Size", True], [], "sizes"),
    ("torch.value", ["function", "add"], [], "a kind and a name"),
    ("torch.value", ["dtype"], [], "a kind and a name"),
    ("torch.value", ["dtype", "float32", "int8"], [], "a kind and a name"),
    ("torch.value", ["dtype", 1], [], "a name"),
    ("torch.value", ["dtype", "float.real"], [], "a name"),
    ("torch.tensor", "Tensor", [memory(2)], "kind, dtype, device, requires_grad"),
    ("torch.tensor", ["Tensor", "float32", "cpu"], [memory(2)], "kind, dtype, device, requires_grad"),
    ("torch.tensor", ["Buffer", "float32", "cpu", False], [memory(2)], A_KIND),
    ("torch.tensor", ["Tensor", 1, "cpu", False], [memory(2)], A_KIND),
    ("torch.tensor", ["Tensor", "F32", "cpu", False], [memory(2)], A_KIND),
    ("torch.tensor", ["Tensor", "float32", 1, False], [memory(2)], "a device"),
    ("torch.tensor", ["Tensor", "float32", "c p", False], [memory(2)], "a device"),
    ("torch.tensor", ["Tensor", "float32", "cpu", 1], [memory(2)], "requires_grad"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False], [], "memory"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False], [memory(2), memory(2)], "memory"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False, "neg", "conj"], [memory(2)], "no values"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False, "empty", 2], [memory(2)], "no values"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False, "empty", -1], [], f"{SIZES[1]}, found -1"),
    ("torch.tensor", ["Tensor", "float32", "cpu", False, "conj"], [memory(2)], "complex numbers"),
    ("torch.sparse", "sparse_coo", [DENSE, DENSE], "a layout and a shape"),
    ("torch.sparse", ["sparse_coo", False], [DENSE, DENSE], "a layout and a shape"),
    ("torch.sparse", ["strided", False, False], [DENSE, DENSE], "a layout"),
    ("torch.sparse", ["sparse_coo", 0, False], [DENSE, DENSE], "a layout"),
    ("torch.sparse", ["sparse_coo", False, 0], [DENSE, DENSE], "a layout"),
    ("torch.sparse", ["sparse_coo", False, False, -1], [DENSE, DENSE], f"{SIZES[1]}, found -1"),
    (
        "torch.sparse",
        ["sparse_coo", False, False, bounds.MAX_EXTENT],
        [DENSE, DENSE],
        f"{SIZES[1]}, found {bounds.MAX_EXTENT}",
    ),
    ("torch.sparse", ["sparse_coo", False, False, 2], [DENSE] * 3, "indices and values"),
    ("torch.sparse", ["sparse_csr", False, False, 2], [DENSE] * 2, "indices and values"),
    ("torch.sparse", ["sparse_coo", False, False, 2], [DENSE, KELLET], "indices and values"),
    ("torch.quantized", "qint8", [DENSE, FLOAT, INT], "a dtype and an axis"),
    ("torch.quantized", ["qint8"], [DENSE, FLOAT, INT], "a dtype and an axis"),
    ("torch.quantized", ["qint8", None, "Parameter", 1], [DENSE, FLOAT, INT], "a dtype and an axis"),
    ("torch.quantized", ["qint8", None], [DENSE, FLOAT], "three parts, of a tensor or parameter"),
    (
        "torch.quantized",
        ["qint8", None, "Tensor"],
        [DENSE, FLOAT, INT],
        "three parts, of a tensor or parameter",
    ),
    ("torch.quantized", ["qint4", None], [DENSE, FLOAT, INT], "a quantized dtype"),
    ("torch.quantized", ["qint8", True], [DENSE, DENSE, DENSE], "an axis"),
    ("torch.quantized", ["qint8", None], [KELLET, FLOAT, INT], "integers"),
    ("torch.quantized", ["qint8", None], [DENSE, INT, INT], "two numbers"),
    ("torch.quantized", ["qint8", None], [DENSE, FLOAT, FLOAT], "two numbers"),
    ("torch.quantized", ["qint8", None], [DENSE, FLOAT, DENSE], "two numbers"),
    ("torch.quantized", ["qint8", 0], [DENSE, KELLET, DENSE], "scales and zero points"),
    ("torch.quantized", ["qint8", 0], [DENSE, DENSE, INT], "scales and zero points"),
    ("torch.generator", 1, [DENSE], "a device and a state"),
    ("torch.generator", "cpu", [], "a device and a state"),
    ("torch.generator", "cpu", [KELLET], "a device and a state, found kellet.tensor"),
    ("kellet.optimizer", 1, [CLASS, DICT], "a class and a state"),
    ("kellet.optimizer", None, [CLASS, DICT, DICT], "a class and a state"),
    ("kellet.optimizer", None, [OBJECT, DICT], "a class and a state"),
    ("kellet.optimizer", None, [CLASS, LIST], "a class and a state"),
]


@one_test
@pytest.mark.parametrize(("name", "literal", "children"), ACCEPTED)
def test_what_a_codec_writes_passes(name: str, literal: Any, children: list[Child]) -> None:
    codec_of(name).check(literal, children, 1)


@one_test
@pytest.mark.parametrize(("name", "literal", "children", "expected"), REFUSED)
def test_what_no_codec_writes_is_refused(
    name: str, literal: Any, children: list[Child], expected: str
) -> None:
    with pytest.raises(ValueError, match=f"^expected {re.escape(expected)}$"):
        codec_of(name).check(literal, children, 1)


# --- the second phase ---

STATE = "whether the state is natural, and the number of classes"
FINISHED: list[tuple[str, Any, list[Child]]] = [
    ("kellet.module", "wrapper", []),
    *((f"{family}.module", "hooks", HOOK * count) for family in ("kellet", "torch") for count in (1, 2)),
    ("torch.module", ["state", True, 0], []),
    ("torch.module", ["state", True, 2, 1, 3], [CLASS, CLASS]),
    ("torch.module", ["state", False, 0, "w"], [KELLET, NONE]),
    ("torch.module", ["state", False, 1, 1, "w"], [CLASS, INT, DICT]),
    ("kellet.hooks", None, [INT, METHOD, DICT]),
    ("kellet.hooks", None, [INT, METHOD, DICT, INT, METHOD, DICT]),
    ("kellet.handle", ["", 0], [REGISTRY]),
    ("kellet.handle", ["forward", 1], [OBJECT]),
    ("kellet.handle", ["forward", 1], [Child("codec", "kellet.module")]),
    ("kellet.gate", None, [OBJECT]),
]
UNFINISHED: list[tuple[str, Any, list[Child], str]] = [
    ("kellet.module", "wrapper", [OBJECT], "nothing but the word"),
    ("torch.module", "hooks", [], "hooks"),
    ("torch.module", "hooks", HOOK[:3], "hooks"),
    ("torch.module", "hooks", [*HOOK, TEXT], "hooks"),
    ("torch.module", "hooks", [INT, INT, METHOD, DICT], "the kind of a hook"),
    ("torch.module", "hooks", [Child("codec", "x", "a"), INT, METHOD, DICT], "the kind of a hook"),
    ("torch.module", "hooks", [TEXT, TRUE, METHOD, DICT], "the number of a hook"),
    ("torch.module", "hooks", [TEXT, Child("codec", "x", 1), METHOD, DICT], "the number of a hook"),
    ("torch.module", "hooks", [TEXT, INT, METHOD, LIST], "the options of a hook"),
    ("torch.module", "hooks", [*HOOK, TEXT, INT, METHOD, LIST], "the options of a hook"),
    ("torch.module", None, [], "hooks or a state"),
    ("torch.module", [], [], "hooks or a state"),
    ("torch.module", ["hooks", True, 0], [], "hooks or a state"),
    ("torch.module", ["state", 1, 0], [], STATE),
    ("torch.module", ["state", True, True], [], STATE),
    ("torch.module", ["state", True, -1], [], STATE),
    ("torch.module", ["state", True, 1], [CLASS], STATE),
    ("torch.module", ["state", True, 1, "1"], [CLASS], "versions and keys"),
    ("torch.module", ["state", True, 1, True], [CLASS], "versions and keys"),
    ("torch.module", ["state", False, 0, 1], [INT, DICT], "versions and keys"),
    ("torch.module", ["state", True, 0], [NONE], "classes and values"),
    ("torch.module", ["state", True, 1, 1], [], "classes and values"),
    ("torch.module", ["state", False, 0, "w"], [KELLET], "classes and values"),
    ("torch.module", ["state", True, 1, 1], [OBJECT], "classes"),
    ("torch.module", ["state", True, 2, 1, 1], [CLASS, OBJECT], "classes"),
    ("kellet.hooks", 1, [INT, METHOD, DICT], "hooks"),
    ("kellet.hooks", None, [], "hooks"),
    ("kellet.hooks", None, [INT, METHOD], "hooks"),
    ("kellet.hooks", None, [TEXT, METHOD, DICT], "the number of a hook"),
    ("kellet.hooks", None, [Child("codec", "x", 1), METHOD, DICT], "the number of a hook"),
    ("kellet.hooks", None, [INT, METHOD, LIST], "the options of a hook"),
    ("kellet.handle", None, [OBJECT], "a kind and a number"),
    ("kellet.handle", ["", 0, 1], [OBJECT], "a kind and a number"),
    ("kellet.handle", ["", True], [OBJECT], "a kind and a number"),
    ("kellet.handle", ["backward", 0], [OBJECT], "a kind of hook, and its owner"),
    ("kellet.handle", ["forward", 0], [OBJECT, OBJECT], "a kind of hook, and its owner"),
    ("kellet.handle", ["forward", 0], [LIST], "the owner of a hook"),
    ("kellet.handle", ["forward", 0], [ARRAY], "the owner of a hook"),
    ("kellet.gate", 1, [OBJECT], "a Hook"),
    ("kellet.gate", None, [OBJECT, OBJECT], "a Hook"),
    ("kellet.gate", None, [LIST], "a Hook"),
]


@one_test
@pytest.mark.parametrize(("name", "literal", "children"), FINISHED)
def test_what_a_codec_finishes_with_passes(name: str, literal: Any, children: list[Child]) -> None:
    codec_of(name).check_finish(literal, children, 1)


@one_test
@pytest.mark.parametrize(("name", "literal", "children", "expected"), UNFINISHED)
def test_what_no_codec_finishes_with_is_refused(
    name: str, literal: Any, children: list[Child], expected: str
) -> None:
    with pytest.raises(ValueError, match=f"^expected {re.escape(expected)}$"):
        codec_of(name).check_finish(literal, children, 1)


@pytest.mark.parametrize(
    ("literal", "roles"),
    [
        ("hooks", ["value"] * 3),
        (["state", True, 2, 1, 1], ["create", "create", "value"]),
        (["state", False, 1, 1, "w"], ["create", "value", "value"]),
        (["state", False, 0, "w", "v"], ["value"] * 3),
    ],
)
def test_classes_of_a_state_are_made_and_all_else_are_values(literal: Any, roles: list[str]) -> None:
    codec = codec_of("torch.module")
    assert isinstance(codec, ObjectCodec)
    assert list(codec.finish_roles(literal, 3, 1)) == roles
