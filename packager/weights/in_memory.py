"""A checkpoint in memory: its tensors as those of a library, tied as they are in the file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from packager.codecs import StoredTensor, default_registry, tensor_in
from packager.errors import LegacyFormatError
from packager.tensors import DTYPES, contiguous_strides, itemsize_of, stored_as

from .legacy_layouts import LegacyLayout
from .legacy_tensors import LegacyTensor
from .pickle_machine import Named


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
