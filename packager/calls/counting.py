"""The digest and the numbers that a trace keeps of arrays: of one, and of many small ones together.

Section 5.7 of the format says which they are. This file is about their cost: a layer of a small model takes
some microseconds, and each call of NumPy takes one or two.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Any, Final

import numpy as np

from .summaries import FOLDS, SAMPLES

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

    They are summed in double precision; of float32 some at a time in their own, which is several times as
    fast, and not `wide`.
    """
    own = flat.dtype == np.float32 and not wide
    lanes = np.zeros(_LANES[0])
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, _SUMMED_AT_ONCE):  # in pieces that stay in the cache
            piece = flat[start : start + _SUMMED_AT_ONCE]
            lanes += _lane_sums(piece if own else piece.astype(np.float64, copy=False), _LANES[0])
        sums = lanes.reshape(-1, FOLDS).sum(axis=0)
        mean = float(sums.sum() / flat.size)
        if flat.size <= SAMPLES:
            return (mean,)
        return (mean, *(sums / _counts(np.array([flat.size]))[0]).tolist())


def _counts(sizes: Any) -> Any:
    """Return how many elements of so many are i modulo FOLDS, for each i."""
    return (sizes[:, None] + np.arange(FOLDS - 1, -1, -1)) // FOLDS


def _counted_few(elements: list[int]) -> Counted:
    """Return the numbers of some integers, no more than are sampled: of an input, mostly, of tokens."""
    mean = math.fsum(map(float, elements)) / len(elements)
    return len(elements), (min(elements), max(elements), *elements), (mean,)


def counted_together(held: list[bytes], dtype: Any) -> list[Counted]:
    """Return the numbers of each of some arrays of one dtype that are held as bytes, none of them empty.

    They are laid behind one another, each to the beginning of a row of FOLDS elements, and reduced piece by
    piece in one call each.
    """
    dtype = _real(dtype)
    if len(held) == 1 and dtype.kind in "iu" and len(held[0]) <= SAMPLES * dtype.itemsize:
        return [_counted_few(np.frombuffer(held[0], dtype).tolist())]
    row = FOLDS * dtype.itemsize
    lengths = np.array([len(data) for data in held])
    rows = (lengths + row - 1) // row
    first = np.cumsum(rows) - rows
    # The row behind the last one is the end of what `reduceat` takes for the last array.
    laid = b"".join([part for data in held for part in (data, bytes(-len(data) % row))]) + bytes(row)
    flat = np.frombuffer(laid, dtype)
    sizes, starts = lengths // dtype.itemsize, first * FOLDS
    pieces = np.empty(2 * len(held), np.intp)
    pieces[::2], pieces[1::2] = starts, starts + sizes
    with np.errstate(all="ignore"):
        least = np.minimum.reduceat(flat, pieces)[::2].tolist()
        greatest = np.maximum.reduceat(flat, pieces)[::2].tolist()
        sums = np.add.reduceat(flat.astype(np.float64).reshape(-1, FOLDS), first, axis=0)
        means = (np.add.reduce(sums, axis=1) / sizes).tolist()
        folds = (sums / _counts(sizes)).tolist()
    spread = np.arange(SAMPLES) * _SPREAD % 2**32
    sampled = flat[(spread * sizes[:, None] >> 32) + starts[:, None]].tolist()
    found: list[Counted] = []
    for number, (start, size, mean) in enumerate(zip(starts.tolist(), sizes.tolist(), means, strict=True)):
        ends = least[number], greatest[number]
        if not math.isfinite(mean):
            found.append(counted(flat[start : start + size]))
        elif size <= SAMPLES:
            found.append((size, (*ends, *flat[start : start + size].tolist()), (mean,)))
        else:
            found.append((size, (*ends, *sampled[number]), (mean, *folds[number])))
    return found
