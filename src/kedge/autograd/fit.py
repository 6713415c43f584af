"""A gradient brought to the shape and dtype of the value it belongs to.

Steps may broadcast and promote their inputs; their derivatives need not know. What comes out is
summed, cast, and reduced to its real part here, on its way along each edge of the graph.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import DType
from ..errors import ShapeError
from ..rules import raw as _raw
from .bridge import bridge

__all__ = ["fit"]


def fit(value: Any, shape: tuple[int, ...], dtype: DType, graph: bool, where: str) -> Any:
    """`value` (a Tensor when `graph`, else an array) with this shape and dtype.

    Raises ShapeError when broadcasting cannot have made its shape out of `shape`.
    """
    xp = bridge.xp if graph else _raw
    found = value._array if graph else value
    if found.dtype.kind == "c" and dtype.kind != "c":
        value = xp.real(value)
    if found.shape != shape:
        if not _broadcasts(shape, found.shape):
            raise ShapeError(
                f"{where} returned an invalid gradient - got {list(found.shape)} but expected shape "
                f"compatible with {list(shape)}; return a gradient of the shape of its input"
            )
        value = xp.sum_to(value, shape=shape)
    if value.dtype != dtype:
        value = xp.cast(value, dtype=dtype)
    return value


def _broadcasts(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    lead = len(wide) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, wide[lead:], strict=True))
