"""Tensors inside of what lies beside the tensors of a state dict: how they are stored without PyTorch.

The state of an optimiser is a dict of dicts of tensors. These become records of the codecs that tensors of
PyTorch have in archives, so that they come back as PyTorch's.
"""

from __future__ import annotations

from typing import Any, Final

from packager.codecs import Codec, CodecRegistry, Node, TensorData, default_registry
from packager.tensors import DTYPES, stored_as

from .legacy_layouts import QUANTIZED, LegacyLayout
from .legacy_tensors import IN_PICKLE, LegacyTensor, array_of
from .pickle_machine import Named


def registry_for_nested() -> CodecRegistry:
    """Return the codecs that archives have, and one for what old files hold instead of tensors."""
    registry = default_registry()
    registry.add(_Nested())
    return registry


class _Nested(Codec):
    """What old files hold; in an archive it goes by the codec of what it stands for."""

    name = "packager.weights.nested"
    types = tuple(
        f"packager.weights.{name}"
        for name in (
            "legacy_tensors:LegacyTensor",
            "torch_names:_NumpyArray",
            "legacy_layouts:LegacyLayout",
            "pickle_machine:Named",
        )
    )

    def variant(self, obj: Any) -> Codec:
        if isinstance(obj, Named):
            return _BY_NAME["torch.value"]
        if isinstance(obj, LegacyLayout):
            return _BY_NAME[obj.codec]
        return _BY_NAME["numpy.ndarray" if obj.storage.key == IN_PICKLE else "torch.tensor"]


class _Tensor(Codec):
    """Strided tensors, and those on "meta", which have no memory."""

    name = "torch.tensor"

    def encode(self, obj: Any, context: Any) -> Node:
        if isinstance(obj, LegacyLayout):
            return Node(list(obj.literal))
        return Node(["Tensor", obj.dtype, "cpu", False], (_memory(obj),))


class _Sparse(Codec):
    name = "torch.sparse"

    def encode(self, obj: Any, context: Any) -> Node:
        return Node(list(obj.literal), obj.parts)


class _Quantized(_Sparse):
    name = "torch.quantized"


class _Array(Codec):
    """Arrays of NumPy, whose bytes stand in the pickle itself."""

    name = "numpy.ndarray"

    def encode(self, obj: Any, context: Any) -> Node:
        return Node(["ndarray", DTYPES[obj.dtype].spelling], (_memory(obj),))


class _Dtype(Codec):
    """The dtypes of PyTorch, which a pickle names."""

    name = "torch.value"

    def encode(self, obj: Any, context: Any) -> Node:
        literal = ["dtype", obj.name.removeprefix("torch ")]
        return Node(literal, key=tuple(literal))


_TORCH_DTYPES: Final = {*(dtype.name for dtype in DTYPES.values() if dtype.in_torch), *QUANTIZED}

_BY_NAME: Final[dict[str, Codec]] = {
    codec.name: codec for codec in (_Tensor(), _Sparse(), _Quantized(), _Array(), _Dtype())
}


def is_nested(value: object) -> bool:
    """Return whether this is a tensor or a dtype, which a state dict may hold inside of other values."""
    if isinstance(value, Named):
        return value.known and value.name.startswith("torch ") and value.name[6:] in _TORCH_DTYPES
    return isinstance(value, (LegacyTensor, LegacyLayout))


def _memory(tensor: LegacyTensor) -> TensorData:
    """Return the memory of a tensor's storage; what is big-endian is turned, and lies alone."""
    word, row = stored_as(DTYPES[tensor.dtype].spelling)
    array = tensor.raw() if tensor.big_endian or not tensor.size else array_of(tensor)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    address = array.__array_interface__["data"][0]
    if not row:
        return TensorData(word, tensor.shape, strides, address, array)
    shape, strides = (*tensor.shape, row), (*(stride * row for stride in strides), 1)
    return TensorData(word, shape, strides, address, array)
