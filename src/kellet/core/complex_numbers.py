"""Complex numbers put together from two real tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import dtype_name
from ..errors import DTypeError
from ..rules import RULES
from .dispatch import NONE, apply

if TYPE_CHECKING:
    from .tensor import Tensor

_REAL = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Return the complex numbers with these real and imaginary parts.

    Raises DTypeError unless both are float32, or both float64.

    Source: torch.complex.

    >>> kellet.complex(kellet.tensor([1.0]), kellet.tensor([2.0]))
    tensor([1.+2.j])
    """
    _require_one_real_dtype("complex", real, imag)
    return apply(RULES["complex"], (real, imag), NONE)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Return the complex numbers of these lengths and angles.

    Raises DTypeError unless both are float32, or both float64.

    Source: torch.polar.

    >>> kellet.polar(kellet.tensor([2.0]), kellet.tensor([0.0]))
    tensor([2.+0.j])
    """
    _require_one_real_dtype("polar", abs, angle)
    return complex(abs * angle.cos(), abs * angle.sin())


def _require_one_real_dtype(where: str, first: Tensor, second: Tensor) -> None:
    dtypes = {first._array.dtype, second._array.dtype}
    if len(dtypes) > 1 or not dtypes <= _REAL:
        names = " and ".join(dtype_name(one._array.dtype) for one in (first, second))
        raise DTypeError(f"{where}: expected both parts to be float32, or both float64, got {names}")
