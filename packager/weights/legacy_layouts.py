"""Tensors of PyTorch in old files that are no strided memory: sparse and quantised ones, and those on "meta".

Each is kept as what it is made of: strided tensors and plain values, in the words that archives have for
it. Nothing of PyTorch is needed for that; it is needed where such a tensor is made again.

Source: `_rebuild_sparse_tensor`, `_rebuild_qtensor` and `_rebuild_meta_tensor_no_storage` of `torch._utils`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.archive import MAX_RANK
from packager.quick_dataclasses import dataclass

from .legacy_tensors import LegacyTensor

_INTEGERS: Final = {"int8": "qint8", "uint8": "quint8", "int32": "qint32"}
QUANTIZED: Final = tuple(_INTEGERS.values())
"""The dtypes of quantised tensors that are read."""

_LAYOUTS: Final = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


@dataclass(frozen=True, slots=True, eq=False)
class LegacyLayout:
    """A tensor made of others: the name of its codec in archives, that codec's literal, and the parts.

    `text` says in a few words what it is.
    """

    codec: str
    literal: tuple[Any, ...]
    parts: tuple[Any, ...]
    text: str

    def __repr__(self) -> str:
        return f"LegacyLayout({self.text})"


def sparse_tensor(layout: object, data: object) -> LegacyLayout:
    """Return a sparse tensor. Raises ValueError for a layout that is unknown, and for other parts."""
    name = str(layout).removeprefix("torch.")
    if name not in _LAYOUTS or type(data) is not tuple:
        raise ValueError(f"a sparse tensor of the layout {name[:40]!r}")
    count = 2 if name == "sparse_coo" else 3
    parts, (shape, *rest) = data[:count], data[count:] or ((),)
    if len(parts) != count or not all(isinstance(part, LegacyTensor) for part in parts):
        raise ValueError(f"a {name} tensor that is not made of {count} tensors")
    if len(rest) > 1 or not all(type(one) is bool for one in rest):
        raise ValueError(f"a {name} tensor with more than tensors, a shape, and whether it is coalesced")
    shape = _shape(shape)
    coalesced = bool(rest and rest[0])
    return LegacyLayout(
        "torch.sparse", (name, False, coalesced, *shape), parts, f"{name} tensor of {list(shape)}"
    )


def quantized_tensor(integers: LegacyTensor, quantizer: object) -> LegacyLayout:
    """Return a quantised tensor. Raises ValueError for a scheme that is unknown, and for other parts."""
    name = _INTEGERS.get(integers.dtype)
    if name is None or type(quantizer) is not tuple or len(quantizer) not in (3, 4):
        raise ValueError(f"a quantised tensor over {integers.dtype}")
    scheme = str(getattr(quantizer[0], "name", "")).removeprefix("torch ")
    text = f"{name} tensor of {list(integers.shape)}"
    numbers = quantizer[1:]
    if scheme == "per_tensor_affine" and [type(one) for one in numbers] == [float, int]:
        return LegacyLayout("torch.quantized", (name, None), (integers, *numbers), text)
    *parts, axis = numbers
    tensors = len(parts) == 2 and all(isinstance(part, LegacyTensor) for part in parts)
    if scheme == "per_channel_affine" and tensors and type(axis) is int:
        return LegacyLayout("torch.quantized", (name, axis), (integers, *parts), text)
    raise ValueError(f"a quantised tensor by the scheme {scheme[:40]!r}")


def meta_tensor(dtype: str, shape: object, requires_grad: object) -> LegacyLayout:
    """Return a tensor on the device "meta", which has no values. Raises ValueError for what is no shape."""
    sizes = _shape(shape)
    literal = ("Tensor", dtype, "meta", bool(requires_grad), "empty", *sizes)
    return LegacyLayout("torch.tensor", literal, (), f"{dtype} tensor of {list(sizes)} on 'meta'")


def _shape(shape: object) -> Sequence[int]:
    if type(shape) is not tuple or len(shape) > MAX_RANK:
        raise ValueError("a tensor without a shape")
    if not all(type(size) is int and 0 <= size < 1 << 47 for size in shape):
        raise ValueError(f"a tensor of the shape {list(shape)[:8]}")
    return shape
