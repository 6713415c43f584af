"""What checkpoints of PyTorch are made of, as data: storages, tensors that lie in them, and their names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from packager.errors import LegacyFormatError

from .pickle_machine import Handler, HasState, Named

__all__ = ["LegacyStorage", "LegacyTensor", "array_of", "torch_names"]

_STORAGES: Final = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "uint8",
}
_DTYPES: Final = {
    **{
        name: name
        for name in ("float64", "float32", "float16", "bfloat16", "complex64", "complex128", "bool")
    },
    **{name: name for name in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")},
    **{name: name for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")},
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}
_MAX_AXES = 64  # as many as NumPy takes


@dataclass(frozen=True, slots=True, eq=False)
class LegacyStorage:
    """A run of elements in a file: `data()` gives its bytes, read when they are asked for."""

    key: str
    dtype: str
    nbytes: int
    data: Callable[[], memoryview] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class LegacyTensor:
    """A tensor of a checkpoint: strides and offset count elements, as in PyTorch.

    Tensors over one storage share memory when they are made into arrays.
    """

    storage: LegacyStorage
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def array_of(tensor: LegacyTensor) -> Any:
    """The NumPy array of a tensor: a read-only view of its storage.

    bfloat16 and float8 need ml_dtypes; LegacyFormatError says so where it is missing.
    """
    import numpy as np

    dtype = _numpy_dtype(tensor.dtype)
    flat = np.frombuffer(tensor.storage.data(), dtype=dtype)
    if not flat.size or 0 in tensor.shape:
        return np.zeros(tensor.shape, dtype)
    return np.lib.stride_tricks.as_strided(
        flat[tensor.offset :],
        tensor.shape,
        [stride * dtype.itemsize for stride in tensor.strides],
        writeable=False,
    )


def itemsize_of(dtype: str) -> int:
    """The number of bytes of one element."""
    size: int = _numpy_dtype(dtype).itemsize
    return size


def torch_names() -> Mapping[str, Handler | None]:
    """Every name that a pickle of tensors and plain data has, and what becomes of it."""
    return {
        "collections OrderedDict": _ordered,
        "torch._utils _rebuild_tensor": lambda storage, offset, shape, strides: _tensor(
            storage, offset, shape, strides
        ),
        "torch._utils _rebuild_tensor_v2": _tensor,
        "torch._utils _rebuild_tensor_v3": _tensor_v3,
        "torch._utils _rebuild_parameter": _parameter,
        "torch._utils _rebuild_parameter_with_state": _parameter,
        "torch._tensor _rebuild_from_type_v2": _from_type,
        "torch Size": lambda items=(): tuple(items),
        "torch device": lambda kind, index=None: kind if index is None else f"{kind}:{index}",
        "torch._utils _rebuild_device_tensor_from_numpy": None,
        "torch.nn.parameter Parameter": None,
        "torch.serialization _get_layout": lambda name: name,
        "_codecs encode": _encoded,
        "__builtin__ bytes": lambda: b"",
        "builtins set": lambda items=(): set(items),
        "__builtin__ set": lambda items=(): set(items),
        "builtins complex": lambda real, imaginary: complex(float(real), float(imaginary)),
        "builtins bytearray": lambda data=b"": bytes(data) if isinstance(data, bytes) else _refuse(data),
        "numpy dtype": _NumpyDtype,
        "numpy.core.multiarray scalar": _numpy_scalar,
        "numpy._core.multiarray scalar": _numpy_scalar,
        **{f"torch {name}": None for name in (*_STORAGES, *_DTYPES)},
        "torch.storage UntypedStorage": None,
    }


def storage_dtype(kind: Any) -> str:
    """The dtype that a storage's class (as a pickle names it) stands for."""
    if not isinstance(kind, Named):
        raise TypeError(f"{type(kind).__name__} is no class of storages")
    return _STORAGES[kind.name.rpartition(" ")[2]]


def _tensor(
    storage: LegacyStorage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> LegacyTensor:
    return _checked(storage, storage.dtype, offset, shape, strides)


def _tensor_v3(
    storage: LegacyStorage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    hooks: Any,
    dtype: Named,
    metadata: Any = None,
) -> LegacyTensor:
    return _checked(storage, _DTYPES[dtype.name.rpartition(" ")[2]], offset, shape, strides)


def _checked(
    storage: object, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> LegacyTensor:
    """A tensor every element of which lies inside its storage."""
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, LegacyStorage) or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError("a tensor needs a storage, and sizes that are not negative")
    if len(shape) != len(strides) or len(shape) > _MAX_AXES:
        raise ValueError(f"a tensor of {len(shape)} axes with {len(strides)} strides")
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if 0 not in shape and (last + 1) * itemsize_of(dtype) > storage.nbytes:
        raise ValueError(
            f"a {dtype} tensor of shape {list(shape)} reaches element {last} of storage {storage.key!r}, "
            f"which has {storage.nbytes} bytes"
        )
    return LegacyTensor(storage, dtype, tuple(shape), tuple(strides), offset)


def _parameter(data: object, requires_grad: bool = True, hooks: Any = None, state: Any = None) -> Any:
    if not isinstance(data, LegacyTensor):
        raise TypeError("a parameter without a tensor")
    return data


def _from_type(function: object, kind: object, arguments: tuple[Any, ...], state: object) -> Any:
    """A tensor with Python attributes: the attributes are not data of the checkpoint."""
    if not isinstance(function, Named) or function.name != "torch._utils _rebuild_tensor_v2":
        raise ValueError("a tensor that is made by something unknown")
    return _tensor(*arguments)


def _ordered(items: Any = ()) -> OrderedDict[Any, Any]:
    if not isinstance(items, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str) for pair in items
    ):
        raise TypeError("an OrderedDict is made of pairs of a text and a value")
    return OrderedDict(items)


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    if encoding.replace("-", "").lower() not in ("latin1", "utf8"):
        raise ValueError(f"bytes in encoding {encoding!r}")
    return text.encode(encoding)


def _refuse(data: Any) -> bytes:
    raise TypeError(f"bytearray of {type(data).__name__}")


class _NumpyDtype(HasState):
    """A NumPy dtype by its code ("f8"); its state says the byte order."""

    def __init__(self, code: str, align: bool = False, copy: bool = False) -> None:
        self.code = code
        self.order = "="

    def set_state(self, state: Any) -> None:
        self.order = str(state[1])


def _numpy_scalar(dtype: _NumpyDtype, data: bytes) -> Any:
    import numpy as np

    kind = np.dtype(dtype.code).newbyteorder("<" if dtype.order == "|" else dtype.order)  # type: ignore[arg-type]  # checked by NumPy
    if kind.hasobject or len(data) != kind.itemsize:
        raise ValueError(f"a NumPy scalar of type {dtype.code!r} from {len(data)} bytes")
    return np.frombuffer(data, kind)[0].item()


def _numpy_dtype(name: str) -> Any:
    import numpy as np

    try:
        return np.dtype(name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            raise LegacyFormatError(
                f"the checkpoint holds {name} tensors, which NumPy alone does not know; pip install ml_dtypes"
            ) from None
        return np.dtype(getattr(ml_dtypes, name))
