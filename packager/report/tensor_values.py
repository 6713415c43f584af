"""What values a tensor has, in short: read piece by piece, once for the numbers, once for the histogram."""

from __future__ import annotations

import math
from typing import Any, Final

from packager.differences import Member
from packager.quick_dataclasses import dataclass
from packager.tensors import boxes, span
from packager.weights import as_lazy

BINS: Final = 16
_AT_ONCE: Final = 1 << 18  # elements


@dataclass(frozen=True)
class TensorValues:
    """The least, greatest and mean of the values that are numbers, and how many lie in each sixteenth.

    Of complex values these are their absolute ones. `nans` and `infinities` count the others. Without any
    number `counts` is empty; `note` says why nothing was calculated.
    """

    least: float | int = 0
    greatest: float | int = 0
    mean: float = 0.0
    counts: tuple[int, ...] = ()
    nans: int = 0
    infinities: int = 0
    note: str = ""


class ValueReader:
    """Reads the values of tensors, as many bytes in all as it may; what is the same memory is read once.

    `budget` is in bytes. That of an archive's tensors is in proportion to the archive, however many tensors
    look at the same bytes.
    """

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._known: dict[object, TensorValues] = {}

    def of(self, member: Member, key: str) -> TensorValues:
        """Return the values of a tensor. Raises IntegrityError for bytes that have not their digest."""
        spec = member.tensors[key]
        raw = member.raw_dtypes.get(key)
        known = (member.entry, spec.dtype, spec.storage, spec.shape, spec.strides, spec.offset, raw)
        if known not in self._known:
            self._known[known] = self._read(member, key)
        return self._known[known]

    def _read(self, member: Member, key: str) -> TensorValues:
        spec = member.tensors[key]
        count = math.prod(spec.shape)
        if not count:
            return TensorValues(note="no elements")
        low, high = span(spec.shape, spec.strides, spec.offset)
        if count > high - low:
            return TensorValues(note="repeats its elements")
        tensor = member[key]
        if not hasattr(tensor, "nbytes"):
            return TensorValues(note="packed elements")
        if tensor.nbytes > self._left:
            return TensorValues(note="not read")
        self._left -= tensor.nbytes
        return _values(as_lazy(tensor))


def _values(array: Any) -> TensorValues:
    """Return the values of a lazy array that has elements."""
    import numpy as np

    least: Any = math.inf
    greatest: Any = -math.inf
    total, nans, infinities, numbers = 0.0, 0, 0, 0
    for box in boxes(array.shape, _AT_ONCE):
        part = _numbers(array, box)
        if part.dtype.kind == "f":
            nans += int(np.count_nonzero(np.isnan(part)))
            infinities += int(np.count_nonzero(np.isinf(part)))
            part = part[np.isfinite(part)]
        if part.size:
            least, greatest = min(least, part.min().item()), max(greatest, part.max().item())
            numbers += part.size
            with np.errstate(all="ignore"):
                total += float(part.sum(dtype=np.float64))
    if not numbers:
        return TensorValues(nans=nans, infinities=infinities)
    counts = _counts(array, least, greatest)
    return TensorValues(least, greatest, total / numbers, counts, nans, infinities)


def _counts(array: Any, least: Any, greatest: Any) -> tuple[int, ...]:
    """Return how many numbers lie in each sixteenth of their range; all in the middle where it has no width.

    A range that is wider than the largest float is halved before it is divided.
    """
    import numpy as np

    counts = np.zeros(BINS, np.int64)
    low, high = float(least) / 2, float(greatest) / 2
    width = high - low
    for box in boxes(array.shape, _AT_ONCE):
        part = _numbers(array, box)
        if part.dtype.kind == "f":
            part = part[np.isfinite(part)]
        if not width > 0:
            counts[BINS // 2] += part.size
            continue
        places = ((part.astype(np.float64) / 2 - low) / width * BINS).astype(np.int64)
        counts += np.bincount(np.clip(places, 0, BINS - 1).ravel(), minlength=BINS)
    return tuple(counts.tolist())


def _numbers(array: Any, box: Any) -> Any:
    """Return a box as a flat array of bools, integers or floats; bfloat16 is the upper half of a float32."""
    import numpy as np

    if array.dtype == "bfloat16":
        return (array.read(box).view(np.uint16).astype(np.uint32) << 16).view(np.float32).ravel()
    found = array.typed(box)
    if found.dtype.kind == "c":
        with np.errstate(all="ignore"):
            found = np.abs(found)
    if found.dtype.kind not in "biuf":
        found = found.astype(np.float32)  # float8 of ml_dtypes: every value is one of float32
    if found.dtype.kind == "b":
        found = found.view(np.uint8)
    return found.ravel()
