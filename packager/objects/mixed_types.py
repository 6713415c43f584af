"""The types of many values, taken apart by NumPy: what each is, and the numbers and texts among them.

Asking each value for its type and looking that up costs a step of Python for each. Here one pass in C has
the types of some thousand values in an array, and NumPy compares where these lie in memory, which is their
`id` in CPython. What matches none of the few types of scalars is no scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

INT, FLOAT, TEXT = 3, 4, 5
"""The tags of values that are in a run of their own; 0 is None, 1 False and 2 True."""

AT_ONCE: Final = 16_000
"""Values that are looked at together: with less than 128 KiB of references, memory is used again at once."""


def mixed_scalars(values: Sequence[Any]) -> tuple[bytes, Any, Any, list[str]] | None:
    """Return tags, ints as int64, floats as float64 and texts of a list of scalars.

    A tag is a byte for each value: 0 None, 1 False, 2 True, 3 an int, 4 a float, 5 a text. Returns None
    where there is a value of another type, also of a subclass, or an int of more than 64 bits.

    >>> mixed_scalars([True, 7, None, 0.5, "a"])
    (b'\\x02\\x03\\x00\\x04\\x05', array([7]), array([0.5]), ['a'])
    >>> mixed_scalars([1, b"a"]) is None
    True
    """
    import numpy

    tags, ints, floats, texts = [], [], [], []
    rest, kinds = iter(values), map(type, values)
    for start in range(0, len(values), AT_ONCE):
        size = min(AT_ONCE, len(values) - start)
        objects = numpy.fromiter(rest, object, size)
        some = _tags_of(objects, numpy.fromiter(kinds, object, size))
        if some is None:
            return None
        tags.append(some.tobytes())
        try:
            ints.append(_with_tag(objects, some, INT).astype(numpy.int64))
        except OverflowError:
            return None
        floats.append(_with_tag(objects, some, FLOAT).astype(numpy.float64))
        texts += _with_tag(objects, some, TEXT).tolist()
    return b"".join(tags), numpy.concatenate(ints), numpy.concatenate(floats), texts


def _tags_of(objects: Any, kinds: Any) -> Any:
    """The tag of each value, None where one has another type."""
    import numpy

    kinds, found = _ids(kinds), _ids(objects) == id(True)
    tags = found.view(numpy.uint8)
    known = int(numpy.count_nonzero(kinds == id(type(None))))
    for tag, kind in _KINDS:
        found = kinds == id(kind)
        known += int(numpy.count_nonzero(found))
        tags += found.view(numpy.uint8) * numpy.uint8(tag)
    return tags if known == len(kinds) else None


_KINDS: Final = ((1, bool), (INT, int), (FLOAT, float), (TEXT, str))


def _ids(objects: Any) -> Any:
    """The ids of what is in an array of objects: its bytes are where they lie."""
    import numpy

    return numpy.frombuffer(objects.tobytes(), numpy.uintp)


def _with_tag(objects: Any, tags: Any, tag: int) -> Any:
    return objects[(tags == tag).nonzero()[0]]  # by numbers, which is faster than by truths
