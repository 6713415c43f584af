"""From tensors to everything else: dtypes, NumPy, Python numbers, pickles, copies."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import Variable
from ..autograd.bridge import Array, wrap
from ..dtypes import (
    BOOL,
    DType,
    DTypeLike,
    as_dtype,
    bool_,
    category,
    complex64,
    complex128,
    dtype_name,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    ml_dtype,
    uint8,
)
from ..errors import DTypeError, GradientError, ShapeError
from ..rules import RULES
from .device import Device, DeviceLike, check_device
from .dispatch import NONE, apply, recorded
from .numpy_functions import call

if TYPE_CHECKING:
    from .tensor import Tensor


def is_signed(input: Tensor) -> bool:
    """Say whether the dtype has negative numbers. Raises DTypeError for a value that is not a tensor.

    >>> kellet.tensor([1]).is_signed()
    True
    """
    if not isinstance(input, Variable):
        raise DTypeError(f"is_signed takes a tensor, got {type(input).__name__}")
    return input._array.dtype.kind != "u" and category(input._array.dtype) != BOOL


class Conversion(Variable):
    """Conversions and copies."""

    __slots__ = ()

    # --- dtypes -----------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The dtype, a NumPy dtype such as `kellet.float32`."""
        return self._array.dtype

    @property
    def device(self) -> Device:
        """Where the data is: always "cpu"."""
        return Device("cpu")

    def to(
        self,
        *args: Any,
        dtype: DTypeLike | None = None,
        device: DeviceLike = None,
        copy: bool = False,
        **ignored: Any,
    ) -> Tensor:
        """Return the tensor in another dtype: itself where nothing changes, unless `copy`.

        Takes a dtype, a device ("cpu"), both, or another tensor whose dtype is meant; also what
        else `torch.Tensor.to` takes and means nothing here (`non_blocking`, `memory_format`).

        Raises DTypeError for a value that is not a dtype, ValueError for another device.
        """
        for name in ignored:
            if name not in ("non_blocking", "memory_format"):
                raise TypeError(f"to() got an unexpected keyword argument {name!r}")
        for arg in args:
            if isinstance(arg, Variable):
                dtype = arg._array.dtype
            elif isinstance(arg, Device) or (isinstance(arg, str) and _is_device(arg)):
                device = arg
            elif arg is not None and not isinstance(arg, bool):
                dtype = arg
        check_device(device)
        found = self._array.dtype if dtype is None else as_dtype(dtype)
        if found == self._array.dtype:
            return apply(RULES["clone"], (self,), NONE) if copy else self  # type: ignore[return-value]  # self is a Tensor
        return apply(RULES["cast"], (self,), {"dtype": found})

    def type(self, dtype: DTypeLike | None = None) -> Any:
        """Return the name of the dtype; with an argument, `to(dtype)`."""
        return dtype_name(self._array.dtype) if dtype is None else self.to(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor in the dtype of `other`."""
        return self.to(other._array.dtype)

    def float(self) -> Tensor:
        """Convert to float32."""
        return self.to(float32)

    def double(self) -> Tensor:
        """Convert to float64."""
        return self.to(float64)

    def half(self) -> Tensor:
        """Convert to float16."""
        return self.to(float16)

    def bfloat16(self) -> Tensor:
        """Convert to bfloat16, where ml_dtypes is installed."""
        return self.to(ml_dtype("bfloat16"))

    def cfloat(self) -> Tensor:
        """Convert to complex64."""
        return self.to(complex64)

    def cdouble(self) -> Tensor:
        """Convert to complex128."""
        return self.to(complex128)

    def long(self) -> Tensor:
        """Convert to int64."""
        return self.to(int64)

    def int(self) -> Tensor:
        """Convert to int32."""
        return self.to(int32)

    def short(self) -> Tensor:
        """Convert to int16."""
        return self.to(int16)

    def char(self) -> Tensor:
        """Convert to int8."""
        return self.to(int8)

    def byte(self) -> Tensor:
        """Convert to uint8."""
        return self.to(uint8)

    def bool(self) -> Tensor:
        """Convert to bool: whether each element is not zero."""
        return self.to(bool_)

    def cpu(self) -> Tensor:
        """Return the tensor itself: kellet computes on the CPU only."""
        return self  # type: ignore[return-value]  # self is a Tensor

    def is_floating_point(self) -> Any:
        """Say whether the dtype is a floating one.

        >>> kellet.is_floating_point(kellet.tensor([1]))
        False
        """
        return category(self._array.dtype) == 2

    def is_complex(self) -> Any:
        """Say whether the dtype is complex.

        >>> kellet.is_complex(kellet.tensor([1j]))
        True
        """
        return self._array.dtype.kind == "c"

    # --- NumPy and Python -------------------------------------------------------------------------

    def numpy(self, *, force: object = False) -> Array:
        """Return the ndarray that holds the values, not a copy: both see each write.

        Raises GradientError for a tensor that requires a gradient, with gradients on, unless `force`.
        """
        if self.requires_grad and recorded() and not force:
            raise GradientError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                "Writes to the array would bypass the graph"
            )
        return self._array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return call(func, args, kwargs)

    __array_priority__ = 1000  # an ndarray on the left lets the tensor's operator work

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: Any = False) -> Tensor:
        return wrap(array)  # type: ignore[return-value]  # wrap makes Tensors

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """Return the value of a tensor of one element, as a Python number.

        Raises ShapeError for any other number of elements.
        """
        if self._array.size != 1:
            raise ShapeError(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar; use .tolist(), "
                "or take one element by its index"
            )
        return self._array.item()

    def tolist(self) -> Any:
        """Return the values as nested lists of Python numbers; a number for shape ()."""
        return self._array.tolist()

    def __bool__(self) -> Any:
        if self._array.size != 1:
            raise ShapeError(
                "Boolean value of Tensor with "
                f"{'no values' if not self._array.size else 'more than one value'} is ambiguous; use "
                ".any(), .all(), or kellet.equal(a, b)"
            )
        return bool(self._array.item())

    def __float__(self) -> Any:
        return float(self.item())

    def __int__(self) -> Any:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> Any:
        if category(self._array.dtype) > 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index; use .int() first"
            )
        return int(self.item())

    # --- copies and pickles -----------------------------------------------------------------------

    def clone(self) -> Tensor:
        """Return a copy of the values; gradients pass through.

        >>> kellet.clone(kellet.tensor([1, 2]))
        tensor([1, 2])
        """
        return apply(RULES["clone"], (self,), NONE)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        """A leaf with the values, the flag and the gradient copied; hooks are not.

        Tensors that share memory and are copied together share the memory of the copies.

        Raises GradientError for a tensor that a recorded operation made.
        """
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise GradientError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                "at the moment: copy x.detach(), or take x.clone()"
            )
        made = _same_class(type(self), _copied(self._array, memo), self._needs)
        memo[id(self)] = made
        made._grad = copy.deepcopy(self._grad, memo)
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Values, flag and attributes; neither the history nor hooks, and no gradient."""
        return (_same_class, (type(self), self._array, self.requires_grad), self.__dict__ or None)

    is_signed = is_signed

    @property
    def is_cuda(self) -> Any:
        """Whether the data lies on a GPU: never."""
        return False

    def get_device(self) -> Any:
        """Return -1, the number of the CPU among the devices."""
        return -1


def _copied(array: Array, memo: dict[Any, Any]) -> Array:
    """A copy of `array` that is the same part of a copy of the memory that it is a part of.

    Memory that belongs to no array (a mapped file) is not copied as a whole: it may be much larger.
    """
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not whole.size or not whole.flags.owndata or not (whole.flags.forc):
        return array.copy()
    key = ("memory of", id(whole))  # alive as long as the tensors that are copied
    copied = memo.get(key)
    if copied is None:
        copied = memo[key] = whole.copy(order="K")
    if whole is array:
        return copied
    held = (copied if copied.flags.c_contiguous else copied.T).reshape(-1).view(np.uint8)
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, held, offset, array.strides)


def _same_class(kind: Any, array: Array, requires_grad: Any) -> Any:
    """A leaf of class `kind` over `array`."""
    made = object.__new__(kind)
    made._array = array
    made._edge = made._grad = made._counter = made._view = made._hooks = None
    made._needs = requires_grad
    return made


def _is_device(name: str) -> Any:
    return name.split(":")[0] in ("cpu", "cuda", "mps", "meta", "xpu")


# --- the methods as functions: the first argument is the tensor ------------------------------------

clone = Conversion.clone
is_complex = Conversion.is_complex
is_floating_point = Conversion.is_floating_point
