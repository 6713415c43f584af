"""The types of many numbers, asked of `marshal`: a pass in C tells what all of them are, and has their bytes.

`marshal` writes a value as a letter and its bytes, and nothing but exact types: an int of 32 bits has four,
a float eight. Where a letter is another, or what follows ends elsewhere, the answer is None, and the caller
looks at each value: nothing depends on the format, but how long it takes.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence

from .mixed_types import AT_ONCE

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

_VERSION: Final = 2  # which refers to nothing that it wrote before
_HEADER: Final = 5  # of a list: a letter, and how many
_FORMS: Final[Mapping[type, tuple[int, str, int]]] = {
    int: (ord("i"), "<i4", 5),
    float: (ord("g"), "<f8", 9),
}


def marshalled_numbers(values: Sequence[Any]) -> Any:
    """Return all of a list as an array of float64, or of int32; None where there may be anything else.

    >>> marshalled_numbers([2, -1]), marshalled_numbers([2, True]), marshalled_numbers([2, 2**40])
    (array([ 2, -1], dtype=int32), None, None)
    """
    found = _FORMS.get(type(values[0]))
    if found is None or type(values[-1]) is not type(values[0]):
        return None
    letter, form, width = found
    import numpy

    numbers = numpy.empty(len(values), form)
    for start in range(0, len(values), AT_ONCE):
        part = numbers[start : start + AT_ONCE]
        try:
            data = marshal.dumps(values[start : start + AT_ONCE], _VERSION)  # type: ignore[arg-type]  # or it raises
        except ValueError:  # what it does not know, in the middle
            return None
        if len(data) != _HEADER + width * len(part):
            return None
        rows = numpy.frombuffer(data, [("letter", "u1"), ("number", form)], offset=_HEADER)
        if not (rows["letter"] == letter).all():
            return None
        part[:] = rows["number"]
    return numbers
