"""Answers compared: how far the arrays of one call are from those of another.

Integers and booleans are compared as integers of any size, never as floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_TOLERANCE = 1e-5
"""The largest difference between answers that count as the same, where no other is asked for."""


@dataclass(frozen=True)
class Deviation:
    """How far one array of an answer is from the stored one.

    `largest` is the greatest absolute difference: an exact int between integers, a float between
    others, None where shapes or dtypes differ or there is no difference to be had. `same_bits` says
    whether nothing differs at all.
    """

    name: str
    largest: float | int | None
    same_bits: bool
    message: str = ""

    def within(self, tolerance: float) -> bool:
        """Whether the array is as near to the stored one as `tolerance` says."""
        return self.largest is not None and self.largest <= tolerance

    def __str__(self) -> str:
        if self.same_bits:
            return "the same bits"
        return self.message or f"off by {self.largest:.3g} at most"


def compare_answers(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Deviation, ...]:
    """The deviation of every array, by name, of two answers.

    NaN equals NaN, and an infinity one of the same sign; else each is endlessly far from any number.

    >>> import numpy
    >>> before, now = numpy.array([2**60, 5]), numpy.array([2**60 + 1, 5])
    >>> compare_answers({"output": before}, {"output": now})
    (Deviation(name='output', largest=1, same_bits=False, message=''),)
    """
    names = dict.fromkeys([*expected, *found])
    return tuple(_deviation(name, expected.get(name), found.get(name)) for name in names)


def _deviation(name: str, expected: Any, found: Any) -> Deviation:
    if expected is None or found is None:
        there, absent = ("here", "in the archive") if expected is None else ("in the archive", "here")
        return Deviation(name, None, False, f"it is {there}, but not {absent}")
    # The order of bytes is a matter of storing.
    expected, found = (array.astype(array.dtype.newbyteorder("="), copy=False) for array in (expected, found))
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return Deviation(
            name,
            None,
            False,
            f"stored as {expected.dtype} {list(expected.shape)}, found {found.dtype} {list(found.shape)}",
        )
    same = expected.tobytes() == found.tobytes()
    if same or not expected.size:
        return Deviation(name, 0, same)
    if expected.dtype.kind in "biu":
        return Deviation(name, _largest_between_integers(expected, found), False)
    if expected.dtype.kind in "OSUMm":
        differing = int((expected != found).sum())
        if not differing:
            return Deviation(name, 0, False)
        return Deviation(name, None, False, f"{differing} of {expected.size} values differ")
    return Deviation(name, _largest_between_floats(expected, found), False)


def _largest_between_integers(expected: Any, found: Any) -> int:
    """The greatest difference, exact: that of two integers of 64 bits has 64 bits, without a sign."""
    import numpy as np

    higher, lower = np.maximum(expected, found), np.minimum(expected, found)
    # Unsigned differences wrap around to the right one, also where the signed one has no room.
    return int((higher.astype(np.uint64) - lower.astype(np.uint64)).max())


def _largest_between_floats(expected: Any, found: Any) -> float:
    import numpy as np

    if expected.dtype.kind == "c":
        parts = ((expected.real, found.real), (expected.imag, found.imag))
        with np.errstate(all="ignore"):
            return float(np.hypot(*(_differences(before, now) for before, now in parts)).max())
    return float(_differences(expected, found).max())


def _differences(expected: Any, found: Any) -> Any:
    """The absolute differences, in double precision or better."""
    import numpy as np

    wide = np.longdouble if expected.dtype.char == "g" else np.float64
    before, now = expected.astype(wide), found.astype(wide)
    with np.errstate(all="ignore"):  # inf - inf
        differences = np.abs(before - now)
    # Two NaNs in one place, or two equal infinities, are no difference; one alone is an endless one.
    alike = (before == now) | (np.isnan(before) & np.isnan(now))
    return np.where(alike, 0.0, np.where(np.isnan(differences), np.inf, differences))
