"""How far the values of two arrays of one shape are apart, a few MB of both in memory at a time."""

from __future__ import annotations

import math
from typing import Any, Final

from packager.calls import absolute_differences, ulps_apart
from packager.errors import LegacyFormatError
from packager.tensors import boxes
from packager.weights import as_lazy

from .records import TensorChange

_AT_ONCE: Final = 1 << 18  # elements


def layout_of(value: Any) -> str:
    """Return dtype and shape as text.

    >>> import numpy
    >>> layout_of(numpy.ones((2, 3), "float32"))
    'float32 [2, 3]'
    """
    return f"{value.dtype} [{', '.join(map(str, value.shape))}]"


def same_bytes(before: Any, after: Any) -> bool:
    """Say whether two arrays of one dtype and shape have the same bits in every element."""
    one, other = as_lazy(before), as_lazy(after)
    size = _AT_ONCE * 8
    # Both are cut alike, whatever their layout: into boxes of their shape.
    return all(
        one.read(box).tobytes() == other.read(box).tobytes()
        for box in boxes(tuple(one.shape), max(size // max(_itemsize(one), 1), 1))
    )


def tensor_change(state: str, key: str, before: Any, after: Any, old_key: str = "") -> TensorChange | None:
    """Return how two values of one key differ; None where every bit is the same. Both are arrays."""
    layouts = layout_of(before), layout_of(after)
    if tuple(before.shape) != tuple(after.shape):
        return TensorChange(state, key, *layouts, note="another shape", old_key=old_key)
    if layouts[0] == layouts[1] and same_bytes(before, after):
        return None
    try:
        found = _numbers(as_lazy(before), as_lazy(after))
    except (LegacyFormatError, TypeError, ValueError) as error:  # a dtype that NumPy cannot calculate with
        return TensorChange(state, key, *layouts, note=f"other bytes; no numbers: {error}", old_key=old_key)
    note = (
        ""
        if found["differing"]
        else "the same values in another dtype, or other signs of zeros or bits of NaNs"
    )
    return TensorChange(state, key, *layouts, **found, note=note, old_key=old_key)


def _numbers(before: Any, after: Any) -> dict[str, Any]:
    """Return the numbers of a change, gathered over both arrays box by box."""
    import numpy as np

    squares = of_before = 0.0
    largest: float | int = 0
    ulps: int | None = 0
    differing = 0
    for box in boxes(tuple(before.shape), _AT_ONCE):
        one, other = _typed(before, box), _typed(after, box)
        if ulps is not None:
            more = ulps_apart(one, other)
            ulps = None if more is None else max(ulps, more)
        one, other = _alike(one, other)
        apart = absolute_differences(one, other)
        largest = max(largest, apart.max().item())
        differing += int(np.count_nonzero(apart))
        with np.errstate(all="ignore"):
            squares += float(np.sum(np.square(apart.astype(np.float64))))
            size = np.abs(one.astype(np.complex128 if one.dtype.kind == "c" else np.float64))
            of_before += float(np.nansum(np.square(size)))
    norm, base = math.sqrt(squares), math.sqrt(of_before)
    return {
        "norm": norm,
        "relative": norm / base if base else (math.inf if norm else 0.0),
        "largest": largest,
        "ulps": ulps,
        "differing": differing,
        "size": math.prod(before.shape),
    }


def _typed(array: Any, box: Any) -> Any:
    """Return a box in a dtype that NumPy calculates with; bfloat16 is the upper half of a float32."""
    import numpy as np

    if array.dtype == "bfloat16":
        return (array.read(box).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    found = array.typed(box)
    if found.dtype.kind not in "biufc":
        found = found.astype(np.float32)  # float8 of ml_dtypes: every value is one of float32
    return found


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Return both as numbers of one kind, as they are where they are that."""
    import numpy as np

    if one.dtype.kind == other.dtype.kind and one.dtype.kind in "biufc":
        return one, other
    kind = np.complex128 if "c" in (one.dtype.kind, other.dtype.kind) else np.float64
    return one.astype(kind), other.astype(kind)


def _itemsize(array: Any) -> int:
    return int(array.nbytes // max(math.prod(array.shape), 1))
