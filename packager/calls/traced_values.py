"""The values that a trace meets while a call runs: each looked at once, and small ones read after it.

What a submodule took or gave may be written to by the next one, so that nothing can be left for later but
what is copied. Small values are: their digests and numbers are found after the call, those of one dtype in a
few calls of NumPy for all of them. Large ones are read at once, since a copy costs as much as their numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from packager.tensors import library_of_class, name_of_dtype

from .array_calls import PLAIN, array_of
from .counting import WHOLE, Counted, counted, counted_together, digest_of
from .summaries import NoSummary, Summary, code_of

Key = tuple[str, tuple[int, ...], bytes]
"""Dtype, shape and digest: values that share these are one."""


class Taken(NamedTuple):
    """What is kept of a value while a call runs.

    `held` are the bytes of a small one, whose digest and numbers are still to be found, as elements of the
    dtype `of`, None for what has no numbers; of a large one there are `digest` and `counted`.
    """

    dtype: str
    shape: tuple[int, ...]
    held: bytes = b""
    of: Any = None
    digest: bytes = b""
    counted: Counted = (0, (), ())


class TracedValues:
    """The values of a trace, as they were met; `numbers` and `summaries` have equal ones once."""

    def __init__(self) -> None:
        self._known: dict[Key, int] = {}
        self._summaries: list[Summary] = []
        self._numbers: list[int] = []
        self._waiting: list[Taken] = []
        self._held = 0
        self._recent: dict[int, tuple[Any, int, int]] = {}
        self._takers: dict[type, Callable[[Any, Container[Key]], Taken]] = {}

    def fits(self, most: int) -> bool:
        """Say whether no more than so many values that differ were met."""
        if len(self._known) + len(self._waiting) > most:
            self._settle()
        return len(self._known) <= most

    def place_of(self, value: Any) -> int:
        """Return where in `numbers()` a value is; one met just now, and not written to since, is not read.

        Raises NoSummary for what is neither an array nor a plain value.
        """
        try:
            version = value._version
        except (AttributeError, RuntimeError):  # no tensor; in inference mode PyTorch does not count
            return self._place_of(value)
        if type(version) is not int:
            return self._place_of(value)
        known = self._recent.get(id(value))
        if known is not None and known[0] is value and known[1] == version:
            return known[2]
        place = self._place_of(value)
        # It is held, so that no other object gets its id.
        self._recent[id(value)] = (value, version, place)
        if len(self._recent) > _REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return place

    def _place_of(self, value: Any) -> int:
        cls = type(value)
        take = self._takers.get(cls)
        if take is None:
            take = self._takers[cls] = _taker_of(cls)
        taken = take(value, self._known)
        if self._held > _MOST_HELD:
            self._settle()
        self._held += len(taken.held)
        self._waiting.append(taken)
        return len(self._numbers) + len(self._waiting) - 1

    def numbers(self) -> list[int]:
        """Return the number of each value, in the order in which they were met; equal ones share theirs."""
        self._settle()
        return self._numbers

    def summaries(self) -> tuple[Summary, ...]:
        """Return the summary of each value, in the order of their numbers."""
        self._settle()
        return tuple(self._summaries)

    def _settle(self) -> None:
        """Find digests and numbers of what waits, and let go of the copies."""
        known, new, digests = self._known, [], []
        for taken in self._waiting:
            digest = taken.digest or hashlib.sha256(taken.held).digest()
            key = (taken.dtype, taken.shape, digest)
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                new.append(taken)
                digests.append(digest)
            self._numbers.append(number)
        self._summaries += _summaries_of(new, digests)
        self._waiting, self._held = [], 0


_REMEMBERED: Final = 8
_MOST_HELD: Final = 1 << 22
"""Bytes of small values that are held at most, before their numbers are found."""


def summary_of(value: Any) -> Summary:
    """Return the summary of an array, a tensor of any library, or a plain value.

    Raises NoSummary for anything else.

    >>> import numpy
    >>> found = summary_of(numpy.array([1.5, -2.0], "float32"))
    >>> found.dtype, found.shape, found.numbers
    ('float32', (2,), (-2.0, 1.5, 1.5, -2.0))
    """
    values = TracedValues()
    values.place_of(value)
    (summary,) = values.summaries()
    return summary


def _summaries_of(taken: Sequence[Taken], digests: Sequence[bytes]) -> list[Summary]:
    """Return the summary of each of some values; the small ones of one dtype are counted together."""
    found = [one.counted for one in taken]
    groups: dict[Any, list[int]] = {}
    for number, one in enumerate(taken):
        if one.held and one.of is not None:
            groups.setdefault(one.of, []).append(number)
    for dtype, numbers in groups.items():
        together = counted_together([taken[number].held for number in numbers], dtype)
        for number, result in zip(numbers, together, strict=True):
            found[number] = result
    return [
        Summary(one.dtype, one.shape, digest, *result)
        for one, digest, result in zip(taken, digests, found, strict=True)
    ]


# --- one value ---


def _taker_of(cls: type) -> Callable[[Any, Container[Key]], Taken]:
    """Return what looks at values of a class; all of it raises NoSummary."""
    if cls in (str, bytes, type(None)):
        return lambda value, _: _of_plain(value)
    if library_of_class(cls) == "numpy":
        return lambda value, known: _taken(value, _array_of(value), known)
    return _taken_of_tensor


def _taken_of_tensor(value: Any, known: Container[Key]) -> Taken:
    try:
        array = value.detach().numpy()  # what nearly all tensors can do as they are
    except (TypeError, ValueError, RuntimeError, AttributeError):
        array = _array_of(value)
    return _taken(value, array, known)


def _array_of(value: Any) -> Any:
    try:
        return array_of(value)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise NoSummary(type(value).__name__) from error


def _taken(value: Any, array: Any, known: Container[Key]) -> Taken:
    """Copy a small array; read all of a large one, of one that is `known` the digest alone."""
    dtype = array.dtype
    if dtype.hasobject:
        items = array.ravel().tolist()
        if not set(map(type, items)) <= set(PLAIN):
            raise NoSummary(type(value).__name__)
        return _of_plain(items, array.shape)
    own = getattr(value, "dtype", None)  # of PyTorch NumPy may lack it
    name, form, has_numbers = _form_of(own if type(own).__module__ == "torch" else dtype, dtype)
    if form is not None:
        array, dtype = array.astype(form), form
    if array.nbytes <= WHOLE:
        return Taken(name, array.shape, array.tobytes(), dtype if has_numbers else None)  # in C order
    array = np.ascontiguousarray(array)
    digest = digest_of(array)
    if not has_numbers or (name, array.shape, digest) in known:
        return Taken(name, array.shape, digest=digest)
    return Taken(name, array.shape, digest=digest, counted=counted(array))


def _of_plain(value: Any, shape: tuple[int, ...] = ()) -> Taken:
    name = "object" if isinstance(value, list) else type(value).__name__
    text = repr(value).encode("utf-8", "replace")
    if len(text) <= WHOLE:
        return Taken(name, tuple(shape), text)
    return Taken(name, tuple(shape), digest=hashlib.sha256(text).digest())


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
