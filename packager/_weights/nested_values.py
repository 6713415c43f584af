"""What an old file holds at any depth: stored without PyTorch, or made as tensors of a library in memory.

The state of an optimiser is a dict of dicts of tensors. These become records of the codecs that tensors of
PyTorch have in archives, so that they come back as PyTorch's. In memory, tensors are tied as they are in the
file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

from packager._codecs import (
    Codec,
    CodecRegistry,
    Node,
    StoredTensor,
    TensorData,
    default_registry,
    tensor_in,
)
from packager._tensors import DTYPES, contiguous_strides, itemsize_of, stored_as
from packager.errors import LegacyFormatError

from .legacy_tensors import IN_PICKLE, LegacyTensor, array_of
from .pickle_machine import Named
from .torch_names import QUANTIZED, LegacyLayout


def registry_for_nested() -> CodecRegistry:
    """Return the codecs that archives have, and one for what old files hold instead of tensors."""
    registry = default_registry()
    registry.add(_Nested())
    return registry


class _Nested(Codec):
    """What old files hold; in an archive it goes by the codec of what it stands for."""

    name = "packager._weights.nested"
    types = tuple(
        f"packager._weights.{name}"
        for name in (
            "legacy_tensors:LegacyTensor",
            "torch_names:_NumpyArray",
            "torch_names:LegacyLayout",
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


def in_memory(state: Mapping[str, Any], library: str) -> OrderedDict[str, Any]:
    """Return a state dict with tensors of a library instead of those in a file, at every depth.

    Raises LegacyFormatError for tensors that a library other than PyTorch has no form of.
    """
    made = _Made(library)
    return OrderedDict((key, made.of(value)) for key, value in state.items())


class _Made:
    """Memory that was read, by storage, so that ties stay ties."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._buffers: dict[int, tuple[Any, memoryview]] = {}
        self._made_of: dict[Any, Any] = {}

    def of(self, value: Any) -> Any:
        """Return a value with its tensors made. Nesting is bounded where a file is read."""
        if isinstance(value, LegacyTensor):
            return self._tensor(value)
        if isinstance(value, LegacyLayout):
            return self._layout(value)
        if isinstance(value, Named):
            return self._dtype(value.name.removeprefix("torch "))
        if isinstance(value, dict):
            return type(value)((key, self.of(inner)) for key, inner in value.items())
        if isinstance(value, (list, tuple)):
            return type(value)([self.of(inner) for inner in value])
        return value

    def _dtype(self, name: str) -> Any:
        """Return a dtype of PyTorch, as a text where another library is asked for."""
        if self._library != "torch":
            return f"torch.{name}"
        import torch

        return getattr(torch, name)

    def _tensor(self, tensor: LegacyTensor) -> Any:
        size = itemsize_of(tensor.dtype)
        spelling = DTYPES[tensor.dtype].spelling
        word, row = stored_as(spelling)
        strides, offset = tensor.strides, tensor.offset * size
        if tensor.big_endian or not tensor.size:
            buffer, offset = memoryview(bytearray(tensor.raw().tobytes())), 0
            strides = contiguous_strides(tensor.shape)
        else:
            buffer = self._buffer(tensor)
        shape = tensor.shape
        if row:
            shape, strides = (*shape, row), (*(stride * row for stride in strides), 1)
        stored = StoredTensor(word, shape, strides, offset, buffer)
        return tensor_in(stored, spelling if row else None, self._library, None, self._made_of)

    def _buffer(self, tensor: LegacyTensor) -> memoryview:
        """Return a copy of a whole storage, made once, that may be written to."""
        key = id(tensor.storage)
        if key not in self._buffers:
            self._buffers[key] = tensor.storage, memoryview(bytearray(tensor.storage.data()))
        return self._buffers[key][1]

    def _layout(self, layout: LegacyLayout) -> Any:
        if self._library != "torch":
            raise LegacyFormatError(
                f"a {layout.text} has no form in {self._library}; install PyTorch and take as_='torch', or "
                "take the keys that are needed one by one"
            )
        codec = default_registry().find(layout.codec)
        assert codec is not None, layout.codec
        parts = [self.of(part) for part in layout.parts]
        context: Any = SimpleNamespace(map_location=None)
        return codec.decode(list(layout.literal), parts, codec.version, context)
