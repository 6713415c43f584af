"""The texts of a large set in order, and joined in it: by the first bytes of each, which NumPy sorts.

Texts compare as their UTF-8 bytes do. Sorting the texts themselves looks each of them up in memory seventeen
times; what is sorted here is one number for each, of its first eight bytes, and the few that share these.
"""

from __future__ import annotations

from collections.abc import Sequence

from packager.quick_dataclasses import dataclass

TYPE_CHECKING = False  # as in packager.lazy
if TYPE_CHECKING:
    from typing import Any, Final

_LONGEST: Final = 255
"""Bytes of a text: what is taken at once stays small."""

_AT_ONCE: Final = 1 << 14
_FIRST: Final = 8


@dataclass(frozen=True, slots=True)
class TextsInOrder:
    """Texts in their order: the places that they have, their lengths in characters, and their bytes."""

    places: Any
    lengths: Any
    joined: bytes


def texts_in_order(texts: Sequence[str]) -> TextsInOrder | None:
    """Sort texts that differ; None for those with NUL, without a UTF-8 form, or of more than 255 bytes.

    >>> found = texts_in_order(["tree", "leaf", "twig", "leaflet"])
    >>> found.places.tolist(), found.lengths.tolist(), found.joined
    ([1, 3, 0, 2], [4, 7, 4, 4], b'leafleaflettreetwig')
    """
    import numpy

    text = "\0".join(texts)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return None
    as_bytes = numpy.frombuffer(data + bytes(_FIRST), numpy.uint8)
    (ends,) = (as_bytes[: len(data) + 1] == 0).nonzero()
    starts = numpy.concatenate([[0], ends[:-1] + 1])
    sizes = ends - starts
    if len(ends) != len(texts) or int(sizes.max()) > _LONGEST:
        return None
    lengths = sizes if text.isascii() else sizes - _continuing(as_bytes, starts, ends)
    places = _sorted_places(texts, as_bytes, starts, sizes)
    joined = b"".join(
        _bytes_at(as_bytes, starts[some], sizes[some])
        for some in (places[at : at + _AT_ONCE] for at in range(0, len(places), _AT_ONCE))
    )
    return TextsInOrder(places, lengths[places], joined)


def _continuing(as_bytes: Any, starts: Any, ends: Any) -> Any:
    """How many bytes of each text begin no character."""
    so_far = ((as_bytes & 0xC0) == 0x80).cumsum()
    return so_far[ends] - so_far[starts]  # neither stands at one


def _sorted_places(texts: Sequence[str], as_bytes: Any, starts: Any, sizes: Any) -> Any:
    import numpy

    at_each: Any = numpy.ndarray(len(as_bytes) - _FIRST + 1, f"V{_FIRST}", as_bytes, strides=(1,))
    first = at_each.take(starts).view(">u8").astype(numpy.uint64)
    first &= _masks().take(sizes, mode="clip")
    places = first.argsort()
    ordered = first[places]
    same = ordered[1:] == ordered[:-1]
    (tied,) = (numpy.concatenate([same, [False]]) | numpy.concatenate([[False], same])).nonzero()
    # Texts that begin alike stand beside each other, and in the order of what they begin with.
    places[tied] = sorted(places[tied].tolist(), key=texts.__getitem__)
    return places


def _masks() -> Any:
    """By the bytes of a text, those of the first eight that are its own."""
    import numpy

    return numpy.array([2**64 - 2 ** (8 * (_FIRST - size)) for size in range(_FIRST + 1)], numpy.uint64)


def _bytes_at(as_bytes: Any, starts: Any, sizes: Any) -> bytes:
    """The bytes of some texts, one after the other."""
    import numpy

    ends = sizes.cumsum()
    where = numpy.arange(int(ends[-1])) + (starts - ends + sizes).repeat(sizes)
    return as_bytes[where].tobytes()  # type: ignore[no-any-return]  # bytes
