"""The in-place forms of functions, by one table: each computes the function and writes the result.

Those that NumPy writes without a second array are in inplace.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd import Variable
from ..dtypes import category, dtype_name
from ..errors import DTypeError, ShapeError
from .dispatch import require_writeable

NAMES = (
    "absolute acos acosh addbmm addmm addmv addr arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan"
    " atan2 atanh baddbmm bitwise_not clamp_max clamp_min clip copysign cosh cumprod cumsum deg2rad divide"
    " eq erf erfc exp2 expm1 float_power fmod frac ge greater greater_equal gt heaviside hypot le less"
    " less_equal log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt multiply nan_to_num"
    " ne negative not_equal rad2deg round sgn sign sinc sinh square subtract tan tril triu true_divide trunc"
    " xlogy"
).split()
"""`x.tan_()` is `x.copy_(x.tan())`."""


class MoreInPlace(Variable):
    """The methods of the table."""

    __slots__ = ()


def _in_place(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        require_writeable(f"{name}_", self)
        # The derivative may read the old values, which are about to be written over.
        old = self.clone() if self.requires_grad else self
        new = method(old, *[old if value is self else value for value in args], **kwargs)
        if category(new._array.dtype) > category(self._array.dtype):
            raise DTypeError(
                f"{name}_: result type {dtype_name(new._array.dtype)} can't be cast to the desired output "
                f"type {dtype_name(self._array.dtype)}; use the out-of-place operation"
            )
        if new._array.shape != self._array.shape:
            raise ShapeError(
                f"{name}_: the result has shape {new._array.shape}, and cannot be written into a tensor of "
                f"shape {self._array.shape}; use the out-of-place operation"
            )
        return self.copy_(new)

    written.__name__ = written.__qualname__ = f"{name}_"
    written.__doc__ = f"Compute `{name}`, in place."
    return written


def add_in_place_forms(tensor: type[Any]) -> None:
    """Give the class of tensors the in-place form of each method of the table that it has."""
    for name in NAMES:
        method = getattr(tensor, name, None)
        if method is not None:
            setattr(MoreInPlace, f"{name}_", _in_place(name, method))
