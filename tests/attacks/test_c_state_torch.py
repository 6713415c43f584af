"""State that PyTorch's own code trusts: quantized and sparse tensors, and the bytes of generators."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import torch

from packager._objects import ObjectBuildError
from tests.attacks import object_forger as forge

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*quantized tensor creation:UserWarning", "ignore:Sparse .* tensor support:UserWarning"
)

FAR = 1 << 30


def from_parts(codec: str, literal: Any, *parts: Any) -> forge.EncodedObject:
    """An encoded tensor of another layout, made of any parts."""
    made = forge.encoded(list(parts))
    codecs, records, root = msgpack.unpackb(made.records)
    if [codec, 1] not in codecs:
        codecs.append([codec, 1])
    operands = records[-1 - root][1:]
    records.append([23, codecs.index([codec, 1]), literal, *operands])
    return forge.EncodedObject(msgpack.packb([codecs, records, -len(records)]), made.storages, ())


def loaded(made: forge.EncodedObject) -> Any:
    return forge.load(forge.archive_of(made, externs=["torch"]))


# --- quantized tensors ---

INT8 = torch.arange(12, dtype=torch.int8).reshape(4, 3)
ONES = torch.ones(4, dtype=torch.float64)
ZEROS = torch.zeros(4, dtype=torch.int64)

QUANTIZED: dict[str, tuple[list[Any], tuple[Any, ...], str]] = {
    "fewer scales": (
        ["qint8", 0],
        (INT8, ONES[:1].clone(), ZEROS[:1].clone()),
        r"\[1\] scales and \[1\] zero points for axis 0 of a tensor of shape \[4, 3\]",
    ),
    "fewer zero points": (
        ["qint8", 0],
        (INT8, ONES, ZEROS[:1].clone()),
        r"\[4\] scales and \[1\] zero points",
    ),
    "scales of two axes": (["qint8", 0], (INT8, ONES.reshape(2, 2), ZEROS), r"\[2, 2\] scales"),
    "axis behind": (["qint8", 2], (INT8, ONES, ZEROS), "for axis 2 of a tensor"),
    "axis before": (["qint8", -2], (INT8, ONES, ZEROS), "for axis -2 of a tensor"),
    "axis of another extent": (["qint8", 1], (INT8, ONES, ZEROS), "for axis 1 of a tensor"),
    "scale that is none": (
        ["qint8", 0],
        (INT8, ONES * float("nan"), ZEROS),
        "a scale that is no finite number",
    ),
    "scale without end": (["qint8", None], (INT8, float("inf"), 0), "a scale that is no finite number"),
    "scales that are ints": (["qint8", 0], (INT8, ZEROS, ZEROS), "a scale that is no finite number"),
    "zero point behind": (["qint8", None], (INT8, 0.5, 128), "a zero point that is no int from -128 to 127"),
    "zero point before": (
        ["quint8", None],
        (INT8.to(torch.uint8), 0.5, -1),
        "a zero point that is no int from 0",
    ),
    "zero points behind": (
        ["qint8", 0],
        (INT8, ONES, ZEROS + 300),
        "a zero point that is no int from -128 to 127",
    ),
    "zero points that are floats": (["qint8", 0], (INT8, ONES, ONES), "a zero point that is no int"),
    "other integers": (["quint8", None], (INT8, 0.5, 0), "quint8 is stored as uint8, found torch.int8"),
    "integers that are floats": (
        ["qint8", None],
        (ONES, 0.5, 0),
        "qint8 is stored as int8, found torch.float64",
    ),
}


@pytest.mark.parametrize(("literal", "parts", "message"), QUANTIZED.values(), ids=QUANTIZED.keys())
def test_a_quantized_tensor_whose_numbers_do_not_fit_is_refused(
    literal: list[Any], parts: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ObjectBuildError, match=message):
        loaded(from_parts("torch.quantized", literal, *parts))


@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
def test_quantized_tensors_come_back(dtype: Any) -> None:
    numbers = torch.linspace(-1, 1, 12).reshape(4, 3)
    for live in (
        torch.quantize_per_tensor(numbers, 0.1, 3, dtype),
        torch.quantize_per_channel(numbers, torch.linspace(0.1, 0.4, 4), ZEROS + 1, 0, dtype),
        torch.quantize_per_channel(numbers, torch.linspace(0.1, 0.3, 3), ZEROS[:3], 1, dtype),
    ):
        found = loaded(forge.encoded(live))
        assert found.dtype is dtype
        assert found.qscheme() == live.qscheme()
        assert torch.equal(found.dequantize(), live.dequantize())


# --- sparse tensors ---


def ints(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.int64)


@pytest.mark.parametrize("literal", [["qint8", None], ["qint8", 0]])
def test_a_quantized_tensor_without_memory_is_refused(literal: list[Any]) -> None:
    """What lies on "meta" has no numbers to check; PyTorch would ask its own rules, in Python."""
    parts = (INT8, 0.5, 0) if literal[1] is None else (INT8, ONES, ZEROS)
    nowhere = [part.to("meta") if isinstance(part, torch.Tensor) else part for part in parts]
    with pytest.raises(ObjectBuildError, match="a quantized tensor on the device 'meta'"):
        loaded(from_parts("torch.quantized", literal, *nowhere))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_sparse_tensor_without_memory_comes_back_and_nothing_is_computed(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr("torch._meta_registrations.meta_min_dim", lambda *_: called.append("min"))
    live = torch.eye(2).to_sparse(layout=getattr(torch, layout)).to("meta")
    found = loaded(forge.encoded(live))
    assert (found.layout, found.shape, found.device.type) == (live.layout, live.shape, "meta")
    assert called == []


def test_a_sparse_tensor_lies_in_memory_as_a_whole() -> None:
    literal, parts = ["sparse_coo", False, False, 2, 2], (ints([0, 1], [0, 9]), torch.ones(2, device="meta"))
    with pytest.raises(ObjectBuildError, match="some parts of a tensor lie in memory, and others on"):
        loaded(from_parts("torch.sparse", literal, *parts))


VALUES = torch.tensor([1.0, 2.0])
BLOCKS = torch.ones(2, 2, 2)
SPARSE: dict[str, tuple[list[Any], tuple[Any, ...], str]] = {
    "coo behind": (
        ["sparse_coo", False, False, 2, 2],
        (ints((0, FAR), (0, 1)), VALUES),
        "size is 2 but found index 1073741824",
    ),
    "coo before": (
        ["sparse_coo", False, False, 2, 2],
        (ints((0, -1), (0, 1)), VALUES),
        "found negative index -1",
    ),
    "coo claims to be coalesced": (
        ["sparse_coo", False, True, 2, 2],
        (ints((0, 0), (1, 1)), VALUES),
        "cannot set is_coalesced to true",
    ),
    "coo with fewer values": (
        ["sparse_coo", False, False, 2, 2],
        (ints((0, 1), (0, 1)), VALUES[:1].clone()),
        "nnz",
    ),
    "csr column behind": (
        ["sparse_csr", False, False, 2, 2],
        (ints(0, 1, 2), ints(0, FAR), VALUES),
        "0 <= col_indices < ncols",
    ),
    "csr rows behind": (
        ["sparse_csr", False, False, 2, 2],
        (ints(0, 1, FAR), ints(0, 1), VALUES),
        "crow_indices",
    ),
    "csr rows that go back": (
        ["sparse_csr", False, False, 2, 2],
        (ints(0, 3, 2), ints(0, 1), VALUES),
        "crow_indices",
    ),
    "csr out of order": (["sparse_csr", False, False, 1, 3], (ints(0, 2), ints(2, 0), VALUES), "col_indices"),
    "csc row behind": (
        ["sparse_csc", False, False, 2, 2],
        (ints(0, 1, 2), ints(0, 2), VALUES),
        "row_indices",
    ),
    "bsr block behind": (
        ["sparse_bsr", False, False, 4, 4],
        (ints(0, 1, 2), ints(0, 2), BLOCKS),
        "col_indices",
    ),
    "bsr block that does not divide": (
        ["sparse_bsr", False, False, 4, 5],
        (ints(0, 1, 2), ints(0, 1), BLOCKS),
        "must be divisible",
    ),
    "bsc block behind": (
        ["sparse_bsc", False, False, 4, 4],
        (ints(0, 1, 2), ints(0, -1), BLOCKS),
        "row_indices",
    ),
}


@pytest.mark.parametrize(("literal", "parts", "message"), SPARSE.values(), ids=SPARSE.keys())
def test_a_sparse_tensor_with_an_index_out_of_bounds_is_refused(
    literal: list[Any], parts: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ObjectBuildError, match=message):
        loaded(from_parts("torch.sparse", literal, *parts))


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "coo": lambda dense: dense.to_sparse(),
    "csr": lambda dense: dense.to_sparse_csr(),
    "csc": lambda dense: dense.to_sparse_csc(),
    "bsr": lambda dense: dense.to_sparse_bsr((2, 2)),
    "bsc": lambda dense: dense.to_sparse_bsc((2, 2)),
    "quantized": lambda dense: torch.quantize_per_tensor(dense, 0.5, 0, torch.qint8),
}


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_parameters_of_other_layouts_load_with_their_module(make: Callable[[Any], Any]) -> None:
    model = torch.nn.Module()
    values = make(torch.eye(4))
    model.weight = torch.nn.Parameter(values, requires_grad=not values.is_quantized)
    model.register_buffer("mask", make(torch.eye(4)))
    found = loaded(forge.encoded(model))
    assert type(found.weight) is torch.nn.Parameter
    assert list(found._parameters) == ["weight"]
    assert found.weight.requires_grad == model.weight.requires_grad
    for one, other in ((model.weight, found.weight), (model.mask, found.mask)):
        assert one.layout == other.layout
        assert one.dtype == other.dtype
        assert torch.equal(_dense(one), _dense(other))


def _dense(tensor: Any) -> Any:
    tensor = tensor.detach()
    return tensor.dequantize() if tensor.is_quantized else tensor.to_dense()


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_attributes_of_other_layouts_are_kept(make: Callable[[Any], Any]) -> None:
    live = make(torch.eye(4))
    live.note = ["a", 1]
    assert loaded(forge.encoded(live)).note == ["a", 1]


def test_a_sparse_tensor_with_a_graph_is_refused_in_the_plan() -> None:
    live = torch.eye(3).to_sparse().requires_grad_(True) * 2
    made = forge.encode(live).with_sources(lambda module: False)
    assert [str(found) for found in made.refusals] == [
        "obj: a tensor with a graph of gradients (grad_fn), which cannot be stored"
    ]


# --- generators ---


def generator_with(**parts: int) -> forge.EncodedObject:
    """A generator whose bytes have other numbers in these places."""
    state = torch.Generator().manual_seed(3).get_state()
    places = {"left": (8, np.int32), "seeded": (12, np.int32), "at": (16, np.int64)}
    for name, value in parts.items():
        offset, dtype = places[name]
        data = np.array([value], dtype).tobytes()
        state[offset : offset + len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return from_parts("torch.generator", "cpu", state)


GENERATORS: dict[str, tuple[dict[str, int], str]] = {
    "reads behind": (
        {"left": 624, "at": 624},
        "the generator would read 623 numbers from number 624 on, and has 624",
    ),
    "reads one behind": (
        {"left": 3, "at": 623},
        "the generator would read 2 numbers from number 623 on, and has 624",
    ),
    "position behind": ({"at": 625}, "next is 625, not an int from 0 to 624"),
    "position before": ({"at": -1}, "next is -1, not an int from 0 to 624"),
    "none left": ({"left": 0}, "left is 0, not an int from 1 to 624"),
    "too many left": ({"left": 625}, "left is 625, not an int from 1 to 624"),
    "half seeded": ({"seeded": 7}, "seeded is 7, not an int from 0 to 1"),
}


@pytest.mark.parametrize(("parts", "message"), GENERATORS.values(), ids=GENERATORS.keys())
def test_a_generator_that_would_read_behind_its_numbers_is_refused(
    parts: dict[str, int], message: str
) -> None:
    with pytest.raises(ObjectBuildError, match=message):
        loaded(generator_with(**parts))


@pytest.mark.parametrize(
    "state", [torch.zeros(3, dtype=torch.uint8), torch.zeros(5056), torch.zeros(2, 2528, dtype=torch.uint8)]
)
def test_a_generator_of_other_bytes_is_refused(state: Any) -> None:
    with pytest.raises(ObjectBuildError, match=r"expected torch.uint8 of shape \[5056\]"):
        loaded(from_parts("torch.generator", "cpu", state))


@pytest.mark.parametrize("drawn", [0, 1, 2, 622, 623, 624, 625, 700])
def test_a_generator_goes_on_where_it_was(drawn: int) -> None:
    live = torch.Generator().manual_seed(3)
    torch.randint(0, 9, (drawn,), generator=live)
    found = loaded(forge.encoded(live))
    assert torch.equal(torch.rand(1300, generator=live), torch.rand(1300, generator=found))
    assert torch.equal(torch.randn(9, generator=live), torch.randn(9, generator=found))
