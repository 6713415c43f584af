"""The values that a trace meets while a call runs: each looked at once, and small ones counted after it.

What a submodule took or gave may be written to by the next one, so that nothing can be left for later but
what is copied. Small values are: their numbers are found together, in a few calls of NumPy for all of them.
Large ones are read at once, since a copy costs as much as their numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from packager.libraries import name_of_dtype

from .array_calls import PLAIN, array_of
from .counting import WHOLE, Counted, counted, counted_together, digest_of
from .summaries import NoSummary, Summary, code_of

Key = tuple[str, tuple[int, ...], bytes]
"""Dtype, shape and digest: values that share these are one."""


class Taken(NamedTuple):
    """What is kept of a value while a call runs.

    `held` are the bytes of a small one whose numbers are still to be found, as elements of the dtype `of`;
    `counted` those of a large one.
    """

    key: Key
    held: bytes = b""
    of: Any = None
    counted: Counted = (0, (), ())


class TracedValues:
    """The values of a trace, numbered as they were met; equal ones have one number."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._summaries: list[Summary] = []
        self._waiting: list[Taken] = []
        self._held = 0
        self._recent: dict[int, tuple[Any, int, int]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number_of(self, value: Any) -> int:
        """Return the number of a value; one that was met just now, and not written to since, is not read.

        Raises NoSummary for what is neither an array nor a plain value.
        """
        version = _version_of(value)
        if version is None:
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
        taken = taken_of(value, self._numbers)
        number = self._numbers.setdefault(taken.key, len(self._numbers))
        if number == len(self._summaries) + len(self._waiting):
            self._waiting.append(taken)
            self._held += len(taken.held)
            if self._held > _MOST_HELD:
                self._summarize()
        return number

    def summaries(self) -> tuple[Summary, ...]:
        """Return the summary of each value, in the order of their numbers."""
        self._summarize()
        return tuple(self._summaries)

    def _summarize(self) -> None:
        self._summaries += summaries_of(self._waiting)
        self._waiting, self._held = [], 0


_REMEMBERED: Final = 8
_MOST_HELD: Final = 1 << 22
"""Bytes of small values that are held at most, before their numbers are found."""


def _version_of(value: Any) -> int | None:
    """Return how often a tensor has been written to; None where that cannot be told."""
    try:
        version = value._version
    except (AttributeError, RuntimeError):  # in inference mode PyTorch does not count
        return None
    return version if type(version) is int else None


def summary_of(value: Any) -> Summary:
    """Return the summary of an array, a tensor of any library, or a plain value.

    Raises NoSummary for anything else.

    >>> import numpy
    >>> found = summary_of(numpy.array([1.5, -2.0], "float32"))
    >>> found.dtype, found.shape, found.numbers
    ('float32', (2,), (-2.0, 1.5, 1.5, -2.0))
    """
    values = TracedValues()
    values.number_of(value)
    (summary,) = values.summaries()
    return summary


def summaries_of(taken: Sequence[Taken]) -> list[Summary]:
    """Return the summary of each of some values; the small ones of one dtype are counted together."""
    found = [one.counted for one in taken]
    groups: dict[Any, list[int]] = {}
    for number, one in enumerate(taken):
        if one.held:
            groups.setdefault(one.of, []).append(number)
    for dtype, numbers in groups.items():
        together = counted_together([taken[number].held for number in numbers], dtype)
        for number, result in zip(numbers, together, strict=True):
            found[number] = result
    return [Summary(*one.key, *result) for one, result in zip(taken, found, strict=True)]


def taken_of(value: Any, known: Container[Key] = ()) -> Taken:
    """Look at a value: read all of it for its digest, and copy it where it is small.

    The numbers of a large one that is `known` are not found again. Raises NoSummary.
    """
    if value is None or type(value) in (str, bytes):
        return _of_plain(value)
    try:
        array = array_of(value)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise NoSummary(type(value).__name__) from error
    if array.dtype.hasobject:
        items = array.ravel().tolist()
        if not set(map(type, items)) <= set(PLAIN):
            raise NoSummary(type(value).__name__)
        return _of_plain(items, array.shape)
    name, form, has_numbers = _form_of(_own_dtype(value, array), array.dtype)
    if form is not None:
        array = array.astype(form)
    if array.nbytes <= WHOLE:
        held = array.tobytes()  # in C order
        key = (name, array.shape, hashlib.sha256(held).digest())
        return Taken(key, held, array.dtype) if has_numbers else Taken(key)
    array = np.ascontiguousarray(array)
    key = (name, array.shape, digest_of(array))
    return Taken(key, counted=counted(array)) if has_numbers and key not in known else Taken(key)


def _of_plain(value: Any, shape: tuple[int, ...] = ()) -> Taken:
    name = "object" if isinstance(value, list) else type(value).__name__
    return Taken((name, tuple(shape), hashlib.sha256(repr(value).encode("utf-8", "replace")).digest()))


def _own_dtype(value: Any, array: Any) -> Any:
    """Return the dtype of a tensor of PyTorch, of which NumPy may lack that; else that of the array."""
    own = getattr(value, "dtype", None)
    return own if type(own).__module__ == "torch" else array.dtype


_CODES: Final = {"b": "Q", "u": "Q", "i": "q", "f": "d", "c": "d"}


@lru_cache(maxsize=256)
def _form_of(own: Any, dtype: Any) -> tuple[str, Any, bool]:
    """Return the name of a dtype, what its arrays become, or None, and whether they have numbers."""
    name, form = name_of_dtype(own), dtype
    if dtype.char in "gG":  # its bytes hold what is no number
        form = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    elif dtype.kind == "V" and code_of(name):  # of ml_dtypes: every value is one of float32
        form = np.dtype(np.float32)
    form = form.newbyteorder("<")
    code = _CODES.get(form.kind, "")
    kept = name if code_of(name) == code else name_of_dtype(form)
    return kept, None if form == dtype else form, bool(code)
