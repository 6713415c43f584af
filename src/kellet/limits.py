"""The limits of dtypes, and sizes as a class, under PyTorch's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .dtypes import FLOATING, as_dtype, category, dtype_name, finfo_dtype, get_default_dtype
from .errors import DTypeError

__all__ = ["Size", "dtype", "finfo", "iinfo"]


class finfo:
    """The limits of a floating dtype; of a complex one, those of its parts.

    `eps` is the distance from 1 to the next number, `tiny` and `smallest_normal` the smallest normal one,
    `resolution` the power of ten that `eps` is below.

    Raises DTypeError for integers and bools.

    Source: torch.finfo.

    >>> kellet.finfo(kellet.float32).max
    3.4028234663852886e+38
    """

    def __init__(self, dtype: Any = None) -> None:
        found = get_default_dtype() if dtype is None else as_dtype(dtype)
        if category(found) < FLOATING:
            raise DTypeError(f"finfo takes floating dtypes, got {dtype_name(found)}; use kellet.iinfo")
        limits = _limits(finfo_dtype(found))
        self.bits = int(limits.bits)
        self.dtype = dtype_name(finfo_dtype(found))
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.smallest_normal = self.tiny = float(limits.smallest_normal)
        self.resolution = 10.0**-limits.precision

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


def _limits(dtype: Any) -> Any:
    if dtype.isbuiltin == 1:
        return np.finfo(dtype)
    import ml_dtypes  # the dtype is one of that package

    return ml_dtypes.finfo(dtype)


class iinfo:
    """The limits of an integer dtype.

    Raises DTypeError for floating dtypes and bools.

    Source: torch.iinfo.

    >>> kellet.iinfo(kellet.int8).max
    127
    """

    def __init__(self, dtype: Any) -> None:
        found = as_dtype(dtype)
        if found.kind not in "iu":
            raise DTypeError(f"iinfo takes integer dtypes, got {dtype_name(found)}; use kellet.finfo")
        limits = np.iinfo(found)
        self.bits = int(limits.bits)
        self.dtype = dtype_name(found)
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


class _OfDtypes(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.dtype)


class dtype(metaclass=_OfDtypes):
    """What every dtype is an instance of.

    >>> isinstance(kellet.ones(1).dtype, kellet.dtype)
    True
    """


class _AnyTuple(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, tuple) and all(isinstance(n, int) for n in instance)


class Size(tuple[int, ...], metaclass=_AnyTuple):
    """A shape with a count of its elements. Every tuple of integers passes for one.

    Source: torch.Size.

    >>> kellet.Size([2, 3]) == kellet.ones(2, 3).shape
    True
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the product of the sizes.

        >>> kellet.ones(2, 3).shape.numel()
        6
        """
        return math.prod(self)
