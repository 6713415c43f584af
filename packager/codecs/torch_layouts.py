"""Codecs for tensors of PyTorch of other layouts than strided memory, and for generators.

A layout is a `LayoutCodec` listed in `LAYOUTS`, and nothing else: its tensors are made of strided ones, as
sparse and quantized tensors are, which `torch_tensors.py` stores.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, LiteralValue, Node, expect, expect_sizes

STRIDED: Final = "torch.tensor"
"""The codec of the dense tensors that these are made of, in `torch_tensors.py`."""

_SPARSE_PARTS: Final = {
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


class LayoutCodec(Codec):
    """A codec for the tensors of layouts, which have no class of their own.

    `layouts` has their names in torch; that of quantized tensors, which are strided there, is "quantized".
    """

    layouts: Collection[str]


class SparseTensorCodec(LayoutCodec):
    """Sparse tensors: the layout, the shape, and the dense tensors they are made of."""

    name = "torch.sparse"

    layouts = tuple(_SPARSE_PARTS)

    def encode(self, obj: Any, context: Encoding) -> Node:
        layout = str(obj.layout).removeprefix("torch.")
        parts = tuple(getattr(obj.detach(), part)() for part in _SPARSE_PARTS[layout])
        coalesced = bool(obj.is_coalesced()) if layout == "sparse_coo" else False
        return Node([layout, bool(obj.requires_grad), coalesced, *obj.shape], parts)

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 3, "a layout and a shape")
        layout, requires_grad, coalesced, *shape = literal
        expect(
            layout in _SPARSE_PARTS and type(requires_grad) is bool and type(coalesced) is bool, "a layout"
        )
        expect_sizes(shape)
        expect(len(children) == len(_SPARSE_PARTS[str(layout)]), "indices and values")
        expect(all(child.codec == STRIDED for child in children), "indices and values")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        layout, requires_grad, coalesced, *shape = literal
        if layout == "sparse_coo":
            made = torch.sparse_coo_tensor(
                *children, size=tuple(shape), check_invariants=True, is_coalesced=coalesced
            )
        else:
            make = getattr(torch, f"{layout}_tensor")
            made = make(*children, size=tuple(shape), check_invariants=True)
        return made.requires_grad_(requires_grad)


class QuantizedTensorCodec(LayoutCodec):
    """Quantized tensors: the integers, and what maps them to numbers."""

    name = "torch.quantized"

    layouts = ("quantized",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the integers and what maps them to numbers. Raises CannotStore for other schemes."""
        import torch

        name = str(obj.dtype).removeprefix("torch.")
        if obj.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return Node([name, None], (obj.int_repr(), float(obj.q_scale()), int(obj.q_zero_point())))
        if obj.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
            scales, zeros = obj.q_per_channel_scales(), obj.q_per_channel_zero_points()
            return Node([name, int(obj.q_per_channel_axis())], (obj.int_repr(), scales, zeros))
        raise CannotStore(f"a quantized tensor with {obj.qscheme()}", "store tensor.dequantize()")

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) == 2 and len(children) == 3, "a dtype and an axis")
        expect(literal[0] in ("qint8", "quint8", "qint32"), "a quantized dtype")
        expect(literal[1] is None or type(literal[1]) is int, "an axis")
        expect(children[0].codec == STRIDED, "integers")
        if literal[1] is None:
            numbers = all(child.kind == "scalar" for child in children[1:])
            expect(numbers and [type(child.value) for child in children[1:]] == [float, int], "two numbers")
        else:
            expect(all(child.codec == STRIDED for child in children[1:]), "scales and zero points")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        _, axis = literal
        integers, scales, zeros = children
        if axis is None:
            return torch._make_per_tensor_quantized_tensor(integers, scales, zeros)
        return torch._make_per_channel_quantized_tensor(integers, scales, zeros, axis)


class GeneratorCodec(Codec):
    """torch.Generator: the device and the state."""

    name = "torch.generator"
    types = ("torch._C:Generator",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        return Node(str(obj.device), (obj.get_state(),))

    def check(self, literal: LiteralValue, children: Sequence[Child], version: int) -> None:
        expect(type(literal) is str and len(children) == 1, "a device and a state")
        expect(children[0].codec == STRIDED, "a state")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        import torch

        made = torch.Generator(device=literal)
        made.set_state(children[0].clone())
        return made


LAYOUTS: Final[tuple[LayoutCodec, ...]] = (SparseTensorCodec(), QuantizedTensorCodec())
