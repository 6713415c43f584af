"""The types of many numbers, asked of `marshal`: a pass in C tells what all of them are, and has their bytes.

`marshal` writes a value as a letter and its bytes, and nothing but exact types: an int of 32 bits has four,
a float eight, None and bools none. Where a letter is another, or what follows ends elsewhere, there is an
answer of None, and who asked looks at each value: nothing depends on the format, but how long it takes.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from typing import Any, Final

_VERSION: Final = 2  # which refers to nothing that it wrote before
_HEADER: Final = 5  # of a list: a letter, and how many
_FORMS: Final[Mapping[type, tuple[int, str, int]]] = {
    int: (ord("i"), "<i4", 5),
    float: (ord("g"), "<f8", 9),
}
_INT, _FLOAT = 3, 4
_LETTERS: Final = {"N": (0, 1), "F": (1, 1), "T": (2, 1), "i": (_INT, 5), "g": (_FLOAT, 9)}
"""By a letter, the number of the type, as in the tags of a mixed run, and the bytes of a value with it."""

_STEPS: Final = 100
"""Steps in which a list is read: few, each over many values; but each of the parts takes a call."""


def marshalled_numbers(values: Sequence[Any]) -> Any:
    """Return all of a list as an array of float64, or of int32; None where there may be anything else.

    >>> marshalled_numbers([2, -1]), marshalled_numbers([2, True]), marshalled_numbers([2, 2**40])
    (array([ 2, -1], dtype=int32), None, None)
    """
    found = _FORMS.get(type(values[0]))
    if found is None or type(values[-1]) is not type(values[0]):
        return None
    letter, form, width = found
    data = _marshalled(values)
    if data is None or len(data) != _HEADER + width * len(values):
        return None
    import numpy

    rows = numpy.frombuffer(data, [("letter", "u1"), ("number", form)], offset=_HEADER)
    return rows["number"].copy() if (rows["letter"] == letter).all() else None


def marshalled_scalars(values: Sequence[Any]) -> tuple[bytes, Any, Any] | None:
    """Return tags, ints of 32 bits and floats of a list that also has None and bools; None for others.

    A tag is a byte for each value: 0 None, 1 False, 2 True, 3 an int, 4 a float.

    >>> marshalled_scalars([True, 7, None, 0.5])
    (b'\\x02\\x03\\x00\\x04', array([7], dtype=int32), array([0.5]))
    >>> marshalled_scalars([True, "a"]) is None
    True
    """
    import numpy

    # Parts of one length are read side by side: step i finds what stands at i in each. What is left over is
    # a part of its own, in which nothing stands at the last places.
    parts = [_marshalled(values[at : at + _STEPS]) for at in range(0, len(values), _STEPS)]
    data = b"".join(part or b"" for part in parts)
    ends = numpy.fromiter((len(part or b"") for part in parts), numpy.int64, len(parts)).cumsum()
    here = numpy.concatenate([[0], ends[:-1]]) + _HEADER
    letters, widths = numpy.frombuffer(data, numpy.uint8), numpy.frombuffer(_WIDTHS, numpy.uint8)
    places = numpy.empty((_STEPS, len(parts)), numpy.int64)
    last = len(values) - _STEPS * (len(parts) - 1)
    for step in range(_STEPS):
        now = here if step < last else here[:-1]
        places[step, : len(now)] = now
        now += widths.take(letters.take(now, mode="clip"))
    if (here != ends).any():
        return None
    places = places.T.ravel()[: len(values)]
    tags = letters[places].tobytes().translate(_TAGS)
    return tags, _numbers(data, places, tags, _INT, "<i4"), _numbers(data, places, tags, _FLOAT, "<f8")


def _marshalled(values: Sequence[Any]) -> bytes | None:
    try:
        return marshal.dumps(values, _VERSION)  # type: ignore[arg-type]  # or it raises
    except ValueError:  # what it does not know, in the middle
        return None


def _numbers(data: bytes, places: Any, tags: bytes, tag: int, form: str) -> Any:
    """The numbers of one form, which stand behind their letters."""
    import numpy

    size = numpy.dtype(form).itemsize
    # As bytes, which may stand anywhere: NumPy would copy all numbers that are not aligned.
    at_each: Any = numpy.ndarray(max(0, len(data) - size + 1), f"V{size}", data, strides=(1,))
    return at_each.take(places[numpy.frombuffer(tags, numpy.uint8) == tag] + 1, mode="clip").view(form)


def _by_letter(column: int) -> bytes:
    known = {ord(letter): row[column] for letter, row in _LETTERS.items()}
    return bytes(known.get(letter, 0) for letter in range(256))


_TAGS: Final = _by_letter(0)
_WIDTHS: Final = _by_letter(1)
"""By a letter; 0 for those that no value has: what reads them stays where it is."""
