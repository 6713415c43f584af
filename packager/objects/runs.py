"""Runs: many scalars of one type in one record, numbers as one array, texts as one text and their lengths.

Three hundred thousand numbers cost hundreds of bytes each if they are scanned, checked and built one by one.
A run is `[RUN, form, part, ...]`, and holds nothing but scalars:

- `u1 i1 u2 i2 i4 i8 f8`: ints, or floats, little-endian, one after the other;
- `text`: lengths, and the different texts, joined; then, if one of them comes twice, the place of each among
  these.

Each value takes a byte at least, and one container alone uses a run: none is more than its bytes are worth.

NumPy is imported inside the functions: most objects have no runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import accumulate, count

from .records import Kind, Record, typed

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

RUN_FROM: Final = 1024
"""How many scalars a container must hold, in all, for its items to be runs."""

_INTS: Final = ("u1", "i1", "u2", "i2", "i4", "i8")
_NUMBERS: Final = (*_INTS, "f8")
_COUNTS: Final = ("u1", "u2", "u4")
_KINDS: Final = frozenset({int, float, str})


def runs_of(*parts: Collection[Any]) -> list[Record] | None:
    """Return a run for each part of a container; None unless it holds many scalars, each part of one type.

    A run holds ints of 64 bits, floats, or texts that have a UTF-8 form.

    >>> runs_of([1, 2]) is None, runs_of([1] * 1023 + [2.5]) is None
    (True, True)
    >>> runs_of([258] * 512, [0.5] * 512)[0][:2]
    [31, 'u2']
    """
    if sum(map(len, parts)) < RUN_FROM:
        return None
    runs: list[Record] = []
    for part in parts:
        kinds = {type(next(iter(part)))}
        if not kinds <= _KINDS or set(map(type, part)) != kinds:
            return None
        try:
            runs.append([Kind.RUN, *_SPELLED[kinds.pop()](part)])
        except (OverflowError, UnicodeEncodeError):
            return None
    return runs


def _spelled_floats(values: Collection[float]) -> list[Any]:
    import numpy

    return ["f8", numpy.fromiter(values, "<f8", len(values)).tobytes()]


def _spelled_ints(values: Collection[int]) -> list[Any]:
    import numpy

    return _narrowest(numpy.fromiter(values, numpy.int64, len(values)), _INTS)


def _spelled_texts(values: Collection[str]) -> list[Any]:
    import numpy

    places = dict(zip(dict.fromkeys(values), count()))
    lengths = numpy.fromiter(map(len, places), numpy.int64, len(places))
    spelled = ["text", *_narrowest(lengths, _COUNTS), "".join(places).encode()]
    if len(places) == len(values):
        return [*spelled, None, None]
    numbers = numpy.fromiter(map(places.__getitem__, values), numpy.int64, len(values))
    return [*spelled, *_narrowest(numbers, _COUNTS)]


_SPELLED: Final[dict[type, Callable[[Collection[Any]], list[Any]]]] = {
    int: _spelled_ints,
    float: _spelled_floats,
    str: _spelled_texts,
}


def _narrowest(numbers: Any, forms: Collection[str]) -> list[Any]:
    """Return the first form of ints that holds all numbers, and their bytes in it."""
    import numpy

    low, high = int(numbers.min()), int(numbers.max())
    form = next(form for form in forms if numpy.iinfo(form).min <= low and high <= numpy.iinfo(form).max)
    return [form, numbers.astype(f"<{form}").tobytes()]


def checked_size(run: Record) -> int:
    """Return how many values a run has. Raises ValueError for one that cannot be read.

    >>> checked_size([Kind.RUN, "i4", bytes(8)])
    2
    """
    form, *parts = run[1:]
    if typed(form, str) in _NUMBERS:
        (data,) = parts
        return len(_array(form, data, _NUMBERS))
    if form != "text":
        raise ValueError(f"there is no form {form!r:.40} of runs")
    length_form, lengths, joined, place_form, places = parts
    sizes, text = _array(length_form, lengths, _COUNTS), typed(joined, bytes).decode()
    if int(sizes.sum(dtype="u8")) != len(text):
        raise ValueError(f"texts whose lengths do not make up {len(text)} characters")
    if place_form is None and places is None:
        return len(sizes)
    numbers = _array(place_form, places, _COUNTS)
    if len(numbers) and int(numbers.max()) >= len(sizes):
        raise ValueError(f"places of texts that do not lie below {len(sizes)}")
    return len(numbers)


def _array(form: Any, data: Any, forms: Collection[str]) -> Any:
    import numpy

    if type(form) is not str or form not in forms or len(typed(data, bytes)) % int(form[1]):
        raise ValueError(f"{form!r:.40} is no form of whole numbers")
    return numpy.frombuffer(data, f"<{form}")


def values_of(run: Record) -> list[Any]:
    """Return the values of a run that was checked.

    >>> values_of([Kind.RUN, "text", "u1", bytes([1, 2]), b"abc", "u1", bytes([1, 0, 1])])
    ['bc', 'a', 'bc']
    """
    import numpy

    form, *parts = run[1:]
    if form != "text":
        return numpy.frombuffer(parts[0], f"<{form}").tolist()  # type: ignore[no-any-return]  # a list
    length_form, lengths, joined, place_form, places = parts
    text, sizes = joined.decode(), numpy.frombuffer(lengths, f"<{length_form}").tolist()
    texts = [text[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]
    if places is None:
        return texts
    return list(map(texts.__getitem__, numpy.frombuffer(places, f"<{place_form}").tolist()))
