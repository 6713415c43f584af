"""What tensors of PyTorch inside of other values are where PyTorch is not: arrays, or tensors of kellet.

An optimiser's state can so be read anywhere. Sparse and quantised tensors have no form there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packager.tensors import DTYPES

from .base import Codec, CodecRegistry, Decoding, default_registry
from .stored_arrays import tensor_in
from .torch_codec import TorchValueCodec
from .torch_layouts import LAYOUTS
from .torch_tensors import TensorCodec


def registry_without_torch(library: str) -> CodecRegistry:
    """Return codecs that make what another library has of tensors of PyTorch, and texts of its dtypes."""
    instead: list[Codec] = [_Tensor(library), _Value(), *(_Layout(one) for one in LAYOUTS)]
    registry = default_registry()
    registry.replace(instead)
    return registry


class _Tensor(TensorCodec):
    def __init__(self, library: str) -> None:
        self._library = library

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Make an array. Raises ValueError for a tensor that has no memory, and for dtypes NumPy lacks."""
        _, name, device, _, *marks = literal
        dtype = DTYPES[name]
        if marks[:1] == ["empty"] or not dtype.in_numpy:
            raise ValueError(f"a tensor of {name} on {device!r} has no form without PyTorch; install torch")
        made = tensor_in(children[0], None if dtype.word else dtype.spelling, self._library)
        made = made.conj() if "conj" in marks else made
        return -made if "neg" in marks else made


class _Value(TorchValueCodec):
    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        kind, *parts = literal
        if kind == "Size":
            return tuple(parts)
        return parts[0] if kind == "device" else f"torch.{parts[0]}"


class _Layout(Codec):
    """Tensors that are made of others, which is said."""

    def __init__(self, codec: Codec) -> None:
        self.name, self.version = codec.name, codec.version
        self.takes_attributes, self.is_data = codec.takes_attributes, codec.is_data
        self._codec = codec

    def check(self, literal: Any, children: Any, version: int) -> None:
        self._codec.check(literal, children, version)

    def decode(self, literal: Any, children: Sequence[Any], version: int, context: Decoding) -> Any:
        """Raise ValueError."""
        raise ValueError(
            f"a {self.name.removeprefix('torch.')} tensor has no form without PyTorch; install torch"
        )
