"""How two answers of a call compare, part by part: arrays by their largest difference, all else exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from packager._quick_dataclasses import dataclass
from packager._texts import shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS: Final = {2: "uint16", 4: "uint32", 8: "uint64"}

DEFAULT_TOLERANCE = 1e-5
"""The largest difference between answers that count as the same, where no other is asked for."""

_SHOWN = 60


@dataclass(frozen=True)
class Deviation:
    """How far one part of an answer is from the stored one.

    `largest` is the greatest absolute difference: an exact int between integers, a float between
    others, None where shapes, dtypes or kinds differ or the values have no difference. `same_bits` says
    whether nothing differs at all.
    """

    name: str
    largest: float | int | None
    same_bits: bool
    message: str = ""

    def within(self, tolerance: float) -> bool:
        """Say whether the part is as near to the stored one as `tolerance` says."""
        return self.largest is not None and self.largest <= tolerance

    def __str__(self) -> str:
        if self.same_bits:
            return "the same bits"
        return self.message or f"off by {self.largest:.3g} at most"


def compare_answers(expected: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Deviation, ...]:
    """Return the deviation of every part, by name, of two answers.

    NaN equals NaN, and an infinity one of the same sign; else each is endlessly far from any number.

    >>> import numpy
    >>> before, now = numpy.array([2**60, 5]), numpy.array([2**60 + 1, 5])
    >>> compare_answers({"output": before}, {"output": now})
    (Deviation(name='output', largest=1, same_bits=False, message=''),)
    """
    names = dict.fromkeys([*expected, *found])
    return tuple(_deviation(name, expected, found) for name in names)


def _deviation(name: str, stored: Mapping[str, Any], answer: Mapping[str, Any]) -> Deviation:
    if name not in stored or name not in answer:
        there, absent = ("here", "in the archive") if name in answer else ("in the archive", "here")
        return Deviation(name, None, False, f"only {there}, missing {absent}")
    expected, found = map(_as_array, (stored[name], answer[name]))
    if not (hasattr(expected, "dtype") and hasattr(found, "dtype")):
        same = type(expected) is type(found) and expected == found
        message = "" if same else f"stored as {_shown(expected)}, found {_shown(found)}"
        return Deviation(name, 0 if same else None, same, message)
    return _between_arrays(name, expected, found)


def _as_array(value: Any) -> Any:
    """Return a number as an array: what was one in the archive may be either here."""
    if type(value) in (bool, float, complex) or (type(value) is int and -(2**63) <= value < 2**64):
        import numpy

        return numpy.asarray(value)
    return value


def _shown(value: Any) -> str:
    if hasattr(value, "dtype"):
        return f"{value.dtype} {list(value.shape)}"
    return shortened(repr(value), _SHOWN)


def _between_arrays(name: str, expected: Any, found: Any) -> Deviation:
    # The order of bytes is a matter of storing.
    expected, found = (array.astype(array.dtype.newbyteorder("="), copy=False) for array in (expected, found))
    of_text = expected.dtype.kind == found.dtype.kind and expected.dtype.kind in "US"  # of any length
    if expected.shape != found.shape or not (of_text or expected.dtype == found.dtype):
        return Deviation(name, None, False, f"stored as {_shown(expected)}, found {_shown(found)}")
    same = expected.dtype == found.dtype and expected.tobytes() == found.tobytes()
    if same or not expected.size:
        return Deviation(name, 0, same)
    if expected.dtype.kind in "biu":
        return Deviation(name, int(absolute_differences(expected, found).max()), False)
    if expected.dtype.kind in "OSUMm":
        differing = int((expected != found).sum())
        if not differing:
            return Deviation(name, 0, False)
        return Deviation(name, None, False, f"{differing} of {expected.size} values differ")
    return Deviation(name, float(absolute_differences(expected, found).max()), False)


def absolute_differences(expected: NDArray[Any], found: NDArray[Any]) -> Any:
    """Return how far two arrays of numbers, of one shape and kind, are from each other, element by element.

    Between integers that is exact, and an unsigned integer of 64 bits; else a float of double precision or
    better. Two NaNs in one place, or two equal infinities, are no difference; one alone is an endless one.

    >>> import numpy
    >>> absolute_differences(numpy.array([1.0, numpy.nan]), numpy.array([1.5, numpy.nan])).tolist()
    [0.5, 0.0]
    """
    import numpy as np

    if expected.dtype.kind in "biu":
        higher, lower = np.maximum(expected, found), np.minimum(expected, found)
        # Unsigned differences wrap around to the right one, also where the signed one would overflow.
        return higher.astype(np.uint64) - lower.astype(np.uint64)
    if expected.dtype.kind == "c":
        parts = ((expected.real, found.real), (expected.imag, found.imag))
        with np.errstate(all="ignore"):
            return np.hypot(*(_differences(before, now) for before, now in parts))
    return _differences(expected, found)


def _differences(expected: Any, found: Any) -> Any:
    """Return the absolute differences, in double precision or better."""
    import numpy as np

    wide = np.longdouble if expected.dtype.char == "g" else np.float64
    before, now = expected.astype(wide), found.astype(wide)
    with np.errstate(all="ignore"):  # inf - inf
        differences = np.abs(before - now)
    # Two NaNs in one place, or two equal infinities, are no difference; one alone is an endless one.
    alike = (before == now) | (np.isnan(before) & np.isnan(now))
    return np.where(alike, 0.0, np.where(np.isnan(differences), np.inf, differences))


def ulps_apart(one: Any, other: Any) -> int | None:
    """Return how many floats lie between two values of two arrays at most; None where that has no meaning.

    That is where dtypes differ, for what is no float, and where a NaN or an infinity is met.

    >>> import numpy
    >>> ulps_apart(numpy.array([1.0, 0.0]), numpy.array([1.0 + 2**-51, 0.0]))
    2
    """
    import numpy as np

    if one.dtype != other.dtype or one.dtype.kind not in "fc":
        return None
    if one.dtype.kind == "c":
        parts = [ulps_apart(getattr(one, part), getattr(other, part)) for part in ("real", "imag")]
        return None if None in parts else max(part for part in parts if part is not None)
    if one.dtype.itemsize not in _WORDS or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return None
    places = [_in_order(np.ascontiguousarray(array)) for array in (one, other)]
    return int(absolute_differences(*places).max())


def _in_order(array: Any) -> Any:
    """Return the bits of floats, as integers of their size, in the order of the floats.

    The bits alone are in that order for each sign by itself.
    """
    import numpy as np

    bits = array.view(_WORDS[array.dtype.itemsize]).astype(np.uint64)
    sign = np.uint64(1 << (8 * array.dtype.itemsize - 1))
    size = (bits & ~sign).astype(np.int64)
    return np.where(bits & sign, -size, size)
