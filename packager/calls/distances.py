"""How far a value is from the recorded one, by what a trace keeps of both; and what counts as rounding."""

from __future__ import annotations

import math
from typing import Final

from packager.quick_dataclasses import dataclass

from .comparing import ulps_apart
from .summaries import Summary, code_of, elements_of


@dataclass(frozen=True)
class Distance:
    """How far a value is from the recorded one.

    `largest` is the greatest difference that is known of, `ulps` as many floats as lie between two elements
    at most; both None where they have no meaning. `is_exact` says whether all elements were compared.
    `allowed` is what counts as rounding. `message` says what else differs.
    """

    largest: float | int | None = None
    ulps: int | None = None
    is_exact: bool = True
    allowed: float = 0.0
    message: str = ""

    @property
    def is_drift(self) -> bool:
        """Whether it is more than rounding."""
        return bool(self.message) or (self.largest is not None and not self.largest <= self.allowed)

    def __str__(self) -> str:
        if self.message:
            return self.message
        least = "" if self.is_exact else " at least"
        ulps = "" if self.ulps is None else f", {self.ulps:,} ulps"
        return f"off by {self.largest:.3g}{ulps}{least}"


_FEW: Final = 4
_FEW_OF_SUMS: Final = 8


def distance(recorded: Summary, found: Summary, *, tolerance: float, terms: int, carried: float) -> Distance:
    """Return how far a value is from the recorded one, and how far counts as rounding.

    That is `tolerance`, and for floats, in parts of the greatest element: a few ulps of their dtype, a few of
    single precision, or double for float64, times the root of the number of `terms` of a sum, and what is
    `carried` over from inputs that were off.
    """
    if recorded.dtype != found.dtype or recorded.shape != found.shape:
        return Distance(message=f"stored as {recorded}, found {found}")
    if recorded.digest == found.digest:
        return Distance(0, 0)
    code = code_of(recorded.dtype)
    if not code:
        return Distance(message="another value")
    if recorded.finite != found.finite:
        size = elements_of(recorded.dtype, recorded.shape)
        return Distance(
            message=f"{size - found.finite:,} of {size:,} numbers are not finite; "
            f"{size - recorded.finite:,} were not"
        )
    is_exact = len(recorded.means) == 1
    # Integers are compared as such: those of 64 bits are no floats.
    seen = [_apart(one, other) for one, other in zip(recorded.numbers, found.numbers, strict=True)]
    largest = max(seen)
    off = max(_apart(one, other) for one, other in zip(recorded.means, found.means, strict=True))
    largest = max(largest, off if off > largest else largest)
    if code != "d":
        return Distance(largest, None, is_exact, 0.0, "" if largest else "other values")
    scale = _scale(recorded.numbers + found.numbers)
    eps, of_sums = _precision(recorded.dtype)
    rounding = scale * (_FEW * eps + _FEW_OF_SUMS * of_sums * math.sqrt(max(terms, 1)) + carried)
    return Distance(largest, _ulps(recorded, found, largest), is_exact, tolerance + rounding)


def relative(found: Distance, recorded: Summary) -> float:
    """Return a distance in parts of the greatest element."""
    scale = _scale(recorded.numbers)
    return float(found.largest) / scale if found.largest and scale else 0.0


def _apart(one: float | int, other: float | int) -> float | int:
    if one == other or (one != one and other != other):
        return 0
    difference = abs(one - other)
    return math.inf if difference != difference else difference


def _scale(numbers: tuple[float | int, ...]) -> float:
    return max((abs(float(one)) for one in numbers if math.isfinite(one)), default=0.0)


def _precision(dtype: str) -> tuple[float, float]:
    """Return the relative distance of floats of a dtype, and of those in which sums of them are taken."""
    double, single = 2.0**-52, 2.0**-23
    if dtype in ("float64", "complex128"):
        return double, double
    if dtype in ("float32", "complex64"):
        return single, single
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype, 0.5), single


def _ulps(recorded: Summary, found: Summary, largest: float | int) -> int | None:
    """Return the ulps between the elements that are kept; where only means differ, those of the greatest."""
    import numpy as np

    dtype = {"complex64": "float32", "complex128": "float64", "bfloat16": "float32"}.get(
        recorded.dtype, recorded.dtype
    )
    if dtype not in ("float16", "float32", "float64"):
        return None
    per = 2**16 if recorded.dtype == "bfloat16" else 1  # the upper half of a float32
    with np.errstate(all="ignore"):  # what is recorded may be no number of its dtype
        sides = [np.array(side.numbers).astype(dtype) for side in (recorded, found)]
    known = np.isfinite(sides[0]) & np.isfinite(sides[1])
    apart = ulps_apart(sides[0][known], sides[1][known]) if known.any() else None
    if apart == 0 and math.isfinite(largest):
        with np.errstate(all="ignore"):
            step = float(np.spacing(np.float64(_scale(found.numbers)).astype(dtype))) * per
        return int(largest / step) or None if math.isfinite(step) and step else None
    return None if apart is None else apart // per
