"""The values that a trace meets while a call runs, each looked at once: its digest, and numbers of it.

What a submodule took or gave may be written to by the next one, so that nothing is left for later.
Section 5.7 of the format says which numbers they are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from packager._tensors import library_of_class, name_of_dtype

from .array_calls import PLAIN, array_of
from .traces import FOLDS, SAMPLES, NoSummary, Summary, code_of

Met = tuple[tuple[str, tuple[int, ...], bytes], Any]
"""Dtype, shape and digest of a value, by which equal ones are one; and its array, None for no numbers."""


class TracedValues:
    """The values of a trace, as they were met: `summaries` has equal ones once."""

    def __init__(self) -> None:
        self.summaries: list[Summary] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._recent: dict[int, tuple[Any, int, int]] = {}
        self._takers: dict[type, Callable[[Any], Met]] = {}

    def number_of(self, value: Any) -> int:
        """Return which of the summaries a value has; one met just now, and not written to since, is not read.

        Raises NoSummary for what is neither an array nor a plain value.
        """
        try:
            version = value._version
        except (AttributeError, RuntimeError):  # no tensor; in inference mode PyTorch does not count
            return self._number_of(value)
        if type(version) is not int:
            return self._number_of(value)
        known = self._recent.get(id(value))
        if known is not None and known[0] is value and known[1] == version:
            return known[2]
        number = self._number_of(value)
        # It is held, so that no other object gets its id.
        self._recent[id(value)] = (value, version, number)
        if len(self._recent) > _REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return number

    def _number_of(self, value: Any) -> int:
        cls = type(value)
        take = self._takers.get(cls)
        if take is None:
            take = self._takers[cls] = _taker_of(cls)
        key, array = take(value)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.summaries)
            numbers = (0, (), ()) if array is None or not array.size else counted(array)
            self.summaries.append(Summary(*key, *numbers))
        return number


_REMEMBERED: Final = 8


def summary_of(value: object) -> Summary:
    """Return the summary of an array, a tensor of any library, or a plain value.

    Raises NoSummary for anything else.

    >>> import numpy
    >>> found = summary_of(numpy.array([1.5, -2.0], "float32"))
    >>> found.dtype, found.shape, found.numbers
    ('float32', (2,), (-2.0, 1.5, 1.5, -2.0))
    """
    values = TracedValues()
    return values.summaries[values.number_of(value)]


# --- one value ---


def _taker_of(cls: type) -> Callable[[Any], Met]:
    """Return what looks at values of a class; all of it raises NoSummary."""
    if cls in (str, bytes, type(None)):
        return _of_plain
    if library_of_class(cls) == "numpy":
        return lambda value: _met(value, _array_of(value))
    return _met_tensor


def _met_tensor(value: Any) -> Met:
    try:
        array = value.detach().numpy()  # what nearly all tensors can do as they are
    except (TypeError, ValueError, RuntimeError, AttributeError):
        array = _array_of(value)
    return _met(value, array)


def _array_of(value: Any) -> Any:
    try:
        return array_of(value)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise NoSummary(type(value).__name__) from error


def _met(value: Any, array: Any) -> Met:
    dtype = array.dtype
    if dtype.hasobject:
        items = array.ravel().tolist()
        if not set(map(type, items)) <= set(PLAIN):
            raise NoSummary(type(value).__name__)
        return _of_plain(items, array.shape)
    own = getattr(value, "dtype", None)  # of PyTorch NumPy may lack it
    name, form, has_numbers = _form_of(own if type(own).__module__ == "torch" else dtype, dtype)
    shape = array.shape
    array = np.ascontiguousarray(array, form)
    return (name, shape, digest_of(array)), array if has_numbers else None


def _of_plain(value: Any, shape: tuple[int, ...] = ()) -> Met:
    name = "object" if isinstance(value, list) else type(value).__name__
    text = repr(value).encode("utf-8", "replace")
    return (name, tuple(shape), hashlib.sha256(text).digest()), None


_CODES: Final = {"b": "Q", "u": "Q", "i": "q", "f": "d", "c": "d"}


@lru_cache(maxsize=256)
def _form_of(own: Any, dtype: Any) -> tuple[str, Any, bool]:
    """Return the name of a dtype, what its arrays become, and whether they have numbers."""
    name, form = name_of_dtype(own), dtype
    if dtype.char in "gG":  # its bytes hold what is no number
        form = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    elif dtype.kind == "V" and code_of(name):  # of ml_dtypes: every value is one of float32
        form = np.dtype(np.float32)
    form = form.newbyteorder("<")
    code = _CODES.get(form.kind, "")
    kept = name if code_of(name) == code else name_of_dtype(form)
    return kept, form, bool(code)


Counted = tuple[int, tuple[float | int, ...], tuple[float, ...]]
"""How many elements are finite, the numbers, and the means, as a `Summary` has them."""

WHOLE: Final = 1 << 14
"""Of arrays of up to so many bytes the digest is that of the bytes themselves."""
_LANES: Final = (256, 251)
_ABREAST: Final = 8
_WIDE_FROM: Final = 64
_SUMMED_AT_ONCE: Final = 1 << 16
_SPREAD: Final = 2654435769
"""2**32 over the golden ratio: its multiples modulo 2**32 lie evenly, and beside each other for no stride."""


def digest_of(array: Any) -> bytes:
    """Return a sha256 of an array in C order; of a long one, of sums of its words.

    sha256 reads a gigabyte a second, many times less than a layer computes: so the words of a long array are
    added up in lanes first, twice, with numbers of lanes that have no factor in common. Any change of one
    word changes both; words that were exchanged change one of them at least.
    """
    data = array.reshape(-1).view(np.uint8)
    if data.size <= WHOLE:
        return hashlib.sha256(data.data).digest()
    whole = data.size // 8 * 8
    words = data[:whole].view("<u8")
    digest = hashlib.sha256(data[whole:].data)
    for lanes in _LANES:
        digest.update(_lane_sums(words, lanes).astype("<u8", copy=False).data)
    return digest.digest()


def _lane_sums(flat: Any, lanes: int) -> Any:
    """Return the sums of the elements at positions that are i modulo `lanes`, in the dtype of `flat`.

    Of a long array several rows are added abreast: NumPy is three times as fast at rows of some 16 kB, whose
    sums stay in the nearest cache.
    """
    whole = flat.size // lanes * lanes
    wide = whole // (lanes * _ABREAST) * lanes * _ABREAST if whole >= _WIDE_FROM * lanes else 0
    sums = np.add.reduce(flat[wide:whole].reshape(-1, lanes), axis=0)
    if wide:
        abreast = np.add.reduce(flat[:wide].reshape(-1, lanes * _ABREAST), axis=0)
        sums += np.add.reduce(abreast.reshape(_ABREAST, lanes), axis=0)
    if whole < flat.size:
        sums[: flat.size - whole] += flat[whole:]
    return sums


@lru_cache(maxsize=256)
def positions(size: int) -> list[int]:
    """Return which elements of so many are sampled.

    >>> positions(3), positions(1000)[:4]
    ([0, 1, 2], [0, 618, 236, 854])
    """
    if size <= SAMPLES:
        return list(range(size))
    return [(number * _SPREAD % 2**32) * size >> 32 for number in range(SAMPLES)]


def counted(array: Any) -> Counted:
    """Return the numbers of an array with elements, by itself.

    Elements of complex numbers are their parts; those of bool are 0 and 1.
    """
    flat = array.reshape(-1)
    flat = flat.view(_real(flat.dtype))
    sampled = flat.take(positions(flat.size)).tolist()
    means = _means_of(flat)
    if flat.dtype.kind in "iu" or math.isfinite(means[0]):
        return flat.size, (flat.min().item(), flat.max().item(), *sampled), means
    is_finite = np.isfinite(flat)
    if is_finite.all():  # a sum in single precision was not
        return flat.size, (flat.min().item(), flat.max().item(), *sampled), _means_of(flat, wide=True)
    bare = flat[is_finite]
    ends = (bare.min().item(), bare.max().item()) if bare.size else (math.nan, math.nan)
    return bare.size, (*ends, *sampled), _means_of(np.where(is_finite, flat, 0.0))


def _real(dtype: Any) -> Any:
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _means_of(flat: Any, *, wide: bool = False) -> tuple[float, ...]:
    """Return the mean of all elements, and of those FOLDS places apart.

    They are summed in double precision; of a long array of float32 some at a time in their own, which is
    several times as fast, and not `wide`.
    """
    own = flat.dtype == np.float32 and flat.nbytes > WHOLE and not wide
    lanes = np.zeros(_LANES[0])
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, _SUMMED_AT_ONCE):  # in pieces that stay in the cache
            piece = flat[start : start + _SUMMED_AT_ONCE]
            lanes += _lane_sums(piece if own else piece.astype(np.float64, copy=False), _LANES[0])
        sums = lanes.reshape(-1, FOLDS).sum(axis=0)
        mean = float(sums.sum() / flat.size)
        if flat.size <= SAMPLES:
            return (mean,)
        counts = (flat.size + np.arange(FOLDS - 1, -1, -1)) // FOLDS
        return (mean, *(sums / counts).tolist())
