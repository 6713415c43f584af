"""Universal Binary JSON as XGBoost writes it, parsed with bounds: our own plain types, and arrays of NumPy.

One spelling of each value: lengths are 64-bit numbers, arrays say how many elements they have, and arrays of
numbers which kind, where there is one kind.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from packager.codecs import expect

MAX_DEPTH: Final = 12
_MOST: Final = 1 << 40
_KINDS: Final = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_NUMBERS: Final = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q", "d": ">f", "D": ">d"}
_WORDS: Final = {"Z": None, "T": True, "F": False}


def parsed_ubjson(data: memoryview) -> Any:
    """Return the value of a text in UBJSON. Raises ValueError for anything that XGBoost does not write."""
    reader = _Reader(data)
    value = reader.value(reader.kind(), 0)
    expect(reader.at == len(data), "nothing behind the value", f"{len(data) - reader.at} bytes")
    return value


class _Reader:
    """A position in bytes; every method raises ValueError at the end, and for what it does not know."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        left = len(self._data) - self.at
        expect(0 <= size <= left, f"{size} more bytes at byte {self.at}", left)
        self.at += size
        return self._data[self.at - size : self.at]

    def kind(self) -> str:
        """Return the mark of the next value."""
        return chr(self.take(1)[0])

    def length(self) -> int:
        """Return how long something is."""
        expect(self.kind() == "L", f"a length of 64 bits at byte {self.at - 1}")
        (found,) = struct.unpack(">q", self.take(8))
        expect(0 <= found < _MOST, "a length from 0", found)
        return int(found)

    def text(self) -> str:
        """Return a text. XGBoost ends it where a NUL is, so that it has none."""
        found = str(self.take(self.length()), "utf-8")
        expect("\0" not in found, "a text without NUL")
        return found

    def value(self, kind: str, depth: int) -> Any:
        """Return the value that a mark begins."""
        expect(depth <= MAX_DEPTH, f"values nested at most {MAX_DEPTH} deep")
        if kind in _WORDS:
            return _WORDS[kind]
        if kind in _NUMBERS:
            layout = _NUMBERS[kind]
            return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        found: dict[str, Callable[[int], Any]] = {"{": self._object, "[": self._array}
        if kind == "S":
            return self.text()
        expect(kind in found, f"a value of UBJSON at byte {self.at - 1}", repr(kind))
        return found[kind](depth)

    def _object(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while bytes(self._data[self.at : self.at + 1]) != b"}":
            name = self.text()
            expect(name not in made, "each name of an object once", name[:40])
            made[name] = self.value(self.kind(), depth + 1)
        self.take(1)
        return made

    def _array(self, depth: int) -> Any:
        import numpy

        mark = self.kind()
        if mark == "$":
            kind = self.kind()
            expect(kind in _KINDS and self.kind() == "#", f"an array of numbers at byte {self.at - 1}")
            dtype = numpy.dtype(_KINDS[kind])
            count = self.length()
            return numpy.frombuffer(self.take(count * dtype.itemsize), dtype)
        expect(mark == "#", f"the length of an array at byte {self.at - 1}")
        count = self.length()
        expect(count <= len(self._data) - self.at, "as many elements as there are bytes", count)
        return [self.value(self.kind(), depth + 1) for _ in range(count)]
