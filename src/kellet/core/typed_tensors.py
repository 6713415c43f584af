"""Tensors by the name of their dtype, the way of PyTorch's oldest code: `LongTensor([1, 2])`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..dtypes import DType, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from .creation import empty, tensor
from .tensor import Tensor


class _OfDtype(type):
    """Classes that tensors of one dtype belong to."""

    dtype: DType

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype


class _Typed(metaclass=_OfDtype):
    """Make tensors, and no instances of its own. Raises TypeError for a value that cannot become a tensor."""

    dtype: ClassVar[DType]

    def __new__(cls, *data: Any) -> Any:
        if not data:
            return empty(0, dtype=cls.dtype)
        if all(isinstance(size, int) for size in data):
            return empty(*data, dtype=cls.dtype)
        values: Any = data[0]
        if isinstance(values, list | tuple | np.ndarray) and len(data) == 1:
            return tensor(np.asarray(values).astype(cls.dtype))
        if isinstance(values, Tensor) and values.dtype == cls.dtype and len(data) == 1:
            return values.detach()
        found = f"a tensor of {values.dtype}" if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(f"{cls.__name__}: expected a sequence, an array, or sizes; got {found}")


class HalfTensor(_Typed):
    """A float16 tensor of numbers, sequences or an array; of integers alone, an empty one of that shape.

    >>> kellet.HalfTensor([1]).dtype
    dtype('float16')
    """

    dtype = float16


class FloatTensor(_Typed):
    """A float32 tensor of numbers, sequences or an array; of integers alone, an empty one of that shape.

    Every tensor of this dtype is an instance of it. Source: torch.FloatTensor.

    >>> kellet.FloatTensor([1, 2])
    tensor([1., 2.])
    >>> isinstance(kellet.ones(1), kellet.FloatTensor), kellet.FloatTensor(2, 3).shape
    (True, (2, 3))
    """

    dtype = float32


class DoubleTensor(_Typed):
    """A float64 tensor, as `FloatTensor`.

    >>> kellet.DoubleTensor([1]).dtype
    dtype('float64')
    """

    dtype = float64


class LongTensor(_Typed):
    """An int64 tensor, as `FloatTensor`.

    >>> kellet.LongTensor([1, 2]).dtype
    dtype('int64')
    """

    dtype = int64


class IntTensor(_Typed):
    """An int32 tensor, as `FloatTensor`.

    >>> kellet.IntTensor([1]).dtype
    dtype('int32')
    """

    dtype = int32


class ShortTensor(_Typed):
    """An int16 tensor, as `FloatTensor`.

    >>> kellet.ShortTensor([1]).dtype
    dtype('int16')
    """

    dtype = int16


class CharTensor(_Typed):
    """An int8 tensor, as `FloatTensor`.

    >>> kellet.CharTensor([1]).dtype
    dtype('int8')
    """

    dtype = int8


class ByteTensor(_Typed):
    """A uint8 tensor, as `FloatTensor`.

    >>> kellet.ByteTensor([1]).dtype
    dtype('uint8')
    """

    dtype = uint8


class BoolTensor(_Typed):
    """A tensor of bools, as `FloatTensor`.

    >>> kellet.BoolTensor([1, 0])
    tensor([ True, False])
    """

    dtype = bool_
