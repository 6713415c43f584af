"""Codecs for tensors of PyTorch of other layouts than strided memory, for small values and generators.

A layout is a `LayoutCodec` listed in `LAYOUTS`, and nothing else: its tensors are made of strided ones, as
sparse and quantized tensors are, which `torch_tensors.py` stores.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from .base import CannotStore, Child, Codec, Decoding, Encoding, Node, PartsCodec, expect, expect_sizes
from .c_state import require_torch_generator_state
from .frameworks import require_leaf

STRIDED: Final = "torch.tensor"
"""The codec of the dense tensors that these are made of, in `torch_tensors.py`."""

_SPARSE_PARTS: Final = {
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


_PARAMETER: Final = "Parameter"
_INTEGERS: Final = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}
"""The dtypes of quantized tensors, and those of the integers that they are made of."""


class LayoutCodec(Codec):
    """A codec for the tensors of layouts, which have no class of their own.

    `layouts` has their names in torch; that of quantized tensors, which are strided there, is "quantized".
    """

    layouts: Collection[str]


class SparseTensorCodec(LayoutCodec):
    """Sparse tensors: the layout, the shape, and the dense tensors they are made of."""

    name = "torch.sparse"
    is_data = "tensors"
    takes_attributes = True

    layouts = tuple(_SPARSE_PARTS)

    def encode(self, obj: Any, context: Encoding) -> Node:
        require_leaf(obj, context)
        layout = str(obj.layout).removeprefix("torch.")
        parts = tuple(getattr(obj.detach(), part)() for part in _SPARSE_PARTS[layout])
        coalesced = bool(obj.is_coalesced()) if layout == "sparse_coo" else False
        literal = [layout, bool(obj.requires_grad), coalesced, *obj.shape]
        return Node(_kind(obj) + literal, parts, attributes=dict(vars(obj)))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) >= 3, "a layout and a shape")
        layout, requires_grad, coalesced, *shape = literal[literal[0] == _PARAMETER :]
        expect(
            layout in _SPARSE_PARTS and type(requires_grad) is bool and type(coalesced) is bool, "a layout"
        )
        expect_sizes(shape)
        expect(len(children) == len(_SPARSE_PARTS[str(layout)]), "indices and values")
        expect(all(child.codec == STRIDED for child in children), "indices and values")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a sparse tensor. Raises RuntimeError for indices that do not keep its invariants."""
        import torch

        is_parameter = literal[0] == _PARAMETER
        layout, requires_grad, coalesced, *shape = literal[is_parameter:]
        # Where there are no indices there is nothing to check, and torch would do it in Python.
        checked = not _is_without_memory(children)
        if layout == "sparse_coo":
            made = torch.sparse_coo_tensor(
                *children, size=tuple(shape), check_invariants=checked, is_coalesced=coalesced
            )
        else:
            make = getattr(torch, f"{layout}_tensor")
            made = make(*children, size=tuple(shape), check_invariants=checked)
        return torch.nn.Parameter(made, requires_grad) if is_parameter else made.requires_grad_(requires_grad)


def _is_without_memory(parts: Sequence[Any]) -> bool:
    """Return whether all tensors lie on the device "meta". Raises ValueError where only some of them do."""
    found = {bool(part.is_meta) for part in parts}
    if len(found) > 1:
        raise ValueError("some parts of a tensor lie in memory, and others on the device 'meta'")
    return found == {True}


class QuantizedTensorCodec(LayoutCodec):
    """Quantized tensors: the integers, and what maps them to numbers."""

    name = "torch.quantized"
    is_data = "tensors"
    takes_attributes = True

    layouts = ("quantized",)

    def encode(self, obj: Any, context: Encoding) -> Node:
        """Return the integers and what maps them to numbers. Raises CannotStore for other schemes."""
        import torch

        require_leaf(obj, context)
        name = str(obj.dtype).removeprefix("torch.")
        kind, attributes = _kind(obj), dict(vars(obj))
        if obj.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            numbers = float(obj.q_scale()), int(obj.q_zero_point())
            return Node([name, None, *kind], (obj.int_repr(), *numbers), attributes=attributes)
        if obj.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
            scales, zeros = obj.q_per_channel_scales(), obj.q_per_channel_zero_points()
            literal = [name, int(obj.q_per_channel_axis()), *kind]
            return Node(literal, (obj.int_repr(), scales, zeros), attributes=attributes)
        raise CannotStore(f"a quantized tensor with {obj.qscheme()}", "store tensor.dequantize()")

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) in (2, 3), "a dtype and an axis")
        expect(
            literal[2:] in ([], [_PARAMETER]) and len(children) == 3, "three parts, of a tensor or parameter"
        )
        expect(literal[0] in _INTEGERS, "a quantized dtype")
        expect(literal[1] is None or type(literal[1]) is int, "an axis")
        expect(children[0].codec == STRIDED, "integers")
        if literal[1] is None:
            expect([type(child.value) for child in children[1:]] == [float, int], "two numbers")
        else:
            expect(all(child.codec == STRIDED for child in children[1:]), "scales and zero points")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Build a quantized tensor. Raises ValueError where the numbers do not fit the integers."""
        import torch

        name, axis, *kind = literal
        integers, scales, zeros = children
        if _is_without_memory(children if axis is not None else [integers]):
            raise ValueError("a quantized tensor on the device 'meta', which has no numbers to check")
        _require_quantizer(name, integers, scales, zeros, axis)
        if axis is None:
            made = torch._make_per_tensor_quantized_tensor(integers, scales, zeros)
        else:
            made = torch._make_per_channel_quantized_tensor(integers, scales, zeros, axis)
        return torch.nn.Parameter(made, requires_grad=False) if kind else made


def _kind(tensor: Any) -> list[Any]:
    """Return what a literal says of the class: nothing of a plain tensor."""
    import torch

    return [_PARAMETER] if type(tensor) is torch.nn.Parameter else []


def _require_quantizer(name: str, integers: Any, scales: Any, zeros: Any, axis: int | None) -> None:
    """Raise ValueError unless there is a finite scale and a zero point in range for each channel.

    PyTorch makes such a tensor of whatever it is given, and asks when it is used; not everywhere.
    """
    import torch

    kept = _INTEGERS[name]
    if integers.dtype is not getattr(torch, kept):
        raise ValueError(f"{name} is stored as {kept}, found {integers.dtype}")
    limits = torch.iinfo(integers.dtype)
    if axis is None:
        scales, zeros = torch.tensor([scales]), torch.tensor([zeros])
    elif (
        not 0 <= axis < integers.dim()
        or scales.shape != (integers.shape[axis],)
        or zeros.shape != scales.shape
    ):
        raise ValueError(
            f"{list(scales.shape)} scales and {list(zeros.shape)} zero points for axis {axis} of a tensor of "
            f"shape {list(integers.shape)}"
        )
    if not scales.is_floating_point() or not bool(scales.isfinite().all()):
        raise ValueError("a scale that is no finite number")
    whole = not zeros.is_floating_point() and not zeros.is_complex() and zeros.dtype is not torch.bool
    if not whole or bool(((zeros < limits.min) | (zeros > limits.max)).any()):
        raise ValueError(f"a zero point that is no int from {limits.min} to {limits.max}")


class TorchValueCodec(Codec):
    """torch.dtype, torch.device, torch.layout, torch.memory_format and torch.Size: their names."""

    name = "torch.value"
    is_data = "plain"
    types = ("torch:dtype", "torch:device", "torch:layout", "torch:memory_format", "torch:Size")

    def encode(self, obj: Any, context: Encoding) -> Node:
        kind = type(obj).__name__
        if kind == "Size":
            return Node([kind, *obj])
        name = str(obj).removeprefix("torch.")
        return Node([kind, name], key=(kind, name))

    def check(self, literal: Any, children: Sequence[Child], version: int) -> None:
        expect(isinstance(literal, list) and len(literal) > 0 and not children, "the kind of value")
        kind, *parts = literal
        if kind == "Size":
            expect(all(type(part) is int for part in parts), "sizes")
            return
        expect(
            kind in ("dtype", "device", "layout", "memory_format") and len(parts) == 1, "a kind and a name"
        )
        name = parts[0]
        expect(isinstance(name, str) and name.replace(":", "_").isidentifier(), "a name")

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Return the value of a name. Raises ValueError where this torch has none of that kind."""
        import torch

        kind, *parts = literal
        if kind == "Size":
            return torch.Size(parts)
        if kind == "device":
            return torch.device(parts[0])
        value = vars(torch).get(parts[0])  # getattr would import what torch imports when it is asked
        if type(value).__name__ != kind:
            raise ValueError(f"torch {torch.__version__} has no {kind} {parts[0]!r}")
        return value


def _generator(device: str, state: Any) -> Any:
    import torch

    if device == "cpu":
        require_torch_generator_state(state)
    made = torch.Generator(device=device)
    made.set_state(state.clone())
    return made


GENERATOR: Final = PartsCodec(
    "torch.generator", ("torch._C:Generator",), STRIDED, "a device and a state",
    lambda obj: Node(str(obj.device), (obj.get_state(),)), _generator, lambda name: type(name) is str,
)  # fmt: skip
LAYOUTS: Final[tuple[LayoutCodec, ...]] = (SparseTensorCodec(), QuantizedTensorCodec())
