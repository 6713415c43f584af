"""What is stored of sparse and quantized tensors of PyTorch, and what is asked of their parts."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from typing import Any, cast

import torch
from torch import nn

from packager._codecs import CannotStore, Decoding, Encoding
from packager._codecs.registry import default_registry

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*quantized tensor creation:UserWarning", "ignore:Sparse .* tensor support:UserWarning"
)
SPARSE: Any = default_registry().find("torch.sparse")
QUANTIZED: Any = default_registry().find("torch.quantized")
GENERATOR: Any = default_registry().find("torch.generator")


class Context:
    """What is kept for one object while it is stored, and what its author is warned of."""

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}
        self.warnings: list[str] = []

    def shared_state(self, make: Any) -> Any:
        return self._kept.setdefault(make, make())

    def warn(self, reason: str) -> None:
        self.warnings.append(reason)


def encoded(codec: Any, tensor: Any) -> Any:
    return codec.encode(tensor, cast(Encoding, Context()))


PLACES, ONES = torch.tensor([[0, 1], [0, 1]]), torch.ones(2)
SCALES, ZEROS = torch.tensor([0.5, 0.25]), torch.zeros(2, dtype=torch.int64)


def coordinates(*, coalesced: bool = False) -> Any:
    return torch.sparse_coo_tensor(PLACES, ONES, (2, 3), is_coalesced=coalesced, check_invariants=True)


def with_gradient(tensor: Any) -> Any:
    return tensor.requires_grad_(True)


STORED: list[tuple[Any, list[Any], int]] = [
    (lambda: coordinates(), ["sparse_coo", False, False, 2, 3], 2),
    (lambda: coordinates(coalesced=True), ["sparse_coo", False, True, 2, 3], 2),
    (lambda: with_gradient(coordinates()), ["sparse_coo", True, False, 2, 3], 2),
    (lambda: nn.Parameter(coordinates()), ["Parameter", "sparse_coo", True, False, 2, 3], 2),
    (lambda: torch.eye(2).to_sparse_csr(), ["sparse_csr", False, False, 2, 2], 3),
    (lambda: with_gradient(torch.eye(2).to_sparse_csc()), ["sparse_csc", True, False, 2, 2], 3),
    (lambda: torch.eye(4).to_sparse_bsr((2, 2)), ["sparse_bsr", False, False, 4, 4], 3),
]


@pytest.mark.parametrize(("make", "literal", "parts"), STORED)
def test_a_sparse_tensor_is_its_layout_its_shape_and_its_parts(
    make: Any, literal: list[Any], parts: int
) -> None:
    tensor = make()
    tensor.note = "kept"
    node = encoded(SPARSE, tensor)
    assert (node.literal, len(node.children), node.attributes) == (literal, parts, {"note": "kept"})
    again = SPARSE.decode(node.literal, node.children, 1, cast(Decoding, None))
    assert (type(again), again.layout, again.requires_grad) == (
        type(tensor),
        tensor.layout,
        tensor.requires_grad,
    )
    assert torch.equal(again.detach().to_dense(), tensor.detach().to_dense())


def test_the_indices_of_a_sparse_tensor_lie_inside() -> None:
    context = cast(Decoding, None)
    with pytest.raises(RuntimeError, match="found index 2"):
        SPARSE.decode(["sparse_coo", False, False, 2, 2], [PLACES * 2, ONES], 1, context)
    rows = torch.tensor([0, 1, 2])
    with pytest.raises(RuntimeError, match="col_indices"):
        SPARSE.decode(["sparse_csr", False, False, 2, 2], [rows, torch.tensor([0, 2]), ONES], 1, context)
    nowhere = [PLACES.to("meta"), ONES.to("meta")]
    assert SPARSE.decode(["sparse_coo", False, False, 2, 2], nowhere, 1, context).is_meta


KINDS: list[tuple[Any, list[Any], list[Any]]] = [
    (lambda x: torch.quantize_per_tensor(x, 0.5, 3, torch.quint8), ["quint8", None], [0.5, 3]),
    (
        lambda x: torch.quantize_per_channel(x, SCALES, ZEROS, 0, torch.qint8),
        ["qint8", 0],
        [[0.5, 0.25], [0, 0]],
    ),
    (
        lambda x: torch.quantize_per_channel(x, SCALES, ZEROS, 1, torch.qint32),
        ["qint32", 1],
        [[0.5, 0.25], [0, 0]],
    ),
]


@pytest.mark.parametrize(("make", "literal", "numbers"), KINDS)
@pytest.mark.parametrize("kind", [[], ["Parameter"]])
def test_a_quantized_tensor_is_its_integers_and_what_maps_them(
    make: Any, literal: list[Any], numbers: list[Any], kind: list[str]
) -> None:
    tensor = make(torch.eye(2))
    tensor = nn.Parameter(tensor, requires_grad=False) if kind else tensor
    tensor.note = "kept"
    node = encoded(QUANTIZED, tensor)
    integers, *mapping = node.children
    found = [one.tolist() if isinstance(one, torch.Tensor) else one for one in mapping]
    assert (node.literal, found, node.attributes) == ([*literal, *kind], numbers, {"note": "kept"})
    assert torch.equal(integers, tensor.int_repr())
    again = QUANTIZED.decode(node.literal, node.children, 1, cast(Decoding, None))
    assert (type(again), again.qscheme()) == (type(tensor), tensor.qscheme())
    assert torch.equal(again.dequantize(), tensor.dequantize())


def test_the_numbers_of_a_quantized_tensor_are_looked_at_before_it_is_made() -> None:
    integers, context = torch.zeros(2, 2, dtype=torch.int8), cast(Decoding, None)
    with pytest.raises(ValueError, match="a scale that is no finite number"):
        QUANTIZED.decode(["qint8", None], [integers, float("inf"), 0], 1, context)
    nowhere = "a quantized tensor on the device 'meta'"
    with pytest.raises(ValueError, match=nowhere):
        QUANTIZED.decode(["qint8", None], [integers.to("meta"), 0.5, 0], 1, context)
    parts = [part.to("meta") for part in (integers, SCALES, ZEROS)]
    with pytest.raises(ValueError, match=nowhere):
        QUANTIZED.decode(["qint8", 0], parts, 1, context)


def test_a_quantized_tensor_of_another_scheme_is_told() -> None:
    odd = torch.quantize_per_channel(torch.eye(2), SCALES, SCALES, 0, torch.quint8)
    with pytest.raises(
        CannotStore, match=r"^a quantized tensor with torch\.per_channel_affine_float_qparams"
    ):
        encoded(QUANTIZED, odd)


def test_a_tensor_that_was_computed_with_gradients_is_told() -> None:
    with pytest.raises(CannotStore, match="a graph of gradients"):
        encoded(SPARSE, with_gradient(coordinates()) * 2)


@pytest.mark.parametrize("codec", [SPARSE, QUANTIZED])
def test_a_gradient_beside_a_tensor_is_warned_of(codec: Any) -> None:
    tensor = KINDS[0][0](torch.eye(2)) if codec is QUANTIZED else with_gradient(coordinates())
    tensor.grad = tensor.detach().clone()
    context = Context()
    codec.encode(tensor, cast(Encoding, context))
    assert context.warnings == ["gradients (.grad) are not stored, here and elsewhere"]


def test_a_generator_is_its_device_and_a_state_of_its_own() -> None:
    live = torch.Generator().manual_seed(3)
    node = encoded(GENERATOR, live)
    assert node.literal == "cpu"
    (state,) = node.children
    again = GENERATOR.decode("cpu", [state], 1, cast(Decoding, None))
    state.zero_()
    assert torch.equal(torch.rand(3, generator=again), torch.rand(3, generator=live))
    with pytest.raises(ValueError, match="left is 0"):
        GENERATOR.decode("cpu", [state], 1, cast(Decoding, None))
