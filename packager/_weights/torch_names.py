"""The names that checkpoints of PyTorch mention, and the plain data that each of them becomes.

Nothing here imports what a name stands for. A name that is missing here is not data: a program's own
class, a function. What was added has been thought through as a hostile author would use it.

Tensors that are no strided memory (sparse and quantised ones, and those on "meta") are kept as what they are
made of: strided tensors and plain values, in the words that archives have for it. PyTorch is needed where
such a tensor is made again.

Source: `_rebuild_sparse_tensor`, `_rebuild_qtensor` and `_rebuild_meta_tensor_no_storage` of `torch._utils`.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from packager._archive import MAX_RANK
from packager._objects import require_spread
from packager._quick_dataclasses import dataclass
from packager._tensors import DTYPES, contiguous_strides, itemsize_of

from .legacy_tensors import IN_PICKLE, LegacyStorage, LegacyTensor, checked_tensor
from .pickle_machine import Handler, HasState, Named, NotReadHere
from .sign_bits import ViewedStorages, sign_bits_in

_STORAGES: Final = {
    **{dtype.storage: dtype.name for dtype in DTYPES.values() if dtype.storage},
    "UntypedStorage": "uint8",
    # Of quantised tensors, which are not read themselves; what lies behind them in a stream is.
    "QInt8Storage": "int8",
    "QUInt8Storage": "uint8",
    "QInt32Storage": "int32",
    "QUInt4x2Storage": "uint8",
    "QUInt2x4Storage": "uint8",
}
_DTYPES: Final = {
    name: dtype.name
    for dtype in DTYPES.values()
    if dtype.in_torch and dtype.in_numpy
    for name in (dtype.name, *dtype.aliases)
}


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
    shape = checked_shape(shape)
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
    sizes = checked_shape(shape)
    literal = ("Tensor", dtype, "meta", bool(requires_grad), "empty", *sizes)
    return LegacyLayout("torch.tensor", literal, (), f"{dtype} tensor of {list(sizes)} on 'meta'")


def checked_shape(shape: object) -> tuple[int, ...]:
    """Return a shape as it is. Raises ValueError for what is none that a tensor can have."""
    if type(shape) is not tuple or len(shape) > MAX_RANK:
        raise ValueError("a tensor without a shape")
    if not all(type(size) is int and 0 <= size < 1 << 47 for size in shape):
        shown = [size if type(size) is int else type(size).__name__ for size in shape[:8]]
        raise ValueError(f"a tensor of the shape {shown}")
    return shape


def torch_names(big_endian: bool = False) -> Mapping[str, Handler | None]:
    """Return every name that a pickle of tensors and plain data has, and what becomes of it.

    None where a name may be mentioned only. `big_endian` is that of the file's storages.
    """
    tensors = _Tensors(big_endian)
    return {**DATA_NAMES, **tensors.makers, "torch._tensor _rebuild_from_type_v2": tensors.from_type}


class _Tensors:
    """What makes the tensors of one file, which share the views of its storages."""

    def __init__(self, big_endian: bool) -> None:
        self._big_endian = big_endian
        self._views = ViewedStorages(big_endian)
        self.makers: Mapping[str, Handler] = {
            "torch._utils _rebuild_tensor": self.tensor,
            "torch._utils _rebuild_tensor_v2": self.tensor,
            "torch._utils _rebuild_tensor_v3": self.tensor_v3,
            "torch._utils _rebuild_sparse_tensor": sparse_tensor,
            "torch._utils _rebuild_qtensor": self.quantized,
            "torch._utils _rebuild_meta_tensor_no_storage": self.meta,
        }

    def tensor(
        self,
        storage: LegacyStorage,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        requires_grad: Any = None,
        hooks: Any = None,
        metadata: Any = None,
    ) -> LegacyTensor:
        """Return a tensor of its storage's dtype."""
        return self._made(storage, storage.dtype, offset, shape, strides, metadata)

    def tensor_v3(
        self,
        storage: LegacyStorage,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        requires_grad: bool,
        hooks: Any,
        dtype: Named,
        metadata: Any = None,
    ) -> LegacyTensor:
        """Return a tensor over a storage of bytes, whose dtype stands beside it."""
        return self._made(storage, named_dtype(dtype), offset, shape, strides, metadata)

    def quantized(
        self,
        storage: LegacyStorage,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        quantizer: Any,
        requires_grad: Any = None,
        hooks: Any = None,
    ) -> LegacyLayout:
        """Return a quantised tensor over the storage of its integers."""
        return quantized_tensor(self._made(storage, storage.dtype, offset, shape, strides, None), quantizer)

    def meta(self, dtype: Named, shape: Any, strides: Any, requires_grad: Any) -> LegacyLayout:
        """Return a tensor that has no values."""
        return meta_tensor(named_dtype(dtype), shape, requires_grad)

    def from_type(self, function: object, kind: object, arguments: tuple[Any, ...], state: object) -> Any:
        """Return a tensor with Python attributes, which are not data of the checkpoint."""
        if not isinstance(function, Named) or function.name not in self.makers:
            raise ValueError("a tensor that is made by something unknown")
        return self.makers[function.name](*arguments)

    def _made(
        self,
        storage: LegacyStorage,
        dtype: str,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        metadata: Any,
    ) -> LegacyTensor:
        shown = self._views.shown(storage, dtype, sign_bits_in(metadata))
        return checked_tensor(shown, dtype, offset, shape, strides, self._big_endian)


def named_dtype(dtype: Named) -> str:
    """Return the dtype of numbers that a pickle names. Raises KeyError for another name."""
    return _DTYPES[dtype.name.rpartition(" ")[2]]


def storage_dtype(kind: object) -> str:
    """Return the dtype that a storage's class (as a pickle names it) stands for.

    Raises TypeError for what is no class of storages, KeyError for an unknown one.
    """
    if not isinstance(kind, Named):
        raise TypeError(f"{type(kind).__name__} is no class of storages")
    return _STORAGES[kind.name.rpartition(" ")[2]]


def _parameter(data: object, requires_grad: Any = None, hooks: Any = None, state: Any = None) -> Any:
    if not isinstance(data, (LegacyTensor, LegacyLayout)):
        raise TypeError("a parameter without a tensor")
    return data


def _size(items: Any = ()) -> tuple[int, ...]:
    if not isinstance(items, (list, tuple)) or not all(type(item) is int for item in items):
        raise TypeError("a size that is not made of numbers")
    return tuple(items)


def _device(kind: str, index: int | None = None) -> str:
    if type(kind) is not str or type(index) not in (int, type(None)):
        raise TypeError("a device that is no name and number")
    return kind if index is None else f"{kind}:{index}"


def _layout(name: str) -> str:
    if type(name) is not str:
        raise TypeError("a layout without a name")
    return name


def _ordered(items: Any = ()) -> OrderedDict[Any, Any]:
    if type(items) is tuple and not items:  # the hooks of every tensor
        return OrderedDict()
    if type(items) is not list or not all(
        type(pair) in (list, tuple) and len(pair) == 2 and type(pair[0]) is str for pair in items
    ):
        raise TypeError("an OrderedDict is made of pairs of a text and a value, in a list")
    return OrderedDict(items)


def _default_dict(make: Any = None) -> dict[Any, Any]:
    """Return the entries alone: what makes new ones is no data."""
    if not isinstance(make, (Named, type(None))):
        raise TypeError("a defaultdict that is made of something else than a name")
    return {}


def _counter(counts: Any = None) -> dict[Any, Any]:
    if counts is not None and type(counts) is not dict:
        raise TypeError("a Counter that is not made of a dict")
    return {} if counts is None else dict(counts)


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    if type(text) is not str or type(encoding) is not str:
        raise TypeError("bytes that are not made of a text")
    if encoding.replace("-", "").lower() not in ("latin1", "utf8"):
        raise ValueError(f"bytes in encoding {encoding[:40]!r}")
    return text.encode(encoding)


def _empty_bytes() -> bytes:
    return b""


def _set(items: Any = ()) -> set[Any]:
    plain = (str, bytes, int, float, bool, type(None))
    if (items != () and type(items) is not list) or not all(type(item) in plain for item in items):
        raise TypeError("a set that is not made of a list of plain values")
    require_spread({id(item): item for item in items}.values(), in_set=True)  # the same thing once
    return set(items)


def _complex(real: float, imaginary: float = 0.0) -> complex:
    if type(real) not in (int, float) or type(imaginary) not in (int, float):
        raise TypeError("a complex number that is not made of numbers")
    return complex(float(real), float(imaginary))


def _bytearray(data: bytes | str = b"", encoding: str = "latin1") -> bytes:
    """Return bytes; protocol 2 spells a bytearray as text, later ones as bytes."""
    if type(data) is str:
        return _encoded(data, encoding)
    if type(data) is not bytes:
        raise TypeError(f"bytearray of {type(data).__name__}")
    return data


_NUMPY_CODES: Final = {dtype.code[1:]: dtype.name for dtype in DTYPES.values() if dtype.code}


class _NumpyDtype(HasState):
    """A NumPy dtype of numbers by its code ("f8"); its state says the byte order."""

    def __init__(self, code: str, align: Any = None, copy: Any = None) -> None:
        if type(code) is not str:
            raise TypeError(f"NumPy's dtype {str(code)[:40]!r} is not one of numbers")
        if code not in _NUMPY_CODES:
            raise NotReadHere(f"numpy.dtype({code[:40]!r})")
        self.name = _NUMPY_CODES[code]
        self.big_endian = False

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("the state of a NumPy dtype without a byte order")
        self.big_endian = state[1] == ">"


class _NumpyArray(LegacyTensor, HasState):
    """A NumPy array inside a pickle: empty at first, then its state gives shape, dtype and bytes."""

    def __init__(self, kind: object, shape: object, code: object) -> None:
        if not isinstance(kind, Named) or kind.name != "numpy ndarray":
            raise ValueError("an array of another class than numpy.ndarray")
        super().__init__(_in_memory(b""), "float32", (0,), (1,), 0)

    def set_state(self, state: Any) -> None:
        _, shape, dtype, fortran, data = state
        made = _array(data, dtype, shape, "F" if fortran else "C")
        for name in ("storage", "dtype", "shape", "strides", "offset", "big_endian"):
            object.__setattr__(self, name, getattr(made, name))


def _array(data: Any, dtype: Any, shape: Any, order: Any = "C") -> LegacyTensor:
    if not isinstance(dtype, _NumpyDtype) or not isinstance(data, bytes) or order not in ("C", "F"):
        raise TypeError("an array that is not made of bytes and a dtype of numbers")
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise ValueError("an array with something else than a shape")
    if math.prod(shape) * itemsize_of(dtype.name) != len(data):
        raise ValueError(f"an array of {dtype.name} with shape {list(shape)[:8]} in {len(data)} bytes")
    order_of_axes = shape if order == "C" else shape[::-1]
    strides = contiguous_strides(order_of_axes)
    return checked_tensor(
        _in_memory(data), dtype.name, 0, shape, strides if order == "C" else strides[::-1], dtype.big_endian
    )


def _in_memory(data: bytes) -> LegacyStorage:
    view = memoryview(data)
    return LegacyStorage(IN_PICKLE, "uint8", len(view), lambda start, stop: view[start:stop])


def _numpy_scalar(dtype: Any, data: Any) -> Any:
    found: Any = _array(data, dtype, ()).raw()
    return found.item()


_BUILTINS: Final = ("builtins", "__builtin__")  # of Python 3 and 2
_NUMPY: Final = ("numpy.core", "numpy._core")  # before NumPy 2, and from there on
DATA_NAMES: Final[Mapping[str, Handler | None]] = {
    "torch Size": _size,
    "torch device": _device,
    "torch.serialization _get_layout": _layout,
    "torch._utils _rebuild_parameter": _parameter,
    "torch._utils _rebuild_parameter_with_state": _parameter,
    "torch.nn.parameter Parameter": _parameter,
    "collections OrderedDict": _ordered,
    "collections defaultdict": _default_dict,
    "collections Counter": _counter,
    "_codecs encode": _encoded,
    "numpy dtype": _NumpyDtype,
    **{f"{module} bytes": _empty_bytes for module in _BUILTINS},
    **{f"{module} set": _set for module in _BUILTINS},
    **{f"{module} complex": _complex for module in _BUILTINS},
    **{f"{module} bytearray": _bytearray for module in _BUILTINS},
    **{f"{module}.multiarray scalar": _numpy_scalar for module in _NUMPY},
    **{f"{module}.multiarray _reconstruct": _NumpyArray for module in _NUMPY},
    **{f"{module}.numeric _frombuffer": _array for module in _NUMPY},
    # Classes and dtypes, which are mentioned and never called:
    "numpy ndarray": None,
    "torch Tensor": None,
    "torch.nn.parameter Buffer": None,
    "torch.storage UntypedStorage": None,
    **{
        f"{module} {name}": None
        for module in _BUILTINS
        for name in ("dict", "float", "int", "list", "str", "tuple", "bool")
    },
    **{f"torch {name}": None for name in (*_STORAGES, *_DTYPES, *QUANTIZED)},
    **{f"torch {name}": None for name in ("per_tensor_affine", "per_channel_affine")},
}
"""What becomes of names that need nothing of the file."""
