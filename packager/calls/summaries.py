"""What a trace keeps of one value: a digest of all of it, and numbers enough to tell how far another is off.

Section 5.7 of the format. Two values with one digest are equal. Where digests differ, the rest decides
whether that is rounding: the least and the greatest element, elements at fixed positions, and the means of
elements that are a fixed number of places apart, in which one changed element among thousands shows.
"""

from __future__ import annotations

import hashlib
import math
import struct
from functools import lru_cache
from typing import Any, Final

from packager.libraries import dtype_of, library_of
from packager.quick_dataclasses import dataclass

from .array_calls import PLAIN, array_of
from .comparing import ulps_apart

SAMPLES: Final = 32
"""How many elements are kept of an array; all of them where it has no more."""
FOLDS: Final = 16
"""How many means are kept of an array with more elements than are sampled."""

_SPREAD: Final = 2654435769
"""2**32 over the golden ratio: its multiples modulo 2**32 lie evenly, and beside each other for no stride."""
_CODES: Final = {"b": "Q", "u": "Q", "i": "q", "f": "d", "c": "d"}
_SUMMED_AT_ONCE: Final = 1 << 16


@dataclass(frozen=True)
class Summary:
    """One value: its dtype and shape, a sha256 of its bytes, and numbers of it.

    `numbers` are the least and the greatest element, then samples; `means` the mean of all, then those of
    elements `FOLDS` places apart. Both are empty for what is no number. Numbers that are not finite count as
    zero in means, and not for the least and the greatest; `finite` counts the others. The parts of complex
    numbers count as elements.
    """

    dtype: str
    shape: tuple[int, ...]
    digest: bytes
    finite: int = 0
    numbers: tuple[float | int, ...] = ()
    means: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}" if self.numbers or self.shape else self.dtype


class NoSummary(Exception):
    """A value that a trace keeps nothing of."""


def summary_of(value: Any) -> Summary:
    """Return the summary of an array, a tensor of any library, or a plain value.

    Raises NoSummary for anything else.

    >>> import numpy
    >>> found = summary_of(numpy.array([1.5, -2.0], "float32"))
    >>> found.dtype, found.shape, found.numbers
    ('float32', (2,), (-2.0, 1.5, 1.5, -2.0))
    """
    import numpy as np

    if value is None or type(value) in (str, bytes):
        return _of_plain(value)
    dtype = dtype_of(value) if library_of(value) == "torch" else ""
    try:
        array = array_of(value)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise NoSummary(type(value).__name__) from error
    if array.dtype.hasobject:
        items = array.ravel().tolist()
        if not set(map(type, items)) <= set(PLAIN):
            raise NoSummary(type(value).__name__)
        return _of_plain(items, array.shape)
    name = dtype or dtype_of(array)
    if array.dtype.char in "gG":  # its bytes hold what is no number
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    elif array.dtype.kind == "V" and code_of(name):  # of ml_dtypes: every value is one of float32
        array = array.astype(np.float32)
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(array.shape)
    digest = digest_of(array)
    code = _CODES.get(array.dtype.kind, "")
    kept = name if code_of(name) == code else dtype_of(array)
    if not code:
        return Summary(kept, array.shape, digest)
    return Summary(kept, array.shape, digest, *_numbers_of(array))


_DIGESTED_WHOLE: Final = 1 << 14
_LANES: Final = (256, 251)


def digest_of(array: Any) -> bytes:
    """Return a sha256 of an array in C order; of a long one, of sums of its words.

    sha256 reads a gigabyte a second, many times less than a layer computes: so the words of a long array are
    added up in lanes first, twice, with numbers of lanes that have no factor in common. Any change of one
    word changes both; words that were exchanged change one of them at least.
    """
    import numpy as np

    data = array.reshape(-1).view(np.uint8)
    if data.size <= _DIGESTED_WHOLE:
        return hashlib.sha256(data.data).digest()
    whole = data.size // 8 * 8
    words = data[:whole].view("<u8")
    digest = hashlib.sha256(data[whole:].data)
    for lanes in _LANES:
        rows = words.size // lanes
        sums = np.add.reduce(words[: rows * lanes].reshape(rows, lanes), axis=0)
        rest = words[rows * lanes :]
        sums[: rest.size] += rest
        digest.update(sums.astype("<u8", copy=False).data)
    return digest.digest()


def _of_plain(value: Any, shape: tuple[int, ...] = ()) -> Summary:
    name = "object" if isinstance(value, list) else type(value).__name__
    return Summary(name, tuple(shape), hashlib.sha256(repr(value).encode("utf-8", "replace")).digest())


def _numbers_of(array: Any) -> tuple[int, tuple[float | int, ...], tuple[float, ...]]:
    import numpy as np

    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if not flat.size:
        return 0, (), ()
    sampled = flat.take(positions(flat.size)).tolist()
    means = _means_of(flat)
    if flat.dtype.kind in "biu" or math.isfinite(means[0]):
        return flat.size, _plain([flat.min().item(), flat.max().item(), *sampled]), means
    is_finite = np.isfinite(flat)
    if is_finite.all():  # a sum in single precision was not
        return flat.size, _plain([flat.min().item(), flat.max().item(), *sampled]), _means_of(flat, wide=True)
    bare = flat[is_finite]
    ends = [bare.min().item(), bare.max().item()] if bare.size else [math.nan, math.nan]
    return bare.size, _plain([*ends, *sampled]), _means_of(np.where(is_finite, flat, 0.0))


def _plain(numbers: list[Any]) -> tuple[float | int, ...]:
    return tuple(int(one) if type(one) is bool else one for one in numbers)


@lru_cache(maxsize=256)
def positions(size: int) -> list[int]:
    """Return which elements of so many are sampled.

    >>> positions(3), positions(1000)[:4]
    ([0, 1, 2], [0, 618, 236, 854])
    """
    if size <= SAMPLES:
        return list(range(size))
    return [(number * _SPREAD % 2**32) * size >> 32 for number in range(SAMPLES)]


def _means_of(flat: Any, *, wide: bool = False) -> tuple[float, ...]:
    """Return the mean of all elements, and of those FOLDS places apart.

    They are summed in double precision; of float32 256 at a time in their own, which is several times as
    fast, and not `wide`.
    """
    import numpy as np

    dtype = np.float32 if flat.dtype == np.float32 and not wide else np.float64
    whole = flat.size // _LANES[0] * _LANES[0]
    lanes = np.zeros(_LANES[0])
    with np.errstate(all="ignore"):
        for start in range(0, whole, _SUMMED_AT_ONCE):  # in pieces that stay in the cache
            piece = flat[start : min(start + _SUMMED_AT_ONCE, whole)].astype(dtype, copy=False)
            lanes += np.add.reduce(piece.reshape(-1, _LANES[0]), axis=0)
        lanes[: flat.size - whole] += flat[whole:]
        sums = lanes.reshape(-1, FOLDS).sum(axis=0)
        mean = float(sums.sum() / flat.size)
        if flat.size <= SAMPLES:
            return (mean,)
        counts = np.full(FOLDS, flat.size // FOLDS)
        counts[: flat.size % FOLDS] += 1
        return (mean, *(sums / counts).tolist())


# --- as bytes ---


def code_of(dtype: str) -> str:
    """Return how `struct` spells the numbers of a dtype: "d", "q" or "Q"; "" for one that has no numbers."""
    for start, code in (("bool", "Q"), ("uint", "Q"), ("int", "q"), ("float", "d"), ("bfloat", "d")):
        if dtype.startswith(start) and dtype not in ("int", "float", "bool_"):
            return code
    return "d" if dtype in ("complex64", "complex128") else ""


def packed_numbers(summary: Summary) -> tuple[bytes, bytes]:
    """Return numbers and means, eight bytes each, little-endian."""
    code = code_of(summary.dtype)
    return (
        struct.pack(f"<{len(summary.numbers)}{code or 'd'}", *summary.numbers),
        struct.pack(f"<{len(summary.means)}d", *summary.means),
    )


def elements_of(dtype: str, shape: tuple[int, ...]) -> int:
    """Return how many elements count of an array: two for a complex number."""
    return math.prod(shape) * (2 if dtype.startswith("complex") else 1)


# --- how far two are apart ---


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
