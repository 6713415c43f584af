"""Arrow arrays as buffers that begin at their first element, checked before they are put together.

Arrow's code in C++ reads by offsets, indices and bits that lie in buffers. Here each is looked at with NumPy:
how many bytes a buffer must have, offsets that grow and end where the data ends, text that is text, indices
inside their dictionary. Nothing here needs pyarrow, but for what it is handed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from packager.archive import largest_view
from packager.codecs import expect
from packager.quick_dataclasses import dataclass

SIMPLE: Final = {
    "null": ("null", 0),
    "bool": ("bool_", 1),
    **{f"{sign}int{bits}": (f"{sign}int{bits}", bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "halffloat": ("float16", 16),
    "float": ("float32", 32),
    "double": ("float64", 64),
    "date32[day]": ("date32", 32),
    "date64[ms]": ("date64", 64),
}
"""Types of one width, by what Arrow prints of them: the function that makes one, and its bits."""

TEXTS: Final = {"string": ("string", 4), "large_string": ("large_string", 8)}
BYTES: Final = {"binary": ("binary", 4), "large_binary": ("large_binary", 8)}
"""Types of any length: the function that makes one, and the bytes of an offset."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the buffers of an array are, behind the bits that say which elements are there.

    `kind` is "none", "bits", "fixed", "text", "bytes", "list", "fixed list" or "struct"; `size` the bytes of
    an element or of an offset, or how many elements a fixed list has.
    """

    kind: str
    size: int = 0


def validity_bits(bits: Any, length: int, what: str = "validity") -> Any:
    """Return which elements are there, as an array of bools. Raises ValueError for too few or odd bits."""
    import numpy

    expect(len(bits) == (length + 7) // 8, f"{(length + 7) // 8} bytes of {what}", len(bits))
    found = numpy.unpackbits(bits, bitorder="little")
    expect(not found[length:].any(), f"no bits of {what} behind the last element")
    return found[:length].astype(bool)


def packed_bits(bits: Any, offset: int, length: int) -> Any:
    """Return bits that begin at an offset as bytes that begin at the first of them."""
    import numpy

    found = numpy.unpackbits(bits, bitorder="little")[offset : offset + length]
    return numpy.packbits(found, bitorder="little")


def check_buffers(
    layout: Layout, length: int, nulls: int, buffers: Sequence[Any], inner: Sequence[int]
) -> Any:
    """Raise ValueError unless buffers are those of an array of this layout and length.

    `buffers` are arrays of bytes, the first one None where every element is there; `inner` are the lengths of
    the arrays inside. Returns which elements are there, None for all.
    """
    validity, *others = buffers
    there = None if validity is None else validity_bits(validity, length)
    found = 0 if there is None else length - int(there.sum())
    found = length if layout.kind == "none" else found
    expect(nulls == found and (validity is None or found > 0), f"{found} nulls", nulls)
    expect(layout.kind != "none" or validity is None, "no buffers of nulls")
    in_bytes = validity is not None or layout.kind in ("bits", "text", "bytes", "list")
    if not in_bytes and not (layout.size or (layout.kind == "struct" and inner)):
        expect(length <= largest_view(0), f"at most {largest_view(0)} elements without a byte", length)
    wanted = {"bits": 1, "fixed": 1, "text": 2, "bytes": 2, "list": 1}.get(layout.kind, 0)
    expect(len(others) == wanted, f"{wanted} buffers behind the validity", len(others))
    if layout.kind == "bits":
        validity_bits(others[0], length, "values")
    elif layout.kind == "fixed":
        expect(len(others[0]) == length * layout.size, f"{length * layout.size} bytes", len(others[0]))
    elif layout.kind in ("text", "bytes"):
        offsets = check_offsets(others[0], layout.size, length, len(others[1]))
        if layout.kind == "text":
            _check_text(others[1], offsets)
    elif layout.kind == "list":
        check_offsets(others[0], layout.size, length, inner[0])
    elif layout.kind == "fixed list":
        expect(inner[0] == length * layout.size, f"{length * layout.size} elements inside", inner[0])
    elif layout.kind == "struct":
        expect(all(one == length for one in inner), f"fields of {length} elements", list(inner)[:10])
    return there


def check_offsets(data: Any, size: int, length: int, end: int) -> Any:
    """Return offsets that begin at 0, never fall, and end where the data does. Raises ValueError."""
    import numpy

    expect(len(data) == (length + 1) * size, f"{length + 1} offsets of {size} bytes", f"{len(data)} bytes")
    offsets = numpy.frombuffer(data, f"<i{size}")
    expect(int(offsets[0]) == 0, "offsets that begin at 0", int(offsets[0]))
    expect(bool((offsets[1:] >= offsets[:-1]).all()), "offsets that grow")
    expect(int(offsets[-1]) == end, f"offsets that end at {end}", int(offsets[-1]))
    return offsets


def _check_text(data: Any, offsets: Any) -> None:
    """Raise ValueError unless bytes are UTF-8, and no offset lies inside of a character."""
    try:
        str(memoryview(data), "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"text that is no UTF-8: {error.reason} at byte {error.start}") from None
    inside = offsets[(offsets < len(data)) & (offsets > 0)]
    expect(not ((data[inside] & 0xC0) == 0x80).any(), "offsets between characters")


def check_indices(data: Any, code: str, there: Any, count: int) -> None:
    """Raise ValueError unless all indices that are there lie in a dictionary of so many values."""
    import numpy

    indices = numpy.frombuffer(data, code)
    indices = indices if there is None else indices[there]
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        expect(low >= 0 and high < count, f"indices from 0 to {count - 1}", f"{low} to {high}")
